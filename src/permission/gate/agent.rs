//! One agent's view of the gate: decides on its calls, and opens and withdraws its questions.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Gate, GateShared, Verdict};
use crate::permission::agent_permissions::{AgentPermissions, Grants, InheritedPermissions};
use crate::permission::judge::{Call, Decision, HookAdvice, Judgement};
use crate::permission::path::Places;
use crate::permission::pattern_roots::UnreadableFiles;
use crate::permission::question::{Approval, AskedCall, QuestionEntry};
use crate::permission::rule::RuleBase;
use crate::protocol::{
    Access, Denial, EnvOverlay, EventKind, EventSink, PathTarget, PermissionMode, Question,
    QuestionId, ReadOnly,
};

impl Gate {
    /// The gate of one agent: the shared rules, and its own grants. `name` is the agent's name on the screen.
    pub fn for_agent(&self, name: String, events: EventSink) -> AgentGate {
        AgentGate {
            shared: self.0.clone(),
            name: name.into(),
            events,
            permissions: AgentPermissions::new(self.0.places.clone()),
        }
    }
}

/// The outcome of the step before a question to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviewOutcome {
    /// Ask the user, and show this.
    Ask(Option<String>),
    /// Someone approved in the user's place. Applies to the call's effects as of now.
    Allow,
    /// The same for another input, which must pass [`AgentGate::recheck`].
    Change(Value),
    /// Someone denied in the user's place, for this reason.
    Deny(String),
}

/// The gate for one agent. Clones share the agent's grants.
#[derive(Clone)]
pub struct AgentGate {
    shared: Arc<GateShared>,
    name: Arc<str>,
    events: EventSink,
    permissions: AgentPermissions,
}

impl AgentGate {
    /// The gate of an agent below this one: within the same folders, and no freer than this one
    /// unless its rights say so.
    pub fn child(&self, name: String, events: EventSink, rights: &InheritedPermissions) -> Self {
        let AgentPermissions { grants, places, mode, mut bounds } = self.permissions.clone();
        let grants = if rights.shares_grants { grants } else { Grants::default() };
        let base = RuleBase { project: &places.project, home: places.home.as_deref() };
        if let Some(bound) = rights.bounds.read(base) {
            Arc::make_mut(&mut bounds).push(bound);
        }
        let standing = AgentPermissions { grants, places, mode: mode.combine(rights.mode), bounds };
        Self { shared: self.shared.clone(), name: name.into(), events, permissions: standing }
    }

    /// The gate of the whole tree.
    pub fn shared_gate(&self) -> Gate {
        Gate(self.shared.clone())
    }

    /// This gate for an agent whose commands run with `env`.
    pub fn with_env(mut self, env: &EnvOverlay) -> Self {
        self.permissions.places = Arc::new(self.permissions.places.with_env(env));
        self
    }

    /// Replaces the working directories, for an agent that works in a folder of its own.
    pub fn with_dirs(mut self, dirs: Vec<PathBuf>) -> Self {
        self.permissions.places =
            Arc::new(Places { dirs: dirs.into(), ..(*self.permissions.places).clone() });
        self
    }

    /// Binds this gate to the folder `dir`: no file tool writes outside it, in any mode. `cwd`,
    /// which must lie in it, becomes the only working directory. The agent's shell must be confined
    /// by other means.
    pub fn with_bound(mut self, dir: PathBuf, cwd: PathBuf) -> Self {
        let bound = Some(dir);
        let places = (*self.permissions.places).clone();
        self.permissions.places = Arc::new(Places { dirs: vec![cwd].into(), bound, ..places });
        self
    }

    /// The current mode for this agent's calls.
    pub fn mode(&self) -> PermissionMode {
        self.shared.mode_for(self.permissions.mode, self.shared.lock().mode)
    }

    /// The files in `cwd` that rules, shared and of its definition, hide from this agent, during a
    /// permitted call that names `place`.
    pub fn unreadable(&self, cwd: &Path, place: Option<&PathTarget>) -> UnreadableFiles {
        self.shared.unreadable(&self.permissions, cwd, place)
    }

    /// Why a permitted fetch of `from` must not be redirected to `to`.
    pub fn redirect_refusal(&self, from: &str, to: &str) -> Option<String> {
        self.shared.redirect_refusal(&self.permissions, from, to)
    }

    /// Reports a call that was denied by something other than the gate.
    pub fn report_denied(&self, call: &Call<'_>, denial: Denial) {
        self.report_verdict(call, &Verdict::Denied(denial));
    }

    /// Decides on a call like [`Self::decide_with`], with nobody to answer in the user's place.
    pub async fn decide(
        &self,
        call: &Call<'_>,
        preview: impl Future<Output = Option<String>>,
        cancel: &CancellationToken,
    ) -> Verdict {
        self.decide_with(call, async { PreviewOutcome::Ask(preview.await) }, cancel).await
    }

    /// Decides on a call, and asks the user if needed. `preview` answers in the user's place, or
    /// shows the user what would happen; it is awaited, once, only before a question opens. Ends at
    /// once when `cancel` fires; dropping it withdraws an open question.
    ///
    /// ```text
    /// judged: allow | deny | nobody to ask ─────────────────────────▶ verdict
    /// judged: ask ─▶ preview ─▶ allow | change | deny ──────────────▶ verdict
    ///                        └▶ ask ─▶ judged again ─▶ question open ▶ verdict, by the user, by rules or by the mode
    /// ```
    /// A verdict that allows is judged once more before the call runs ([`Self::confirm`],
    /// [`Self::recheck`]), so rules that change while the preview is awaited hold.
    pub async fn decide_with(
        &self,
        call: &Call<'_>,
        preview: impl Future<Output = PreviewOutcome>,
        cancel: &CancellationToken,
    ) -> Verdict {
        let (mut preview, mut shown) = (Some(preview), None);
        let verdict = loop {
            if cancel.is_cancelled() {
                return Verdict::Cancelled;
            }
            self.shared.reload_rules();
            let (judgement, revision) = self.shared.judge(call, &self.permissions);
            match judgement.decision {
                Decision::Allow => return Verdict::Allowed,
                Decision::Deny => break Verdict::Denied(Denial::new(judgement.why)),
                Decision::Ask if !self.shared.interactive => {
                    break Verdict::Denied(Denial::new(no_user_reason(call, &judgement)));
                }
                Decision::Ask => {}
            }
            if let Some(preview) = preview.take() {
                let before = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Verdict::Cancelled,
                    before = preview => before,
                };
                shown = match before {
                    PreviewOutcome::Ask(shown) => shown,
                    PreviewOutcome::Allow => {
                        break Verdict::Approved(Approval::from_judgement(&judgement));
                    }
                    PreviewOutcome::Change(input) => break Verdict::Changed { input },
                    PreviewOutcome::Deny(reason) => break Verdict::Denied(Denial::new(reason)),
                };
                // Rules and files may have changed: the question must reflect what holds when it opens.
                continue;
            }
            let Some(open) = self.ask(call, &mut shown, judgement, revision) else { continue };
            match open.answer(cancel).await {
                Some(verdict) => break verdict,
                None => return Verdict::Cancelled,
            }
        };
        self.report_verdict(call, &verdict);
        verdict
    }

    /// Decides on a call whose input was changed by whoever allowed it: a denied call stays denied,
    /// one that would need approval counts as approved. Returns the approval that the change
    /// implies.
    ///
    /// # Errors
    /// If the call is denied, with the reason.
    pub fn recheck(&self, call: &Call<'_>) -> Result<Option<Approval>, String> {
        let judgement = self.judge_now(call);
        match judgement.decision {
            Decision::Deny => self.refuse(call, judgement.why),
            Decision::Allow => Ok(None),
            Decision::Ask => Ok(Some(Approval::from_judgement(&judgement))),
        }
    }

    /// Judges a permitted call once more, right before it runs. A call that needs approval runs
    /// only if the user approved everything the question would cover. Returns the bounds of a
    /// command that runs because it only reads.
    ///
    /// # Errors
    /// If the call may no longer run, with the reason.
    pub fn confirm(
        &self,
        call: &Call<'_>,
        approval: Option<&Approval>,
    ) -> Result<Option<ReadOnly>, String> {
        let judgement = self.judge_now(call);
        match judgement.decision {
            Decision::Allow => Ok(judgement.read_only),
            Decision::Ask if approval.is_some_and(|approval| approval.covers(&judgement)) => Ok(None),
            Decision::Ask => self.refuse(
                call,
                format!(
                    "what this call would do has changed since it was allowed ({}); it was not run; make it again if \
                     it is still wanted",
                    judgement.why
                ),
            ),
            Decision::Deny => self.refuse(call, judgement.why),
        }
    }

    fn judge_now(&self, call: &Call<'_>) -> Judgement {
        self.shared.reload_rules();
        self.shared.judge(call, &self.permissions).0
    }

    fn refuse<T>(&self, call: &Call<'_>, reason: String) -> Result<T, String> {
        self.report_denied(call, Denial::new(reason.clone()));
        Err(reason)
    }

    fn report_verdict(&self, call: &Call<'_>, verdict: &Verdict) {
        if let Verdict::Denied(denial) = verdict {
            self.events.emit(EventKind::PermissionDenied {
                id: call.id.clone(),
                tool: call.tool.to_owned(),
                input: call.input.clone(),
                denial: denial.clone(),
            });
        }
    }

    /// Opens a question, and takes the preview for it; `None` if rules or mode have changed since the judgement.
    fn ask(
        &self,
        call: &Call<'_>,
        preview: &mut Option<String>,
        judgement: Judgement,
        revision: u64,
    ) -> Option<OpenQuestion<'_>> {
        let (reply, answer) = oneshot::channel();
        let asked = AskedCall::new(call, &judgement, self.permissions.clone());
        let Judgement { why, warnings, suggestions, .. } = judgement;
        let id = {
            let mut state = self.shared.lock();
            if state.revision != revision {
                return None;
            }
            let id = QuestionId(state.next_id);
            state.next_id += 1;
            state.waiting.insert(id, QuestionEntry { asked: Arc::new(asked), reply });
            id
        };
        let open = OpenQuestion { gate: self, id, answer, allowed: None };
        self.events.emit(EventKind::PermissionAsked(Box::new(Question {
            id,
            path: self.events.path().clone(),
            agent: self.name.to_string(),
            tool_use_id: call.id.clone(),
            tool: call.tool.to_owned(),
            input: call.input.clone(),
            access: call.access.clone(),
            cwd: match call.access {
                Access::Command { cwd, .. } => cwd.clone(),
                _ => call.cwd.to_owned(),
            },
            reason: why,
            warnings,
            rules: suggestions,
            preview: preview.take(),
        })));
        Some(open)
    }
}

impl fmt::Debug for AgentGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentGate").field("agent", &self.name).finish_non_exhaustive()
    }
}

/// A question on the screen; dropping it removes it.
struct OpenQuestion<'a> {
    gate: &'a AgentGate,
    id: QuestionId,
    answer: oneshot::Receiver<Verdict>,
    allowed: Option<bool>,
}

impl OpenQuestion<'_> {
    /// Waits for the answer; `None` if the call is cancelled first. A no counts even if it stops the run.
    async fn answer(mut self, cancel: &CancellationToken) -> Option<Verdict> {
        let verdict = tokio::select! {
            biased;
            verdict = &mut self.answer => verdict.ok(),
            // An answer that stops the run comes before the stop, but maybe after the look above.
            () = cancel.cancelled() => self.answer.try_recv().ok(),
        };
        let verdict = verdict.filter(|verdict| !verdict.allows() || !cancel.is_cancelled());
        self.allowed = verdict.as_ref().map(Verdict::allows);
        verdict
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.gate.shared.lock().waiting.remove(&self.id);
        let closed = EventKind::QuestionClosed { id: self.id, allowed: self.allowed };
        self.gate.events.emit(closed);
    }
}

fn no_user_reason(call: &Call<'_>, judgement: &Judgement) -> String {
    // No rule replaces a hook's decision.
    if let HookAdvice::Ask { .. } = call.advice {
        return format!("{}, and there is nobody to ask", judgement.why);
    }
    let is_command = matches!(call.access, Access::Command { .. });
    if judgement.suggestions.is_empty() && is_command {
        return format!(
            "{}, and there is nobody to ask; only a rule for exactly this line, or an answer on the screen, allows it",
            judgement.why
        );
    }
    let rules = if judgement.suggestions.is_empty() {
        call.tool.to_owned()
    } else {
        judgement.suggestions.join(",").replace('\'', "'\\''")
    };
    format!(
        "{}, and there is nobody to ask; --allowed-tools '{rules}' or `allow` under [permissions] would let it run",
        judgement.why
    )
}
