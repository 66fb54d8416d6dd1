//! Sub-agents of earlier runs: restored when a session is opened, and resumed at the user's request.

use super::serve::Runtime;
use super::session::{RuntimeSession, stored_result};
use super::subagent_tools::SubagentTools;
use crate::protocol::{AgentId, EventKind, NoticeLevel, RunEnd, SessionId};
use crate::session::{AgentSummary, LostReport, OpenAgent};
use crate::subagent::{AgentPhase, StoredAgent, restore_agent};

impl Runtime {
    /// Adds the stored agents of a session to the tree. All have ended: those that were cut off are
    /// already marked as interrupted in their files.
    ///
    /// Main receives ends missing from its conversation with the next prompt. They do not wake it,
    /// because that would cost money nobody asked it to spend.
    pub(super) fn restore(&self, agents: Vec<AgentSummary>, lost: &[LostReport]) {
        let max_chars = self.parts.agents.settings.result_max_chars();
        let known = agents.into_iter().filter_map(|AgentSummary { meta, end, .. }| {
            let events = self.parts.events.sink_at(meta.path.clone());
            let lost = lost.iter().find(|lost| lost.id == meta.id);
            let worktree = lost.and_then(|lost| lost.worktree.as_ref());
            let (ended, message) = restore_agent(&meta, end?, worktree, max_chars);
            Some((events, ended, lost.map(|_| message)))
        });
        self.tree.restore(known);
        self.inbox.clear_wakeup();
    }

    /// Reports agents to main that ended in the session it was forked from.
    pub(super) fn report_lost(&self, agents: Vec<AgentSummary>, lost: &[LostReport]) {
        let max_chars = self.parts.agents.settings.result_max_chars();
        for AgentSummary { meta, end, .. } in agents {
            let worktree = lost.iter().find(|lost| lost.id == meta.id);
            let worktree = worktree.and_then(|lost| lost.worktree.as_ref());
            if let Some(outcome) = end {
                let (_, message) = restore_agent(&meta, outcome, worktree, max_chars);
                self.tree.push_main_report(&meta.agent, &meta.name, meta.id, message);
            }
        }
        self.inbox.clear_wakeup();
    }

    /// Resumes an ended agent in the background. A failure becomes one notice.
    pub(super) async fn resume_agent(&mut self, id: AgentId) {
        if let Err(why) = self.try_resume(id).await {
            self.events.notice(NoticeLevel::Error, why);
        }
    }

    /// Reads the stored conversation of an ended agent for the front end. Working agents have
    /// already sent theirs.
    pub(super) async fn read_transcript(&self, id: AgentId) {
        let known = self.tree.look_up(id);
        if known.is_some_and(|agent| !matches!(agent.phase, AgentPhase::Ended(_))) {
            return;
        }
        let Some(store) = self.parts.store.clone() else { return };
        let (session, max_chars) = (self.session.id, self.parts.agents.settings.result_max_chars());
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
        // Its earlier conversation appears above the new one.
        self.read_transcript(id).await;
        let name = agent.info.name;
        match agent.phase {
            AgentPhase::Ended(ended)
                if ended.outcome.end == (RunEnd::Cancelled { before_start: true }) =>
            {
                return Err(format!("{name} never started, so there is nothing to resume"));
            }
            AgentPhase::Ended(_) => {}
            AgentPhase::Queued | AgentPhase::Running => {
                return Err(format!("{name} is still running"));
            }
        }
        let OpenAgent { journal, transcript, meta, lost } =
            self.open_agent(self.session.id, id).await.map_err(|why| format!("{name}: {why}"))?;
        self.prepare_main().await;
        let Some(spawner) = self.subagent_tools.as_ref().map(SubagentTools::spawner) else {
            return Err(format!(
                "{name} cannot be resumed: this session has no model or no sub-agents"
            ));
        };
        let max_chars = self.parts.agents.settings.result_max_chars();
        let reports = lost.into_iter().filter_map(|(AgentSummary { meta, end, .. }, worktree)| {
            let (_, message) = restore_agent(&meta, end?, worktree.as_ref(), max_chars);
            Some((meta.id, meta.name, message))
        });
        let stored = StoredAgent {
            reports: reports.collect(),
            meta,
            end: transcript.end.map_or(RunEnd::Interrupted, |outcome| outcome.end),
            messages: transcript.messages,
            reasoning_model: transcript.model,
            worktree: transcript.worktree,
            journal,
        };
        let RuntimeSession { budget, .. } = &self.session;
        let resumed = spawner.resume(stored, budget, &self.events).await;
        resumed.map_err(|error| error.to_string())
    }

    async fn open_agent(&self, session: SessionId, id: AgentId) -> Result<OpenAgent, String> {
        let kept = self.parts.store.clone().filter(|_| self.parts.agents.settings.config.persist);
        let store = kept.ok_or("its transcript was not stored, so it cannot be resumed")?;
        let max_chars = self.parts.agents.settings.result_max_chars();
        let opened = tokio::task::spawn_blocking(move || {
            store.open_agent(session, id, &stored_result(max_chars))
        })
        .await;
        opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Builds the main agent if there is none yet: sub-agents derive from it.
    async fn prepare_main(&mut self) {
        if self.run.is_none()
            && self.main.is_none()
            && let Some(model) = self.model.clone()
        {
            let main = self.take_main(model, None).await;
            self.main = Some(main);
        }
    }
}
