//! The gate as one agent meets it: its calls are decided on here, and its questions opened and withdrawn.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Gate, Shared, Verdict};
use crate::permission::judge::{Advice, Call, Decision, Judgement};
use crate::permission::path::Places;
use crate::permission::question::{Approval, Asked, Waiting};
use crate::permission::rule::Base;
use crate::permission::standing::{Grants, Rights, Standing};
use crate::permission::starts::Unreadable;
use crate::protocol::{
    Access, Denial, EnvOverlay, EventKind, EventSink, Mode, Question, QuestionId, ReadOnly, Target,
};

impl Gate {
    /// The gate of one agent: the shared rules, and grants of its own. `name` is the agent's on the screen.
    #[must_use]
    pub fn for_agent(&self, name: String, events: EventSink) -> AgentGate {
        AgentGate {
            shared: self.0.clone(),
            name: name.into(),
            events,
            standing: Standing::new(self.0.places.clone()),
        }
    }
}

/// What comes before a question to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeQuestion {
    /// The user is asked, and sees this.
    Ask(Option<String>),
    /// Somebody said yes in the user's place. It holds for what the call would do now.
    Allow,
    /// The same for another input, which has to pass [`AgentGate::recheck`].
    Change(Value),
    /// Somebody said no in the user's place, for this reason.
    Deny(String),
}

/// The gate as one agent sees it. Clones share the agent's grants.
#[derive(Clone)]
pub struct AgentGate {
    shared: Arc<Shared>,
    name: Arc<str>,
    events: EventSink,
    standing: Standing,
}

impl AgentGate {
    /// The gate of an agent below this one: within the same folders, and no freer than this one
    /// unless its rights say so.
    #[must_use]
    pub fn child(&self, name: String, events: EventSink, rights: &Rights) -> Self {
        let Standing { grants, places, mode, mut bounds } = self.standing.clone();
        let grants = if rights.shares_grants { grants } else { Grants::default() };
        let base = Base { project: &places.project, home: places.home.as_deref() };
        if let Some(bound) = rights.bounds.read(base) {
            Arc::make_mut(&mut bounds).push(bound);
        }
        let standing = Standing { grants, places, mode: mode.and(rights.mode), bounds };
        Self { shared: self.shared.clone(), name: name.into(), events, standing }
    }

    /// The gate of the whole tree.
    #[must_use]
    pub fn of_all(&self) -> Gate {
        Gate(self.shared.clone())
    }

    /// This gate for an agent whose commands run with `env`.
    #[must_use]
    pub fn with_env(mut self, env: &EnvOverlay) -> Self {
        self.standing.places = Arc::new(self.standing.places.with_env(env));
        self
    }

    /// This gate, with other working directories: those of an agent that works in a folder of its own.
    #[must_use]
    pub fn within(mut self, dirs: Vec<PathBuf>) -> Self {
        self.standing.places =
            Arc::new(Places { dirs: dirs.into(), ..(*self.standing.places).clone() });
        self
    }

    /// Bounds this gate to the folder `dir`: no file tool writes outside it, in any mode. `cwd`,
    /// which lies in there, becomes the only working directory. The agent's shell must be confined
    /// by other means.
    #[must_use]
    pub fn bounded(mut self, dir: PathBuf, cwd: PathBuf) -> Self {
        let bound = Some(dir);
        let places = (*self.standing.places).clone();
        self.standing.places = Arc::new(Places { dirs: vec![cwd].into(), bound, ..places });
        self
    }

    /// The mode that this agent's calls are judged by now.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.mode_for(self.standing.mode, self.shared.lock().mode)
    }

    /// The files that rules, the shared ones and those of its definition, keep this agent from
    /// coming upon in `cwd`, when a permitted call names `place`.
    #[must_use]
    pub fn unreadable(&self, cwd: &Path, place: Option<&Target>) -> Unreadable {
        self.shared.unreadable(&self.standing, cwd, place)
    }

    /// Why a permitted fetch of `from` must not be led on to `to`.
    #[must_use]
    pub fn refused_redirect(&self, from: &str, to: &str) -> Option<String> {
        self.shared.refused_redirect(&self.standing, from, to)
    }

    /// Tells that a call was denied by what is not the gate.
    pub fn denied(&self, call: &Call<'_>, denial: Denial) {
        self.tell_denied(call, &Verdict::Denied(denial));
    }

    /// Decides on a call as [`Self::decide_with`] does, where nobody answers in the user's place.
    pub async fn decide(
        &self,
        call: &Call<'_>,
        preview: impl Future<Output = Option<String>>,
        cancel: &CancellationToken,
    ) -> Verdict {
        self.decide_with(call, async { BeforeQuestion::Ask(preview.await) }, cancel).await
    }

    /// Decides on a call, and asks the user where that is needed. `preview` answers in the user's
    /// place, or shows the user what would happen; it is awaited, once, only when a question is to
    /// be opened. Ends at once when `cancel` fires; when it is dropped, an open question is
    /// withdrawn.
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
        preview: impl Future<Output = BeforeQuestion>,
        cancel: &CancellationToken,
    ) -> Verdict {
        let (mut preview, mut shown) = (Some(preview), None);
        let verdict = loop {
            if cancel.is_cancelled() {
                return Verdict::Cancelled;
            }
            self.shared.look_at_rules();
            let (judgement, revision) = self.shared.judge(call, &self.standing);
            match judgement.decision {
                Decision::Allow => return Verdict::Allowed,
                Decision::Deny => break Verdict::Denied(Denial::new(judgement.why)),
                Decision::Ask if !self.shared.interactive => {
                    break Verdict::Denied(Denial::new(nobody_to_ask(call, &judgement)));
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
                    BeforeQuestion::Ask(shown) => shown,
                    BeforeQuestion::Allow => break Verdict::Approved(Approval::of(&judgement)),
                    BeforeQuestion::Change(input) => break Verdict::Changed { input },
                    BeforeQuestion::Deny(reason) => break Verdict::Denied(Denial::new(reason)),
                };
                // Rules and files may be others by now: the question is about what holds when it opens.
                continue;
            }
            let Some(open) = self.ask(call, &mut shown, judgement, revision) else { continue };
            match open.answer(cancel).await {
                Some(verdict) => break verdict,
                None => return Verdict::Cancelled,
            }
        };
        self.tell_denied(call, &verdict);
        verdict
    }

    /// Decides on a call whose input was changed by the one who allowed it: what is denied stays
    /// denied, what would be asked about was asked. Returns what the change approves.
    ///
    /// # Errors
    /// With the reason, when the call is denied.
    pub fn recheck(&self, call: &Call<'_>) -> Result<Option<Approval>, String> {
        let judgement = self.judge_now(call);
        match judgement.decision {
            Decision::Deny => self.refuse(call, judgement.why),
            Decision::Allow => Ok(None),
            Decision::Ask => Ok(Some(Approval::of(&judgement))),
        }
    }

    /// Judges a permitted call once more, right before it runs. A call that is to be asked about
    /// runs only if the user approved all that the question would be about. Returns the bounds of a
    /// command that runs because it only reads.
    ///
    /// # Errors
    /// With the reason, when the call may not run any more.
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
        self.shared.look_at_rules();
        self.shared.judge(call, &self.standing).0
    }

    fn refuse<T>(&self, call: &Call<'_>, reason: String) -> Result<T, String> {
        self.denied(call, Denial::new(reason.clone()));
        Err(reason)
    }

    fn tell_denied(&self, call: &Call<'_>, verdict: &Verdict) {
        if let Verdict::Denied(denial) = verdict {
            self.events.emit(EventKind::PermissionDenied {
                id: call.id.clone(),
                tool: call.tool.to_owned(),
                input: call.input.clone(),
                denial: denial.clone(),
            });
        }
    }

    /// Opens a question, and takes the preview for it; `None` when rules or mode have changed since
    /// the judgement.
    fn ask(
        &self,
        call: &Call<'_>,
        preview: &mut Option<String>,
        judgement: Judgement,
        revision: u64,
    ) -> Option<OpenQuestion<'_>> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked::new(call, &judgement, self.standing.clone());
        let Judgement { why, warnings, suggestions, .. } = judgement;
        let id = {
            let mut state = self.shared.lock();
            if state.revision != revision {
                return None;
            }
            let id = QuestionId(state.next_id);
            state.next_id += 1;
            state.waiting.insert(id, Waiting { asked: Arc::new(asked), reply });
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

/// A question that is on the screen; dropping it takes it off again.
struct OpenQuestion<'a> {
    gate: &'a AgentGate,
    id: QuestionId,
    answer: oneshot::Receiver<Verdict>,
    allowed: Option<bool>,
}

impl OpenQuestion<'_> {
    /// Waits for the answer; `None` when the call is cancelled first. A no counts also where it
    /// stops the run.
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

fn nobody_to_ask(call: &Call<'_>, judgement: &Judgement) -> String {
    // No rule makes up for the word of a hook.
    if let Advice::Ask { .. } = call.advice {
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
