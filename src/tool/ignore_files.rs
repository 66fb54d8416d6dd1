//! Ignore files: `.ignore`, `.gitignore` and git's own `info/exclude`, which list files that a walk skips.
//!
//! They come from the project's author, so they are read with care: never through a link, only from
//! regular files, up to a limit, and not where a rule hides them from the searching agent, because
//! the result of a search reveals their lines. Git does not follow a link named `.gitignore`
//! either.

use std::ffi::OsStr;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::{Match, WalkBuilder};
use parking_lot::Mutex;

use super::search::HiddenFiles;
use crate::disk::{self, Folder};

/// Maximum bytes of all ignore files that apply to one folder, its own and those of the folders
/// above. A file that would exceed this is ignored. A line of two bytes takes hundreds in memory.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// The ignore files along one walk.
pub struct IgnoreFiles {
    hidden: HiddenFiles,
    /// The user's own patterns, for all folders.
    global: Gitignore,
    /// Whether git's files count only in a repository, and only those of that repository.
    repositories_only: bool,
    /// Whether dot files are ignored unless a pattern says otherwise.
    without_dot_files: bool,
    /// The folders from the root to the walk's current one.
    levels: Mutex<Vec<IgnoreLevel>>,
}

/// The ignore files of one folder.
struct IgnoreLevel {
    folder: PathBuf,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    /// The total length of their texts.
    size: u64,
}

impl IgnoreFiles {
    /// Creates those for a search of an agent: git's files apply outside of a repository too, and
    /// dot files are found. Ignore files that are `hidden` from the search do not apply.
    pub fn for_agent(hidden: HiddenFiles) -> Self {
        Self {
            hidden,
            global: Gitignore::empty(),
            repositories_only: false,
            without_dot_files: false,
            levels: Mutex::default(),
        }
    }

    /// Creates those for a list of the files below `root` that the user sees. The user's global
    /// ignore file applies too.
    pub fn for_user(root: &Path) -> Self {
        Self {
            hidden: HiddenFiles::default(),
            global: GitignoreBuilder::new(root).build_global().0,
            repositories_only: true,
            without_dot_files: true,
            levels: Mutex::default(),
        }
    }

    /// Whether a walk skips the entry at this absolute path without links.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let Some(folder) = path.parent() else { return false };
        let mut levels = self.levels.lock();
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

    /// Keeps the levels of this folder and those above it, and reads missing ones.
    fn enter(&self, levels: &mut Vec<IgnoreLevel>, folder: &Path) {
        while levels.last().is_some_and(|level| !folder.starts_with(&level.folder)) {
            levels.pop();
        }
        let known = levels.last().map(|level| level.folder.clone());
        let missing = folder.ancestors().take_while(|above| known.as_deref() != Some(*above));
        for above in missing.collect::<Vec<_>>().into_iter().rev() {
            let used = levels.iter().map(|level| level.size).sum();
            levels.push(self.read(above, MAX_IGNORE_BYTES.saturating_sub(used)));
        }
    }

    /// Of one kind, the nearest file with a matching pattern decides; between the kinds, the first
    /// one with a match.
    fn matched(&self, levels: &[IgnoreLevel], path: &Path, is_dir: bool) -> Match<()> {
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

    fn read(&self, path: &Path, mut room: u64) -> IgnoreLevel {
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
        IgnoreLevel {
            folder: path.to_owned(),
            ignore,
            gitignore,
            exclude,
            is_repository: self.repositories_only && (has(".git") || has(".jj")),
            size: before - room,
        }
    }

    /// Returns the text of the file `name` in `folder`, which is at `path`, if it applies.
    fn text(&self, folder: &Folder, path: &Path, name: &str, room: u64) -> Option<Vec<u8>> {
        let file = folder.open_entry(OsStr::new(name)).ok()?;
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

/// Parses the patterns of an ignore file, for paths below `root`. Skips invalid lines.
fn parse(root: &Path, text: &[u8]) -> Gitignore {
    let text = String::from_utf8_lossy(text);
    let mut builder = GitignoreBuilder::new(root);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Walks `root`, an absolute path without links, in the order of names and never into a `.git`.
/// Finds the files that match `only`, or else all that are not ignored.
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
                    && (is_named() || !ignored.is_ignored(entry.path(), is_dir))
        })
        .sort_by_file_name(Ord::cmp);
    walk
}

#[cfg(test)]
mod tests;
