//! The files that a project's files may bring in by an import or by a link. Memory, commands,
//! skills and definitions of agents all ask here.
//!
//! A project may be a small part of the repository around it: a library that somebody else wrote,
//! or an archive that was unpacked there. So the repository's root is no bound. What is brought in
//! ends in one of these states, the first that holds:
//!
//! 1. It lies in a working directory: it may be read, hidden and ignored files too, as by any tool call.
//! 2. It lies outside of the repository: it is left out.
//! 3. It lies below the folder of everything that brings it, which is the importing file and each
//!    link on the way: it may be read. Nothing brings a file that lies in its place without a link.
//!    A link therefore never widens what the import that goes through it may reach. A link in
//!    `.claude`, or in one of its folders such as `.claude/skills`, counts as one in the folder
//!    above `.claude`, and one deeper in such a folder as one in that folder.
//! 4. Git tracks it there as a regular file: it may be read. The path that counts is the one
//!    without links, so that a link in the place of a tracked file, or of a folder above it, is
//!    judged by where it leads.
//! 5. It is left out, also where git's index cannot be understood.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::repository::{TrackedFiles, index_file, tracked_files};
use super::resolve::follow;

/// Folders that hold a project's configuration.
const CONFIG_FOLDERS: [&str; 2] = [".caliban", ".claude"];
/// Folders in these, each for one kind of files.
const CONFIG_KINDS: [&str; 3] = ["agents", "commands", "skills"];

/// The working directories of a session and the repository around the first of them.
#[derive(Clone, Debug, Default)]
pub struct ProjectScope {
    /// Without links.
    dirs: Vec<PathBuf>,
    /// The repository's root, without links.
    root: Option<PathBuf>,
}

impl ProjectScope {
    /// The scope of a session that works in the first of `folders`, in the project whose root is
    /// the last of them. `more` are additional working directories. Follows links now, so that a
    /// later change of one widens nothing.
    #[must_use]
    pub fn new(folders: &[PathBuf], more: &[PathBuf]) -> Self {
        let real = |folder: &PathBuf| fs::canonicalize(folder).ok();
        let dirs = folders.first().into_iter().chain(more).filter_map(real).collect();
        Self { dirs, root: folders.last().and_then(real) }
    }

    /// Whether a path without links lies in the project.
    #[must_use]
    pub fn contains(&self, real: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| real.starts_with(root))
    }

    /// The files as they are now.
    #[must_use]
    pub fn files(&self) -> ProjectFiles<'_> {
        ProjectFiles { scope: self, tracked: OnceCell::new() }
    }

    fn works_in(&self, real: &Path) -> bool {
        self.dirs.iter().any(|dir| real.starts_with(dir))
    }

    /// The folder that a file or a link may bring files of: the one that it lies in. What lies
    /// directly in a folder of configuration belongs to the folder above that one.
    fn home_of(&self, entry: &Path) -> Option<PathBuf> {
        let folder = entry.parent()?;
        let home = if self.is_config(folder) { folder.parent()? } else { folder };
        Some(home.to_owned())
    }

    /// The same for a link: one that lies directly in a kind of configuration belongs above that
    /// too, and one that lies deeper to the kind.
    fn home_of_link(&self, link: &Path) -> Option<PathBuf> {
        let folder = link.parent()?;
        let is_kind = |kind: &&Path| {
            is_named(kind, &CONFIG_KINDS) && kind.parent().is_some_and(|it| self.is_config(it))
        };
        match folder.ancestors().find(is_kind) {
            Some(kind) if kind == folder => self.home_of(kind),
            Some(kind) => Some(kind.to_owned()),
            None => self.home_of(link),
        }
    }

    /// Whether a folder holds configuration, and is not itself what the session works on.
    fn is_config(&self, folder: &Path) -> bool {
        is_named(folder, &CONFIG_FOLDERS) && !self.dirs.iter().any(|dir| dir.starts_with(folder))
    }

    /// The folders of the importing file: by its own name, and by where it really lies.
    fn homes_of(&self, importer: &Path) -> io::Result<[PathBuf; 2]> {
        let real = fs::canonicalize(importer)?;
        let folder = fs::canonicalize(importer.parent().unwrap_or(importer))?;
        let written = folder.join(importer.file_name().unwrap_or_default());
        Ok([written, real].map(|file| self.home_of(&file).unwrap_or(file)))
    }
}

/// Why a project may not bring in a file.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// It cannot be looked at.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It lies elsewhere: the predicate of a sentence about it.
    #[error("it {0}")]
    Outside(String),
}

/// One look at the files of a scope. Git's index is read once, and only when nothing else allows a file.
#[derive(Debug)]
pub struct ProjectFiles<'a> {
    scope: &'a ProjectScope,
    tracked: OnceCell<Result<TrackedFiles, String>>,
}

impl ProjectFiles<'_> {
    /// Returns the real path of `path`, a file of the project or one that `importer` imports.
    ///
    /// # Errors
    ///
    /// When it cannot be looked at, or may not be brought in.
    pub fn locate(&self, path: &Path, importer: Option<&Path>) -> Result<PathBuf, ScopeError> {
        let tracks = |tracked: &TrackedFiles, below: &Path| tracked.contain(below);
        self.judge(path, importer, &tracks)
    }

    /// Checks that the files in a folder may be looked at; each has to be located by itself.
    ///
    /// # Errors
    ///
    /// As for [`Self::locate`].
    pub fn enter(&self, folder: &Path) -> Result<(), ScopeError> {
        let tracks = |tracked: &TrackedFiles, below: &Path| tracked.lie_below(below);
        self.judge(folder, None, &tracks).map(drop)
    }

    /// The file with git's index, if any answer so far depends on it.
    #[must_use]
    pub fn index(&self) -> Option<PathBuf> {
        self.tracked.get()?;
        index_file(self.scope.root.as_deref()?)
    }

    fn judge(
        &self,
        path: &Path,
        importer: Option<&Path>,
        tracks: &dyn Fn(&TrackedFiles, &Path) -> bool,
    ) -> Result<PathBuf, ScopeError> {
        let real = fs::canonicalize(path)?;
        if self.scope.works_in(&real) {
            return Ok(real);
        }
        let links = self.links(path, &real)?;
        let Some(below) = self.scope.root.as_ref().and_then(|root| real.strip_prefix(root).ok())
        else {
            return Err(ScopeError::Outside(match links.is_empty() {
                true => "lies outside of the project, whose files may not bring it in".to_owned(),
                false => "is a link that leads out of the project".to_owned(),
            }));
        };
        let mut bringers: Vec<PathBuf> =
            links.iter().filter_map(|link| self.scope.home_of_link(link)).collect();
        if let Some(importer) = importer {
            bringers.extend(self.scope.homes_of(importer)?);
        }
        if bringers.iter().all(|folder| real.starts_with(folder)) {
            return Ok(real);
        }
        let why = match self.tracked() {
            Ok(tracked) if tracks(tracked, below) => return Ok(real),
            Ok(_) => "git does not track it: track it, or".to_owned(),
            Err(why) => format!("whether git tracks it is unknown, since {why}:"),
        };
        let what = match links.is_empty() {
            true => "lies".to_owned(),
            false => format!("is a link to {}, which lies", real.display()),
        };
        let folder = real.parent().unwrap_or(&real).display();
        Err(ScopeError::Outside(format!(
            "{what} outside of the working directories, and {why} add its folder with --add-dir {folder}"
        )))
    }

    /// The links of the project on the way to `real`.
    fn links(&self, path: &Path, real: &Path) -> Result<Vec<PathBuf>, io::Error> {
        let mut links = Vec::new();
        let end = follow(path, &mut |link| links.push(link.to_owned()));
        // Links above the project are the user's.
        links.retain(|link| self.scope.contains(link) || self.scope.works_in(link));
        match end.as_deref() == Some(real) {
            true => Ok(links),
            false => Err(io::Error::other("its links have changed while they were followed")),
        }
    }

    fn tracked(&self) -> &Result<TrackedFiles, String> {
        let root = self.scope.root.as_deref().unwrap_or(Path::new(""));
        self.tracked.get_or_init(|| tracked_files(root))
    }
}

/// Whether a path ends in one of these names.
fn is_named(path: &Path, names: &[&str]) -> bool {
    path.file_name().is_some_and(|name| names.iter().any(|it| name == *it))
}

#[cfg(test)]
mod tests;
