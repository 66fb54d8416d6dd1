//! Trees that a command copies or moves: what is in them lands below the destination under its own
//! names.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::disk::list_folder;
use crate::permission::path::PathTarget;
use crate::permission::recursive::SearchOutcome;

/// Maximum entries of a tree that are examined.
const MAX_ENTRIES: usize = 10_000;

/// A folder that a command puts elsewhere with everything below it.
#[derive(Clone, Debug, PartialEq)]
pub struct CopiedTree {
    /// The program, for messages.
    pub program: String,
    pub from: PathTarget,
    /// The folder in which its entries land.
    pub to: PathTarget,
    /// Whether the folders to which links in it lead are copied, too.
    pub follows: bool,
}

impl CopiedTree {
    /// Finds a file or folder that lands where `is_meant` returns true.
    pub fn find(&self, is_meant: impl Fn(&Path) -> bool) -> SearchOutcome {
        let Some(real) = self.from.resolved.clone() else { return SearchOutcome::TooMany };
        let mut left = MAX_ENTRIES;
        let mut folders = VecDeque::from([(real, PathBuf::new())]);
        while let Some((folder, below)) = folders.pop_front() {
            let Some(entries) = list_folder(&folder) else { return SearchOutcome::TooMany };
            for entry in entries {
                let Some(next) = left.checked_sub(1) else { return SearchOutcome::TooMany };
                left = next;
                let below = below.join(entry.file_name());
                if self.to.names().any(|to| is_meant(&to.join(&below))) {
                    return SearchOutcome::Found(self.to.written.join(below));
                }
                let is_folder = match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => self.follows && entry.path().is_dir(),
                    kind => kind.is_ok_and(|kind| kind.is_dir()),
                };
                if is_folder {
                    folders.push_back((entry.path(), below));
                }
            }
        }
        SearchOutcome::Nothing
    }
}
