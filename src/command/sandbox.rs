//! `caliban sandbox`: executes a program that can only write, or only read, below the given
//! folders. It starts the shells of confined agents and read-only commands. Internal, so hidden
//! from help and completions.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::fail;
use crate::exec::sandbox::{self, ProcessBounds};

/// A shell's exit codes for programs that cannot run or do not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Replaces this process with `program`, restricted. Returns only on failure, with the exit code.
pub fn become_restricted(bounds: &ProcessBounds<'_>, program: &[OsString]) -> u8 {
    let Some((name, arguments)) = program.split_first() else {
        return fail("no program was given: caliban sandbox --write DIR -- PROGRAM", 2);
    };
    if let Err(error) = sandbox::restrict(bounds) {
        return fail(&error.to_string(), CANNOT_RUN);
    }
    let error = Command::new(name).args(arguments).exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    fail(&format!("cannot run {}: {error}", name.display()), code)
}
