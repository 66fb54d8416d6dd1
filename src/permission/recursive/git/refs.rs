//! The references of a repository, read from its files: which names are certainly those of commits.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::{checkout_root, common_git_dir, named_git_dirs};

/// Folders in which git looks for a reference, in its order.
const FOLDERS: [&str; 5] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// The references of one repository.
pub struct References {
    /// The folder of the checkout, and that of the repository.
    own: PathBuf,
    common: PathBuf,
    packed: String,
}

impl References {
    /// Reads those of the repository around the folder; `None` if its form is unknown.
    pub fn around(folder: &Path) -> Option<Self> {
        let root = checkout_root(folder);
        let (own, common) = (named_git_dirs(&root).0, common_git_dir(&root)?);
        let packed = fs::read_to_string(common.join("packed-refs")).unwrap_or_default();
        Some(Self { own, common, packed })
    }

    /// Whether the name is certainly that of a commit: `HEAD` or a local branch, or one before it.
    /// Any other may be that of a file.
    pub fn is_commit(&self, name: &str) -> bool {
        let start = start_of(name);
        let is_before = name[start.len()..].chars().all(|c| matches!(c, '~' | '^' | '0'..='9'));
        is_before
            && match start {
                _ if is_head(name) => self.is_head_commit(),
                branch => self.is_branch(branch),
            }
    }

    /// Whether git finds a reference by this name, or by the part before one of its operators.
    pub fn has(&self, name: &str) -> bool {
        let start = name.split(['~', '^', '@', ':']).next().unwrap_or_default();
        start.is_empty()
            || is_of_worktree(start)
            || FOLDERS.iter().any(|folder| self.exists(&format!("{folder}{start}")))
            || self.exists(&format!("refs/remotes/{start}/HEAD"))
    }

    /// Git keeps the branch that `HEAD` names at a commit, but a symbolic one may lead to anything.
    fn is_head_commit(&self) -> bool {
        let Some(head) = text(&self.own.join("HEAD")) else { return false };
        let is_ambiguous = FOLDERS[1..].iter().any(|it| self.exists(&format!("{it}HEAD")));
        let branch = head.strip_prefix("ref: refs/heads/");
        !is_ambiguous && (is_hash(&head) || branch.is_some_and(|branch| self.is_at_hash(branch)))
    }

    fn is_branch(&self, name: &str) -> bool {
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._/-".contains(c));
        let mut others = ["", "refs/", "refs/tags/"].into_iter();
        // Git takes a hash for the name of an object, and looks for some references before branches,
        // also where it makes them later.
        is_plain
            && !is_hash(name)
            && !is_of_worktree(name)
            && !is_at_root(name)
            && !name.contains("..")
            && !others.any(|folder| self.exists(&format!("{folder}{name}")))
            && self.is_at_hash(name)
    }

    /// Whether the branch holds a hash, rather than another reference.
    fn is_at_hash(&self, branch: &str) -> bool {
        let name = format!("refs/heads/{branch}");
        let file = self.common.join(&name);
        match file.symlink_metadata() {
            Ok(_) => text(&file).is_some_and(|text| is_hash(&text)),
            Err(_) => self.packed_hash(&name).is_some_and(is_hash),
        }
    }

    fn exists(&self, name: &str) -> bool {
        // Beside its references, git keeps other files.
        let is_kept = |text: Option<String>| {
            text.is_none_or(|it| it.starts_with("ref:") || it.get(..40).is_some_and(is_hash))
        };
        let is_file = |git: &PathBuf| {
            let file = git.join(name);
            file.symlink_metadata().is_ok_and(|it| !it.is_dir())
                && (name.starts_with("refs/") || is_kept(text(&file)))
        };
        [&self.own, &self.common].into_iter().any(is_file) || self.packed_hash(name).is_some()
    }

    fn packed_hash(&self, name: &str) -> Option<&str> {
        let mut lines = self.packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, own)| *own == name).map(|(hash, _)| hash)
    }
}

/// Whether the name is `HEAD`, or one before it, which no other reference can stand for.
pub fn is_head(name: &str) -> bool {
    matches!(start_of(name), "HEAD" | "@")
}

/// The name without the operators behind it.
fn start_of(name: &str) -> &str {
    name.split(['~', '^']).next().unwrap_or_default()
}

/// The text of a regular file, without the end of its line.
fn text(file: &Path) -> Option<String> {
    let is_file = file.symlink_metadata().is_ok_and(|it| it.file_type().is_file());
    let text = is_file.then(|| fs::read(file).ok()).flatten()?;
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Whether git takes the name for a reference of one worktree, such as `main-worktree/FETCH_HEAD`.
fn is_of_worktree(name: &str) -> bool {
    name.starts_with("main-worktree/") || name.starts_with("worktrees/")
}

/// Whether git takes the name for that of a reference of its own, such as `FETCH_HEAD`.
fn is_at_root(name: &str) -> bool {
    name.contains('_') && name.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '-' | '_'))
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
