//! Hooks: commands of the person, and callbacks of the driving program, that hear of what agents do
//! and have a say.
//!
//! What they are told, and how they answer, is what existing hook scripts for Claude Code know:
//! JSON on stdin, an exit code, perhaps JSON on stdout. Whatever is wrong with a hook is one line
//! for the person, and work goes on; only a call whose hook cannot even be started does not run.

mod answer;
mod input;
mod moment;
mod run;
mod said;
mod set;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::protocol::{AgentId, EventSink, HookEvent, Mode, SessionId, Wait, tell_wait};

pub use moment::{FinishedCall, Leaving, Moment, Need, Opening, ToolCall};
use run::Round;
pub use said::{Opinion, Said};
pub use set::{Hook, HookSet, HookSettings};

/// The hooks as one agent, or the session as a whole, has them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    set: HookSet,
    session: Arc<SessionFacts>,
    agent: Option<Arc<AgentFacts>>,
    /// Those of the agent's definition.
    own: Arc<[Arc<Hook>]>,
}

/// What a hook is told of the session.
#[derive(Clone, Debug, Default)]
pub struct SessionFacts {
    /// Absent before one is open.
    pub id: Option<SessionId>,
    /// Empty when the session is stored nowhere.
    pub transcript: PathBuf,
}

/// What a hook is told of a sub-agent.
#[derive(Debug)]
struct AgentFacts {
    id: AgentId,
    kind: String,
    /// Empty when the session is stored nowhere.
    transcript: PathBuf,
}

/// Where something happens, and who hears of what goes wrong.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// The agent's base directory.
    pub cwd: &'a Path,
    pub mode: Mode,
    pub events: &'a EventSink,
}

impl Hooks {
    /// Those of a session.
    #[must_use]
    pub fn new(set: HookSet, session: SessionFacts) -> Self {
        Self { set, session: Arc::new(session), agent: None, own: Arc::default() }
    }

    /// The same for a sub-agent, with those of its definition. `kind` is the definition's name.
    #[must_use]
    pub fn of_agent(&self, id: AgentId, kind: &str, own: Vec<Arc<Hook>>) -> Self {
        let folder = self.session.transcript.parent();
        let transcript = folder.map(|folder| folder.join(format!("agents/{id}.jsonl")));
        let kind = kind.to_owned();
        let agent = AgentFacts { id, kind, transcript: transcript.unwrap_or_default() };
        Self { agent: Some(Arc::new(agent)), own: own.into(), ..self.clone() }
    }

    /// Whether any hook is for this event: without one, nothing need be prepared for it.
    #[must_use]
    pub fn listen(&self, event: HookEvent) -> bool {
        self.own.iter().any(|hook| hook.event == event) || self.set.listens(event)
    }

    /// Runs what is for this moment, side by side, and waits for all of it. Nothing is said when
    /// `cancel` fires.
    pub async fn run(
        &self,
        moment: &Moment<'_>,
        here: Here<'_>,
        cancel: &CancellationToken,
    ) -> Said {
        let Some(round) = self.round(moment, here) else { return Said::default() };
        let wait = Wait::Hooks { event: round.event };
        tell_wait(here.events, || wait, Box::pin(round.run(cancel, None))).await
    }

    /// The same, but what is begun runs to its own end whether the answer is waited for or not.
    /// `None`: no hook is for this moment.
    pub fn ask(&self, moment: &Moment<'_>, here: Here<'_>) -> Option<oneshot::Receiver<Said>> {
        self.ask_after(None, moment, here)
    }

    /// The same, after others have been heard.
    pub fn ask_after(
        &self,
        before: Option<oneshot::Receiver<Said>>,
        moment: &Moment<'_>,
        here: Here<'_>,
    ) -> Option<oneshot::Receiver<Said>> {
        self.round(moment, here).map(|round| self.set.go_on_with(round, before))
    }

    /// The same without an answer, where nothing that is said could change anything.
    /// [`HookSet::finish`] waits.
    pub fn tell(&self, moment: &Moment<'_>, here: Here<'_>) {
        self.ask(moment, here);
    }

    /// The hooks for a moment that are heard, with what they are told; `None` when there are none.
    /// Those that nobody waits for are begun.
    fn round(&self, moment: &Moment<'_>, here: Here<'_>) -> Option<Round> {
        let event = moment.event(self.agent.is_some());
        if !self.listen(event) {
            return None;
        }
        let kind = self.agent.as_ref().map(|agent| agent.kind.as_str());
        let names = moment.names(kind);
        let own = self.own.iter().filter(|hook| hook.event == event).cloned();
        let all = self.set.hooks_for(event).into_iter().chain(own);
        let mut hooks: Vec<Arc<Hook>> = Vec::new();
        for hook in all.filter(|hook| hook.matches(&names)) {
            match hooks.iter_mut().find(|other| other.does_the_same(&hook)) {
                // A guard stays one, also where another entry runs it beside the work.
                Some(other) if other.unheard => *other = hook,
                Some(_) => {}
                None => hooks.push(hook),
            }
        }
        if hooks.is_empty() {
            return None;
        }
        let (unheard, hooks): (Vec<_>, Vec<_>) = hooks.into_iter().partition(|hook| hook.unheard);
        let round = Round {
            event,
            hooks,
            input: input::of(event, moment, self, here),
            tool_use_id: moment.tool_use_id().cloned(),
            place: self.set.place(),
            events: here.events.clone(),
        };
        if !unheard.is_empty() {
            self.set.go_on_with(Round { hooks: unheard, ..round.clone() }, None);
        }
        (!round.hooks.is_empty()).then_some(round)
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").field("agent", &self.agent).finish_non_exhaustive()
    }
}
