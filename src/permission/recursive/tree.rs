//! Looks for a file of a pattern below a folder.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::whitelist::IgnoreLevel;
use crate::permission::path::{PathTarget, resolve};
use crate::permission::pattern::PathPattern;
use crate::permission::pattern_roots::PatternRoots;

/// Maximum entries examined for one folder and one pattern.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The same where only what is shown of them is examined.
const MAX_SHOWN_ENTRIES: usize = 100_000;

/// How many of these entries a link counts for, which takes longer to follow.
const LINK_COST: usize = 10;

/// The outcome of a search for a file.
#[derive(Debug, PartialEq)]
pub enum SearchOutcome {
    Nothing,
    Found(PathBuf),
    /// There are more files than the limit.
    TooMany,
}

/// The places to which links below a folder lead, whether a command follows them or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderLinks {
    targets: Vec<PathTarget>,
    /// Whether there may be others.
    is_open: bool,
}

impl FolderLinks {
    /// Follows the links below `folder`, and those in the folders to which they lead.
    pub fn below(folder: &PathTarget, hidden: bool) -> Self {
        let mut links = Self::default();
        let Some(real) = folder.resolved.clone() else { return links };
        let mut left = MAX_SHOWN_ENTRIES;
        let mut seen = HashSet::from([real.clone()]);
        let mut folders = VecDeque::from([(real, folder.written.clone())]);
        while let Some((real, written)) = folders.pop_front() {
            for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let Ok(kind) = entry.file_type() else { continue };
                let is_skipped = !hidden && name.as_encoded_bytes().starts_with(b".");
                let cost = if kind.is_symlink() { LINK_COST } else { 1 };
                let Some(next) = left.checked_sub(cost) else {
                    links.is_open = true;
                    return links;
                };
                left = next;
                let (file, named) = (real.join(&name), written.join(&name));
                if kind.is_symlink() {
                    let Some(target) = resolve(&file) else {
                        links.is_open |= file.exists();
                        continue;
                    };
                    if target.is_dir() && seen.insert(target.clone()) {
                        folders.push_back((target.clone(), named.clone()));
                    }
                    links.targets.push(PathTarget { written: named, resolved: Some(target) });
                } else if kind.is_dir() && !is_skipped && seen.insert(file.clone()) {
                    folders.push_back((file, named));
                }
            }
        }
        links
    }

    /// Finds a file or folder that the pattern restricts where one of the links leads.
    pub fn find(
        &self,
        hidden: bool,
        pattern: &PathPattern,
        starts: &PatternRoots,
    ) -> SearchOutcome {
        for link in &self.targets {
            let Some(target) = link.resolved.as_deref() else { continue };
            if pattern.restricts_name(target, starts) {
                return SearchOutcome::Found(link.written.clone());
            }
            if pattern.may_lie_in(target, starts) && target.is_dir() {
                match find(link, hidden, pattern, starts) {
                    SearchOutcome::Nothing => {}
                    found => return found,
                }
            }
        }
        if self.is_open { SearchOutcome::TooMany } else { SearchOutcome::Nothing }
    }
}

/// Finds the first file or folder below `folder` that the pattern restricts, nearest first. Links
/// count by their target, whether the command follows them or not. Without `hidden`, a name that
/// begins with a dot counts only where an ignore file may make it shown.
pub fn find(
    folder: &PathTarget,
    hidden: bool,
    pattern: &PathPattern,
    starts: &PatternRoots,
) -> SearchOutcome {
    let Some(real) = folder.resolved.clone() else { return SearchOutcome::TooMany };
    let level = if hidden { None } else { IgnoreLevel::above(&real) };
    let may_lie_in = |folder: &Path| pattern.may_lie_in(folder, starts);
    let mut left = if hidden { MAX_ENTRIES } else { MAX_SHOWN_ENTRIES };
    let mut seen = HashSet::from([real.clone()]);
    let mut folders = VecDeque::from([(real, folder.written.clone(), level)]);
    while let Some((real, written, above)) = folders.pop_front() {
        let level = if hidden { None } else { IgnoreLevel::enter(&real, above) };
        // A folder that cannot be listed shows nothing.
        for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_dot = name.as_encoded_bytes().starts_with(b".");
            if !hidden && is_dot && !level.as_ref().is_some_and(|it| it.may_show(&entry)) {
                continue;
            }
            let Some(next) = left.checked_sub(1) else { return SearchOutcome::TooMany };
            left = next;
            let (file, named) = (real.join(&name), written.join(&name));
            let is_meant = |path: &Path| pattern.restricts_name(path, starts);
            if is_meant(&file) || named != file && is_meant(&named) {
                return SearchOutcome::Found(named);
            }
            let Ok(kind) = entry.file_type() else { continue };
            let may_hold = hidden || may_lie_in(&file) || may_lie_in(&named);
            if kind.is_dir() && may_hold && seen.insert(file.clone()) {
                folders.push_back((file, named, level.clone()));
            } else if kind.is_symlink() {
                let Some(target) = resolve(&file) else { continue };
                if is_meant(&target) {
                    return SearchOutcome::Found(named);
                }
                let leads_near = target.is_dir() && may_lie_in(&target);
                if leads_near && seen.insert(target.clone()) {
                    let level = if hidden { None } else { IgnoreLevel::above(&target) };
                    folders.push_back((target, named, level));
                }
            }
        }
    }
    SearchOutcome::Nothing
}
