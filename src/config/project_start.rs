//! Hooks and servers of the user's that start in the project, once the user accepts that.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Origin;
use super::untrusted_item::one_line;

/// `cwd` of a hook or a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryCwd {
    Project,
}

/// A hook or server of the user's that asks to start in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectStart {
    /// Full description in one line, as in `hook PreToolUse(Bash): ./check.sh`.
    pub entry: String,
    /// The file and line of the entry.
    pub origin: Origin,
}

impl ProjectStart {
    /// Returns the line that the user accepts: `hook PreToolUse(Bash): ./check.sh (your
    /// config.toml) starts in this project`.
    pub fn describe(&self) -> String {
        match &self.origin {
            Origin::File { path, .. } => describe(&self.entry, path),
            _ => format!("{} starts in this project", self.entry),
        }
    }

    /// Whether it is an MCP server of a configuration file.
    pub fn is_server(&self) -> bool {
        self.entry.starts_with("MCP server ")
    }

    /// Returns its name, without the part that may be long or secret: `hook PreToolUse(Bash)`.
    pub fn name(&self) -> &str {
        self.entry.split_once(": ").map_or(self.entry.as_str(), |(name, _)| name)
    }
}

/// Describes an entry of one of the user's files.
pub fn describe(entry: &str, file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("{entry} (your {}) starts in this project", one_line(&name, None))
}
