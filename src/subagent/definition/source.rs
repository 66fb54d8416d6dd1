//! Where a definition comes from, and errors about it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::protocol::printable_path;

/// Where a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionSource {
    BuiltIn,
    File {
        path: PathBuf,
        /// Whether it came with the project: the user may not have read it.
        project: bool,
    },
    /// The option `--agents`.
    Flag,
}

impl DefinitionSource {
    /// Whether it came with the project, and so may narrow rights but not widen them.
    pub fn is_project(&self) -> bool {
        matches!(self, Self::File { project: true, .. })
    }

    /// The project folder of the definition: the one above `.caliban/agents` or `.claude/agents`.
    pub fn project_folder(&self) -> Option<&Path> {
        let Self::File { path, project: true } = self else { return None };
        let folders = [".caliban/agents", ".claude/agents"];
        let holds = |above: &&Path| {
            let below = path.strip_prefix(above).unwrap_or(path);
            folders.iter().any(|folder| below.starts_with(folder))
        };
        path.ancestors().skip(1).find(holds).or(path.parent())
    }

    /// Creates an error at a line, if it has lines.
    pub fn error(&self, line: Option<usize>, message: impl Into<String>) -> DefinitionError {
        let line = line.filter(|_| *self != Self::Flag);
        DefinitionError { place: self.clone(), line, message: message.into() }
    }

    /// Its file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::BuiltIn | Self::Flag => None,
        }
    }
}

impl fmt::Display for DefinitionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, .. } => f.write_str(&printable_path(path)),
            Self::Flag => f.write_str("--agents"),
        }
    }
}

/// Why a definition, or part of it, is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DefinitionError {
    pub place: DefinitionSource,
    /// Counted from 1; `None` if it concerns the whole file.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.place)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// A server of the session that a definition names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServer {
    pub name: String,
    /// For the case that there is no such server.
    pub warning: DefinitionError,
}

/// Every mistake of one definition, in the order of the lines. Displays the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{first}")]
pub struct DefinitionErrors {
    pub first: DefinitionError,
    pub others: Vec<DefinitionError>,
    pub notes: Box<DefinitionNotes>,
}

/// The warnings of a definition that was refused, and the servers that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefinitionNotes {
    pub warnings: Vec<DefinitionError>,
    pub servers: Vec<NamedServer>,
}

impl DefinitionErrors {
    /// Sorts the errors; `None` if there are none.
    pub(super) fn from_all(mut errors: Vec<DefinitionError>) -> Option<Self> {
        errors.sort_by_key(|error| error.line);
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        Some(Self { others: errors.collect(), ..Self::from(first) })
    }

    /// The errors, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &DefinitionError> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl From<DefinitionError> for DefinitionErrors {
    fn from(first: DefinitionError) -> Self {
        Self { first, others: Vec::new(), notes: Box::default() }
    }
}
