//! Folders of commands and skills on disk: which files count, and by which names.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::CustomError;

/// How deep folders of commands go.
const MAX_DEPTH: usize = 4;

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
    /// Whether its files are written for other programs too: keys that we do not know are skipped with a warning.
    pub foreign: bool,
    /// The project that links may not lead out of.
    pub within: Option<PathBuf>,
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
    pub fn files(&self, kind: Kind) -> Vec<Result<Found, CustomError>> {
        let mut found = Vec::new();
        match kind {
            Kind::Command => commands(&self.path, "", &mut Vec::new(), &mut found),
            Kind::Skill => skills(&self.path, &mut found),
        }
        found.truncate(MAX_FILES);
        found
    }
}

/// The `.md` files at and below `folder`; those below are called `folder:name`.
/// `above` are the folders that led here, since links may lead in circles.
fn commands(
    folder: &Path,
    prefix: &str,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<Result<Found, CustomError>>,
) {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if above.len() == MAX_DEPTH || above.contains(&real) {
        return;
    }
    above.push(real);
    for path in entries(folder, found) {
        let is_folder = path.is_dir();
        let name = if is_folder { path.file_name() } else { path.file_stem() };
        let name = format!("{prefix}{}", name.unwrap_or_default().to_string_lossy());
        if is_folder {
            commands(&path, &format!("{name}:"), above, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(Ok(Found { path, name }));
        }
    }
    above.pop();
}

/// The `SKILL.md` of each folder in `folder`.
fn skills(folder: &Path, found: &mut Vec<Result<Found, CustomError>>) {
    for path in entries(folder, found) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.join("SKILL.md");
        // A link that leads nowhere is kept, so that reading it says why.
        if path.symlink_metadata().is_ok() {
            found.push(Ok(Found { path, name }));
        }
    }
}

fn entries(folder: &Path, found: &mut Vec<Result<Found, CustomError>>) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.take(MAX_FILES).map(|entry| Ok(entry?.path()));
        paths.collect::<std::io::Result<Vec<_>>>()
    });
    match listed {
        Ok(mut paths) => {
            paths.sort();
            paths
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let message = format!("this folder cannot be read: {error}");
            found.push(Err(CustomError { path: folder.to_owned(), line: None, message }));
            Vec::new()
        }
    }
}
