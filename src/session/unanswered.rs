//! The result of a call that was cut off when the program ended, if the call had started a sub-agent.
//!
//! A sub-agent's own file is the truth about how it ended. The states that a call can be found in,
//! and its result:
//!
//! | the caller's file has | the sub-agent's file has | result |
//! |---|---|---|
//! | the message with all results | anything | as written |
//! | the result of this call alone | anything | as written |
//! | no result | an end by itself | the same as if the call had waited for it |
//! | no result | no end, then marked as interrupted | interrupted, with what it had said so far |
//! | no result | nothing, because it had not begun | interrupted |

use super::list::AgentSummary;
use super::repair::interrupted;
use crate::protocol::{AgentPath, ContentBlock, ResultBlock, ToolDetails, ToolUseId};

/// The result of a call that a sub-agent's end answers.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub text: String,
    pub is_error: bool,
    /// Says whose end it is.
    pub details: ToolDetails,
}

/// Words a stored sub-agent's end as the result of the call that had started it; `None` while it has no end.
pub type EndAsResult<'a> = dyn Fn(&AgentSummary) -> Option<CallResult> + 'a;

/// Makes the results of the calls that the agent at `path` had open.
pub(super) fn results<'a>(
    agents: &'a [AgentSummary],
    path: &'a AgentPath,
    end_as_result: &'a EndAsResult<'_>,
) -> impl Fn(&ToolUseId) -> ContentBlock + 'a {
    move |call| {
        // Two agents may have calls of the same id.
        let own = |agent: &&AgentSummary| agent.meta.path.parent().as_ref() == Some(path);
        let started = agents.iter().filter(own).rfind(|agent| agent.meta.tool_use_id == *call);
        let Some(CallResult { text, is_error, details }) = started.and_then(end_as_result) else {
            return interrupted(call);
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
