//! Where configured hooks and servers start: in the project, or each in an empty folder of its own.
//!
//! A program looks around where it starts: `./check.sh` is a file there, and npx, cargo or git also search the folders
//! above. So what the user has configured for all projects starts in a folder that no project reaches, until the user
//! accepts that it starts in this one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::protocol::{EnvOverlay, StartDir};

/// Variables that name the project's folder to programs; scripts for Claude Code know the second.
const PROJECT_VARIABLES: [&str; 2] = ["CALIBAN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// Prefix of the names of private folders.
const PREFIX: &str = "private-";

/// A private folder that nobody holds is removed when it is older than this: a younger one may not be locked yet.
const STALE: Duration = Duration::from_secs(3600);

/// `PATH` where nothing of the user's own is left.
const SYSTEM_PATH: &str = "/usr/bin:/bin";

/// The folders that decide where programs start.
#[derive(Clone, Debug, Default)]
pub struct StartSettings {
    /// The project's folder, as `CALIBAN_PROJECT_DIR` names it.
    pub project: PathBuf,
    /// Folders that belong to the project or to the work of agents.
    pub working: Vec<PathBuf>,
    /// Folders in which private ones may be made, best first.
    pub bases: Vec<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
}

/// Gives each program the folder and the environment that it starts with. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct StartDirs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    settings: StartSettings,
    /// Whether folders of programs that were killed have been removed.
    pruned: AtomicBool,
}

/// The folder and the environment of one start. A private folder is removed with this.
#[derive(Debug)]
pub struct Start {
    pub cwd: PathBuf,
    pub env: EnvOverlay,
    pub private: Option<PrivateDir>,
}

/// An empty folder for one program, which only the user can enter. Removed with all that is in it when dropped.
#[derive(Debug)]
pub struct PrivateDir {
    folder: TempDir,
    /// Locked for as long as the folder is used.
    _lock: File,
}

impl StartDirs {
    /// Touches no file but to follow links.
    #[must_use]
    pub fn new(settings: StartSettings) -> Self {
        // A project at the root of all files has no outside.
        let inside = settings.working.iter().filter(|folder| folder.parent().is_some());
        let working = inside.map(|folder| resolved(folder).unwrap_or_else(|| folder.clone()));
        let settings = StartSettings { working: working.collect(), ..settings };
        Self(Arc::new(Inner { settings, pruned: AtomicBool::new(false) }))
    }

    /// The environment with the variables that name the project's folder.
    #[must_use]
    pub fn with_project(&self, env: &EnvOverlay) -> EnvOverlay {
        let project = self.0.settings.project.as_os_str();
        env.with(PROJECT_VARIABLES.map(|name| (name, project.to_owned())))
    }

    /// Prepares the start of one program; `project` is where it starts if that is in the project.
    ///
    /// # Errors
    /// When there is no folder outside of the project that could be private.
    pub fn prepare(&self, dir: StartDir, project: &Path, env: &EnvOverlay) -> io::Result<Start> {
        let env = self.with_project(env);
        match dir {
            StartDir::Project => Ok(Start { cwd: project.to_owned(), env, private: None }),
            StartDir::Private => {
                let private = self.private()?;
                let cwd = private.path().to_owned();
                Ok(Start { cwd, env: self.without_projects_programs(&env), private: Some(private) })
            }
        }
    }

    /// Makes an empty folder outside of the project.
    ///
    /// # Errors
    /// When none can be made.
    pub fn private(&self) -> io::Result<PrivateDir> {
        let mut failed = io::Error::other("no folder for it lies outside of the project");
        for base in &self.0.settings.bases {
            if resolved(base).is_none_or(|base| self.is_working(&base)) {
                continue;
            }
            if !self.0.pruned.swap(true, Ordering::Relaxed) {
                prune(base);
            }
            match PrivateDir::make(base) {
                // The path is followed again: what it leads to counts.
                Ok(made) if !resolved(made.path()).is_none_or(|path| self.is_working(&path)) => {
                    return Ok(made);
                }
                Ok(_) => {}
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// The environment of a program that starts in a private folder. Its `PATH` has no folder of the project and none
    /// that depends on where a program runs, and bash reads no file of the project first.
    #[must_use]
    pub fn without_projects_programs(&self, env: &EnvOverlay) -> EnvOverlay {
        let mut kept = env.clone();
        if let Some(path) = env.get_os("PATH") {
            let entries = path.as_bytes().split(|byte| *byte == b':');
            let own: Vec<&[u8]> = entries
                .filter(|entry| self.is_outside(Path::new(OsStr::from_bytes(entry))))
                .collect();
            let path = match own.is_empty() {
                true => OsString::from(SYSTEM_PATH),
                false => OsString::from_vec(own.join(&b':')),
            };
            kept = kept.with([("PATH", path)]);
        }
        let start = env.get_os("BASH_ENV").filter(|file| !file.is_empty());
        if start.is_some_and(|file| !self.is_outside(Path::new(file))) {
            kept = kept.without(["BASH_ENV"]);
        }
        kept
    }

    /// Whether a path is absolute and leads out of the project. A folder that holds the user's home is no project here:
    /// the programs in it are the user's own.
    fn is_outside(&self, path: &Path) -> bool {
        let home = self.0.settings.home.as_deref().and_then(resolved);
        let holds_home =
            |folder: &&PathBuf| home.as_ref().is_some_and(|home| home.starts_with(folder));
        let Some(path) = resolved(path) else { return false };
        !self.0.settings.working.iter().filter(|it| !holds_home(it)).any(|it| path.starts_with(it))
    }

    fn is_working(&self, path: &Path) -> bool {
        self.0.settings.working.iter().any(|folder| path.starts_with(folder))
    }
}

impl PrivateDir {
    fn make(base: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(base)?;
        let only_owner = Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(only_owner).tempdir_in(base)?;
        let lock = File::open(folder.path())?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes private folders of programs that were killed before they could.
fn prune(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_private = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let Ok(found) = entry.metadata() else { continue };
        let age =
            found.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        if !is_private || !found.is_dir() || age.is_none_or(|age| age < STALE) {
            continue;
        }
        let lock = File::open(entry.path());
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            // What cannot be removed stays; it is empty for nobody.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Where an absolute path leads, links followed as far as it exists; `None` for one that cannot be told.
fn resolved(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let (known, real) =
        path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(known).ok()?;
    rest.components().all(|part| matches!(part, Component::Normal(_))).then(|| real.join(rest))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Bench {
        top: TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            for folder in ["home/bin", "project/bin", "state", "temp"] {
                fs::create_dir_all(top.path().join(folder)).unwrap();
            }
            Self { top }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.top.path().canonicalize().unwrap().join(name)
        }

        fn dirs(&self, working: &[&str], bases: &[&str]) -> StartDirs {
            let paths = |names: &[&str]| names.iter().map(|name| self.path(name)).collect();
            StartDirs::new(StartSettings {
                project: self.path("project"),
                working: paths(working),
                bases: paths(bases),
                home: Some(self.path("home")),
            })
        }
    }

    #[test]
    fn a_private_folder_is_empty_its_owners_alone_and_removed_with_all_that_it_holds() {
        let bench = Bench::new();
        let dirs = bench.dirs(&["project"], &["state"]);
        let start = dirs.prepare(StartDir::Private, &bench.path("project"), &EnvOverlay::default());
        let start = start.unwrap();
        assert!(start.cwd.starts_with(bench.path("state")), "{start:?}");
        assert_eq!(start.cwd.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&start.cwd).unwrap().count(), 0);
        for name in PROJECT_VARIABLES {
            assert_eq!(start.env.get_os(name), Some(bench.path("project").as_os_str()));
        }
        let other = dirs.private().unwrap();
        assert_ne!(other.path(), start.cwd, "no two programs share one");
        fs::write(start.cwd.join("left"), "").unwrap();
        drop((start, other));
        assert_eq!(fs::read_dir(bench.path("state")).unwrap().count(), 0);
    }

    #[test]
    fn no_private_folder_lies_where_a_project_or_an_agent_writes_however_it_is_named() {
        let bench = Bench::new();
        symlink(bench.path("project"), bench.path("link")).unwrap();
        for inside in ["project", "project/.caliban", "link", "link/new/state"] {
            let made = bench.dirs(&["project"], &[inside, "temp"]).private().unwrap();
            assert!(made.path().starts_with(bench.path("temp")), "{inside}: {made:?}");
            let none = bench.dirs(&["project"], &[inside]).private().unwrap_err();
            assert!(none.to_string().contains("outside of the project"), "{none}");
        }
        assert_eq!(
            fs::read_dir(bench.path("project")).unwrap().count(),
            1,
            "nothing was made there"
        );
        let made = bench.dirs(&["project", "state"], &["state", "temp"]).private().unwrap();
        assert!(made.path().starts_with(bench.path("temp")), "{made:?}");
        let root = StartSettings {
            working: vec![PathBuf::from("/")],
            bases: vec![bench.path("state")],
            ..StartSettings::default()
        };
        StartDirs::new(root).private().expect("the root of all files has no outside");
    }

    #[test]
    fn the_path_of_a_private_start_has_absolute_folders_outside_of_the_project_alone() {
        let bench = Bench::new();
        symlink(bench.path("project/bin"), bench.path("linked")).unwrap();
        let dirs = bench.dirs(&["project"], &["state"]);
        let own = format!("/usr/bin:{}", bench.path("home/bin").display());
        let path = |entries: &str| {
            let env = EnvOverlay::from_iter([("PATH", entries)]);
            dirs.without_projects_programs(&env).get("PATH").unwrap().to_owned()
        };
        for entry in ["", ".", "bin", "./x", "node_modules/.bin", "~/bin"] {
            assert_eq!(path(&format!("{entry}:{own}")), own, "{entry:?}");
            assert_eq!(path(&format!("{own}:{entry}")), own, "{entry:?}");
        }
        for inside in ["project/bin", "project/new/bin", "project", "home/../project/bin", "linked"]
        {
            assert_eq!(path(&format!("{}:{own}", bench.path(inside).display())), own, "{inside}");
        }
        assert_eq!(path(".:"), SYSTEM_PATH);
        let at_home = bench.dirs(&["home"], &["state"]);
        let env = EnvOverlay::from_iter([("PATH", own.as_str())]);
        assert_eq!(at_home.without_projects_programs(&env).get("PATH"), Some(own.as_str()));
        for (file, stays) in [("/etc/bashrc", true), ("./rc", false), ("", true)] {
            let env = dirs.without_projects_programs(&EnvOverlay::from_iter([("BASH_ENV", file)]));
            assert_eq!(env.get("BASH_ENV").is_some(), stays, "{file:?}");
        }
    }

    #[test]
    fn what_a_killed_program_left_is_removed_later_and_what_is_used_is_not() {
        let bench = Bench::new();
        let used = bench.dirs(&["project"], &["state"]).private().unwrap();
        let left = bench.path("state/private-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "").unwrap();
        let old = SystemTime::now() - STALE * 2;
        for folder in [used.path(), &left] {
            File::open(folder).unwrap().set_modified(old).unwrap();
        }
        let other = bench.path("state/sessions");
        fs::create_dir(&other).unwrap();
        File::open(&other).unwrap().set_modified(old).unwrap();
        bench.dirs(&["project"], &["state"]).private().unwrap();
        assert!(used.path().is_dir() && other.is_dir() && !left.exists());
    }
}
