//! Prompts that wait for an agent at work: put in by the person, taken out between two steps.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::{PromptId, QueuedPrompt, When};

/// One agent's queue of prompts. Clones are the same queue.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Mutex<VecDeque<QueuedPrompt>>>);

impl Inbox {
    /// Puts a prompt at the end.
    pub fn push(&self, prompt: QueuedPrompt) {
        self.lock().push_back(prompt);
    }

    /// Takes one prompt back, if it was not read yet.
    #[must_use]
    pub fn take_back(&self, id: PromptId) -> Option<QueuedPrompt> {
        let mut waiting = self.lock();
        let place = waiting.iter().position(|prompt| prompt.id == id)?;
        waiting.remove(place)
    }

    /// Changes when a prompt is read.
    pub fn requeue(&self, id: PromptId, when: When) {
        if let Some(prompt) = self.lock().iter_mut().find(|prompt| prompt.id == id) {
            prompt.when = when;
        }
    }

    /// Takes all prompts that the agent reads at its next step, oldest first.
    #[must_use]
    pub fn take_next_step(&self) -> Vec<QueuedPrompt> {
        let mut waiting = self.lock();
        let (now, later) = waiting.drain(..).partition(|prompt| prompt.when == When::NextStep);
        *waiting = later;
        now.into()
    }

    /// Takes the oldest prompt, whenever it was meant to be read.
    #[must_use]
    pub fn take_first(&self) -> Option<QueuedPrompt> {
        self.lock().pop_front()
    }

    /// Takes everything, oldest first.
    #[must_use]
    pub fn take_all(&self) -> Vec<QueuedPrompt> {
        self.lock().drain(..).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedPrompt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
