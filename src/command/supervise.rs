//! `caliban supervise`: runs an agent's command and kills everything that it leaves behind. It
//! starts agents' commands, hooks and MCP servers on Linux. Internal, so hidden from help and
//! completions.

use std::ffi::OsString;

use super::fail;
use crate::exec::{supervise, supervisor};
use crate::protocol::EnvOverlay;

/// A shell's exit code for programs that cannot run.
const CANNOT_RUN: u8 = 126;

/// Carries out the sub-command and returns the exit code. `None` if the arguments and variables are
/// not those of a supervisor: `supervise` may also be a prompt.
pub fn run(args: impl IntoIterator<Item = OsString>, env: &EnvOverlay) -> Option<u8> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1)? != supervisor::COMMAND {
        return None;
    }
    let (words, env) = supervise::take_command(env)?;
    let leash = args.iter().skip_while(|arg| *arg != supervisor::LEASH).nth(1);
    let leash = leash.and_then(|number| number.to_str()?.parse().ok());
    let ended = supervise::supervise(&words, &env, leash);
    Some(ended.unwrap_or_else(|error| {
        let name = words.first().map(|name| name.to_string_lossy()).unwrap_or_default();
        fail(&format!("cannot run {name}: {error}"), CANNOT_RUN)
    }))
}
