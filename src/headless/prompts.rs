//! The prompts of a run: one that is known from the start, or as many as come over stdin.

use std::collections::VecDeque;
use std::future::pending;

use serde_json::Value;
use tokio::sync::mpsc;

use super::input::{Asked, Line};
use super::stdin::{self, RawLine};

/// How many prompts may wait for their turn before the rest is left on stdin.
const WAITING_LIMIT: usize = 32;

/// Where the prompts of a run come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptSource {
    One(String),
    /// Frames on stdin, one a line.
    Stdin,
}

/// A prompt that waits, or what is wrong with the line that should have been one.
pub(super) type Entry = Result<Asked, String>;

/// A request that wants an answer at once.
#[derive(Debug)]
pub(super) struct Control {
    pub id: Value,
    pub subtype: String,
}

/// Prompts that have not been sent yet, in order.
pub(super) struct Prompts {
    waiting: VecDeque<Entry>,
    /// Absent when nothing more can come.
    lines: Option<mpsc::Receiver<RawLine>>,
    /// The number of the latest line, counted from 1.
    line: usize,
    /// Whether a prompt, readable or not, has come at all.
    any: bool,
}

impl Prompts {
    /// Begins to read where there is something to read.
    pub fn start(source: PromptSource) -> Self {
        let (waiting, lines) = match source {
            PromptSource::One(text) => (Some(Ok(Asked { text, sub_agents: true })), None),
            PromptSource::Stdin => (None, Some(stdin::start())),
        };
        let any = waiting.is_some();
        Self { waiting: waiting.into_iter().collect(), lines, line: 0, any }
    }

    /// Waits for a line and takes it in; for ever when none can come or too many prompts wait. Answers with what
    /// cannot wait for its turn. Safe to drop at any point.
    pub async fn read(&mut self) -> Option<Control> {
        let Some(lines) = self.lines.as_mut().filter(|_| self.waiting.len() < WAITING_LIMIT) else {
            return pending().await;
        };
        let Some(line) = lines.recv().await else {
            self.end_of_input();
            return None;
        };
        self.line += 1;
        let entry = match line.and_then(|line| Line::parse(&line)) {
            Ok(Line::Prompt(asked)) => Ok(asked),
            Ok(Line::Nothing) => return None,
            Ok(Line::Control { id, subtype }) => return Some(Control { id, subtype }),
            Err(why) => Err(format!("line {} of stdin: {why}", self.line)),
        };
        self.any = true;
        self.waiting.push_back(entry);
        None
    }

    /// The next one.
    pub fn take(&mut self) -> Option<Entry> {
        self.waiting.pop_front()
    }

    /// Puts one back that could not be worked on yet.
    pub fn put_back(&mut self, asked: Asked) {
        self.waiting.push_front(Ok(asked));
    }

    /// Whether there is nothing left, and nothing can come.
    pub fn is_over(&self) -> bool {
        self.lines.is_none() && self.waiting.is_empty()
    }

    /// Forgets all that waits, and reads no further.
    pub fn stop(&mut self) {
        self.lines = None;
        self.waiting.clear();
    }

    fn end_of_input(&mut self) {
        self.lines = None;
        if !self.any {
            self.waiting.push_back(Err("stdin ended without a prompt".to_owned()));
        }
    }
}
