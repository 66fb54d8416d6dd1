//! Removes sessions that have not been used for many days, once a day, while a session is open.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::setup::Setup;
use crate::command::sessions::days_ago;
use crate::config::Origin;
use crate::protocol::{byte_size, count};
use crate::session::{PruneMode, SessionStore};

/// The time between two searches for such sessions.
const PAUSE: Duration = Duration::from_secs(24 * 3600);

/// The retention that the user has set.
pub(crate) struct Retention {
    store: SessionStore,
    keep_days: u32,
    /// Its time is that of the last search.
    stamp: PathBuf,
}

impl Setup {
    /// Returns the retention; `None` unless the user's own file sets it.
    pub(super) fn retention(&self) -> Option<Retention> {
        let is_set = *self.loaded.origins.get("session.keep_days") != Origin::BuiltIn;
        is_set.then(|| Retention {
            store: self.store(),
            keep_days: self.loaded.config.session.keep_days,
            stamp: self.dirs.state.join("pruned"),
        })
    }
}

impl Retention {
    /// Removes old sessions if that is due, and returns a line about them. May block for long.
    pub fn run(&self) -> Option<String> {
        let searched = fs::metadata(&self.stamp).and_then(|stamp| stamp.modified()).ok();
        let is_recent = |at: std::time::SystemTime| at.elapsed().is_ok_and(|since| since < PAUSE);
        if searched.is_some_and(is_recent) {
            return None;
        }
        if let Err(error) = File::create(&self.stamp) {
            tracing::warn!(%error, "the time of this search for old sessions is not kept");
        }
        let report = self
            .store
            .prune(days_ago(Timestamp::now(), self.keep_days), PruneMode::WithoutWorktrees);
        for session in &report.removed {
            tracing::info!(id = %session.id, last = %session.last, "an unused session was removed");
        }
        for session in &report.with_worktrees {
            tracing::info!(id = %session.id, "an unused session stays: its agents left worktrees");
        }
        report.failed.iter().for_each(|why| tracing::warn!("{why}"));
        let bytes = report.removed.iter().map(|session| session.bytes).sum();
        let sessions = count(report.removed.len(), "session");
        let days = count(self.keep_days as usize, "day");
        (!report.removed.is_empty())
            .then(|| format!("removed {sessions} unused for {days}, {}", byte_size(bytes)))
    }
}
