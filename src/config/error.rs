//! Configuration errors, and the origin of each value.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::protocol::{lossy_path, printable_line, printable_path};
use crate::spanned::ValueError;

/// The place where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// The defaults inside the program.
    BuiltIn,
    /// A file and its line, counted from 1. The path is displayed as the user would write it.
    File {
        #[serde(serialize_with = "lossy_path::serialize")]
        path: PathBuf,
        line: usize,
    },
    /// An environment variable.
    Env { name: &'static str },
    /// An option on the command line, such as `--model`.
    Flag { name: &'static str },
}

impl Origin {
    /// Returns the same place at another line, if it has lines.
    pub fn at_line(&self, line: usize) -> Self {
        match self {
            Self::File { path, .. } => Self::File { path: path.clone(), line },
            other => other.clone(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, line } => write!(f, "{}:{line}", printable_path(path)),
            Self::Env { name } | Self::Flag { name } => f.write_str(name),
        }
    }
}

/// How many mistakes in a file are named.
const MAX_NAMED: usize = 8;

/// An unusable configuration. Its message is one line; the exit code is 2.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file exists but cannot be read.
    #[error("{}: cannot be read: {reason}", printable_path(path))]
    Unreadable { path: PathBuf, reason: String },
    /// Something other than a file has the name of one: a folder, a pipe, a link to itself.
    #[error("{}: cannot be read: {reason}", printable_path(path))]
    NotAFile { path: PathBuf, reason: String },
    /// An invalid key, value or piece of syntax.
    #[error("{at}: {message}")]
    Invalid { at: Origin, message: String },
    /// Neither `HOME` nor `CALIBAN_HOME` is set.
    #[error("No home directory found: set HOME or CALIBAN_HOME.")]
    NoHome,
}

impl ConfigError {
    pub(super) fn invalid(at: &Origin, message: impl Into<String>) -> Self {
        Self::Invalid { at: at.clone(), message: message.into() }
    }

    /// Returns a line for each of the first mistakes in a file, which says that it leaves out the thing
    /// in which it is, and a line for the rest.
    pub(super) fn left_out(mistakes: &[Self]) -> Vec<String> {
        let line = |mistake: &Self| {
            printable_line(&format!("{mistake}; it is left out until the file is corrected"))
        };
        let mut lines: Vec<String> = mistakes.iter().take(MAX_NAMED).map(line).collect();
        let more = mistakes.len().saturating_sub(MAX_NAMED);
        lines.extend((more > 0).then(|| format!("and {more} more mistakes of this kind there")));
        lines
    }

    /// Creates the error for an invalid value in this file.
    pub(super) fn invalid_value(file: &Origin, error: &ValueError) -> Self {
        Self::Invalid { at: file.at_line(error.line), message: error.to_string() }
    }
}

/// Returns the first line of a file, named as the user would write it in `cwd`.
pub(super) fn file_origin(file: &Path, cwd: &Path) -> Origin {
    Origin::File { path: display_path(file, cwd), line: 1 }
}

/// Returns the path as the user would write it in `cwd`: relative if it is below.
pub(super) fn display_path(path: &Path, cwd: &Path) -> PathBuf {
    match path.strip_prefix(cwd) {
        Ok(below) if !below.as_os_str().is_empty() => below.to_owned(),
        _ => path.to_owned(),
    }
}
