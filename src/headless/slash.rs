//! The commands of the screen that also work headless. They are handled here and never sent to the model.

use super::info::SlashCommand;
use super::result::Totals;
use crate::protocol::{Usage, prompt};

/// Every command with its description, in the order of the help.
const COMMANDS: [(&str, &str, &str); 6] = [
    ("clear", "start an empty session", ""),
    ("compact", "summarize to free context", "[what to keep]"),
    ("context", "show how much of the context window is used", ""),
    ("cost", "show what the session has used", ""),
    ("help", "list the commands", ""),
    ("usage", "show what the session has used", ""),
];

/// A prompt that looks like a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LocalCommand {
    Clear,
    Compact {
        instructions: Option<String>,
    },
    Context,
    Cost,
    Help,
    /// Not a built-in command: a custom one, or a mistake.
    Other(String),
}

impl LocalCommand {
    /// Parses a prompt; `None` if it does not look like a command.
    pub fn parse(prompt: &str) -> Option<Self> {
        let (name, arguments) = prompt::split_command(prompt)?;
        Some(match name {
            "clear" => Self::Clear,
            "compact" => {
                let instructions = Some(arguments.to_owned()).filter(|text| !text.is_empty());
                Self::Compact { instructions }
            }
            "context" => Self::Context,
            "cost" | "usage" => Self::Cost,
            "help" => Self::Help,
            other => Self::Other(other.to_owned()),
        })
    }
}

/// Returns the built-in commands, for the handshake and the first frame.
pub fn own_commands() -> impl Iterator<Item = SlashCommand> {
    COMMANDS.into_iter().map(|(name, description, argument_hint)| SlashCommand {
        name: name.to_owned(),
        description: description.to_owned(),
        argument_hint: argument_hint.to_owned(),
    })
}

/// Returns the answer to an unknown command.
pub(super) fn unknown(name: &str) -> String {
    let known = COMMANDS.map(|(name, ..)| format!("/{name}")).join(" ");
    format!("Unknown command: /{name}. The commands are {known}; /help also lists your own.")
}

/// Returns the answer to `/help`: built-in commands, then custom ones.
pub(super) fn help(written: Vec<SlashCommand>) -> String {
    let line = |command: SlashCommand| {
        let SlashCommand { name, description, argument_hint } = command;
        let hint =
            if argument_hint.is_empty() { String::new() } else { format!(" {argument_hint}") };
        format!("/{name}{hint} - {description}")
    };
    own_commands().chain(written).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the answer to `/cost`: dollars and tokens of the session, including sub-agents.
pub(super) fn cost(totals: &Totals) -> String {
    let digits = if totals.cost.usd > 0.0 { 4 } else { 2 };
    let usd = totals.cost.usd;
    let mut lines = vec![format!("Session cost: ${usd:.digits$}, sub-agents included")];
    for (model, (usage, cost)) in &totals.models {
        let Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_input_tokens: read,
            cache_creation_input_tokens: written,
            ..
        } = usage;
        lines.push(format!(
            "{model}: {input} input, {output} output, {read} cache read, {written} cache write tokens (${:.4})",
            cost.usd
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_the_table_is_carried_out_here() {
        for (name, ..) in COMMANDS {
            let slash = LocalCommand::parse(&format!("/{name}")).unwrap();
            assert!(!matches!(slash, LocalCommand::Other(_)), "{name}");
        }
        let instructions = Some("the names".to_owned());
        assert_eq!(
            LocalCommand::parse("/compact  the names"),
            Some(LocalCommand::Compact { instructions })
        );
        assert_eq!(
            LocalCommand::parse("/team:review x"),
            Some(LocalCommand::Other("team:review".to_owned()))
        );
        assert_eq!(LocalCommand::parse("/etc/hosts is broken"), None);
    }
}
