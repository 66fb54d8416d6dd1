//! `caliban completions SHELL`.

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use super::CommandReport;
use crate::cli::Cli;

/// Returns the completion script of a shell.
pub fn completions(shell: Shell) -> CommandReport {
    let mut script = Vec::new();
    generate(shell, &mut visible_commands(), "caliban", &mut script);
    CommandReport::text(String::from_utf8_lossy(&script))
}

/// Returns the command line without hidden sub-commands, which the generator would include.
fn visible_commands() -> Command {
    let all = Cli::command();
    let shown: Vec<_> = all.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect();
    Command::new("caliban")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(all.get_arguments().cloned())
        .subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = completions(shell).text;
            assert!(script.contains("sessions") && script.contains("permission-mode"), "{shell}");
            assert!(!script.contains("sandbox"), "{shell}: that is not for people");
            assert!(!script.contains("subcmd__help"), "{shell}: there is no such command");
        }
    }
}
