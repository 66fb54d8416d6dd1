//! Links out of protected places: their targets are protected as well.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use super::name;
use super::place::{ProtectedPlace, ProtectionReason, fold};
use crate::disk::{entries, repository_root, resolve_from};
use crate::permission::path::resolve;

/// Maximum entries examined below a folder. If it has more, a link among them may lead anywhere.
const MAX_ENTRIES: usize = 50_000;

/// Depth of definition folders.
const DEPTH: usize = 3;

/// Depth to which a project's dot folders are searched, enough for `.github/workflows`.
const DOT_DEPTH: usize = 1;

/// Returns the targets of the links inside a protected place, for programs that run in `root`.
pub(super) fn inside(place: &ProtectedPlace, root: &Path) -> Vec<ProtectedPlace> {
    match links_below(&place.path, DEPTH, root) {
        Some(links) => {
            let targets = links.into_iter().map(|(_, target)| target);
            targets.map(|path| ProtectedPlace { path, ..place.clone() }).collect()
        }
        None => vec![unsearched(&place.path, root)],
    }
}

/// Returns the targets of the dot links of a folder and of those in its dot folders, and of those
/// of the folders above it in the same checkout.
pub(super) fn dot_links(folder: &Path, home: Option<&Path>) -> Vec<ProtectedPlace> {
    let folder = resolve(folder).unwrap_or_else(|| folder.to_owned());
    let root = repository_root(&folder, home).unwrap_or(&folder);
    let folders = folder.ancestors().take_while(|above| above.starts_with(root));
    let of_entry = |entry: DirEntry| match is_link(&entry) {
        true => {
            let linked = link(&entry, root);
            let target = linked.iter().map(|(_, target)| target);
            let target = target.filter(|target| !folder.starts_with(target));
            let below = target.flat_map(|target| places_below(target, DOT_DEPTH, root, &folder));
            let below: Vec<_> = below.collect();
            places(linked.into_iter().collect(), &folder).into_iter().chain(below).collect()
        }
        // The contents of git's folder have their own places.
        false if entry.file_name() == ".git" => Vec::new(),
        false => places_below(&entry.path(), DOT_DEPTH, root, &folder),
    };
    let found = folders.flat_map(|folder| match dots(folder) {
        Some(dots) => dots.into_iter().flat_map(of_entry).collect(),
        None => vec![unsearched(folder, root)],
    });
    found.collect()
}

/// Returns the targets of the dot links of the home directory, and of those in its dot folders.
pub(super) fn home_links(home: &Path) -> Vec<ProtectedPlace> {
    let Some(dots) = dots(home) else { return vec![unsearched(home, home)] };
    let mut found = Vec::new();
    for entry in dots {
        let depth = match entry.file_name().to_string_lossy().as_ref() {
            ".config" => 2,
            ".local" => 1,
            _ => 0,
        };
        match is_link(&entry) {
            true => found.extend(places(link(&entry, home).into_iter().collect(), home)),
            false => found.extend(places_below(&entry.path(), depth, home, home)),
        }
    }
    found
}

/// The targets of the links below a folder, for programs that run in `root`; or all of `root`.
fn places_below(folder: &Path, depth: usize, root: &Path, base: &Path) -> Vec<ProtectedPlace> {
    match links_below(folder, depth, root) {
        Some(links) => places(links, base),
        None => vec![unsearched(folder, root)],
    }
}

/// All of `root`, since the links below `folder` are not known.
fn unsearched(folder: &Path, root: &Path) -> ProtectedPlace {
    ProtectedPlace::always(root.to_owned(), ProtectionReason::Unsearched(folder.to_owned()))
}

/// The entries of a folder that are protected by name; `None` if they are not known.
fn dots(folder: &Path) -> Option<Vec<DirEntry>> {
    let is_dot = |entry: &DirEntry| {
        let name = fold(&entry.file_name().to_string_lossy());
        name.starts_with('.') && !name::is_data(&[name])
    };
    Some(entries(folder)?.filter(is_dot).collect())
}

/// The links in a folder and below it, each with its target; `None` if there are too many entries, or some are
/// not known.
fn links_below(folder: &Path, depth: usize, root: &Path) -> Option<Vec<(PathBuf, PathBuf)>> {
    let mut links = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in entries(&folder)? {
            left = left.checked_sub(1)?;
            if is_link(&entry) {
                links.extend(link(&entry, root));
            } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((entry.path(), depth - 1));
            }
        }
    }
    Some(links)
}

fn is_link(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_symlink())
}

/// The path of a link, and its target for programs that run in `root`.
fn link(entry: &DirEntry, root: &Path) -> Option<(PathBuf, PathBuf)> {
    if !is_link(entry) {
        return None;
    }
    Some((entry.path(), resolve_from(root, &entry.path())?))
}

/// Returns the targets of links in `base`. One that leads to a folder around `base` protects
/// nothing: it would protect everything.
fn places(links: Vec<(PathBuf, PathBuf)>, base: &Path) -> Vec<ProtectedPlace> {
    let links = links.into_iter().filter(|(_, target)| !base.starts_with(target));
    links
        .map(|(link, target)| ProtectedPlace::below(target, ProtectionReason::Link(link)))
        .collect()
}
