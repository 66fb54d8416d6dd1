//! What a tool call would touch, in the terms that permission rules are written in.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The effect of one tool call, said by the tool itself before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    /// Touches nothing outside the agent, such as its own to-do list.
    Nothing,
    /// Reads files or folders. Paths are absolute.
    Read { paths: Vec<PathBuf> },
    /// Creates or changes files. Paths are absolute.
    Write { paths: Vec<PathBuf> },
    /// Runs a shell command in `cwd`.
    Command { line: String, cwd: PathBuf },
    /// Fetches from the network.
    Fetch { url: String },
    /// Starts the named sub-agent.
    Agent { name: String },
    /// Loads the text of the named skill.
    Skill { name: String },
    /// Anything else: rules can only name the tool.
    Other,
}
