//! Where configured hooks and servers start: in the project, or each in an empty folder of its own.
//!
//! A program looks around where it starts: `./check.sh` is a file there, and npx, cargo or git also
//! search the folders above. So entries that the user has configured for all projects start in a
//! folder that no project reaches, until the user accepts that they start in this one.

use std::fs::{self, DirBuilder, DirEntry, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::supervise::Supervisor;
use crate::disk::{ProjectFolders, resolve};
use crate::protocol::{EnvOverlay, StartDir};

/// Variables that name the project's folder to programs; scripts for Claude Code know the second.
const PROJECT_VARIABLES: [&str; 2] = ["CALIBAN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

/// Name prefix of the folders that hold private ones.
const DIR_PREFIX: &str = "caliban-private-";

/// The file beside a private folder that marks both as ours, locked while the folder is used.
const MARKER: &str = ".caliban-start";

/// Name of the private folder itself, beside the marker.
const DIR_NAME: &str = "start";

/// Age after which an unlocked private folder is removed: a younger one may not be locked yet.
const MAX_UNLOCKED_AGE: Duration = Duration::from_secs(3600);

/// The folders that decide where programs start.
#[derive(Clone, Debug, Default)]
pub struct StartSettings {
    /// The folder that `CALIBAN_PROJECT_DIR` names to programs in a private folder. It is only a
    /// name that the user's own entries use for the project at hand, such as one more argument, and
    /// does not decide which program starts.
    pub project: PathBuf,
    /// Folders that belong to the project or to the work of agents.
    pub working: Vec<PathBuf>,
    /// Caliban's own folder for state: private folders are created here if it lies outside of
    /// `working`. Only folders here are removed when a killed program left them.
    pub state: PathBuf,
    /// Fallback folders for temporary files, best first.
    pub temp: Vec<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The supervisor for hooks and servers, where the system has it.
    pub supervisor: Option<Supervisor>,
}

/// Gives each program the folder and environment that it starts with. Clones share state.
#[derive(Clone, Debug, Default)]
pub struct StartDirs(Arc<StartDirsInner>);

#[derive(Debug, Default)]
struct StartDirsInner {
    settings: StartSettings,
    project: ProjectFolders,
    /// Whether folders of killed programs have been removed.
    pruned: AtomicBool,
}

/// The folder and environment of one start. Dropping this removes a private folder.
#[derive(Debug)]
pub struct ProgramStart {
    pub cwd: PathBuf,
    pub env: EnvOverlay,
    pub private: Option<PrivateDir>,
}

/// An empty folder for one program, which only the user can enter. Removed with its content when dropped.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// Holds the folder and its marker.
    _holder: TempDir,
    /// The marker, locked for as long as the folder is used.
    _lock: File,
}

impl ProgramStart {
    /// Removes the private folder without blocking other tasks.
    pub async fn end(self) {
        if let Some(private) = self.private {
            // It fails only when the runtime ends, and then the folder has been dropped.
            let _ = tokio::task::spawn_blocking(move || drop(private)).await;
        }
    }
}

impl StartDirs {
    /// Prepares nothing yet: only follows links, touches no file.
    pub fn new(settings: StartSettings) -> Self {
        // A project at the file system root has no outside.
        let inside = settings.working.iter().filter(|folder| folder.parent().is_some());
        let working = inside.map(|folder| resolve(folder).unwrap_or_else(|| folder.clone()));
        let settings = StartSettings { working: working.collect(), ..settings };
        let project = ProjectFolders::new(settings.working.clone(), settings.home.as_deref());
        Self(Arc::new(StartDirsInner { settings, project, pruned: AtomicBool::new(false) }))
    }

    /// Returns the supervisor for hooks and servers.
    pub fn supervisor(&self) -> Option<&Supervisor> {
        self.0.settings.supervisor.as_ref()
    }

    /// Returns the environment with the variables that name the project's folder to a program that starts in `dir`.
    pub fn with_project(&self, dir: &StartDir, env: &EnvOverlay) -> EnvOverlay {
        let project = match dir {
            StartDir::Project(folder) => folder.as_os_str(),
            StartDir::Private => self.0.settings.project.as_os_str(),
        };
        env.with(PROJECT_VARIABLES.map(|name| (name, project.to_owned())))
    }

    /// Prepares the start of one program.
    ///
    /// # Errors
    ///
    /// When there is no folder outside of the project that could be private.
    pub fn prepare(&self, dir: &StartDir, env: &EnvOverlay) -> io::Result<ProgramStart> {
        let env = self.with_project(dir, env);
        match dir {
            StartDir::Project(folder) => {
                Ok(ProgramStart { cwd: folder.to_path_buf(), env, private: None })
            }
            StartDir::Private => {
                let private = self.private_dir()?;
                let cwd = private.path().to_owned();
                let env = self.0.project.without_programs(&env);
                Ok(ProgramStart { cwd, env, private: Some(private) })
            }
        }
    }

    /// [`Self::prepare`] for async callers: does not block other tasks while it works on files.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`].
    pub async fn start(&self, dir: &StartDir, env: &EnvOverlay) -> io::Result<ProgramStart> {
        if *dir != StartDir::Private {
            return self.prepare(dir, env);
        }
        let (dirs, env) = (self.clone(), env.clone());
        let prepared = tokio::task::spawn_blocking(move || dirs.prepare(&StartDir::Private, &env));
        prepared.await.map_err(io::Error::other)?
    }

    /// Creates an empty folder outside of the project.
    ///
    /// # Errors
    ///
    /// When none can be created.
    pub fn private_dir(&self) -> io::Result<PrivateDir> {
        let StartDirsInner { settings, pruned, .. } = &*self.0;
        let mut failed = None;
        for base in std::iter::once(&settings.state).chain(&settings.temp) {
            if !self.may_hold(base) {
                continue;
            }
            // In a folder for temporary files another program may use the same names.
            if *base == settings.state && !pruned.swap(true, Ordering::Relaxed) {
                prune(base);
            }
            match PrivateDir::make(base) {
                // Resolve the path again: its target counts.
                Ok(made) if self.may_hold(made.path()) => return Ok(made),
                Ok(_) => {}
                Err(error) => {
                    failed.get_or_insert(format!("{}: {error}", base.display()));
                }
            }
        }
        let why = failed.unwrap_or_else(|| {
            "every folder that could hold one lies in the project or in a working directory".into()
        });
        Err(io::Error::other(format!("{why}: set TMPDIR to a folder outside of the project")))
    }

    /// Returns the folders of the project, in which no program of the user's starts.
    pub fn project(&self) -> &ProjectFolders {
        &self.0.project
    }

    /// Whether a path leads out of all working directories, the user's home included.
    fn may_hold(&self, path: &Path) -> bool {
        let Some(path) = resolve(path) else { return false };
        !self.0.settings.working.iter().any(|folder| path.starts_with(folder))
    }
}

impl PrivateDir {
    fn make(base: &Path) -> io::Result<Self> {
        let mut only_owner = DirBuilder::new();
        only_owner.mode(0o700);
        only_owner.recursive(true).create(base)?;
        let holder = tempfile::Builder::new()
            .prefix(DIR_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(base)?;
        let marker = holder.path().join(MARKER);
        let lock = File::options().write(true).create_new(true).mode(0o600).open(marker)?;
        lock.try_lock().map_err(io::Error::from)?;
        let path = holder.path().join(DIR_NAME);
        only_owner.recursive(false).create(&path)?;
        Ok(Self { path, _holder: holder, _lock: lock })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes private folders that killed programs left behind. Folders that cannot be removed stay.
fn prune(state: &Path) {
    let Ok(entries) = fs::read_dir(state) else { return };
    for entry in entries.flatten().filter(is_stale) {
        let holder = entry.path();
        match marker(&holder) {
            Some(lock) if lock.try_lock().is_ok() => drop(fs::remove_dir_all(holder)),
            Some(_) => {}
            // A folder without a marker is ours only if it never got one, and then it is empty.
            None => drop(fs::remove_dir(holder)),
        }
    }
}

/// Whether the name and age are those of a folder that a killed program left.
fn is_stale(entry: &DirEntry) -> bool {
    let Ok(found) = entry.metadata() else { return false };
    let age = found.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    let is_named = entry.file_name().as_encoded_bytes().starts_with(DIR_PREFIX.as_bytes());
    is_named && found.is_dir() && age.is_some_and(|age| age >= MAX_UNLOCKED_AGE)
}

/// Returns the marker of a folder that holds only it and a private folder.
fn marker(holder: &Path) -> Option<File> {
    for entry in fs::read_dir(holder).ok()? {
        let entry = entry.ok()?;
        let (name, kind) = (entry.file_name(), entry.file_type().ok()?);
        let is_ours = (name == MARKER && kind.is_file()) || (name == DIR_NAME && kind.is_dir());
        if !is_ours {
            return None;
        }
    }
    File::open(holder.join(MARKER)).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct StartFixture {
        top: TempDir,
    }

    impl StartFixture {
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

        /// The first of `bases` is the folder for state.
        fn dirs(&self, working: &[&str], bases: &[&str]) -> StartDirs {
            let paths = |names: &[&str]| names.iter().map(|name| self.path(name)).collect();
            StartDirs::new(StartSettings {
                project: self.path("project"),
                working: paths(working),
                state: self.path(bases[0]),
                temp: paths(&bases[1..]),
                home: Some(self.path("home")),
                supervisor: None,
            })
        }
    }

    #[test]
    fn a_private_folder_is_empty_its_owners_alone_and_removed_with_all_that_it_holds() {
        let bench = StartFixture::new();
        let dirs = bench.dirs(&["project"], &["state"]);
        let start = dirs.prepare(&StartDir::Private, &EnvOverlay::default()).unwrap();
        assert!(start.cwd.starts_with(bench.path("state")), "{start:?}");
        assert_eq!(start.cwd.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&start.cwd).unwrap().count(), 0);
        for name in PROJECT_VARIABLES {
            assert_eq!(start.env.get_os(name), Some(bench.path("project").as_os_str()));
        }
        let other = dirs.private_dir().unwrap();
        assert_ne!(other.path(), start.cwd, "no two programs share one");
        fs::write(start.cwd.join("left"), "").unwrap();
        drop((start, other));
        assert_eq!(fs::read_dir(bench.path("state")).unwrap().count(), 0);
    }

    #[test]
    fn a_start_in_a_folder_names_that_folder_to_the_program() {
        let bench = StartFixture::new();
        let dirs = bench.dirs(&["project"], &["state"]);
        let accepted = StartDir::project(&bench.path("project/bin"));
        let start = dirs.prepare(&accepted, &EnvOverlay::default()).unwrap();
        assert_eq!(start.cwd, bench.path("project/bin"));
        for name in PROJECT_VARIABLES {
            assert_eq!(start.env.get_os(name), Some(start.cwd.as_os_str()));
        }
    }

    #[test]
    fn no_private_folder_lies_where_a_project_or_an_agent_writes_however_it_is_named() {
        let bench = StartFixture::new();
        symlink(bench.path("project"), bench.path("link")).unwrap();
        for inside in ["project", "project/.caliban", "link", "link/new/state"] {
            let made = bench.dirs(&["project"], &[inside, "temp"]).private_dir().unwrap();
            assert!(made.path().starts_with(bench.path("temp")), "{inside}: {made:?}");
            let none = bench.dirs(&["project"], &[inside]).private_dir().unwrap_err();
            let advice = "set TMPDIR to a folder outside of the project";
            assert!(none.to_string().contains(advice), "{none}");
        }
        assert_eq!(
            fs::read_dir(bench.path("project")).unwrap().count(),
            1,
            "nothing was made there"
        );
        let made = bench.dirs(&["project", "state"], &["state", "temp"]).private_dir().unwrap();
        assert!(made.path().starts_with(bench.path("temp")), "{made:?}");
        let root = StartSettings {
            working: vec![PathBuf::from("/")],
            state: bench.path("state"),
            ..StartSettings::default()
        };
        StartDirs::new(root).private_dir().expect("the root of all files has no outside");
    }

    #[test]
    fn a_private_start_finds_no_program_of_the_project() {
        let bench = StartFixture::new();
        let dirs = bench.dirs(&["project"], &["state"]);
        let path = format!("{}:/usr/bin", bench.path("project/bin").display());
        let env = EnvOverlay::from_iter([("PATH", path)]);
        let start = dirs.prepare(&StartDir::Private, &env).unwrap();
        assert_eq!(start.env.get("PATH"), Some("/usr/bin"));
    }

    /// Makes files, and then all folders an age at which they count as left behind.
    fn old(bench: &StartFixture, folder: &str, files: &[&str]) -> PathBuf {
        let folder = bench.path(folder);
        fs::create_dir_all(&folder).unwrap();
        for file in files {
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            fs::write(folder.join(file), "").unwrap();
        }
        File::open(&folder)
            .unwrap()
            .set_modified(SystemTime::now() - MAX_UNLOCKED_AGE * 2)
            .unwrap();
        folder
    }

    #[test]
    fn what_a_killed_program_left_is_removed_later_and_what_is_used_is_not() {
        let bench = StartFixture::new();
        let used = bench.dirs(&["project"], &["state"]).private_dir().unwrap();
        let holder = used.path().parent().unwrap();
        File::open(holder).unwrap().set_modified(SystemTime::now() - MAX_UNLOCKED_AGE * 2).unwrap();
        let left = old(&bench, "state/caliban-private-left", &[MARKER, "start/sub/file"]);
        let empty = old(&bench, "state/caliban-private-empty", &[]);
        bench.dirs(&["project"], &["state"]).private_dir().unwrap();
        assert!(used.path().is_dir() && !left.exists() && !empty.exists());
    }

    #[test]
    fn no_folder_that_another_made_is_removed_whatever_its_name_and_its_age() {
        let bench = StartFixture::new();
        let own = [
            ("temp/private-notes", "thesis.txt"),
            ("temp/caliban-private-notes", "thesis.txt"),
            ("temp/caliban-private-left", MARKER),
            ("state/private-notes", "thesis.txt"),
            ("state/caliban-private-notes", "thesis.txt"),
            ("state/caliban-private-notes-2", "start/thesis.txt"),
            ("state/sessions", "thesis.txt"),
            ("state/sessions-2", MARKER),
        ]
        .map(|(folder, file)| old(&bench, folder, &[file]).join(file));
        let more = old(&bench, "state/caliban-private-more", &[MARKER, "thesis.txt"]);
        for dirs in [
            bench.dirs(&["project"], &["state", "temp"]),
            bench.dirs(&["project", "state"], &["state", "temp"]),
            bench.dirs(&["project"], &["project/.home", "temp"]),
        ] {
            dirs.private_dir().unwrap();
        }
        for file in own.iter().chain([&more.join("thesis.txt")]) {
            assert!(file.is_file(), "{}", file.display());
        }
    }
}
