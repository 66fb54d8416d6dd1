//! Adds to an agent's conversation. Each message goes to the journal first, so the file never lags
//! behind.

use std::sync::Arc;

use super::call_result::error_result;
use super::run::{AgentRun, RunError};
use super::size::ReportedSize;
use super::state::Agent;
use crate::protocol::{ContentBlock, JournalError, Message, Reply, StopReason};

impl Agent {
    /// Adds a complete answer to the conversation; returns its calls.
    pub(super) async fn accept(
        &mut self,
        reply: Reply,
        run: &mut AgentRun<'_>,
    ) -> Result<Vec<ContentBlock>, RunError> {
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
        // Text beside calls is kept only as a partial text; an answer without text is not a text.
        if !text.is_empty() || calls.is_empty() {
            run.text = text;
        }
        if !message.content.is_empty() {
            self.write_answer(&message).await?;
            self.push(message);
        }
        let messages = self.history.len();
        self.measured = (tokens > 0).then_some(ReportedSize { messages, tokens });
        Ok(calls)
    }

    /// Answers calls that will not run.
    pub(super) async fn refuse(
        &mut self,
        calls: &[ContentBlock],
        why: &str,
    ) -> Result<(), RunError> {
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

    /// Writes a message to the journal, then adds it to the conversation.
    pub(super) async fn keep(&mut self, message: Message) -> Result<(), JournalError> {
        let written = self.setup.journal.append(&message, None).await;
        // Results of tools that ran are added even if writing failed: calls without results would
        // make the conversation invalid. The file gets such results when it is read again.
        if written.is_ok() || holds_results(&message) {
            self.push(message);
        }
        written
    }

    /// Adds a message to the conversation. Nothing else holds it between two steps, so nothing is
    /// copied.
    pub(super) fn push(&mut self, message: Message) {
        Arc::make_mut(&mut self.history).push(message);
    }

    /// Writes an answer to the journal, with the model that made it.
    pub(super) async fn write_answer(&self, message: &Message) -> Result<(), JournalError> {
        self.setup.journal.append(message, self.setup.reasoning_model.as_deref()).await
    }
}

pub(super) fn holds_results(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
}
