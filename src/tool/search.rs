//! Shared by Glob and Grep: hidden files, files found by a walk, and path patterns.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use globset::{GlobBuilder, GlobSet};

use super::api::ToolError;
use crate::disk::{Folder, normalize};
use crate::protocol::PathTarget;

/// Files that the searches of one agent must skip as if they did not exist. Clones share them.
/// Nothing is hidden by default.
#[derive(Clone, Default)]
pub struct HiddenRules(Option<Arc<HiddenFn>>);

type HiddenFn = dyn Fn(&Path, Option<&PathTarget>) -> HiddenPredicate + Send + Sync;
type HiddenPredicate = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl HiddenRules {
    /// Creates rules from `hides`, which is called once for each search, with the agent's working
    /// directory and the target of the permitted call, and returns which files to hide from it.
    pub fn new<F>(hides: impl Fn(&Path, Option<&PathTarget>) -> F + Send + Sync + 'static) -> Self
    where
        F: Fn(&Path) -> bool + Send + Sync + 'static,
    {
        Self(Some(Arc::new(move |cwd, place| Arc::new(hides(cwd, place)))))
    }

    /// Returns the files hidden from a search in `place` by an agent that works in `cwd`.
    pub fn for_search(&self, cwd: &Path, place: &PathTarget) -> HiddenFiles {
        HiddenFiles(self.0.as_ref().map(|hides| hides(cwd, Some(place))))
    }

    /// Returns the files in `cwd` that are hidden from reads other than calls.
    pub fn for_reading(&self, cwd: &Path) -> HiddenFiles {
        HiddenFiles(self.0.as_ref().map(|hides| hides(cwd, None)))
    }
}

impl fmt::Debug for HiddenRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HiddenRules").field(&self.0.is_some()).finish()
    }
}

/// The files hidden from one search; none by default. Clones share them.
#[derive(Clone, Default)]
pub struct HiddenFiles(Option<HiddenPredicate>);

impl HiddenFiles {
    /// Whether the file at this absolute path is one of them.
    pub fn contain(&self, file: &Path) -> bool {
        self.0.as_ref().is_some_and(|is_hidden| is_hidden(file))
    }

    /// Whether the file is one of them, under its own name or that of the file it leads to.
    pub fn contain_either(&self, file: &Path) -> bool {
        self.contain(file) || file.canonicalize().is_ok_and(|real| self.contain(&real))
    }

    /// Whether a found file is one of them, under either of its names.
    pub fn contain_found(&self, file: &SearchedFile) -> bool {
        self.contain(&file.real) || file.written != file.real && self.contain(&file.written)
    }
}

/// A file that a walk has found.
#[derive(Clone, Debug)]
pub struct SearchedFile {
    /// The resolved path.
    pub real: PathBuf,
    /// The path as the call would name it: below the folder of the call, which may be a link.
    pub written: PathBuf,
}

impl SearchedFile {
    /// Creates the entry of the file at `real`, in a walk of `target`.
    pub fn new(target: &PathTarget, real: &Path) -> Self {
        let root = target.resolved.as_deref().unwrap_or(&target.written);
        let written = match real.strip_prefix(root) {
            Ok(below) if below.as_os_str().is_empty() => target.written.clone(),
            Ok(below) => target.written.join(below),
            Err(_) => real.to_owned(),
        };
        Self { real: real.to_owned(), written }
    }
}

/// Opens files found by a walk. The walk goes by names; here no link is followed that was created since.
#[derive(Debug, Default)]
pub struct SearchedFileReader {
    /// The last file's folder: a walk stays in a folder for a while.
    last: Option<(PathBuf, Folder)>,
}

impl SearchedFileReader {
    /// Opens a file for reading.
    pub fn open(&mut self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.place(path)?;
        folder.open_entry(name)
    }

    /// Returns when a file was changed.
    pub fn modified(&mut self, path: &Path) -> io::Result<SystemTime> {
        let (folder, name) = self.place(path)?;
        folder.modified(name)
    }

    fn place<'a>(&mut self, path: &'a Path) -> io::Result<(&Folder, &'a OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let last = match self.last.take() {
            Some(last) if last.0 == parent => last,
            _ => (parent.to_owned(), Folder::open(parent)?),
        };
        Ok((&self.last.insert(last).1, name))
    }
}

/// A glob pattern, with the folder that all its matches are below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchoredGlob {
    pub root: PathBuf,
    /// The part after the root.
    pattern: String,
}

impl AnchoredGlob {
    /// Splits `pattern`, which is absolute or starts at `folder`, before its first wildcard. A
    /// pattern without a slash matches at any depth.
    pub fn new(pattern: &str, folder: &Path) -> Self {
        if !pattern.contains('/') {
            return Self { root: folder.to_path_buf(), pattern: format!("**/{pattern}") };
        }
        let literal = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
        let split = pattern[..literal].rfind('/').map_or(0, |slash| slash + 1);
        let (root, rest) = pattern.split_at(split);
        let root = normalize(&folder.join(root));
        Self { root, pattern: rest.to_owned() }
    }

    /// Returns a matcher for paths relative to the root.
    pub fn matcher(&self) -> Result<GlobSet, ToolError> {
        // Building a single glob panics on failure, a set returns the error.
        GlobBuilder::new(&self.pattern)
            .literal_separator(true)
            .build()
            .and_then(|glob| GlobSet::builder().add(glob).build())
            .map_err(|error| ToolError::failed(format!("Bad glob pattern: {}.", error.kind())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_walked_from_its_last_fixed_folder() {
        let split = |pattern| {
            let AnchoredGlob { root, pattern } = AnchoredGlob::new(pattern, Path::new("/w"));
            (root.display().to_string(), pattern)
        };
        let expect = |root: &str, rest: &str| (root.to_owned(), rest.to_owned());
        assert_eq!(split("*.rs"), expect("/w", "**/*.rs"));
        assert_eq!(split("src/**/*.rs"), expect("/w/src", "**/*.rs"));
        assert_eq!(split("src/main.rs"), expect("/w/src", "main.rs"));
        assert_eq!(split("/etc/x*/y"), expect("/etc", "x*/y"));
        assert_eq!(split("../a/{b,c}/d"), expect("/a", "{b,c}/d"));
        assert_eq!(split("**/x"), expect("/w", "**/x"));
    }
}
