//! What a tool call would touch, in the terms that permission rules are written in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lossy_path;

/// The bounds of a command that runs for no other reason than that it only reads there: it must do
/// nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnly {
    /// Where it reads, with all below. Absolute, without links.
    pub folders: Arc<[PathBuf]>,
    /// The folders of the project: no program in there is started. Absolute, without links.
    pub project: Arc<[PathBuf]>,
    /// Git is among its programs, and reads the user's settings.
    pub uses_git: bool,
}

/// A version of bash. The oldest by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BashVersion {
    pub major: u32,
    pub minor: u32,
}

impl BashVersion {
    /// It knows documents in a substitution whose end it looks for.
    pub const SKIPS_DOCUMENTS: Self = Self { major: 4, minor: 0 };
    /// It parses a substitution to find its end.
    pub const PARSES: Self = Self { major: 5, minor: 2 };
}

/// The effect of one tool call, said by the tool itself before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    /// Touches nothing outside the agent, such as its own to-do list.
    Nothing,
    /// Reads files or folders.
    Read { paths: Vec<Target> },
    /// Creates or changes files.
    Write { paths: Vec<Target> },
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
    /// Anything else: rules can only name the tool.
    Other,
}

/// A file or folder that a call would touch. It is resolved once: what is judged is what the tool opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// As the call names it, absolute, with `.` and `..` taken out.
    #[serde(with = "lossy_path")]
    pub written: PathBuf,
    /// Where that leads once every link is followed; absent when that cannot be told.
    #[serde(with = "lossy_path::option", default)]
    pub resolved: Option<PathBuf>,
}

impl Target {
    /// Where it leads, when that is not what the call says.
    #[must_use]
    pub fn detour(&self) -> Option<&Path> {
        self.resolved.as_deref().filter(|resolved| *resolved != self.written)
    }
}
