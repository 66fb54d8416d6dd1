//! What the person has accepted of each project, thing by thing.
//!
//! The file `trust.json` in the data folder holds, for the root of each project, the lines of
//! [`Inert`] that were shown and accepted, by the file in which they stand. A thing counts when its
//! very line is there: one that is new or changed is asked about, whatever else of the project is
//! trusted. Nothing is inherited from a folder above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::dirs::Dirs;
use super::error::{self, Origin};
use super::inert::{Inert, one_line};
use super::project::Project;
use super::replace::put;
use super::start::{ProjectStart, describe};
use crate::protocol::{StartDir, printable_path, shell_path};

/// The only form of the file so far.
const VERSION: u32 = 1;

/// A longer file is none of ours. Bytes.
const MAX_FILE: u64 = 16 << 20;

/// How long another process may keep us from the file, and how often it is looked whether it still does.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Of how many things a notice tells the names, and how many characters of each.
const NAMED: usize = 8;
const NAME_CHARS: usize = 120;

/// Why the person's word could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(
        "{}: {problem}: no project is trusted until it is mended or removed",
        printable_path(path)
    )]
    Broken { path: PathBuf, problem: String },
    #[error("cannot keep it in {}: {source}", printable_path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "another process has held {} for {} s; end it, or try again when it is done",
        printable_path(path), LOCK_WAIT.as_secs()
    )]
    Locked { path: PathBuf },
    #[error(
        "the path of {} is not valid UTF-8 text, so that its trust cannot be kept",
        printable_path(path)
    )]
    Name { path: PathBuf },
}

/// The file's content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    version: u32,
    /// Root of a project, file, accepted lines. A file below the root is named from there: its
    /// lines are the project's things. One with an absolute path is the user's own: its lines are
    /// entries that start in this project.
    projects: BTreeMap<String, Accepted>,
}

type Accepted = BTreeMap<String, BTreeSet<String>>;

/// Whether the things that one project brings count. Clones are the same. Reads its file when it is
/// first asked.
#[derive(Clone, Debug)]
pub struct Trust(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: PathBuf,
    root: PathBuf,
    /// Where the relative paths of origins start.
    cwd: PathBuf,
    /// As read at the first look, and what was accepted since. What other processes write counts at
    /// their next start.
    known: Mutex<Option<Known>>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    accepted: Accepted,
    /// Why the file could not be used.
    problem: Option<String>,
}

impl Trust {
    /// What was accepted of this project. Touches no file.
    #[must_use]
    pub fn new(dirs: &Dirs, project: &Project, cwd: &Path) -> Self {
        let file = dirs.data.join("trust.json");
        let (root, cwd) = (project.root().to_owned(), cwd.to_owned());
        Self(Arc::new(Inner { file, root, cwd, known: Mutex::new(None) }))
    }

    /// The folder that is trusted or not.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Whether the thing counts: the person has accepted this very line of this file.
    #[must_use]
    pub fn accepts(&self, thing: &Inert) -> bool {
        let Some(file) = self.file_of(thing) else { return false };
        let known = self.known();
        let lines = known.as_ref().and_then(|known| known.accepted.get(&file));
        lines.is_some_and(|lines| lines.contains(&thing.what))
    }

    /// Whether an entry of the user's own may start in this project: the user has accepted this
    /// very line of this file for this project.
    #[must_use]
    pub fn accepts_start(&self, start: &ProjectStart) -> bool {
        let Some(file) = self.users_file_of(start) else { return false };
        let known = self.known();
        let lines = known.as_ref().and_then(|known| known.accepted.get(&file));
        lines.is_some_and(|lines| lines.contains(&start.entry))
    }

    /// Where an entry of the user's own starts that asks for the project: at the root for which it
    /// was accepted. One that may not is added to `waiting`.
    pub fn start_dir(&self, start: ProjectStart, waiting: &mut Vec<ProjectStart>) -> StartDir {
        if self.accepts_start(&start) {
            return StartDir::project(&self.0.root);
        }
        waiting.push(start);
        StartDir::Private
    }

    /// The path as the person would write it: origins name files so.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        error::shown(path, &self.0.cwd)
    }

    /// All that was accepted, each line by its file: things of the project by the file below the
    /// root in which they stood, entries of the user's own that start in the project by an absolute
    /// path.
    ///
    /// # Errors
    /// When the file is there and cannot be used.
    pub fn accepted(&self) -> Result<Vec<(String, String)>, TrustError> {
        let store = read(&self.0.file)?;
        let root = self.0.root.to_str().unwrap_or_default();
        let files = store.projects.get(root).into_iter().flatten();
        let shown = |file: &str, line: &str| match Path::new(file) {
            path if path.is_absolute() => describe(line, path),
            _ => line.to_owned(),
        };
        let lines = files.flat_map(|(file, lines)| {
            lines.iter().map(move |line| (file.clone(), shown(file, line)))
        });
        Ok(lines.collect())
    }

    /// Whether anything that the project brings was accepted.
    #[must_use]
    pub fn accepts_some(&self) -> bool {
        let of_project = |file: &String| Path::new(file).is_relative();
        self.known().as_ref().is_some_and(|known| known.accepted.keys().any(of_project))
    }

    /// Whether the thing counts; one that does not is added to the list of those.
    pub fn admit(&self, thing: Inert, inert: &mut Vec<Inert>) -> bool {
        let counts = self.accepts(&thing);
        if !counts {
            inert.push(thing);
        }
        counts
    }

    /// Accepts these things, for this process and for later ones.
    ///
    /// # Errors
    /// When that cannot be kept; then nothing more counts.
    pub fn accept(&self, things: &[Inert]) -> Result<(), TrustError> {
        self.accept_all(things, &[])
    }

    /// Accepts these things, and that these entries of the user's own start in this project.
    ///
    /// # Errors
    /// As [`Trust::accept`].
    pub fn accept_all(&self, things: &[Inert], starts: &[ProjectStart]) -> Result<(), TrustError> {
        let name = || TrustError::Name { path: self.0.root.clone() };
        let mut added = Vec::new();
        for thing in things {
            added.push((self.file_of(thing).ok_or_else(name)?, thing.what.clone()));
        }
        for start in starts {
            added.push((self.users_file_of(start).ok_or_else(name)?, start.entry.clone()));
        }
        self.change(|accepted| {
            for (file, what) in added {
                accepted.entry(file).or_default().insert(what);
            }
        })
    }

    /// Accepts nothing of this project any more. False when nothing was accepted.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn revoke(&self) -> Result<bool, TrustError> {
        let mut some = false;
        self.change(|accepted| some = !std::mem::take(accepted).is_empty())?;
        Ok(some)
    }

    /// What is wrong with the file of accepted things, once it has been looked at.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.lock().as_ref()?.problem.clone()
    }

    /// One line for the person about what does not count; `None` when there is nothing.
    #[must_use]
    pub fn notice(&self, inert: &[Inert]) -> Option<String> {
        if inert.is_empty() {
            return None;
        }
        let named =
            inert.iter().take(NAMED).map(|thing| format!("{} ({})", short(thing), thing.origin));
        let named: Vec<String> = named.collect();
        let more = match inert.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let root = shell_path(&self.0.root);
        let line = format!(
            "Not trusted, so this does nothing: {}{more}. `caliban trust {root}` lets it count, with --show only lists it.",
            named.join(", ")
        );
        Some(match self.problem() {
            Some(problem) => format!("{line} {problem}."),
            None => line,
        })
    }

    /// One line about entries of the user's own that start in an empty folder until that is
    /// accepted; `None` when there are none.
    #[must_use]
    pub fn start_notice(&self, starts: &[ProjectStart]) -> Option<String> {
        if starts.is_empty() {
            return None;
        }
        let named = starts.iter().take(NAMED);
        let named: Vec<String> =
            named.map(|start| format!("{} ({})", cut(start.name()), start.origin)).collect();
        let more = match starts.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let root = shell_path(&self.0.root);
        let line = format!(
            "Started in an empty folder, not in this project: {}{more}. `caliban trust {root}` starts your own entries here, with --show only lists them.",
            named.join(", ")
        );
        Some(match self.problem() {
            Some(problem) => format!("{line} {problem}."),
            None => line,
        })
    }

    /// The user's file as the store names it: an absolute path, also where it lies below the root.
    fn users_file_of(&self, start: &ProjectStart) -> Option<String> {
        let Origin::File { path, .. } = &start.origin else { return None };
        let path = self.0.cwd.join(path);
        path.to_str().filter(|_| path.is_absolute()).map(str::to_owned)
    }

    /// The thing's file as the store names it: below the root, `/` between the names.
    fn file_of(&self, thing: &Inert) -> Option<String> {
        let Origin::File { path, .. } = &thing.origin else { return None };
        let path = self.0.cwd.join(path);
        path.strip_prefix(&self.0.root).ok()?.to_str().map(str::to_owned)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is accepted, read if it is not yet.
    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        let mut known = self.lock();
        if known.is_none() {
            *known = Some(match read(&self.0.file) {
                Ok(mut store) => {
                    let root = self.0.root.to_str().unwrap_or_default();
                    let accepted = store.projects.remove(root).unwrap_or_default();
                    Known { accepted, problem: None }
                }
                Err(error) => Known { problem: Some(error.to_string()), ..Known::default() },
            });
        }
        known
    }

    /// Changes what is accepted of this project, in the file first.
    fn change(&self, edit: impl FnOnce(&mut Accepted)) -> Result<(), TrustError> {
        let Inner { file, root, .. } = &*self.0;
        let name = root.to_str().ok_or_else(|| TrustError::Name { path: root.clone() })?;
        let failed = |source| TrustError::Write { path: file.clone(), source };
        let _one_at_a_time = lock_beside(file)?;
        let mut store = read(file)?;
        let mut accepted = store.projects.remove(name).unwrap_or_default();
        edit(&mut accepted);
        if !accepted.is_empty() {
            store.projects.insert(name.to_owned(), accepted.clone());
        }
        write(file, &store).map_err(failed)?;
        *self.lock() = Some(Known { accepted, problem: None });
        Ok(())
    }
}

/// All roots of which something is accepted, and how many things of each.
///
/// # Errors
/// When the file is there and cannot be used.
pub fn trusted(dirs: &Dirs) -> Result<Vec<(PathBuf, usize)>, TrustError> {
    let store = read(&dirs.data.join("trust.json"))?;
    let count = |accepted: &Accepted| accepted.values().map(BTreeSet::len).sum();
    Ok(store.projects.iter().map(|(root, all)| (PathBuf::from(root), count(all))).collect())
}

/// A thing's name on one line, cut where it is long.
fn short(thing: &Inert) -> String {
    cut(thing.name())
}

fn cut(name: &str) -> String {
    let name = one_line(name, None);
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn read(path: &Path) -> Result<Store, TrustError> {
    let broken = |problem: String| TrustError::Broken { path: path.to_owned(), problem };
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() <= MAX_FILE => {}
        Ok(_) => return Err(broken("it is no file that caliban wrote".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Store { version: VERSION, projects: BTreeMap::new() });
        }
        Err(error) => return Err(broken(format!("it cannot be read ({error})"))),
    }
    let text = fs::read(path).map_err(|error| broken(format!("it cannot be read ({error})")))?;
    let store: Store = serde_json::from_slice(&text)
        .map_err(|error| broken(format!("it is not what caliban writes there ({error})")))?;
    if store.version != VERSION {
        return Err(broken(format!(
            "it has the version {}, which this caliban does not know",
            store.version
        )));
    }
    Ok(store)
}

/// Replaces the file; only its owner can read it.
fn write(path: &Path, store: &Store) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(store)?;
    text.push(b'\n');
    put(path, &text, PermissionsExt::from_mode(0o600))
}

/// Keeps other processes from changing the file until it is dropped. Those that do so now are
/// waited for, but not long.
fn lock_beside(file: &Path) -> Result<File, TrustError> {
    let path = file.with_extension("lock");
    let failed = |source| TrustError::Write { path: path.clone(), source };
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    let lock = options.create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
    let began = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if began.elapsed() >= LOCK_WAIT => {
                return Err(TrustError::Locked { path });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
}

#[cfg(test)]
mod tests;
