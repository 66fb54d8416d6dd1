//! Hooks: the user's commands and the driving program's callbacks, which are notified of what
//! agents do and can intervene.
//!
//! They use the protocol of Claude Code's hook scripts: JSON on stdin, an exit code, optionally
//! JSON on stdout. A failing hook gives the user one line and work continues; only if a hook cannot
//! even be started does its call not run.

mod answer;
mod entry;
mod event;
mod input;
mod misplaced;
mod output;
mod run;
mod set;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::protocol::{AgentId, HookEvent, WaitKind, report_wait};

pub use entry::Hook;
pub use event::{
    FinishedCall, HookInput, HookToolCall, NotificationKind, SessionEndReason, SessionSource,
};
use input::HookAgent;
pub use input::{HookContext, HookSession};
pub use output::{HookOutput, PermissionDecision};
use run::HookRun;
pub use set::{HookSet, HookSettings};

/// The hooks of one agent, or of the session as a whole. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    set: HookSet,
    session: Arc<HookSession>,
    agent: Option<Arc<HookAgent>>,
    /// The hooks of the agent's definition.
    own: Arc<[Arc<Hook>]>,
}

/// The hooks for one event.
#[derive(Default)]
struct MatchingHooks {
    /// Those whose answer counts.
    awaited: Option<HookRun>,
    /// The asynchronous ones.
    background: Option<HookRun>,
}

impl Hooks {
    /// Creates the hooks of a session.
    pub fn new(set: HookSet, session: HookSession) -> Self {
        Self { set, session: Arc::new(session), agent: None, own: Arc::default() }
    }

    /// Returns these hooks for a sub-agent, plus its definition's own. `kind` is the definition's name.
    pub fn for_agent(&self, id: AgentId, kind: &str, own: Vec<Arc<Hook>>) -> Self {
        let folder = self.session.transcript.parent();
        let transcript = folder.map(|folder| folder.join(format!("agents/{id}.jsonl")));
        let kind = kind.to_owned();
        let agent = HookAgent { id, kind, transcript: transcript.unwrap_or_default() };
        Self { agent: Some(Arc::new(agent)), own: own.into(), ..self.clone() }
    }

    /// Whether any hook handles this event. If not, the caller need not prepare anything.
    pub fn has_hooks_for(&self, event: HookEvent) -> bool {
        self.own.iter().any(|hook| hook.event == event) || self.set.has_hooks_for(event)
    }

    /// Runs the hooks for this event concurrently and waits for all of them. The output is empty
    /// when `cancel` fires.
    pub async fn run(
        &self,
        input: &HookInput<'_>,
        context: HookContext<'_>,
        cancel: &CancellationToken,
    ) -> HookOutput {
        let MatchingHooks { awaited, background } = self.matching(input, context);
        self.start_background(background);
        let Some(run) = awaited else { return HookOutput::default() };
        let wait = WaitKind::Hooks { event: run.event };
        report_wait(context.events, || wait, Box::pin(run.run(cancel, None))).await
    }

    /// Starts the hooks for this event. They run to completion even if the receiver is dropped.
    /// Returns `None` if there are no hooks for it.
    pub fn start(
        &self,
        input: &HookInput<'_>,
        context: HookContext<'_>,
    ) -> Option<oneshot::Receiver<HookOutput>> {
        self.start_after(None, input, context)
    }

    /// Starts the hooks for this event once those of `before` have answered.
    pub fn start_after(
        &self,
        before: Option<oneshot::Receiver<HookOutput>>,
        input: &HookInput<'_>,
        context: HookContext<'_>,
    ) -> Option<oneshot::Receiver<HookOutput>> {
        let MatchingHooks { awaited, background } = self.matching(input, context);
        self.start_background(background);
        awaited.map(|run| self.set.spawn(run, before))
    }

    /// Starts the hooks for this event and ignores their answer. [`HookSet::finish`] waits for them.
    pub fn notify(&self, input: &HookInput<'_>, context: HookContext<'_>) {
        self.start(input, context);
    }

    /// Starts asynchronous hooks, whose answer nobody awaits.
    fn start_background(&self, hooks: Option<HookRun>) {
        if let Some(run) = hooks {
            self.set.spawn(run, None);
        }
    }

    /// Returns the hooks for this event, with their input.
    fn matching(&self, input: &HookInput<'_>, context: HookContext<'_>) -> MatchingHooks {
        let event = input.event(self.agent.is_some());
        if !self.has_hooks_for(event) {
            return MatchingHooks::default();
        }
        let kind = self.agent.as_ref().map(|agent| agent.kind.as_str());
        let names = input.names(kind);
        let own = self.own.iter().filter(|hook| hook.event == event).cloned();
        let all = self.set.hooks_for(event).into_iter().chain(own);
        let mut hooks: Vec<Arc<Hook>> = Vec::new();
        for hook in all.filter(|hook| hook.matches(&names)) {
            match hooks.iter_mut().find(|other| other.is_duplicate_of(&hook)) {
                // A blocking hook stays blocking, even if another entry runs it asynchronously.
                Some(other) if other.is_async => *other = hook,
                Some(_) => {}
                None => hooks.push(hook),
            }
        }
        if hooks.is_empty() {
            return MatchingHooks::default();
        }
        let (background, awaited): (Vec<_>, Vec<_>) =
            hooks.into_iter().partition(|hook| hook.is_async);
        let run = HookRun {
            event,
            hooks: awaited,
            input: input::to_json(event, input, &self.session, self.agent.as_deref(), context),
            tool_use_id: input.tool_use_id().cloned(),
            env: self.set.env(),
            events: context.events.clone(),
        };
        let background = HookRun { hooks: background, ..run.clone() };
        let unless_empty = |run: HookRun| (!run.hooks.is_empty()).then_some(run);
        MatchingHooks { awaited: unless_empty(run), background: unless_empty(background) }
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").field("agent", &self.agent).finish_non_exhaustive()
    }
}
