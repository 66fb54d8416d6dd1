//! One agent's view of the gate: decides on its calls, and opens and withdraws its questions.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Gate, GateShared};
use crate::disk::block_in_place;
use crate::permission::agent_permissions::{AgentPermissions, Grants, InheritedPermissions};
use crate::permission::call::{Call, HookAdvice};
use crate::permission::judge::{Decision, Judgement};
use crate::permission::places::Places;
use crate::permission::question::{Approval, AskedCall, QuestionEntry, Verdict};
use crate::permission::rule::RuleBase;
use crate::permission::suggest::outlives_checkout;
use crate::permission::unreadable::UnreadableFiles;
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

/// The gate's decision on a call, as of now.
#[derive(Clone, Debug, PartialEq)]
pub enum GateDecision {
    /// The call may run; a command that may only because it is known to read, within these bounds.
    Allow(Option<ReadOnly>),
    /// The call must not run. An event has said so.
    Deny(Denial),
    /// Somebody has to approve the call: the user ([`AgentGate::ask`]), or a hook.
    Ask(QuestionDraft),
}

/// A question that may still open.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionDraft {
    judgement: Judgement,
    /// The revision of rules and mode that it follows from.
    revision: u64,
}

impl QuestionDraft {
    /// The approval that a yes to it gives.
    pub fn approval(&self) -> Approval {
        Approval::from_judgement(&self.judgement)
    }
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
        let AgentPermissions { grants, places, mode, mut bounds, .. } = self.permissions.clone();
        let grants = if rights.shares_grants { grants } else { Grants::default() };
        let base = RuleBase { project: &places.project, home: places.home.as_deref() };
        if let Some(bound) = rights.bounds.read(base) {
            Arc::make_mut(&mut bounds).push(bound);
        }
        let permissions = AgentPermissions {
            grants,
            mode: mode.combine(rights.mode),
            bounds,
            ..AgentPermissions::new(places)
        };
        Self { shared: self.shared.clone(), name: name.into(), events, permissions }
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
        let state = self.shared.lock();
        self.shared.mode_of(&self.permissions, state.mode, &state)
    }

    /// Ends plan mode for the agent, unless something else has. For main, that is the mode of the
    /// session. A sub-agent's own mode changes, until the session's does.
    pub fn leave_plan_mode(&self, next: PermissionMode) {
        if self.mode() != PermissionMode::Plan {
            return;
        }
        if !self.events.path().is_root() {
            let mut state = self.shared.lock();
            self.permissions.after_plan.set(next, state.mode_changes);
            state.revision += 1;
        } else if self.shared_gate().set_mode_for_new_calls(next).is_ok() {
            self.events.emit(EventKind::ModeChanged { mode: next });
        }
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

    /// Decides on a call by the current rules and mode. Asks nobody.
    pub fn decide(&self, call: &Call<'_>) -> GateDecision {
        let (judgement, revision) = block_in_place(|| {
            self.shared.reload_rules();
            self.shared.judge(call, &self.permissions, None)
        });
        match judgement.decision {
            Decision::Allow => GateDecision::Allow(judgement.read_only),
            Decision::Deny => self.deny(call, judgement.why),
            Decision::Ask if !self.shared.interactive => {
                self.deny(call, no_user_reason(call, &judgement))
            }
            Decision::Ask => GateDecision::Ask(QuestionDraft { judgement, revision }),
        }
    }

    /// Asks the user about a call, and shows this preview. Decides once more first, because rules
    /// and files may have changed since: the question must reflect what holds when it opens. Ends
    /// at once when `cancel` fires; dropping it withdraws an open question.
    pub async fn ask(
        &self,
        call: &Call<'_>,
        mut preview: Option<String>,
        cancel: &CancellationToken,
    ) -> Verdict {
        let open = loop {
            if cancel.is_cancelled() {
                return Verdict::Cancelled;
            }
            let draft = match self.decide(call) {
                GateDecision::Allow(_) => return Verdict::Allowed,
                GateDecision::Deny(denial) => return Verdict::Denied(denial),
                GateDecision::Ask(draft) => draft,
            };
            if let Some(open) = self.open(call, &mut preview, draft) {
                break open;
            }
        };
        let verdict = open.answer(cancel).await.unwrap_or(Verdict::Cancelled);
        if let Verdict::Denied(denial) = &verdict {
            self.report_denied(call, denial.clone());
        }
        verdict
    }

    /// Decides on a permitted call once more, right before it runs. A call that needs approval runs
    /// only if `approval` covers everything that the question would.
    ///
    /// # Errors
    /// If the call may no longer run.
    pub fn confirm(
        &self,
        call: &Call<'_>,
        approval: Option<&Approval>,
    ) -> Result<Option<ReadOnly>, Denial> {
        match self.decide(call) {
            GateDecision::Allow(read_only) => Ok(read_only),
            GateDecision::Deny(denial) => Err(denial),
            GateDecision::Ask(QuestionDraft { judgement, .. }) => {
                if approval.is_some_and(|approval| approval.covers(&judgement)) {
                    return Ok(None);
                }
                let denial = Denial::new(format!(
                    "what this call would do has changed since it was allowed ({}); it was not run; make it again if \
                     it is still wanted",
                    judgement.why
                ));
                self.report_denied(call, denial.clone());
                Err(denial)
            }
        }
    }

    fn deny(&self, call: &Call<'_>, why: String) -> GateDecision {
        let denial = Denial::new(why);
        self.report_denied(call, denial.clone());
        GateDecision::Deny(denial)
    }

    /// Reports a denied call.
    pub fn report_denied(&self, call: &Call<'_>, denial: Denial) {
        self.events.emit(EventKind::PermissionDenied {
            id: call.id.clone(),
            tool: call.tool.to_owned(),
            input: call.input.clone(),
            denial,
        });
    }

    /// Opens a question, and takes the preview for it; `None` if rules or mode have changed since the judgement.
    fn open(
        &self,
        call: &Call<'_>,
        preview: &mut Option<String>,
        draft: QuestionDraft,
    ) -> Option<OpenQuestion<'_>> {
        let QuestionDraft { judgement, revision } = draft;
        let (reply, answer) = oneshot::channel();
        let asked = AskedCall::new(call, &judgement, self.permissions.clone());
        let Judgement { mut why, warnings, suggestions, .. } = judgement;
        if block_in_place(|| self.shared.allows_later(call, &self.permissions)) {
            // The notice about that rule may be far above.
            why.push_str("; a rule that does takes effect at the next start");
        }
        let places = &self.permissions.places;
        let cwd = match call.access {
            Access::Command { cwd, .. } => cwd.as_path(),
            _ => call.cwd,
        };
        let id = {
            let mut state = self.shared.lock();
            if state.revision != revision {
                return None;
            }
            let id = QuestionId(state.next_id);
            state.next_id += 1;
            let (asked, mode) = (Arc::new(asked), state.mode);
            state.waiting.insert(id, QuestionEntry { asked, mode, reply });
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
            cwd: cwd.to_owned(),
            worktree: places.bound.clone().filter(|_| places.is_in_own_checkout(cwd)),
            reason: why,
            warnings,
            offers_always: outlives_checkout(&suggestions, places),
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
    if let Access::ExitPlan { .. } = call.access {
        return "there is nobody to approve the plan; write it as your answer".to_owned();
    }
    if let Access::AskUser { .. } = call.access {
        return "there is nobody to ask; decide yourself, and say what you have assumed".to_owned();
    }
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
