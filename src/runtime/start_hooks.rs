//! Runs main with its prompt hooks, after the hooks on the start of its session.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Prompt};
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

    /// Takes the hooks, if they are still running.
    pub fn running(&self) -> Option<oneshot::Receiver<HookOutput>> {
        match self.take()? {
            SessionStartState::Running(output) => Some(output),
            SessionStartState::Context(_) => None,
        }
    }

    /// Waits for the hooks' context for the model. It is returned once, unless it is put back.
    async fn wait_for_context(
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

/// Runs main once, with its prompt hooks. The `SessionStart` hooks finish before those of the first
/// prompt start.
pub(super) async fn run(
    agent: &mut Agent,
    prompt: Option<Prompt>,
    start_hooks: Option<SessionStartHooks>,
    events: &EventSink,
    cancel: &CancellationToken,
) {
    let prompt = match (prompt, start_hooks) {
        (Some(mut prompt), Some(start_hooks)) => {
            let context = start_hooks.wait_for_context(events, cancel).await;
            prompt.context.hooks.extend(context.clone());
            let Some(prompt) = agent.run_prompt_hooks(prompt, events, cancel).await else {
                if let Some(context) = context {
                    start_hooks.put_back(SessionStartState::Context(context));
                }
                return;
            };
            Some(prompt)
        }
        (Some(prompt), None) => match agent.run_prompt_hooks(prompt, events, cancel).await {
            Some(prompt) => Some(prompt),
            None => return,
        },
        (None, _) => None,
    };
    let run = AssertUnwindSafe(agent.run(prompt, events, cancel)).catch_unwind();
    if let Err(panic) = Box::pin(run).await {
        // Hooks are notified of the end of a run, whatever caused it.
        agent.notify_end("", events);
        std::panic::resume_unwind(panic);
    }
}
