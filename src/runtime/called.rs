//! `/name` at the beginning of a prompt: what a command or skill of that name says goes with it.

use super::Runtime;
use crate::custom::{Customs, Expansion};
use crate::protocol::{AgentPath, EventKind, NoticeLevel, QueuedPrompt, Sender};

impl Runtime {
    /// The prompt with what it means. `None` when it was given back, because the file of that name
    /// is broken. The files are read at this moment: what is edited counts at once.
    pub(super) async fn meant(&self, to: &AgentPath, prompt: QueuedPrompt) -> Option<QueuedPrompt> {
        if prompt.from != Sender::Person || !prompt.text.trim_start().starts_with('/') {
            return Some(prompt);
        }
        let (sources, text) = (self.parts.custom.clone(), prompt.text.clone());
        let expand = move || Customs::load(&sources).expand(&text);
        let expanded = match tokio::task::spawn_blocking(expand).await {
            Ok(expanded) => expanded,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let events = self.parts.events.sink_at(to.clone());
        match expanded {
            None => Some(prompt),
            Some(Ok(Expansion { text, notices })) => {
                for notice in notices {
                    events.notice(NoticeLevel::Warning, notice);
                }
                Some(QueuedPrompt { meaning: Some(text), ..prompt })
            }
            Some(Err(why)) => {
                let QueuedPrompt { id, text, .. } = prompt;
                events.emit(EventKind::PromptRefused { id, text, why });
                None
            }
        }
    }
}
