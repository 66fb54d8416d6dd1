//! How full the main agent's window is, for `get_context_usage`.

use serde_json::{Value, json};

use super::super::info::LimitsOf;
use crate::protocol::{AgentEvent, CompactionState, EventKind};

/// What the last request of the main agent tells of its conversation.
#[derive(Debug)]
pub(super) struct Context {
    model: String,
    /// Tokens, as the provider has counted them; 0 before the first answer.
    used: u64,
    limits: LimitsOf,
}

impl Context {
    /// Nothing was said yet.
    pub fn new(model: String, limits: LimitsOf) -> Self {
        Self { model, used: 0, limits }
    }

    /// Takes an event of the main agent into account.
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

    /// As a line for a reader.
    pub fn text(&self) -> String {
        let Self { model, used, .. } = self;
        let window = self.limits.get(model).context_window;
        let percent = (used * 100).checked_div(window).unwrap_or(0);
        format!("Context: {used} of {window} tokens ({percent} %), model {model}")
    }

    /// In the shape that the SDK reads. Providers report one number for the whole conversation, so
    /// there is one category for it.
    pub fn report(&self) -> Value {
        let window = self.limits.get(&self.model).context_window;
        let free = window.saturating_sub(self.used);
        // Hundredths are enough for a person.
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
