//! The gate that every tool call of every agent passes. The whole tree shares the rules and the
//! mode, and both are live: a change applies to each agent's next call and to the open questions.
//! Grants stay with the agent that got them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parking_lot::{Mutex, MutexGuard};

use super::agent_permissions::AgentPermissions;
use super::call::Call;
use super::judge::{Decision, Judgement, Policy, judge, redirect_refusal};
use super::places::Places;
use super::protected::{ProtectedPlace, ProtectedPlaces};
use super::question::{AnswerError, AskedCall, QuestionEntry, Verdict};
use super::rule::{Rule, RuleOrigin, RuleSet};
use super::session_rules::AllowCeiling;
use super::source::RuleSource;
use super::unreadable::UnreadableFiles;
use crate::disk::{GitConfigPaths, ProjectFolders, block_in_place};
use crate::protocol::{
    Access, Allowance, Answer, BashVersion, Denial, EnvOverlay, PathTarget, PermissionMode,
    QuestionId,
};

pub mod agent;
mod rules;

/// Settings to build a gate from.
#[derive(Clone, Debug)]
pub struct GateSettings {
    pub mode: PermissionMode,
    pub rules: RuleSet,
    /// The working directories: the base and the additional ones. Absolute.
    pub dirs: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Whether there is a user to ask; otherwise every call that needs approval is denied.
    pub interactive: bool,
    /// The folder that holds `.caliban/`. Absolute.
    pub project_dir: PathBuf,
    /// Other folders that count as the project in rule files, such as the repository's root. Absolute.
    pub project_roots: Vec<PathBuf>,
    /// Where edits always need approval, besides files with telling names.
    pub protected: Vec<ProtectedPlace>,
    /// The environment of commands.
    pub env: EnvOverlay,
    /// Whether the kernel confines read-only commands.
    pub has_sandbox: bool,
    /// The version of bash. Absent: a current one.
    pub bash: Option<&'static LazyLock<BashVersion>>,
    /// Whether the mode `bypassPermissions` is disabled for all agents.
    pub bypass_disabled: bool,
}

/// Error for a request for the mode `bypassPermissions`, which a settings file disables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bypassPermissions is disabled by `disableBypassPermissionsMode` in a settings file")]
pub struct BypassDisabledError;

/// The rules, the mode and the open questions of a whole tree of agents. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<GateShared>);

pub(super) struct GateShared {
    places: Arc<Places>,
    interactive: bool,
    bypass_disabled: bool,
    /// The source of changing rules; absent if they are fixed. Locked before `state`, never after it.
    pub(super) source: Option<Mutex<Box<dyn RuleSource>>>,
    state: Mutex<GateState>,
}

pub(super) struct GateState {
    mode: PermissionMode,
    /// Counts changes of the mode.
    pub(super) mode_changes: u64,
    pub(super) rules: Arc<RuleSet>,
    /// The allow rules that a change of the files can add.
    pub(super) allow_ceiling: AllowCeiling,
    /// The allow rules in the files that apply from the next start on.
    pub(super) later: Arc<[Rule]>,
    /// Counts changes of mode and rules, so that none slips in between a judgement and its question.
    pub(super) revision: u64,
    next_id: u64,
    waiting: BTreeMap<QuestionId, QuestionEntry>,
}

impl Gate {
    /// Creates a gate with fixed rules. Touches nothing.
    pub fn new(settings: GateSettings) -> Self {
        Self::build(settings, None)
    }

    /// Creates a gate that starts with these rules and adopts new restrictions from the source as they appear.
    pub fn with_source(settings: GateSettings, source: Box<dyn RuleSource>) -> Self {
        Self::build(settings, Some(Mutex::new(source)))
    }

    fn build(settings: GateSettings, source: Option<Mutex<Box<dyn RuleSource>>>) -> Self {
        let GateSettings { mode, rules, interactive, bypass_disabled, .. } = settings;
        let folders = settings.dirs.iter().chain([&settings.project_dir]).cloned();
        let session = ProjectFolders::new(folders, settings.home.as_deref());
        let places = Places {
            starts: settings.dirs.clone().into(),
            dirs: settings.dirs.into(),
            session,
            shell_home: settings.home.clone(),
            git: GitConfigPaths::with_home(settings.home.as_deref()),
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
        let state = GateState {
            mode,
            mode_changes: 0,
            allow_ceiling: AllowCeiling::new(&rules),
            later: Arc::default(),
            rules: Arc::new(rules),
            revision: 0,
            next_id: 1,
            waiting: BTreeMap::new(),
        };
        Self(Arc::new(GateShared {
            places: Arc::new(places),
            interactive,
            bypass_disabled,
            source,
            state: Mutex::new(state),
        }))
    }

    /// The current mode.
    pub fn mode(&self) -> PermissionMode {
        self.0.without_bypass(self.0.lock().mode)
    }

    /// Checks that agents may be in a mode.
    ///
    /// # Errors
    /// If it is `bypassPermissions`, and that is disabled.
    pub fn check_mode(&self, mode: PermissionMode) -> Result<(), BypassDisabledError> {
        match mode {
            PermissionMode::BypassPermissions if self.0.bypass_disabled => Err(BypassDisabledError),
            _ => Ok(()),
        }
    }

    /// Changes the mode for every agent's next call, and judges the open questions again.
    ///
    /// # Errors
    /// If the mode is disabled; the mode is then unchanged.
    pub fn set_mode(&self, mode: PermissionMode) -> Result<(), BypassDisabledError> {
        self.change_mode(mode, |waiting| waiting.mode = mode)
    }

    /// The same, but no open question is answered because of it: the user must have seen what runs, and on the
    /// way to another mode passes stricter ones. A yes counts only if the mode then allows it.
    ///
    /// # Errors
    /// If the mode is disabled; the mode is then unchanged.
    pub fn set_mode_for_new_calls(&self, mode: PermissionMode) -> Result<(), BypassDisabledError> {
        self.change_mode(mode, |_| {})
    }

    fn change_mode(
        &self,
        mode: PermissionMode,
        change: impl FnMut(&mut QuestionEntry),
    ) -> Result<(), BypassDisabledError> {
        self.check_mode(mode)?;
        {
            let mut state = self.0.lock();
            state.mode = mode;
            state.mode_changes += 1;
            state.revision += 1;
            state.waiting.values_mut().for_each(change);
        }
        self.0.settle();
        Ok(())
    }

    /// Answers a question. False if it is no longer open. After an error it still is.
    pub fn answer(&self, id: QuestionId, answer: Answer) -> Result<bool, AnswerError> {
        block_in_place(|| self.answer_now(id, answer))
    }

    fn answer_now(&self, id: QuestionId, answer: Answer) -> Result<bool, AnswerError> {
        self.0.reload_rules();
        let asked = self.0.lock().waiting.get(&id).map(|waiting| waiting.asked.clone());
        let Some(asked) = asked else { return Ok(false) };
        let verdict = match answer {
            Answer::Once => Verdict::Approved(asked.approval.clone()),
            Answer::No { reason } => Verdict::Denied(match asked.call().access {
                Access::AskUser { .. } => Denial::unanswered(reason.as_deref()),
                _ => Denial::by_user(reason.as_deref()),
            }),
            Answer::Denied { reason } | Answer::Stop { reason } => {
                Verdict::Denied(Denial::new(reason))
            }
            Answer::Session => {
                let rules = self.0.parse(&asked.rules, &RuleOrigin::Session)?;
                asked.permissions.grants.add(rules);
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

    /// Answers a question with no, and runs `stop` before the asker can act on it. `stop` also runs
    /// if the question is no longer open.
    pub fn refuse(&self, id: QuestionId, reason: String, stop: impl FnOnce()) {
        // The asker takes this lock when its question closes, and so before it does anything else.
        let mut state = self.0.lock();
        if let Some(waiting) = state.waiting.remove(&id) {
            // An asker that has gone away needs no answer.
            let _ = waiting.reply.send(Verdict::Denied(Denial::new(reason)));
        }
        stop();
    }

    /// A client's yes. It holds for the call even if a rule that came with it cannot be kept: then none is.
    fn allow_as(
        &self,
        id: QuestionId,
        asked: &AskedCall,
        allowance: Allowance,
    ) -> Result<bool, AnswerError> {
        let Allowance { input, session, written } = allowance;
        let kept = self.0.keep(asked, &session, &written);
        let input = input.filter(|input| *input != *asked.call().input);
        let verdict = match input {
            Some(input) => Verdict::Changed { input, asked: asked.approval.clone() },
            None => Verdict::Approved(asked.approval.clone()),
        };
        let answered = self.0.reply(id, verdict);
        self.0.settle();
        kept.map(|()| answered)
    }

    /// The current judgement on a call of the main agent. Asks nobody.
    pub fn judgement(&self, call: &Call<'_>) -> Judgement {
        self.0.judge(call, &AgentPermissions::new(self.0.places.clone()), None).0
    }

    /// Whether somebody can be asked.
    pub fn is_interactive(&self) -> bool {
        self.0.interactive
    }

    /// Whether a deny rule blocks every call of this tool: then it need not be offered.
    pub fn denies_tool(&self, tool: &str) -> bool {
        self.0.lock().rules.deny.iter().any(|rule| rule.covers_all_of(tool))
    }

    /// Whether a deny rule blocks starting this sub-agent.
    pub fn denies_agent(&self, name: &str) -> bool {
        self.0.lock().rules.deny.iter().any(|rule| rule.covers_agent(name))
    }

    /// The files in `cwd` that the shared rules hide from the main agent, during a permitted call that names `place`.
    pub fn unreadable(&self, cwd: &Path, place: Option<&PathTarget>) -> UnreadableFiles {
        let permissions = AgentPermissions::new(self.0.places.clone());
        self.0.unreadable(&permissions, cwd, place)
    }

    /// Why a permitted fetch of `from` must not be redirected to `to`, for the main agent.
    pub fn redirect_refusal(&self, from: &str, to: &str) -> Option<String> {
        self.0.redirect_refusal(&AgentPermissions::new(self.0.places.clone()), from, to)
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

impl GateShared {
    pub(super) fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock()
    }

    /// The mode for an agent's calls, given the session's mode. Every judgement gets it here, so a
    /// disabled mode cannot come from anywhere: not from the start, nor from a definition.
    pub(super) fn mode_of(
        &self,
        agent: &AgentPermissions,
        session: PermissionMode,
        state: &GateState,
    ) -> PermissionMode {
        self.without_bypass(agent.mode(session, state.mode_changes))
    }

    fn without_bypass(&self, mode: PermissionMode) -> PermissionMode {
        match mode {
            PermissionMode::BypassPermissions if self.bypass_disabled => PermissionMode::Default,
            mode => mode,
        }
    }

    /// The files that the shared deny rules, those of the agent's definition and the ask rules hide
    /// from an agent. An ask rule that was asked for `place` itself hides nothing there, and none
    /// does if the mode has answered for the user. One about all reading asks before calls and hides
    /// nothing from them.
    fn unreadable(
        &self,
        permissions: &AgentPermissions,
        cwd: &Path,
        place: Option<&PathTarget>,
    ) -> UnreadableFiles {
        let (rules, mode) = {
            let state = self.lock();
            (state.rules.clone(), self.mode_of(permissions, state.mode, &state))
        };
        let denied = || rules.deny.iter().chain(permissions.bounds.iter().flat_map(|it| &it.deny));
        let asks = self.interactive || mode != PermissionMode::BypassPermissions;
        let asked = rules.ask.iter().filter(|_| asks);
        let mut files = UnreadableFiles::new(&permissions.places, cwd);
        if denied().any(Rule::covers_all_reads) {
            files.add_all();
        }
        files.add(denied().filter_map(Rule::read_pattern), None);
        files.add(asked.filter_map(Rule::read_pattern), place);
        files
    }

    /// Why a permitted fetch of `from` must not be redirected to `to`.
    fn redirect_refusal(
        &self,
        permissions: &AgentPermissions,
        from: &str,
        to: &str,
    ) -> Option<String> {
        block_in_place(|| self.reload_rules());
        self.with_policy(permissions, None, |policy, _| redirect_refusal(policy, from, to))
    }

    /// Judges a call by the current rules, and by the current mode of the session or the one that it was
    /// asked in; the number is their revision.
    fn judge(
        &self,
        call: &Call<'_>,
        permissions: &AgentPermissions,
        asked_in: Option<PermissionMode>,
    ) -> (Judgement, u64) {
        let judge = |policy: &Policy<'_>, revision| (judge(policy, call), revision);
        let (mut judgement, revision) = self.with_policy(permissions, asked_in, judge);
        // Plan mode, to which a definition narrows it, asks.
        let session = asked_in.unwrap_or_else(|| self.mode());
        let asks_nobody = permissions.mode.is_of_session() && session == PermissionMode::DontAsk;
        if asks_nobody && judgement.decision == Decision::Ask {
            judgement.decision = Decision::Deny;
            judgement.why.push_str(", and in dontAsk mode nobody is asked");
        }
        (judgement, revision)
    }

    /// Whether the rules of the files allow a call from the next start on.
    fn allows_later(&self, call: &Call<'_>, permissions: &AgentPermissions) -> bool {
        let later = self.lock().later.clone();
        let allows = |policy: &Policy<'_>, _| {
            let grants = [policy.grants, &later].concat();
            judge(&Policy { grants: &grants, ..*policy }, call).decision == Decision::Allow
        };
        !later.is_empty() && self.with_policy(permissions, None, allows)
    }

    fn mode(&self) -> PermissionMode {
        self.lock().mode
    }

    /// Calls `f` with an agent's current policy and its revision.
    fn with_policy<T>(
        &self,
        permissions: &AgentPermissions,
        asked_in: Option<PermissionMode>,
        f: impl FnOnce(&Policy<'_>, u64) -> T,
    ) -> T {
        let (mode, rules, revision) = {
            let state = self.lock();
            let session = asked_in.unwrap_or(state.mode);
            (self.mode_of(permissions, session, &state), state.rules.clone(), state.revision)
        };
        let grants = permissions.grants.get();
        let policy = Policy {
            mode,
            rules: &rules,
            grants: &grants,
            places: &permissions.places,
            bounds: &permissions.bounds,
            interactive: self.interactive,
        };
        f(&policy, revision)
    }

    /// Answers every open question that rules, grants or mode now decide.
    pub(super) fn settle(&self) {
        let open: Vec<(QuestionId, Arc<AskedCall>, PermissionMode)> = {
            let state = self.lock();
            let waiting = state.waiting.iter();
            waiting.map(|(id, waiting)| (*id, waiting.asked.clone(), waiting.mode)).collect()
        };
        for (id, asked, mode) in open {
            let judge = || self.judge(&asked.call(), &asked.permissions, Some(mode)).0;
            let judgement = block_in_place(judge);
            match judgement.decision {
                // Only an answer says what becomes of a plan.
                Decision::Allow if matches!(asked.call().access, Access::ExitPlan { .. }) => {
                    continue;
                }
                Decision::Allow => self.reply(id, Verdict::Allowed),
                Decision::Deny => self.reply(id, Verdict::Denied(Denial::new(judgement.why))),
                Decision::Ask => continue,
            };
        }
    }

    /// Ends a question; false if it is no longer open.
    fn reply(&self, id: QuestionId, verdict: Verdict) -> bool {
        let waiting = self.lock().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.reply.send(verdict).is_ok())
    }
}

#[cfg(test)]
mod tests;
