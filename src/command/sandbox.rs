//! `caliban sandbox`: becomes another program that can write only below the given folders, or only
//! read there. How the shells of confined agents and commands that only read are started; not for
//! people, so neither help nor completions name it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::fail;
use crate::exec::sandbox::{self, ProcessBounds};

/// The exit codes of a shell for programs that cannot run and that are not there.
const CANNOT_RUN: u8 = 126;
const NOT_THERE: u8 = 127;

/// Becomes `program`, restricted. Comes back only when that fails, with the exit code.
#[must_use]
pub fn become_restricted(bounds: &ProcessBounds<'_>, program: &[OsString]) -> u8 {
    let Some((name, arguments)) = program.split_first() else {
        return fail("no program was given: caliban sandbox --write DIR -- PROGRAM", 2);
    };
    if let Err(error) = sandbox::restrict(bounds) {
        return fail(&error.to_string(), CANNOT_RUN);
    }
    let error = Command::new(name).args(arguments).exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_THERE } else { CANNOT_RUN };
    fail(&format!("cannot run {}: {error}", name.display()), code)
}
