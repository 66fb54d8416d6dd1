//! A file that differs between two states of a working tree.

/// A file that differs from a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// From the top of the working tree, as git prints it.
    pub path: String,
    pub kind: ChangeKind,
    /// Its hunks in the unified format; empty if no line differs, or if the file is not text.
    pub diff: String,
    pub text: DiffText,
    /// Set for links and executable files.
    pub mode: Option<FileMode>,
}

/// The text that a diff compares. Attributes and settings (`working-tree-encoding`, `ident`, `eol`,
/// filters) can make git store another one than the file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffText {
    /// The text on disk, which is also the one that git stores.
    #[default]
    Plain,
    /// The text on disk, which differs from the one that git stores.
    OnDisk,
    /// The text that git stores, which differs from the one on disk.
    Stored,
}

/// A mode of a new or changed file that a user should see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// A link, with what it leads to if git's diff does not say so.
    Link {
        target: Option<String>,
    },
    Executable,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Modified,
    Added,
    Deleted,
    Renamed {
        from: String,
    },
    /// New, and not known to git.
    Untracked,
}

/// The changes in a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkingTreeChanges {
    pub files: Vec<FileChange>,
    /// Whether there are more than the files hold.
    pub is_cut: bool,
}
