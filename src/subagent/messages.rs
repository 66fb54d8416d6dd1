//! Messages between a parent and its own children. They never leave the process: each stays in the
//! receiver's queue until its next step.

use super::sanitize::sanitize;
use super::spawn::Spawner;
use super::tools::names::SEND_TOOL;
use super::tree::{DeliveryError, Recipient};
use crate::protocol::{AgentId, AgentPath};

/// The `agent_id` that means the sender's parent.
pub const PARENT_ID: &str = "parent";

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("`agent_id`: {0}")]
    Undelivered(#[from] DeliveryError),
    #[error("`message` has {count} characters; your parent accepts {limit}: shorten it.")]
    TooLong { count: usize, limit: usize },
}

/// The instructions on messages for a sub-agent, after a blank line. `parent` is its parent's name.
pub(super) fn instructions(parent: &str) -> String {
    format!(
        "\n\n# Messages\nYou and the agent that started you ({parent}) can exchange messages. {SEND_TOOL} with `agent_id` {PARENT_ID:?} sends it one: use it for what it must know or decide before your report, and for questions. Keep working meanwhile; answers arrive between your steps. A message does not replace your report."
    )
}

/// Puts a message into the queue of the sender's parent or of one of its own children. Returns the
/// receiver's name.
///
/// # Errors
/// If nobody would read it, or the sender and the receiver are not related. Nothing was sent then.
pub(super) fn send(
    spawner: &Spawner,
    from: &AgentPath,
    to: Recipient,
    message: &str,
) -> Result<String, SendError> {
    let name = &spawner.parent().name;
    let text = match to {
        Recipient::Parent => {
            let limit = spawner.factory().parts.settings.result_max_chars();
            let count = message.chars().count();
            if limit > 0 && count > limit {
                return Err(SendError::TooLong { count, limit });
            }
            let id = from.id().map(|id: AgentId| format!(" ({id})")).unwrap_or_default();
            format!("[Message from {name}{id}:]\n\n{}", sanitize(message))
        }
        Recipient::Child(_) => format!("[Message from {name}, which started you:]\n\n{message}"),
    };
    Ok(spawner.factory().parts.tree.send(from, name, to, text)?)
}
