//! The gate that every tool call of every agent passes. Rules and mode are shared by the whole tree and live: a change
//! counts for each agent's next call and for the questions that are open. Grants stay with the agent that got them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::judge::{Advice, Call, Decision, Judgement, Policy, judge};
use super::path::{Places, Target};
use super::question::{AnswerError, Asked, Waiting};
use super::rule::{Base, List, Origin, Rule, RuleSet};
use super::rule_file;
use super::source::RuleSource;
use super::standing::{Grants, ModeOf, Rights, Standing};
use crate::protocol::{
    Allowance, Answer, EventKind, EventSink, Mode, Question, QuestionId, RuleFile,
};

/// What a gate is made of.
#[derive(Clone, Debug)]
pub struct GateSettings {
    pub mode: Mode,
    pub rules: RuleSet,
    /// The working directories: the base and the additional ones. Absolute.
    pub dirs: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Whether there is someone to ask; else what would be asked is denied.
    pub interactive: bool,
    /// The folder that holds `.caliban/`. Absolute.
    pub project_dir: PathBuf,
}

/// The rules, the mode and the open questions of a whole tree of agents. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

pub(super) struct Shared {
    places: Arc<Places>,
    interactive: bool,
    /// Where the rules change; absent where they stay. Locked before `state`, never after it.
    pub(super) source: Option<Mutex<Box<dyn RuleSource>>>,
    state: Mutex<State>,
}

pub(super) struct State {
    mode: Mode,
    pub(super) rules: Arc<RuleSet>,
    /// Counts changes of mode and rules, so that none slips in between a judgement and its question.
    pub(super) revision: u64,
    next_id: u64,
    waiting: BTreeMap<QuestionId, Waiting>,
}

/// What the gate says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// With this input instead of its own, which has to pass [`AgentGate::recheck`].
    Changed {
        input: Value,
    },
    /// The reason is told to the model.
    Denied {
        reason: String,
    },
}

impl Verdict {
    /// Whether the call runs.
    #[must_use]
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Denied { .. })
    }
}

impl Gate {
    /// A gate whose rules stay these. Touches nothing.
    #[must_use]
    pub fn new(settings: GateSettings) -> Self {
        Self::build(settings, None)
    }

    /// A gate that begins with these rules and takes over those of the source as they change.
    #[must_use]
    pub fn following(settings: GateSettings, source: Box<dyn RuleSource>) -> Self {
        Self::build(settings, Some(Mutex::new(source)))
    }

    fn build(settings: GateSettings, source: Option<Mutex<Box<dyn RuleSource>>>) -> Self {
        let GateSettings { mode, rules, dirs, home, interactive, project_dir } = settings;
        let state = State {
            mode,
            rules: Arc::new(rules),
            revision: 0,
            next_id: 1,
            waiting: BTreeMap::new(),
        };
        Self(Arc::new(Shared {
            places: Arc::new(Places { dirs, home, project: project_dir, bound: None }),
            interactive,
            source,
            state: Mutex::new(state),
        }))
    }

    /// The present mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.lock().mode
    }

    /// Changes the mode for every agent's next call, and judges the open questions again.
    pub fn set_mode(&self, mode: Mode) {
        {
            let mut state = self.0.lock();
            state.mode = mode;
            state.revision += 1;
        }
        self.0.settle();
    }

    /// Answers a question. False when it is not open any more. After an error it still is.
    pub fn answer(&self, id: QuestionId, answer: Answer) -> Result<bool, AnswerError> {
        self.0.look_at_rules();
        let asked = self.0.lock().waiting.get(&id).map(|waiting| waiting.asked.clone());
        let Some(asked) = asked else { return Ok(false) };
        let verdict = match answer {
            Answer::Once => Verdict::Allowed,
            Answer::No { reason } => Verdict::Denied { reason: refusal(reason.as_deref()) },
            Answer::Session => {
                let rules = self.0.parse(&asked.rules, &Origin::Session)?;
                asked.standing.grants.add(rules);
                self.0.lock().revision += 1;
                Verdict::Allowed
            }
            Answer::Always { rules, file } => {
                self.0.write_rules(&asked, &rules, file)?;
                Verdict::Allowed
            }
            Answer::Allowed(allowance) => return self.allow_as(id, &asked, *allowance),
        };
        let answered = self.0.reply(id, verdict);
        self.0.settle();
        Ok(answered)
    }

    /// A program's yes. It holds for the call even when a rule that came with it cannot be kept: then none is.
    fn allow_as(
        &self,
        id: QuestionId,
        asked: &Asked,
        allowance: Allowance,
    ) -> Result<bool, AnswerError> {
        let Allowance { input, session, written } = allowance;
        let kept = self.0.keep(asked, &session, &written);
        let input = input.filter(|input| *input != *asked.call().input);
        let verdict = input.map_or(Verdict::Allowed, |input| Verdict::Changed { input });
        let answered = self.0.reply(id, verdict);
        self.0.settle();
        kept.map(|()| answered)
    }

    /// The gate of one agent: the shared rules, and grants of its own. `name` is the agent's on the screen.
    #[must_use]
    pub fn for_agent(&self, name: String, events: EventSink) -> AgentGate {
        AgentGate {
            shared: self.0.clone(),
            name: name.into(),
            events,
            standing: Standing {
                grants: Grants::default(),
                places: self.0.places.clone(),
                mode: ModeOf::default(),
            },
        }
    }

    /// What a call of main comes to by now. Nobody is asked.
    #[must_use]
    pub fn judgement(&self, call: &Call<'_>) -> Judgement {
        let places = self.0.places.clone();
        let standing = Standing { grants: Grants::default(), places, mode: ModeOf::default() };
        self.0.judge(call, &standing).0
    }

    /// Whether a deny rule keeps every call of this tool from running: then it need not be offered.
    #[must_use]
    pub fn withholds(&self, tool: &str) -> bool {
        self.0.lock().rules.deny.iter().any(|rule| rule.covers_all_of(tool))
    }

    /// Whether a deny rule keeps this sub-agent from being started.
    #[must_use]
    pub fn withholds_agent(&self, name: &str) -> bool {
        self.0.lock().rules.deny.iter().any(|rule| rule.covers_agent(name))
    }

    /// Whether a deny rule keeps this path from being read, for tools that come upon files while they search.
    #[must_use]
    pub fn denies_reading(&self, path: &Path, cwd: &Path) -> bool {
        let rules = self.0.lock().rules.clone();
        let mut reading = rules.deny.iter().filter_map(Rule::read_pattern).peekable();
        if reading.peek().is_none() {
            return false;
        }
        let target = Target::new(cwd, path);
        reading.any(|pattern| pattern.restricts(&target, &self.0.places.project, &[cwd]))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Gate")
            .field("mode", &state.mode)
            .field("waiting", &state.waiting.len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a call by what holds now; the number is the revision of what it was judged by.
    fn judge(&self, call: &Call<'_>, standing: &Standing) -> (Judgement, u64) {
        let (mode, rules, revision) = {
            let state = self.lock();
            (standing.mode.given(state.mode), state.rules.clone(), state.revision)
        };
        let grants = standing.grants.get();
        let policy = Policy {
            mode,
            rules: &rules,
            grants: &grants,
            places: &standing.places,
            interactive: self.interactive,
        };
        (judge(&policy, call), revision)
    }

    /// Answers every open question that rules, grants or mode decide by now.
    pub(super) fn settle(&self) {
        let open: Vec<(QuestionId, Arc<Asked>)> = {
            let state = self.lock();
            state.waiting.iter().map(|(id, waiting)| (*id, waiting.asked.clone())).collect()
        };
        for (id, asked) in open {
            let (judgement, _) = self.judge(&asked.call(), &asked.standing);
            match judgement.decision {
                Decision::Allow => self.reply(id, Verdict::Allowed),
                Decision::Deny => self.reply(id, Verdict::Denied { reason: judgement.why }),
                Decision::Ask => continue,
            };
        }
    }

    /// Ends a question; false when it is not open any more.
    fn reply(&self, id: QuestionId, verdict: Verdict) -> bool {
        let waiting = self.lock().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.reply.send(verdict).is_ok())
    }

    fn parse(&self, rules: &[String], origin: &Origin) -> Result<Vec<Rule>, AnswerError> {
        let base = Base { project: &self.places.project, home: self.places.home.as_deref() };
        let parse = |text: &String| Rule::parse(text, List::Allow, origin.clone(), base);
        Ok(rules.iter().map(parse).collect::<Result<_, _>>()?)
    }

    /// Makes a program's rules count, file by file. One that cannot be understood keeps all of them out; a file that
    /// cannot be written ends it, and what was written before that counts.
    fn keep(
        &self,
        asked: &Asked,
        session: &[String],
        written: &[(RuleFile, Vec<String>)],
    ) -> Result<(), AnswerError> {
        let granted = self.parse(session, &Origin::Session)?;
        for (_, rules) in written {
            self.parse(rules, &Origin::Session)?;
        }
        for (file, texts) in written {
            let path = rule_file::path(&self.places.project, *file);
            let rules = self.parse(texts, &Origin::File(path.clone()))?;
            self.write_always(&path, texts, rules)?;
        }
        asked.standing.grants.add(granted);
        self.lock().revision += 1;
        Ok(())
    }

    /// Checks that the rules let the call run, writes them, and makes them count.
    fn write_rules(
        &self,
        asked: &Asked,
        texts: &[String],
        file: RuleFile,
    ) -> Result<(), AnswerError> {
        let path = rule_file::path(&self.places.project, file);
        let rules = self.parse(texts, &Origin::File(path.clone()))?;
        let (mode, mut all) = {
            let state = self.lock();
            (asked.standing.mode.given(state.mode), (*state.rules).clone())
        };
        all.allow.extend(rules.iter().cloned());
        let grants = asked.standing.grants.get();
        let policy = Policy {
            mode,
            rules: &all,
            grants: &grants,
            places: &asked.standing.places,
            interactive: self.interactive,
        };
        let judgement = judge(&policy, &asked.call());
        if judgement.decision != Decision::Allow {
            return Err(AnswerError::NotCovered { why: judgement.why });
        }
        let texts: Vec<String> = rules.iter().map(|rule| rule.text().to_owned()).collect();
        self.write_always(&path, &texts, rules)
    }
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
    /// The gate of an agent below this one: within the same folders, and no freer than this one unless its rights say so.
    #[must_use]
    pub fn child(&self, name: String, events: EventSink, rights: Rights) -> Self {
        let Standing { grants, places, mode } = self.standing.clone();
        let grants = if rights.shares_grants { grants } else { Grants::default() };
        let standing = Standing { grants, places, mode: mode.and(rights.mode) };
        Self { shared: self.shared.clone(), name: name.into(), events, standing }
    }

    /// The gate of the whole tree.
    #[must_use]
    pub fn of_all(&self) -> Gate {
        Gate(self.shared.clone())
    }

    /// This gate, with other working directories: those of an agent that works in a folder of its own.
    #[must_use]
    pub fn within(mut self, dirs: Vec<PathBuf>) -> Self {
        self.standing.places = Arc::new(Places { dirs, ..(*self.standing.places).clone() });
        self
    }

    /// This gate for an agent that has `dir` alone: it is the only working directory, and nothing outside it can be
    /// written by a file tool, in any mode. The agent's shell must be confined by other means.
    #[must_use]
    pub fn bounded(mut self, dir: PathBuf) -> Self {
        let bound = Some(dir.clone());
        let places = (*self.standing.places).clone();
        self.standing.places = Arc::new(Places { dirs: vec![dir], bound, ..places });
        self
    }

    /// The mode that this agent's calls are judged by now.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.standing.mode.given(self.shared.lock().mode)
    }

    /// Tells that a call was denied by what is not the gate.
    pub fn denied(&self, call: &Call<'_>, reason: String) {
        self.tell_denied(call, &Verdict::Denied { reason });
    }

    /// Whether the call would have to be asked about now: only then a preview is worth its while.
    #[must_use]
    pub fn would_ask(&self, call: &Call<'_>) -> bool {
        self.shared.look_at_rules();
        let (judgement, _) = self.shared.judge(call, &self.standing);
        self.shared.interactive && judgement.decision == Decision::Ask
    }

    /// Decides on a call, and asks the person where that is needed. Ends at once when `cancel` fires; when it is
    /// dropped, an open question is withdrawn.
    pub async fn decide(&self, call: &Call<'_>, cancel: &CancellationToken) -> Verdict {
        let verdict = loop {
            if cancel.is_cancelled() {
                return cancelled();
            }
            self.shared.look_at_rules();
            let (judgement, revision) = self.shared.judge(call, &self.standing);
            match judgement.decision {
                Decision::Allow => return Verdict::Allowed,
                Decision::Deny => break Verdict::Denied { reason: judgement.why },
                Decision::Ask if !self.shared.interactive => {
                    break Verdict::Denied { reason: nobody_to_ask(call, &judgement) };
                }
                Decision::Ask => {}
            }
            let Some(open) = self.ask(call, judgement, revision) else { continue };
            match open.answer(cancel).await {
                Some(verdict) => break verdict,
                None => return cancelled(),
            }
        };
        self.tell_denied(call, &verdict);
        verdict
    }

    /// Decides on a call whose input was changed by the one who allowed it: what is denied stays denied, what would be
    /// asked about was asked.
    #[must_use]
    pub fn recheck(&self, call: &Call<'_>) -> Verdict {
        self.shared.look_at_rules();
        let (judgement, _) = self.shared.judge(call, &self.standing);
        let verdict = match judgement.decision {
            Decision::Deny => Verdict::Denied { reason: judgement.why },
            Decision::Allow | Decision::Ask => Verdict::Allowed,
        };
        self.tell_denied(call, &verdict);
        verdict
    }

    fn tell_denied(&self, call: &Call<'_>, verdict: &Verdict) {
        if let Verdict::Denied { reason } = verdict {
            self.events.emit(EventKind::PermissionDenied {
                id: call.id.clone(),
                tool: call.tool.to_owned(),
                input: call.input.clone(),
                reason: reason.clone(),
            });
        }
    }

    /// Opens a question; `None` when rules or mode have changed since the judgement.
    fn ask(
        &self,
        call: &Call<'_>,
        judgement: Judgement,
        revision: u64,
    ) -> Option<OpenQuestion<'_>> {
        let Judgement { why, warnings, suggestions, .. } = judgement;
        let (reply, answer) = oneshot::channel();
        let asked = Asked::new(call, suggestions.clone(), self.standing.clone());
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
            cwd: call.cwd.to_owned(),
            reason: why,
            warnings,
            rules: suggestions,
            preview: call.preview.clone(),
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
    /// Waits for the answer; `None` when the call is cancelled first.
    async fn answer(mut self, cancel: &CancellationToken) -> Option<Verdict> {
        let verdict = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            verdict = &mut self.answer => verdict.ok(),
        };
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

fn cancelled() -> Verdict {
    Verdict::Denied { reason: "cancelled before it was allowed to run".to_owned() }
}

fn refusal(reason: Option<&str>) -> String {
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("the person said no: {reason}"),
        None => "the person said no".to_owned(),
    }
}

fn nobody_to_ask(call: &Call<'_>, judgement: &Judgement) -> String {
    // No rule makes up for the word of a hook.
    if let Advice::Ask { .. } = call.advice {
        return format!("{}, and there is nobody to ask", judgement.why);
    }
    let rules = if judgement.suggestions.is_empty() {
        call.tool.to_owned()
    } else {
        judgement.suggestions.join(",")
    };
    format!(
        "{}, and there is nobody to ask; --allowed-tools '{rules}' or `allow` under [permissions] would let it run",
        judgement.why
    )
}

#[cfg(test)]
mod tests;
