//! The front end without a screen: prompts in; text, JSON or a stream of JSON frames out.
//!
//! Only the answer (or the frames) goes to stdout; messages to the user go to stderr.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cli::OutputFormat;
use crate::protocol::{Command, EventQueue, Failure, Redactor, RunEnd};

mod control;
mod conversation;
mod frame;
mod info;
mod input;
mod input_queue;
mod output;
mod partial_frame;
mod questions;
mod result;
mod shutdown;
mod signals;
mod slash;
mod stdin;
mod stdio_transport;
mod stdout;
mod stream_event;
mod totals;

use control::ControlHandler;
pub use control::{
    ControlBackend, HandshakeServers, HookCallbacks, Initialize, McpInventory, SdkServer,
};
use conversation::{HeadlessRun, PromptTracker, SessionState};

pub use conversation::StateReader;
pub use info::{LimitsLookup, ModelLimits, SessionInfo, SlashCommand};
use output::OutputWriter;
pub use output::{say, say_remaining};
pub use questions::Asker;
use questions::{PeerAsker, PendingQuestions};
use shutdown::ShutdownState;
use signals::ExitSignals;
pub use slash::own_commands;
pub use stdio_transport::{Handshake, StdioTransport};

/// The number of events that may be queued for a slow reader of stdout before agents block.
pub const EVENT_CAPACITY: usize = 256;

/// How long a run may take to end after a signal.
const SIGNAL_WAIT: Duration = Duration::from_secs(5);

/// How long to wait for stdout to take the result of a run that did not end in that time.
const RESULT_WAIT: Duration = Duration::from_secs(1);

/// The source of a run's prompts.
pub enum PromptSource {
    One(String),
    /// Frames on stdin, one per line.
    Stdio(Box<StdioTransport>),
}

/// The parts of a headless run.
pub struct Headless {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub info: SessionInfo,
    pub format: OutputFormat,
    /// Whether to report progress on stderr, unless stdout carries frames.
    pub verbose: bool,
    /// Handles control requests.
    pub backend: Arc<dyn ControlBackend>,
    /// Answers permission questions; `None` means the program that writes to stdin.
    pub asker: Option<Arc<dyn Asker>>,
    /// The reader of `session_state_changed` frames. `None` writes none.
    pub state_reader: Option<StateReader>,
    /// Whether to repeat each prompt as a frame when the agent reads it.
    pub replays: bool,
    /// Masks keys in the output.
    pub redactor: Redactor,
}

/// Sends the prompts one after the other and writes their results. Returns the exit code of the
/// first prompt that failed. SIGINT, SIGTERM and SIGHUP stop the run; its result is still written,
/// even if the run does not end, unless nobody reads it. A second signal exits at once.
///
/// # Errors
/// If stdout or stderr cannot be written, or the signal handlers cannot be installed.
pub async fn run(headless: Headless, prompts: PromptSource) -> io::Result<u8> {
    let Headless {
        commands,
        events,
        info,
        format,
        verbose,
        backend: backstage,
        asker,
        state_reader,
        replays,
        redactor,
    } = headless;
    let mut signals = ExitSignals::listen()?;
    let link = match prompts {
        PromptSource::One(prompt) => StdioTransport::single_prompt(prompt),
        PromptSource::Stdio(link) => *link,
    };
    let driven = link.has_handshake();
    let tally = PromptTracker::new(driven);
    let asker = asker.unwrap_or_else(|| Arc::new(PeerAsker(link.peer())));
    let StdioTransport { stdout, client, queue: intake, .. } = link;
    let conversation = HeadlessRun {
        handler: ControlHandler::new(commands.clone(), backstage, &info),
        commands: commands.clone(),
        events,
        output: OutputWriter::new(info, format, verbose, stdout, redactor),
        queue: intake,
        client,
        questions: PendingQuestions::new(asker),
        tracker: tally,
        driven,
        state: SessionState::default(),
        state_reader,
        replays,
        shutdown: ShutdownState::default(),
    };
    let stop = StopTokens::default();
    let written = conversation.run(&stop);
    tokio::pin!(written);
    let killed_by = tokio::select! {
        biased;
        code = signals.next() => code,
        code = &mut written => return code,
    };
    stop.asked.cancel();
    let _ = commands.send(Command::CancelTurn).await;
    tokio::select! {
        biased;
        _ = signals.next() => return Ok(killed_by),
        () = tokio::time::sleep(SIGNAL_WAIT) => stop.overdue.cancel(),
        code = &mut written => return code.map(|_| killed_by),
    }
    tokio::select! {
        biased;
        _ = signals.next() => Ok(killed_by),
        () = tokio::time::sleep(RESULT_WAIT) => Ok(killed_by),
        code = &mut written => code.map(|_| killed_by),
    }
}

/// The two steps in which a signal ends a run.
#[derive(Default)]
struct StopTokens {
    /// Ends the current run and starts no other.
    asked: CancellationToken,
    /// The current run did not end in time: write its result anyway.
    overdue: CancellationToken,
}

/// Returns the exit code for the end of a run.
fn exit_code(end: &RunEnd) -> u8 {
    match end {
        RunEnd::Completed => 0,
        RunEnd::MaxTurns { .. } | RunEnd::Budget { .. } | RunEnd::TimeLimit { .. } => 5,
        RunEnd::Failed { failure: Failure::Auth, .. } => 3,
        RunEnd::Failed { failure: Failure::Autonomy, .. } => 4,
        RunEnd::Cancelled { .. } => 130,
        RunEnd::Interrupted | RunEnd::Failed { .. } | RunEnd::Refused | RunEnd::Empty => 1,
    }
}
