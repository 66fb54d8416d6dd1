//! Runs git for this program: with no hook of the project, no prompt, and no variable that would point it elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::exec::without_programs_of;
use crate::protocol::EnvOverlay;

/// Git in one directory. Waits for each process: only for threads that may block.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// The repository's own folder, where it is not to be found by the `.git` around `dir`.
    repository: Option<PathBuf>,
    env: EnvOverlay,
}

/// Why git did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git: {0}; is it installed and on PATH?")]
    Start(io::Error),
    /// What git says.
    #[error("git says: {0}")]
    Failed(String),
}

impl Git {
    /// Git in `dir`, with what of `env` does not steer it.
    pub fn new(dir: &Path, env: &EnvOverlay) -> Self {
        let plain = env.iter().filter(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
        let own = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("LC_ALL", "C")];
        let env = plain.collect::<EnvOverlay>().with(own);
        Self { dir: dir.to_owned(), repository: None, env: without_programs_of(dir, &env) }
    }

    /// Git for the repository whose own folder is `common`, in that folder.
    pub fn of(common: &Path, env: &EnvOverlay) -> Self {
        Self { repository: Some(common.to_owned()), ..Self::new(common, env) }
    }

    /// What git prints, byte for byte.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        let repository =
            self.repository.iter().flat_map(|dir| [OsStr::new("--git-dir"), dir.as_ref()]);
        let output = Command::new("git")
            // A hook, or a watcher that git would start, is a program that a project chose.
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            // So is all that a folder names which a project made look like a repository.
            .args(["-c", "safe.bareRepository=explicit"])
            .args(repository)
            .args(arguments)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env.iter())
            .stdin(Stdio::null())
            .output()
            .map_err(GitError::Start)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Err(GitError::Failed(if lines.is_empty() {
            output.status.to_string()
        } else {
            lines.join("; ")
        }))
    }

    /// The one line that git prints.
    pub fn line<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<OsString, GitError> {
        let mut line = self.output(arguments)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(OsString::from_vec(line))
    }
}
