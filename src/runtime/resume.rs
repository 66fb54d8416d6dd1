//! Sub-agents of earlier runs: made known when a session is opened, and gone on with when the
//! person wants that.

use super::Runtime;
use super::assemble::{Session, stored_result};
use super::offer::Offer;
use crate::protocol::{AgentId, End, EventKind, NoticeLevel, SessionId};
use crate::session::{AgentSummary, LostReport, OpenedAgent};
use crate::subagent::{Phase, Stored, restored};

impl Runtime {
    /// Takes the stored agents of a session into the tree. Each has ended: those that were cut off
    /// are marked as interrupted in their files by now.
    ///
    /// Main reads of an end that its conversation does not have with the next prompt: it is not
    /// woken for that, which would cost money that nobody has asked it to spend.
    pub(super) fn restore(&self, agents: Vec<AgentSummary>, lost: &[LostReport]) {
        let max_chars = self.parts.subagents.settings.result_max_chars;
        let known = agents.into_iter().filter_map(|AgentSummary { meta, end, .. }| {
            let events = self.parts.events.sink_at(meta.path.clone());
            let lost = lost.iter().find(|lost| lost.id == meta.id);
            let worktree = lost.and_then(|lost| lost.worktree.as_ref());
            let (ended, message) = restored(&meta, end?, worktree, max_chars);
            Some((events, ended, lost.map(|_| message)))
        });
        self.tree.restore(known);
        self.inbox.hush();
    }

    /// Tells main of agents that have ended in the session that it was forked from.
    pub(super) fn report_lost(&self, agents: Vec<AgentSummary>, lost: &[LostReport]) {
        let max_chars = self.parts.subagents.settings.result_max_chars;
        for AgentSummary { meta, end, .. } in agents {
            let worktree = lost.iter().find(|lost| lost.id == meta.id);
            let worktree = worktree.and_then(|lost| lost.worktree.as_ref());
            if let Some(outcome) = end {
                let (_, message) = restored(&meta, outcome, worktree, max_chars);
                self.tree.tell_main(&meta.agent, &meta.name, meta.id, message);
            }
        }
        self.inbox.hush();
    }

    /// Goes on with an ended agent in the background. What is in the way becomes one notice.
    pub(super) async fn resume_agent(&mut self, id: AgentId) {
        if let Err(why) = self.try_resume(id).await {
            self.events.notice(NoticeLevel::Error, why);
        }
    }

    /// Reads the stored conversation of an ended agent for the front end. One at work has said all of it.
    pub(super) async fn read_transcript(&self, id: AgentId) {
        let known = self.tree.look_up(id);
        if known.is_some_and(|agent| !matches!(agent.phase, Phase::Ended(_))) {
            return;
        }
        let Some(store) = self.parts.store.clone() else { return };
        let (session, max_chars) =
            (self.session.id, self.parts.subagents.settings.result_max_chars);
        let read = tokio::task::spawn_blocking(move || {
            store.replay_agent(session, id, &stored_result(max_chars))
        });
        let read = read.await.map_err(|error| error.to_string());
        match read.and_then(|read| read.map_err(|error| error.to_string())) {
            Ok((path, events)) => {
                self.parts.events.sink_at(path).emit(EventKind::TranscriptRead { events });
            }
            Err(why) => self.events.notice(NoticeLevel::Warning, why),
        }
    }

    async fn try_resume(&mut self, id: AgentId) -> Result<(), String> {
        let Some(agent) = self.tree.look_up(id) else {
            return Err(format!("there is no agent {id} in this session"));
        };
        // What it said before stands above what it says from now on.
        self.read_transcript(id).await;
        let name = agent.info.name;
        match agent.phase {
            Phase::Ended(ended) if ended.outcome.end == (End::Cancelled { before_start: true }) => {
                return Err(format!("{name} never began: there is nothing to go on with"));
            }
            Phase::Ended(_) => {}
            Phase::Queued | Phase::Running => return Err(format!("{name} has not ended")),
        }
        let OpenedAgent { journal, transcript, meta, lost } =
            self.open_agent(self.session.id, id).await.map_err(|why| format!("{name}: {why}"))?;
        self.prepare_main().await;
        let Some(executor) = self.offer.as_ref().map(Offer::executor) else {
            return Err(format!(
                "{name} cannot go on: this session has no model, or no sub-agents"
            ));
        };
        let max_chars = self.parts.subagents.settings.result_max_chars;
        let reports = lost.into_iter().filter_map(|(AgentSummary { meta, end, .. }, worktree)| {
            let (_, message) = restored(&meta, end?, worktree.as_ref(), max_chars);
            Some((meta.id, meta.name, message))
        });
        let stored = Stored {
            reports: reports.collect(),
            meta,
            end: transcript.end.map_or(End::Interrupted, |outcome| outcome.end),
            messages: transcript.messages,
            thinker: transcript.model,
            worktree: transcript.worktree,
            journal,
        };
        let Session { budget, .. } = &self.session;
        let resumed = executor.resume(stored, budget, &self.events).await;
        resumed.map_err(|error| error.to_string())
    }

    async fn open_agent(&self, session: SessionId, id: AgentId) -> Result<OpenedAgent, String> {
        let kept = self.parts.store.clone().filter(|_| self.parts.subagents.settings.persist);
        let store = kept.ok_or("its transcript was not stored, so it cannot go on")?;
        let max_chars = self.parts.subagents.settings.result_max_chars;
        let opened = tokio::task::spawn_blocking(move || {
            store.open_agent(session, id, &stored_result(max_chars))
        })
        .await;
        opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Builds the main agent if there is none yet: sub-agents are built from what it is.
    async fn prepare_main(&mut self) {
        if self.run.is_none()
            && self.main.is_none()
            && let Some(model) = self.model.clone()
        {
            let main = self.take_main(model).await;
            self.main = Some(main);
        }
    }
}
