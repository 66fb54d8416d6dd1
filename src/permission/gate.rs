//! The gate that every tool call of every agent passes. Rules and mode are shared by the whole tree
//! and live: a change counts for each agent's next call and for the questions that are open. Grants
//! stay with the agent that got them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::judge::{Call, Decision, Judgement, Policy, judge, refused_redirect};
use super::path::Places;
use super::protected::{ProtectedPlace, ProtectedPlaces};
use super::question::{AnswerError, Approval, Asked, Waiting};
use super::rule::{Base, List, Origin, Rule, RuleSet};
use super::rule_file;
use super::session_rules::AllowCeiling;
use super::source::RuleSource;
use super::standing::{ModeOf, Standing};
use super::starts::Unreadable;
use crate::disk::{GitConfigPaths, ProjectFolders};
use crate::protocol::{
    Allowance, Answer, BashVersion, Denial, EnvOverlay, Mode, QuestionId, RuleFile, Target,
};

mod agent;

pub use agent::{AgentGate, BeforeQuestion};

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
    /// Other folders that are the project to files with rules, such as the repository's root. Absolute.
    pub project_roots: Vec<PathBuf>,
    /// Where edits are always asked about, besides files with names that tell.
    pub protected: Vec<ProtectedPlace>,
    /// The environment of commands.
    pub env: EnvOverlay,
    /// Whether the kernel confines commands that only read.
    pub has_sandbox: bool,
    /// The version of bash. Absent: today's.
    pub bash: Option<&'static LazyLock<BashVersion>>,
    /// Whether no agent may ever be in the mode `bypassPermissions`.
    pub bypass_disabled: bool,
}

/// The mode `bypassPermissions` was asked for, and a settings file disables it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bypassPermissions is disabled by `disableBypassPermissionsMode` in a settings file")]
pub struct BypassDisabled;

/// The rules, the mode and the open questions of a whole tree of agents. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

pub(super) struct Shared {
    places: Arc<Places>,
    interactive: bool,
    bypass_disabled: bool,
    /// Where the rules change; absent where they stay. Locked before `state`, never after it.
    pub(super) source: Option<Mutex<Box<dyn RuleSource>>>,
    state: Mutex<State>,
}

pub(super) struct State {
    mode: Mode,
    pub(super) rules: Arc<RuleSet>,
    /// The allow rules that a change of the files can bring.
    pub(super) allow_ceiling: AllowCeiling,
    /// Counts changes of mode and rules, so that none slips in between a judgement and its question.
    pub(super) revision: u64,
    next_id: u64,
    waiting: BTreeMap<QuestionId, Waiting>,
}

/// What the gate says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By rules, the mode or a hook.
    Allowed,
    /// By the user, who was asked.
    Approved(Approval),
    /// With this input instead of its own, which has to pass [`AgentGate::recheck`].
    Changed { input: Value },
    /// With the reason that the model reads.
    Denied(Denial),
    /// The run was stopped before anybody had decided.
    Cancelled,
}

impl Verdict {
    /// Whether the call runs.
    #[must_use]
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Denied(_) | Self::Cancelled)
    }
}

impl Gate {
    /// A gate whose rules stay these. Touches nothing.
    #[must_use]
    pub fn new(settings: GateSettings) -> Self {
        Self::build(settings, None)
    }

    /// A gate that begins with these rules and takes over what those of the source restrict as they change.
    #[must_use]
    pub fn following(settings: GateSettings, source: Box<dyn RuleSource>) -> Self {
        Self::build(settings, Some(Mutex::new(source)))
    }

    fn build(settings: GateSettings, source: Option<Mutex<Box<dyn RuleSource>>>) -> Self {
        let GateSettings { mode, rules, interactive, bypass_disabled, .. } = settings;
        let folders = settings.dirs.iter().chain([&settings.project_dir]).cloned();
        let session = ProjectFolders::new(folders, settings.home.as_deref());
        let places = Places {
            dirs: settings.dirs.into(),
            session,
            shell_home: settings.home.clone(),
            git: GitConfigPaths::at_home(settings.home.as_deref()),
            home: settings.home,
            project: settings.project_dir,
            roots: settings.project_roots.into(),
            bound: None,
            protected: Arc::new(ProtectedPlaces::new(settings.protected)),
            programs: [].into(),
            libraries: [].into(),
            has_start_file: false,
            has_sandbox: settings.has_sandbox,
            bash: settings.bash,
        };
        let places = places.with_env(&settings.env);
        let state = State {
            mode,
            allow_ceiling: AllowCeiling::new(&rules),
            rules: Arc::new(rules),
            revision: 0,
            next_id: 1,
            waiting: BTreeMap::new(),
        };
        Self(Arc::new(Shared {
            places: Arc::new(places),
            interactive,
            bypass_disabled,
            source,
            state: Mutex::new(state),
        }))
    }

    /// The present mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.mode_for(ModeOf::Session, self.0.lock().mode)
    }

    /// Checks that agents may be in a mode.
    ///
    /// # Errors
    /// When it is `bypassPermissions`, and that is disabled.
    pub fn check_mode(&self, mode: Mode) -> Result<(), BypassDisabled> {
        match mode {
            Mode::BypassPermissions if self.0.bypass_disabled => Err(BypassDisabled),
            _ => Ok(()),
        }
    }

    /// Changes the mode for every agent's next call, and judges the open questions again.
    ///
    /// # Errors
    /// When the mode is disabled: it stays as it was.
    pub fn set_mode(&self, mode: Mode) -> Result<(), BypassDisabled> {
        self.check_mode(mode)?;
        {
            let mut state = self.0.lock();
            state.mode = mode;
            state.revision += 1;
        }
        self.0.settle();
        Ok(())
    }

    /// Answers a question. False when it is not open any more. After an error it still is.
    pub fn answer(&self, id: QuestionId, answer: Answer) -> Result<bool, AnswerError> {
        self.0.look_at_rules();
        let asked = self.0.lock().waiting.get(&id).map(|waiting| waiting.asked.clone());
        let Some(asked) = asked else { return Ok(false) };
        let verdict = match answer {
            Answer::Once => Verdict::Approved(asked.approval.clone()),
            Answer::No { reason } => Verdict::Denied(Denial::by_user(reason.as_deref())),
            Answer::Denied { reason } | Answer::Stop { reason } => {
                Verdict::Denied(Denial::new(reason))
            }
            Answer::Session => {
                let rules = self.0.parse(&asked.rules, &Origin::Session)?;
                asked.standing.grants.add(rules);
                self.0.lock().revision += 1;
                Verdict::Approved(asked.approval.clone())
            }
            Answer::Always { rules, file } => {
                self.0.write_rules(&asked, &rules, file)?;
                Verdict::Approved(asked.approval.clone())
            }
            Answer::Allowed(allowance) => return self.allow_as(id, &asked, *allowance),
        };
        let answered = self.0.reply(id, verdict);
        self.0.settle();
        Ok(answered)
    }

    /// Answers a question with no, and runs `stop` before the asker can act on that. `stop` also
    /// runs when the question is not open any more.
    pub fn refuse(&self, id: QuestionId, reason: String, stop: impl FnOnce()) {
        // The asker takes this lock when its question closes, and so before it does anything else.
        let mut state = self.0.lock();
        if let Some(waiting) = state.waiting.remove(&id) {
            // An asker that is gone needs no answer.
            let _ = waiting.reply.send(Verdict::Denied(Denial::new(reason)));
        }
        stop();
    }

    /// A program's yes. It holds for the call even when a rule that came with it cannot be kept:
    /// then none is.
    fn allow_as(
        &self,
        id: QuestionId,
        asked: &Asked,
        allowance: Allowance,
    ) -> Result<bool, AnswerError> {
        let Allowance { input, session, written } = allowance;
        let kept = self.0.keep(asked, &session, &written);
        let input = input.filter(|input| *input != *asked.call().input);
        let verdict = match input {
            Some(input) => Verdict::Changed { input },
            None => Verdict::Approved(asked.approval.clone()),
        };
        let answered = self.0.reply(id, verdict);
        self.0.settle();
        kept.map(|()| answered)
    }

    /// What a call of main comes to by now. Nobody is asked.
    #[must_use]
    pub fn judgement(&self, call: &Call<'_>) -> Judgement {
        self.0.judge(call, &Standing::new(self.0.places.clone())).0
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

    /// The files that the shared rules keep main from coming upon in `cwd`, when a permitted call
    /// names `place`.
    #[must_use]
    pub fn unreadable(&self, cwd: &Path, place: Option<&Target>) -> Unreadable {
        let standing = Standing::new(self.0.places.clone());
        self.0.unreadable(&standing, cwd, place)
    }

    /// Why a permitted fetch of `from` must not be led on to `to`, for main.
    #[must_use]
    pub fn refused_redirect(&self, from: &str, to: &str) -> Option<String> {
        self.0.refused_redirect(&Standing::new(self.0.places.clone()), from, to)
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

    /// The mode that an agent's calls are judged by when the session is in this one. Every
    /// judgement asks here, so a disabled mode cannot come from anywhere: not from the start, nor
    /// from a definition.
    fn mode_for(&self, agent: ModeOf, session: Mode) -> Mode {
        match agent.given(session) {
            Mode::BypassPermissions if self.bypass_disabled => Mode::Default,
            mode => mode,
        }
    }

    /// The files that the shared deny rules, those of the agent's definition and the ask rules keep
    /// an agent from coming upon. An ask rule that was asked about `place` itself hides nothing
    /// there, and none does where the mode has answered for the user.
    fn unreadable(&self, standing: &Standing, cwd: &Path, place: Option<&Target>) -> Unreadable {
        let (rules, mode) = {
            let state = self.lock();
            (state.rules.clone(), self.mode_for(standing.mode, state.mode))
        };
        let denied = rules.deny.iter().chain(standing.bounds.iter().flat_map(|it| &it.deny));
        let asks = self.interactive || mode != Mode::BypassPermissions;
        let asked = rules.ask.iter().filter(|_| asks);
        let mut files = Unreadable::new(&standing.places, cwd);
        files.add(denied.filter_map(Rule::read_pattern), None);
        files.add(asked.filter_map(Rule::read_pattern), place);
        files
    }

    /// Why a permitted fetch of `from` must not be led on to `to`.
    fn refused_redirect(&self, standing: &Standing, from: &str, to: &str) -> Option<String> {
        self.look_at_rules();
        self.with_policy(standing, |policy, _| refused_redirect(policy, from, to))
    }

    /// Judges a call by what holds now; the number is the revision of what it was judged by.
    fn judge(&self, call: &Call<'_>, standing: &Standing) -> (Judgement, u64) {
        self.with_policy(standing, |policy, revision| (judge(policy, call), revision))
    }

    /// Hands out what holds now for an agent, and its revision.
    fn with_policy<T>(&self, standing: &Standing, f: impl FnOnce(&Policy<'_>, u64) -> T) -> T {
        let (mode, rules, revision) = {
            let state = self.lock();
            (self.mode_for(standing.mode, state.mode), state.rules.clone(), state.revision)
        };
        let grants = standing.grants.get();
        let policy = Policy {
            mode,
            rules: &rules,
            grants: &grants,
            places: &standing.places,
            bounds: &standing.bounds,
            interactive: self.interactive,
        };
        f(&policy, revision)
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
                Decision::Deny => self.reply(id, Verdict::Denied(Denial::new(judgement.why))),
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

    /// Makes a program's rules count, file by file. One that cannot be understood keeps all of them
    /// out; a file that cannot be written ends it, and what was written before that counts.
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
            (self.mode_for(asked.standing.mode, state.mode), (*state.rules).clone())
        };
        all.allow.extend(rules.iter().cloned());
        let grants = asked.standing.grants.get();
        let policy = Policy {
            mode,
            rules: &all,
            grants: &grants,
            places: &asked.standing.places,
            bounds: &asked.standing.bounds,
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

#[cfg(test)]
mod tests;
