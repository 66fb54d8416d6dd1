//! The front end without a screen: prompts in; text, JSON or a stream of JSON frames out.
//!
//! Only the answer (or the frames) goes to stdout; messages to the user go to stderr.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::protocol::Command;

mod control;
mod frame;
mod info;
mod input;
mod input_queue;
mod output;
mod prompts;
mod result;
mod run;
mod shutdown;
mod slash;
mod stdin;
mod stdio_transport;
mod stdout;
mod stream_event;

pub use control::permission::Asker;
pub use control::{
    ControlBackend, HandshakeServers, HookCallbacks, Initialize, McpInventory, SdkServer,
};
pub use info::{LimitsLookup, ModelLimits, SessionInfo, SlashCommand, StateReader};
pub use input::PromptInput;
pub use output::{say, say_remaining};
pub use run::{Headless, HeadlessSettings};
pub use slash::own_commands;
pub use stdio_transport::{Handshake, StdioTransport};

use run::{HeadlessRun, StopTokens};

/// The number of events that may be queued for a slow reader of stdout before agents block.
pub const EVENT_CAPACITY: usize = 256;

/// How long a run may take to end after a signal.
const SIGNAL_WAIT: Duration = Duration::from_secs(5);

/// How long to wait for stdout to take the result of a run that did not end in that time.
const RESULT_WAIT: Duration = Duration::from_secs(1);

/// The source of a run's prompts.
pub enum PromptSource {
    One(PromptInput),
    /// Frames on stdin, one per line.
    Stdio(Box<StdioTransport>),
}

/// Sends the prompts one after the other and writes their results. Returns the exit code of the
/// first prompt that failed. SIGINT, SIGTERM and SIGHUP stop the run; its result is still written,
/// even if the run does not end, unless nobody reads it. A second signal exits at once.
///
/// # Errors
/// If stdout or stderr cannot be written, or the signal handlers cannot be installed.
pub async fn run(headless: Headless, prompts: PromptSource) -> io::Result<u8> {
    let mut signals = ExitSignals::listen()?;
    let transport = match prompts {
        PromptSource::One(prompt) => StdioTransport::single_prompt(prompt),
        PromptSource::Stdio(transport) => *transport,
    };
    let commands = headless.commands.clone();
    let run = HeadlessRun::new(headless, transport);
    let stop = StopTokens::default();
    let written = run.run(&stop);
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

/// Listens to SIGINT, SIGTERM and SIGHUP.
struct ExitSignals {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl ExitSignals {
    /// Installs the handlers: these signals no longer kill the process.
    fn listen() -> io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its exit code.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.int.recv() => 130,
            _ = self.term.recv() => 143,
            _ = self.hup.recv() => 129,
        }
    }
}
