//! A command from `[tui]` that the screen runs: it notifies, or prints the status line.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::setup::Setup;
use crate::exec::{CommandExit, FilterCommand, ServiceCommand, StartDirs, bash, child_env};
use crate::protocol::{EnvOverlay, StartDir};

/// The most bytes of output that are read.
const MAX_OUTPUT_BYTES: usize = 8 * 1024;

/// A command line, and where it starts: as hooks do, in an empty folder unless the project brought
/// it and is trusted.
pub(super) struct OwnCommand {
    /// Its place, such as `~/.config/caliban/config.toml:7: status_line`.
    name: String,
    line: String,
    start: StartDir,
    starts: StartDirs,
    env: EnvOverlay,
}

impl OwnCommand {
    /// Returns the command of this key in `[tui]`, if it is set.
    pub fn from_config(setup: &Setup, key: &str, line: Option<&String>) -> Option<Self> {
        let path = format!("tui.{key}");
        let secrets = setup.loaded.config.key_variables();
        let secrets: Vec<String> = secrets.into_iter().map(str::to_owned).collect();
        Some(Self {
            name: format!("{}: {key}", setup.loaded.origins.get(&path)),
            line: line?.clone(),
            start: setup.loaded.start_of(&path, &setup.dirs, &setup.cwd),
            starts: setup.starts.clone(),
            env: child_env(&setup.env, 0, &secrets),
        })
    }

    /// Runs the command with an input and an argument, and returns the first line of its output. The
    /// error is one line for the user.
    pub async fn run(
        &self,
        input: &[u8],
        argument: Option<&str>,
        limit: Duration,
    ) -> Result<String, String> {
        let failed = |why: String| format!("{} {why}", self.name);
        let start = self.starts.start(&self.start, &self.env).await;
        let start = start.map_err(|error| failed(format!("has no empty folder: {error}")))?;
        let args: Vec<OsString> =
            ["-c", &self.line, "caliban"].into_iter().chain(argument).map(OsString::from).collect();
        let program = bash(&start.env);
        let command = ServiceCommand {
            program: program.as_deref().and_then(Path::to_str).unwrap_or("/bin/bash"),
            args: &args,
            cwd: &start.cwd,
            env: &start.env,
            confinement: None,
            supervisor: self.starts.supervisor(),
        };
        let cancel = CancellationToken::new();
        let filter = FilterCommand {
            command,
            input,
            keep: MAX_OUTPUT_BYTES,
            limit: Some(limit),
            cancel: &cancel,
        };
        let done = filter.run().await;
        start.end().await;
        let done = done.map_err(|error| failed(format!("cannot start: {error}")))?;
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        match done.exit {
            CommandExit::Code(0) => Ok(first(&done.stdout.text())),
            CommandExit::TimedOut(limit) => {
                Err(failed(format!("did not end within {} s and was stopped", limit.as_secs())))
            }
            exit => {
                let how = exit.describe().unwrap_or_default();
                let why = first(&done.stderr.text());
                let why = if why.is_empty() { why } else { format!(": {why}") };
                Err(failed(format!("failed: {how}{why}")))
            }
        }
    }
}
