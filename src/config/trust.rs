//! Project items that the user has accepted.
//!
//! The file `trust.json` in the data folder holds, for the root of each project, the accepted lines
//! of [`UntrustedItem`] by the file they come from. An item counts if its exact line is listed: the user is
//! asked about a new or changed one, whatever else of the project is trusted. Nothing is inherited
//! from a parent folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::dirs::Dirs;
use super::error::{self, Origin};
use super::lock::{LockError, lock_beside};
use super::project::Project;
use super::project_start::{ProjectStart, describe};
use super::replace::write_atomic;
use super::untrusted_item::{UntrustedItem, one_line};
use crate::protocol::{StartDir, printable_path, shell_path};

/// The only version of the file format so far.
const VERSION: u32 = 1;

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// How many items a notice names, and how many characters of each name.
const MAX_NAMED: usize = 8;
const MAX_NAME_CHARS: usize = 120;

/// The reason why the decision could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(
        "{}: {problem}: no project is trusted until it is fixed or removed",
        printable_path(path)
    )]
    Broken { path: PathBuf, problem: String },
    #[error("cannot write {}: {source}", printable_path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Lock(#[from] LockError),
    #[error(
        "the path {} is not valid UTF-8, so trust in it cannot be stored",
        printable_path(path)
    )]
    Name { path: PathBuf },
}

/// The file's content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustStore {
    version: u32,
    /// Project root, file, accepted lines. A file below the root is named relative to it: its lines
    /// are items of the project. A file with an absolute path is the user's: its lines are entries
    /// that start in this project.
    projects: BTreeMap<String, AcceptedLines>,
}

type AcceptedLines = BTreeMap<String, BTreeSet<String>>;

/// The accepted items of one project. Clones share state. Reads its file on first use.
#[derive(Clone, Debug)]
pub struct Trust(Arc<TrustInner>);

#[derive(Debug)]
struct TrustInner {
    file: PathBuf,
    root: PathBuf,
    /// The base of relative paths in origins.
    cwd: PathBuf,
    /// As read on first use, plus what was accepted since. Changes by other processes take effect at the next start.
    known: Mutex<Option<TrustState>>,
}

#[derive(Clone, Debug, Default)]
struct TrustState {
    accepted: AcceptedLines,
    /// The reason why the file could not be used.
    problem: Option<String>,
}

impl Trust {
    /// Creates the trust of this project. Touches no file.
    pub fn new(dirs: &Dirs, project: &Project, cwd: &Path) -> Self {
        let file = dirs.data.join("trust.json");
        let (root, cwd) = (project.root().to_owned(), cwd.to_owned());
        Self(Arc::new(TrustInner { file, root, cwd, known: Mutex::new(None) }))
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Whether the item counts: the user has accepted this exact line of this file.
    pub fn accepts(&self, thing: &UntrustedItem) -> bool {
        let Some(file) = self.file_key(thing) else { return false };
        let known = self.loaded();
        let lines = known.as_ref().and_then(|known| known.accepted.get(&file));
        lines.is_some_and(|lines| lines.contains(&thing.what))
    }

    /// Whether an entry of the user's may start in this project: the user has accepted this exact
    /// line of this file for this project.
    pub fn accepts_start(&self, start: &ProjectStart) -> bool {
        let Some(file) = self.user_file_key(start) else { return false };
        let known = self.loaded();
        let lines = known.as_ref().and_then(|known| known.accepted.get(&file));
        lines.is_some_and(|lines| lines.contains(&start.entry))
    }

    /// Returns where an entry of the user's that asks for the project starts: at the root if
    /// accepted. Otherwise it is added to `waiting`.
    pub fn start_dir(&self, start: ProjectStart, waiting: &mut Vec<ProjectStart>) -> StartDir {
        if self.accepts_start(&start) {
            return StartDir::project(&self.0.root);
        }
        waiting.push(start);
        StartDir::Private
    }

    /// Returns the path as the user would write it and as origins name it.
    pub fn display_path(&self, path: &Path) -> PathBuf {
        error::display_path(path, &self.0.cwd)
    }

    /// Returns all accepted lines, each with its file: for items of the project the file's path
    /// below the root, for entries of the user's that start in the project an absolute path.
    ///
    /// # Errors
    /// Fails if the file exists but cannot be used.
    pub fn accepted(&self) -> Result<Vec<(String, String)>, TrustError> {
        let store = read_store(&self.0.file)?;
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

    /// Whether any item of the project was accepted.
    pub fn accepts_any(&self) -> bool {
        let of_project = |file: &String| Path::new(file).is_relative();
        self.loaded().as_ref().is_some_and(|known| known.accepted.keys().any(of_project))
    }

    /// Whether the item counts; if not, it is added to `untrusted`.
    pub fn admit(&self, thing: UntrustedItem, untrusted: &mut Vec<UntrustedItem>) -> bool {
        let counts = self.accepts(&thing);
        if !counts {
            untrusted.push(thing);
        }
        counts
    }

    /// Accepts these items for this and later processes.
    ///
    /// # Errors
    /// Fails if that cannot be stored; then nothing more counts.
    pub fn accept(&self, things: &[UntrustedItem]) -> Result<(), TrustError> {
        self.accept_all(things, &[])
    }

    /// Accepts these items, and that these entries of the user's start in this project.
    ///
    /// # Errors
    /// As [`Trust::accept`].
    pub fn accept_all(
        &self,
        things: &[UntrustedItem],
        starts: &[ProjectStart],
    ) -> Result<(), TrustError> {
        let name = || TrustError::Name { path: self.0.root.clone() };
        let mut added = Vec::new();
        for thing in things {
            added.push((self.file_key(thing).ok_or_else(name)?, thing.what.clone()));
        }
        for start in starts {
            added.push((self.user_file_key(start).ok_or_else(name)?, start.entry.clone()));
        }
        self.change(|accepted| {
            for (file, what) in added {
                accepted.entry(file).or_default().insert(what);
            }
        })
    }

    /// Withdraws trust from this project. Returns false if nothing was accepted.
    ///
    /// # Errors
    /// Fails if that cannot be stored.
    pub fn revoke(&self) -> Result<bool, TrustError> {
        let mut some = false;
        self.change(|accepted| some = !std::mem::take(accepted).is_empty())?;
        Ok(some)
    }

    /// Returns the problem with the file, once it has been read.
    pub fn problem(&self) -> Option<String> {
        self.lock().as_ref()?.problem.clone()
    }

    /// Returns one line about ignored items; `None` if there are none.
    pub fn notice(&self, untrusted: &[UntrustedItem]) -> Option<String> {
        if untrusted.is_empty() {
            return None;
        }
        let named = untrusted
            .iter()
            .take(MAX_NAMED)
            .map(|thing| format!("{} ({})", short_name(thing), thing.origin));
        let named: Vec<String> = named.collect();
        let more = match untrusted.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let root = shell_path(&self.0.root);
        let line = format!(
            "Ignored until you trust it: {}{more}. Run `caliban trust {root}` to accept, `caliban trust --show {root}` to review.",
            named.join(", ")
        );
        Some(match self.problem() {
            Some(problem) => format!("{line} {problem}."),
            None => line,
        })
    }

    /// Returns one line about entries of the user's that start in an empty folder until accepted;
    /// `None` if there are none.
    pub fn start_notice(&self, starts: &[ProjectStart]) -> Option<String> {
        if starts.is_empty() {
            return None;
        }
        let named = starts.iter().take(MAX_NAMED);
        let named: Vec<String> =
            named.map(|start| format!("{} ({})", clip_name(start.name()), start.origin)).collect();
        let more = match starts.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let root = shell_path(&self.0.root);
        let line = format!(
            "Started in an empty folder, not in this project: {}{more}. Run `caliban trust {root}` to start them here, `caliban trust --show {root}` to review.",
            named.join(", ")
        );
        Some(match self.problem() {
            Some(problem) => format!("{line} {problem}."),
            None => line,
        })
    }

    /// Returns the store's key for the user's file: an absolute path, even if it is below the root.
    fn user_file_key(&self, start: &ProjectStart) -> Option<String> {
        let Origin::File { path, .. } = &start.origin else { return None };
        let path = self.0.cwd.join(path);
        path.to_str().filter(|_| path.is_absolute()).map(str::to_owned)
    }

    /// Returns the store's key for the item's file: relative to the root.
    fn file_key(&self, thing: &UntrustedItem) -> Option<String> {
        let Origin::File { path, .. } = &thing.origin else { return None };
        let path = self.0.cwd.join(path);
        path.strip_prefix(&self.0.root).ok()?.to_str().map(str::to_owned)
    }

    fn lock(&self) -> MutexGuard<'_, Option<TrustState>> {
        self.0.known.lock()
    }

    /// Returns the accepted lines, reading the file if needed.
    fn loaded(&self) -> MutexGuard<'_, Option<TrustState>> {
        let mut known = self.lock();
        if known.is_none() {
            *known = Some(match read_store(&self.0.file) {
                Ok(mut store) => {
                    let root = self.0.root.to_str().unwrap_or_default();
                    let accepted = store.projects.remove(root).unwrap_or_default();
                    TrustState { accepted, problem: None }
                }
                Err(error) => {
                    TrustState { problem: Some(error.to_string()), ..TrustState::default() }
                }
            });
        }
        known
    }

    /// Changes the accepted lines, in the file first.
    fn change(&self, edit: impl FnOnce(&mut AcceptedLines)) -> Result<(), TrustError> {
        let TrustInner { file, root, .. } = &*self.0;
        let name = root.to_str().ok_or_else(|| TrustError::Name { path: root.clone() })?;
        let failed = |source| TrustError::Write { path: file.clone(), source };
        let _one_at_a_time = lock_beside(file)?;
        let mut store = read_store(file)?;
        let mut accepted = store.projects.remove(name).unwrap_or_default();
        edit(&mut accepted);
        if !accepted.is_empty() {
            store.projects.insert(name.to_owned(), accepted.clone());
        }
        write_store(file, &store).map_err(failed)?;
        *self.lock() = Some(TrustState { accepted, problem: None });
        Ok(())
    }
}

/// Returns all roots with accepted items, and how many each has.
///
/// # Errors
/// Fails if the file exists but cannot be used.
pub fn trusted_projects(dirs: &Dirs) -> Result<Vec<(PathBuf, usize)>, TrustError> {
    let store = read_store(&dirs.data.join("trust.json"))?;
    let count = |accepted: &AcceptedLines| accepted.values().map(BTreeSet::len).sum();
    Ok(store.projects.iter().map(|(root, all)| (PathBuf::from(root), count(all))).collect())
}

/// Returns an item's name on one line, truncated.
fn short_name(thing: &UntrustedItem) -> String {
    clip_name(thing.name())
}

fn clip_name(name: &str) -> String {
    let name = one_line(name, None);
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn read_store(path: &Path) -> Result<TrustStore, TrustError> {
    let broken = |problem: String| TrustError::Broken { path: path.to_owned(), problem };
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() <= MAX_FILE => {}
        Ok(_) => return Err(broken("it is not a file that caliban wrote".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(TrustStore { version: VERSION, projects: BTreeMap::new() });
        }
        Err(error) => return Err(broken(format!("it cannot be read ({error})"))),
    }
    let text = fs::read(path).map_err(|error| broken(format!("it cannot be read ({error})")))?;
    let store: TrustStore = serde_json::from_slice(&text)
        .map_err(|error| broken(format!("it is not what caliban writes there ({error})")))?;
    if store.version != VERSION {
        return Err(broken(format!("this caliban does not support its version {}", store.version)));
    }
    Ok(store)
}

/// Replaces the file, readable only by its owner.
fn write_store(path: &Path, store: &TrustStore) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(store)?;
    text.push(b'\n');
    write_atomic(path, &text, PermissionsExt::from_mode(0o600))
}

#[cfg(test)]
mod tests;
