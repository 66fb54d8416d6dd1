//! What a project's own files may not set: whoever clones a repository has not read them.
//!
//! They may narrow what the person allows, and never widen it: limits go down only.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::error::Origin;
use super::layers::Setting;
use crate::protocol::RuleFile;

/// What agents may spend and how many there may be. Absent is no limit.
const LIMITS: [&str; 15] = [
    "budget.max_usd",
    "budget.max_turns",
    "subagents.enabled",
    "budget.max_wall_s",
    "subagents.max_concurrent_agents",
    "subagents.max_children_total",
    "subagents.max_concurrent_ops",
    "subagents.max_depth",
    "subagents.max_usd",
    "subagents.max_wall_s",
    "subagents.default_budget",
    "subagents.max_budget_per_agent",
    "subagents.max_children_per_agent",
    "subagents.max_turns",
    "subagents.result_max_chars",
];

/// Takes out of a project file's settings what would run code, redirect keys, widen rights, or raise a limit of the
/// layers `below`. Returns what was taken out, as `permissions.allow (line 3)`.
pub(super) fn withhold(settings: &mut Vec<Setting>, file: RuleFile, below: &Table) -> Vec<String> {
    let mut withheld = Vec::new();
    settings.retain(|setting| {
        let keep = !widens(setting, file, below);
        // An empty list asks for nothing, so there is nothing to tell.
        if !keep && !matches!(&setting.value, Value::Array(list) if list.is_empty()) {
            let line = match setting.origins.first() {
                Some(Origin::File { line, .. }) => format!(" (line {line})"),
                _ => String::new(),
            };
            withheld.push(format!("{}{line}", setting.key()));
        }
        keep
    });
    withheld
}

fn widens(setting: &Setting, file: RuleFile, below: &Table) -> bool {
    let key = setting.key();
    match key.as_str() {
        // The person's own "always" answers are written to the local file.
        "permissions.allow" => file == RuleFile::Shared,
        "permissions.mode" | "permissions.additional_dirs" => true,
        // Only the strictest choice of each may come from a project.
        "subagents.permissions" => setting.value.as_str() != Some("ceiling"),
        "subagents.on_autonomy_violation" | "subagents.child_auth" => {
            setting.value.as_str() != Some("abort")
        }
        "subagents.comms" | "subagents.allow_nested_spawn" => {
            setting.value.as_bool() != Some(false)
        }
        key if key.starts_with("subagents.allowed_models") => true,
        key if LIMITS.contains(&key) => {
            let before = setting.path.split_first().and_then(|(first, rest)| {
                rest.iter().try_fold(below.get(first)?, |value, name| value.get(name))
            });
            limit(key, Some(&setting.value)) > limit(key, before)
        }
        key => key.starts_with("providers."),
    }
}

/// How much a limit lets pass, to be compared.
fn limit(key: &str, value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Integer(0)) if key == "subagents.result_max_chars" => f64::INFINITY,
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(Value::Boolean(on)) => f64::from(u8::from(*on)),
        _ => f64::INFINITY,
    }
}

/// The one notice about everything that was taken out of a project's files; `None` when nothing was.
pub(super) fn notice(withheld: &[(PathBuf, Vec<String>)], user_file: &Path) -> Option<String> {
    let files: Vec<String> = withheld
        .iter()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(file, keys)| format!("{}: {}", file.display(), keys.join(", ")))
        .collect();
    (!files.is_empty()).then(|| {
        format!(
            "A project's files may not set providers, widen rights or raise limits. Not applied: {}. Put it in {} if you want it.",
            files.join("; "),
            user_file.display()
        )
    })
}
