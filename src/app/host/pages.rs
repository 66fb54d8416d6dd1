//! Pages about files and settings: hooks and skills.

use std::sync::Arc;

use crate::commands::CommandDef;
use crate::config::HookConfig;
use crate::protocol::printable_line;
use crate::tui::page::{PageLine, Tone};
use crate::tui::text::{padded, width};

/// One line for each hook: its event, what it matches, its command, and where it is set.
pub fn hooks(hooks: &[HookConfig]) -> Vec<PageLine> {
    if hooks.is_empty() {
        return vec!["no hooks · [[hooks.PreToolUse]] in config.toml adds one".into()];
    }
    let name = |hook: &HookConfig| match hook.matcher.as_str() {
        "" => hook.event.name().to_owned(),
        matcher => format!("{}({matcher})", hook.event.name()),
    };
    let row = |hook: &HookConfig| {
        let text = format!("{}\n{}", printable_line(&hook.command), hook.origin);
        (name(hook), text)
    };
    table(hooks.iter().map(row).collect())
}

/// One line for each skill: its name, what it is for, who can load it, and its file.
pub fn skills(skills: &[&Arc<CommandDef>]) -> Vec<PageLine> {
    if skills.is_empty() {
        return vec!["no skills · each is a folder in .caliban/skills with a SKILL.md".into()];
    }
    let row = |skill: &&Arc<CommandDef>| {
        let users = match (skill.user_only, skill.model_only) {
            (true, _) => " · for you only",
            (_, true) => " · for models only",
            (false, false) => "",
        };
        let text = format!("{}\n{}{users}", printable_line(&skill.description), skill.origin);
        (skill.name.clone(), text)
    };
    table(skills.iter().map(row).collect())
}

/// Names in a column, and texts beside them.
fn table(rows: Vec<(String, String)>) -> Vec<PageLine> {
    let cells = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
    let line = |(name, text): (String, String)| {
        PageLine::row([(&*padded(&name, cells), Tone::Strong)], text)
    };
    rows.into_iter().map(line).collect()
}
