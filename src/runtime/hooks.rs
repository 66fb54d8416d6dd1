//! Runs the hooks around a session: its start, its prompts, its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assemble::RuntimeSession;
use super::{OpenRequest, Runtime};
use crate::agent::{Agent, Prompt};
use crate::hook::{
    HookContext, HookInput, HookOutput, NotificationKind, SessionEndReason, SessionSource,
};
use crate::protocol::{EventSink, HookEvent, WaitKind, report_wait};

/// How long to wait for hooks when the program exits.
const EXIT_HOOKS_WAIT: Duration = Duration::from_secs(3);

/// The part of it reserved for `SessionEnd` hooks, if others are still running.
const SESSION_END_WAIT: Duration = Duration::from_secs(1);

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
    fn new(said: Option<oneshot::Receiver<HookOutput>>) -> Self {
        Self(Arc::new(Mutex::new(said.map(SessionStartState::Running))))
    }

    fn take(&self) -> Option<SessionStartState> {
        self.0.lock().take()
    }

    fn put_back(&self, beginning: SessionStartState) {
        *self.0.lock() = Some(beginning);
    }

    /// Takes the hooks, if they are still running.
    fn running(&self) -> Option<oneshot::Receiver<HookOutput>> {
        match self.take()? {
            SessionStartState::Running(said) => Some(said),
            SessionStartState::Context(_) => None,
        }
    }

    /// Waits for the hooks' context for the model. It is returned once, unless it is put back.
    async fn wait_for_context(
        &self,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let mut said = match self.take()? {
            SessionStartState::Running(said) => said,
            SessionStartState::Context(context) => return Some(context),
        };
        let wait = WaitKind::Hooks { event: HookEvent::SessionStart };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.put_back(SessionStartState::Running(said));
                None
            }
            said = report_wait(events, || wait, &mut said) => said.unwrap_or_default().context_text(),
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

impl Runtime {
    /// Notifies hooks that a session is open and that the previous one, if any, has ended.
    pub(super) fn start_session_hooks(&mut self, open: OpenRequest, before: &RuntimeSession) {
        let (leaving, opening) = match open {
            OpenRequest::Stored(_) | OpenRequest::Fork { .. } => {
                (SessionEndReason::Resume, SessionSource::Resume)
            }
            OpenRequest::New(_) if self.start_hooks.is_none() => {
                (SessionEndReason::Other, SessionSource::Startup)
            }
            OpenRequest::New(_) => (SessionEndReason::Clear, SessionSource::Clear),
        };
        let here = self.hook_context();
        // In order: its start, its end, the start of the next.
        let left = self.start_hooks.as_ref().and_then(|begun| {
            before.hooks.start_after(begun.running(), &HookInput::SessionEnd(leaving), here)
        });
        let model = self.model.as_ref().map(|model| model.get().name.clone());
        let moment = HookInput::SessionStart { opening, model: model.as_deref() };
        let said = self.session.hooks.start_after(left, &moment, here);
        self.start_hooks = Some(SessionStartHooks::new(said));
    }

    /// Notifies hooks that main is done and waiting for the user.
    pub(super) fn notify_idle(&self) {
        if self.run.is_none() && self.parts.background_wait.is_none() {
            self.session
                .hooks
                .notify(&HookInput::Notification(NotificationKind::Idle), self.hook_context());
        }
    }

    /// Notifies hooks that the session ends with the program, and waits for all that are still
    /// running, up to a limit. Hooks of earlier events finish first, if there is time.
    pub(super) async fn run_end_hooks(&self, leaving: SessionEndReason) {
        let end = Instant::now() + EXIT_HOOKS_WAIT;
        let hooks = &self.parts.hooks;
        hooks.settle(EXIT_HOOKS_WAIT - SESSION_END_WAIT).await;
        if self.start_hooks.is_some() {
            self.session.hooks.notify(&HookInput::SessionEnd(leaving), self.hook_context());
        }
        hooks.finish(end.saturating_duration_since(Instant::now())).await;
    }

    fn hook_context(&self) -> HookContext<'_> {
        HookContext {
            cwd: &self.parts.cwd,
            mode: self.parts.agents.gate.mode(),
            events: &self.events,
        }
    }
}
