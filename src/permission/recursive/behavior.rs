//! The files that a command reads without naming them.

/// The content that a command shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShownContent {
    /// Files below it; `hidden` includes names that begin with a dot.
    Files { hidden: bool },
    /// Tracked files below it.
    Tracked,
    /// The same, and what a setting adds to a search.
    Searched,
    /// Files of any commit of the repository around it.
    History,
    /// Changes of any of its files, unless only named or counted.
    Changes,
    /// As [`Self::History`], if git has one of these settings, each a section and a key.
    WithSetting(&'static [(&'static str, &'static str)]),
    /// As [`Self::History`], if git applies patches where it otherwise merges: by a setting, or in a
    /// rebase that is under way.
    Patches,
}

/// The content that one command shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadBehavior {
    pub content: ShownContent,
    pub reads_cwd: CwdCondition,
}

/// When a program reads the folder it runs in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CwdCondition {
    Never,
    /// Unless its words certainly are a pattern and paths.
    WithoutPath,
    /// Unless one of its words is a file or folder.
    WithoutAny,
    Always,
}
