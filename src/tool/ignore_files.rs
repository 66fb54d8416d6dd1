//! Ignore files: `.ignore`, `.gitignore` and git's own `info/exclude`, which say what a walk passes over.
//!
//! Whoever wrote a project wrote them too, so they are read with care: never through a link, only
//! from regular files, up to a limit, and not where a rule hides them from the agent that searches,
//! because what a search leaves out gives away their lines. Git does not follow a link named
//! `.gitignore` either.

use std::ffi::OsStr;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::{Match, WalkBuilder};

use super::search::HiddenFiles;
use crate::disk::{self, Folder};

/// The bytes of all ignore files that count for one folder, its own and those of the folders above.
/// A file that would exceed this does not count. A line of two bytes takes some hundred in memory.
const LIMIT: u64 = 256 * 1024;

/// The ignore files on the way of one walk.
pub struct IgnoreFiles {
    hidden: HiddenFiles,
    /// The user's own patterns, for all folders.
    global: Gitignore,
    /// Whether git's files count only in a repository, and only those of that repository.
    repositories_only: bool,
    /// Whether files with a leading dot count as ignored unless a pattern says otherwise.
    without_dot_files: bool,
    /// The folders from the root to the one where the walk is.
    levels: Mutex<Vec<Level>>,
}

/// The ignore files of one folder.
struct Level {
    folder: PathBuf,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    /// The length of their texts.
    size: u64,
}

impl IgnoreFiles {
    /// Those for a search of an agent: git's files count without a repository too, and dot files
    /// are found. Files that are `hidden` from the search do not count.
    #[must_use]
    pub fn for_agent(hidden: HiddenFiles) -> Self {
        Self {
            hidden,
            global: Gitignore::empty(),
            repositories_only: false,
            without_dot_files: false,
            levels: Mutex::default(),
        }
    }

    /// Those for a list that the user sees of the files below `root`. The user's global ignore file
    /// counts too.
    #[must_use]
    pub fn for_user(root: &Path) -> Self {
        Self {
            hidden: HiddenFiles::default(),
            global: GitignoreBuilder::new(root).build_global().0,
            repositories_only: true,
            without_dot_files: true,
            levels: Mutex::default(),
        }
    }

    /// Whether a walk leaves out what it has found at this absolute path without links.
    fn leave_out(&self, path: &Path, is_dir: bool) -> bool {
        let Some(folder) = path.parent() else { return false };
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        self.enter(&mut levels, folder);
        match self.matched(&levels, path, is_dir) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => {
                let name = path.file_name().unwrap_or_default();
                self.without_dot_files && name.as_encoded_bytes().starts_with(b".")
            }
        }
    }

    /// Leaves the levels of this folder and those above it, reading what is not there yet.
    fn enter(&self, levels: &mut Vec<Level>, folder: &Path) {
        while levels.last().is_some_and(|level| !folder.starts_with(&level.folder)) {
            levels.pop();
        }
        let known = levels.last().map(|level| level.folder.clone());
        let missing = folder.ancestors().take_while(|above| known.as_deref() != Some(*above));
        for above in missing.collect::<Vec<_>>().into_iter().rev() {
            let used = levels.iter().map(|level| level.size).sum();
            levels.push(self.read(above, LIMIT.saturating_sub(used)));
        }
    }

    /// The nearest file of a kind that says something decides; between the kinds, the first one
    /// that says something.
    fn matched(&self, levels: &[Level], path: &Path, is_dir: bool) -> Match<()> {
        let matched = |patterns: &Gitignore| patterns.matched(path, is_dir).map(|_| ());
        let git_counts = !self.repositories_only || levels.iter().any(|level| level.is_repository);
        let (mut ignore, mut gitignore, mut exclude) = (Match::None, Match::None, Match::None);
        let mut is_inside = git_counts;
        for level in levels.iter().rev() {
            ignore = ignore.or(matched(&level.ignore));
            if is_inside {
                gitignore = gitignore.or(matched(&level.gitignore));
                exclude = exclude.or(matched(&level.exclude));
            }
            is_inside &= !(self.repositories_only && level.is_repository);
        }
        let global = if git_counts { matched(&self.global) } else { Match::None };
        ignore.or(gitignore).or(exclude).or(global)
    }

    fn read(&self, path: &Path, mut room: u64) -> Level {
        let before = room;
        let folder = Folder::open(path).ok();
        let mut patterns = |folder: Option<&Folder>, at: &Path, name: &str| {
            let text = folder.and_then(|folder| self.text(folder, at, name, room));
            text.map_or_else(Gitignore::empty, |text| {
                room = room.saturating_sub(text.len() as u64);
                parse(path, &text)
            })
        };
        let ignore = patterns(folder.as_ref(), path, ".ignore");
        let gitignore = patterns(folder.as_ref(), path, ".gitignore");
        let info = disk::common_git_dir(path).map(|git| git.join("info"));
        let exclude = info.map_or_else(Gitignore::empty, |info| {
            patterns(Folder::open(&info).ok().as_ref(), &info, "exclude")
        });
        let has = |name: &str| path.join(name).symlink_metadata().is_ok();
        Level {
            folder: path.to_owned(),
            ignore,
            gitignore,
            exclude,
            is_repository: self.repositories_only && (has(".git") || has(".jj")),
            size: before - room,
        }
    }

    /// The text of the file `name` in `folder`, which is at `path`, if it may count.
    fn text(&self, folder: &Folder, path: &Path, name: &str, room: u64) -> Option<Vec<u8>> {
        let file = folder.entry(OsStr::new(name)).ok()?;
        if !file.metadata().ok()?.is_file() || self.hidden.contain(&path.join(name)) {
            return None;
        }
        let mut text = Vec::new();
        file.take(room + 1).read_to_end(&mut text).ok()?;
        (text.len() as u64 <= room).then_some(text)
    }
}

impl fmt::Debug for IgnoreFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IgnoreFiles").finish_non_exhaustive()
    }
}

/// The patterns of an ignore file, for paths below `root`. Lines that are no pattern do not count.
fn parse(root: &Path, text: &[u8]) -> Gitignore {
    let text = String::from_utf8_lossy(text);
    let mut builder = GitignoreBuilder::new(root);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// A walk below `root`, an absolute path without links, in the order of names and never into a
/// `.git`. It finds what `only` names, or else whatever the ignore files do not leave out.
#[must_use]
pub fn walk(root: &Path, ignored: IgnoreFiles, only: Override) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    // The walk's own reading of ignore files follows links and has no limit.
    walk.standard_filters(false)
        .overrides(only.clone())
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_named = || !only.matched(entry.path(), is_dir).is_none();
            entry.depth() == 0
                || entry.file_name() != ".git"
                    && (is_named() || !ignored.leave_out(entry.path(), is_dir))
        })
        .sort_by_file_name(Ord::cmp);
    walk
}

#[cfg(test)]
mod tests;
