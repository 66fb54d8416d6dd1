//! The hidden sub-commands by which this program starts others: `caliban sandbox` and `caliban supervise`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::close;

use crate::exec::sandbox::{self, ProcessBounds};
use crate::exec::supervise;
use crate::protocol::{Charset, EnvOverlay};

/// A shell's exit codes for programs that cannot run or do not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Prints an error. The locale is that of the program, so a terminal gets ASCII alone.
fn fail(message: &str, code: u8) -> u8 {
    super::fail(message, code, Charset::Ascii)
}

/// `caliban sandbox`: replaces this process with a program that can only write, or only read, below
/// the given folders. It starts the shells of confined agents and read-only commands. Returns only
/// on failure, with the exit code.
pub fn become_restricted(
    launcher: Option<RawFd>,
    bounds: &ProcessBounds<'_>,
    program: &[OsString],
) -> u8 {
    let Some((name, arguments)) = program.split_first() else {
        return fail("no program was given: caliban sandbox --write DIR -- PROGRAM", 2);
    };
    if let Some(Err(error)) = launcher.map(close) {
        return fail(&format!("cannot close the launcher's file: {error}"), CANNOT_RUN);
    }
    if let Err(error) = sandbox::restrict(bounds) {
        return fail(&error.to_string(), CANNOT_RUN);
    }
    let error = Command::new(name).args(arguments).exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    fail(&format!("cannot run {}: {error}", name.display()), code)
}

/// `caliban supervise`: runs an agent's command, hook or MCP server and kills everything that it
/// leaves behind, on Linux. Returns the exit code; `None` if the arguments and variables are not
/// those of a supervisor: `supervise` may also be a prompt.
pub fn supervise(args: impl IntoIterator<Item = OsString>, env: &EnvOverlay) -> Option<u8> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1)? != supervise::COMMAND {
        return None;
    }
    let (words, env) = supervise::take_command(env)?;
    let pipe = args.iter().skip_while(|arg| *arg != supervise::PIPE).nth(1);
    let pipe = pipe.and_then(|number| number.to_str()?.parse().ok());
    let ended = supervise::supervise(&words, &env, pipe);
    Some(ended.unwrap_or_else(|error| {
        let name = words.first().map(|name| name.to_string_lossy()).unwrap_or_default();
        fail(&format!("cannot run {name}: {error}"), CANNOT_RUN)
    }))
}
