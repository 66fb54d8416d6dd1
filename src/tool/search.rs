//! What Glob and Grep share: the files that they pass over, what a walk finds, and patterns of paths.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use globset::{GlobBuilder, GlobSet};

use super::ToolError;
use crate::disk::{Folder, normalize};
use crate::protocol::Target;

/// Files that the searches of one agent must pass over as if they were not there. Clones are the
/// same. Nothing is hidden by default.
#[derive(Clone, Default)]
pub struct Hidden(Option<Arc<Hides>>);

type Hides = dyn Fn(&Path, Option<&Target>) -> IsHidden + Send + Sync;
type IsHidden = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl Hidden {
    /// Asks `hides` once for each search, with the working directory of the agent and the place
    /// that a permitted call names, what is hidden from that search.
    #[must_use]
    pub fn by<F>(hides: impl Fn(&Path, Option<&Target>) -> F + Send + Sync + 'static) -> Self
    where
        F: Fn(&Path) -> bool + Send + Sync + 'static,
    {
        Self(Some(Arc::new(move |cwd, place| Arc::new(hides(cwd, place)))))
    }

    /// The files that are hidden from one search of an agent that works in `cwd`, in the place that
    /// its call names.
    #[must_use]
    pub fn from_search(&self, cwd: &Path, place: &Target) -> HiddenFiles {
        HiddenFiles(self.0.as_ref().map(|hides| hides(cwd, Some(place))))
    }

    /// The files that are hidden in `cwd` from what no call asks for.
    #[must_use]
    pub fn from_reading(&self, cwd: &Path) -> HiddenFiles {
        HiddenFiles(self.0.as_ref().map(|hides| hides(cwd, None)))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hidden").field(&self.0.is_some()).finish()
    }
}

/// The files that are hidden from one search; none by default. Clones are the same.
#[derive(Clone, Default)]
pub struct HiddenFiles(Option<IsHidden>);

impl HiddenFiles {
    /// Whether the file at this absolute path is one of them.
    #[must_use]
    pub fn contain(&self, file: &Path) -> bool {
        self.0.as_ref().is_some_and(|is_hidden| is_hidden(file))
    }

    /// Whether the file is one of them, under its own name or that of the file it leads to.
    #[must_use]
    pub fn contain_either(&self, file: &Path) -> bool {
        self.contain(file) || file.canonicalize().is_ok_and(|real| self.contain(&real))
    }

    /// Whether what a walk has found is one of them, under either of its names.
    #[must_use]
    pub fn contain_found(&self, file: &Found) -> bool {
        self.contain(&file.real) || file.written != file.real && self.contain(&file.written)
    }
}

/// A file that a walk has found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub real: PathBuf,
    /// As the call would name it: below the folder that it asks for, which may be a link.
    pub written: PathBuf,
}

impl Found {
    /// The file at `real`, in a walk of `target`.
    pub fn new(target: &Target, real: &Path) -> Self {
        let root = target.resolved.as_deref().unwrap_or(&target.written);
        let written = match real.strip_prefix(root) {
            Ok(below) if below.as_os_str().is_empty() => target.written.clone(),
            Ok(below) => target.written.join(below),
            Err(_) => real.to_owned(),
        };
        Self { real: real.to_owned(), written }
    }
}

/// Looks at what a walk has found. The walk goes by names; here no link is followed that has come since.
#[derive(Debug, Default)]
pub struct Finds {
    /// The folder of the last one: a walk stays in a folder for a while.
    last: Option<(PathBuf, Folder)>,
}

impl Finds {
    /// Opens a file for reading.
    pub fn open(&mut self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.place(path)?;
        folder.entry(name)
    }

    /// When a file was changed.
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

/// A glob pattern with the folder below which it can match at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchored {
    pub root: PathBuf,
    /// What follows the root.
    pattern: String,
}

impl Anchored {
    /// Splits `pattern`, which is absolute or starts at `folder`, before its first wildcard.
    /// A pattern without a slash matches at any depth.
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

    /// What paths relative to the root are tested with.
    pub fn matcher(&self) -> Result<GlobSet, ToolError> {
        // A single glob compiles or panics, a set says why it does not.
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
            let Anchored { root, pattern } = Anchored::new(pattern, Path::new("/w"));
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
