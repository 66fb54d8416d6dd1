//! A git worktree of its own for one sub-agent: made from the last commit, kept when it holds
//! anything, else removed.

mod git;
mod links;
mod reopen;
mod repository;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use self::git::{GitContext, GitError, WorktreeGit};
use self::links::Links;
use self::repository::Repository;
use crate::disk::ProjectFolders;
use crate::exec::{BlockingPool, Confinement, Sandbox, ShellReach, child_env};
use crate::protocol::{AgentId, Checkout, EnvOverlay};

/// Where the branches are, below `refs/heads`.
const BRANCHES: &str = "caliban";
/// The most characters of an agent's name that go into a branch's name.
const NAME_CHARS: usize = 40;
/// How much of an id tells worktrees apart: its end, which is random. Characters.
const ID_CHARS: usize = 8;

/// What a worktree is made from.
#[derive(Clone, Debug)]
pub struct NewWorktree {
    /// Where the parent works, in the repository. Absolute.
    pub cwd: PathBuf,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    /// The folder for all worktrees, outside of any repository. Made when it is not there.
    pub root: PathBuf,
    /// The agent's name.
    pub name: String,
    /// Tells worktrees of one name apart.
    pub id: AgentId,
    /// For git: `PATH`, `HOME` and the like. Keys of providers and what steers git are taken out.
    pub env: EnvOverlay,
    /// Names of further variables that no other program may see.
    pub secrets: Arc<[String]>,
    /// Absent where the system cannot confine: then the agent gets no shell, and git runs no filters there.
    pub sandbox: Option<Sandbox>,
    /// Where git is waited for.
    pub pool: BlockingPool,
    /// Ends git, and with it the making of the worktree, of which nothing is left then.
    pub stop: CancellationToken,
}

/// A worktree in use. Dropped without [`Worktree::finish`], as in a crash, it stays on disk; `git
/// worktree list` names it.
#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    cwd: PathBuf,
    branch: String,
    /// The commit that it began with.
    start: String,
    /// The repository's own folder, shared by all of its worktrees.
    common: PathBuf,
    /// The folder in there that is this worktree's alone.
    own: PathBuf,
    temp: PathBuf,
    links: Links,
    env: EnvOverlay,
    sandbox: Option<Sandbox>,
    pool: BlockingPool,
}

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It held no changes.
    Removed,
    Kept {
        path: PathBuf,
        branch: String,
        /// Changed and untracked ones; ignored ones do not count.
        files: usize,
        commits: usize,
    },
    /// Kept because it could not be looked into or removed.
    Unclear { path: PathBuf, branch: String, why: String },
}

/// Why there is no worktree. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(
        "a worktree needs a git repository with a working tree: run `git init` and commit, \
         or start the agent without isolation; there is none around {}", .0.display()
    )]
    NoRepository(PathBuf),
    #[error(
        "no worktree of the repository around {}: it holds your whole home folder; start the agent without isolation",
        .0.display()
    )]
    Home(PathBuf),
    #[error(
        "no worktree within that of another agent: start the agent without isolation, it works in {}",
        .0.display()
    )]
    Nested(PathBuf),
    #[error(
        "the repository has no commit yet, and a worktree starts from one: \
         commit first, or start the agent without isolation; it is around {}", .0.display()
    )]
    NoCommit(PathBuf),
    #[error(
        "no worktree for the agent: {0}; start it without isolation, or take that out of the repository \
         (your own settings may name programs: `git config --global`)"
    )]
    Programs(String),
    #[error(
        "no worktree for the agent: the repository keeps its branches in the format {0}, all in one place, \
         so an agent cannot be kept to branches of its own; start it without isolation, \
         or change the format with `git refs migrate --ref-format=files`"
    )]
    References(String),
    #[error("no worktree for the agent: {0}")]
    Git(#[from] GitError),
    #[error("no worktree for the agent: cannot use {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("no worktree for the agent: the program ends")]
    Ended,
}

impl NewWorktree {
    /// What git gets until `stop` ends it.
    fn git_context(&self, stop: CancellationToken) -> GitContext {
        let env = child_env(&self.env, 0, &self.secrets);
        // Git runs in the worktree too, which knows neither the checkout of the parent nor the other
        // folders of the session.
        GitContext { env: self.project.with(&self.cwd).without_programs(&env), stop }
    }
}

impl Worktree {
    /// Makes a worktree with a branch of its own from the last commit. When the future is dropped,
    /// git is ended, and what was made is removed again in the background.
    ///
    /// # Errors
    /// When there is no commit to start from, or git or the disk refuses.
    pub async fn create(new: NewWorktree) -> Result<Self, WorktreeError> {
        let (stop, pool) = (new.stop.child_token(), new.pool.clone());
        let _stop_when_dropped = stop.clone().drop_guard();
        let made = pool.run(move || {
            let context = new.git_context(stop);
            Self::make(&new, &context).map(|tree| Unclaimed(Some(tree)))
        });
        let mut unclaimed = made.await.map_err(|_| WorktreeError::Ended)??;
        unclaimed.0.take().ok_or(WorktreeError::Ended)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory in it that is the parent's in the repository; its top when the commit does not
    /// have that one.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Its branch.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// What must be known to find it again.
    #[must_use]
    pub fn checkout(&self) -> Checkout {
        let (path, branch, start) = (self.path.clone(), self.branch.clone(), self.start.clone());
        Checkout { path, branch, start }
    }

    /// What the agent's shell may do: what its confinement allows. No shell at all where that
    /// cannot be enforced.
    #[must_use]
    pub fn shell(&self) -> ShellReach {
        self.confinement().map_or(ShellReach::Withheld, ShellReach::Confined)
    }

    /// What keeps programs to the worktree: they write there, in a folder for temporary files, and
    /// what a commit on a branch of ours needs of the repository, also with Git LFS where the
    /// repository has its store. `None` where the system cannot confine.
    fn confinement(&self) -> Option<Confinement> {
        let branches = Path::new("refs/heads").join(BRANCHES);
        let logs = Path::new("logs").join(&branches);
        let shared = [Path::new("objects"), &branches, &logs].map(|name| self.common.join(name));
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let large_files = Some(self.common.join("lfs")).filter(is_folder);
        let write = [self.path.clone(), self.own.clone()].into_iter().chain(shared);
        Some(self.sandbox.as_ref()?.confine(write.chain(large_files), &self.temp))
    }

    /// Git in the worktree.
    fn git(&self, context: &GitContext) -> Result<WorktreeGit, GitError> {
        // Nobody allowed what a filter does: it reads no more than git does.
        let confinement = self.confinement().map(|it| it.reading([self.common.clone()]));
        WorktreeGit::new(&self.path, confinement, context)
    }

    /// Removes the worktree and its branch when they hold neither changes nor commits; else keeps
    /// both. All that the agent started must have ended. Goes on in the background when the future
    /// is dropped.
    pub async fn finish(self) -> Finished {
        self.finish_until(std::future::pending()).await
    }

    /// [`Self::finish`], as long as `over` does not end first: then git is ended, and the worktree
    /// stays as it is.
    pub async fn finish_until(self, over: impl Future<Output = ()>) -> Finished {
        let (path, branch, pool) = (self.path.clone(), self.branch.clone(), self.pool.clone());
        let unclear = |why: String| Finished::Unclear { path, branch, why };
        let stop = CancellationToken::new();
        let context = GitContext { env: self.env.clone(), stop: stop.clone() };
        tokio::select! {
            biased;
            ended = pool.run(move || self.conclude(&context)) => {
                ended.unwrap_or_else(|error| unclear(error.to_string()))
            }
            () = over => {
                stop.cancel();
                unclear(GitError::Stopped.to_string())
            }
        }
    }

    fn make(new: &NewWorktree, context: &GitContext) -> Result<Self, WorktreeError> {
        let root = private_folder(&new.root)?;
        if new.cwd.starts_with(&root) {
            // What an agent may write to, git must not be run on: its settings name programs.
            return Err(WorktreeError::Nested(new.cwd.clone()));
        }
        let repository = Repository::around(&new.cwd, context)?;
        let slug = slug(&new.name, new.id);
        let (path, branch) = (root.join(&slug), format!("{BRANCHES}/{slug}"));
        let temp = root.join(format!("{slug}.tmp"));
        let made = Self::fill(new, context, &repository, path.clone(), branch.clone(), &temp);
        if made.is_err() {
            // Also when git was stopped. Whatever of it is not there cannot be removed.
            let context = GitContext::unstoppable(&context.env);
            let own = repository.common.join("worktrees").join(&slug);
            let _ = repository::remove(&repository.common, &path, &own, &branch, &context);
            let _ = fs::remove_dir_all(&temp);
        }
        made
    }

    fn fill(
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
        let links = Links::of(&path, &own, &branch).map_err(failed)?;
        let mut tree = Self {
            cwd: path.clone(),
            temp,
            start: repository.head.clone(),
            common: repository.common.clone(),
            env: context.env.clone(),
            sandbox: new.sandbox.clone(),
            pool: new.pool.clone(),
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

    fn conclude(self, context: &GitContext) -> Finished {
        let counted = self.count(context);
        // Whatever is left of it is of no use to anybody.
        let _ = fs::remove_dir_all(&self.temp);
        let Self { path, branch, common, own, .. } = self;
        let why = match counted {
            Ok((0, 0)) => match repository::remove(&common, &path, &own, &branch, context) {
                Ok(()) => return Finished::Removed,
                Err(error) => error.to_string(),
            },
            Ok((files, commits)) => return Finished::Kept { path, branch, files, commits },
            Err(error) => error.to_string(),
        };
        Finished::Unclear { path, branch, why }
    }

    /// How many changed files and new commits it holds.
    fn count(&self, context: &GitContext) -> Result<(usize, usize), CountError> {
        self.links.restore()?;
        let git = self.git(context)?;
        let files = repository::changed_files(&git);
        // A filter that git ran can have written there, and whoever looks later runs git too.
        self.links.restore()?;
        Ok((files?, repository::new_commits(&git, &self.branch, &self.start)?))
    }
}

impl fmt::Display for Finished {
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

/// Why it is not known what a worktree holds.
#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot put its link to the repository back: {0}")]
    Links(#[from] io::Error),
}

/// A worktree on its way to the one who asked for it. Lost on the way, it is removed.
struct Unclaimed(Option<Worktree>);

impl Drop for Unclaimed {
    fn drop(&mut self) {
        // Without a runtime the program has ended, and the worktree stays.
        if let (Some(tree), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || {
                let context = GitContext::unstoppable(&tree.env);
                tree.conclude(&context)
            });
        }
    }
}

/// The name of a worktree's folder and, below [`BRANCHES`], of its branch.
fn slug(name: &str, id: AgentId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).take(NAME_CHARS).collect();
    let id = id.to_string();
    let short = &id[id.len().saturating_sub(ID_CHARS)..];
    match name.trim_matches('-') {
        "" => format!("agent-{short}"),
        name => format!("{name}-{short}"),
    }
}

/// Makes a folder that only the person can look into, with those above it; says its path without links.
fn private_folder(path: &Path) -> Result<PathBuf, WorktreeError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    let failed = |source| WorktreeError::Folder { path: path.to_owned(), source };
    made.and_then(|()| path.canonicalize()).map_err(failed)
}

/// The directory `prefix` of the worktree, unless it is not there or a link leads out.
fn same_folder(path: &Path, prefix: &Path) -> PathBuf {
    let inside = |folder: &PathBuf| folder.starts_with(path) && folder.is_dir();
    path.join(prefix).canonicalize().ok().filter(inside).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests;
