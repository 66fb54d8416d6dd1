//! `caliban completions SHELL`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::Report;
use crate::cli::Cli;

/// The completion script of a shell.
#[must_use]
pub fn completions(shell: Shell) -> Report {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "caliban", &mut script);
    Report::text(String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = completions(shell).text;
            assert!(script.contains("sessions") && script.contains("permission-mode"), "{shell}");
        }
    }
}
