//! Reads sessions without changing them, also while another process works on them.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use super::{SessionStore, StoreError, transcript_file};
use crate::protocol::{AgentEvent, AgentId, AgentInfo, AgentPath, EventKind, SessionId};
use crate::session::list::{self, AgentSummary};
use crate::session::record::{MessageRecord, Record};
use crate::session::repair::{
    EndAsResult, interrupted_result, missing_results, running_result, unfinished_result,
};
use crate::session::replay::Replay;
use crate::session::requests;
use crate::session::transcript::Transcript;
use crate::session::writer::{self, agent_file};

/// The size from which opening a session takes longer than a blink.
const LONG_SESSION: u64 = 1 << 20;

/// The size of its end that is shown meanwhile.
const PREVIEW: u64 = 64 * 1024;

impl SessionStore {
    /// Reads a session without changing it.
    pub fn load(
        &self,
        id: SessionId,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<Transcript, StoreError> {
        let dir = self.dir(id);
        let path = transcript_file(&dir);
        let (agents, root) = (list::summarize_agents(&dir), AgentPath::root());
        let without_end = if self.is_in_use(id) { running_result } else { interrupted_result };
        let unanswered = missing_results(&agents, &root, end_as_result, without_end);
        Transcript::read(&path, unanswered).map_err(|source| StoreError::Read { id, path, source })
    }

    pub(super) fn is_in_use(&self, id: SessionId) -> bool {
        matches!(self.check_unused(id), Err(StoreError::InUse(_)))
    }

    /// Reads a session without changing it, to start a new one from it. The old session's agents are known
    /// only by the results of their calls.
    pub(super) fn load_for_fork(
        &self,
        id: SessionId,
        agents: &[AgentSummary],
        in_use: bool,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<(Transcript, Vec<AgentEvent>), StoreError> {
        let dir = self.dir(id);
        let path = transcript_file(&dir);
        let root = AgentPath::root();
        let without_end = if in_use { unfinished_result } else { interrupted_result };
        let unanswered = missing_results(agents, &root, end_as_result, without_end);
        let mut replay = Replay::for_main(&[]);
        let transcript =
            Transcript::read_with(&path, unanswered, &mut |record| replay.add_record(record))
                .map_err(|source| StoreError::Read { id, path: path.clone(), source })?;
        // What a resume of the original would book, or its process will.
        for record in requests::pending(&dir, &path) {
            replay.add_record(&record);
        }
        let history = replay.into_session(&dir).0;
        Ok((transcript, history))
    }

    /// Returns the events as far as they are stored, also while another process writes to the session:
    /// one list for each file, main's first. What is not over has no end. A later call returns the same
    /// lists with more at their ends, and more lists.
    ///
    /// # Errors
    /// Fails if main's file cannot be read.
    pub fn events_so_far(&self, id: SessionId) -> Result<Vec<Vec<AgentEvent>>, StoreError> {
        let dir = self.dir(id);
        let path = transcript_file(&dir);
        // Main's calls come before the agents that they start, and their results after the ends.
        let agents = list::summarize_agents(&dir);
        let reading = |source| StoreError::Read { id, path: path.clone(), source };
        let mut file = BufReader::new(File::open(&path).map_err(reading)?);
        let (mut replay, mut line) = (Replay::for_main(&agents), Vec::new());
        while file.read_until(b'\n', &mut line).map_err(reading)? > 0 {
            // The last line may be a part of one.
            if let Ok(record) = Record::parse(&line) {
                replay.add_record(&record);
            }
            line.clear();
        }
        Ok(replay.into_events_so_far(&dir))
    }

    /// Reads the conversation of a sub-agent as events, without changing anything. While another program
    /// works on it, its open calls have no results.
    ///
    /// # Errors
    /// Fails if its file cannot be read.
    pub fn replay_agent(
        &self,
        id: SessionId,
        agent: AgentId,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<(AgentPath, Vec<EventKind>), StoreError> {
        let dir = self.dir(id);
        let path = agent_file(&dir, agent, "jsonl");
        let reading = |source| StoreError::Read { id, path: path.clone(), source };
        let summary = list::summarize_agent(&path).map_err(reading)?;
        let agents = list::summarize_agents(&dir);
        let own = summary.meta.path.clone();
        let goes_on = writer::check_unlocked(&path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
        let mut replay = Replay::for_agent(&summary, AgentInfo::from(&summary.meta), &agents);
        let unanswered = missing_results(&agents, &own, end_as_result, interrupted_result);
        let mut add = |record: &Record| {
            let closes = matches!(record, Record::Message(MessageRecord { closing: true, .. }));
            if !(closes && goes_on) {
                replay.add_record(record);
            }
        };
        Transcript::read_with(&path, unanswered, &mut add).map_err(reading)?;
        let events = replay.into_events().into_iter();
        Ok((own, events.map(|event| event.kind).collect()))
    }

    /// Reads a sub-agent's transcript without changing it.
    pub fn load_agent(
        &self,
        id: SessionId,
        agent: AgentId,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<Transcript, StoreError> {
        let dir = self.dir(id);
        let path = agent_file(&dir, agent, "jsonl");
        // If its header is lost, it is most likely one of main's.
        let own = list::summarize_agent(&path)
            .map_or_else(|_| AgentPath::root().child(agent), |agent| agent.meta.path);
        let agents = list::summarize_agents(&dir);
        let without_end = if self.is_in_use(id) { running_result } else { interrupted_result };
        Transcript::read(&path, missing_results(&agents, &own, end_as_result, without_end))
            .map_err(|source| StoreError::Read { id, path: path.clone(), source })
    }

    /// Returns the last events of main in a session that takes long to open; `None` if it does not.
    pub fn preview(&self, id: SessionId) -> Option<Vec<AgentEvent>> {
        let mut file = File::open(transcript_file(&self.dir(id))).ok()?;
        let length = file.metadata().ok()?.len();
        if length < LONG_SESSION {
            return None;
        }
        file.seek(SeekFrom::Start(length - PREVIEW)).ok()?;
        let mut end = Vec::new();
        file.take(PREVIEW).read_to_end(&mut end).ok()?;
        let mut replay = Replay::for_main(&[]);
        // The first line is a part of one.
        for line in end.split(|byte| *byte == b'\n').skip(1) {
            if let Ok(record) = Record::parse(line) {
                replay.add_record(&record);
            }
        }
        Some(replay.into_events())
    }
}
