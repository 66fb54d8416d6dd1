//! The face without a screen: one prompt in; text, JSON or a stream of JSON frames out.
//!
//! Only the answer (or the frames) goes to stdout; everything said to a person goes to stderr.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::OutputFormat;
use crate::protocol::printable;
use crate::protocol::{
    AgentEvent, AgentPath, Command, CompactionState, End, EventKind, EventQueue, Failure,
    NoticeLevel, Outcome, PromptId, QueuedPrompt, When,
};

mod frame;
mod stdout;
mod totals;

use frame::Frames;
pub use frame::SessionInfo;
use stdout::Stdout;
use totals::Totals;

/// How many events may wait for a slow reader of stdout before the agents wait for it.
pub const EVENT_CAPACITY: usize = 256;

/// How many events are written between two looks at the signals.
const BATCH: usize = 64;

/// What a headless run is made of.
#[derive(Debug)]
pub struct Headless {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub info: SessionInfo,
    pub format: OutputFormat,
    /// Says on stderr what the agents do, when stdout carries no frames.
    pub verbose: bool,
}

/// How long a run may take to end after a signal.
const SIGNAL_WAIT: Duration = Duration::from_secs(5);

/// Sends one prompt and writes what comes of it. Answers with the exit code.
/// SIGINT, SIGTERM and SIGHUP stop the run; its result is written all the same, unless nobody reads it. A second
/// signal ends it at once.
///
/// # Errors
/// When stdout or stderr cannot be written, or the signals cannot be listened to.
pub async fn run(headless: Headless, prompt: String) -> io::Result<u8> {
    let Headless { commands, events, info, format, verbose } = headless;
    let output = Output {
        frames: Frames::new(info),
        totals: Totals::default(),
        format,
        verbose,
        stdout: Stdout::start(),
    };
    let mut signals = Signals::listen()?;
    let prompt = QueuedPrompt::typed(PromptId(0), prompt, When::NextStep);
    // A closed channel means that the runtime is gone, which the caller watches.
    let _ = commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    let written = write_all(events, output);
    tokio::pin!(written);
    let killed_by = tokio::select! {
        biased;
        code = signals.next() => code,
        code = &mut written => return code,
    };
    let _ = commands.send(Command::CancelTurn).await;
    tokio::select! {
        biased;
        _ = signals.next() => Ok(killed_by),
        () = tokio::time::sleep(SIGNAL_WAIT) => Ok(killed_by),
        code = &mut written => code.map(|_| killed_by),
    }
}

/// Writes all events of a run and its result. Answers with the exit code that tells how it ended.
async fn write_all(events: EventQueue, mut output: Output) -> io::Result<u8> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        events.drain(&mut batch, BATCH).await;
        for event in batch.drain(..) {
            output.event(&event).await?;
            if let Some(outcome) = finished(&event) {
                output.result(&outcome).await?;
                output.stdout.finish().await?;
                return Ok(exit_code(&outcome.end));
            }
        }
    }
}

/// The outcome, if this event ends the main agent's run.
fn finished(event: &AgentEvent) -> Option<Outcome> {
    match &event.kind {
        EventKind::Finished(outcome) if event.path.is_root() => Some((**outcome).clone()),
        _ => None,
    }
}

/// The exit code that tells a script how the run ended.
fn exit_code(end: &End) -> u8 {
    match end {
        End::Completed => 0,
        End::MaxTurns { .. } | End::Budget { .. } | End::TimeLimit { .. } => 5,
        End::Failed { failure: Failure::Auth, .. } => 3,
        End::Failed { failure: Failure::Autonomy, .. } => 4,
        End::Cancelled { .. } => 130,
        End::Interrupted | End::Failed { .. } | End::Refused | End::Empty => 1,
    }
}

/// Where events go.
struct Output {
    frames: Frames,
    totals: Totals,
    format: OutputFormat,
    verbose: bool,
    stdout: Stdout,
}

impl Output {
    async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.totals.add(event);
        let frames = self.frames.of(event);
        if self.format == OutputFormat::StreamJson {
            return self.stdout.write(lines(&frames)?).await;
        }
        match self.remark(event) {
            Some(remark) => say(&remark),
            None => Ok(()),
        }
    }

    /// What a person should know on stderr, and in verbose runs what is done.
    fn remark(&self, event: &AgentEvent) -> Option<String> {
        Some(match &event.kind {
            EventKind::Notice { level: NoticeLevel::Warning | NoticeLevel::Error, text } => {
                format!("caliban: {text}")
            }
            EventKind::Retrying { attempt, limit, wait, reason } => {
                let seconds = wait.as_secs_f32();
                format!("caliban: {reason} Trying again in {seconds:.1} s ({attempt} of {limit}).")
            }
            EventKind::PermissionDenied { tool, reason, .. } => {
                format!("caliban: denied {tool}: {reason}")
            }
            EventKind::Compaction { state: CompactionState::Failed { why }, .. } => {
                format!("caliban: the conversation was not compacted: {why}")
            }
            EventKind::ToolStarted { name, summary, .. } if self.verbose => {
                format!("{}: {name} {summary}", self.frames.agent_name(&event.path))
            }
            _ => return None,
        })
    }

    /// Writes the answer or the result frame, and on stderr why it is not all that it should be.
    async fn result(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            let frame = self.frames.result(outcome, &self.totals);
            self.stdout.write(lines(&[frame])?).await?;
        } else if !outcome.text.is_empty() {
            let shown = if io::stdout().is_terminal() {
                printable(&outcome.text)
            } else {
                outcome.text.clone()
            };
            self.stdout.write(format!("{shown}\n").into_bytes()).await?;
        }
        match frame::error_text(&outcome.end) {
            Some(error) => say(&format!("caliban: {error}")),
            None => Ok(()),
        }
    }
}

/// Says a line on stderr. What models, tools and servers wrote cannot reach the terminal raw.
fn say(line: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{}", printable(line))
}

fn lines(frames: &[serde_json::Value]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for frame in frames {
        serde_json::to_writer(&mut lines, frame)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The signals that end a run, as exit codes.
struct Signals {
    int: tokio::signal::unix::Signal,
    term: tokio::signal::unix::Signal,
    hup: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.int.recv() => 130,
            _ = self.term.recv() => 143,
            _ = self.hup.recv() => 129,
        }
    }
}
