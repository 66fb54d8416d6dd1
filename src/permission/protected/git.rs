//! Git's own folders, found as git finds them: their settings and hooks name programs that git runs.

use std::path::{Path, PathBuf};

use super::{ProtectedPlace, Reason, fold, link};
use crate::disk::{GitConfigPaths, checkout_around, has_dot_git, named_git_dirs};

/// Names of files and folders that make a repository of a folder with a file `HEAD`.
const PARTS: &[&str] = &["commondir", "config", "objects", "refs"];

/// The folder of git's that holds the path: one that looks to git like a repository, or begins to
/// with this file. So the file that completes one is protected, whichever it is. The search ends at
/// a checkout, which can lie in such a folder; but where git makes nothing of its `.git`, it takes
/// the checkout itself for a repository.
pub(super) fn folder_of(path: &Path) -> Option<PathBuf> {
    for folder in path.ancestors().skip(1) {
        let entry = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let entry = fold(&entry.unwrap_or_default().to_string_lossy());
        let holds =
            |name: &str| entry == fold(name) || folder.join(name).symlink_metadata().is_ok();
        if holds("HEAD") && PARTS.iter().any(|part| holds(part)) {
            return Some(folder.to_owned());
        }
        if has_dot_git(folder) {
            return None;
        }
    }
    None
}

/// Whether a folder begins to look like a repository with a file of this name, wherever the rest
/// comes from: one line or one answer of the model can write several files, and each is judged
/// before the others are there.
pub(super) fn begins_repository(name: &str) -> bool {
    matches!(name, "commondir" | "head")
}

/// The folders that the `.git` of the checkout around `dir` names, the folders of its hooks, what
/// links in these lead to, and the files with settings of git: of the repository, of `user_config`,
/// and of the one whose home this is.
pub(super) fn places(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
) -> Vec<ProtectedPlace> {
    let checkout = checkout_around(dir);
    let folders = checkout.map(Folders::of);
    let configs = folders.as_ref().map(Folders::configs);
    // A repository that is made later has the folders of hooks that the user's settings name.
    let checkout = checkout.unwrap_or(dir);
    let mut hooks = Vec::new();
    hooks.extend(folders.as_ref().map(|folders| folders.common().join("hooks")));
    let mut files = Vec::new();
    for paths in [user_config, &GitConfigPaths::at_home(home)] {
        let settings = paths.settings_with(configs.iter().flatten().cloned());
        hooks.extend(settings.hook_folders(checkout));
        files.extend(settings.files);
    }
    hooks.sort_unstable();
    hooks.dedup();
    let hooks = hooks.into_iter();
    let hooks: Vec<_> = hooks.map(|path| ProtectedPlace::below(path, Reason::Git)).collect();
    let linked: Vec<_> = hooks.iter().flat_map(link::inside).collect();
    let files = files.into_iter().map(|path| ProtectedPlace::below(path, Reason::Git));
    let folders = folders.into_iter().flat_map(|it| std::iter::once(it.own).chain(it.common));
    let folders = folders.map(|path| ProtectedPlace::unless_inside(path, Reason::Git));
    folders.chain(hooks).chain(linked).chain(files).collect()
}

/// The folders with git's own files for one checkout.
struct Folders {
    own: PathBuf,
    /// What all worktrees share, where it is named.
    common: Option<PathBuf>,
}

impl Folders {
    fn of(checkout: &Path) -> Self {
        let (own, common) = named_git_dirs(checkout);
        Self { own, common }
    }

    fn common(&self) -> &Path {
        self.common.as_deref().unwrap_or(&self.own)
    }

    fn configs(&self) -> [PathBuf; 2] {
        [self.common().join("config"), self.own.join("config.worktree")]
    }
}
