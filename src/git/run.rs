//! Runs git for this program: without hooks of the project, prompts, fetches of missing objects, or
//! variables that would point it elsewhere.
//!
//! In a working tree, git converts files with the filters of the user's settings. [`WorktreeGit`] is
//! the only git that looks into one: it runs only filters known to take nothing but data from the
//! folder in which they start, and confines them to its bounds.
//!
//! Git can take long: it waits for another git's lock, checks out a large tree, or runs a filter
//! that downloads. Each git is its own process group, which a token ends with everything it
//! started.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::disk::{ProjectFolders, is_plain_filter};
use crate::exec::{
    CappedOutput, CommandExit, Confinement, ExecError, FilterCommand, FilterOutput, GIT_SETTINGS,
    NO_HOOKS, ServiceCommand,
};
use crate::protocol::EnvOverlay;

/// The exit codes of a shell for programs that cannot run or do not exist.
const NOT_STARTED_CODES: [i32; 2] = [126, 127];

/// The context for all git runs of one task.
#[derive(Clone, Debug)]
pub struct GitContext {
    pub env: EnvOverlay,
    /// Ends the running git and lets no further one start.
    pub stop: CancellationToken,
}

/// Git in a directory of the user's, or for a repository. Never looks into the files of a working tree.
/// Blocks on each process: only for threads that may block, within a runtime.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// The repository's own folder, if it is not to be found by the `.git` around `dir`.
    repository: Option<PathBuf>,
    context: GitContext,
    confinement: Option<Confinement>,
}

/// Git in a working tree, with everything it starts confined to it.
#[derive(Clone, Debug)]
pub struct WorktreeGit(Git);

/// Why git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git: {0}; is it installed and on PATH?")]
    Start(String),
    #[error("cannot run git: {0}")]
    Run(#[from] ExecError),
    #[error("git was stopped before it finished")]
    Stopped,
    #[error("cannot remove {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// Git's error output.
    #[error("git says: {0}")]
    Failed(String),
}

impl GitContext {
    /// Creates a context that nothing stops.
    pub fn unstoppable(env: &EnvOverlay) -> Self {
        Self { env: env.clone(), stop: CancellationToken::new() }
    }
}

impl Git {
    /// Git in `dir`, with the variables that do not steer it.
    pub fn new(dir: &Path, context: &GitContext) -> Self {
        let GitContext { env, stop } = context;
        let plain = env.iter().filter(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
        let own = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // An agent could have put another commit in the place of one.
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            // A partial clone would fetch missing objects.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ];
        let env = plain.collect::<EnvOverlay>().with(own);
        let home = env.get_os("HOME").map(Path::new);
        let here = ProjectFolders::new([dir.to_owned()], home);
        let context = GitContext { env: here.without_programs(&env), stop: stop.clone() };
        Self { dir: dir.to_owned(), repository: None, context, confinement: None }
    }

    /// Git for the repository whose own folder is `common`, in that folder.
    pub fn for_repository(common: &Path, context: &GitContext) -> Self {
        Self { repository: Some(common.to_owned()), ..Self::new(common, context) }
    }

    /// Confines everything that this git starts.
    pub fn confined(self, confinement: Confinement) -> Self {
        Self { confinement: Some(confinement), ..self }
    }

    /// The token that ends it.
    pub fn stop(&self) -> &CancellationToken {
        &self.context.stop
    }

    /// Runs git and returns its output byte for byte.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        self.beginning(usize::MAX, arguments).map(|stdout| stdout.bytes)
    }

    /// Runs git and returns the first `keep` bytes of its output.
    pub fn beginning<A: AsRef<OsStr>>(
        &self,
        keep: usize,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<CappedOutput, GitError> {
        let done = self.run(keep, b"", arguments)?;
        if done.exit == CommandExit::Code(0) { Ok(done.stdout) } else { Err(failure(&done)) }
    }

    /// Runs git where an exit code of 1 is an answer too: that of no. Returns the answer with the
    /// output byte for byte.
    pub fn ask<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<(bool, Vec<u8>), GitError> {
        let done = self.run(usize::MAX, b"", arguments)?;
        match done.exit {
            CommandExit::Code(code @ (0 | 1)) => Ok((code == 0, done.stdout.bytes)),
            _ => Err(failure(&done)),
        }
    }

    fn run<A: AsRef<OsStr>>(
        &self,
        keep: usize,
        input: &[u8],
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<FilterOutput, GitError> {
        let GitContext { env, stop } = &self.context;
        if stop.is_cancelled() {
            return Err(GitError::Stopped);
        }
        // A hook, or a watcher that git would start, is a program chosen by a project. So is
        // everything named by a folder that a project made to look like a repository.
        let settings = GIT_SETTINGS.into_iter().chain([NO_HOOKS]);
        let words = settings.flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")]);
        let mut args: Vec<OsString> = words.map(OsString::from).collect();
        args.extend(["-C".into(), self.dir.as_os_str().to_owned()]);
        if let Some(repository) = &self.repository {
            args.extend(["--git-dir".into(), repository.as_os_str().to_owned()]);
        }
        args.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        // A version manager's git would look for another one from the folder where it starts.
        let cwd = Path::new("/");
        let confinement = self.confinement.as_ref();
        let supervisor = confinement.and_then(Confinement::supervisor);
        let supervisor = supervisor.as_ref();
        let command =
            ServiceCommand { program: "git", args: &args, cwd, env, confinement, supervisor };
        let git = FilterCommand { command, input, keep, limit: None, cancel: stop };
        Ok(Handle::current().block_on(git.run())?)
    }

    /// Runs git and returns its one line of output.
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

/// The error of a run that failed.
fn failure(done: &FilterOutput) -> GitError {
    let said = done.stderr.text();
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines.join("; ");
    match done.exit {
        CommandExit::Cancelled => GitError::Stopped,
        CommandExit::Code(code) if NOT_STARTED_CODES.contains(&code) => GitError::Start(said),
        exit if said.is_empty() => GitError::Failed(exit.describe().unwrap_or_default()),
        _ => GitError::Failed(said),
    }
}

impl WorktreeGit {
    /// Git in the working tree at `path`, confined. It runs no filter that may load files from
    /// there, and none at all without a confinement.
    pub fn new(
        path: &Path,
        confinement: Option<Confinement>,
        context: &GitContext,
    ) -> Result<Self, GitError> {
        let mut git = Git { confinement, ..Git::new(path, context) };
        let settings = git.output(["config", "--null", "--list"])?;
        let folders = git.context.env.program_folders().map(Path::to_owned);
        let programs: Option<Vec<PathBuf>> = git.confinement.is_some().then(|| folders.collect());
        let settings = without_filters(&settings, programs.as_deref());
        if !settings.is_empty() {
            let count = settings.len().to_string();
            let numbered = settings.into_iter().enumerate().flat_map(|(number, (key, value))| {
                [
                    (format!("GIT_CONFIG_KEY_{number}"), key),
                    (format!("GIT_CONFIG_VALUE_{number}"), value.into()),
                ]
            });
            let env = git.context.env.with(numbered);
            git.context.env = env.with([("GIT_CONFIG_COUNT", count)]);
        }
        Ok(Self(git))
    }

    /// Runs git and returns its output byte for byte.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        self.0.output(arguments)
    }

    /// Runs git and returns the first `keep` bytes of its output.
    pub fn beginning<A: AsRef<OsStr>>(
        &self,
        keep: usize,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<CappedOutput, GitError> {
        self.0.beginning(keep, arguments)
    }

    /// Runs git and returns its one line of output.
    pub fn line<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<OsString, GitError> {
        self.0.line(arguments)
    }

    /// Runs git on an input and returns its output byte for byte.
    pub fn read<A: AsRef<OsStr>>(
        &self,
        input: &[u8],
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        let done = self.0.run(usize::MAX, input, arguments)?;
        if done.exit == CommandExit::Code(0) { Ok(done.stdout.bytes) } else { Err(failure(&done)) }
    }

    /// The same git, with another file as its index.
    pub fn with_index(&self, index: &Path) -> Self {
        let env = self.0.context.env.with([("GIT_INDEX_FILE", index.as_os_str())]);
        let context = GitContext { env, stop: self.0.context.stop.clone() };
        Self(Git { context, ..self.0.clone() })
    }

    /// The working tree.
    pub fn path(&self) -> &Path {
        &self.0.dir
    }
}

/// Settings that disable filters: all of them, or, where git finds `programs` in these folders,
/// those with an unknown command. `list` has all settings, each with its value on the next line.
fn without_filters(list: &[u8], programs: Option<&[PathBuf]>) -> Vec<(OsString, &'static str)> {
    let filter = |setting: &[u8]| {
        let end = setting.iter().position(|byte| *byte == b'\n').unwrap_or(setting.len());
        let (key, value) = (&setting[..end], setting.get(end + 1..).unwrap_or_default());
        let name = key.strip_prefix(b"filter.")?;
        let dot = name.iter().rposition(|byte| *byte == b'.')?;
        let is_command = [&b"clean"[..], b"smudge", b"process"].contains(&&name[dot + 1..]);
        let command = std::str::from_utf8(value).ok();
        let is_known =
            command.zip(programs).is_some_and(|(it, folders)| is_plain_filter(it, folders));
        (is_command && !is_known).then(|| name[..dot].to_owned())
    };
    let filters: BTreeSet<Vec<u8>> = list.split(|byte| *byte == 0).filter_map(filter).collect();
    let settings = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
    let keys = filters.iter().flat_map(|filter| {
        settings.map(|(key, value)| {
            (OsString::from_vec([b"filter.", &**filter, b".", key.as_bytes()].concat()), value)
        })
    });
    keys.collect()
}
