//! A shell that remembers its directory from command to command.
//!
//! [`Shell::start_directory`] decides where a command starts before the command is judged, and it
//! starts there or not at all: the directory is entered without following a link.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::background::{BackgroundShell, RecentOutput, StartedShell};
use super::directory;
use super::env::{child_env, without_hooks};
use super::group::{ProcessGroup, ShellCommand};
use super::outcome::{ExecError, ShellOutcome, ShellState};
use super::pump::Pump;
use super::run_to_exit::{StopConditions, run_to_exit};
use super::sandbox::{Confinement, Sandbox};
use super::supervise::Supervisor;
use crate::disk::{Folder, resolve};
use crate::protocol::{EnvOverlay, ReadOnly};

/// Runs commands, each in the directory where the previous one ended. One per agent, and one for the user.
#[derive(Debug)]
pub struct Shell {
    base: Arc<Path>,
    secrets: Arc<[String]>,
    state: Mutex<CwdState>,
    confine: Option<Confinement>,
    /// Confines commands that only read.
    sandbox: Option<Sandbox>,
    supervisor: Option<Supervisor>,
}

/// The current directory of a shell.
#[derive(Debug)]
struct CwdState {
    cwd: PathBuf,
    /// The previous directory, if it is gone and no command has reported that yet.
    lost: Option<PathBuf>,
    /// Which of the commands that started together has moved it.
    moved_by: Option<usize>,
}

/// Variables that make bash ignore our start text, or start in another mode.
const BASH_MODES: [&str; 3] = ["BASHOPTS", "POSIXLY_CORRECT", "SHELLOPTS"];

/// Nesting level of bash. The first one below an ssh login may read other files at startup.
const SHELL_LEVEL: &str = "1";

/// Variables that name files of the user's which programs read at startup. The verdict that a
/// command only reads does not depend on them.
const START_FILES: [&str; 2] = ["BASH_ENV", "RIPGREP_CONFIG_PATH"];

/// The place where a command starts.
#[derive(Clone, Copy, Debug)]
pub struct ShellStart<'a> {
    /// Absolute, without links.
    pub directory: &'a Path,
    /// Its position among the commands that start together: of those that change the directory, the
    /// last one counts, whichever ends last.
    pub order: usize,
}

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct ShellCall<'a> {
    pub line: &'a str,
    /// The caller's environment; provider keys are removed from it.
    pub env: &'a EnvOverlay,
    /// Hops of the calling agent below the main agent.
    pub depth: u32,
    /// Time limit.
    pub limit: Option<Duration>,
    pub cancel: &'a CancellationToken,
    /// The bounds of a command that was allowed only because it reads, enforced where the system supports it.
    pub read_only: Option<&'a ReadOnly>,
}

impl ShellCall<'_> {
    fn stop_conditions(&self) -> StopConditions {
        StopConditions { began: Instant::now(), limit: self.limit, cancel: self.cancel.clone() }
    }
}

impl Shell {
    /// Creates a shell that begins in `base`. `secrets` are names of variables that commands must not see.
    pub fn new(base: Arc<Path>, secrets: Arc<[String]>) -> Self {
        let state = CwdState { cwd: base.to_path_buf(), lost: None, moved_by: None };
        Self {
            base,
            secrets,
            state: Mutex::new(state),
            confine: None,
            sandbox: None,
            supervisor: None,
        }
    }

    /// Uses `sandbox`, if any, to enforce that read-only commands only read.
    pub fn with_sandbox(self, sandbox: Option<&Sandbox>) -> Self {
        Self { sandbox: sandbox.cloned(), ..self }
    }

    /// Confines writes.
    pub fn confined(self, confine: Confinement) -> Self {
        Self { confine: Some(confine), ..self }
    }

    /// Runs each command below such a supervisor, if any, so that it leaves nothing behind.
    pub fn supervised(self, supervisor: Option<Supervisor>) -> Self {
        Self { supervisor, ..self }
    }

    /// Returns the directory in which the next command will run.
    pub fn cwd(&self) -> PathBuf {
        self.lock().cwd.clone()
    }

    /// Returns the directory in which the next commands start: the present one, or the base if that
    /// is gone or has become a link. Ask for all commands that run at the same time before the
    /// first of them starts.
    pub fn start_directory(&self) -> PathBuf {
        let mut state = self.lock();
        state.moved_by = None;
        let stays = state.cwd.is_dir() && resolve(&state.cwd).as_deref() == Some(&state.cwd);
        if !stays && *state.cwd != *self.base {
            let lost = std::mem::replace(&mut state.cwd, self.base.to_path_buf());
            state.lost = Some(lost);
        }
        state.cwd.clone()
    }

    /// Runs one command to its end, in the directory where the previous one ended. `show` gets the
    /// output as it comes, free of terminal sequences.
    ///
    /// Processes left running in its group end with it. Dropping the future kills everything.
    pub async fn run(
        &self,
        call: ShellCall<'_>,
        show: impl FnMut(String) + Send,
    ) -> Result<ShellOutcome, ExecError> {
        let directory = self.start_directory();
        self.run_at(ShellStart { directory: &directory, order: 0 }, call, show).await
    }

    /// Like [`Shell::run`], but from a given start.
    pub async fn run_at(
        &self,
        start: ShellStart<'_>,
        call: ShellCall<'_>,
        show: impl FnMut(String) + Send,
    ) -> Result<ShellOutcome, ExecError> {
        let stop = call.stop_conditions();
        let StartedShell { mut group, cwd, lost } = self.spawn(&call, start.directory)?;
        let directory_report = group.take_stderr();
        let mut pump = Pump::new(group.take_output(), show);
        let exit = run_to_exit(&mut group, &mut pump, &stop).await?;
        // The command itself could report any folder.
        let may_stand = |end: &PathBuf| {
            let bounds = call.read_only.map(|bounds| &bounds.folders);
            bounds.is_none_or(|folders| folders.iter().any(|folder| end.starts_with(folder)))
        };
        if let Some(end) =
            directory_report.and_then(directory::read_end_directory).filter(may_stand)
            && end != cwd
        {
            self.move_to(end, start.order);
        }
        let output = pump.finish();
        Ok(ShellOutcome { exit, output, cwd: self.cwd(), took: stop.began.elapsed(), lost })
    }

    /// Starts one command in the background, in a given directory. It does not change the shell's
    /// own. `tell` gets [`ShellState::Running`] first, and the final state last, with the end of the
    /// output. Must be called within a runtime.
    pub fn start(
        &self,
        directory: &Path,
        call: ShellCall<'_>,
        tell: impl FnMut(ShellState, RecentOutput) + Send + 'static,
    ) -> Result<BackgroundShell, ExecError> {
        let stop = call.stop_conditions();
        Ok(BackgroundShell::follow(self.spawn(&call, directory)?, stop, tell))
    }

    fn spawn(&self, call: &ShellCall<'_>, cwd: &Path) -> Result<StartedShell, ExecError> {
        // Held until the shell has started, so that it starts in this very folder.
        let folder = Folder::open(cwd).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ExecError::NoDirectory(cwd.to_owned()),
            _ => ExecError::Directory { path: cwd.to_owned(), source },
        })?;
        let read_only = self.sandbox.as_ref().zip(call.read_only);
        let read_only = read_only.map(|(sandbox, bounds)| sandbox.read_only(bounds.clone()));
        let confine = read_only.as_ref().or(self.confine.as_ref());
        let mut env = child_env(call.env, call.depth, &self.secrets).without(BASH_MODES);
        if call.read_only.is_some() {
            // A read-only command may still make git write, such as a cache of its own.
            env = without_hooks(&env.without(START_FILES));
        }
        let env = confine.map_or_else(|| env.clone(), |confine| confine.env(&env));
        // The shell keeps this spelling of its directory, not the one it inherits from the user's shell.
        let env = env.with([("PWD", cwd.as_os_str()), ("SHLVL", OsStr::new(SHELL_LEVEL))]);
        let start = directory::start_text(&env);
        let command = ShellCommand {
            line: call.line,
            cwd: &folder.path(),
            env: &env,
            start: &start,
            confine,
            supervisor: self.supervisor.as_ref(),
        };
        let group = ProcessGroup::spawn(command).map_err(ExecError::Spawn)?;
        Ok(StartedShell { group, cwd: cwd.to_owned(), lost: self.take_lost(cwd) })
    }

    /// Returns the missing directory, for the first command that starts in the base instead.
    fn take_lost(&self, cwd: &Path) -> Option<PathBuf> {
        if cwd == &*self.base { self.lock().lost.take() } else { None }
    }

    fn move_to(&self, end: PathBuf, order: usize) {
        let mut state = self.lock();
        if state.moved_by.is_none_or(|by| by <= order) {
            state.cwd = end;
            state.moved_by = Some(order);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CwdState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
