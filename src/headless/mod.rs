//! The face without a screen: one prompt in; text, JSON or a stream of JSON frames out.
//!
//! Only the answer (or the frames) goes to stdout; everything said to a person goes to stderr.

use std::io::{self, Write};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::OutputFormat;
use crate::protocol::{
    AgentEvent, AgentPath, Command, End, EventKind, EventQueue, Failure, NoticeLevel, Outcome,
    PromptId, QueuedPrompt, When,
};

mod frame;
mod totals;

use frame::Frames;
pub use frame::SessionInfo;
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

/// Sends one prompt and writes what comes of it. Answers with the exit code.
/// SIGINT, SIGTERM and SIGHUP stop the run; its result is written all the same.
///
/// # Errors
/// When stdout or stderr cannot be written, or the signals cannot be listened to.
pub async fn run(headless: Headless, prompt: String) -> io::Result<u8> {
    let Headless { commands, events, info, format, verbose } = headless;
    let mut output =
        Output { frames: Frames::new(info), totals: Totals::default(), format, verbose };
    let mut signals = Signals::listen()?;
    let prompt = QueuedPrompt { id: PromptId(0), text: prompt, when: When::NextStep };
    // A closed channel means that the runtime is gone; then its events end as well.
    let _ = commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    let mut batch = Vec::with_capacity(BATCH);
    let mut killed_by = None;
    loop {
        tokio::select! {
            biased;
            code = signals.next() => {
                killed_by = Some(code);
                let _ = commands.send(Command::CancelTurn).await;
            }
            () = events.drain(&mut batch, BATCH) => {}
        }
        for event in batch.drain(..) {
            let outcome = finished(&event);
            output.event(&event)?;
            if let Some(outcome) = outcome {
                output.result(&outcome)?;
                return Ok(killed_by.unwrap_or_else(|| exit_code(&outcome.end)));
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
        End::MaxTurns { .. } | End::Budget { .. } => 5,
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
}

impl Output {
    fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.totals.add(event);
        let frames = self.frames.of(event);
        if self.format == OutputFormat::StreamJson {
            return write_lines(&frames);
        }
        self.say(event)
    }

    /// Tells a person on stderr what they should know, and in verbose runs what is done.
    fn say(&self, event: &AgentEvent) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        match &event.kind {
            EventKind::Notice { level: NoticeLevel::Warning | NoticeLevel::Error, text } => {
                writeln!(stderr, "caliban: {text}")
            }
            EventKind::Retrying { attempt, limit, wait, reason } => {
                let seconds = wait.as_secs_f32();
                writeln!(
                    stderr,
                    "caliban: {reason} Trying again in {seconds:.1} s ({attempt} of {limit})."
                )
            }
            EventKind::PermissionDenied { tool, reason, .. } => {
                writeln!(stderr, "caliban: denied {tool}: {reason}")
            }
            EventKind::ToolStarted { name, summary, .. } if self.verbose => {
                let agent = self.frames.agent_name(&event.path);
                writeln!(stderr, "{agent}: {name} {summary}")
            }
            _ => Ok(()),
        }
    }

    /// Writes the answer or the result frame, and on stderr why it is not all that it should be.
    fn result(&self, outcome: &Outcome) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            write_lines(&[self.frames.result(outcome, &self.totals)])?;
        } else if !outcome.text.is_empty() {
            let mut stdout = io::stdout().lock();
            writeln!(stdout, "{}", outcome.text)?;
            stdout.flush()?;
        }
        match frame::error_text(&outcome.end) {
            Some(error) => writeln!(io::stderr(), "caliban: {error}"),
            None => Ok(()),
        }
    }
}

fn write_lines(frames: &[serde_json::Value]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for frame in frames {
        serde_json::to_writer(&mut stdout, frame)?;
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
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
