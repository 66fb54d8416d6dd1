//! The program: arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use caliban::cli::{self, Cli};
use caliban::protocol::{printable, printable_message};
use caliban::{app, command, config, exec};

/// The exit code for arguments that cannot be used.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // First of all: from here on the keys in memory are ours alone.
    exec::hide_memory();
    // Every command of an agent starts this program: that does without the whole command line.
    if let Some(code) = command::supervise::run(config::env::args(), &config::env::capture()) {
        return ExitCode::from(code);
    }
    let args: Vec<_> = config::env::args().collect();
    let cli = match Cli::from_args(args.clone()) {
        Ok(cli) => cli,
        // An error repeats the arguments, and those may come from anywhere.
        Err(error) if error.use_stderr() => {
            if cli::reads_frames(&args) {
                let why = cli::summary(&error);
                app::refuse_handshake(&why);
                return fail(&format!("caliban: {why}\n"), USAGE);
            }
            return fail(&error.to_string(), USAGE);
        }
        // Help and version: clap knows where each is printed.
        Err(error) => error.exit(),
    };
    match app::run(&cli, &config::env::capture()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let message = printable_message(&error.to_string());
            fail(&format!("caliban: {message}\n"), error.exit_code())
        }
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    // When stderr is gone there is nobody left to tell.
    let _ = write!(std::io::stderr(), "{}", printable(message));
    ExitCode::from(code)
}
