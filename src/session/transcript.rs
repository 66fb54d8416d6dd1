//! Reads a transcript line by line, keeping everything that can be understood.
//!
//! The lines yield two things: the conversation for a model, and the history for the user. A
//! summary or a change of the model shortens the first and never the second.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use jiff::Timestamp;

use super::record::{AgentHeader, MessageRecord, Record, SessionHeader};
use super::repair::{RawConversation, repair};
use crate::protocol::{
    AgentId, ContentBlock, Cost, Message, Role, RunOutcome, ToolUseId, TranscriptEntry, Usage,
    WorktreeInfo, leave_out_rejected, start_of_unanswered,
};

/// One agent's stored conversation, made valid for a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// Of the main agent's file.
    pub session: Option<SessionHeader>,
    /// Of a sub-agent's file.
    pub agent: Option<AgentHeader>,
    /// The conversation to continue: from the last summary, if there is one. Every call has its
    /// result; calls that were open at the end have one that says so.
    pub messages: Vec<Message>,
    /// The history before `messages`, for the user: up to the last summary.
    earlier: Vec<TranscriptEntry>,
    /// `messages` with everything that the last model is not sent, if there is any: thoughts of
    /// other models, and what a provider has rejected.
    complete: Option<Vec<Message>>,
    /// How many blocks at the beginning of `messages` are the summary.
    summary_blocks: usize,
    /// How the last run ended; absent if it was cut off, or is still running.
    pub end: Option<RunOutcome>,
    /// The usage of all requests of this agent, in all of its runs.
    pub usage: Usage,
    pub cost: Cost,
    /// The time of the last line.
    pub last: Option<Timestamp>,
    /// The model of the last answer; `messages` contain no thoughts of any other.
    pub model: Option<String>,
    /// The worktree that a sub-agent worked in last.
    pub worktree: Option<WorktreeInfo>,
    /// Problems that were skipped or repaired.
    pub warnings: Vec<Warning>,
    /// Closes the calls that were open at the end of the file: append it before continuing the file.
    pub(super) missing: Option<Message>,
    /// Message lines in the file.
    pub(super) count: u64,
    /// The sub-agents whose end is in the conversation, each with the time when it was last written.
    pub(super) reported: HashMap<AgentId, Timestamp>,
}

/// The part of the conversation read so far.
#[derive(Default)]
struct PartialTranscript {
    raw: RawConversation,
    /// How many of the first messages in `raw` may contain thoughts of a model other than the last one.
    foreign: usize,
    /// Which messages in `raw` a provider has rejected.
    rejected: Vec<Range<usize>>,
    /// Whether the last run ended so: the messages since the last answer were rejected, unless an
    /// answer follows.
    ended_rejected: bool,
}

/// A problem with a file, as text for the user.
pub type Warning = String;

impl Transcript {
    /// Reads one file. `unanswered` makes the result of a call that has none.
    pub(super) fn read(
        path: &Path,
        unanswered: impl Fn(&ToolUseId) -> ContentBlock,
    ) -> io::Result<Self> {
        Self::read_with(path, unanswered, &mut |_| {})
    }

    /// Like [`Self::read`], passing each record to `reader`: those of the file, and the message that closes its calls.
    pub(super) fn read_with(
        path: &Path,
        unanswered: impl Fn(&ToolUseId) -> ContentBlock,
        reader: &mut dyn FnMut(&Record),
    ) -> io::Result<Self> {
        let mut transcript = Self::default();
        let mut reading = PartialTranscript::default();
        let mut lines = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        for number in 1_usize.. {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            match Record::parse(&line) {
                Ok(record) => {
                    reader(&record);
                    transcript.add_record(record, &mut reading);
                }
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) if !line.ends_with(b"\n") => {
                    transcript.warnings.push("the last line is incomplete; skipped".to_owned());
                }
                Err(error) => transcript.warnings.push(format!("line {number} skipped: {error}")),
            }
        }
        transcript.finish(reading, unanswered);
        if let Some(closing) = transcript.closing_record() {
            reader(&closing);
        }
        Ok(transcript)
    }

    /// Builds the history and a valid conversation.
    fn finish(
        &mut self,
        reading: PartialTranscript,
        unanswered: impl Fn(&ToolUseId) -> ContentBlock,
    ) {
        let PartialTranscript { raw, foreign, rejected, .. } = reading.without_rejected();
        // The user sees the thoughts of every model; a model gets only its own back.
        let own = (foreign > 0 || !rejected.is_empty()).then(|| {
            let mut own = raw.clone();
            own.messages[..foreign].iter_mut().for_each(remove_thinking);
            for range in rejected {
                leave_out_rejected(&mut own.messages[range]);
            }
            repair(own, &unanswered).messages
        });
        let repaired = repair(raw, &unanswered);
        self.summary_blocks = repaired.replacing;
        self.warnings.extend(repaired.warnings);
        if let Some(missing) = &repaired.missing {
            self.note_reports(missing, Timestamp::now());
        }
        self.missing = repaired.missing;
        self.messages = repaired.messages;
        self.complete = own.map(|own| std::mem::replace(&mut self.messages, own));
    }

    /// Returns the record that closes the calls that were open at the end of the file.
    pub(super) fn closing_record(&self) -> Option<Record> {
        let message = self.missing.clone()?;
        let (at, n) = (Timestamp::now(), self.count + 1);
        Some(Record::Message(MessageRecord {
            at,
            n,
            message,
            usage: None,
            cost: None,
            model: None,
            closing: true,
        }))
    }

    /// Returns the whole history for the user, including compacted messages but not the summaries themselves.
    pub fn past(&self) -> Vec<TranscriptEntry> {
        let message = |(role, content): (Role, &[ContentBlock])| {
            TranscriptEntry::Message(Message { role, content: content.to_vec() })
        };
        self.earlier.iter().cloned().chain(self.shown().map(message)).collect()
    }

    /// The messages since the last summary, for the user.
    fn shown(&self) -> impl Iterator<Item = (Role, &[ContentBlock])> {
        let messages = self.complete.as_ref().unwrap_or(&self.messages);
        skip_blocks(messages, self.summary_blocks)
    }

    /// Counts answered requests, without those for a summary.
    pub fn turns(&self) -> u32 {
        self.count_past(|role, _| usize::from(role == Role::Assistant))
    }

    /// Counts tool calls.
    pub fn tool_uses(&self) -> u32 {
        let is_call = |block: &&ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
        self.count_past(|_, content| content.iter().filter(is_call).count())
    }

    fn count_past(&self, count: impl Fn(Role, &[ContentBlock]) -> usize) -> u32 {
        let earlier = self.earlier.iter().map(|entry| match entry {
            TranscriptEntry::Message(message) => count(message.role, &message.content),
            TranscriptEntry::Compacted { .. } => 0,
        });
        let shown = self.shown().map(|(role, content)| count(role, content));
        u32::try_from(earlier.chain(shown).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Returns the last answer's text.
    pub fn last_text(&self) -> String {
        let last = self.messages.iter().rfind(|message| is_answer(message));
        last.map(Message::text).unwrap_or_default()
    }

    fn book(&mut self, usage: Option<Usage>, cost: Option<Cost>) {
        self.usage += usage.unwrap_or_default();
        self.cost += cost.unwrap_or_default();
    }

    fn note_reports(&mut self, message: &Message, at: Timestamp) {
        self.reported.extend(message.reported_agents().map(|id| (id, at)));
    }

    fn note_model(&mut self, model: Option<String>, reading: &mut PartialTranscript) {
        if model.is_none() || model == self.model {
            return;
        }
        if self.model.is_some() {
            reading.foreign = reading.raw.messages.len();
        }
        self.model = model;
    }

    fn add_record(&mut self, record: Record, reading: &mut PartialTranscript) {
        if let Some(at) = record.at() {
            self.last = Some(at);
        }
        match record {
            Record::Session(header) => self.session = Some(header),
            Record::Agent(header) => self.agent = Some(*header),
            Record::Message(MessageRecord { at, message, usage, cost, model, .. }) => {
                self.note_model(model, reading);
                self.book(usage, cost);
                self.note_reports(&message, at);
                self.end = None;
                self.count += 1;
                // A user message contains all results of the calls before it.
                reading.raw.early.clear();
                reading.push(message);
            }
            Record::Result { result, .. } => reading.raw.early.push(result),
            Record::Compacted {
                mut messages,
                before_tokens,
                after_tokens,
                usage,
                cost,
                model,
                ..
            } => {
                mark_summary(&mut messages);
                self.note_model(model, reading);
                self.book(usage, cost);
                let RawConversation { messages: before, replacing, .. } =
                    std::mem::take(&mut reading.raw);
                self.earlier
                    .extend(before.into_iter().skip(replacing).map(TranscriptEntry::Message));
                self.earlier.push(TranscriptEntry::Compacted { before_tokens, after_tokens });
                let replacing = messages.len();
                *reading = PartialTranscript {
                    raw: RawConversation { messages, replacing, early: Vec::new() },
                    ..PartialTranscript::default()
                };
            }
            Record::Spent { usage, cost, .. } => self.book(Some(usage), Some(cost)),
            Record::Worktree { checkout, .. } => self.worktree = Some(checkout),
            Record::End { outcome, .. } => {
                reading.ended_rejected = outcome.rejected;
                self.end = Some(outcome);
            }
            Record::Note { .. } | Record::Model { .. } | Record::Unknown => {}
        }
    }
}

impl PartialTranscript {
    fn push(&mut self, message: Message) {
        match message.role {
            // It was sent again, and accepted.
            Role::Assistant => self.ended_rejected = false,
            Role::User => self.note_rejected(),
        }
        self.raw.messages.push(message);
    }

    fn note_rejected(&mut self) {
        if std::mem::take(&mut self.ended_rejected) {
            let messages = &self.raw.messages;
            self.rejected.push(start_of_unanswered(messages)..messages.len());
        }
    }

    /// Notes what was rejected at the end of the file.
    fn without_rejected(mut self) -> Self {
        self.note_rejected();
        self
    }
}

/// Marks the summary at the start of a compaction's messages. Earlier versions did not.
fn mark_summary(messages: &mut [Message]) {
    let first = messages.first_mut().and_then(|message| message.content.first_mut());
    if let Some(ContentBlock::Text { summary, .. }) = first {
        *summary = true;
    }
}

/// Skips the first `blocks` blocks of the messages. Repairing joins messages of one role, but keeps blocks in order.
fn skip_blocks(
    messages: &[Message],
    mut blocks: usize,
) -> impl Iterator<Item = (Role, &[ContentBlock])> {
    messages.iter().filter_map(move |message| {
        let skipped = blocks.min(message.content.len());
        blocks -= skipped;
        let content = &message.content[skipped..];
        (!content.is_empty()).then_some((message.role, content))
    })
}

/// Removes thoughts: they are signed by their model and rejected by every other.
fn remove_thinking(message: &mut Message) {
    message.content.retain(|block| {
        !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
    });
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant
}
