//! Expands `/name` at the start of a prompt to the text of the command or skill of that name.

use super::Runtime;
use crate::commands::{CommandSet, Expansion};
use crate::protocol::{AgentPath, EventKind, NoticeLevel, QueuedPrompt, Sender};

impl Runtime {
    /// Returns the prompt with its expansion, or `None` if it was refused because the file is
    /// broken. Reads the files each time, so edits take effect at once.
    pub(super) async fn expand(
        &self,
        to: &AgentPath,
        prompt: QueuedPrompt,
    ) -> Option<QueuedPrompt> {
        if prompt.from != Sender::Person || !prompt.text.trim_start().starts_with('/') {
            return Some(prompt);
        }
        let (sources, text) = (self.parts.custom.clone(), prompt.text.clone());
        let expand = move || CommandSet::load(&sources).expand(&text);
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
