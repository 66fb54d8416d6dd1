//! Adds to an agent's conversation. Each message goes to the journal first, so the file never lags
//! behind.

use std::sync::Arc;

use super::Agent;
use super::call_result::error_result;
use super::run::{Run, Stop};
use super::size::Measured;
use crate::protocol::{ContentBlock, JournalError, Message, Reply, StopReason};

impl Agent {
    /// Takes a whole answer into the conversation; says which calls it holds.
    pub(super) async fn accept(
        &mut self,
        reply: Reply,
        run: &mut Run<'_>,
    ) -> Result<Vec<ContentBlock>, Stop> {
        if reply.stop_reason == StopReason::Refusal {
            run.text.clear();
            return Ok(Vec::new());
        }
        let calls: Vec<_> = reply
            .content
            .iter()
            .filter(|block| matches!(block, ContentBlock::ToolUse { .. }))
            .cloned()
            .collect();
        let tokens = reply.usage.context();
        let message = Message::assistant(reply.content);
        let text = message.text();
        // What was said beside calls is kept only as a partial text; an answer without text is not a text.
        if !text.is_empty() || calls.is_empty() {
            run.text = text;
        }
        if !message.content.is_empty() {
            self.write_answer(&message).await?;
            self.push(message);
        }
        let messages = self.history.len();
        self.measured = (tokens > 0).then_some(Measured { messages, tokens });
        Ok(calls)
    }

    /// Answers calls that will not run.
    pub(super) async fn refuse(&mut self, calls: &[ContentBlock], why: &str) -> Result<(), Stop> {
        let results: Vec<_> = calls
            .iter()
            .filter_map(|call| match call {
                ContentBlock::ToolUse { id, .. } => Some(error_result(id, why)),
                _ => None,
            })
            .collect();
        if results.is_empty() {
            return Ok(());
        }
        self.keep(Message::user(results)).await?;
        Ok(())
    }

    /// Writes a message to the journal, then takes it into the conversation.
    pub(super) async fn keep(&mut self, message: Message) -> Result<(), JournalError> {
        let written = self.setup.journal.append(&message, None).await;
        // Results of tools that ran are taken in all the same: calls without results would spoil
        // the conversation. The file gets such results when it is read again.
        if written.is_ok() || holds_results(&message) {
            self.push(message);
        }
        written
    }

    /// Takes a message into the conversation. Nobody else holds it between two steps, so nothing is copied.
    pub(super) fn push(&mut self, message: Message) {
        Arc::make_mut(&mut self.history).push(message);
    }

    /// Writes an answer to the journal, with the model that made it.
    pub(super) async fn write_answer(&self, message: &Message) -> Result<(), JournalError> {
        self.setup.journal.append(message, self.setup.thinker.as_deref()).await
    }
}

pub(super) fn holds_results(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
}
