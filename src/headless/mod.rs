//! The face without a screen: prompts in; text, JSON or a stream of JSON frames out.
//!
//! Only the answer (or the frames) goes to stdout; everything said to a person goes to stderr.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cli::OutputFormat;
use crate::protocol::{Command, End, EventQueue, Failure, Redactor};

mod claim;
mod control;
mod conversation;
mod ending;
mod frame;
mod info;
mod input;
mod intake;
mod link;
mod output;
mod questions;
mod result;
mod signals;
mod slash;
mod stdin;
mod stdout;
mod step;
mod totals;

use control::Desk;
pub use control::{Backstage, HandshakeServers, HookCallbacks, Initialize, SdkServer, Served};
use conversation::{Conversation, State, Tally};

pub use conversation::StateReader;
use ending::Ending;
pub use info::{LimitsOf, ModelLimits, SessionInfo, SlashCommand};
pub use link::{Introduction, Link};
use output::Output;
pub use output::{say, say_rest};
pub use questions::Asker;
use questions::{AskPeer, Questions};
use signals::Signals;
pub use slash::own_commands;

/// How many events may wait for a slow reader of stdout before the agents wait for it.
pub const EVENT_CAPACITY: usize = 256;

/// How long a run may take to end after a signal.
const SIGNAL_WAIT: Duration = Duration::from_secs(5);

/// How long the reader of stdout may take for the result of a run that has not ended in that time.
const RESULT_WAIT: Duration = Duration::from_secs(1);

/// Where the prompts of a run come from.
pub enum PromptSource {
    One(String),
    /// Frames on stdin, one a line.
    Link(Box<Link>),
}

/// What a headless run is made of.
pub struct Headless {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub info: SessionInfo,
    pub format: OutputFormat,
    /// Says on stderr what the agents do, when stdout carries no frames.
    pub verbose: bool,
    /// For control requests.
    pub backstage: Arc<dyn Backstage>,
    /// Who answers permission questions; absent: the program that writes to stdin.
    pub asker: Option<Arc<dyn Asker>>,
    /// The reader of `session_state_changed` frames. Without one, none are written.
    pub state_reader: Option<StateReader>,
    /// Whether each prompt is repeated as a frame when the agent reads it.
    pub replays: bool,
    /// Masks keys in what is written.
    pub redactor: Redactor,
}

/// Sends the prompts one after the other and writes what comes of them. Answers with the exit code:
/// that of the first prompt that did not end well. SIGINT, SIGTERM and SIGHUP stop the run; its
/// result is written all the same, also when the run does not end, unless nobody reads it. A second
/// signal ends it at once.
///
/// # Errors
/// When stdout or stderr cannot be written, or the signals cannot be listened to.
pub async fn run(headless: Headless, prompts: PromptSource) -> io::Result<u8> {
    let Headless {
        commands,
        events,
        info,
        format,
        verbose,
        backstage,
        asker,
        state_reader,
        replays,
        redactor,
    } = headless;
    let mut signals = Signals::listen()?;
    let link = match prompts {
        PromptSource::One(prompt) => Link::one(prompt),
        PromptSource::Link(link) => *link,
    };
    let driven = link.introduced();
    let tally = Tally::new(driven);
    let asker = asker.unwrap_or_else(|| Arc::new(AskPeer(link.peer())));
    let Link { stdout, client, intake, .. } = link;
    let conversation = Conversation {
        desk: Desk::new(commands.clone(), backstage, &info),
        commands: commands.clone(),
        events,
        output: Output::new(info, format, verbose, stdout, redactor),
        intake,
        client,
        questions: Questions::to(asker),
        tally,
        driven,
        state: State::default(),
        state_reader,
        replays,
        ending: Ending::default(),
    };
    let stop = Stop::default();
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

/// The two steps by which a signal ends a conversation.
#[derive(Default)]
struct Stop {
    /// The present run is to end, and no other begins.
    asked: CancellationToken,
    /// The present run has not ended in time: its result is written without it.
    overdue: CancellationToken,
}

/// The exit code that tells a script how a run ended.
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
