//! Puts an agent back into its worktree. It may have been killed there, so nothing that it could
//! write is trusted.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::error::WorktreeError;
use super::links::GitLinks;
use super::repository::{self, BRANCH_FOLDER, Repository};
use super::{NewWorktree, Worktree, lock, private_folder, same_folder};
use crate::git::GitContext;
use crate::protocol::WorktreeInfo;

/// The folder where git keeps the data of each worktree, below the repository's own folder.
const WORKTREES_FOLDER: &str = "worktrees";

impl Worktree {
    /// Reopens the worktree of a resumed agent, with its former bounds; `None` if it no longer
    /// exists. A dropped future leaves it unchanged.
    ///
    /// # Errors
    /// If there is no repository where the parent works, or git or the disk fails.
    pub async fn reopen(
        new: NewWorktree,
        known: WorktreeInfo,
    ) -> Result<Option<Self>, WorktreeError> {
        let (stop, pool) = (new.stop.child_token(), new.pool.clone());
        let _stop_when_dropped = stop.clone().drop_guard();
        let found = pool.run(move || Self::find(&new, &new.git_context(stop), known));
        found.await.map_err(|_| WorktreeError::Ended)?
    }

    pub(super) fn find(
        new: &NewWorktree,
        context: &GitContext,
        known: WorktreeInfo,
    ) -> Result<Option<Self>, WorktreeError> {
        let root = private_folder(&new.root)?;
        if new.cwd.starts_with(&root) {
            return Err(WorktreeError::Nested(new.cwd.clone()));
        }
        let repository = Repository::around(&new.cwd, context)?;
        let Some(slug) = slug_of(&known, &root) else { return Ok(None) };
        let own = repository.common.join(WORKTREES_FOLDER).join(&slug);
        if !is_real_folder(&known.path) || !is_real_folder(&own) {
            return Ok(None);
        }
        let lock = lock(&known.path)?;
        // Git runs in there only from here on.
        let links = GitLinks::expected(&known.path, &own, &known.branch);
        links.restore().map_err(|source| WorktreeError::Folder { path: own.clone(), source })?;
        let WorktreeInfo { path, branch, start } = known;
        let tree = Self {
            cwd: same_folder(&path, &repository.prefix),
            temp: private_folder(&root.join(format!("{slug}.tmp")))?,
            common: repository.common,
            env: context.env.clone(),
            sandbox: new.sandbox.clone(),
            pool: new.pool.clone(),
            path,
            branch,
            start,
            own,
            links,
            _lock: lock,
        };
        let found = tree.git(context).and_then(|git| repository::own_folder(&git));
        if found.as_ref().is_ok_and(|found| *found == tree.own) {
            return Ok(Some(tree));
        }
        let _ = fs::remove_dir_all(&tree.temp);
        found?;
        Ok(None)
    }
}

/// The name that its folder and its branch share, if it is one of ours.
fn slug_of(known: &WorktreeInfo, root: &Path) -> Option<String> {
    let slug = known.path.file_name().and_then(OsStr::to_str)?;
    let ours = known.path == root.join(slug)
        && known.branch == format!("{BRANCH_FOLDER}/{slug}")
        && !known.start.is_empty()
        && known.start.bytes().all(|byte| byte.is_ascii_hexdigit());
    ours.then(|| slug.to_owned())
}

/// Whether a directory exists, with no link on the way.
fn is_real_folder(path: &Path) -> bool {
    path.is_dir() && path.canonicalize().is_ok_and(|real| real == path)
}
