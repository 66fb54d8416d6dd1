//! Folders of commands and skills on disk: which files count, and by which names.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::CustomError;

/// How deep folders of commands go.
const MAX_DEPTH: usize = 4;

/// More files of one folder are not looked at.
const MAX_FILES: usize = 500;

/// More folders below one are not looked into: links can make very many of a few.
const MAX_FOLDERS: usize = 200;

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
            Kind::Command => {
                let mut walk = Walk::of(self);
                walk.commands(&self.path, "", &mut found);
                if walk.left_out {
                    let message = format!(
                        "it holds too much: {MAX_FILES} files in {MAX_FOLDERS} folders count at most"
                    );
                    found.insert(
                        0,
                        Err(CustomError { path: self.path.clone(), line: None, message }),
                    );
                }
            }
            Kind::Skill => skills(&self.path, &mut found),
        }
        found.truncate(MAX_FILES);
        found
    }
}

/// A way through a folder of commands and those below it.
struct Walk {
    /// What links may not lead out of.
    within: Option<PathBuf>,
    /// The folders that led here, since links may lead in circles.
    above: Vec<PathBuf>,
    /// How many were looked into.
    folders: usize,
    /// Whether there is more than that.
    left_out: bool,
}

impl Walk {
    fn of(folder: &Folder) -> Self {
        let within = folder.within.as_ref().and_then(|root| root.canonicalize().ok());
        Self { within, above: Vec::new(), folders: 0, left_out: false }
    }

    /// The `.md` files at and below `folder`; those below are called `folder:name`.
    fn commands(
        &mut self,
        folder: &Path,
        prefix: &str,
        found: &mut Vec<Result<Found, CustomError>>,
    ) {
        // What cannot be followed is told of when it is listed.
        let real = folder.canonicalize().ok();
        if let (Some(real), Some(root)) = (&real, &self.within)
            && !real.starts_with(root)
        {
            let message = "this folder is a link that leads out of the project".to_owned();
            found.push(Err(CustomError { path: folder.to_owned(), line: None, message }));
            return;
        }
        let real = real.unwrap_or_else(|| folder.to_owned());
        if self.above.len() == MAX_DEPTH || self.above.contains(&real) {
            return;
        }
        self.above.push(real);
        self.folders += 1;
        for path in entries(folder, found) {
            self.left_out |= found.len() >= MAX_FILES || self.folders >= MAX_FOLDERS;
            if self.left_out {
                break;
            }
            let is_folder = path.is_dir();
            let name = if is_folder { path.file_name() } else { path.file_stem() };
            let name = format!("{prefix}{}", name.unwrap_or_default().to_string_lossy());
            if is_folder {
                self.commands(&path, &format!("{name}:"), found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(Ok(Found { path, name }));
            }
        }
        self.above.pop();
    }
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
