//! The files in which git keeps the content of other files: objects, packs, patches and conflicts.

use std::path::{Component, Path};

use crate::disk::checkout_root;

use super::pattern::PathPattern;
use super::pattern_roots::PatternRoots;

/// Entries at the top of a git folder that hold names, settings and commits, and no file content.
/// `COMMIT_EDITMSG` is not one: `git commit -v` writes the whole change to it.
const WITHOUT_CONTENT: &str = "HEAD FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD branches commondir config \
                               config.worktree description gitdir hooks index info logs packed-refs refs shallow";

/// Whether git may keep the content of a file of the pattern in `file`, a path without links.
pub fn may_hold(file: &Path, cwd: &Path, pattern: &PathPattern, starts: &PatternRoots) -> bool {
    // The outermost one, so that a submodule's store counts for the checkout around it.
    let Some(git) = file.ancestors().filter(|folder| is_git_dir(folder)).last() else {
        return false;
    };
    let below = file.strip_prefix(git).unwrap_or(file);
    let mut names = below.components();
    let mut first = names.next();
    if first == Some(Component::Normal("worktrees".as_ref())) {
        first = names.nth(1);
    }
    let is_known = |name: Component<'_>| {
        WITHOUT_CONTENT.split_whitespace().any(|known| name.as_os_str() == known)
    };
    if first.is_some_and(is_known) {
        return false;
    }
    let root = git.parent().filter(|_| has_git_name(git)).unwrap_or(git);
    pattern.may_lie_in(root, starts) || pattern.may_lie_in(&checkout_root(cwd), starts)
}

fn is_git_dir(folder: &Path) -> bool {
    has_git_name(folder) || folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

fn has_git_name(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}
