//! Removes sessions: one, or all that have not been used for many days.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::super::list;
use super::super::record::Record;
use super::super::writer::{self, with_hint};
use super::{SessionStore, StoreError, transcript_file};
use crate::protocol::SessionId;

/// How the name of a folder begins that is being removed. No session has such a name.
const REMOVED: &str = ".removed-";

/// The sessions to remove of those that were last used before some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneMode {
    /// None: only says which they are.
    DryRun,
    All,
    /// Those whose agents have left no worktree, which may hold work that nobody else names.
    WithoutWorktrees,
}

/// The outcome of removing the sessions that were last used before some time.
#[derive(Clone, Debug, Default)]
pub struct PruneReport {
    /// Those that are gone, or would be, oldest first.
    pub removed: Vec<PrunedSession>,
    /// How many such sessions are open in a process, and stay.
    pub in_use: usize,
    /// Those that stay because of the worktrees of their agents.
    pub with_worktrees: Vec<PrunedSession>,
    /// Why others stay, one line each.
    pub failed: Vec<String>,
}

/// An old session.
#[derive(Clone, Debug)]
pub struct PrunedSession {
    pub id: SessionId,
    /// Its name, or else its first prompt.
    pub title: String,
    pub last: Timestamp,
    /// The size of its files.
    pub bytes: u64,
    /// The worktrees of its agents that are still there: they may hold work.
    pub worktrees: Vec<PathBuf>,
}

impl SessionStore {
    /// Removes sessions that were last used before `before`, but none that is open.
    pub fn prune(&self, before: Timestamp, mode: PruneMode) -> PruneReport {
        let dry_run = mode == PruneMode::DryRun;
        if !dry_run {
            self.finish_removals();
        }
        let mut report = PruneReport::default();
        for id in self.ids() {
            let Some(found) = self.unused_since(id, before) else { continue };
            if mode == PruneMode::WithoutWorktrees && !found.worktrees.is_empty() {
                report.with_worktrees.push(found);
                continue;
            }
            let locked = writer::lock_existing(&transcript_file(&self.dir(id)));
            match locked.and_then(|lock| if dry_run { Ok(()) } else { self.discard(id, &lock) }) {
                Ok(()) => report.removed.push(found),
                Err(error) if error.kind() == ErrorKind::ResourceBusy => report.in_use += 1,
                Err(error) => report.failed.push(format!("session {id} stays: {error}")),
            }
        }
        report.removed.sort_by_key(|session| (session.last, session.id));
        report
    }

    /// Removes a session with all its files, unless a process is writing to it.
    pub fn remove(&self, id: SessionId) -> Result<(), StoreError> {
        let path = transcript_file(&self.dir(id));
        let lock = match writer::lock_existing(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            lock => Some(lock),
        };
        let removed = match lock {
            Some(lock) => lock.and_then(|lock| self.discard(id, &lock)),
            None => fs::remove_dir_all(self.dir(id)),
        };
        removed.map_err(|source| StoreError::Write { id, path, source: with_hint(source) })
    }

    /// Returns the session if its last record and its file are older than that.
    fn unused_since(&self, id: SessionId, before: Timestamp) -> Option<PrunedSession> {
        let dir = self.dir(id);
        let written = fs::metadata(transcript_file(&dir)).ok()?.modified().ok()?;
        if Timestamp::try_from(written).ok()? >= before {
            return None;
        }
        let session = list::summarize_session(&dir).ok().filter(|it| it.last < before)?;
        Some(PrunedSession {
            id,
            title: session.title().to_owned(),
            last: session.last,
            bytes: folder_size(&dir),
            worktrees: worktrees(&dir),
        })
    }

    /// Removes the folder of a locked session. From the first step on, no list has it.
    fn discard(&self, id: SessionId, _lock: &File) -> io::Result<()> {
        let gone = self.root.join(format!("{REMOVED}{id}"));
        fs::rename(self.dir(id), &gone)?;
        fs::remove_dir_all(gone)
    }

    /// Removes what is left of removals that were cut off.
    fn finish_removals(&self) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let is_removed = entry.file_name().to_str().is_some_and(|it| it.starts_with(REMOVED));
            if is_removed && let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::warn!(%error, "a removed session is still on the disk");
            }
        }
    }
}

/// Returns the bytes of all files in a folder. Links count as themselves.
fn folder_size(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => folder_size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Returns the worktrees that the session's agents worked in and that exist.
fn worktrees(dir: &Path) -> Vec<PathBuf> {
    let files = list::agent_files(dir).into_iter().chain([transcript_file(dir)]);
    let mut found: Vec<PathBuf> = files.flat_map(|file| worktrees_in(&file)).collect();
    found.sort();
    found.dedup();
    found.retain(|path| path.is_dir());
    found
}

fn worktrees_in(file: &Path) -> Vec<PathBuf> {
    let (mut found, mut line) = (Vec::new(), Vec::new());
    let Ok(file) = File::open(file) else { return found };
    let mut lines = BufReader::new(file);
    while lines.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        // Most lines are messages, which need not be parsed.
        if line.starts_with(br#"{"type":"worktree""#)
            && let Ok(Record::Worktree { checkout, .. }) = Record::parse(&line)
        {
            found.push(checkout.path);
        }
        line.clear();
    }
    found
}
