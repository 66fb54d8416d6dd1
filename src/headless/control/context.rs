//! The main agent's context usage, for `get_context_usage`.

use serde_json::{Value, json};

use super::super::info::LimitsLookup;
use crate::protocol::{AgentEvent, CompactionState, EventKind};

/// The context usage reported by the main agent's last request.
#[derive(Debug)]
pub(super) struct ContextUsage {
    model: String,
    /// Tokens, as counted by the provider; 0 before the first answer.
    used: u64,
    limits: LimitsLookup,
}

impl ContextUsage {
    /// Starts with an empty conversation.
    pub fn new(model: String, limits: LimitsLookup) -> Self {
        Self { model, used: 0, limits }
    }

    /// Updates the usage from an event of the main agent.
    pub fn event(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::TurnFinished { usage, model, whole: true, .. } => {
                self.model.clone_from(model);
                self.used = usage.context();
            }
            EventKind::SessionOpened { history, .. } => {
                self.used = 0;
                history
                    .iter()
                    .filter(|event| event.path.is_root())
                    .for_each(|event| self.event(event));
            }
            EventKind::ModelChanged { model, .. } => self.model.clone_from(model),
            EventKind::Compaction { state: CompactionState::Done { after_tokens, .. }, .. } => {
                self.used = *after_tokens;
            }
            _ => {}
        }
    }

    /// Describes the usage in one line.
    pub fn text(&self) -> String {
        let Self { model, used, .. } = self;
        let window = self.limits.get(model).context_window;
        let percent = (used * 100).checked_div(window).unwrap_or(0);
        format!("Context: {used} of {window} tokens ({percent} %), model {model}")
    }

    /// Returns the usage in the SDK's format. Providers report one number for the whole
    /// conversation, so it has one category.
    pub fn report(&self) -> Value {
        let window = self.limits.get(&self.model).context_window;
        let free = window.saturating_sub(self.used);
        // Two decimals are enough.
        #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^52 tokens")]
        let percentage = match window {
            0 => 0.0,
            _ => (self.used as f64 * 10_000.0 / window as f64).round() / 100.0,
        };
        json!({
            "categories": [
                {"name": "Conversation", "tokens": self.used, "color": "blue"},
                {"name": "Free space", "tokens": free, "color": "gray"},
            ],
            "totalTokens": self.used, "maxTokens": window, "rawMaxTokens": window,
            "percentage": percentage, "model": self.model, "isAutoCompactEnabled": true,
            "memoryFiles": [], "mcpTools": [], "agents": [], "gridRows": [],
        })
    }
}
