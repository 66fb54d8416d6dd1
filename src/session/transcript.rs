//! Reads a transcript line by line, and loses nothing that can be made sense of.
//!
//! Two things come of the same lines: the conversation as a model may read it, and the past as the
//! user reads it. A summary and a change of the model shorten the first and never the second.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;

use super::record::{AgentHeader, Record, SessionHeader};
use super::repair::{Raw, mend};
use crate::protocol::{
    AgentId, Checkout, ContentBlock, Cost, Message, Outcome, Past, Role, ToolUseId, Usage,
};

/// One agent's conversation as its file tells it, made valid for a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// Of the main agent's file.
    pub session: Option<SessionHeader>,
    /// Of a sub-agent's file.
    pub agent: Option<AgentHeader>,
    /// The conversation as it goes on: from the last summary, if there is one. Every call has its
    /// result; calls that were open at the end have one that says so.
    pub messages: Vec<Message>,
    /// All that was said, for the user.
    past: Vec<Past>,
    /// How the last run ended; absent when it was cut off, or still goes on.
    pub end: Option<Outcome>,
    /// The usage of all requests of this agent, in all of its runs.
    pub usage: Usage,
    pub cost: Cost,
    /// When the last line was written.
    pub last: Option<Timestamp>,
    /// The model of the last answer; `messages` hold no thoughts of any other.
    pub model: Option<String>,
    /// The worktree that a sub-agent worked in last.
    pub worktree: Option<Checkout>,
    /// What had to be left out or mended.
    pub warnings: Vec<Warning>,
    /// Closes the calls that were open at the end of the file: to be appended before the file is
    /// gone on with.
    pub(super) missing: Option<Message>,
    /// Message lines in the file.
    pub(super) count: u64,
    /// The sub-agents whose end is in the conversation, each with the time when that was last written.
    pub(super) reported: HashMap<AgentId, Timestamp>,
}

/// The part of the conversation that has been read so far.
#[derive(Default)]
struct Reading {
    raw: Raw,
    /// How many of the first messages in `raw` may hold thoughts of another model than the last one.
    foreign: usize,
}

/// Something odd about a file, in words for the person.
pub type Warning = String;

impl Transcript {
    /// Reads one file. `unanswered` makes the result of a call that has none.
    pub(super) fn read(
        path: &Path,
        unanswered: impl Fn(&ToolUseId) -> ContentBlock,
    ) -> io::Result<Self> {
        Self::read_with(path, unanswered, &mut |_| {})
    }

    /// As [`Self::read`], and shows each record to `reader`: those of the file, and the message
    /// that closes its calls.
    pub(super) fn read_with(
        path: &Path,
        unanswered: impl Fn(&ToolUseId) -> ContentBlock,
        reader: &mut dyn FnMut(&Record),
    ) -> io::Result<Self> {
        let mut transcript = Self::default();
        let mut reading = Reading::default();
        let mut lines = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        for number in 1_usize.. {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            match serde_json::from_slice(&line) {
                Ok(record) => {
                    reader(&record);
                    transcript.take(record, &mut reading);
                }
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) if !line.ends_with(b"\n") => {
                    transcript.warnings.push("the last line is cut off; it is left out".to_owned());
                }
                Err(error) => transcript
                    .warnings
                    .push(format!("line {number} is left out, because it cannot be read: {error}")),
            }
        }
        transcript.close(reading, unanswered);
        if let Some(closing) = transcript.closing() {
            reader(&closing);
        }
        Ok(transcript)
    }

    /// Makes the past and a valid conversation of what was read.
    fn close(&mut self, reading: Reading, unanswered: impl Fn(&ToolUseId) -> ContentBlock) {
        let Reading { raw, foreign } = reading;
        // The user reads the thoughts of every model; a model gets only its own back.
        let own = (foreign > 0).then(|| {
            let mut own = raw.clone();
            own.messages[..foreign].iter_mut().for_each(forget_thoughts);
            mend(own, &unanswered).messages
        });
        let mended = mend(raw, &unanswered);
        self.past.extend(behind(&mended.messages, mended.replacing).map(Past::Message));
        self.warnings.extend(mended.warnings);
        if let Some(missing) = &mended.missing {
            self.note_reports(missing, Timestamp::now());
        }
        self.missing = mended.missing;
        self.messages = own.unwrap_or(mended.messages);
    }

    /// The record that closes the calls that were open at the end of the file.
    pub(super) fn closing(&self) -> Option<Record> {
        let message = self.missing.clone()?;
        let (at, n) = (Timestamp::now(), self.count + 1);
        Some(Record::Message { at, n, message, usage: None, cost: None, model: None })
    }

    /// All that was said, for the user: also what summaries have put away, and not the summaries themselves.
    #[must_use]
    pub fn past(&self) -> Vec<Past> {
        self.past.clone()
    }

    /// The number of requests that were answered, without those for a summary.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.count_past(|message| usize::from(is_answer(message)))
    }

    /// The number of tool calls.
    #[must_use]
    pub fn tool_uses(&self) -> u32 {
        self.count_past(|message| message.tool_use_ids().count())
    }

    fn count_past(&self, count: impl Fn(&Message) -> usize) -> u32 {
        let counts = self.past.iter().map(|past| match past {
            Past::Message(message) => count(message),
            Past::Compacted { .. } => 0,
        });
        u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The last answer's text.
    #[must_use]
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

    fn answered_by(&mut self, model: Option<String>, reading: &mut Reading) {
        if model.is_none() || model == self.model {
            return;
        }
        if self.model.is_some() {
            reading.foreign = reading.raw.messages.len();
        }
        self.model = model;
    }

    fn take(&mut self, record: Record, reading: &mut Reading) {
        if let Some(at) = record.at() {
            self.last = Some(at);
        }
        match record {
            Record::Session(header) => self.session = Some(header),
            Record::Agent(header) => self.agent = Some(*header),
            Record::Message { at, message, usage, cost, model, .. } => {
                self.answered_by(model, reading);
                self.book(usage, cost);
                self.note_reports(&message, at);
                self.end = None;
                self.count += 1;
                // A message of the user holds all results of the calls before it.
                reading.raw.early.clear();
                reading.raw.messages.push(message);
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
                self.answered_by(model, reading);
                self.book(usage, cost);
                let Raw { messages: before, replacing, .. } = std::mem::take(&mut reading.raw);
                self.past.extend(before.into_iter().skip(replacing).map(Past::Message));
                self.past.push(Past::Compacted { before_tokens, after_tokens });
                let replacing = messages.len();
                *reading =
                    Reading { raw: Raw { messages, replacing, early: Vec::new() }, foreign: 0 };
            }
            Record::Spent { usage, cost, .. } => self.book(Some(usage), Some(cost)),
            Record::Worktree { checkout, .. } => self.worktree = Some(checkout),
            Record::End { outcome, .. } => self.end = Some(outcome),
            Record::Unknown => {}
        }
    }
}

/// Marks the summary, with which the messages of a compaction begin. Earlier versions did not.
fn mark_summary(messages: &mut [Message]) {
    let first = messages.first_mut().and_then(|message| message.content.first_mut());
    if let Some(ContentBlock::Text { summary, .. }) = first {
        *summary = true;
    }
}

/// The messages without their first `blocks` blocks. Mending joins messages of one side, but keeps
/// blocks in order.
fn behind(messages: &[Message], mut blocks: usize) -> impl Iterator<Item = Message> {
    messages.iter().filter_map(move |message| {
        let skipped = blocks.min(message.content.len());
        blocks -= skipped;
        let content = message.content[skipped..].to_vec();
        (!content.is_empty()).then_some(Message { role: message.role, content })
    })
}

/// Thoughts are signed by the model that had them, and refused by every other.
fn forget_thoughts(message: &mut Message) {
    message.content.retain(|block| {
        !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
    });
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant
}
