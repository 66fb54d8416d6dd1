//! The journal files that agents write.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use uuid::Uuid;

use super::record::{AgentHeader, MessageRecord, Record, VERSION};
use super::requests;
use super::sync::UnsyncedFiles;
use super::writer::{self, LineAppender, agent_file, make_dir, with_hint};
use crate::protocol::{
    ChildMeta, Compaction, ContentBlock, Journal, JournalError, Message, RequestCost, RunOutcome,
    WorktreeInfo,
};

/// The transcript file of one agent. It is created with the first message.
pub(super) struct FileJournal {
    /// The session's folder.
    dir: PathBuf,
    path: PathBuf,
    unsynced: UnsyncedFiles,
    state: Arc<Mutex<JournalState>>,
}

/// The state of a journal's file.
struct JournalState {
    tail: Option<LineAppender<File>>,
    /// Lines to write at the top of a new file together with the first message, or before the next
    /// line of an open one. Kept until written.
    head: FileHead,
    /// Number of messages in the file, or in its top.
    count: u64,
    /// Pending requests, by the file that records each.
    attempts: HashMap<PathBuf, Uuid>,
}

/// The beginning of a new file.
#[derive(Default)]
struct FileHead {
    lines: Vec<u8>,
    /// A small file to write beside it.
    meta: Option<(PathBuf, Vec<u8>)>,
    /// An existing file may be continued; its own top is kept.
    may_exist: bool,
}

impl FileJournal {
    /// Creates the journal of a file that does not exist yet, or is empty. `lines` are its first
    /// ones, with `count` messages in them.
    pub fn new(
        dir: &Path,
        path: PathBuf,
        (lines, count): (Vec<u8>, u64),
        unsynced: UnsyncedFiles,
    ) -> Self {
        let may_exist = path.exists();
        let top = FileHead { lines, meta: None, may_exist };
        Self::from_state(dir, path, JournalState::new(None, top, count), unsynced)
    }

    /// Creates the journal of an open file.
    pub fn from_tail(
        dir: &Path,
        path: PathBuf,
        (tail, count): (LineAppender<File>, u64),
        unsynced: UnsyncedFiles,
    ) -> Self {
        Self::from_state(
            dir,
            path,
            JournalState::new(Some(tail), FileHead::default(), count),
            unsynced,
        )
    }

    fn from_state(dir: &Path, path: PathBuf, state: JournalState, unsynced: UnsyncedFiles) -> Self {
        Self { dir: dir.to_owned(), path, unsynced, state: Arc::new(Mutex::new(state)) }
    }

    /// Writes one record. Once started it completes, even if the caller is dropped.
    async fn write(&self, record: Record) -> Result<(), JournalError> {
        self.write_replacing(record, None).await
    }

    /// Writes a record that makes a small file obsolete.
    async fn write_replacing(
        &self,
        record: Record,
        needless: Option<PathBuf>,
    ) -> Result<(), JournalError> {
        let mut state = self.state.clone().lock_owned().await;
        let path = self.path.clone();
        let unsynced = self.unsynced.clone();
        let written = tokio::task::spawn_blocking(move || {
            let result = state.write(&path, record);
            unsynced.add(&path);
            if let Some(file) = needless.filter(|_| result.is_ok()) {
                // It was not written if the cost was never known.
                let _ = std::fs::remove_file(file);
            }
            result
        });
        self.to_journal_result(written.await)
    }

    fn to_journal_result(
        &self,
        written: Result<io::Result<()>, JoinError>,
    ) -> Result<(), JournalError> {
        let result = written.unwrap_or_else(|panic| Err(io::Error::other(panic)));
        result.map_err(|source| JournalError {
            path: self.path.display().to_string(),
            source: with_hint(source),
        })
    }
}

impl JournalState {
    fn new(tail: Option<LineAppender<File>>, top: FileHead, count: u64) -> Self {
        Self { tail, head: top, count, attempts: HashMap::new() }
    }

    fn write(&mut self, path: &Path, mut record: Record) -> io::Result<()> {
        if self.tail.is_none() && !path.exists() {
            match &record {
                // An agent without messages leaves no file.
                Record::End { .. } | Record::Note { .. } => return Ok(()),
                Record::Model { .. } => {
                    self.head.lines.extend(record.to_line()?);
                    return Ok(());
                }
                _ => {}
            }
        }
        if self.tail.is_none() {
            self.open(path)?;
        }
        let count = match &mut record {
            Record::Message(MessageRecord { n, .. }) => {
                *n = self.count + 1;
                *n
            }
            Record::Result { n, .. }
            | Record::Compacted { n, .. }
            | Record::Spent { n, .. }
            | Record::Note { n, .. }
            | Record::Model { n, .. }
            | Record::End { n, .. } => {
                *n = self.count;
                *n
            }
            _ => self.count,
        };
        let line = record.to_line()?;
        let mut lines = self.head.lines.clone();
        lines.extend(&line);
        if let Some(tail) = &mut self.tail
            && let Err(error) = tail.append(&lines)
        {
            // A message that could not be written does not count. Money is spent anyway: it is
            // booked with the next line.
            if matches!(record, Record::Spent { .. }) {
                self.head.lines = lines;
            }
            return Err(error);
        }
        self.head.lines = Vec::new();
        self.count = count;
        Ok(())
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            make_dir(folder)?;
        }
        if let Some((path, bytes)) = &self.head.meta {
            writer::write_small(path, bytes)?;
        }
        let (tail, is_new) = writer::open(path, self.head.may_exist)?;
        if !is_new {
            self.head.lines = Vec::new();
            self.count = count_messages(path)?;
        }
        // From now on we own the file, even if writing the first line fails.
        self.tail = Some(tail);
        Ok(())
    }
}

/// Counts the messages of an existing file, by its last line.
fn count_messages(path: &Path) -> io::Result<u64> {
    let line = writer::last_line(path)?;
    Ok(serde_json::from_slice(&line).ok().and_then(|record: Record| record.count()).unwrap_or(0))
}

/// Creates the record of an attempt's cost.
fn spent_record(spent: RequestCost<'_>, attempt: Option<Uuid>) -> Record {
    let RequestCost { usage, cost, model, agent } = spent;
    let (model, agent) = (Some(model.to_owned()), agent.cloned());
    Record::Spent { at: Timestamp::now(), n: 0, usage, cost, model, agent, attempt }
}

#[async_trait]
impl Journal for FileJournal {
    async fn append(&self, message: &Message, model: Option<&str>) -> Result<(), JournalError> {
        self.write(Record::Message(MessageRecord {
            at: Timestamp::now(),
            n: 0,
            message: message.clone(),
            usage: None,
            cost: None,
            model: model.map(str::to_owned),
            closing: false,
        }))
        .await
    }

    async fn result(&self, result: &ContentBlock) -> Result<(), JournalError> {
        self.write(Record::Result { at: Timestamp::now(), n: 0, result: result.clone() }).await
    }

    async fn begun(&self, spent: RequestCost<'_>) -> Result<(), JournalError> {
        let file = requests::request_file(&self.path, spent.agent);
        let mut state = self.state.clone().lock_owned().await;
        let attempt = *state.attempts.entry(file.clone()).or_insert_with(Uuid::now_v7);
        let line = spent_record(spent, Some(attempt)).to_line();
        let written = tokio::task::spawn_blocking(move || {
            let _state = state;
            requests::write_request(&file, &line?)
        });
        self.to_journal_result(written.await)
    }

    async fn spent(&self, spent: RequestCost<'_>) -> Result<(), JournalError> {
        let begun = requests::request_file(&self.path, spent.agent);
        let attempt = self.state.lock().await.attempts.remove(&begun);
        self.write_replacing(spent_record(spent, attempt), Some(begun)).await
    }

    async fn compacted(&self, compaction: Compaction<'_>) -> Result<(), JournalError> {
        let Compaction { messages, before_tokens, after_tokens, model } = compaction;
        self.write(Record::Compacted {
            at: Timestamp::now(),
            n: 0,
            messages: messages.to_vec(),
            before_tokens,
            after_tokens,
            usage: None,
            cost: None,
            model: model.map(str::to_owned),
        })
        .await
    }

    async fn works_in(&self, checkout: &WorktreeInfo) {
        let mut state = self.state.lock().await;
        let record = Record::Worktree { n: state.count, checkout: checkout.clone() };
        state.head.lines.extend(record.to_line().unwrap_or_default());
    }

    async fn uses_model(&self, provider: &str, name: &str) -> Result<(), JournalError> {
        let (provider, name) = (provider.to_owned(), name.to_owned());
        self.write(Record::Model { at: Timestamp::now(), n: 0, provider, name }).await
    }

    async fn note(&self, text: &str) -> Result<(), JournalError> {
        self.write(Record::Note { at: Timestamp::now(), n: 0, text: text.to_owned() }).await
    }

    async fn finish(&self, outcome: &RunOutcome) -> Result<(), JournalError> {
        self.write(Record::End { at: Timestamp::now(), n: 0, outcome: outcome.clone() }).await
    }

    fn child(&self, meta: ChildMeta) -> Arc<dyn Journal> {
        let path = agent_file(&self.dir, meta.id, "jsonl");
        let beside = agent_file(&self.dir, meta.id, "meta.json");
        let header = AgentHeader { version: VERSION, created: Timestamp::now(), agent: meta };
        let small = serde_json::to_vec_pretty(&header).unwrap_or_default();
        let lines = Record::Agent(Box::new(header)).to_line().unwrap_or_default();
        let top = FileHead { lines, meta: Some((beside, small)), may_exist: true };
        let state = JournalState::new(None, top, 0);
        Arc::new(Self::from_state(&self.dir, path, state, self.unsynced.clone()))
    }

    fn is_kept(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Cost, Usage};

    #[tokio::test]
    async fn money_that_could_not_be_written_is_written_with_the_next_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let journal = FileJournal::new(
            folder.path(),
            path.clone(),
            (Vec::new(), 0),
            UnsyncedFiles::default(),
        );
        let prompt = Message::user_text("go");
        journal.append(&prompt, None).await.unwrap();
        let cost = Cost { usd: 0.25, ..Cost::default() };
        let spent = RequestCost { usage: Usage::default(), cost, model: "m", agent: None };
        journal.begun(spent).await.unwrap();
        // Writing fails on a file opened read-only.
        let len = std::fs::metadata(&path).unwrap().len();
        let broken = LineAppender::new(File::open(&path).unwrap(), len);
        let whole = journal.state.lock().await.tail.replace(broken);
        journal.spent(spent).await.unwrap_err();
        journal.append(&prompt, None).await.unwrap_err();
        journal.state.lock().await.tail = whole;
        journal.append(&prompt, None).await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Record> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let booked =
            |record: &Record| matches!(record, Record::Spent { cost, .. } if cost.usd == 0.25);
        assert!(matches!(records[0], Record::Message(MessageRecord { n: 1, .. })), "{text}");
        assert!(booked(&records[1]), "{text}");
        assert!(matches!(records[2], Record::Message(MessageRecord { n: 2, .. })), "{text}");
        assert_eq!(records.len(), 3, "a message that was refused has not happened: {text}");
        // The request's file still exists, and nothing is booked twice.
        drop(journal);
        assert!(requests::request_file(&path, None).exists());
        let (mut tail, _) = writer::open(&path, true).unwrap();
        requests::book_leftovers(folder.path(), &path, &mut tail).unwrap();
        assert!(!requests::request_file(&path, None).exists());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
