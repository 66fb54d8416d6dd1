//! The place of a log record: one trace per session, and spans that nest as the agents do.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A piece of work in the log: an agent, or a tool call. The agent that a call starts shares the
/// call's span, so its work nests under the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    trace: Uuid,
    id: SpanId,
}

/// The id of a span: 16 hexadecimal digits in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpanId(u64);

impl Span {
    /// Creates the span of a main agent, which begins a trace.
    pub fn root() -> Self {
        Self { trace: Uuid::now_v7(), id: SpanId::generate() }
    }

    /// Creates a span below this one.
    pub fn child(&self) -> Self {
        Self { trace: self.trace, id: SpanId::generate() }
    }

    /// Returns the trace id, shared by all spans of a session.
    pub fn trace(&self) -> Uuid {
        self.trace
    }

    pub fn id(&self) -> SpanId {
        self.id
    }
}

impl SpanId {
    fn generate() -> Self {
        Self(fastrand::u64(1..))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
