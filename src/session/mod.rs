//! Transcripts on disk: append-only, one file per agent, repaired at resume.
//!
//! A session is a folder `sessions/<session-id>/` with `transcript.jsonl` for the main agent, and
//! for each sub-agent `agents/<agent-id>.jsonl` and `agents/<agent-id>.meta.json`. Each line is one
//! record; the first says which agent the file belongs to. Nothing is written before an agent's
//! first message. `name` holds the name that the user gave the session.

mod journal;
mod list;
mod name;
mod parallel;
mod record;
mod repair;
mod replay;
mod requests;
mod store;
mod sync;
mod transcript;
mod writer;

pub use list::{AgentSummary, SessionPreview, SessionSummary};
pub use parallel::read_each;
pub use record::{AgentHeader, Record, SessionHeader, VERSION};
pub use repair::{AgentCallResult, EndAsResult};
pub use store::find::{FindError, IdMatch};
pub use store::prune::{PruneMode, PruneReport, PrunedSession};
pub use store::{LostReport, NewSession, OpenAgent, OpenSession, SessionStore, StoreError};
pub use transcript::{Transcript, Warning};
