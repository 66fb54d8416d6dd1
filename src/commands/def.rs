//! One command or skill, where it comes from, and what may be wrong with its file.

use std::fmt;
use std::path::PathBuf;

use crate::protocol::printable_path;

/// The origin of a command or skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOrigin {
    BuiltIn,
    File(PathBuf),
}

impl fmt::Display for CommandOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => f.write_str(&printable_path(path)),
        }
    }
}

/// A command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDef {
    /// The name after the slash; for a command in a sub-folder `folder:name`.
    pub name: String,
    pub description: String,
    /// A hint for the arguments, such as `[issue]`.
    pub argument_hint: Option<String>,
    pub body: String,
    pub origin: CommandOrigin,
    /// Whether models may not load it.
    pub user_only: bool,
    /// Whether the user cannot call it.
    pub model_only: bool,
    /// Ignored keys of its file.
    pub ignored_keys: Vec<String>,
}

/// The reason why a file, or a part of it, is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CommandError {
    pub path: PathBuf,
    /// Counted from 1; `None` for the whole file.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", printable_path(&self.path))?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// A problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandProblem {
    /// The file is ignored. The name is the one it would have had.
    Refused { name: String, error: CommandError },
    /// A part of the file is ignored.
    Warning(CommandError),
}

impl CommandProblem {
    /// Returns the error.
    pub fn error(&self) -> &CommandError {
        match self {
            Self::Refused { error, .. } | Self::Warning(error) => error,
        }
    }
}
