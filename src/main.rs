//! The program: arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use caliban::cli::{self, Cli};
use caliban::protocol::{Charset, printable, printable_message};
use caliban::{app, command, config};

/// The exit code for arguments that cannot be used.
const USAGE_EXIT_CODE: u8 = 2;

fn main() -> ExitCode {
    // First: make the keys in memory unreadable for other processes.
    hide_memory();
    // Every command of an agent starts this program, so skip parsing the command line for that.
    if let Some(code) = command::internal::supervise(config::env::args(), &config::env::capture()) {
        return ExitCode::from(code);
    }
    let args: Vec<_> = config::env::args().collect();
    let cli = match Cli::from_args(args.clone()) {
        Ok(cli) => cli,
        // An error repeats the arguments, which may be untrusted.
        Err(error) if error.use_stderr() => {
            if cli::reads_frames(&args) {
                let why = cli::summarize_error(&error);
                app::refuse_handshake(&why);
                return fail(&format!("caliban: {why}\n"), USAGE_EXIT_CODE);
            }
            return fail(&error.to_string(), USAGE_EXIT_CODE);
        }
        // Help and version: clap prints each to the right stream.
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

/// Keeps other processes of the same user from reading the memory and environment of this one,
/// which hold API keys, and from following its open files. Also disables core dumps.
///
/// Root still sees everything. Programs that this process starts are not affected: `exec` resets
/// the flag, and they get an environment without keys. Only Linux has such a flag.
fn hide_memory() {
    // It fails only on a kernel without the call, and then there is nothing else to try.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    // `exec::depth_above` looks for this name, whatever the file is called.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_name(c"caliban");
}

fn fail(message: &str, code: u8) -> ExitCode {
    // If stderr is gone, nobody can be notified.
    let charset = Charset::from_env(&config::env::capture());
    let text = printable(message);
    let _ = write!(std::io::stderr(), "{}", charset.encode_for(&std::io::stderr(), &text));
    ExitCode::from(code)
}
