//! A file that a call names, under both of its names.

use std::path::Path;

pub(super) use crate::disk::resolve;
pub use crate::protocol::PathTarget;

impl PathTarget {
    /// Both names of the target.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.written.as_path()).chain(self.resolved.as_deref())
    }
}
