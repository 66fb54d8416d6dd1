//! The program: arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use caliban::cli::Cli;
use caliban::{app, config};

fn main() -> ExitCode {
    let cli = match Cli::from_args(config::env::args()) {
        Ok(cli) => cli,
        // Help and version come this way too; clap knows where each is printed and what the exit code is.
        Err(error) => error.exit(),
    };
    match app::run(&cli, &config::env::capture()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // When stderr is gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "caliban: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
