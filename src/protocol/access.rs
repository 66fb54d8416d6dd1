//! The access that a tool call needs, in the terms of permission rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lossy_path;
use super::permission_mode::PermissionMode;

/// The bounds of a command that runs only because it just reads there, apart from redirects that the
/// mode allows: it must do nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOnly {
    /// Folders it reads, with everything below. Absolute, without links.
    pub folders: Arc<[PathBuf]>,
    /// The folders into which it redirects output, with everything below. Absolute, without links.
    pub write: Arc<[PathBuf]>,
    /// The folders of the project: no program in there is started. Absolute, without links.
    pub project: Arc<[PathBuf]>,
    /// Whether git is among its programs, and reads the user's settings.
    pub uses_git: bool,
}

/// A version of bash. The oldest by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BashVersion {
    pub major: u32,
    pub minor: u32,
}

impl BashVersion {
    /// The first version that skips here-documents when it looks for the end of a substitution.
    pub const SKIPS_DOCUMENTS: Self = Self { major: 4, minor: 0 };
    /// The first version that parses a substitution to find its end.
    pub const PARSES: Self = Self { major: 5, minor: 2 };
}

/// The effect of one tool call, declared by the tool itself before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    /// Touches nothing outside the agent, such as its own to-do list.
    Nothing,
    /// Reads files or folders.
    Read { paths: Vec<PathTarget> },
    /// Creates or changes files.
    Write { paths: Vec<PathTarget> },
    /// Runs a shell command in `cwd`.
    Command {
        line: String,
        #[serde(with = "lossy_path")]
        cwd: PathBuf,
    },
    /// Fetches from the network.
    Fetch { url: String },
    /// Starts the named sub-agent.
    Agent { name: String },
    /// Loads the text of the named skill.
    Skill { name: String },
    /// Asks the user questions. `answered` if a hook or the user has answered them.
    AskUser { answered: bool },
    /// Ends plan mode with a plan. `mode` follows, if whoever approved it has chosen one.
    ExitPlan { mode: Option<PermissionMode> },
    /// Anything else: rules can only name the tool.
    Other,
}

/// A file or folder that a call would touch. It is resolved once: the tool opens exactly the path that was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTarget {
    /// The path as the call names it, absolute, with `.` and `..` resolved.
    #[serde(with = "lossy_path")]
    pub written: PathBuf,
    /// The path after following all links; absent if that cannot be determined.
    #[serde(with = "lossy_path::option", default)]
    pub resolved: Option<PathBuf>,
}

impl PathTarget {
    /// Returns the resolved path, if it differs from the written one.
    pub fn link_target(&self) -> Option<&Path> {
        self.resolved.as_deref().filter(|resolved| *resolved != self.written)
    }
}
