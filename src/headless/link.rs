//! The streams to a program that writes lines of `stream-json` to us.

use std::sync::Arc;

use serde_json::Value;

use super::control::{Client, Initialize, Request};
use super::input::Line;
use super::intake::{Intake, Start};
use super::stdin::{self, RawLine};
use super::stdout::Stdout;
use crate::protocol::SharedPeer;

/// Stdin and stdout, which are read and written from the beginning on: parts may ask the program
/// before the first prompt is worked on.
pub struct Link {
    pub(super) stdout: Stdout,
    pub(super) client: Client,
    pub(super) intake: Intake,
    handshake: Option<Request>,
}

/// What the program says first, if it introduces itself: what it brings along, or what is wrong with that.
pub type Introduction = Option<Result<Initialize, String>>;

impl Link {
    /// Opens the streams and waits for the first line. A handshake is to be answered by [`Self::accept`] or
    /// [`Self::refuse`]. `asked`: questions of ours are answered also without one.
    pub async fn open(asked: bool) -> (Self, Introduction) {
        let stdout = Stdout::start();
        let client = Client::new(stdout.pieces());
        let mut lines = stdin::start();
        let mut first = lines.recv().await;
        let handshake = first.as_ref().and_then(handshake_in);
        first.take_if(|_| handshake.is_some());
        let introduction = handshake.as_ref().map(Initialize::read);
        let introduced = handshake.is_some();
        let driven = asked || introduced;
        let intake =
            Intake::start(Start { lines, first, client: client.clone(), introduced, driven });
        (Self { stdout, client, intake, handshake }, introduction)
    }

    /// One prompt, and nothing that is read.
    pub(super) fn one(prompt: String) -> Self {
        let stdout = Stdout::start();
        let client = Client::new(stdout.pieces());
        Self { stdout, client, intake: Intake::one(prompt), handshake: None }
    }

    /// The program at the other end, for those who ask it.
    #[must_use]
    pub fn peer(&self) -> SharedPeer {
        Arc::new(self.client.clone())
    }

    /// Whether the program has introduced itself.
    pub(super) fn introduced(&self) -> bool {
        self.handshake.is_some()
    }

    /// Answers the handshake: what was asked for is done. Nothing happens without one.
    pub async fn accept(&self, response: Value) {
        if let Some(request) = &self.handshake {
            self.client.tell(&request.answer(Ok(response))).await;
        }
    }

    /// Answers the handshake with an error, and writes nothing more.
    pub async fn refuse(self, why: &str) {
        if let Some(request) = &self.handshake {
            self.client.tell(&request.answer(Err(why.to_owned()))).await;
        }
        // What cannot be written is lost: the program ends with the same error.
        let _ = self.stdout.finish().await;
    }
}

/// The handshake, where a line is one.
fn handshake_in(line: &RawLine) -> Option<Request> {
    match Line::of(line) {
        Line::Request(request) if request.subtype() == "initialize" => Some(request),
        _ => None,
    }
}
