//! The folder of all sessions: creates, resumes and removes them. Everything here blocks on the disk.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::journal::FileJournal;
use super::list::{self, AgentSummary};
use super::name;
use super::record::{MessageRecord, Record, SessionHeader, VERSION};
use super::repair::{EndAsResult, interrupted_result, missing_results};
use super::replay::Replay;
use super::requests;
use super::sync::UnsyncedFiles;
use super::transcript::Transcript;
use super::writer::{self, agent_file, with_hint};
use crate::protocol::{
    AgentEvent, AgentId, AgentPath, ChildMeta, Cost, Journal, Message, Role, RunEnd, RunOutcome,
    SessionId, Usage, WorktreeInfo, printable_path,
};

pub mod find;
mod interrupted;
pub mod prune;
mod read;

use interrupted::{interrupted_costs, interrupted_run};

/// From this version on, main's file names the agents whose ends it reports.
const MIN_REPORTS_VERSION: u32 = 2;

/// The store of all sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    root: PathBuf,
    /// The files written by its journals.
    unsynced: UnsyncedFiles,
}

/// The header data of a new session.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub cwd: PathBuf,
    pub model: String,
    pub provider: String,
    /// The name of the tool for starting sub-agents.
    pub agent_tool: Option<String>,
    /// The git branch of the working directory.
    pub branch: Option<String>,
}

/// A resumed session.
pub struct OpenSession {
    pub journal: Arc<dyn Journal>,
    pub transcript: Transcript,
    /// The work of all its agents, as events.
    pub history: Vec<AgentEvent>,
    /// Its sub-agents; those that were cut off count as interrupted.
    pub agents: Vec<AgentSummary>,
    /// Their total usage and cost, in all of their runs.
    pub spent_by_agents: (Usage, Cost),
    /// Agents whose end main has not read.
    pub lost_reports: Vec<LostReport>,
}

/// The end of a sub-agent that is missing from main's conversation: the agent ran in the
/// background, and the program ended before main read its report.
#[derive(Clone, Debug, PartialEq)]
pub struct LostReport {
    pub id: AgentId,
    /// Its own worktree, if it worked in one.
    pub worktree: Option<WorktreeInfo>,
}

/// A resumed sub-agent.
pub struct OpenAgent {
    /// Its own file.
    pub journal: Arc<dyn Journal>,
    pub transcript: Transcript,
    /// Agents that it started and whose end it has not read, each with its worktree.
    pub lost: Vec<(AgentSummary, Option<WorktreeInfo>)>,
    pub meta: ChildMeta,
}

/// A session cannot be created, read or resumed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the session {0} is open in another caliban: exit that one, or continue a copy of the session with --fork-session"
    )]
    InUse(SessionId),
    #[error("there is already a session {0}; resume it with --resume {0}, or choose another id")]
    Exists(SessionId),
    #[error("cannot read the session {id} in {}: {source}", printable_path(path))]
    Read { id: SessionId, path: PathBuf, source: io::Error },
    #[error("cannot write to the session {id} in {}: {source}", printable_path(path))]
    Write { id: SessionId, path: PathBuf, source: io::Error },
}

impl SessionStore {
    /// Creates the store below a data directory. Touches nothing.
    pub fn new(data_dir: &Path) -> Self {
        Self { root: data_dir.join("sessions"), unsynced: UnsyncedFiles::default() }
    }

    /// Creates the journal of a new session. Nothing is written before its first message.
    pub fn create(&self, new: NewSession) -> Result<Arc<dyn Journal>, StoreError> {
        Ok(Arc::new(self.new_journal(new, None, &Transcript::default())?))
    }

    /// Creates a session that begins with the history of another one, which is left unchanged.
    /// Agents without an end count as interrupted, as after a resume; while another process works on
    /// the original, only those in the background do, since main waits for the others there.
    pub fn fork(
        &self,
        from: SessionId,
        new: NewSession,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<OpenSession, StoreError> {
        let (dir, in_use) = (self.dir(from), self.is_in_use(from));
        let mut agents = list::summarize_agents(&dir);
        let costs = interrupted_costs(&dir, &agents);
        // Children first, as in `end_interrupted`.
        for at in (0..agents.len()).rev() {
            let AgentSummary { meta, end: None, .. } = &agents[at] else { continue };
            if in_use && meta.background != Some(true) {
                continue;
            }
            let cost = costs.get(&meta.path).copied().unwrap_or_default();
            let run = interrupted_run(&dir, &agents, at, cost, end_as_result);
            // One that cannot be read is still there.
            let lost = || RunOutcome::without_work(RunEnd::Interrupted);
            agents[at].end = Some(run.map_or_else(|_| lost(), |(_, outcome)| outcome));
        }
        let (transcript, history) = self.load_for_fork(from, &agents, in_use, end_as_result)?;
        let lost_reports = lost_reports(&dir, &agents, &AgentPath::root(), &transcript);
        agents.retain(|agent| lost_reports.iter().any(|lost| lost.id == agent.meta.id));
        let reported = transcript.messages.iter().flat_map(Message::reported_agents);
        let copied: HashSet<AgentId> =
            reported.chain(agents.iter().map(|agent| agent.meta.id)).collect();
        let journal = self.new_journal(new, Some((from, copied.len())), &transcript)?;
        let spent_by_agents = Default::default();
        let journal = Arc::new(journal);
        Ok(OpenSession { journal, transcript, history, agents, spent_by_agents, lost_reports })
    }

    /// Resumes a session: repairs what a crash left behind, in its files too, and locks it for this process.
    pub fn open(
        &self,
        id: SessionId,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<OpenSession, StoreError> {
        let dir = self.dir(id);
        let path = transcript_file(&dir);
        let reading = |source| StoreError::Read { id, path: path.clone(), source };
        let writing =
            |source| StoreError::Write { id, path: path.clone(), source: with_hint(source) };
        if !path.exists() {
            return Err(reading(io::ErrorKind::NotFound.into()));
        }
        let (mut tail, _) = writer::open(&path, true).map_err(|source| match source.kind() {
            io::ErrorKind::ResourceBusy => StoreError::InUse(id),
            _ => writing(source),
        })?;
        requests::book_leftovers(&dir, &path, &mut tail).map_err(writing)?;
        let agents = self.end_interrupted(&dir, end_as_result).map_err(writing)?;
        let root = AgentPath::root();
        let unanswered = missing_results(&agents, &root, end_as_result, interrupted_result);
        let mut replay = Replay::for_main(&agents);
        let transcript =
            Transcript::read_with(&path, unanswered, &mut |record| replay.add_record(record))
                .map_err(reading)?;
        let count = append_missing(&mut tail, &transcript).map_err(writing)?;
        self.unsynced.add(&path);
        let unsynced = self.unsynced.clone();
        let journal = FileJournal::from_tail(&dir, path.clone(), (tail, count), unsynced);
        let (history, spent_by_agents) = replay.into_session(&dir);
        let lost_reports = lost_reports(&dir, &agents, &root, &transcript);
        let journal = Arc::new(journal);
        Ok(OpenSession { journal, transcript, history, agents, spent_by_agents, lost_reports })
    }

    /// Checks that no other process writes to a session.
    pub fn check_unused(&self, id: SessionId) -> Result<(), StoreError> {
        match writer::check_unlocked(&transcript_file(&self.dir(id))) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Err(StoreError::InUse(id)),
            // Whatever else is wrong shows when it is opened.
            _ => Ok(()),
        }
    }

    /// Resumes a sub-agent: closes the open calls in its file, and locks it for this process.
    pub fn open_agent(
        &self,
        id: SessionId,
        agent: AgentId,
        end_as_result: &EndAsResult<'_>,
    ) -> Result<OpenAgent, StoreError> {
        let dir = self.dir(id);
        let path = agent_file(&dir, agent, "jsonl");
        let reading = |source| StoreError::Read { id, path: path.clone(), source };
        let writing =
            |source| StoreError::Write { id, path: path.clone(), source: with_hint(source) };
        let meta = list::summarize_agent(&path).map_err(reading)?.meta;
        let (mut tail, _) = writer::open(&path, true).map_err(writing)?;
        let agents = list::summarize_agents(&dir);
        let unanswered = missing_results(&agents, &meta.path, end_as_result, interrupted_result);
        let transcript = Transcript::read(&path, unanswered).map_err(reading)?;
        let count = append_missing(&mut tail, &transcript).map_err(writing)?;
        let unsynced = self.unsynced.clone();
        let journal = FileJournal::from_tail(&dir, path.clone(), (tail, count), unsynced);
        let journal = Arc::new(journal);
        let lost_reports = lost_reports(&dir, &agents, &meta.path, &transcript);
        let lost = agents.into_iter().filter_map(|agent| {
            let report = lost_reports.iter().find(|lost| lost.id == agent.meta.id)?;
            Some((agent, report.worktree.clone()))
        });
        Ok(OpenAgent { journal, transcript, meta, lost: lost.collect() })
    }

    /// Returns the size of a session's files together, which grows with everything that is stored.
    pub fn size(&self, id: SessionId) -> u64 {
        list::total_size(&self.dir(id))
    }

    /// Syncs all files written by its journals to disk.
    ///
    /// # Errors
    /// Fails if the disk reports an error.
    pub fn sync(&self) -> io::Result<()> {
        self.unsynced.sync()
    }

    /// Returns the sub-agents of a session, oldest first.
    pub fn agents(&self, id: SessionId) -> Vec<AgentSummary> {
        list::summarize_agents(&self.dir(id))
    }

    /// Reads a session's first line.
    ///
    /// # Errors
    /// Fails if there is no such session, or its first line is invalid.
    pub fn header(&self, id: SessionId) -> io::Result<SessionHeader> {
        list::header_and_age(&self.dir(id)).map(|(header, _)| header)
    }

    /// Returns the provider and the model that a session used last, or began with; empty if unknown.
    ///
    /// # Errors
    /// Fails if there is no such session, or its first line is invalid.
    pub fn model(&self, id: SessionId) -> io::Result<(String, String)> {
        list::last_model(&self.dir(id))
    }

    /// Returns the user's name for a session.
    pub fn name(&self, id: SessionId) -> Option<String> {
        name::read(&self.dir(id))
    }

    /// Names a session, or takes its name away if the text is blank. Returns the name as it is stored.
    ///
    /// # Errors
    /// Fails if the session is not stored, or the disk reports an error.
    pub fn rename(&self, id: SessionId, name: &str) -> Result<Option<String>, StoreError> {
        let dir = self.dir(id);
        name::write(&dir, name).map_err(|source| StoreError::Write {
            id,
            path: dir,
            source: with_hint(source),
        })
    }

    /// Returns the file of a session's main agent.
    pub fn transcript(&self, id: SessionId) -> PathBuf {
        transcript_file(&self.dir(id))
    }

    /// Returns the folder of a session.
    pub fn dir(&self, id: SessionId) -> PathBuf {
        self.root.join(id.to_string())
    }

    /// Creates the journal of a session, also of a copy: `original` is the session that it continues, with
    /// the number of agents that have worked there.
    fn new_journal(
        &self,
        new: NewSession,
        original: Option<(SessionId, usize)>,
        history: &Transcript,
    ) -> Result<FileJournal, StoreError> {
        let NewSession { id, cwd, model, provider, agent_tool, branch } = new;
        let dir = self.dir(id);
        let path = transcript_file(&dir);
        // A full disk may leave an empty file of a first message.
        if fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
            return Err(StoreError::Exists(id));
        }
        let created = Timestamp::now();
        let header = SessionHeader {
            version: VERSION,
            id,
            cwd,
            created,
            model,
            provider,
            agent_tool,
            branch,
            forked_from: original.map(|(id, _)| id),
            copied_agents: original.map_or(0, |(_, agents)| agents),
        };
        let mut records = vec![Record::Session(header)];
        for (n, message) in (1..).zip(&history.messages) {
            // The history contains thoughts of this model only, and no other model may get them.
            let model = history.model.clone().filter(|_| message.role == Role::Assistant);
            let message = message.clone();
            let (usage, cost, closing) = (None, None, false);
            let record = MessageRecord { at: created, n, message, usage, cost, model, closing };
            records.push(Record::Message(record));
        }
        let mut lines = Vec::new();
        for record in &records {
            let line = record.to_line().map_err(|error| StoreError::Write {
                id,
                path: path.clone(),
                source: error.into(),
            })?;
            lines.extend(line);
        }
        let count = history.messages.len() as u64;
        Ok(FileJournal::new(&dir, path, (lines, count), self.unsynced.clone()))
    }

    /// Marks the sub-agents that were cut off as interrupted, and returns all sub-agents.
    fn end_interrupted(
        &self,
        dir: &Path,
        end_as_result: &EndAsResult<'_>,
    ) -> io::Result<Vec<AgentSummary>> {
        let mut agents = list::summarize_agents(dir);
        let costs = interrupted_costs(dir, &agents);
        // Children first: the end of one is the result of a call of its parent.
        for at in (0..agents.len()).rev() {
            let Some(cost) = costs.get(&agents[at].meta.path) else { continue };
            match self.mark_interrupted(dir, &agents, at, *cost, end_as_result) {
                Ok(ended) => agents[at] = ended,
                // It works in this process, which has lost only its main agent.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => return Err(error),
            }
        }
        Ok(agents)
    }

    /// Marks the sub-agent at this index as interrupted, so that nothing takes it for running.
    /// Agents below it have an end by now.
    fn mark_interrupted(
        &self,
        dir: &Path,
        agents: &[AgentSummary],
        at: usize,
        cost: Cost,
        end_as_result: &EndAsResult<'_>,
    ) -> io::Result<AgentSummary> {
        let agent = &agents[at];
        let path = agent_file(dir, agent.meta.id, "jsonl");
        let (mut tail, _) = writer::open(&path, true)?;
        let (transcript, outcome) = interrupted_run(dir, agents, at, cost, end_as_result)?;
        let n = append_missing(&mut tail, &transcript)?;
        let last = Timestamp::now();
        let end = Record::End { at: last, n, outcome: outcome.clone() };
        tail.append(&end.to_line()?)?;
        self.unsynced.add(&path);
        Ok(AgentSummary { end: Some(outcome), last, messages: n, ..agent.clone() })
    }
}

fn transcript_file(dir: &Path) -> PathBuf {
    dir.join("transcript.jsonl")
}

/// Returns the agents that the one at `path` has started and whose last end is not in its conversation.
///
/// An end moves from the agent's file to its parent's in this order: the end is written, its report
/// waits in a queue, the parent reads it and records that. Anything recorded before the end
/// concerns an earlier run. A queue is lost with its agent: main reads its content after a resume
/// of the session, an agent further down when it is resumed itself.
fn lost_reports(
    dir: &Path,
    agents: &[AgentSummary],
    path: &AgentPath,
    transcript: &Transcript,
) -> Vec<LostReport> {
    let lost = agents.iter().filter(|agent| {
        let reported = transcript.reported.get(&agent.meta.id);
        agent.meta.path.parent().as_ref() == Some(path)
            && agent.version >= MIN_REPORTS_VERSION
            && agent.end.is_some()
            && reported.is_none_or(|at| *at < agent.last)
    });
    lost.map(|agent| {
        let id = agent.meta.id;
        let transcript = Transcript::read(&agent_file(dir, id, "jsonl"), interrupted_result);
        LostReport { id, worktree: transcript.ok().and_then(|transcript| transcript.worktree) }
    })
    .collect()
}

/// Appends the results of calls that were open at the end of the file. Returns the file's number of messages.
fn append_missing<F: writer::Truncate>(
    tail: &mut writer::LineAppender<F>,
    transcript: &Transcript,
) -> io::Result<u64> {
    let Some(closing) = transcript.closing_record() else { return Ok(transcript.count) };
    tail.append(&closing.to_line()?)?;
    Ok(transcript.count + 1)
}

#[cfg(test)]
mod tests;
