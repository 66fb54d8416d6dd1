//! Reads a transcript line by line, and loses nothing that can be made sense of.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;

use super::record::{AgentHeader, Record, SessionHeader};
use super::repair;
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
    /// The conversation as it goes on: from the last summary, if there is one. Every call has its result; calls
    /// that were open at the end have one that says so.
    pub messages: Vec<Message>,
    /// What summaries have put away, as it was written.
    earlier: Vec<Past>,
    /// How many blocks at the beginning of `messages` stand for what is in `earlier`.
    replacing: usize,
    /// How the last run ended; absent when it was cut off, or still goes on.
    pub end: Option<Outcome>,
    /// What the requests of this agent used together.
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
    /// Closes the calls that were open at the end of the file: to be appended before the file is gone on with.
    pub(super) missing: Option<Message>,
    /// Message lines in the file.
    pub(super) count: u64,
}

/// Something odd about a file, in words for the person.
pub type Warning = String;

impl Transcript {
    /// Reads one file. `child_of` knows which sub-agent a call had started.
    pub(super) fn read(
        path: &Path,
        child_of: impl Fn(&ToolUseId) -> Option<AgentId>,
    ) -> io::Result<Self> {
        let mut transcript = Self::default();
        let mut raw = Vec::new();
        let mut reader = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        for number in 1_usize.. {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            match serde_json::from_slice(&line) {
                Ok(record) => transcript.take(record, &mut raw),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) if !line.ends_with(b"\n") => {
                    transcript.warnings.push("the last line is cut off; it is left out".to_owned());
                }
                Err(error) => transcript
                    .warnings
                    .push(format!("line {number} is left out, because it cannot be read: {error}")),
            }
        }
        let mended = repair::mend(raw, child_of);
        transcript.messages = mended.messages;
        transcript.missing = mended.missing;
        transcript.warnings.extend(mended.warnings);
        Ok(transcript)
    }

    /// All that was said, for a person: also what summaries have put away, and not the summaries themselves.
    #[must_use]
    pub fn past(&self) -> Vec<Past> {
        let mut past = self.earlier.clone();
        past.extend(behind(&self.messages, self.replacing).map(Past::Message));
        past
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
        let past = self.past();
        let counts = past.iter().map(|past| match past {
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

    fn answered_by(&mut self, model: Option<String>, raw: &mut [Message]) {
        if model.is_none() || model == self.model {
            return;
        }
        if self.model.is_some() {
            forget_thoughts(raw);
        }
        self.model = model;
    }

    fn take(&mut self, record: Record, raw: &mut Vec<Message>) {
        if let Some(at) = record.at() {
            self.last = Some(at);
        }
        match record {
            Record::Session(header) => self.session = Some(header),
            Record::Agent(header) => self.agent = Some(*header),
            Record::Message { message, usage, cost, model, .. } => {
                self.answered_by(model, raw);
                self.usage += usage.unwrap_or_default();
                self.cost += cost.unwrap_or_default();
                self.end = None;
                self.count += 1;
                raw.push(message);
            }
            Record::Compacted {
                messages, before_tokens, after_tokens, usage, cost, model, ..
            } => {
                self.answered_by(model, raw);
                self.usage += usage;
                self.cost += cost;
                self.earlier.extend(behind(raw, self.replacing).map(Past::Message));
                self.earlier.push(Past::Compacted { before_tokens, after_tokens });
                self.replacing = messages.iter().map(|message| message.content.len()).sum();
                *raw = messages;
            }
            Record::Worktree { checkout, .. } => self.worktree = Some(checkout),
            Record::End { outcome, .. } => self.end = Some(outcome),
            Record::Unknown => {}
        }
    }
}

/// The messages without their first `blocks` blocks. Mending joins messages of one side, but keeps blocks in order.
fn behind(messages: &[Message], mut blocks: usize) -> impl Iterator<Item = Message> {
    messages.iter().filter_map(move |message| {
        let skipped = blocks.min(message.content.len());
        blocks -= skipped;
        let content = message.content[skipped..].to_vec();
        (!content.is_empty()).then_some(Message { role: message.role, content })
    })
}

/// Thoughts are signed by the model that had them, and refused by every other.
fn forget_thoughts(messages: &mut [Message]) {
    for message in messages {
        message.content.retain(|block| {
            !matches!(block, ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })
        });
    }
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant
}
