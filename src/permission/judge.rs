//! One pure decision: given rules, mode and a call, may it run?
//!
//! The order: deny rules, the agent's bound, what the mode forbids, hooks that ask and ask rules,
//! hooks that allow, then for each unit of the call allow rules, the agent's grants, and what the
//! mode leaves free.

use std::path::Path;

use serde_json::Value;

use super::bounds::Bound;
use super::facts::{Facts, Unit};
use super::lookalike;
use super::path::{Places, Target};
use super::read_only::{self, ReadRules, check_read_only};
use super::restriction::Restriction;
use super::rule::{Exception, Rule, RuleSet, read_rules};
use super::script::SimpleCommand;
use super::suggest;
use crate::protocol::{Access, Mode, ReadOnly, ToolUseId};

/// A valid tool call that wants to run.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub id: &'a ToolUseId,
    pub tool: &'a str,
    pub input: &'a Value,
    /// What it would touch, said by the tool.
    pub access: &'a Access,
    /// The agent's base directory.
    pub cwd: &'a Path,
    /// What hooks say to it.
    pub advice: Advice,
}

/// What hooks say to a call. It stands below the rules: deny rules and ask rules hold whatever hooks allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing: rules and mode decide.
    #[default]
    None,
    /// It may run without a question.
    Allow,
    /// It must be asked about.
    Ask { why: String },
}

/// All that a judgement rests on besides the call and the disk.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    pub mode: Mode,
    pub rules: &'a RuleSet,
    /// Allow rules of the asking agent alone.
    pub grants: &'a [Rule],
    pub places: &'a Places,
    /// Rules for single calls in the definitions of the asking agent and of those above it.
    pub(super) bounds: &'a [Bound],
    /// Whether there is someone to ask.
    pub interactive: bool,
}

/// What is to be done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// A decision and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub decision: Decision,
    /// The bounds of a command that is allowed for no other reason than that it is known to only read.
    pub read_only: Option<ReadOnly>,
    /// The rule with its place, or the mode, or what no rule allows.
    pub why: String,
    /// The parts of `why` that no allow rule is in: a new allow rule removes some of them and adds none.
    pub(super) reasons: Vec<String>,
    /// What is special about the call.
    pub warnings: Vec<String>,
    /// Rules that would allow it; empty when no safe rule does.
    pub suggestions: Vec<String>,
}

impl Judgement {
    fn new(decision: Decision, why: impl Into<String>) -> Self {
        let why = why.into();
        let reasons = vec![why.clone()];
        let (warnings, suggestions) = Default::default();
        Self { decision, read_only: None, why, reasons, warnings, suggestions }
    }
}

/// Decides on a call. Looks at the disk to see where paths lead; does nothing else.
#[must_use]
pub fn judge(policy: &Policy<'_>, call: &Call<'_>) -> Judgement {
    let places = policy.places;
    let bounds = policy.bounds.iter().flat_map(|bound| &bound.deny);
    let deny = policy.rules.deny.iter().chain(bounds);
    let read_rules = read_rules(deny.clone().chain(&policy.rules.ask), places);
    let mut facts = Facts::of(call, places, read_rules);
    let writes = facts.units.iter().any(|unit| matches!(unit, Unit::Write(_)));
    if writes || facts.shell.is_some() && policy.rules.allow.iter().any(Rule::is_general) {
        places.renew_protected();
    }
    let mut allow = policy.rules.allow.iter().chain(policy.grants);
    facts.all_commands =
        policy.mode == Mode::BypassPermissions || allow.any(|rule| rule.covers_all_of("Bash"));
    let denied = restriction(deny, &facts, places);
    if let Some((rule, None)) = &denied {
        return Judgement::new(Decision::Deny, format!("{rule} denies it"));
    }
    let excluded = policy.bounds.iter().find_map(|bound| bound.excludes(&facts, places));
    if let Some(why) = excluded.or_else(|| beyond_bound(&facts, places)) {
        return Judgement::new(Decision::Deny, why);
    }
    if policy.mode == Mode::Plan && facts.units.iter().any(|unit| changes(unit, &facts, places)) {
        let why = "plan mode is on: nothing may be changed and no command run but those that only read; \
                   present the plan instead";
        return Judgement::new(Decision::Deny, why);
    }
    // A rule that names exactly this answers beforehand what would be asked.
    if let Some((rule, Some(why))) = denied
        && !facts.units.iter().all(|unit| is_named(unit, policy, &facts))
    {
        return doubtful(policy, &facts, call.access, &format!("{rule} may deny it: {why}"));
    }
    let bypass = policy.mode == Mode::BypassPermissions;
    let asks = match &call.advice {
        Advice::Ask { why } => Some(format!("a hook asks: {why}")),
        // Where nobody can be asked, the mode has said so; what a hook says, it says of this very call.
        _ if bypass && !policy.interactive => None,
        _ => restriction(&policy.rules.ask, &facts, places).map(|(rule, doubt)| match doubt {
            None => format!("{rule} asks"),
            Some(why) => format!("{rule} may ask for it: {why}"),
        }),
    };
    if let Some(asks) = asks {
        let mut judgement = match policy.mode {
            Mode::DontAsk => {
                Judgement::new(Decision::Deny, format!("{asks}, and dontAsk mode asks nobody"))
            }
            _ => Judgement::new(Decision::Ask, asks),
        };
        judgement.warnings = warnings(&facts, call.access, places);
        return judgement;
    }
    if bypass {
        return Judgement::new(Decision::Allow, "bypassPermissions mode allows it");
    }
    // In plan mode nobody but a person lets run what nothing is known of.
    let unknown = policy.mode == Mode::Plan && facts.units.contains(&Unit::Other);
    if call.advice == Advice::Allow && !unknown {
        return Judgement::new(Decision::Allow, "a hook allows it");
    }
    judge_units(policy, &facts, call.access)
}

/// Why a page that was permitted at `from` must not lead on to `to`: a deny rule is about it, or an
/// ask rule that was not asked about `from`.
pub(super) fn refused_redirect(policy: &Policy<'_>, from: &str, to: &str) -> Option<String> {
    let facts = |url: &str| {
        let access = Access::Fetch { url: url.to_owned() };
        let (id, input) = (ToolUseId::new("redirect"), Value::Null);
        let cwd = &policy.places.project;
        let call = Call {
            id: &id,
            tool: "WebFetch",
            input: &input,
            access: &access,
            cwd,
            advice: Advice::None,
        };
        Facts::of(&call, policy.places, ReadRules::default())
    };
    let (from, to) = (facts(from), facts(to));
    let bounds = policy.bounds.iter().flat_map(|bound| &bound.deny);
    let denied = restriction(policy.rules.deny.iter().chain(bounds), &to, policy.places);
    if let Some((rule, _)) = denied {
        return Some(format!("{rule} denies it"));
    }
    let asks = policy.interactive || policy.mode != Mode::BypassPermissions;
    let was_asked = |rule: &&Rule| rule.restricts(&from, policy.places) != Restriction::No;
    let ask = policy.rules.ask.iter().filter(|_| asks).filter(|rule| !was_asked(rule));
    let (rule, _) = restriction(ask, &to, policy.places)?;
    Some(format!("{rule} asks about it. To go there, fetch it"))
}

/// How often a command of one line is compared with a rule.
const MAX_COMPARISONS: usize = 10_000;

/// The rule that is meant for the call, or else the first that may be, with the reason for the doubt.
fn restriction<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    facts: &Facts,
    places: &Places,
) -> Option<(String, Option<String>)> {
    let mut doubt = None;
    let commands = facts.shell.as_ref().map_or(0, |shell| shell.script.all_commands().len());
    for (at, rule) in rules.into_iter().enumerate() {
        if at.saturating_mul(commands) > MAX_COMPARISONS {
            let why = format!("the line has {commands} commands, too many for so many rules");
            return doubt.or_else(|| Some((rule.describe(places), Some(why))));
        }
        match rule.restricts(facts, places) {
            Restriction::Yes => return Some((rule.describe(places), None)),
            Restriction::Maybe(why) if doubt.is_none() => {
                doubt = Some((rule.describe(places), Some(why)));
            }
            _ => {}
        }
    }
    doubt
}

/// Whether an allow rule names the unit word for word.
fn is_named(unit: &Unit, policy: &Policy<'_>, facts: &Facts) -> bool {
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    *unit == Unit::Nothing || rules.any(|rule| rule.names(unit, facts))
}

/// Asks about a call that a deny rule may be meant for. A deny rule holds in every mode, so where
/// nobody is asked the answer is no.
fn doubtful(policy: &Policy<'_>, facts: &Facts, access: &Access, why: &str) -> Judgement {
    let way_out = "write it as plain commands, or add an allow rule for exactly this line";
    let mut judgement = match (policy.mode, policy.interactive) {
        (Mode::DontAsk, _) => Judgement::new(
            Decision::Deny,
            format!("{why}, and dontAsk mode asks nobody; {way_out}"),
        ),
        (_, false) => {
            Judgement::new(Decision::Deny, format!("{why}, and there is nobody to ask; {way_out}"))
        }
        (_, true) => Judgement::new(Decision::Ask, why),
    };
    judgement.warnings = warnings(facts, access, policy.places);
    judgement
}

/// Why a file tool may not write there at all, if the agent is bound to a folder. What shells
/// write, the kernel keeps in bounds: a line does not say it.
fn beyond_bound(facts: &Facts, places: &Places) -> Option<String> {
    let bound = places.bound.as_deref().filter(|_| facts.shell.is_none())?;
    let outside =
        |target: &Target| !target.resolved.as_deref().is_some_and(|path| path.starts_with(bound));
    let target = facts.units.iter().find_map(|unit| match unit {
        Unit::Write(target) if outside(target) => Some(target),
        _ => None,
    })?;
    Some(format!(
        "this agent works in a worktree of its own and can write nowhere but in {}; {} is outside it",
        bound.display(),
        target.written.display(),
    ))
}

/// Allows the call when every unit of it is allowed or free.
fn judge_units(policy: &Policy<'_>, facts: &Facts, access: &Access) -> Judgement {
    let mut units = Units::of(policy, facts);
    let read_only = units.confine(policy, facts);
    let Missing { units: missing, bare, shown: reasons } = units.missing;
    if bare.is_empty() {
        let by_mode = || format!("{} mode allows it", policy.mode.name());
        let why = units.why_allowed.unwrap_or_else(by_mode);
        return Judgement { read_only, ..Judgement::new(Decision::Allow, why) };
    }
    let why = reasons.join("; ");
    let mut judgement = match policy.mode {
        Mode::DontAsk => {
            Judgement::new(Decision::Deny, format!("{why}, and dontAsk mode asks nobody"))
        }
        _ => Judgement::new(Decision::Ask, why),
    };
    judgement.reasons = bare;
    judgement.warnings = warnings(facts, access, policy.places);
    if policy.mode != Mode::Plan {
        judgement.suggestions = suggest::rules(&missing, facts, policy.places);
    }
    judgement
}

/// The units of a call, by what lets them run.
#[derive(Default)]
struct Units<'a> {
    /// The first rule that was needed, as a reason.
    why_allowed: Option<String>,
    /// A rule for commands was needed, and not only one for files.
    allows_command: bool,
    /// Commands that run without a rule as long as they are confined.
    free: Vec<(&'a Unit, &'a SimpleCommand)>,
    missing: Missing<'a>,
}

impl<'a> Units<'a> {
    fn of(policy: &Policy<'_>, facts: &'a Facts) -> Self {
        let mut units = Self::default();
        for unit in &facts.units {
            if let Some(rule) = rule_for(unit, policy, facts, |rule| !rule.is_general()) {
                units.allow(rule, policy);
                continue;
            }
            match (free(unit, policy.mode, facts, policy.places), unit) {
                // Nobody thought of this project when a rule for all of them was written: what is
                // free without it stays as bound as it is then.
                (Ok(()), Unit::Command(command)) => units.free.push((unit, command)),
                (Ok(()), _) => {}
                (Err(bare), _) => match rule_for(unit, policy, facts, Rule::is_general) {
                    Some(rule) => units.allow(rule, policy),
                    None => units.missing.add(unit, bare, policy, facts),
                },
            }
        }
        units
    }

    fn allow(&mut self, rule: &Rule, policy: &Policy<'_>) {
        let why = || format!("{} allows it", rule.describe(policy.places));
        self.why_allowed.get_or_insert_with(why);
        self.allows_command |= !rule.is_for_files();
    }

    /// Returns the bounds of a call that only reads. In any other, the free commands are not
    /// confined: they need a rule, unless they do no harm as they are.
    fn confine(&mut self, policy: &Policy<'_>, facts: &'a Facts) -> Option<ReadOnly> {
        let places = policy.places;
        let writes = facts.units.iter().any(|unit| matches!(unit, Unit::Write(_)));
        let only_reads = self.why_allowed.is_none() && !writes && self.missing.units.is_empty();
        let uses = |program: &str| {
            let mut programs = self.free.iter().filter_map(|(_, command)| command.words.first());
            programs.any(|word| word.text == program)
        };
        // Git needs files of settings that other programs must not read, and ripgrep reads
        // whatever an ignore file leads to.
        let (uses_git, uses_ripgrep) = (uses("git"), uses("rg"));
        let shell = facts.shell.as_ref()?;
        // Bash loads them too, before it is confined.
        if places.has_libraries_of_project(&shell.bases.shell) && !self.allows_command {
            self.missing.note(read_only::LIBRARIES);
        }
        if only_reads && !(uses_git && uses_ripgrep) {
            return Some(places.read_only(&shell.bases.shell, uses_git));
        }
        let is_free = |command| {
            let bases = shell.bases.known();
            bases.is_some_and(|bases| read_only::is_free_unconfined(command, bases, places))
        };
        for (unit, command) in std::mem::take(&mut self.free) {
            if let Some(rule) = rule_for(unit, policy, facts, Rule::is_general) {
                self.allow(rule, policy);
            } else if !is_free(command) {
                let program = command.words.first().map(|word| word.text.clone());
                let program = program.unwrap_or_default();
                let why = match program.as_str() {
                    "git" if only_reads => "free only in a line without rg",
                    "rg" if only_reads => "free only in a line without git",
                    _ if only_reads => "free only in a line without git or rg",
                    _ => "free only in a line that only reads",
                };
                let bare = format!("no rule allows {}, which is {why}", suggest::short(command));
                self.missing.add(unit, bare, policy, facts);
            }
        }
        // What such a file starts, it starts in the folder of the line.
        if places.has_start_file && !self.allows_command {
            self.missing.note("your BASH_ENV file would run first, and not confined");
        }
        None
    }
}

/// The first allow rule of the kind that covers the unit.
fn rule_for<'a>(
    unit: &Unit,
    policy: &'a Policy<'_>,
    facts: &Facts,
    is_kind: impl Fn(&Rule) -> bool,
) -> Option<&'a Rule> {
    // In plan mode nobody but a person lets run what nothing is known of.
    if policy.mode == Mode::Plan && *unit == Unit::Other {
        return None;
    }
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    rules.find(|rule| is_kind(rule) && rule.allows(unit, facts, policy.places))
}

/// Reasons why a call needs an answer.
#[derive(Default)]
struct Missing<'a> {
    /// The units that nothing allows.
    units: Vec<&'a Unit>,
    /// Why, without what allow rules say to it.
    bare: Vec<String>,
    /// Why, for the user, each reason once.
    shown: Vec<String>,
}

impl<'a> Missing<'a> {
    /// Adds a reason that no rule can remove.
    fn note(&mut self, why: &str) {
        self.bare.push(why.to_owned());
        self.shown.push(why.to_owned());
    }

    fn add(&mut self, unit: &'a Unit, bare: String, policy: &Policy<'_>, facts: &Facts) {
        let shown = exception(unit, policy, facts).unwrap_or_else(|| bare.clone());
        self.units.push(unit);
        self.bare.push(bare);
        if !self.shown.contains(&shown) {
            self.shown.push(shown);
        }
    }
}

/// Why a rule that names the command does not cover it: a dangerous option, and which rule would
/// cover that, or the folder in which the command runs.
fn exception(unit: &Unit, policy: &Policy<'_>, facts: &Facts) -> Option<String> {
    let Unit::Command(command) = unit else { return None };
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    let places = policy.places;
    let found = rules.find_map(|rule| Some((rule, rule.exception(unit, facts, places)?)))?;
    let (rule, danger) = match found {
        (rule, Exception::Danger(danger)) => (rule, danger),
        (rule, Exception::Elsewhere(why)) => {
            return Some(format!("{} does not hold here: {why}", rule.describe(places)));
        }
    };
    let program = super::wrapper::base_name(command.program());
    let mut why = format!(
        "no rule allows {program} with {}: {} does not name it",
        danger.option,
        rule.describe(places)
    );
    if let Some(rule) = suggest::naming(command, &danger) {
        why.push_str(&format!("; {rule} would allow it"));
    }
    Some(why)
}

/// Whether the mode lets the unit pass without a rule; else what is missing.
fn free(unit: &Unit, mode: Mode, facts: &Facts, places: &Places) -> Result<(), String> {
    match unit {
        Unit::Nothing | Unit::Read(_) | Unit::Write(_) | Unit::Command(_)
            if facts.shell.as_ref().is_some_and(|shell| shell.script.tells_values) =>
        {
            Err("what it does would tell the value of a variable".to_owned())
        }
        Unit::Nothing => Ok(()),
        Unit::Read(target) if target.is_inside(places) => Ok(()),
        Unit::Read(target) => Err(format!(
            "no rule allows reading {} outside the working directories",
            places.show(&target.written)
        )),
        Unit::Write(target) => {
            let name = places.show(&target.written);
            if !target.is_inside(places) {
                Err(format!("no rule allows writing {name} outside the working directories"))
            } else if mode != Mode::AcceptEdits {
                Err(format!("no rule allows writing {name}"))
            } else if let Some(protection) = places.protections(target).first() {
                let reason = &protection.reason;
                Err(format!("{name} is protected: {reason}, so edits are always asked about"))
            } else {
                Ok(())
            }
        }
        Unit::Command(command) => {
            let bases = facts.shell.as_ref().map_or(&[][..], |shell| shell.bases.shell.as_slice());
            let is_fed = facts.shell.as_ref().is_some_and(|shell| shell.script.feeds_values);
            let name = suggest::short(command);
            let missing = match check_read_only(command, bases, places, &facts.read_rules) {
                Ok(()) if bases.is_empty() => "where it runs is only known when it runs".to_owned(),
                Ok(()) if is_fed => "what it reads is only known when it runs".to_owned(),
                Ok(()) => return Ok(()),
                Err(None) => return Err(format!("no rule allows {name}")),
                Err(Some(obstacle)) => obstacle,
            };
            Err(format!("no rule allows {name}, and {missing}"))
        }
        Unit::Unclear(why) => Err(format!("{why}, so no rule for single commands covers it")),
        Unit::Fetch(Some(host)) => Err(format!("no rule allows fetching from {host}")),
        Unit::Fetch(None) => Err("no rule allows fetching from this address".to_owned()),
        // A sub-agent touches nothing by being started: its own calls are judged one by one.
        Unit::Agent(name) if mode == Mode::DontAsk => {
            Err(format!("no rule allows AgentTool({name})"))
        }
        // Nor by loading a text: what it says to do is judged like anything else.
        Unit::Agent(_) | Unit::Skill(_) => Ok(()),
        Unit::Other => Err(format!("no rule allows {}", facts.tool)),
    }
}

/// Whether plan mode must keep the unit from happening.
fn changes(unit: &Unit, facts: &Facts, places: &Places) -> bool {
    match unit {
        Unit::Write(_) | Unit::Unclear(_) => true,
        Unit::Command(_) => free(unit, Mode::Plan, facts, places).is_err(),
        _ => false,
    }
}

/// Programs whose purpose is to talk to other machines.
const NETWORK: &[&str] =
    &["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "gh"];

fn warnings(facts: &Facts, access: &Access, places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    for unit in &facts.units {
        match unit {
            Unit::Read(target) | Unit::Write(target) => {
                let name = places.show(&target.written);
                if !target.is_inside(places) {
                    let leads = match &target.resolved {
                        Some(resolved) if *resolved != target.written => {
                            format!(" (it leads to {})", resolved.display())
                        }
                        _ => String::new(),
                    };
                    warnings.push(format!("{name} is outside the working directories{leads}"));
                }
                let protections = match unit {
                    Unit::Write(_) => places.protections(target),
                    _ => Vec::new(),
                };
                if let Some(protection) = protections.first() {
                    warnings.push(format!("{name} is protected: {}", protection.reason));
                }
            }
            Unit::Fetch(_) => warnings.push("uses the network".to_owned()),
            Unit::Command(command) => {
                let words = super::wrapper::undressed(&command.words);
                let remote =
                    matches!(words.as_slice(), ["git", "push" | "pull" | "fetch" | "clone", ..]);
                if remote || words.first().is_some_and(|program| NETWORK.contains(program)) {
                    warnings.push("uses the network".to_owned());
                }
            }
            Unit::Unclear(why) => warnings.push(why.clone()),
            Unit::Nothing | Unit::Agent(_) | Unit::Skill(_) | Unit::Other => {}
        }
    }
    warnings.extend(access_texts(access).iter().flat_map(|text| lookalike::warnings(text)));
    warnings.dedup();
    warnings
}

/// The texts of a call that the user reads before answering.
fn access_texts(access: &Access) -> Vec<String> {
    match access {
        Access::Command { line, .. } => vec![line.clone()],
        Access::Read { paths } | Access::Write { paths } => {
            paths.iter().map(|path| path.written.display().to_string()).collect()
        }
        Access::Fetch { url } => vec![url.clone()],
        Access::Nothing | Access::Agent { .. } | Access::Skill { .. } | Access::Other => Vec::new(),
    }
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
