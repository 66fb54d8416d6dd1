//! Notices changes of the files that may contain rules.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::{self, ConfigSources, Project};

/// The last known state of all files that may contain rules, existing or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleFileStamps(Vec<(PathBuf, Option<RuleFileStamp>)>);

/// The state of a file, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RuleFileStamp {
    device: u64,
    inode: u64,
    /// Bytes.
    length: u64,
    /// The times of its last content and metadata changes, in seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl RuleFileStamps {
    /// Reads the state of the files that may contain rules, without opening them.
    pub fn read(sources: &ConfigSources<'_>, project: &Project) -> Self {
        let files = config::rule_files(sources, project).into_iter();
        let with_stamp = |file: PathBuf| {
            let stamp = RuleFileStamp::read(&file);
            (file, stamp)
        };
        Self(files.map(with_stamp).collect())
    }

    /// Updates the state. Returns whether any file has changed.
    pub(super) fn refresh(&mut self) -> bool {
        let mut changed = false;
        for (file, seen) in &mut self.0 {
            let now = RuleFileStamp::read(file);
            changed |= std::mem::replace(seen, now) != now;
        }
        changed
    }
}

impl RuleFileStamp {
    /// Reads the state of a file. An inaccessible file counts as absent; reading it reports the error.
    fn read(file: &Path) -> Option<Self> {
        file.metadata().ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for RuleFileStamp {
    fn from(of: &Metadata) -> Self {
        Self {
            device: of.dev(),
            inode: of.ino(),
            length: of.len(),
            modified: (of.mtime(), of.mtime_nsec()),
            changed: (of.ctime(), of.ctime_nsec()),
        }
    }
}
