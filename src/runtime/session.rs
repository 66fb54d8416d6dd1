//! Which conversation the runtime serves: opened at the start, left for another, read again after a
//! failure inside.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::model::model_changed;
use super::{END_WAIT, Runtime, assemble, end_background};
use crate::protocol::{EventKind, NoJournal, NoticeLevel, SessionId};

/// What session a runtime starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    New(SessionId),
    /// A stored one, which is gone on with.
    Stored(SessionId),
    /// A new one that begins with the history of a stored one, which stays as it is.
    Fork {
        from: SessionId,
        to: SessionId,
    },
}

impl Runtime {
    /// Leaves the present session for another. Only between runs.
    pub(super) async fn change_session(&mut self, open: Open) {
        if let Err(why) = self.open(open).await {
            self.events.emit(EventKind::SessionFailed { why });
        }
    }

    /// Opens a session and says so. The error is one line for the person; the present session stays then.
    pub async fn open(&mut self, open: Open) -> Result<(), String> {
        let mut session = assemble::open_session(&self.parts, open).await?;
        // What works in the background belongs to the session that is left.
        self.tree.end_all(END_WAIT).await;
        end_background(&self.parts).await;
        self.tree.clear();
        self.inbox = self.tree.main_inbox();
        self.main = None;
        self.offer = None;
        self.brought = None;
        self.halted = false;
        self.shell.take_ended();
        let history = std::mem::take(&mut session.events);
        let forked = matches!(open, Open::Fork { .. });
        self.events.emit(EventKind::SessionOpened { id: session.id, history, forked });
        let lost = std::mem::take(&mut session.lost_reports);
        let agents = std::mem::take(&mut session.agents);
        match open {
            // They are the other session's.
            Open::Fork { .. } => self.report_lost(agents, &lost),
            Open::New(_) | Open::Stored(_) => self.restore(agents, &lost),
        }
        if let Some(model) = &self.model {
            self.events.emit(model_changed(&model.get()));
        }
        for notice in std::mem::take(&mut self.notices) {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        for notice in &session.notices {
            self.events.notice(NoticeLevel::Warning, notice.clone());
        }
        let before = std::mem::replace(&mut self.session, session);
        self.session_begins(open, &before);
        self.start_servers();
        Ok(())
    }

    /// Puts what the session has written onto the disk, beside everything else. Whoever waits for
    /// it waits for earlier calls too.
    pub(super) fn sync(&self) -> JoinHandle<()> {
        let store = self.parts.store.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(Err(error)) = store.map(|store| store.sync()) {
                tracing::warn!(%error, "the session could not be put onto the disk");
            }
        })
    }

    pub(super) async fn reload(&mut self) {
        // The file is locked as long as a journal holds it, and those of its agents hold it too.
        self.tree.end_all(END_WAIT).await;
        self.session.journal = Arc::new(NoJournal);
        self.offer = None;
        self.brought = None;
        let stored = Open::Stored(self.session.id);
        match assemble::open_session(&self.parts, stored).await {
            Ok(session) => self.session = session,
            Err(error) => self.events.notice(NoticeLevel::Error, error),
        }
    }
}
