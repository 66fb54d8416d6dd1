//! Results of calls that were interrupted when the program ended, if the call had started a sub-agent.
//!
//! A sub-agent's own file is authoritative on how it ended. The possible states of a call, and its result:
//!
//! | the caller's file has | the sub-agent's file has | result |
//! |---|---|---|
//! | the message with all results | anything | as written |
//! | the result of this call alone | anything | as written |
//! | no result | an end by itself | the same as if the call had waited for it |
//! | no result | no end, then marked as interrupted | interrupted, with what it had said so far |
//! | no result | nothing, because it had not begun | interrupted |

use super::list::AgentSummary;
use super::repair::interrupted_result;
use crate::protocol::{AgentPath, ContentBlock, ResultBlock, ToolDetails, ToolUseId};

/// The result of a call that started a sub-agent, made from the agent's end.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCallResult {
    pub text: String,
    pub is_error: bool,
    /// Identifies the agent.
    pub details: ToolDetails,
}

/// Converts a stored sub-agent's end to the result of the call that started it; `None` while it has no end.
pub type EndAsResult<'a> = dyn Fn(&AgentSummary) -> Option<AgentCallResult> + 'a;

/// Returns a function that makes the results of the open calls of the agent at `path`.
pub(super) fn missing_results<'a>(
    agents: &'a [AgentSummary],
    path: &'a AgentPath,
    end_as_result: &'a EndAsResult<'_>,
) -> impl Fn(&ToolUseId) -> ContentBlock + 'a {
    move |call| {
        // Two agents may have calls of the same id.
        let own = |agent: &&AgentSummary| agent.meta.path.parent().as_ref() == Some(path);
        let started = agents.iter().filter(own).rfind(|agent| agent.meta.tool_use_id == *call);
        let Some(AgentCallResult { text, is_error, details }) = started.and_then(end_as_result)
        else {
            return interrupted_result(call);
        };
        ContentBlock::ToolResult {
            tool_use_id: call.clone(),
            content: vec![ResultBlock::text(text)],
            is_error,
            call: String::new(),
            summary: String::new(),
            details: Some(details),
        }
    }
}
