//! Messages that a provider rejects.
//!
//! A request whose content is invalid or too long fails whenever it is repeated, so what the agent
//! has read since its last answer leaves the conversation. Otherwise each later prompt would fail
//! with it. A retry puts it back. The journal keeps the messages, and the end of the run says that
//! they were rejected.

use std::sync::Arc;

use super::size;
use super::state::{Agent, RejectedMessages};
use crate::protocol::{ContentBlock, leave_out_rejected, start_of_unanswered};
use crate::provider::{ErrorKind, ProviderError};

impl Agent {
    /// Takes what was read since the last answer out of the conversation if it is why the request
    /// failed. Returns whether it did.
    pub(super) fn leave_out_rejected(&mut self, error: &ProviderError) -> bool {
        let at = start_of_unanswered(&self.history);
        if !error.is_about_content() || at == self.history.len() {
            return false;
        }
        // Without room for the rest either, the conversation has to be summarized.
        if error.kind == ErrorKind::ContextFull && at > 0 && !self.has_room_for(at) {
            return false;
        }
        let history = Arc::make_mut(&mut self.history);
        let messages = history[at..].to_vec();
        leave_out_rejected(&mut history[at..]);
        history.retain(|message| !message.content.is_empty());
        self.removals += 1;
        self.rejected = Some(RejectedMessages { at, messages });
        true
    }

    /// Whether the first messages alone leave the model room for an answer.
    fn has_room_for(&self, messages: usize) -> bool {
        let (first, model) = (&self.history[..messages], self.setup.model.get());
        let measured = self.measured.filter(|known| known.messages <= messages);
        size::context(&self.system, &self.specs, first, measured) <= size::max_context(&model)
    }

    /// Puts rejected messages back into the conversation, for a retry.
    pub(super) fn restore_rejected(&mut self) {
        if let Some(RejectedMessages { at, messages }) = self.rejected.take() {
            let history = Arc::make_mut(&mut self.history);
            history.truncate(at);
            history.extend(messages);
        }
    }

    /// Moves rejected messages behind a summary that has replaced the conversation before them.
    pub(super) fn move_rejected_behind_summary(&mut self) {
        let Some(rejected) = &mut self.rejected else { return };
        rejected.at = self.history.len();
        // Their calls are gone.
        let is_independent =
            |block: &ContentBlock| !matches!(block, ContentBlock::ToolResult { .. });
        rejected.messages.iter_mut().for_each(|message| message.content.retain(is_independent));
        rejected.messages.retain(|message| !message.content.is_empty());
    }
}
