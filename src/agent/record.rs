//! Log records of an agent's work: one shape for every turn and every tool call.

use std::borrow::Cow;
use std::time::Duration;

use tracing::info;

use crate::protocol::{AgentPath, Cost, Span, Usage};

/// Bytes of an input or output in a record at debug level.
const MAX_CONTENT_BYTES: usize = 4096;

/// One tool call that has its result.
pub(super) struct CallRecord<'a> {
    pub tool: &'a str,
    pub agent: &'a AgentPath,
    /// The span of the call itself.
    pub span: Span,
    /// The span of the agent that made it.
    pub parent: Span,
    pub took: Duration,
    pub in_bytes: usize,
    /// Without keys; only at debug level.
    pub input: Option<Cow<'a, str>>,
    pub output: Option<Cow<'a, str>>,
    pub out_bytes: usize,
    pub status: &'static str,
}

impl CallRecord<'_> {
    /// Writes the record.
    pub fn write(&self) {
        let Self { tool, agent, span, parent, status, in_bytes, out_bytes, .. } = self;
        info!(
            event = "tool_call",
            tool,
            %agent,
            delegation_depth = agent.depth(),
            trace_id = %span.trace(),
            span_id = %span.id(),
            parent_span_id = %parent.id(),
            ms = millis(self.took),
            in_bytes,
            out_bytes,
            status,
            input = self.input.as_deref().map(head),
            output = self.output.as_deref().map(head),
        );
    }
}

/// Records that a request goes out. The turns of an agent belong to the agent's span.
pub(super) fn turn_started(agent: &AgentPath, span: Span, turn: u32, model: &str) {
    info!(
        event = "turn_started",
        %agent,
        delegation_depth = agent.depth(),
        trace_id = %span.trace(),
        parent_span_id = %span.id(),
        turn,
        model,
    );
}

/// Records that a summary replaced a conversation. Approximate tokens of the whole context.
pub(super) fn compacted(agent: &AgentPath, span: Span, before_tokens: u64, after_tokens: u64) {
    info!(
        event = "compacted",
        %agent,
        trace_id = %span.trace(),
        parent_span_id = %span.id(),
        before_tokens,
        after_tokens,
    );
}

/// One finished request.
pub(super) struct TurnRecord<'a> {
    pub agent: &'a AgentPath,
    pub span: Span,
    pub turn: u32,
    pub model: &'a str,
    pub took: Duration,
    pub usage: Usage,
    pub cost: Cost,
    pub status: &'static str,
}

impl TurnRecord<'_> {
    /// Writes the record.
    pub fn write(&self) {
        let Self { agent, span, turn, model, usage, status, .. } = self;
        info!(
            event = "turn_completed",
            %agent,
            delegation_depth = agent.depth(),
            trace_id = %span.trace(),
            parent_span_id = %span.id(),
            turn,
            model,
            ms = millis(self.took),
            input_tokens = usage.input_tokens,
            output_tokens = usage.output_tokens,
            cache_read_input_tokens = usage.cache_read_input_tokens,
            cache_creation_input_tokens = usage.cache_creation_input_tokens,
            cost_usd = (!self.cost.incomplete).then_some(self.cost.usd),
            status,
        );
    }
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_CONTENT_BYTES)]
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
