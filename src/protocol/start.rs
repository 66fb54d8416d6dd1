//! Where a configured hook or server starts.

use std::path::Path;
use std::sync::Arc;

/// The folder in which a hook, an MCP server or a command that prints a key starts.
///
/// It is decided where the entry is read and accepted, and travels with it:
///
/// | entry | folder |
/// |---|---|
/// | of a project's file | the one above `.caliban`, `.claude` or `.mcp.json` of that very file |
/// | of the user's own, accepted for a project | the root for which it was accepted |
/// | of an option, or of the driving program | the working directory |
/// | any other of the user's own | a private one |
///
/// No row but the third depends on where the user starts caliban: a folder that is unpacked into a
/// trusted project gets none of the project's entries to run its files.
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
    #[must_use]
    pub fn project(folder: &Path) -> Self {
        Self::Project(folder.into())
    }
}
