//! Links out of protected places: what they lead to is protected as well.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::{ProtectedPlace, Reason, fold, name, resolve};
use crate::disk::repository_root;

/// How many entries below a folder are looked at, so that a huge one costs little and leaves room for others.
const MAX_ENTRIES: usize = 4000;

/// How deep folders of definitions go.
const DEPTH: usize = 3;

/// How deep dot folders of a project are looked into, as far as `.github/workflows`.
const DOT_DEPTH: usize = 1;

/// Where the links inside a protected place lead.
pub(super) fn inside(place: &ProtectedPlace) -> Vec<ProtectedPlace> {
    let links = links_below(&place.path, DEPTH).into_iter();
    links.map(|(_, target)| ProtectedPlace { path: target, ..place.clone() }).collect()
}

/// Where the dot links of a folder and those in its dot folders lead, and those of the folders above
/// it in the same checkout.
pub(super) fn dot_links(folder: &Path, home: Option<&Path>) -> Vec<ProtectedPlace> {
    let folder = resolve(folder).unwrap_or_else(|| folder.to_owned());
    let root = repository_root(&folder, home).unwrap_or(&folder);
    let folders = folder.ancestors().take_while(|above| above.starts_with(root));
    let links = folders.flat_map(dots).flat_map(|entry| match is_link(&entry) {
        true => link(&entry).into_iter().collect(),
        // What lies in git's folder has its own places.
        false if entry.file_name() == ".git" => Vec::new(),
        false => links_below(&entry.path(), DOT_DEPTH),
    });
    places(links.collect(), &folder)
}

/// Where the dot links of the home directory lead, and those in its dot folders.
pub(super) fn home_links(home: &Path) -> Vec<ProtectedPlace> {
    let mut links = Vec::new();
    for entry in dots(home) {
        let depth = match entry.file_name().to_string_lossy().as_ref() {
            ".config" => 2,
            ".local" => 1,
            _ => 0,
        };
        match is_link(&entry) {
            true => links.extend(link(&entry)),
            false => links.extend(links_below(&entry.path(), depth)),
        }
    }
    places(links, home)
}

/// The entries of a folder that their names protect.
fn dots(folder: &Path) -> Vec<DirEntry> {
    let is_dot = |entry: &DirEntry| {
        let name = fold(&entry.file_name().to_string_lossy());
        name.starts_with('.') && !name::is_data(&[name])
    };
    // A folder that cannot be listed holds no file to edit.
    fs::read_dir(folder).into_iter().flatten().flatten().filter(is_dot).collect()
}

/// The links in a folder and in those below it, each with the place where it leads.
fn links_below(folder: &Path, depth: usize) -> Vec<(PathBuf, PathBuf)> {
    let mut links = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(left) {
            left -= 1;
            if is_link(&entry) {
                links.extend(link(&entry));
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

/// The path of a link, and the place where it leads.
fn link(entry: &DirEntry) -> Option<(PathBuf, PathBuf)> {
    let target = resolve(&entry.path()).filter(|_| is_link(entry))?;
    Some((entry.path(), target))
}

/// Returns the places that links in `base` lead to. One that leads to a folder around `base`
/// protects nothing: it would protect all.
fn places(links: Vec<(PathBuf, PathBuf)>, base: &Path) -> Vec<ProtectedPlace> {
    let links = links.into_iter().filter(|(_, target)| !base.starts_with(target));
    links.map(|(link, target)| ProtectedPlace::below(target, Reason::Link(link))).collect()
}
