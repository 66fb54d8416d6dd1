//! Links out of protected places: their targets are protected as well.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::{ProtectedPlace, ProtectionReason, fold, name, resolve};
use crate::disk::{repository_root, resolve_from};

/// Maximum entries examined below a folder, so that a huge one costs little and leaves room for others.
const MAX_ENTRIES: usize = 4000;

/// Depth of definition folders.
const DEPTH: usize = 3;

/// Depth to which a project's dot folders are searched, enough for `.github/workflows`.
const DOT_DEPTH: usize = 1;

/// Returns the targets of the links inside a protected place, for programs that run in `root`.
pub(super) fn inside(place: &ProtectedPlace, root: &Path) -> Vec<ProtectedPlace> {
    let links = links_below(&place.path, DEPTH, root).into_iter();
    links.map(|(_, target)| ProtectedPlace { path: target, ..place.clone() }).collect()
}

/// Returns the targets of the dot links of a folder and of those in its dot folders, and of those
/// of the folders above it in the same checkout.
pub(super) fn dot_links(folder: &Path, home: Option<&Path>) -> Vec<ProtectedPlace> {
    let folder = resolve(folder).unwrap_or_else(|| folder.to_owned());
    let root = repository_root(&folder, home).unwrap_or(&folder);
    let folders = folder.ancestors().take_while(|above| above.starts_with(root));
    let links = folders.flat_map(dots).flat_map(|entry| match is_link(&entry) {
        true => link(&entry, root).into_iter().collect(),
        // The contents of git's folder have their own places.
        false if entry.file_name() == ".git" => Vec::new(),
        false => links_below(&entry.path(), DOT_DEPTH, root),
    });
    places(links.collect(), &folder)
}

/// Returns the targets of the dot links of the home directory, and of those in its dot folders.
pub(super) fn home_links(home: &Path) -> Vec<ProtectedPlace> {
    let mut links = Vec::new();
    for entry in dots(home) {
        let depth = match entry.file_name().to_string_lossy().as_ref() {
            ".config" => 2,
            ".local" => 1,
            _ => 0,
        };
        match is_link(&entry) {
            true => links.extend(link(&entry, home)),
            false => links.extend(links_below(&entry.path(), depth, home)),
        }
    }
    places(links, home)
}

/// The entries of a folder that are protected by name.
fn dots(folder: &Path) -> Vec<DirEntry> {
    let is_dot = |entry: &DirEntry| {
        let name = fold(&entry.file_name().to_string_lossy());
        name.starts_with('.') && !name::is_data(&[name])
    };
    // A folder that cannot be listed holds no file to edit.
    fs::read_dir(folder).into_iter().flatten().flatten().filter(is_dot).collect()
}

/// The links in a folder and below it, each with its target.
fn links_below(folder: &Path, depth: usize, root: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut links = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(left) {
            left -= 1;
            if is_link(&entry) {
                links.extend(link(&entry, root));
            } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((entry.path(), depth - 1));
            }
        }
    }
    links
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
