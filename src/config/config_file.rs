//! The configuration files that commands write: the user's own and the project's.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::dirs::Dirs;
use super::document;
use super::edit::ConfigEdit;
use super::error::{ConfigError, display_path, file_origin};
use super::lock::{LockError, lock_folder};
use super::project::Project;
use super::replace::{lock_in_project, replace, replace_in_project};
use super::schema::SCHEMA;
use super::sources::read_text;
use crate::protocol::{RuleFile, printable_path};

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ConfigScope {
    /// Your own, for all projects.
    User,
    /// The project's, for everyone who works on it.
    Project,
}

impl ConfigScope {
    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Locks the configuration files of this scope, of which `path` is one, until dropped.
    pub(super) fn lock(self, path: &Path) -> Result<Option<File>, LockError> {
        match self {
            Self::User => path.parent().map_or(Ok(None), |folder| {
                // Without the folder nothing could be locked; a failure is the write's to report.
                let _ = fs::create_dir_all(folder);
                lock_folder(folder)
            }),
            Self::Project => lock_in_project(path),
        }
    }

    /// Replaces the text of a configuration file of this scope atomically.
    pub(super) fn replace(self, path: &Path, text: &str) -> io::Result<()> {
        match self {
            // It may contain keys.
            Self::User => replace(path, text, 0o600),
            Self::Project => replace_in_project(path, text),
        }
    }
}

/// The reason why a configuration file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigEditError {
    #[error("{0}: nothing was changed; fix it first")]
    Unreadable(#[from] ConfigError),
    #[error("{}: {problem}: nothing was changed; fix it first", printable_path(path))]
    Broken { path: PathBuf, problem: String },
    #[error("cannot write {}: {source}", printable_path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// The `config.toml` of one scope, existing or not.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    scope: ConfigScope,
    pub path: PathBuf,
    /// The path as the user would write it.
    pub shown: PathBuf,
    cwd: PathBuf,
}

impl ConfigFile {
    pub fn new(scope: ConfigScope, dirs: &Dirs, project: &Project, cwd: &Path) -> Self {
        let path = match scope {
            ConfigScope::User => dirs.config_file(),
            ConfigScope::Project => project.file(RuleFile::Shared),
        };
        Self { scope, shown: display_path(&path, cwd), path, cwd: cwd.to_owned() }
    }

    /// Returns the file's text with this edit, which the rest of it survives unchanged.
    ///
    /// # Errors
    /// Fails if the file is malformed, before or after the edit.
    pub fn edited_text(&self, edit: &ConfigEdit) -> Result<String, ConfigEditError> {
        let text = read_text(&self.path, &self.cwd)?.unwrap_or_default();
        let origin = file_origin(&self.path, &self.cwd);
        document::parse(&text, &SCHEMA, &origin)?;
        let broken = |problem| ConfigEditError::Broken { path: self.shown.clone(), problem };
        let edited = edit.apply(&text).map_err(broken)?;
        document::parse(&edited, &SCHEMA, &origin)?;
        Ok(edited)
    }

    /// Returns the entries of the list that this edit replaces which the new list lacks.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn lost_entries(&self, edit: &ConfigEdit) -> Result<Vec<String>, ConfigEditError> {
        let text = read_text(&self.path, &self.cwd)?.unwrap_or_default();
        Ok(edit.lost_entries(&text))
    }

    /// Locks the file from the read of its text to the write, until dropped.
    ///
    /// # Errors
    /// Fails if another process keeps it locked.
    pub fn lock(&self) -> Result<Option<File>, ConfigEditError> {
        Ok(self.scope.lock(&self.path)?)
    }

    /// Replaces the file's text atomically.
    ///
    /// # Errors
    /// Fails if it cannot be written; the old file then remains.
    pub fn write(&self, text: &str) -> Result<(), ConfigEditError> {
        let failed = |source| ConfigEditError::Write { path: self.shown.clone(), source };
        self.scope.replace(&self.path, text).map_err(failed)
    }
}
