//! The output of `SessionStart` hooks, which goes with the first prompt that is accepted.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::hook::HookOutput;
use crate::protocol::{EventSink, HookEvent, WaitKind, report_wait};

/// Output of the `SessionStart` hooks, which goes with the first prompt that is accepted.
#[derive(Clone)]
pub(super) struct SessionStartHooks(Arc<Mutex<Option<SessionStartState>>>);

enum SessionStartState {
    /// They are still running.
    Running(oneshot::Receiver<HookOutput>),
    /// Their context for the model, kept because a hook refused the prompt that carried it.
    Context(String),
}

impl SessionStartHooks {
    pub fn new(output: Option<oneshot::Receiver<HookOutput>>) -> Self {
        Self(Arc::new(Mutex::new(output.map(SessionStartState::Running))))
    }

    fn take(&self) -> Option<SessionStartState> {
        self.0.lock().take()
    }

    fn put_back(&self, state: SessionStartState) {
        *self.0.lock() = Some(state);
    }

    /// Keeps the context for the next prompt: this one was refused.
    pub fn put_back_context(&self, context: String) {
        self.put_back(SessionStartState::Context(context));
    }

    /// Takes the hooks, if they are still running.
    pub fn running(&self) -> Option<oneshot::Receiver<HookOutput>> {
        match self.take()? {
            SessionStartState::Running(output) => Some(output),
            SessionStartState::Context(_) => None,
        }
    }

    /// Waits for the hooks' context for the model. It is returned once, unless it is put back.
    pub async fn wait_for_context(
        &self,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let mut output = match self.take()? {
            SessionStartState::Running(output) => output,
            SessionStartState::Context(context) => return Some(context),
        };
        let wait = WaitKind::Hooks { event: HookEvent::SessionStart };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.put_back(SessionStartState::Running(output));
                None
            }
            output = report_wait(events, || wait, &mut output) => {
                output.unwrap_or_default().context_text()
            }
        }
    }
}
