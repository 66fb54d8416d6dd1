//! Slash commands: their table, and those that match the draft.

pub mod update;

use crate::protocol::prompt::split_command;
use crate::tui::composer::MenuItem;
use crate::tui::host::{CommandChoice, HostRequest};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::text::{TextFilter, one_line, truncate};

/// A command of the table.
#[derive(Clone, Copy, Debug)]
pub struct SlashCommand {
    pub name: &'static str,
    pub description: &'static str,
    /// Whether it takes an argument.
    pub takes_argument: bool,
}

/// Every command, in the order of the menu.
pub const COMMANDS: [SlashCommand; 26] = [
    plain("help", "keys and commands"),
    with_argument("agents", "running, finished and available agents"),
    with_argument("model", "switch model"),
    with_argument("effort", "how much the model thinks"),
    with_argument("permissions", "what may run without asking"),
    plain("hooks", "hooks that run in this session"),
    plain("skills", "skills that agents and you can load"),
    plain("mcp", "MCP server status"),
    plain("memory", "edit the instructions for agents"),
    with_argument("compact", "summarize to free context"),
    plain("clear", "start an empty session"),
    with_argument("resume", "resume a session"),
    with_argument("rename", "name the session"),
    plain("cost", "tokens and cost of the session"),
    plain("usage", "the same as /cost"),
    plain("status", "session, model, directory"),
    plain("diff", "changes since the last commit"),
    with_argument("review", "review the changes, or what you name"),
    plain("copy", "copy the last answer"),
    with_argument("export", "write the session to a file"),
    with_argument("theme", "choose the colours"),
    plain("read", "read the transcript in full"),
    with_argument("init", "create or improve AGENTS.md"),
    with_argument("edit", "edit the prompt in $EDITOR"),
    plain("doctor", "check keys, endpoints, terminal, files"),
    plain("quit", "quit"),
];

const fn plain(name: &'static str, description: &'static str) -> SlashCommand {
    SlashCommand { name, description, takes_argument: false }
}

const fn with_argument(name: &'static str, description: &'static str) -> SlashCommand {
    SlashCommand { takes_argument: true, ..plain(name, description) }
}

/// Other words for commands. The menu does not list them.
const ALIASES: [(&str, &str); 1] = [("exit", "quit")];

/// Commands of the table that the runtime expands into prompts.
const PROMPTS: [&str; 2] = ["init", "review"];

/// Commands that need an idle main.
pub const WAITS: [&str; 3] = ["compact", "clear", "resume"];

/// The command of the table that Enter would run, if the draft is one.
pub fn builtin(model: &TuiModel) -> Option<&'static str> {
    let name = resolve_alias(command_name(model.composer.text())?);
    let found = COMMANDS.iter().map(|known| known.name).find(|known| *known == name);
    found.filter(|name| !is_prompt(model, name))
}

/// Whether the draft is a command of the table that makes no agent work.
pub fn is_local(model: &TuiModel) -> bool {
    builtin(model).is_some_and(|name| name != "compact")
}

/// Requests the custom commands: once, and again with each new `/`, since files may have been added.
pub fn look_up(model: &mut TuiModel, query: &str, effects: &mut Vec<ScreenEffect>) {
    if model.commands.is_none() || query.is_empty() {
        effects.push(ScreenEffect::Ask(HostRequest::Commands(Vec::new())));
        model.commands.get_or_insert_default();
    }
}

/// The menu rows for the text after the slash, the best match first; without one, built-in commands,
/// then custom ones.
pub fn matching(written: &[CommandChoice], query: &str) -> Vec<MenuItem> {
    let ours = COMMANDS.iter().map(|known| (known.name.to_owned(), known.description.to_owned()));
    let written = written.iter().map(|command| {
        let hint = command.argument_hint.as_deref().map(|hint| format!(" · {hint}"));
        let detail = format!("{}{}", command.description, hint.unwrap_or_default());
        (command.name.clone(), truncate(&one_line(&detail), 60).into_owned())
    });
    // Not by their descriptions: Enter runs what is selected.
    let found = TextFilter::new(query).matching(ours.chain(written).collect(), |row| (&*row.0, ""));
    found
        .into_iter()
        .map(|(name, detail)| MenuItem { insert: format!("/{name}"), detail })
        .collect()
}

/// Whether the command is a prompt: one of ours, or a custom one, of whose name the last part is enough
/// unless one of ours has it.
pub fn is_prompt(model: &TuiModel, name: &str) -> bool {
    let ours = resolve_alias(name);
    if COMMANDS.iter().any(|known| known.name == ours) {
        return PROMPTS.contains(&ours);
    }
    let commands = model.commands.iter().flatten();
    let mut named = commands.map(|command| command.name.as_str());
    named.any(|known| known == name || known.rsplit_once(':').is_some_and(|(_, last)| last == name))
}

/// The command that the user means by a name.
pub fn resolve_alias(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, command)| command)
}

/// The name after the slash, if the draft looks like a command.
pub fn command_name(draft: &str) -> Option<&str> {
    split_command(draft).map(|(name, _)| name)
}
