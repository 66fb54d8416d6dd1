//! Checks the files of the user and the project: configuration, agents, commands, skills, memory, trust.

use super::finding::Finding;
use crate::commands::{self, CommandSet};
use crate::config::{LoadedConfig, Trust};
use crate::memory::Memory;
use crate::protocol::{byte_size, count, printable_path};
use crate::subagent::registry::{DefinitionProblem, Definitions};

/// Lists the configuration files that were read, and their ignored entries.
pub fn config(loaded: &LoadedConfig) -> Vec<Finding> {
    let read = loaded.files.iter().filter(|(_, found)| *found);
    let names: Vec<String> = read.map(|(path, _)| printable_path(path)).collect();
    let text = match names.is_empty() {
        true => "defaults only; `caliban config path` lists the files that are read".to_owned(),
        false => {
            format!("{}; `caliban config show` shows where each value comes from", names.join(", "))
        }
    };
    let notices = loaded.notices.iter().map(|notice| Finding::note("config", notice.clone()));
    std::iter::once(Finding::ok("config", text)).chain(notices).collect()
}

/// Checks definitions of sub-agents.
pub fn agents(definitions: &Definitions) -> Vec<Finding> {
    let mut findings: Vec<Finding> = definitions
        .problems()
        .iter()
        .flat_map(|problem| match problem {
            DefinitionProblem::Refused(errors) => {
                errors.iter().map(|error| Finding::wrong("agents", error.to_string())).collect()
            }
            DefinitionProblem::Untrusted(error) | DefinitionProblem::Warning(error) => {
                vec![Finding::note("agents", error.to_string())]
            }
        })
        .collect();
    let names: Vec<&str> = definitions.iter().map(|it| it.name.as_str()).collect();
    findings.insert(0, Finding::ok("agents", names.join(", ")));
    findings
}

/// Checks commands and skills.
pub fn commands(commands: &CommandSet) -> Vec<Finding> {
    let callable = count(commands.callable().count(), "slash command");
    let skills = match commands.skills().count() {
        0 => "no skills".to_owned(),
        skills => count(skills, "skill"),
    };
    let mut findings = vec![Finding::ok("commands", format!("{callable}, {skills} for models"))];
    findings.extend(commands.problems().iter().map(|problem| match problem {
        commands::CommandProblem::Refused { error, .. } => {
            Finding::wrong("commands", error.to_string())
        }
        commands::CommandProblem::Warning(error) => Finding::note("commands", error.to_string()),
    }));
    findings
}

/// Lists the instruction files that models read, and problems with them.
pub fn memory(memory: &Memory) -> Vec<Finding> {
    let text = match memory.files().count() {
        0 => "none; /init drafts an AGENTS.md".to_owned(),
        _ => {
            let names: Vec<String> = memory.files().map(printable_path).collect();
            format!("{}, {}", names.join(", "), byte_size(memory.text().len() as u64))
        }
    };
    let notices = memory.notices.iter().map(|notice| Finding::note("memory", notice.clone()));
    std::iter::once(Finding::ok("memory", text)).chain(notices).collect()
}

/// Checks for untrusted entries of the project.
pub fn trust(trust: &Trust, loaded: &LoadedConfig) -> Vec<Finding> {
    if let Some(problem) = trust.problem() {
        return vec![Finding::wrong("trust", problem)];
    }
    let own = match loaded.starts.len() {
        0 => None,
        1 => Some("1 hook or server of your own starts in an empty folder: `caliban trust` starts it in this project, `caliban trust --show` lists it".to_owned()),
        several => Some(format!(
            "{several} hooks or servers of your own start in empty folders: `caliban trust` starts them in this project, `caliban trust --show` lists them"
        )),
    };
    let own = own.map(|text| Finding::note("trust", text));
    if loaded.untrusted.is_empty() && own.is_some() {
        return own.into_iter().collect();
    }
    let brought = match loaded.untrusted.len() {
        0 => Finding::ok("trust", "nothing in this project needs your trust"),
        1 => Finding::note(
            "trust",
            "1 entry of this project is ignored: `caliban trust` accepts it, `caliban trust --show` lists it",
        ),
        several => Finding::note(
            "trust",
            format!(
                "{several} entries of this project are ignored: `caliban trust` accepts them, `caliban trust --show` lists them"
            ),
        ),
    };
    std::iter::once(brought).chain(own).collect()
}
