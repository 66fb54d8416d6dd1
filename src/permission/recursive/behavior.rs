//! The files that a command reads without naming them.

/// The commands that a setting makes show more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingScope {
    /// None of them alone.
    Any,
    Commit,
    Blame,
    /// Those that compare files.
    Diff,
    /// Those that show the changes of paths in commits, which compare files too.
    History,
    /// Those that merge or restore changes.
    Merge,
}

/// The content that a command shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShownContent {
    /// Files below it; `hidden` includes names that begin with a dot.
    Files { hidden: bool },
    /// Changes of tracked files of the repository around it.
    Tracked,
    /// Changes of tracked files below it, or of this name.
    TrackedBelow,
    /// Lines of tracked files of the repository around it; of any file, if git applies patches where
    /// it otherwise merges: by a setting, or in a rebase that is under way.
    Merged,
    /// Files of any commit of the repository around it.
    History,
    /// Changes of any of its files, unless only named or counted.
    Changes,
    /// Those of files below it, or of this name.
    ChangesBelow,
    /// As [`Self::History`], if git has a setting for such commands.
    WithSetting(SettingScope),
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
