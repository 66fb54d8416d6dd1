//! What the person and the project have written: configuration, agents, commands, skills, memory, trust.

use super::Finding;
use crate::config::{Loaded, Trust};
use crate::custom::{self, Customs};
use crate::memory::Memory;
use crate::protocol::{count, printable_path};
use crate::subagent::registry::{Definitions, Problem};

/// The files of the configuration that were read, and what they hold that does not count.
#[must_use]
pub fn config(loaded: &Loaded) -> Vec<Finding> {
    let read = loaded.files.iter().filter(|(_, found)| *found);
    let names: Vec<String> = read.map(|(path, _)| printable_path(path)).collect();
    let text = match names.is_empty() {
        true => {
            "built in alone; `caliban config path` lists the files that are looked for".to_owned()
        }
        false => {
            format!("{}; `caliban config show` tells where each value comes from", names.join(", "))
        }
    };
    let notices = loaded.notices.iter().map(|notice| Finding::note("config", notice.clone()));
    std::iter::once(Finding::ok("config", text)).chain(notices).collect()
}

/// What is wrong with definitions of sub-agents.
#[must_use]
pub fn agents(definitions: &Definitions) -> Vec<Finding> {
    let mut findings: Vec<Finding> = definitions
        .problems()
        .iter()
        .map(|problem| match problem {
            Problem::Refused(error) => Finding::wrong("agents", error.to_string()),
            Problem::Untrusted(error) | Problem::Warning(error) => {
                Finding::note("agents", error.to_string())
            }
        })
        .collect();
    let names: Vec<&str> = definitions.iter().map(|it| it.name.as_str()).collect();
    findings.insert(0, Finding::ok("agents", names.join(", ")));
    findings
}

/// What is wrong with commands and skills.
#[must_use]
pub fn customs(customs: &Customs) -> Vec<Finding> {
    let commands = customs.callable().count();
    let skills = count(customs.skills().count(), "skill");
    let mut findings =
        vec![Finding::ok("commands", format!("{commands} to call, {skills} for models"))];
    findings.extend(customs.problems().iter().map(|problem| match problem {
        custom::Problem::Refused { error, .. } => Finding::wrong("commands", error.to_string()),
        custom::Problem::Warning(error) => Finding::note("commands", error.to_string()),
    }));
    findings
}

/// What models read before a conversation, and what was left out of it.
#[must_use]
pub fn memory(memory: &Memory) -> Vec<Finding> {
    let text = match memory.files().count() {
        0 => "none; /init drafts an AGENTS.md".to_owned(),
        _ => {
            let names: Vec<String> = memory.files().map(printable_path).collect();
            format!("{}, {} KB", names.join(", "), memory.text().len().div_ceil(1024))
        }
    };
    let notices = memory.notices.iter().map(|notice| Finding::note("memory", notice.clone()));
    std::iter::once(Finding::ok("memory", text)).chain(notices).collect()
}

/// Whether something of the project waits for the person's word.
#[must_use]
pub fn trust(trust: &Trust, loaded: &Loaded) -> Vec<Finding> {
    if let Some(problem) = trust.problem() {
        return vec![Finding::wrong("trust", problem)];
    }
    let own = match loaded.starts.len() {
        0 => None,
        1 => Some("1 hook or server of your own starts in an empty folder: `caliban trust` starts it in this project, with --show only lists it".to_owned()),
        several => Some(format!(
            "{several} hooks or servers of your own start in empty folders: `caliban trust` starts them in this project, with --show only lists them"
        )),
    };
    let own = own.map(|text| Finding::note("trust", text));
    if loaded.inert.is_empty() && own.is_some() {
        return own.into_iter().collect();
    }
    let brought = match loaded.inert.len() {
        0 => Finding::ok("trust", "nothing of this project waits for your trust"),
        1 => Finding::note(
            "trust",
            "1 thing of this project does nothing yet: `caliban trust` accepts it, with --show only lists it",
        ),
        several => Finding::note(
            "trust",
            format!(
                "{several} things of this project do nothing yet: `caliban trust` accepts them, with --show only lists them"
            ),
        ),
    };
    std::iter::once(brought).chain(own).collect()
}
