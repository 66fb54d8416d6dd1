//! Looks for a file of a pattern below a folder.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::permission::path::{PathTarget, resolve};
use crate::permission::pattern::PathPattern;
use crate::permission::pattern_roots::PatternRoots;

/// Maximum entries examined for one folder and one pattern.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The outcome of a search for a file.
#[derive(Debug, PartialEq)]
pub enum SearchOutcome {
    Nothing,
    Found(PathBuf),
    /// There are more files than the limit.
    TooMany,
}

/// Finds the first file or folder below `folder` that the pattern restricts, nearest first. Links
/// count by their target, whether the command follows them or not.
pub fn find(
    folder: &PathTarget,
    hidden: bool,
    pattern: &PathPattern,
    starts: &PatternRoots,
) -> SearchOutcome {
    let Some(real) = folder.resolved.clone() else { return SearchOutcome::TooMany };
    let has_dot = |path: &Path| {
        path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    };
    // A pattern that needs a dot name matches nothing if none is on the path and none is read.
    if !hidden && pattern.needs_dot_name() && !has_dot(&real) && !has_dot(&folder.written) {
        return SearchOutcome::Nothing;
    }
    let mut left = MAX_ENTRIES;
    let mut seen = HashSet::from([real.clone()]);
    let mut folders = VecDeque::from([(real, folder.written.clone())]);
    while let Some((real, written)) = folders.pop_front() {
        // A folder that cannot be listed shows nothing.
        for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !hidden && name.as_encoded_bytes().starts_with(b".") {
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
            if kind.is_dir() && seen.insert(file.clone()) {
                folders.push_back((file, named));
            } else if kind.is_symlink() {
                let Some(target) = resolve(&file) else { continue };
                if is_meant(&target) {
                    return SearchOutcome::Found(named);
                }
                let leads_near = target.is_dir() && pattern.may_lie_in(&target, starts);
                if leads_near && seen.insert(target.clone()) {
                    folders.push_back((target, named));
                }
            }
        }
    }
    SearchOutcome::Nothing
}
