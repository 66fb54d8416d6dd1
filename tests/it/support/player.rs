//! Plays one streamed answer, step by step, and notes how it ended.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use axum::body::Bytes;

use super::record::StreamEnd;
use super::script::{Step, Stream};
use super::server::State;
use super::watched::Watched;
use super::wire::Encoder;

/// An answer that is being sent. Dropped before its end: the client went away.
#[derive(Debug)]
pub struct Player {
    state: Watched<State>,
    index: usize,
    plan: VecDeque<Act>,
}

#[derive(Clone, Debug)]
enum Act {
    Send(Vec<u8>),
    Gate(String),
    Cut,
    Stall,
}

impl Player {
    pub fn new(
        state: Watched<State>,
        index: usize,
        encoder: &mut dyn Encoder,
        reply: &Stream,
    ) -> Self {
        let mut plan = plan(encoder, reply);
        if let Some(size) = reply.piece {
            plan = split(plan, size);
        }
        if let Some(limit) = reply.cut_at {
            cut(&mut plan, limit);
        }
        Self { state, index, plan: plan.into() }
    }

    /// Waits at a gate until the test opens it.
    pub async fn pass(&self, gate: &str) {
        self.state.update(|state| *state.at_gate.entry(gate.to_owned()).or_default() += 1);
        self.state.wait_forever(|state| state.open_gates.contains(gate).then_some(())).await;
    }

    /// The body of the answer.
    pub fn into_stream(self) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Send {
        futures_util::stream::unfold(self, |mut player| async move {
            let piece = player.next().await?;
            Some((piece, player))
        })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            match self.plan.pop_front()? {
                Act::Send(bytes) => {
                    self.note(|request| {
                        request.first_byte.get_or_insert_with(Instant::now);
                    });
                    if self.plan.is_empty() {
                        self.end(StreamEnd::Whole);
                    }
                    return Some(Ok(bytes.into()));
                }
                Act::Gate(gate) => self.pass(&gate).await,
                Act::Cut => {
                    // What was sent must leave the buffer before the connection breaks.
                    tokio::task::yield_now().await;
                    self.end(StreamEnd::Cut);
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                Act::Stall => std::future::pending().await,
            }
        }
    }

    fn end(&self, end: StreamEnd) {
        self.note(|request| {
            request.end.get_or_insert_with(|| (end, Instant::now()));
        });
    }

    fn note(&self, change: impl FnOnce(&mut super::record::Recorded)) {
        self.state.update(|state| change(&mut state.requests[self.index]));
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.end(StreamEnd::ClosedByClient);
    }
}

fn plan(encoder: &mut dyn Encoder, reply: &Stream) -> Vec<Act> {
    let mut plan = vec![Act::Send(encoder.begin(reply).into_bytes())];
    for step in &reply.steps {
        let bytes = encoder.step(step).into_bytes();
        if !bytes.is_empty() {
            plan.push(Act::Send(bytes));
        }
        match step {
            Step::Gate(gate) => plan.push(Act::Gate(gate.clone())),
            Step::Cut => plan.push(Act::Cut),
            Step::Stall => plan.push(Act::Stall),
            Step::Error { .. } => return plan,
            _ => {}
        }
    }
    plan.push(Act::Send(encoder.finish(reply).into_bytes()));
    plan
}

/// Cuts the bytes into pieces of one size, whatever the events are.
fn split(plan: Vec<Act>, size: usize) -> Vec<Act> {
    let mut out = Vec::new();
    let mut run = Vec::new();
    for act in plan {
        match act {
            Act::Send(bytes) => run.extend(bytes),
            other => {
                out.extend(run.chunks(size).map(|piece| Act::Send(piece.to_vec())));
                run.clear();
                out.push(other);
            }
        }
    }
    out.extend(run.chunks(size).map(|piece| Act::Send(piece.to_vec())));
    out
}

/// Breaks the connection after `limit` bytes.
fn cut(plan: &mut Vec<Act>, limit: usize) {
    let mut left = limit;
    for place in 0..plan.len() {
        let Act::Send(bytes) = &mut plan[place] else { continue };
        if bytes.len() < left {
            left -= bytes.len();
            continue;
        }
        bytes.truncate(left);
        plan.truncate(place + 1);
        plan.push(Act::Cut);
        return;
    }
    panic!("the answer is shorter than the {limit} bytes after which it is to be cut");
}
