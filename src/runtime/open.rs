//! Opens the runtime's session, switches to another, and reloads it after an internal failure.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::serve::{RUN_END_WAIT, Runtime, end_background};
use super::session::{
    OpenRequest, OpenedSession, SessionBlock, SessionPast, open_session, view_session,
};
use crate::protocol::{AgentEvent, EventKind, ModelCause, NoJournal, NoticeLevel, SessionId};
use crate::provider::{Model, ModelSlot};
use crate::session::StoreError;

impl Runtime {
    /// Switches to another session. Only between runs.
    pub(super) async fn change_session(&mut self, open: OpenRequest) {
        if let Err(why) = self.open_or_view(open).await {
            self.events.emit(EventKind::SessionFailed { why });
        }
    }

    /// Like [`Self::open`], but a session that another process writes to is opened to be read.
    pub async fn open_or_view(&mut self, open: OpenRequest) -> Result<(), String> {
        match open {
            OpenRequest::Stored(id) if self.is_in_use(id).await => {
                let session = view_session(&self.parts, id).await?;
                self.enter(open, session).await;
                Ok(())
            }
            _ => self.open(open).await,
        }
    }

    /// Whether another process writes to a session.
    async fn is_in_use(&self, id: SessionId) -> bool {
        let Some(store) = self.parts.store.clone() else { return false };
        let checked = tokio::task::spawn_blocking(move || store.check_unused(id)).await;
        matches!(checked, Ok(Err(StoreError::InUse(_))))
    }

    /// Continues in a copy of the session, or in the session itself if another process wrote to it and
    /// has left it. Only between runs.
    pub(super) async fn copy_session(&mut self) {
        let from = self.session.id;
        let was_in_use = self.session.block == Some(SessionBlock::InUse);
        let open = match was_in_use && !self.is_in_use(from).await {
            true => OpenRequest::Stored(from),
            false => OpenRequest::Fork { from, to: SessionId::generate() },
        };
        self.change_session(open).await;
    }

    /// Opens a session and reports it. On error, which is one line for the user, the current session is kept.
    pub async fn open(&mut self, open: OpenRequest) -> Result<(), String> {
        self.show_preview(open).await;
        let session = open_session(&self.parts, open).await?;
        self.enter(open, session).await;
        Ok(())
    }

    /// Leaves the current session for another.
    async fn enter(&mut self, open: OpenRequest, opened: OpenedSession) {
        let OpenedSession { session, past } = opened;
        let SessionPast { events: history, agents, lost_reports: lost, notices } = past;
        // Background work belongs to the previous session.
        self.tree.end_all(RUN_END_WAIT).await;
        end_background(&self.parts).await;
        self.tree.clear();
        self.inbox = self.tree.main_inbox();
        self.main = None;
        self.subagent_tools = None;
        self.project = None;
        self.halted = false;
        self.shell.leave_session();
        // They wait for the user's own command.
        let waiting = std::mem::take(&mut self.next);
        self.return_prompts(waiting);
        self.tree.continue_numbers(last_number(&history), last_shell(&history));
        let forked = matches!(open, OpenRequest::Fork { .. });
        self.events.emit(EventKind::SessionOpened { id: session.id, history, forked });
        let read_only = session.block == Some(SessionBlock::InUse);
        if read_only {
            self.events.emit(EventKind::SessionReadOnly);
        }
        match open {
            // They belong to the original session.
            OpenRequest::Fork { .. } => self.report_lost(agents, &lost),
            OpenRequest::New(_) | OpenRequest::Stored(_) => self.restore(agents, &lost),
        }
        if let Some(model) = &self.model {
            self.events.emit(model.get().changed_event(ModelCause::Program));
        }
        for notice in std::mem::take(&mut self.notices).into_iter().chain(notices) {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        let before = std::mem::replace(&mut self.session, session);
        if !matches!(open, OpenRequest::Stored(_)) && self.has_another_model() {
            self.record_model().await;
        }
        if !read_only {
            self.start_session_hooks(open, &before);
            self.start_servers();
        }
    }

    /// Whether the user has chosen another model than the program started with, which is that of a new
    /// session's first line.
    fn has_another_model(&self) -> bool {
        let used = |model: &Model| (model.provider.name().to_owned(), model.name.clone());
        let now = self.model.as_ref().map(|slot| used(&slot.get()));
        now.is_some() && now != self.parts.model.as_ref().map(used)
    }

    /// Records the model in use, with which the session is resumed.
    pub(super) async fn record_model(&self) {
        let Some(model) = self.model.as_ref().map(ModelSlot::get) else { return };
        let (provider, name) = (model.provider.name(), &model.name);
        if let Err(error) = self.session.journal.uses_model(provider, name).await {
            self.events.notice(NoticeLevel::Warning, error.to_string());
        }
    }

    /// Shows the end of a long session while the whole is read.
    async fn show_preview(&self, open: OpenRequest) {
        let (OpenRequest::Stored(id) | OpenRequest::Fork { from: id, .. }) = open else { return };
        let Some(store) = self.parts.store.clone() else { return };
        let preview = tokio::task::spawn_blocking(move || store.preview(id)).await;
        if let Ok(Some(history)) = preview {
            self.events.emit(EventKind::SessionPreview { history });
        }
    }

    /// Syncs the session's files to disk in the background. Awaiting the handle also waits for earlier calls.
    pub(super) fn sync(&self) -> JoinHandle<()> {
        let store = self.parts.store.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(Err(error)) = store.map(|store| store.sync()) {
                tracing::warn!(%error, "cannot sync the session to disk");
            }
        })
    }

    /// Reads the session again after a crash of main. If that fails, nothing else can be done in it:
    /// main would not know the conversation, and nothing would be stored.
    pub(super) async fn reload(&mut self) {
        // The file stays locked as long as its journal or one of its agents' journals is open.
        self.tree.end_all(RUN_END_WAIT).await;
        self.session.journal = Arc::new(NoJournal);
        self.subagent_tools = None;
        self.project = None;
        let stored = OpenRequest::Stored(self.session.id);
        match open_session(&self.parts, stored).await {
            Ok(OpenedSession { session, .. }) => {
                let before = std::mem::replace(&mut self.session, session);
                if self.parts.store.is_none() {
                    self.session.budget = before.budget;
                }
            }
            Err(error) => {
                self.session.block = Some(SessionBlock::Unreadable);
                self.events.notice(NoticeLevel::Error, error);
                self.events.notice(NoticeLevel::Error, SessionBlock::Unreadable.message());
            }
        }
    }

    /// Starts the session's servers without waiting for them.
    pub(super) fn start_servers(&self) {
        let events = self.events.clone();
        self.parts.agents.mcp.start(move |line| events.notice(NoticeLevel::Warning, line));
    }
}

/// The highest number of an agent in a session's past.
fn last_number(history: &[AgentEvent]) -> usize {
    let numbers = history.iter().map(|event| match &event.kind {
        EventKind::Started(info) | EventKind::Reported { info, .. } => info.number,
        _ => 0,
    });
    numbers.max().unwrap_or_default()
}

/// The highest number of a background command in a session's past.
fn last_shell(history: &[AgentEvent]) -> u32 {
    let numbers = history.iter().map(|event| match &event.kind {
        EventKind::BackgroundShellStarted { id, .. } => id.number().unwrap_or_default(),
        _ => 0,
    });
    numbers.max().unwrap_or_default()
}
