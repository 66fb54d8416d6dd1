//! Transcripts on disk: append-only, one file per agent, repaired at resume.
//!
//! A session is a folder `sessions/<session-id>/` with `transcript.jsonl` for the main agent, and
//! for each sub-agent `agents/<agent-id>.jsonl` and `agents/<agent-id>.meta.json`. Each line is one
//! record; the first says whose file it is. Nothing is on disk before an agent's first message.

mod journal;
mod list;
mod record;
mod repair;
mod replay;
mod requests;
mod store;
mod sync;
mod transcript;
mod unanswered;
mod writer;

pub use list::{AgentSummary, SessionSummary};
pub use record::{AgentHeader, Record, SessionHeader, VERSION};
pub use store::{
    FindError, Found, LostReport, NewSession, Opened, OpenedAgent, SessionStore, StoreError,
};
pub use transcript::{Transcript, Warning};
pub use unanswered::{CallResult, EndAsResult};
