//! The repository of a worktree: finding it, adding and removing worktrees, counting their changes.

use std::ffi::OsStr;
use std::fs;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::WorktreeError;
use crate::disk::{check_checkout, has_own_repository, repository_root};
use crate::exec::Sandbox;
use crate::git::{Git, GitContext, GitError, WorktreeGit};

/// The folder of the branches, below `refs/heads`.
pub const BRANCH_FOLDER: &str = "caliban";

/// Git's messages if there is no repository, or no working tree.
const NO_REPOSITORY_TEXTS: [&str; 2] = ["not a git repository", "must be run in a work tree"];

/// The time between two attempts to lock a repository.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// A repository with at least one commit, seen from a directory in its working tree.
#[derive(Debug)]
pub struct Repository {
    /// Its own folder, shared by all of its worktrees.
    pub common: PathBuf,
    /// The newest commit.
    pub head: String,
    /// The directory, relative to the top of the working tree.
    pub prefix: PathBuf,
    /// Git in that directory.
    git: Git,
}

/// The format in which each branch is a file, or a line of one that only maintenance writes. Those
/// files confine an agent.
const FILES_FORMAT: &str = "files";

/// The format in which the repository keeps its branches; `None` if git knows only one.
fn ref_format(git: &Git) -> Result<Option<String>, GitError> {
    const OPTION: &str = "--show-ref-format";
    let format = git.line(["rev-parse", OPTION])?.to_string_lossy().into_owned();
    // An older git prints an option that it does not know.
    Ok(Some(format).filter(|format| format != OPTION))
}

impl Repository {
    /// Finds the repository around `cwd`.
    pub fn around(cwd: &Path, context: &GitContext) -> Result<Self, WorktreeError> {
        if !has_own_repository(cwd) {
            return Err(WorktreeError::NoRepository(cwd.to_owned()));
        }
        let home = context.env.non_empty("HOME").map(Path::new);
        if repository_root(cwd, home).is_none() {
            return Err(WorktreeError::Home(cwd.to_owned()));
        }
        check_checkout(cwd).map_err(WorktreeError::Programs)?;
        let git = Git::new(cwd, context);
        let no_repository = |error| match error {
            GitError::Failed(said)
                if NO_REPOSITORY_TEXTS.iter().any(|words| said.contains(words)) =>
            {
                WorktreeError::NoRepository(cwd.to_owned())
            }
            other => other.into(),
        };
        git.line(["rev-parse", "--show-toplevel"]).map_err(no_repository)?;
        let prefix = PathBuf::from(git.line(["rev-parse", "--show-prefix"])?);
        let common = git.line(["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let head = match git.line(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
            Err(GitError::Failed(_)) => return Err(WorktreeError::NoCommit(cwd.to_owned())),
            head => head?.to_string_lossy().into_owned(),
        };
        match ref_format(&git)? {
            Some(format) if format != FILES_FORMAT => Err(WorktreeError::References(format)),
            _ => Ok(Self { common: common.into(), head, prefix, git }),
        }
    }

    /// Whether it has this commit.
    pub fn has_commit(&self, commit: &str) -> bool {
        self.git.line(["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")]).is_ok()
    }

    /// Adds a worktree at `path`, on a new branch and without files yet, since git may run filters
    /// to write those. Other agents can write where their branches are, so with a `sandbox`, git
    /// follows no link out of there; `temp` is its folder for temporary files.
    pub fn add(
        &self,
        path: &Path,
        branch: &str,
        sandbox: Option<&Sandbox>,
        temp: &Path,
    ) -> Result<(), GitError> {
        let _turn = lock_worktrees(&self.common, self.git.stop())?;
        let branches = Path::new("refs/heads").join(BRANCH_FOLDER);
        let logs = Path::new("logs").join(&branches);
        let shared = [Path::new("worktrees"), &branches, &logs].map(|name| self.common.join(name));
        let write = [path.to_owned()].into_iter().chain(shared);
        let git = match sandbox {
            Some(sandbox) => &self.git.clone().confined(sandbox.confine(write, temp)),
            None => &self.git,
        };
        let words = ["worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b", branch];
        let words = words.map(OsStr::new);
        let end = [path.as_os_str(), OsStr::new(&self.head)];
        git.output(words.into_iter().chain(end)).map(drop)
    }
}

/// Locks the repository, across programs, so that worktrees are added and removed one at a time:
/// git inspects all of them meanwhile, and fails on half-made ones. Continues without a lock if the
/// system has none.
pub fn lock_worktrees(common: &Path, stop: &CancellationToken) -> Result<Option<File>, GitError> {
    let Ok(folder) = File::open(common) else { return Ok(None) };
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::WouldBlock) if stop.is_cancelled() => return Err(GitError::Stopped),
            // A blocking wait for the lock could not be stopped.
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Writes the files of a fresh worktree, as `git worktree add` does.
pub fn check_out(git: &WorktreeGit) -> Result<(), GitError> {
    git.output(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).map(drop)
}

/// The folder in the repository that belongs to the worktree.
pub fn own_folder(git: &WorktreeGit) -> Result<PathBuf, GitError> {
    git.line(["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
}

/// Removes a worktree with its contents, its `own` folder in the repository, and its branch.
/// `common` is the repository's folder.
pub fn remove(
    common: &Path,
    path: &Path,
    own: &Path,
    branch: &str,
    context: &GitContext,
) -> Result<(), GitError> {
    let _turn = lock_worktrees(common, &context.stop)?;
    // Git would follow the files of other worktrees, which their agents can write.
    let removed = [path, own].into_iter().try_for_each(|folder| match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(GitError::Remove { path: folder.to_owned(), source })
        }
        _ => Ok(()),
    });
    // Not from the worktree or the parent's directory: those may disappear.
    let git = Git::for_repository(common, context);
    let branch = format!("refs/heads/{branch}");
    let deleted = git.output(["update-ref", "--no-deref", "-d", branch.as_str()]);
    removed.and(deleted.map(drop))
}

/// The number of files that git sees as changed or new in the worktree.
pub fn changed_files(git: &WorktreeGit) -> Result<usize, GitError> {
    let tracked = git.output(["ls-files", "--stage", "-z"])?;
    let repositories = entries(&tracked).filter_map(|entry| {
        let (_, name) = split_at_tab(entry.strip_prefix(b"160000 ")?)?;
        Some(git.path().join(OsStr::from_bytes(name)))
    });
    // In a fresh worktree they are empty.
    let filled = |path: &PathBuf| fs::read_dir(path).is_ok_and(|mut all| all.next().is_some());
    let filled = repositories.filter(filled).count();
    // A nested repository has its own settings, which git would follow: it is not inspected.
    let words = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    let status = git.output(words.into_iter().chain(["--ignore-submodules=all"]))?;
    Ok(entries(&status).count() + filled)
}

/// The number of commits that the worktree and its branch have beyond `start`.
pub fn new_commits(git: &WorktreeGit, branch: &str, start: &str) -> Result<usize, GitError> {
    let (own, before) = (format!("refs/heads/{branch}"), format!("^{start}"));
    let mut words = vec!["rev-list", "--count", &before];
    // The agent can leave a branch without a commit.
    let is_commit = |name: &&str| git.line(["rev-parse", "--verify", "--quiet", name]).is_ok();
    words.extend(["HEAD", &own].into_iter().filter(is_commit));
    words.push("--");
    let count = git.line(words)?.to_string_lossy().into_owned();
    count.parse().map_err(|_| GitError::Failed(format!("{count:?} is no number of commits")))
}

fn entries(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

fn split_at_tab(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    Some((&entry[..at], &entry[at + 1..]))
}
