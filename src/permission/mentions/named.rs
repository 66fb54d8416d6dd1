//! Files that words name.

use crate::permission::path::PathTarget;
use crate::permission::spelling::Piece;

/// Files, and why there may be more of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedFiles {
    pub targets: Vec<PathTarget>,
    /// The last parts of relative names.
    pub names: Vec<Vec<Piece>>,
    /// A word known only at run time.
    pub open: Option<String>,
    /// Whether there are more than the limits allow to examine.
    pub unbounded: bool,
}

impl NamedFiles {
    pub fn add(&mut self, files: &Self, counts_doubt: bool) {
        self.targets.extend(files.targets.iter().cloned());
        if counts_doubt {
            let is_option = |name: &Vec<Piece>| name.first() == Some(&Piece::Char('-'));
            self.names.extend(files.names.iter().filter(|name| !is_option(name)).cloned());
            self.unbounded |= files.unbounded;
            if self.open.is_none() {
                self.open.clone_from(&files.open);
            }
        }
    }
}
