//! Folders of commands and skills on disk: their files and names.

use std::path::{Path, PathBuf};

use super::def::CommandError;
use crate::disk::{ProjectFiles, ScopeError};
use crate::markdown::folder::{self, FolderEntry, FolderError};

/// Maximum number of files of one folder.
const MAX_FILES: usize = 500;

/// The kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    Command,
    Skill,
}

impl CommandKind {
    pub fn folder(self) -> &'static str {
        match self {
            Self::Command => "commands",
            Self::Skill => "skills",
        }
    }
}

/// A folder of commands or skills.
#[derive(Clone, Debug)]
pub(super) struct CommandFolder {
    pub path: PathBuf,
    /// Whether its files are also for other programs: unknown keys are skipped with a warning.
    pub foreign: bool,
    /// Whether it belongs to the project, whose links must not lead everywhere.
    pub project: bool,
}

/// A file that should be a command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandFile {
    pub path: PathBuf,
    /// The name given by its path in the folder.
    pub name: String,
}

impl CommandFolder {
    /// Lists the files of this folder, by name. A missing folder has none.
    pub fn files(
        &self,
        kind: CommandKind,
        scope: &ProjectFiles<'_>,
    ) -> Vec<Result<CommandFile, CommandError>> {
        let bar = |folder: &Path| match scope.enter(folder) {
            Err(ScopeError::Outside(why)) if self.project => Some(why),
            // An unreadable folder is reported when it is listed.
            _ => None,
        };
        let entries = match kind {
            CommandKind::Command => folder::list_files(&self.path, &bar, MAX_FILES),
            CommandKind::Skill => {
                folder::list_folders_with(&self.path, "SKILL.md", MAX_FILES, "skills")
            }
        };
        let found = |entry: FolderEntry| match entry {
            Ok(path) => Ok(CommandFile { name: self.name_of(&path, kind), path }),
            Err(FolderError { path, message }) => Err(CommandError { path, line: None, message }),
        };
        entries.into_iter().map(found).collect()
    }

    /// Returns the name given by a file's path: `folder:name` for a command in a sub-folder, the folder's for a skill.
    fn name_of(&self, path: &Path, kind: CommandKind) -> String {
        let place = match kind {
            CommandKind::Command => path.with_extension(""),
            CommandKind::Skill => path.parent().unwrap_or(path).to_owned(),
        };
        let below = place.strip_prefix(&self.path).unwrap_or(&place);
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        parts.join(":")
    }
}
