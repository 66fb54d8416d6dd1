//! Starts commands below a supervisor: our own binary between this program and the command of an agent.
//!
//! Linux hands a process that has lost its parent to the nearest supervisor above it. So everything
//! a command starts, also in sessions of its own, stays below the command's supervisor and ends
//! with it. This program supervises nothing itself: it waits for its own children only. The other
//! side is [`super::supervise`].

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;

use tokio::process::Command;

use crate::protocol::{DEPTH_VARIABLE, EnvOverlay};

/// The hidden sub-command.
pub const COMMAND: &str = "supervise";
/// The option for the depth of the command. The supervisor ignores it: it is there for programs
/// further below, which can read the arguments of a process above them even when they cannot read
/// its environment.
pub const DEPTH: &str = "--depth";
/// The option for the descriptor of the pipe that holds the supervisor; without it, that is stdin.
pub const LEASH: &str = "--leash";
/// Prefix of the variables that hold the words of the command, numbered from 0. They are not
/// arguments, because `pkill -f` would find the supervisor by them.
pub const WORD_PREFIX: &str = "CALIBAN_WORD_";

/// Starts commands below a supervisor. Only Linux has them.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: Arc<Path>,
}

impl Supervisor {
    /// Supervisors that are this very program, even if its file is replaced while it runs.
    pub fn for_this_program() -> Option<Self> {
        Self::new(Path::new("/proc/self/exe"))
    }

    /// Supervisors that are the caliban at `program`.
    pub fn new(program: &Path) -> Option<Self> {
        cfg!(target_os = "linux").then(|| Self { program: program.into() })
    }

    /// Builds a supervisor command that runs `words` with exactly the variables `env`.
    pub(super) fn command(
        &self,
        words: Vec<OsString>,
        env: &EnvOverlay,
        leash: Option<RawFd>,
    ) -> Command {
        let mut command = Command::new(&*self.program);
        command.arg0("caliban").arg(COMMAND);
        command.arg(DEPTH).arg(env.get_os(DEPTH_VARIABLE).unwrap_or("0".as_ref()));
        if let Some(leash) = leash {
            command.arg(LEASH).arg(leash.to_string());
        }
        let words = words.into_iter().enumerate();
        let words = words.map(|(number, word)| (format!("{WORD_PREFIX}{number}"), word));
        command.env_clear().envs(env.iter()).envs(words);
        command
    }
}
