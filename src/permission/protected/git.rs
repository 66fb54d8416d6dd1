//! Git's own folders, found as git finds them: their settings and hooks name programs that git runs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::link;
use super::place::{ProtectedPlace, ProtectionReason, fold};
use crate::disk::{
    GitConfigPaths, checkout_around, has_dot_git, list_folder, named_git_dirs, normalize, resolve,
    resolve_from,
};

/// Names of files and folders that make a folder with a `HEAD` file a repository.
const PARTS: &[&str] = &["commondir", "config", "objects", "refs"];

/// Folders in a repository that are git's own, whatever lies in them.
const FOLDERS: &[&str] = &["hooks", "info", "logs", "modules", "objects", "refs", "worktrees"];

/// Maximum worktrees of one repository whose folders of hooks are looked up.
const MAX_WORKTREES: usize = 1000;

/// The git folder that contains the path: one that looks to git like a repository, or would with
/// this file. So the file that completes one is protected, whichever it is. A checkout can be in such
/// a folder, but not in one that is git's own; if git does not accept its `.git`, it takes the checkout
/// itself for a repository.
pub(super) fn folder_of(path: &Path) -> Option<PathBuf> {
    let mut is_checkout = false;
    for folder in path.ancestors().skip(1) {
        let entry = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let entry = fold(&entry.unwrap_or_default().to_string_lossy());
        let holds =
            |name: &str| entry == fold(name) || folder.join(name).symlink_metadata().is_ok();
        // A folder that others name as their common one needs no `HEAD`.
        let is_shared = holds("objects") && holds("refs");
        let is_gits = !is_checkout || FOLDERS.contains(&entry.as_str());
        if is_gits && (is_shared || holds("HEAD") && PARTS.iter().any(|part| holds(part))) {
            return Some(folder.to_owned());
        }
        is_checkout |= has_dot_git(folder);
    }
    None
}

/// Whether a file of this name makes a folder begin to look like a repository, wherever the rest
/// comes from: one line or one answer of the model can write several files, and each is judged
/// before the others exist.
pub(super) fn begins_repository(name: &str) -> bool {
    matches!(name, "commondir" | "head")
}

/// The folders that the `.git` of the checkout around `dir` names, its hooks folders, the targets
/// of links in these, and git's settings files: of the repository, of `user_config`, and of the
/// user whose home this is.
pub(super) fn places(
    dir: &Path,
    home: Option<&Path>,
    user_config: &GitConfigPaths,
) -> Vec<ProtectedPlace> {
    let checkout = checkout_around(dir);
    let folders = checkout.map(GitDirs::from_checkout);
    let configs = folders.as_ref().map(GitDirs::configs);
    // A relative folder of hooks is one in each of them.
    let mut checkouts: Vec<PathBuf> = folders.iter().flat_map(GitDirs::linked_checkouts).collect();
    // A repository created later gets the hooks folders that the user's settings name.
    let checkout = checkout.unwrap_or(dir);
    let mut hooks = Vec::new();
    hooks.extend(folders.as_ref().map(|folders| folders.common().join("hooks")));
    let mut files = Vec::new();
    let mut unknown = None;
    for paths in [user_config, &GitConfigPaths::with_home(home)] {
        let settings = paths.settings_with(configs.iter().flatten().cloned());
        let linked = folders.iter().flat_map(GitDirs::linked);
        let own = folders.as_ref().map_or(checkout, |folders| folders.own.as_path());
        checkouts.extend(linked.chain([own.to_owned()]).flat_map(|own| settings.worktrees(&own)));
        checkouts.push(checkout.to_owned());
        hooks.extend(checkouts.iter().flat_map(|checkout| settings.hook_folders(checkout)));
        if settings.check_is_known().is_err() {
            // Its hooks and settings can be anywhere.
            unknown = Some(ProtectionReason::GitUnread);
        }
        // What git copies into each new repository.
        files.extend(settings.files_named_by(&[("init", "templatedir")]));
        files.extend(settings.files);
    }
    let with_targets = |paths: Vec<PathBuf>| {
        let targets: Vec<_> = paths.iter().filter_map(|it| resolve_from(checkout, it)).collect();
        paths.into_iter().chain(targets).collect::<BTreeSet<_>>().into_iter()
    };
    let linked = folders.iter().find_map(GitDirs::unlisted_worktrees);
    let unknown = unknown.or(linked.map(ProtectionReason::Unsearched));
    // A loop of links, or a folder that only git may be able to enter.
    let mut paths = hooks.iter().chain(&files);
    let unresolved = paths.find(|path| resolve_from(checkout, path).is_none());
    let unknown = unknown.or(unresolved.cloned().map(ProtectionReason::GitUnresolved));
    let unknown = unknown.map(|why| ProtectedPlace::always(checkout.to_owned(), why));
    let place = |path: PathBuf| ProtectedPlace::below(path, ProtectionReason::Git);
    let hooks: Vec<_> = with_targets(hooks).map(place).collect();
    let linked: Vec<_> = hooks.iter().flat_map(|place| link::inside(place, checkout)).collect();
    // A folder around the working directory can be one for hooks, too.
    let direct = hooks
        .iter()
        .map(|place| ProtectedPlace::files_of(place.path.clone(), ProtectionReason::Git));
    let direct: Vec<_> = direct.collect();
    let files = with_targets(files).map(place);
    let folders = folders.map(|it| std::iter::once(it.own).chain(it.common).collect());
    let folders = with_targets(folders.unwrap_or_default());
    let folders = folders.map(|path| ProtectedPlace::unless_inside(path, ProtectionReason::Git));
    folders.chain(hooks).chain(direct).chain(linked).chain(files).chain(unknown).collect()
}

/// The folders with git's own files for one checkout.
struct GitDirs {
    own: PathBuf,
    /// The folder that all worktrees share, if named.
    common: Option<PathBuf>,
}

impl GitDirs {
    fn from_checkout(checkout: &Path) -> Self {
        let (own, common) = named_git_dirs(checkout);
        Self { own, common }
    }

    fn common(&self) -> &Path {
        self.common.as_deref().unwrap_or(&self.own)
    }

    fn configs(&self) -> Vec<PathBuf> {
        let linked = self.linked().map(|own| own.join("config.worktree"));
        let own = [
            self.common().join("config"),
            self.common().join("config.worktree"),
            self.own.join("config.worktree"),
        ];
        own.into_iter().chain(linked).collect()
    }

    /// The checkouts that share this repository.
    fn linked_checkouts(&self) -> Vec<PathBuf> {
        let checkout = |own: PathBuf| {
            let text = fs::read(own.join("gitdir")).ok()?;
            let line = text.split(|byte| matches!(byte, b'\n' | b'\r' | 0)).next()?;
            Some(own.join(OsStr::from_bytes(line)).parent()?.to_owned())
        };
        self.linked()
            .filter_map(checkout)
            .chain(resolve(self.common()).and_then(|common| Some(common.parent()?.to_owned())))
            .chain(normalize(self.common()).parent().map(Path::to_owned))
            .collect()
    }

    /// The git folders of the linked worktrees.
    fn linked(&self) -> impl Iterator<Item = PathBuf> {
        let folder = self.common().join("worktrees");
        let all: Vec<_> = list_folder(&folder).into_iter().flatten().take(MAX_WORKTREES).collect();
        all.into_iter().map(|entry| entry.path())
    }

    /// The folder of the linked worktrees, if not all of them are known.
    fn unlisted_worktrees(&self) -> Option<PathBuf> {
        let folder = self.common().join("worktrees");
        list_folder(&folder)
            .is_none_or(|mut all| all.nth(MAX_WORKTREES).is_some())
            .then_some(folder)
    }
}
