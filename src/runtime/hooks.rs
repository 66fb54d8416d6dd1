//! Runs the hooks on a session: on its start and its end, and when main waits for the user.

use std::time::Duration;

use tokio::time::Instant;

use super::serve::Runtime;
use super::session::{OpenRequest, RuntimeSession};
use super::start_hooks::SessionStartHooks;
use crate::hook::{HookContext, HookInput, NotificationKind, SessionEndReason, SessionSource};

/// How long to wait for hooks when the program exits.
const EXIT_HOOKS_WAIT: Duration = Duration::from_secs(3);

/// The part of it reserved for `SessionEnd` hooks, if others are still running.
const SESSION_END_WAIT: Duration = Duration::from_secs(1);

impl Runtime {
    /// Notifies hooks that a session is open and that the previous one, if any, has ended.
    pub(super) fn start_session_hooks(&mut self, open: OpenRequest, before: &RuntimeSession) {
        let (reason, source) = match open {
            OpenRequest::Stored(_) | OpenRequest::Fork { .. } => {
                (SessionEndReason::Resume, SessionSource::Resume)
            }
            OpenRequest::New(_) if self.start_hooks.is_none() => {
                (SessionEndReason::Other, SessionSource::Startup)
            }
            OpenRequest::New(_) => (SessionEndReason::Clear, SessionSource::Clear),
        };
        let context = self.hook_context();
        // In order: its start, its end, the start of the next.
        let ended = self.start_hooks.as_ref().and_then(|hooks| {
            before.hooks.start_after(hooks.running(), &HookInput::SessionEnd(reason), context)
        });
        let model = self.model.as_ref().map(|model| model.get().name.clone());
        let input = HookInput::SessionStart { source, model: model.as_deref() };
        let started = self.session.hooks.start_after(ended, &input, context);
        self.start_hooks = Some(SessionStartHooks::new(started));
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
    pub(super) async fn run_end_hooks(&self, reason: SessionEndReason) {
        let end = Instant::now() + EXIT_HOOKS_WAIT;
        let hooks = &self.parts.hooks;
        hooks.settle(EXIT_HOOKS_WAIT - SESSION_END_WAIT).await;
        if self.start_hooks.is_some() {
            self.session.hooks.notify(&HookInput::SessionEnd(reason), self.hook_context());
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
