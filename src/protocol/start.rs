//! Where a configured hook or server starts.

/// The folder in which a hook or an MCP server starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartDir {
    /// An empty folder of its own, so that no file of the project changes what runs.
    #[default]
    Private,
    /// The project's folder.
    Project,
}
