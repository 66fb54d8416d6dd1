//! Links out of protected places: their targets are protected as well.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::name;
use super::place::{ProtectedPlace, ProtectionReason, fold};
use crate::disk::{list_folder, repository_root, resolve_from};
use crate::permission::path::resolve;

/// Maximum entries examined below a folder. If it has more, a link among them may lead anywhere.
const MAX_ENTRIES: usize = 50_000;

/// Depth to which places are searched: definitions are read as deep.
const MAX_DEPTH: usize = 8;

/// Depth to which a project's dot folders are searched, enough for `.github/workflows`.
const DOT_DEPTH: usize = 1;

/// A link, and where it leads for programs that run in some folder; `None` if that may be anywhere.
struct Link {
    path: PathBuf,
    target: Option<PathBuf>,
}

impl Link {
    /// The link that the entry is, for programs that run in `root`.
    fn from_entry(entry: &DirEntry, root: &Path) -> Option<Self> {
        let path = entry.path();
        is_link(entry).then(|| Self { target: resolve_from(root, &path), path })
    }

    /// The place that the link protects: its target, or all of `root` if that may be anywhere.
    fn place(self, root: &Path) -> ProtectedPlace {
        match self.target {
            Some(target) => ProtectedPlace::below(target, ProtectionReason::Link(self.path)),
            None => unsearched(&self.path, root),
        }
    }
}

/// Returns the targets of the links inside a protected place, for programs that run in `root`.
pub(super) fn inside(place: &ProtectedPlace, root: &Path) -> Vec<ProtectedPlace> {
    let Some(links) = links_below(&place.path, MAX_DEPTH, root) else {
        return vec![unsearched(&place.path, root)];
    };
    let places = links.into_iter().map(|link| match link.target {
        Some(path) => ProtectedPlace { path, ..place.clone() },
        None => unsearched(&link.path, root),
    });
    places.collect()
}

/// Returns the targets of the dot links of a folder and of those in its dot folders, and of those
/// of the folders above it in the same checkout.
///
/// `dirs` are all folders in which the agent works.
pub(super) fn dot_links(
    folder: &Path,
    home: Option<&Path>,
    dirs: &[PathBuf],
) -> Vec<ProtectedPlace> {
    let folder = resolve(folder).unwrap_or_else(|| folder.to_owned());
    // Git may skip the `.git` of the nearest.
    let checkouts = folder.ancestors().filter_map(|above| repository_root(above, home));
    let root = checkouts.last().unwrap_or(&folder);
    let folders = folder.ancestors().take_while(|above| above.starts_with(root));
    let home = home.and_then(resolve);
    // In a folder that is meant by another name too, every file has a name that is protected. The links in the
    // home are the user's own.
    let place = |link: Link| match &link.target {
        Some(target) if dirs.iter().chain([&folder]).any(|dir| dir.starts_with(target)) => {
            let is_own = link.path.parent() == home.as_deref();
            let reason = ProtectionReason::LinkAround(link.path);
            (!is_own).then(|| ProtectedPlace::always(target.clone(), reason))
        }
        _ => Some(link.place(root)),
    };
    let below = |folder: &Path| match links_below(folder, DOT_DEPTH, root) {
        Some(links) => links.into_iter().filter_map(place).collect(),
        None => vec![unsearched(folder, root)],
    };
    let of_entry = |entry: DirEntry| match Link::from_entry(&entry, root) {
        Some(link) => {
            let target = link.target.clone().filter(|target| !folder.starts_with(target));
            let below = target.as_deref().map(below).unwrap_or_default();
            place(link).into_iter().chain(below).collect()
        }
        // The contents of git's folder have their own places.
        None if entry.file_name() == ".git" => Vec::new(),
        None => below(&entry.path()),
    };
    let found = folders.flat_map(|folder| match dots(folder) {
        Some(dots) => dots.into_iter().flat_map(of_entry).collect(),
        None => vec![unsearched(folder, root)],
    });
    found.collect()
}

/// Returns the targets of the dot links of the home directory, and of those in its dot folders. A link that
/// leads to a folder around the home, or where nobody can look, protects nothing: these are the user's own.
pub(super) fn home_links(home: &Path) -> Vec<ProtectedPlace> {
    let Some(dots) = dots(home) else { return vec![unsearched(home, home)] };
    let mut found = Vec::new();
    for entry in dots {
        let depth = match entry.file_name().to_string_lossy().as_ref() {
            ".config" => 2,
            ".local" => 1,
            _ => 0,
        };
        let links = match Link::from_entry(&entry, home) {
            Some(link) => Some(vec![link]),
            None => links_below(&entry.path(), depth, home),
        };
        let Some(links) = links else {
            found.push(unsearched(&entry.path(), home));
            continue;
        };
        let is_own =
            |link: &Link| link.target.as_ref().is_some_and(|target| !home.starts_with(target));
        found.extend(links.into_iter().filter(is_own).map(|link| link.place(home)));
    }
    found
}

/// All of `root`, since the links at or below `place` are not known.
fn unsearched(place: &Path, root: &Path) -> ProtectedPlace {
    ProtectedPlace::always(root.to_owned(), ProtectionReason::Unsearched(place.to_owned()))
}

/// The entries of a folder that are protected by name; `None` if they are not known.
fn dots(folder: &Path) -> Option<Vec<DirEntry>> {
    let is_dot = |entry: &DirEntry| {
        let name = fold(&entry.file_name().to_string_lossy());
        name.starts_with('.') && !name::is_data(&[name])
    };
    Some(list_folder(folder)?.filter(is_dot).collect())
}

/// The links in a folder and below it, also behind links to folders; `None` if there are too many entries,
/// or some are not known.
fn links_below(folder: &Path, depth: usize, root: &Path) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = vec![(folder.to_owned(), depth)];
    let mut seen = HashSet::new();
    while let Some((folder, depth)) = folders.pop() {
        // Links can lead to one folder on many ways.
        if !seen.insert((folder.clone(), depth)) {
            continue;
        }
        for entry in list_folder(&folder)? {
            left = left.checked_sub(1)?;
            let link = Link::from_entry(&entry, root);
            let path = link.as_ref().map_or_else(|| Some(entry.path()), |link| link.target.clone());
            let path = path.filter(|path| depth > 0 && may_be_folder(path));
            folders.extend(path.map(|path| (path, depth - 1)));
            links.extend(link);
        }
    }
    Some(links)
}

/// Whether there may be a folder: what cannot be looked up may be one.
fn may_be_folder(path: &Path) -> bool {
    path.metadata().map_or_else(|error| !is_absent(&error), |found| found.is_dir())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
    )
}

fn is_link(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_symlink())
}
