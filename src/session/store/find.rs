//! Finds sessions and sub-agents by the beginning of their id, by their folder, or all of them.

use std::fmt;
use std::fs;
use std::path::Path;

use super::super::list::{self, SessionPreview, SessionSummary};
use super::super::parallel::read_each;
use super::super::record::SessionHeader;
use super::SessionStore;
use crate::protocol::{AgentId, SessionId, lossy_path};

/// Maximum number of ids in an error.
const MAX_LISTED_IDS: usize = 5;

/// How many sessions are read before their number is compared with the limit of a list.
const CHUNK: usize = 1000;

/// The session or agent that an id belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdMatch {
    Session(SessionId),
    Agent { session: SessionId, agent: AgentId },
}

/// Nothing, or more than one, has an id that starts with the given prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error(
        "no session has the name `{prefix}` or an ID that starts with it; `caliban sessions` lists them"
    )]
    None { prefix: String },
    #[error("`{prefix}` means {count} sessions: {}; type more of the id", ids.join(", "))]
    Ambiguous { prefix: String, count: usize, ids: Vec<String> },
    #[error("{count} sessions have the name `{prefix}`: {}; use the ID", ids.join(", "))]
    Named { prefix: String, count: usize, ids: Vec<String> },
    #[error(
        "no session has the name `{prefix}`, and no session or agent ID starts with it; `caliban sessions` lists the sessions, and `caliban sessions show ID` the agents of one"
    )]
    Nothing { prefix: String },
    #[error("{count} ids begin with `{prefix}`: {}; type more of the id", ids.join(", "))]
    Many { prefix: String, count: usize, ids: Vec<String> },
}

impl SessionStore {
    /// Returns all sessions, newest first. Those with an unreadable first line are skipped.
    pub fn list(&self) -> Vec<SessionSummary> {
        self.newest(None, usize::MAX)
    }

    /// Returns the sessions whose files were written last, newest first; with `cwd`, only those of
    /// that working directory.
    pub fn newest(&self, cwd: Option<&Path>, most: usize) -> Vec<SessionSummary> {
        let written = |id| {
            let file = fs::metadata(self.transcript(id)).ok()?;
            Some((file.modified().ok()?, id))
        };
        let mut ids = read_each(&self.ids(), written);
        ids.sort_by(|one, other| other.cmp(one));
        let ids: Vec<SessionId> = ids.into_iter().map(|(_, id)| id).collect();
        let is_wanted =
            |header: &SessionHeader| cwd.is_none_or(|cwd| lossy_path::is_same(&header.cwd, cwd));
        let read = |id| list::summarize_session_if(&self.dir(id), is_wanted).ok()?;
        let mut all = Vec::new();
        for ids in ids.chunks(most.clamp(1, CHUNK)) {
            if all.len() < most {
                all.extend(read_each(ids, read));
            }
        }
        all.sort_by_key(|session| std::cmp::Reverse((session.last, session.id)));
        all.truncate(most);
        all
    }

    /// Reads more about sessions for a list: the last answer of each, and its cost as long as all files
    /// read for that stay below `max_bytes`.
    pub fn previews(&self, ids: &[SessionId], max_bytes: u64) -> Vec<SessionPreview> {
        let mut read = 0;
        let preview = |id: &SessionId| {
            let dir = self.dir(*id);
            let answer = list::last_answer(&dir).unwrap_or_default();
            let size = list::total_size(&dir);
            let fits = read + size <= max_bytes;
            read += if fits { size } else { 0 };
            SessionPreview { answer, cost: fits.then(|| list::session_cost(&dir)) }
        };
        ids.iter().map(preview).collect()
    }

    /// Finds the session whose id starts with `prefix`, or else the one that the user named so. It
    /// must be unique.
    pub fn find(&self, prefix: &str) -> Result<SessionId, FindError> {
        let prefix = prefix.trim().to_lowercase();
        let mut found = self.ids();
        found.retain(|id| !prefix.is_empty() && id.to_string().starts_with(&prefix));
        let by_name = found.is_empty();
        if by_name {
            found = self.named(&prefix);
        }
        found.sort();
        match found.as_slice() {
            [] => Err(FindError::None { prefix }),
            [one] => Ok(*one),
            many => {
                let (count, ids) = (many.len(), many.iter().map(SessionId::to_string).collect());
                let ids = first_ids(ids);
                Err(match by_name {
                    true => FindError::Named { prefix, count, ids },
                    false => FindError::Ambiguous { prefix, count, ids },
                })
            }
        }
    }

    /// Returns the sessions with this name, in capitals or not.
    pub fn named(&self, name: &str) -> Vec<SessionId> {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let has_it = |id: &SessionId| self.name(*id).is_some_and(|own| own.to_lowercase() == name);
        self.ids().into_iter().filter(has_it).collect()
    }

    /// Finds the session or sub-agent whose id starts with `prefix`, or else the session that the user
    /// named so. It must be unique.
    pub fn find_any(&self, prefix: &str) -> Result<IdMatch, FindError> {
        let prefix = prefix.trim().to_ascii_lowercase();
        let fits =
            |id: &dyn fmt::Display| !prefix.is_empty() && id.to_string().starts_with(&prefix);
        let mut found = Vec::new();
        for session in self.ids() {
            found.extend(fits(&session).then_some(IdMatch::Session(session)));
            let agents = list::agent_ids(&self.dir(session)).into_iter();
            found.extend(
                agents.filter(|id| fits(id)).map(|agent| IdMatch::Agent { session, agent }),
            );
        }
        match found.as_slice() {
            [] => match self.find(&prefix) {
                Err(FindError::None { prefix }) => Err(FindError::Nothing { prefix }),
                named => named.map(IdMatch::Session),
            },
            [one] => Ok(*one),
            many => {
                let ids = many.iter().map(IdMatch::to_string).collect();
                Err(FindError::Many { prefix, count: many.len(), ids: first_ids(ids) })
            }
        }
    }

    /// Returns the most recently written session of this working directory.
    pub fn latest_in(&self, cwd: &Path) -> Option<SessionId> {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let cwd = real(cwd);
        let sessions = self.ids().into_iter();
        let dated = sessions.filter_map(|id| list::header_and_age(&self.dir(id)).ok());
        dated
            .filter(|(header, _)| {
                lossy_path::is_same(&header.cwd, &cwd) || real(&header.cwd) == cwd
            })
            .max_by_key(|(header, modified)| (*modified, header.id))
            .map(|(header, _)| header.id)
    }

    /// Returns the ids of all sessions, those that began last first.
    pub fn newest_ids(&self) -> Vec<SessionId> {
        let mut ids = self.ids();
        ids.sort_by(|one, other| other.cmp(one));
        ids
    }

    pub(super) fn ids(&self) -> Vec<SessionId> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }
}

impl fmt::Display for IdMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session {id}"),
            Self::Agent { agent, .. } => write!(f, "agent {agent}"),
        }
    }
}

/// Limits the ids to those that an error lists.
fn first_ids(mut ids: Vec<String>) -> Vec<String> {
    if ids.len() > MAX_LISTED_IDS {
        ids.truncate(MAX_LISTED_IDS);
        ids.push("…".to_owned());
    }
    ids
}
