//! Messages between a parent and its own children. They never leave the process: each lies in the
//! receiver's queue until its next step.

use super::Executor;
use super::defuse::defuse;
use super::tree::{Recipient, Undelivered};
use crate::protocol::{AgentId, AgentPath};

/// The tool that sends one.
pub const SEND: &str = "agent_send";

/// What stands for the id of the agent that started the sender.
pub const PARENT: &str = "parent";

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("`agent_id`: {0}")]
    Undelivered(#[from] Undelivered),
    #[error("`message` has {count} characters, and your parent takes {limit}: say less.")]
    TooLong { count: usize, limit: usize },
}

/// What a sub-agent is told of messages, after a blank line. `parent` is the name of the one that started it.
pub(super) fn instructions(parent: &str) -> String {
    format!(
        "\n\n# Messages\nMessages between you and the agent that started you ({parent}) are on. {SEND} with `agent_id` {PARENT:?} sends it one: for what it must know or decide before your report, and for questions. Go on working meanwhile; an answer comes between two of your steps. A message does not replace your report."
    )
}

/// Puts a message into the queue of the sender's parent or of one of its own children. Answers with
/// the receiver's name.
///
/// # Errors
/// When there is nobody to read it, or the sender has no business with the receiver. Nothing was sent then.
pub(super) fn send(
    executor: &Executor,
    from: &AgentPath,
    to: Recipient,
    message: &str,
) -> Result<String, SendError> {
    let name = executor.name();
    let text = match to {
        Recipient::Parent => {
            let limit = executor.factory().settings.result_max_chars;
            let count = message.chars().count();
            if limit > 0 && count > limit {
                return Err(SendError::TooLong { count, limit });
            }
            let id = from.id().map(|id: AgentId| format!(" ({id})")).unwrap_or_default();
            format!("[Message from {name}{id}:]\n\n{}", defuse(message))
        }
        Recipient::Child(_) => format!("[Message from {name}, which started you:]\n\n{message}"),
    };
    Ok(executor.factory().tree.send(from, name, to, text)?)
}
