//! Where a configured hook or server starts.

use std::path::Path;
use std::sync::Arc;

/// The folder in which a hook, an MCP server or a command that prints a key starts.
///
/// It is decided when the entry is read and accepted, and stored with it:
///
/// | entry | folder |
/// |---|---|
/// | from a project's file | the one above that file's `.caliban`, `.claude` or `.mcp.json` |
/// | the user's own, accepted for a project | the root for which it was accepted |
/// | from an option, or the driving program | the working directory |
/// | any other of the user's own | a private one |
///
/// Only the third row depends on where the user starts caliban: a folder unpacked into a trusted
/// project cannot make the project's entries run its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartDir {
    /// An empty folder of its own, so that no file of the project changes what runs.
    #[default]
    Private,
    /// This folder. The variables that name the project name it too.
    Project(Arc<Path>),
}

impl StartDir {
    /// Starts in this folder.
    pub fn project(folder: &Path) -> Self {
        Self::Project(folder.into())
    }
}
