//! Stdin and stdout as a connection to a program that speaks `stream-json`.

use std::sync::Arc;

use serde_json::Value;

use super::control::{ControlRequest, Initialize, PeerClient};
use super::input::{InputLine, PromptInput};
use super::input_queue::{InputQueue, RouterSetup};
use super::stdin::{self, RawLine};
use super::stdout::Stdout;
use crate::protocol::SharedPeer;

/// Reads stdin and writes stdout from startup on: requests to the program are possible before the first prompt.
pub struct StdioTransport {
    pub(super) stdout: Stdout,
    pub(super) client: PeerClient,
    pub(super) queue: InputQueue,
    handshake: Option<ControlRequest>,
}

/// The program's handshake, if it sends one, or the error in it.
pub type Handshake = Option<Result<Initialize, String>>;

impl StdioTransport {
    /// Opens the streams and waits for the first line. Answer a handshake with [`Self::accept`] or
    /// [`Self::refuse`]. `asked`: whether the program answers our requests even without one.
    pub async fn open(asked: bool) -> (Self, Handshake) {
        let stdout = Stdout::start();
        let client = PeerClient::new(stdout.sender());
        let mut lines = stdin::start();
        let mut first = lines.recv().await;
        let handshake = first.as_ref().and_then(handshake_in);
        first.take_if(|_| handshake.is_some());
        let introduction = handshake.as_ref().map(Initialize::read);
        let introduced = handshake.is_some();
        let driven = asked || introduced;
        let queue = InputQueue::start(RouterSetup {
            lines,
            first,
            client: client.clone(),
            introduced,
            driven,
        });
        (Self { stdout, client, queue, handshake }, introduction)
    }

    /// Creates a transport with one prompt that does not read stdin.
    pub(super) fn single_prompt(prompt: PromptInput) -> Self {
        let stdout = Stdout::start();
        let client = PeerClient::new(stdout.sender());
        Self { stdout, client, queue: InputQueue::single_prompt(prompt), handshake: None }
    }

    /// Returns a handle for requests to the program.
    pub fn peer(&self) -> SharedPeer {
        Arc::new(self.client.clone())
    }

    /// Whether the program has sent a handshake.
    pub(super) fn has_handshake(&self) -> bool {
        self.handshake.is_some()
    }

    /// Answers the handshake with success. Does nothing without one.
    pub async fn accept(&self, response: Value) {
        if let Some(request) = &self.handshake {
            self.client.write_line(&request.answer(Ok(response))).await;
        }
    }

    /// Answers the handshake with an error, and writes nothing more.
    pub async fn refuse(self, why: &str) {
        if let Some(request) = &self.handshake {
            self.client.write_line(&request.answer(Err(why.to_owned()))).await;
        }
        // Ignore write errors: the program exits with the same error anyway.
        let _ = self.stdout.finish().await;
    }
}

/// Returns the handshake, if the line is one.
fn handshake_in(line: &RawLine) -> Option<ControlRequest> {
    match InputLine::parse(line) {
        InputLine::Request(request) if request.subtype() == "initialize" => Some(request),
        _ => None,
    }
}
