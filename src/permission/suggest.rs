//! Rules that a sensible person would want for a call that nothing allows yet.

use std::path::Path;

use super::facts::{Facts, Unit};
use super::path::{Places, Target};
use super::rule::{Base, List, Origin, Rule};
use super::script::{SimpleCommand, Word};
use super::wrapper::{self, Wrapped};

/// Programs whose first argument says what they do.
const SUB_COMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bun",
    "cargo",
    "composer",
    "deno",
    "dotnet",
    "git",
    "go",
    "gradle",
    "just",
    "make",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Programs whose first two arguments say what they do.
const SUB_SUB_COMMANDS: &[&str] = &["aws", "az", "docker", "gcloud", "gh", "kubectl", "podman"];

/// Sub-commands that run what the next word names.
const RUN: &[&str] = &["run", "exec", "compose", "x", "dlx"];

/// Programs that do anything they are told, or much harm at once: only the very command is suggested.
const ANYTHING: &[&str] = &[
    "awk",
    "chmod",
    "chown",
    "dd",
    "gawk",
    "kill",
    "killall",
    "lua",
    "mkfs",
    "mv",
    "node",
    "osascript",
    "perl",
    "php",
    "pkill",
    "python",
    "python2",
    "python3",
    "rm",
    "rmdir",
    "ruby",
    "sed",
    "shred",
    "truncate",
];

/// Rules that together cover all the units; none when one of them cannot be covered safely.
pub fn rules(units: &[&Unit], facts: &Facts, places: &Places) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for unit in units {
        let Some(text) = rule(unit, facts, places).filter(|text| covers(text, unit, facts, places))
        else {
            return Vec::new();
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn rule(unit: &Unit, facts: &Facts, places: &Places) -> Option<String> {
    match unit {
        Unit::Command(command) => command_rule(command),
        Unit::Write(target) => Some(format!("Edit({})", folder(target, places, true)?)),
        Unit::Read(target) => Some(format!("Read({})", folder(target, places, false)?)),
        Unit::Fetch(host) => Some(format!("WebFetch(domain:{})", host.as_ref()?)),
        Unit::Agent(name) => Some(format!("AgentTool({name})")),
        Unit::Skill(name) => Some(format!("Skill({name})")),
        Unit::Other => Some(facts.tool.clone()),
        Unit::Unclear(_) | Unit::Nothing => None,
    }
}

/// The last word on every suggestion: it must parse, and cover what it is suggested for.
fn covers(text: &str, unit: &Unit, facts: &Facts, places: &Places) -> bool {
    let base = Base { project: &places.project, home: places.home.as_deref() };
    Rule::parse(text, List::Allow, Origin::Session, base)
        .is_ok_and(|rule| rule.allows(unit, facts, places))
}

/// The command in a few words, as a reason names it.
#[must_use]
pub fn short(command: &SimpleCommand) -> String {
    let count = telling_words(&command.words).clamp(1, command.words.len().max(1));
    let words: Vec<&str> =
        command.words.iter().take(count).map(|word| word.text.as_str()).collect();
    let text: String = words.join(" ").chars().take(60).collect();
    if text.is_empty() { "this".to_owned() } else { text }
}

fn command_rule(command: &SimpleCommand) -> Option<String> {
    let words = &command.words;
    let (from, program) = match wrapper::wrapped(words) {
        Wrapped::Nothing => (0, words.first()?),
        Wrapped::From(inner)
            if !matches!(words.first()?.text.as_str(), "sudo" | "doas" | "xargs") =>
        {
            (inner, words.get(inner)?)
        }
        _ => return None,
    };
    let count = from + telling_words(&words[from..]);
    let head = words.get(..count)?;
    let is_option = |word: &Word| word.text.starts_with(['-', '+']);
    let name = wrapper::base_name(&program.text);
    if ANYTHING.contains(&name) || head.iter().any(is_option) || head.len() < count {
        return exact(words);
    }
    Some(format!("Bash({}:*)", plain(head)?))
}

/// How many words at the start say what a command does.
fn telling_words(words: &[Word]) -> usize {
    let Some(program) = words.first().map(|word| wrapper::base_name(&word.text)) else { return 0 };
    let most = match words.get(1).map(|word| word.text.as_str()) {
        None => 1,
        Some(sub) if SUB_COMMANDS.contains(&program) && RUN.contains(&sub) => 3,
        Some(_) if SUB_COMMANDS.contains(&program) => 2,
        Some(_) if SUB_SUB_COMMANDS.contains(&program) => 3,
        Some(_) => 1,
    };
    most.min(words.len())
}

fn exact(words: &[Word]) -> Option<String> {
    Some(format!("Bash({})", plain(words)?))
}

/// The words, when they can stand in a rule as they are.
fn plain(words: &[Word]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_./+@:-=,%".contains(c);
    let fits =
        |word: &Word| word.literal && !word.text.is_empty() && word.text.chars().all(is_plain);
    if !words.iter().all(fits) {
        return None;
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Some(texts.join(" ")).filter(|text| text.chars().count() <= 200)
}

/// The pattern of the folder that holds the target; of the target alone where a whole folder is too much.
fn folder(target: &Target, places: &Places, writes: bool) -> Option<String> {
    let path = target.resolved.as_deref()?;
    let project = super::path::resolve(&places.project)?;
    let alone = writes && places.protects(target);
    let escape = |path: &Path| path.to_str().map(globset::escape);
    if let Ok(inside) = path.strip_prefix(&project) {
        let parent = inside.parent()?;
        if alone || parent.as_os_str().is_empty() {
            return Some(format!("./{}", escape(inside)?));
        }
        return Some(format!("{}/**", escape(parent)?));
    }
    let parent = if !writes && path.is_dir() { path } else { path.parent()? };
    let home = places.home.as_deref().and_then(super::path::resolve);
    let too_much = parent.parent().is_none()
        || home.is_some_and(|home| home.starts_with(parent))
        || path
            .components()
            .any(|part| part.as_os_str().to_str().is_some_and(super::protected::is_protected_name));
    if alone || too_much {
        return Some(format!("/{}", escape(path)?));
    }
    Some(format!("/{}/**", escape(parent)?))
}
