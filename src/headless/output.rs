//! Where events go: frames or the answer to stdout, everything said to a person to stderr.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use super::control::Served;
use super::conversation::{State, StateReader};
use super::frame::Frames;
use super::info::SessionInfo;
use super::input::Asked;
use super::result;
use super::stdout::Stdout;
use super::totals::Totals;
use crate::cli::OutputFormat;
use crate::protocol::{
    AgentEvent, CompactionState, EventKind, EventQueue, NoticeLevel, Outcome, Redactor, printable,
    printable_message,
};

/// The two ways out of a run.
pub(super) struct Output {
    frames: Frames,
    totals: Totals,
    format: OutputFormat,
    verbose: bool,
    stdout: Stdout,
    /// Masks keys in frames and remarks, whatever put them there. A question to the program that
    /// drives this one is no frame: what it answers is run.
    redactor: Redactor,
}

impl Output {
    /// An output that has written nothing yet.
    pub fn new(
        info: SessionInfo,
        format: OutputFormat,
        verbose: bool,
        stdout: Stdout,
        redactor: Redactor,
    ) -> Self {
        let frames = Frames::new(info);
        Self { frames, totals: Totals::default(), format, verbose, stdout, redactor }
    }

    /// What the first frame will tell of servers.
    pub fn serve(&mut self, served: Served) {
        self.frames.serve(served);
    }

    /// Whether the session is open, so that frames can name it.
    pub fn is_open(&self) -> bool {
        self.frames.is_open()
    }

    /// Another prompt is sent.
    pub fn next_prompt(&mut self) {
        self.totals.next_prompt();
    }

    /// Writes what there is to say of an event.
    pub async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.totals.add(event);
        let frames = self.frames.of(event);
        if self.format == OutputFormat::StreamJson {
            return self.frames_out(&frames).await;
        }
        if let (EventKind::Verbatim { text, .. }, OutputFormat::Text) = (&event.kind, self.format) {
            return self.text(text).await;
        }
        match self.remark(event) {
            Some(remark) => self.say(&remark),
            None => Ok(()),
        }
    }

    /// Writes an answer of our own. Its result is still to come.
    pub async fn own_answer(&mut self, text: &str) -> io::Result<()> {
        match self.format {
            OutputFormat::StreamJson => {
                let frame = self.frames.own_answer(text);
                self.frames_out(&[frame]).await
            }
            OutputFormat::Text | OutputFormat::Json => Ok(()),
        }
    }

    /// What the session has used so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Writes the answer or the result frame, and on stderr why it is not all that it should be.
    pub async fn result(&mut self, outcome: &Outcome, origin: Option<&Value>) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            let frame = self.frames.result(outcome, &self.totals, origin);
            self.frames_out(&[frame]).await?;
        } else if !outcome.text.is_empty() {
            self.text(&outcome.text).await?;
        }
        match result::error_text(&outcome.end) {
            Some(error) => self.say(&format!("caliban: {error}")),
            None => Ok(()),
        }
    }

    /// Says that a prompt could not be read.
    pub async fn refuse(&mut self, why: &str, origin: Option<&Value>) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            let frame = self.frames.refusal(why, &self.totals, origin);
            self.frames_out(&[frame]).await?;
        }
        self.say(&format!("caliban: {why}"))
    }

    /// Writes lines of the control protocol.
    pub async fn control(&mut self, lines: &[Value]) -> io::Result<()> {
        self.frames_out(lines).await
    }

    /// Tells what the run does.
    pub async fn state(&mut self, state: State, reader: StateReader) -> io::Result<()> {
        self.frames_out(&[self.frames.state(state, reader)]).await
    }

    /// Repeats a prompt.
    pub async fn replay(&mut self, asked: &Asked) -> io::Result<()> {
        self.frames_out(&[self.frames.replay(asked)]).await
    }

    /// Says something to the person.
    pub fn remark_on(&self, text: &str) -> io::Result<()> {
        self.say(&format!("caliban: {text}"))
    }

    fn say(&self, line: &str) -> io::Result<()> {
        say(&self.redactor.mask_keys(line))
    }

    /// Waits until nothing can be written any more. The output is of no use after that.
    pub async fn failed(&mut self) -> io::Error {
        self.stdout.failed().await
    }

    /// Waits until everything is written.
    pub async fn finish(self) -> io::Result<()> {
        self.stdout.finish().await
    }

    async fn frames_out(&mut self, frames: &[Value]) -> io::Result<()> {
        let mut lines = Vec::new();
        for frame in frames {
            serde_json::to_writer(&mut lines, &*self.redactor.mask_json(frame))?;
            lines.push(b'\n');
        }
        self.stdout.write(lines).await
    }

    async fn text(&mut self, text: &str) -> io::Result<()> {
        let shown = if io::stdout().is_terminal() { printable(text) } else { text.to_owned() };
        self.stdout.write(format!("{shown}\n").into_bytes()).await
    }

    /// What a person should know on stderr, and in verbose runs what is done.
    fn remark(&self, event: &AgentEvent) -> Option<String> {
        Some(match &event.kind {
            EventKind::Notice { .. }
            | EventKind::AnswerRefused { .. }
            | EventKind::SessionFailed { .. } => {
                return warning(&event.kind);
            }
            EventKind::Retrying { attempt, limit, wait, reason } => {
                let seconds = wait.as_secs_f32();
                format!("caliban: {reason} Trying again in {seconds:.1} s ({attempt} of {limit}).")
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

/// Says what has been told to a person and nobody has read: when the last frame is written, or the
/// screen is gone.
///
/// # Errors
/// When stderr cannot be written.
pub fn say_rest(events: &EventQueue) -> io::Result<()> {
    let mut rest = Vec::new();
    events.drain_ready(&mut rest, usize::MAX);
    rest.iter().filter_map(|event| warning(&event.kind)).try_for_each(|line| say(&line))
}

/// The line for a notice that nobody should miss.
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

/// Says a line on stderr. What models, tools and servers wrote cannot reach the terminal raw.
///
/// # Errors
/// When stderr cannot be written.
pub fn say(line: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{}", printable_message(line))
}
