//! Says which messages wait, and how each leaves the queue.

use super::speech::Speech;
use crate::protocol::{AgentPath, PromptId};
use crate::tui::model::TuiModel;
use crate::tui::queue::draw::recipient;
use crate::tui::queue::{MessageState, QueuedMessage};

/// The queued messages as they were last said.
#[derive(Default)]
pub(super) struct QueueLog(Vec<QueuedMessage>);

impl QueueLog {
    /// Says what has changed. The transcript that is `read` out says itself what its agent has read.
    pub fn say(&mut self, model: &TuiModel, read: Option<&AgentPath>, speech: &mut Speech) {
        let known = std::mem::take(&mut self.0);
        let find = |list: &[QueuedMessage], id: PromptId| {
            list.iter().find(|queued| queued.id == id).cloned()
        };
        for queued in model.queue.visible() {
            // The runtime has not given it back yet.
            let is_new = queued.state != MessageState::TakenBack
                && find(&known, queued.id).is_none_or(|before| {
                    (before.state, before.when) != (queued.state, queued.when)
                });
            if is_new {
                let (to, _) = recipient(model, queued);
                speech.text(&format!("Queued, {to}: "), &queued.text);
            }
            self.0.push(queued.clone());
        }
        for queued in known.iter().filter(|queued| find(&self.0, queued.id).is_none()) {
            let name = model.label(&queued.to);
            if model.queue.read.contains(&queued.id) {
                if read != Some(&queued.to) {
                    speech.text(&format!("Read by {name}: "), &queued.text);
                }
            } else if model.composer.text().contains(queued.as_draft().text.as_str()) {
                speech.text("Back in the prompt: ", &queued.text);
            }
        }
    }
}
