//! A git worktree for one sub-agent: made from the last commit, kept if it holds anything,
//! otherwise removed.

mod error;
mod links;
mod merged;
mod reopen;
mod repository;
mod work;

use std::fmt;
use std::fs;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub use self::error::{WorkError, WorktreeError};
use self::links::GitLinks;
use self::repository::{BRANCH_FOLDER, Repository};
use crate::disk::ProjectFolders;
use crate::exec::{BlockingPool, Confinement, Sandbox, ShellReach, child_env};
use crate::git::{GitContext, GitError, WorktreeGit};
use crate::protocol::{AgentId, EnvOverlay, WorktreeInfo};

/// The most characters of an agent's name that go into a branch's name.
const MAX_NAME_CHARS: usize = 40;
/// How many characters of an id's random end distinguish worktrees.
const ID_SUFFIX_CHARS: usize = 8;

/// The settings for a new worktree.
#[derive(Clone, Debug)]
pub struct NewWorktree {
    /// The directory in the repository where the parent works. Absolute.
    pub cwd: PathBuf,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    /// The folder for all worktrees, outside of any repository. Created if missing.
    pub root: PathBuf,
    /// The agent's name.
    pub name: String,
    /// Distinguishes worktrees of one name.
    pub id: AgentId,
    /// For git: `PATH`, `HOME` and the like. Provider keys and variables that steer git are
    /// removed.
    pub env: EnvOverlay,
    /// Names of further variables hidden from other programs.
    pub secrets: Arc<[String]>,
    /// Absent if the system cannot confine commands: then the agent gets no shell, and git runs no
    /// filters there.
    pub sandbox: Option<Sandbox>,
    /// The threads that wait for git.
    pub pool: BlockingPool,
    /// Ends git, and with it the creation of the worktree, of which nothing is left then.
    pub stop: CancellationToken,
}

/// A worktree in use. Dropped without [`Worktree::finish`], as in a crash, it stays on disk; `git
/// worktree list` names it.
#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    cwd: PathBuf,
    branch: String,
    /// The commit it started from.
    start: String,
    /// The repository's own folder, shared by all of its worktrees.
    common: PathBuf,
    /// This worktree's own folder in there.
    own: PathBuf,
    temp: PathBuf,
    links: GitLinks,
    env: EnvOverlay,
    sandbox: Option<Sandbox>,
    pool: BlockingPool,
    /// Held while it is in use; absent if the system has no locks.
    _lock: Option<File>,
}

/// The outcome of finishing a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeOutcome {
    /// It held no changes.
    Removed,
    Kept {
        path: PathBuf,
        branch: String,
        /// Changed and untracked files; ignored ones do not count.
        files: usize,
        commits: usize,
    },
    /// Kept because it could not be inspected or removed.
    Unclear { path: PathBuf, branch: String, why: String },
}

impl NewWorktree {
    /// The context for git until `stop` ends it.
    fn git_context(&self, stop: CancellationToken) -> GitContext {
        let env = child_env(&self.env, 0, &self.secrets);
        // Git also runs in the worktree, which knows neither the checkout of the parent nor the
        // other folders of the session.
        GitContext { env: self.project.with(&self.cwd).without_programs(&env), stop }
    }
}

impl Worktree {
    /// Creates a worktree with its own branch from the last commit. If the future is dropped, git
    /// is ended, and what was made is removed in the background.
    ///
    /// # Errors
    /// If there is no commit to start from, or git or the disk fails.
    pub async fn create(new: NewWorktree) -> Result<Self, WorktreeError> {
        Self::create_after(new, None).await
    }

    /// [`Self::create`] for an agent that had a worktree before, which is gone. If its work was merged, the
    /// new one begins with the commit that holds it, as long as git has that.
    pub async fn create_after(
        new: NewWorktree,
        gone: Option<WorktreeInfo>,
    ) -> Result<Self, WorktreeError> {
        let (stop, pool) = (new.stop.child_token(), new.pool.clone());
        let _stop_when_dropped = stop.clone().drop_guard();
        let made = pool.run(move || {
            let context = new.git_context(stop);
            Self::make(&new, &context, gone.as_ref()).map(|tree| RemoveOnDrop(Some(tree)))
        });
        let mut unclaimed = made.await.map_err(|_| WorktreeError::Ended)??;
        unclaimed.0.take().ok_or(WorktreeError::Ended)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory in it that corresponds to the parent's; its top if the commit does not have
    /// that directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Whether it began with merged work of its agent.
    pub fn has_merged_work(&self) -> bool {
        merged::read(&self.path).is_some_and(|commit| commit == self.start)
    }

    /// Its branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The data needed to reopen it.
    pub fn checkout(&self) -> WorktreeInfo {
        let (path, branch, start) = (self.path.clone(), self.branch.clone(), self.start.clone());
        WorktreeInfo { path, branch, start }
    }

    /// The reach of the agent's shell: its confinement, or no shell if that cannot be enforced.
    pub fn shell(&self) -> ShellReach {
        self.confinement().map_or(ShellReach::Withheld, ShellReach::Confined)
    }

    /// Confines programs to the worktree: they write there, in a folder for temporary files, and to
    /// the parts of the repository that a commit on one of our branches needs, including the store
    /// of Git LFS if there is one. `None` if the system cannot confine.
    fn confinement(&self) -> Option<Confinement> {
        let branches = Path::new("refs/heads").join(BRANCH_FOLDER);
        let logs = Path::new("logs").join(&branches);
        let shared = [Path::new("objects"), &branches, &logs].map(|name| self.common.join(name));
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let large_files = Some(self.common.join("lfs")).filter(is_folder);
        let write = [self.path.clone(), self.own.clone()].into_iter().chain(shared);
        Some(self.sandbox.as_ref()?.confine(write.chain(large_files), &self.temp))
    }

    /// Git in the worktree.
    fn git(&self, context: &GitContext) -> Result<WorktreeGit, GitError> {
        // No rule covers what a filter does: it reads no more than git does.
        let confinement = self.confinement().map(|it| it.reading([self.common.clone()]));
        WorktreeGit::new(&self.path, confinement, context)
    }

    /// Removes the worktree and its branch if they hold neither changes nor commits; otherwise
    /// keeps both. Everything that the agent started must have ended. Continues in the background
    /// if the future is dropped.
    pub async fn finish(self) -> WorktreeOutcome {
        self.finish_until(std::future::pending()).await
    }

    /// [`Self::finish`], unless `over` ends first: then git is ended, and the worktree stays
    /// unchanged.
    pub async fn finish_until(self, over: impl Future<Output = ()>) -> WorktreeOutcome {
        let (path, branch, pool) = (self.path.clone(), self.branch.clone(), self.pool.clone());
        let unclear = |why: String| WorktreeOutcome::Unclear { path, branch, why };
        let stop = CancellationToken::new();
        let context = GitContext { env: self.env.clone(), stop: stop.clone() };
        tokio::select! {
            biased;
            ended = pool.run(move || self.remove_or_keep(&context)) => {
                ended.unwrap_or_else(|error| unclear(error.to_string()))
            }
            () = over => {
                stop.cancel();
                unclear(GitError::Stopped.to_string())
            }
        }
    }

    fn make(
        new: &NewWorktree,
        context: &GitContext,
        gone: Option<&WorktreeInfo>,
    ) -> Result<Self, WorktreeError> {
        let root = private_folder(&new.root)?;
        if new.cwd.starts_with(&root) {
            // Git must not run on what an agent may write: its settings name programs.
            return Err(WorktreeError::Nested(new.cwd.clone()));
        }
        let mut repository = Repository::around(&new.cwd, context)?;
        let merged = gone.filter(|gone| gone.path.parent() == Some(&*root));
        let merged = merged.and_then(|gone| merged::read(&gone.path));
        let merged = merged.filter(|commit| repository.has_commit(commit));
        let slug = slug(&new.name, new.id);
        let (path, branch) = (root.join(&slug), format!("{BRANCH_FOLDER}/{slug}"));
        let temp = root.join(format!("{slug}.tmp"));
        if let Some(commit) = merged {
            // Also for a later run, if this one leaves nothing.
            merged::write(&path, &commit);
            repository.head = commit;
        }
        let made =
            Self::check_out_new(new, context, &repository, path.clone(), branch.clone(), &temp);
        if made.is_err() {
            merged::remove(&path);
            // Even if git was stopped. What does not exist cannot be removed.
            let context = GitContext::unstoppable(&context.env);
            let own = repository.common.join("worktrees").join(&slug);
            let _ = repository::remove(&repository.common, &path, &own, &branch, &context);
            let _ = fs::remove_dir_all(&temp);
        }
        made
    }

    fn check_out_new(
        new: &NewWorktree,
        context: &GitContext,
        repository: &Repository,
        path: PathBuf,
        branch: String,
        temp: &Path,
    ) -> Result<Self, WorktreeError> {
        let folder = path.clone();
        let failed = |source| WorktreeError::Folder { path: folder.clone(), source };
        let temp = private_folder(temp)?;
        repository.add(&path, &branch, new.sandbox.as_ref(), &temp)?;
        let own = links::own_folder(&path).map_err(failed)?;
        let links = GitLinks::read(&path, &own, &branch).map_err(failed)?;
        let mut tree = Self {
            cwd: path.clone(),
            temp,
            start: repository.head.clone(),
            common: repository.common.clone(),
            env: context.env.clone(),
            sandbox: new.sandbox.clone(),
            pool: new.pool.clone(),
            _lock: lock(&path)?,
            path,
            branch,
            own,
            links,
        };
        repository::check_out(&tree.git(context)?)?;
        // A filter can write there.
        tree.links.restore().map_err(failed)?;
        tree.cwd = same_folder(&tree.path, &repository.prefix);
        Ok(tree)
    }

    fn remove_or_keep(self, context: &GitContext) -> WorktreeOutcome {
        let counted = self.count(context);
        // Nothing left in it is of any use.
        let _ = fs::remove_dir_all(&self.temp);
        let Self { path, branch, common, own, .. } = self;
        let why = match counted {
            Ok((0, 0)) => match repository::remove(&common, &path, &own, &branch, context) {
                Ok(()) => return WorktreeOutcome::Removed,
                Err(error) => error.to_string(),
            },
            Ok((files, commits)) => return WorktreeOutcome::Kept { path, branch, files, commits },
            Err(error) => error.to_string(),
        };
        WorktreeOutcome::Unclear { path, branch, why }
    }

    /// The number of changed files and new commits in it.
    fn count(&self, context: &GitContext) -> Result<(usize, usize), CountError> {
        self.links.restore()?;
        let git = self.git(context)?;
        let files = repository::changed_files(&git);
        // A filter that git ran may have written there, and later users of the worktree run git
        // too.
        self.links.restore()?;
        Ok((files?, repository::new_commits(&git, &self.branch, &self.start)?))
    }
}

impl fmt::Display for WorktreeOutcome {
    /// One line for a report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed => f.write_str("worktree removed: no changes"),
            Self::Kept { path, branch, files, commits } => {
                write!(f, "worktree kept: {} (branch {branch}", path.display())?;
                for (count, one, more) in
                    [(*files, "file changed", "files changed"), (*commits, "commit", "commits")]
                {
                    match count {
                        0 => {}
                        1 => write!(f, ", 1 {one}")?,
                        count => write!(f, ", {count} {more}")?,
                    }
                }
                f.write_str(")")
            }
            Self::Unclear { path, branch, why } => {
                write!(f, "worktree kept: {} (branch {branch}), because {why}", path.display())
            }
        }
    }
}

/// Why the contents of a worktree are unknown.
#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot restore its link to the repository: {0}")]
    Links(#[from] io::Error),
}

/// A worktree on its way to its caller. If lost on the way, it is removed.
struct RemoveOnDrop(Option<Worktree>);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // Without a runtime the program has ended, and the worktree stays.
        if let (Some(tree), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || {
                let context = GitContext::unstoppable(&tree.env);
                tree.remove_or_keep(&context)
            });
        }
    }
}

/// The name of a worktree's folder and, below [`BRANCH_FOLDER`], of its branch.
fn slug(name: &str, id: AgentId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARS).collect();
    let id = id.to_string();
    let short = &id[id.len().saturating_sub(ID_SUFFIX_CHARS)..];
    match name.trim_matches('-') {
        "" => format!("agent-{short}"),
        name => format!("{name}-{short}"),
    }
}

/// Creates a folder that only the user can open, with its parents; returns its path without links.
fn private_folder(path: &Path) -> Result<PathBuf, WorktreeError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    let failed = |source| WorktreeError::Folder { path: path.to_owned(), source };
    made.and_then(|()| path.canonicalize()).map_err(failed)
}

/// Locks a worktree, across programs. Continues without a lock if the system has none.
fn lock(path: &Path) -> Result<Option<File>, WorktreeError> {
    let Ok(folder) = File::open(path) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(WorktreeError::InUse(path.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// The directory `prefix` of the worktree, unless it is missing or a link leads out.
fn same_folder(path: &Path, prefix: &Path) -> PathBuf {
    let inside = |folder: &PathBuf| folder.starts_with(path) && folder.is_dir();
    path.join(prefix).canonicalize().ok().filter(inside).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests;
