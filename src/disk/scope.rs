//! Files that a project's files may import or link to. Memory, commands, skills and agent definitions all use this.
//!
//! A project may be a small part of the repository around it: somebody else's library, or an
//! archive that was unpacked there. So the repository's root is no bound. An imported file is in
//! the first of these states that applies:
//!
//! 1. It is in a working directory: it may be read, including hidden and ignored files, as by any
//!    tool call.
//! 2. It is outside the repository: it is refused.
//! 3. It is below the folder of everything that refers to it, which is the importing file and each
//!    link on the way: it may be read. A file in its place without a link has no referrer. So a
//!    link never widens the reach of the import that goes through it. A link in `.claude`, or in
//!    one of its folders such as `.claude/skills`, counts as one in the folder above `.claude`, and
//!    one deeper in such a folder as one in that folder.
//! 4. Git tracks it there as a regular file: it may be read. The resolved path counts, so a link in
//!    place of a tracked file, or of a folder above it, is judged by its target.
//! 5. Otherwise it is refused, also if git's index cannot be understood.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::found_file::FoundFile;
use super::project_folders::ProjectFolders;
use super::repository::index::TrackedFiles;
use super::repository::{index_file, tracked_files};
use super::resolve::{Route, RouteLink};

/// Folders that hold a project's configuration.
const CONFIG_FOLDERS: [&str; 3] = [".caliban", ".claude", ".agents"];
/// Folders in these, one for each kind of file.
const CONFIG_KINDS: [&str; 3] = ["agents", "commands", "skills"];

/// The working directories of a session and the repository around the first of them.
#[derive(Clone, Debug, Default)]
pub struct ProjectScope {
    /// Without links.
    dirs: Vec<PathBuf>,
    /// The repository's root, without links.
    root: Option<PathBuf>,
    /// The checkouts around them, which nothing is imported from.
    folders: ProjectFolders,
}

impl ProjectScope {
    /// Creates the scope of a session that works in the first of `folders`, in the project whose
    /// root is the last of them. `more` are additional working directories. Resolves links now, so
    /// that changing one later widens nothing.
    pub fn new(folders: &[PathBuf], more: &[PathBuf]) -> Self {
        let real = |folder: &PathBuf| fs::canonicalize(folder).ok();
        let dirs = folders.first().into_iter().chain(more).filter_map(real).collect();
        Self { dirs, root: folders.last().and_then(real), folders: ProjectFolders::default() }
    }

    /// Returns the scope with the checkouts around its folders, except one that contains `home`.
    pub fn within_checkouts(self, home: Option<&Path>) -> Self {
        let dirs = self.dirs.iter().chain(&self.root).cloned();
        Self { folders: ProjectFolders::new(dirs, home), ..self }
    }

    /// Whether a resolved path is in the project, in a working directory, where agents may have
    /// written it, or in a checkout around one.
    pub fn contains(&self, real: &Path) -> bool {
        self.may_bring(real) || self.folders.roots().iter().any(|root| real.starts_with(root))
    }

    /// Whether the project may import from a resolved path.
    fn may_bring(&self, real: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| real.starts_with(root)) || self.works_in(real)
    }

    /// Returns a view of the current files.
    pub fn files(&self) -> ProjectFiles<'_> {
        ProjectFiles {
            scope: self,
            tracked: OnceCell::new(),
            roots: OnceCell::new(),
            own_folders: RefCell::default(),
        }
    }

    fn works_in(&self, real: &Path) -> bool {
        self.dirs.iter().any(|dir| real.starts_with(dir))
    }

    /// Returns the folder that a file or link may import from: the one that contains it. For an
    /// entry directly in a configuration folder it is the folder above that one.
    fn owner_folder(&self, entry: &Path) -> Option<PathBuf> {
        let folder = entry.parent()?;
        let home = if self.is_config(folder) { folder.parent()? } else { folder };
        Some(home.to_owned())
    }

    /// Returns the same for a link: one directly in a configuration kind's folder belongs above the
    /// configuration folder too, and a deeper one to the kind's folder.
    fn link_owner_folder(&self, link: &Path) -> Option<PathBuf> {
        let folder = link.parent()?;
        let is_kind = |kind: &&Path| {
            is_named(kind, &CONFIG_KINDS) && kind.parent().is_some_and(|it| self.is_config(it))
        };
        match folder.ancestors().find(is_kind) {
            Some(kind) if kind == folder => self.owner_folder(kind),
            Some(kind) => Some(kind.to_owned()),
            None => self.owner_folder(link),
        }
    }

    /// Whether a folder holds configuration and is not itself being worked on.
    fn is_config(&self, folder: &Path) -> bool {
        is_named(folder, &CONFIG_FOLDERS) && !self.dirs.iter().any(|dir| dir.starts_with(folder))
    }

    /// Returns the importing file's folders: by its own path, and by its real one.
    fn importer_folders(&self, importer: &FoundFile) -> [PathBuf; 2] {
        let folder = |file: &Path| self.owner_folder(file).unwrap_or_else(|| file.to_owned());
        [folder(&importer.written), folder(importer.path())]
    }
}

/// The reason why a project may not import a file.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is elsewhere: the predicate of a sentence about it.
    #[error("it {0}")]
    Outside(String),
}

/// A view of the files of a scope. Git's index is read once, and only if nothing else allows a file.
#[derive(Debug)]
pub struct ProjectFiles<'a> {
    scope: &'a ProjectScope,
    tracked: OnceCell<Result<TrackedFiles, String>>,
    /// The checkouts around the scope's folders.
    roots: OnceCell<Vec<PathBuf>>,
    /// Folders with the user's files, looked up once for all files in them, by folder and the
    /// user's folder that contains it.
    own_folders: RefCell<HashMap<(PathBuf, Option<PathBuf>), UserFolder>>,
}

/// A folder of the user's, looked up. Absent: each file in it must be checked by itself.
type UserFolder = Option<FoundFile>;

impl ProjectFiles<'_> {
    /// Finds `path`, a file of the project or one that `importer` imports.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, or may not be imported.
    pub fn locate(
        &self,
        path: &Path,
        importer: Option<&FoundFile>,
    ) -> Result<FoundFile, ScopeError> {
        self.check_file(FoundFile::new(path)?, importer)
    }

    fn check_file(
        &self,
        found: FoundFile,
        importer: Option<&FoundFile>,
    ) -> Result<FoundFile, ScopeError> {
        let tracks = |tracked: &TrackedFiles, below: &Path| tracked.contains(below);
        self.judge(&found, importer, &tracks)?;
        Ok(found)
    }

    /// Finds `path`, a file in the user's folder `own` or, if that is absent, one that a file of the
    /// user's imports. It may be anywhere, but a project's link on the way leads no further than for
    /// the project itself.
    ///
    /// # Errors
    ///
    /// As for [`Self::locate`].
    pub fn locate_user_file(
        &self,
        path: &Path,
        own: Option<&Path>,
    ) -> Result<FoundFile, ScopeError> {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && !fs::symlink_metadata(path)?.is_symlink()
            && let Some(folder) = self.lookup_user_folder(folder, own)
        {
            return Ok(folder.entry(name));
        }
        let found = FoundFile::new(path)?;
        match self.is_users(&found, own) {
            true => Ok(found),
            false => self.check_file(found, None),
        }
    }

    /// Looks up a folder of the user's, once.
    fn lookup_user_folder(&self, folder: &Path, own: Option<&Path>) -> UserFolder {
        let key = (folder.to_owned(), own.map(Path::to_owned));
        if let Some(known) = self.own_folders.borrow().get(&key) {
            return known.clone();
        }
        let found = FoundFile::new(folder).ok().filter(|found| self.is_users(found, own));
        self.own_folders.borrow_mut().insert(key, found.clone());
        found
    }

    /// Whether no link of the project led to a file, unless the link stays in a checkout other than
    /// the project's.
    fn is_users(&self, found: &FoundFile, own: Option<&Path>) -> bool {
        let own = own.and_then(|own| self.real_user_folder(own));
        let is_own = |link: &RouteLink| own.as_ref().is_some_and(|own| link.path.starts_with(own));
        let roots = self.roots();
        // A link that stays in another checkout leads nowhere else.
        let stays = |link: &RouteLink| {
            let ends_in = |root: &Path| link.end.as_ref().is_some_and(|end| end.starts_with(root));
            let holds = |root: &PathBuf| link.path.starts_with(root) && ends_in(root);
            !self.scope.may_bring(&link.path) && roots.iter().any(holds)
        };
        self.links(found).iter().all(|link| is_own(link) || stays(link))
    }

    fn roots(&self) -> &[PathBuf] {
        self.roots.get_or_init(|| self.scope.folders.roots())
    }

    /// Returns the real path of a folder of the user's. It may be in the project if this is the
    /// home, but one that a link leads into the project is the project's: `None`.
    fn real_user_folder(&self, own: &Path) -> Option<PathBuf> {
        let route = Route::new(own, None);
        let mut ends = route.links.iter().filter_map(|link| link.end.as_ref());
        let is_led_in = ends.any(|end| self.scope.contains(end));
        route.end.filter(|_| !is_led_in)
    }

    /// Whether a link led a file of the user's into one of the session's folders, or into a checkout
    /// around them: then it is the project's. Links in a home that is the project do not count.
    pub fn is_from_project(&self, found: &FoundFile) -> bool {
        self.lead_into_project(&found.links)
    }

    /// Whether the same holds for a path that could not be found.
    pub fn leads_into_project(&self, path: &Path) -> bool {
        self.lead_into_project(&Route::new(path, None).links)
    }

    fn lead_into_project(&self, links: &[RouteLink]) -> bool {
        let mut ends = links.iter().filter_map(|link| link.end.as_ref());
        ends.any(|end| self.roots().iter().any(|root| end.starts_with(root)))
    }

    /// Checks that the files in a folder may be listed; each must be located by itself.
    ///
    /// # Errors
    ///
    /// As for [`Self::locate`].
    pub fn enter(&self, folder: &Path) -> Result<(), ScopeError> {
        let tracks = |tracked: &TrackedFiles, below: &Path| tracked.has_below(below);
        self.judge(&FoundFile::new(folder)?, None, &tracks)
    }

    /// Returns the path of git's index if any answer so far depends on it.
    pub fn index(&self) -> Option<PathBuf> {
        self.tracked.get()?;
        index_file(self.scope.root.as_deref()?)
    }

    fn judge(
        &self,
        found: &FoundFile,
        importer: Option<&FoundFile>,
        tracks: &dyn Fn(&TrackedFiles, &Path) -> bool,
    ) -> Result<(), ScopeError> {
        let real = found.path();
        if self.scope.works_in(real) {
            return Ok(());
        }
        let links = self.links(found);
        let Some(below) = self.scope.root.as_ref().and_then(|root| real.strip_prefix(root).ok())
        else {
            return Err(ScopeError::Outside(match links.is_empty() {
                true => "lies outside the project, which may not import it".to_owned(),
                false => "is a link that leads out of the project".to_owned(),
            }));
        };
        let mut bringers: Vec<PathBuf> =
            links.iter().filter_map(|link| self.scope.link_owner_folder(&link.path)).collect();
        if let Some(importer) = importer {
            bringers.extend(self.scope.importer_folders(importer));
        }
        if bringers.iter().all(|folder| real.starts_with(folder)) {
            return Ok(());
        }
        let why = match self.tracked() {
            Ok(tracked) if tracks(tracked, below) => return Ok(()),
            Ok(_) => "git does not track it: track it, or".to_owned(),
            Err(why) => format!("whether git tracks it is unknown, since {why}:"),
        };
        let what = match links.is_empty() {
            true => "lies".to_owned(),
            false => format!("is a link to {}, which lies", real.display()),
        };
        let folder = real.parent().unwrap_or(real).display();
        Err(ScopeError::Outside(format!(
            "{what} outside of the working directories, and {why} add its folder with --add-dir {folder}"
        )))
    }

    /// Returns the project's links on the way to a file. Those above the project are the user's.
    fn links<'a>(&self, found: &'a FoundFile) -> Vec<&'a RouteLink> {
        found.links.iter().filter(|link| self.scope.contains(&link.path)).collect()
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
