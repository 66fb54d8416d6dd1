//! Opens the runtime's session, switches to another, and reloads it after an internal failure. Runs
//! the hooks on both ends of a session.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::serve::{RUN_END_WAIT, Runtime, end_background, model_changed_event};
use super::session::{OpenRequest, RuntimeSession, open_session};
use super::start_hooks::SessionStartHooks;
use crate::hook::{HookContext, HookInput, NotificationKind, SessionEndReason, SessionSource};
use crate::protocol::{EventKind, NoJournal, NoticeLevel};

/// How long to wait for hooks when the program exits.
const EXIT_HOOKS_WAIT: Duration = Duration::from_secs(3);

/// The part of it reserved for `SessionEnd` hooks, if others are still running.
const SESSION_END_WAIT: Duration = Duration::from_secs(1);

impl Runtime {
    /// Switches to another session. Only between runs.
    pub(super) async fn change_session(&mut self, open: OpenRequest) {
        if let Err(why) = self.open(open).await {
            self.events.emit(EventKind::SessionFailed { why });
        }
    }

    /// Opens a session and reports it. On error, which is one line for the user, the current session is kept.
    pub async fn open(&mut self, open: OpenRequest) -> Result<(), String> {
        let mut session = open_session(&self.parts, open).await?;
        // Background work belongs to the previous session.
        self.tree.end_all(RUN_END_WAIT).await;
        end_background(&self.parts).await;
        self.tree.clear();
        self.inbox = self.tree.main_inbox();
        self.main = None;
        self.subagent_tools = None;
        self.context = None;
        self.halted = false;
        self.shell.take_finished();
        let history = std::mem::take(&mut session.events);
        let forked = matches!(open, OpenRequest::Fork { .. });
        self.events.emit(EventKind::SessionOpened { id: session.id, history, forked });
        let lost = std::mem::take(&mut session.lost_reports);
        let agents = std::mem::take(&mut session.agents);
        match open {
            // They belong to the original session.
            OpenRequest::Fork { .. } => self.report_lost(agents, &lost),
            OpenRequest::New(_) | OpenRequest::Stored(_) => self.restore(agents, &lost),
        }
        if let Some(model) = &self.model {
            self.events.emit(model_changed_event(&model.get()));
        }
        for notice in std::mem::take(&mut self.notices) {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        for notice in &session.notices {
            self.events.notice(NoticeLevel::Warning, notice.clone());
        }
        let before = std::mem::replace(&mut self.session, session);
        self.start_session_hooks(open, &before);
        self.start_servers();
        Ok(())
    }

    /// Syncs the session's files to disk in the background. Awaiting the handle also waits for earlier calls.
    pub(super) fn sync(&self) -> JoinHandle<()> {
        let store = self.parts.store.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(Err(error)) = store.map(|store| store.sync()) {
                tracing::warn!(%error, "the session could not be put onto the disk");
            }
        })
    }

    pub(super) async fn reload(&mut self) {
        // The file stays locked as long as its journal or one of its agents' journals is open.
        self.tree.end_all(RUN_END_WAIT).await;
        self.session.journal = Arc::new(NoJournal);
        self.subagent_tools = None;
        self.context = None;
        let stored = OpenRequest::Stored(self.session.id);
        match open_session(&self.parts, stored).await {
            Ok(session) => self.session = session,
            Err(error) => self.events.notice(NoticeLevel::Error, error),
        }
    }

    /// Starts the session's servers without waiting for them.
    pub(super) fn start_servers(&self) {
        let events = self.events.clone();
        self.parts.agents.mcp.start(move |line| events.notice(NoticeLevel::Warning, line));
    }

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
        let here = self.hook_context();
        // In order: its start, its end, the start of the next.
        let ended = self.start_hooks.as_ref().and_then(|hooks| {
            before.hooks.start_after(hooks.running(), &HookInput::SessionEnd(reason), here)
        });
        let model = self.model.as_ref().map(|model| model.get().name.clone());
        let input = HookInput::SessionStart { source, model: model.as_deref() };
        let started = self.session.hooks.start_after(ended, &input, here);
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
