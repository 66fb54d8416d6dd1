//! Hidden files that an ignore file makes ripgrep show: a pattern such as `!.env` counts for more than
//! the dot.

use std::fs::DirEntry;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::disk::{Folder, common_git_dir, has_dot_git};

/// The ignore files that ripgrep reads in each folder.
const NAMES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Maximum bytes of an ignore file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// The ignore files of one folder that has some, and of those above it.
pub struct IgnoreLevel {
    /// The patterns of each file; absent for a file that cannot be read.
    files: Vec<Option<Gitignore>>,
    above: Option<Rc<IgnoreLevel>>,
}

impl IgnoreLevel {
    /// The ignore files above this folder, which is absolute and without links.
    pub fn above(folder: &Path) -> Option<Rc<Self>> {
        let above = folder.ancestors().skip(1).collect::<Vec<_>>();
        above.into_iter().rev().fold(None, |level, folder| Self::enter(folder, level))
    }

    /// The ignore files of this folder and those above it.
    pub fn enter(folder: &Path, above: Option<Rc<Self>>) -> Option<Rc<Self>> {
        let mut files: Vec<PathBuf> = NAMES.iter().map(|name| folder.join(name)).collect();
        if has_dot_git(folder) {
            files.extend(common_git_dir(folder).map(|git| git.join("info/exclude")));
        }
        files.retain(|file| file.symlink_metadata().is_ok());
        if files.is_empty() {
            return above;
        }
        let files = files.iter().map(|file| read(folder, file)).collect();
        Some(Rc::new(Self { files, above }))
    }

    /// Whether one of the files may make ripgrep show the hidden entry.
    pub fn may_show(&self, entry: &DirEntry) -> bool {
        let (path, is_dir) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let shows = |file: &Option<Gitignore>| {
            file.as_ref().is_none_or(|file| file.matched(&path, is_dir).is_whitelist())
        };
        let mut levels = std::iter::successors(Some(self), |level| level.above.as_deref());
        levels.any(|level| level.files.iter().any(shows))
    }
}

/// The patterns of an ignore file, which count from this folder.
fn read(folder: &Path, file: &Path) -> Option<Gitignore> {
    let (parent, name) = (file.parent()?, file.file_name()?);
    let file = Folder::open(parent).ok()?.open_entry(name).ok()?;
    let is_file = file.metadata().ok()?.file_type().is_file();
    let mut text = String::new();
    let length = file.take(MAX_BYTES + 1).read_to_string(&mut text).ok().filter(|_| is_file)?;
    let mut patterns = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern counts for ripgrep neither.
        let _ = patterns.add_line(None, line);
    }
    patterns.build().ok().filter(|_| length as u64 <= MAX_BYTES)
}
