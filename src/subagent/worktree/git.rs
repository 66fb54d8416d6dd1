//! Runs git for this program: with no hook of the project, no prompt, no fetch of what is missing, and no variable that
//! would point it elsewhere.
//!
//! Git can take long: it waits for another git's lock, checks out a large tree, or runs a filter that downloads. Each
//! git is a process group of its own, which a token ends with all that it started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::exec::{
    ExecError, Exit, Filter, Filtered, GIT_SETTINGS, ServiceCommand, without_programs_of,
};
use crate::protocol::EnvOverlay;

/// The exit codes of a shell for programs that cannot run and that are not there.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What every git of one piece of work gets.
#[derive(Clone, Debug)]
pub struct GitContext {
    pub env: EnvOverlay,
    /// Ends the git that runs and lets no further one start.
    pub stop: CancellationToken,
}

/// Git in one directory. Waits for each process: only for threads that may block, within a runtime.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// The repository's own folder, where it is not to be found by the `.git` around `dir`.
    repository: Option<PathBuf>,
    context: GitContext,
}

/// Why git did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git: {0}; is it installed and on PATH?")]
    Start(String),
    #[error("cannot run git: {0}")]
    Run(#[from] ExecError),
    #[error("git was stopped before it was done")]
    Stopped,
    /// What git says.
    #[error("git says: {0}")]
    Failed(String),
}

impl GitContext {
    /// A context that nothing stops.
    pub fn unstoppable(env: &EnvOverlay) -> Self {
        Self { env: env.clone(), stop: CancellationToken::new() }
    }
}

impl Git {
    /// Git in `dir`, with what of the environment does not steer it.
    pub fn new(dir: &Path, context: &GitContext) -> Self {
        let GitContext { env, stop } = context;
        let plain = env.iter().filter(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
        let own = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // A partial clone would fetch what is missing.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ];
        let env = plain.collect::<EnvOverlay>().with(own);
        let context = GitContext { env: without_programs_of(dir, &env), stop: stop.clone() };
        Self { dir: dir.to_owned(), repository: None, context }
    }

    /// Git for the repository whose own folder is `common`, in that folder.
    pub fn of(common: &Path, context: &GitContext) -> Self {
        Self { repository: Some(common.to_owned()), ..Self::new(common, context) }
    }

    /// The token that ends it.
    pub fn stop(&self) -> &CancellationToken {
        &self.context.stop
    }

    /// What git prints, byte for byte.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        let done = self.run(arguments)?;
        let said = done.stderr.text();
        let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = lines.join("; ");
        match done.exit {
            Exit::Code(0) => Ok(done.stdout.bytes),
            Exit::Cancelled => Err(GitError::Stopped),
            Exit::Code(code) if NOT_STARTED.contains(&code) => Err(GitError::Start(said)),
            exit if said.is_empty() => Err(GitError::Failed(exit.words().unwrap_or_default())),
            _ => Err(GitError::Failed(said)),
        }
    }

    fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Filtered, GitError> {
        let GitContext { env, stop } = &self.context;
        if stop.is_cancelled() {
            return Err(GitError::Stopped);
        }
        // A hook, or a watcher that git would start, is a program that a project chose. So is all that a folder names
        // which a project made look like a repository.
        let settings = GIT_SETTINGS.into_iter().chain([("core.hooksPath", "/dev/null")]);
        let words = settings.flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")]);
        let mut args: Vec<OsString> = words.map(OsString::from).collect();
        if let Some(repository) = &self.repository {
            args.extend(["--git-dir".into(), repository.as_os_str().to_owned()]);
        }
        args.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let cwd = &self.dir;
        let command = ServiceCommand { program: "git", args: &args, cwd, env, supervisor: None };
        let keep = usize::MAX;
        let git = Filter { command, input: b"", keep, limit: None, cancel: stop };
        Ok(Handle::current().block_on(git.run())?)
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
