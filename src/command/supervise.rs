//! `caliban supervise`: runs the command of an agent and ends all that it leaves behind. How
//! agents' commands, hooks and MCP servers are started on Linux; not for people, so neither help
//! nor completions name it.

use std::ffi::OsString;

use super::fail;
use crate::exec::{supervise, supervisor};
use crate::protocol::EnvOverlay;

/// The exit code of a shell for programs that cannot run.
const CANNOT_RUN: u8 = 126;

/// Carries the sub-command out and answers with the exit code. `None` when the arguments and
/// variables are not those of a supervisor: `supervise` is also a prompt.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>, env: &EnvOverlay) -> Option<u8> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1)? != supervisor::COMMAND {
        return None;
    }
    let (words, env) = supervise::command_of(env)?;
    let leash = args.iter().skip_while(|arg| *arg != supervisor::LEASH).nth(1);
    let leash = leash.and_then(|number| number.to_str()?.parse().ok());
    let ended = supervise::supervise(&words, &env, leash);
    Some(ended.unwrap_or_else(|error| {
        let name = words.first().map(|name| name.to_string_lossy()).unwrap_or_default();
        fail(&format!("cannot run {name}: {error}"), CANNOT_RUN)
    }))
}
