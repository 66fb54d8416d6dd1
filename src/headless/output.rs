//! Writes frames or the answer to stdout, and messages to the user to stderr.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use super::control::McpInventory;
use super::frame::Frames;
use super::info::{SessionInfo, SessionState, StateReader};
use super::input::PromptInput;
use super::result::{self, Totals};
use super::stdout::{Stdout, json_line};
use crate::cli::OutputFormat;
use crate::protocol::{
    AgentEvent, Charset, CompactionState, EventKind, EventQueue, NoticeLevel, Redactor, RunOutcome,
    printable, printable_message, without_retry_advice,
};

/// The output of a run: stdout and stderr.
pub(super) struct OutputWriter {
    frames: Frames,
    totals: Totals,
    format: OutputFormat,
    verbose: bool,
    /// The characters of a terminal.
    charset: Charset,
    stdout: Stdout,
    /// Masks keys in frames and messages. Requests to the driving program are not masked, because
    /// its answer is executed.
    redactor: Redactor,
}

impl OutputWriter {
    /// Creates the output; writes nothing.
    pub fn new(
        info: SessionInfo,
        format: OutputFormat,
        verbose: bool,
        charset: Charset,
        stdout: Stdout,
        redactor: Redactor,
    ) -> Self {
        let frames = Frames::new(info);
        Self { frames, totals: Totals::default(), format, verbose, charset, stdout, redactor }
    }

    /// Sets the servers and tools for the first frame.
    pub fn set_inventory(&mut self, inventory: McpInventory) {
        self.frames.set_inventory(inventory);
    }

    /// Whether the session is open, so that frames can name it.
    pub fn is_open(&self) -> bool {
        self.frames.is_open()
    }

    /// Resets the totals for the next prompt.
    pub fn next_prompt(&mut self) {
        self.totals.next_prompt();
    }

    /// Writes an event's frames or message.
    pub async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.totals.add(event);
        let frames = self.frames.encode(event);
        if self.format == OutputFormat::StreamJson {
            return self.write_frames(&frames).await;
        }
        if let (EventKind::Verbatim { text, .. }, OutputFormat::Text) = (&event.kind, self.format) {
            return self.text(text).await;
        }
        match self.remark(event) {
            Some(remark) => self.say(&remark),
            None => Ok(()),
        }
    }

    /// Writes an answer of our own. Its result follows.
    pub async fn own_answer(&mut self, text: &str) -> io::Result<()> {
        match self.format {
            OutputFormat::StreamJson => {
                let frame = self.frames.own_answer(text);
                self.write_frames(&[frame]).await
            }
            OutputFormat::Text | OutputFormat::Json => Ok(()),
        }
    }

    /// Returns what the session has used so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Writes the answer or the result frame, and any error to stderr.
    pub async fn result(&mut self, outcome: &RunOutcome, origin: Option<&Value>) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            let frame = self.frames.result(outcome, &self.totals, origin);
            self.write_frames(&[frame]).await?;
        } else if !outcome.text.is_empty() {
            self.text(&outcome.text).await?;
        }
        match result::error_text(&outcome.end) {
            Some(error) => self.say(&format!("caliban: {error}")),
            None => Ok(()),
        }
    }

    /// Reports a prompt that could not be read.
    pub async fn refuse(&mut self, why: &str, origin: Option<&Value>) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            let frame = self.frames.refusal(why, &self.totals, origin);
            self.write_frames(&[frame]).await?;
        }
        self.say(&format!("caliban: {why}"))
    }

    /// Writes lines of the control protocol.
    pub async fn control(&mut self, lines: &[Value]) -> io::Result<()> {
        self.write_frames(lines).await
    }

    /// Writes the state of the run.
    pub async fn state(&mut self, state: SessionState, reader: StateReader) -> io::Result<()> {
        self.write_frames(&[self.frames.state(state, reader)]).await
    }

    /// Writes the frame that repeats a prompt.
    pub async fn replay(&mut self, prompt: &PromptInput) -> io::Result<()> {
        self.write_frames(&[self.frames.replay(prompt)]).await
    }

    /// Writes a message to the user.
    pub fn warn(&self, text: &str) -> io::Result<()> {
        self.say(&format!("caliban: {text}"))
    }

    fn say(&self, line: &str) -> io::Result<()> {
        say(&self.redactor.mask_keys(line), self.charset)
    }

    /// Waits until stdout fails. The output cannot be used after that.
    pub async fn failed(&mut self) -> io::Error {
        self.stdout.failed().await
    }

    /// Waits until everything is written.
    pub async fn finish(self) -> io::Result<()> {
        self.stdout.finish().await
    }

    async fn write_frames(&mut self, frames: &[Value]) -> io::Result<()> {
        let mut lines = Vec::new();
        for frame in frames {
            lines.extend(json_line(&self.redactor.mask_json(frame)));
        }
        self.stdout.write(lines).await
    }

    async fn text(&mut self, text: &str) -> io::Result<()> {
        let shown = match io::stdout().is_terminal() {
            true => self.charset.encode(&printable(text)).into_owned(),
            false => text.to_owned(),
        };
        self.stdout.write(format!("{shown}\n").into_bytes()).await
    }

    /// Returns the message for stderr: warnings, and progress in verbose runs.
    fn remark(&self, event: &AgentEvent) -> Option<String> {
        Some(match &event.kind {
            EventKind::Notice { .. }
            | EventKind::AnswerRefused { .. }
            | EventKind::SessionFailed { .. } => {
                return warning(&event.kind);
            }
            EventKind::Retrying { attempt, limit, wait, reason, .. } => {
                let seconds = wait.as_secs_f32();
                let reason = without_retry_advice(reason).trim_end_matches('.');
                format!("caliban: {reason}. Retrying in {seconds:.1} s ({attempt} of {limit}).")
            }
            EventKind::Compaction { state: CompactionState::Failed { why }, .. } => {
                format!("caliban: the conversation was not compacted: {why}")
            }
            EventKind::PermissionDenied { tool, denial, .. } => {
                format!("caliban: denied {tool}: {denial}")
            }
            EventKind::ToolStarted { name, summary, .. } if self.verbose => {
                format!("{}: {name} {summary}", self.frames.agent_name(&event.path))
            }
            _ => return None,
        })
    }
}

/// Prints warnings that are still queued after the last frame is written or the screen is gone.
///
/// # Errors
/// If stderr cannot be written.
pub fn say_remaining(events: &EventQueue, charset: Charset) -> io::Result<()> {
    let mut rest = Vec::new();
    events.drain_ready(&mut rest, usize::MAX);
    rest.iter().filter_map(|event| warning(&event.kind)).try_for_each(|line| say(&line, charset))
}

/// Returns the line for a warning or error.
fn warning(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::Notice { level: NoticeLevel::Warning | NoticeLevel::Error, text } => {
            Some(format!("caliban: {text}"))
        }
        EventKind::AnswerRefused { why, .. } | EventKind::SessionFailed { why } => {
            Some(format!("caliban: {why}"))
        }
        _ => None,
    }
}

/// Prints a line to stderr. Escapes control characters that models, tools and servers may have written.
///
/// # Errors
/// If stderr cannot be written.
pub fn say(line: &str, charset: Charset) -> io::Result<()> {
    let text = printable_message(line);
    writeln!(io::stderr(), "{}", charset.encode_for(&io::stderr(), &text))
}
