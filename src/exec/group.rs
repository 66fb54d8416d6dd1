//! One command with all that it starts, ended together.

use std::io;
use std::process::ExitStatus;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::descendants::{self, Process};

/// A command that leads its own session and process group. Dropped before its end, it is killed with all of its group.
pub struct Group {
    child: Box<dyn ChildWrapper>,
    pid: i32,
    /// Held open while the command may run. Its end, also by a crash of ours, makes the group's watchdog kill the rest.
    leash: Option<ChildStdin>,
    /// Processes seen below the command when it was told to end, in its group or not.
    strays: Vec<Process>,
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts the command, whose stdin must be a pipe that nobody but a watchdog of its own reads.
    pub fn spawn(command: Command) -> io::Result<Self> {
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner();
        let leash = child.stdin().take();
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let Some(pid) = pid else { return Err(io::Error::other("the process has no id")) };
        Ok(Self { child, pid, leash, strays: Vec::new(), status: None })
    }

    /// The command's output; only once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// Waits for the command itself, not for what it left behind. Safe to drop at any point.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.status = Some(status);
        Ok(status)
    }

    /// Asks all of the group to end.
    pub fn terminate(&mut self) {
        self.strays = descendants::below([self.pid]);
        self.signal(Signal::SIGTERM);
    }

    /// Kills what is left of the group.
    pub fn kill(&mut self) {
        if self.status.is_none() || !self.strays.is_empty() {
            let running = self.status.is_none().then_some(self.pid);
            let roots = running.into_iter().chain(self.strays.iter().map(|stray| stray.pid()));
            self.strays.extend(descendants::below(roots));
        }
        self.signal(Signal::SIGKILL);
        descendants::kill_all(&self.strays);
        // The number of a command that was waited for may belong to somebody else: there the watchdog kills.
        self.leash = None;
    }

    fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // The group may have ended by itself.
            let _ = killpg(Pid::from_raw(self.pid), signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.leash.is_some() && self.status.is_none() {
            self.kill();
        }
    }
}
