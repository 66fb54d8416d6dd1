//! Folders of commands and skills on disk: which files count, and by which names.

use std::path::{Path, PathBuf};

use super::CustomError;
use crate::disk::{ProjectFiles, ScopeError};
use crate::markdown::folder::{self, Entry, FolderError};

/// More files of one folder are not looked at.
const MAX_FILES: usize = 500;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Skill,
}

impl Kind {
    pub fn folder(self) -> &'static str {
        match self {
            Self::Command => "commands",
            Self::Skill => "skills",
        }
    }
}

/// One folder of either.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub path: PathBuf,
    /// Whether its files are written for other programs too: keys that we do not know are skipped
    /// with a warning.
    pub foreign: bool,
    /// Whether it comes with the project, whose links may not lead everywhere.
    pub project: bool,
}

/// A file that should be a command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub path: PathBuf,
    /// By its place in the folder.
    pub name: String,
}

impl Folder {
    /// The files of this folder, by name. No folder: none.
    pub fn files(&self, kind: Kind, scope: &ProjectFiles<'_>) -> Vec<Result<Found, CustomError>> {
        let bar = |folder: &Path| match scope.enter(folder) {
            Err(ScopeError::Outside(why)) if self.project => Some(why),
            // One that cannot be looked at says so when it is listed.
            _ => None,
        };
        let entries = match kind {
            Kind::Command => folder::files(&self.path, &bar, MAX_FILES),
            Kind::Skill => folder::folders_with(&self.path, "SKILL.md", MAX_FILES, "skills"),
        };
        let found = |entry: Entry| match entry {
            Ok(path) => Ok(Found { name: self.name_of(&path, kind), path }),
            Err(FolderError { path, message }) => Err(CustomError { path, line: None, message }),
        };
        entries.into_iter().map(found).collect()
    }

    /// The name that the place of a file gives it: `folder:name` for a command in a sub-folder, the
    /// folder's for a skill.
    fn name_of(&self, path: &Path, kind: Kind) -> String {
        let place = match kind {
            Kind::Command => path.with_extension(""),
            Kind::Skill => path.parent().unwrap_or(path).to_owned(),
        };
        let below = place.strip_prefix(&self.path).unwrap_or(&place);
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        parts.join(":")
    }
}
