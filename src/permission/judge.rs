//! The pure decision: given rules, mode and a call, may it run?
//!
//! The order: deny rules, the agent's bound, the mode's prohibitions, hooks that ask and ask rules,
//! hooks that allow, then for each item of the call allow rules, the agent's grants, and what the
//! mode leaves free.

use std::path::Path;

use serde_json::Value;

use super::bounds::BoundRules;
use super::call::{Call, HookAdvice};
use super::call_access::{AccessItem, CallAccess};
use super::lookalike;
use super::path::PathTarget;
use super::pattern::Restriction;
use super::places::Places;
use super::read_only::{self, ReadRules, check_read_only};
use super::rule::{Exception, Rule, RuleSet, read_rules};
use super::script::SimpleCommand;
use super::suggest;
use crate::protocol::{Access, PermissionMode, ReadOnly, ToolUseId};

/// All input of a judgement besides the call and the disk.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    pub mode: PermissionMode,
    pub rules: &'a RuleSet,
    /// Allow rules of the asking agent only.
    pub grants: &'a [Rule],
    pub places: &'a Places,
    /// Call rules in the definitions of the asking agent and its ancestors.
    pub(super) bounds: &'a [BoundRules],
    /// Whether there is a user to ask.
    pub interactive: bool,
}

/// The decision on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// A decision and its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub decision: Decision,
    /// The bounds of a command that is allowed only because it is known to be read-only.
    pub read_only: Option<ReadOnly>,
    /// The rule and where it is from, or the mode, or what no rule allows.
    pub why: String,
    /// The parts of `why` that mention no allow rule: a new allow rule removes some of them and adds none.
    pub(super) reasons: Vec<String>,
    /// Where the words of a line that is asked about lead.
    pub(super) targets: Vec<PathTarget>,
    /// Special circumstances of the call.
    pub warnings: Vec<String>,
    /// Rules that would allow it; empty if no safe rule does.
    pub suggestions: Vec<String>,
}

impl Judgement {
    fn new(decision: Decision, why: impl Into<String>) -> Self {
        let why = why.into();
        let reasons = vec![why.clone()];
        let (targets, warnings, suggestions) = Default::default();
        Self { decision, read_only: None, why, reasons, targets, warnings, suggestions }
    }
}

/// Maximum bytes of a line whose names are looked up again before it runs.
const MAX_TARGET_LINE: usize = 4096;

/// Decides on a call. Reads the disk to resolve paths; has no other effects.
pub fn judge(policy: &Policy<'_>, call: &Call<'_>) -> Judgement {
    let effects = effects(policy, call);
    let mut judgement = decide(policy, call, &effects);
    if judgement.decision == Decision::Ask
        && let Some(shell) = &effects.shell
        && shell.line.len() <= MAX_TARGET_LINE
    {
        judgement.targets.clone_from(&shell.mentioned().all.targets);
    }
    judgement
}

/// The effects of the call, as far as the policy needs them.
fn effects(policy: &Policy<'_>, call: &Call<'_>) -> CallAccess {
    let places = policy.places;
    let restricting = deny_rules(policy).chain(&policy.rules.ask);
    let mut effects = CallAccess::from_call(call, places, read_rules(restricting, places));
    let writes = effects.items.iter().any(|item| matches!(item, AccessItem::Write(_)));
    if writes || effects.shell.is_some() && policy.rules.allow.iter().any(Rule::is_general) {
        places.renew_protected();
    }
    let mut allow = policy.rules.allow.iter().chain(policy.grants);
    effects.all_commands = policy.mode == PermissionMode::BypassPermissions
        || allow.any(|rule| rule.covers_all_of("Bash"));
    effects
}

/// The deny rules: those of all agents, and those that bound the asking one.
fn deny_rules<'a>(policy: &'a Policy<'_>) -> impl Iterator<Item = &'a Rule> {
    policy.rules.deny.iter().chain(policy.bounds.iter().flat_map(|bound| &bound.deny))
}

fn decide(policy: &Policy<'_>, call: &Call<'_>, effects: &CallAccess) -> Judgement {
    let places = policy.places;
    let denied = find_restriction(deny_rules(policy), effects, places);
    if let Some((rule, None)) = &denied {
        return Judgement::new(Decision::Deny, format!("{rule} denies it"));
    }
    let excluded = policy.bounds.iter().find_map(|bound| bound.excludes(effects, places));
    if let Some(why) = excluded.or_else(|| bound_violation(effects, places)) {
        return Judgement::new(Decision::Deny, why);
    }
    if policy.mode == PermissionMode::Plan
        && effects.items.iter().any(|item| changes(item, effects, places))
    {
        let why = "plan mode is on: nothing may be changed, and only read-only commands may run; \
                   present the plan instead";
        return Judgement::new(Decision::Deny, why);
    }
    // A rule that names exactly this has answered the question in advance.
    if let Some((rule, Some(why))) = denied
        && !effects.items.iter().all(|item| is_named(item, policy, effects))
    {
        return ask_for_doubt(policy, effects, call.access, &format!("{rule} may deny it: {why}"));
    }
    let bypass = policy.mode == PermissionMode::BypassPermissions;
    let asks = match &call.advice {
        HookAdvice::Ask { why } => Some(format!("a hook asks: {why}")),
        // With nobody to ask, the mode has decided; a hook decides on this very call.
        _ if bypass && !policy.interactive => None,
        _ => {
            find_restriction(&policy.rules.ask, effects, places).map(|(rule, doubt)| match doubt {
                None => format!("{rule} asks"),
                Some(why) => format!("{rule} may ask for it: {why}"),
            })
        }
    };
    if let Some(asks) = asks {
        let mut judgement = match policy.mode {
            PermissionMode::DontAsk => {
                Judgement::new(Decision::Deny, format!("{asks}, and dontAsk mode never asks"))
            }
            _ => Judgement::new(Decision::Ask, asks),
        };
        judgement.warnings = warnings(effects, call.access, places);
        return judgement;
    }
    if bypass {
        return Judgement::new(Decision::Allow, "bypassPermissions mode allows it");
    }
    // In plan mode only the user allows a call of unknown effect.
    let unknown = policy.mode == PermissionMode::Plan && effects.items.contains(&AccessItem::Other);
    if call.advice == HookAdvice::Allow && !unknown {
        return Judgement::new(Decision::Allow, "a hook allows it");
    }
    judge_items(policy, effects, call.access)
}

/// Why a page permitted at `from` must not redirect to `to`: a deny rule covers it, or an ask rule
/// that was not asked for `from`.
pub(super) fn redirect_refusal(policy: &Policy<'_>, from: &str, to: &str) -> Option<String> {
    let effects = |url: &str| {
        let access = Access::Fetch { url: url.to_owned() };
        let (id, input) = (ToolUseId::new("redirect"), Value::Null);
        let cwd = &policy.places.project;
        let call = Call {
            id: &id,
            tool: "WebFetch",
            input: &input,
            access: &access,
            cwd,
            advice: HookAdvice::None,
        };
        CallAccess::from_call(&call, policy.places, ReadRules::default())
    };
    let (from, to) = (effects(from), effects(to));
    let denied = find_restriction(deny_rules(policy), &to, policy.places);
    if let Some((rule, _)) = denied {
        return Some(format!("{rule} denies it"));
    }
    let asks = policy.interactive || policy.mode != PermissionMode::BypassPermissions;
    let was_asked = |rule: &&Rule| rule.restricts(&from, policy.places) != Restriction::No;
    let ask = policy.rules.ask.iter().filter(|_| asks).filter(|rule| !was_asked(rule));
    let (rule, _) = find_restriction(ask, &to, policy.places)?;
    Some(format!("{rule} asks about it. To go there, fetch it"))
}

/// Maximum comparisons of commands with rules for one line.
const MAX_COMPARISONS: usize = 10_000;

/// The rule that applies to the call, or else the first that may, with the reason for the doubt.
fn find_restriction<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    effects: &CallAccess,
    places: &Places,
) -> Option<(String, Option<String>)> {
    let mut doubt = None;
    let commands = effects.shell.as_ref().map_or(0, |shell| shell.script.all_commands().len());
    for (at, rule) in rules.into_iter().enumerate() {
        if at.saturating_mul(commands) > MAX_COMPARISONS {
            let why = format!("the line has {commands} commands, too many for so many rules");
            return doubt.or_else(|| Some((rule.describe(places), Some(why))));
        }
        match rule.restricts(effects, places) {
            Restriction::Yes => return Some((rule.describe(places), None)),
            Restriction::Maybe(why) if doubt.is_none() => {
                doubt = Some((rule.describe(places), Some(why)));
            }
            _ => {}
        }
    }
    doubt
}

/// Whether an allow rule names the item word for word.
fn is_named(item: &AccessItem, policy: &Policy<'_>, effects: &CallAccess) -> bool {
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    *item == AccessItem::Nothing || rules.any(|rule| rule.names(item, effects))
}

/// Asks about a call that a deny rule may apply to. A deny rule holds in every mode, so if nobody
/// is asked the answer is no.
fn ask_for_doubt(
    policy: &Policy<'_>,
    effects: &CallAccess,
    access: &Access,
    why: &str,
) -> Judgement {
    let way_out = "write it as plain commands, or add an allow rule for exactly this line";
    let mut judgement = match (policy.mode, policy.interactive) {
        (PermissionMode::DontAsk, _) => {
            Judgement::new(Decision::Deny, format!("{why}, and dontAsk mode never asks; {way_out}"))
        }
        (_, false) => {
            Judgement::new(Decision::Deny, format!("{why}, and there is nobody to ask; {way_out}"))
        }
        (_, true) => Judgement::new(Decision::Ask, why),
    };
    judgement.warnings = warnings(effects, access, policy.places);
    judgement
}

/// Why a file tool may not write there at all, if the agent is bound to a folder. The kernel
/// confines writes of shells: a line does not show them.
fn bound_violation(effects: &CallAccess, places: &Places) -> Option<String> {
    let bound = places.bound.as_deref().filter(|_| effects.shell.is_none())?;
    let outside = |target: &PathTarget| {
        !target.resolved.as_deref().is_some_and(|path| path.starts_with(bound))
    };
    let target = effects.items.iter().find_map(|item| match item {
        AccessItem::Write(target) if outside(target) => Some(target),
        _ => None,
    })?;
    Some(format!(
        "this agent works in its own worktree and can write only in {}; {} is outside it",
        bound.display(),
        target.written.display(),
    ))
}

/// Allows the call if every item of it is allowed or free.
fn judge_items(policy: &Policy<'_>, effects: &CallAccess, access: &Access) -> Judgement {
    let mut items = ItemResults::from_access(policy, effects);
    let read_only = items.confine(policy, effects);
    let AskReasons { items: missing, bare, messages: reasons } = items.missing;
    if bare.is_empty() {
        let by_mode = || format!("{} mode allows it", policy.mode.name());
        let why = items.why_allowed.unwrap_or_else(by_mode);
        return Judgement { read_only, ..Judgement::new(Decision::Allow, why) };
    }
    let why = reasons.join("; ");
    let mut judgement = match policy.mode {
        PermissionMode::DontAsk => {
            Judgement::new(Decision::Deny, format!("{why}, and dontAsk mode never asks"))
        }
        _ => Judgement::new(Decision::Ask, why),
    };
    judgement.reasons = bare;
    judgement.warnings = warnings(effects, access, policy.places);
    if policy.mode != PermissionMode::Plan {
        judgement.suggestions = suggest::suggest_rules(&missing, effects, policy.places);
    }
    judgement
}

/// The items of a call, sorted by what lets them run.
#[derive(Default)]
struct ItemResults<'a> {
    /// The first rule that was needed, as a reason.
    why_allowed: Option<String>,
    /// A rule for commands was needed, not only one for files.
    allows_command: bool,
    /// Commands that run without a rule as long as they are confined.
    free: Vec<(&'a AccessItem, &'a SimpleCommand)>,
    missing: AskReasons<'a>,
}

impl<'a> ItemResults<'a> {
    fn from_access(policy: &Policy<'_>, effects: &'a CallAccess) -> Self {
        let mut items = Self::default();
        for item in &effects.items {
            if let Some(rule) = rule_for(item, policy, effects, |rule| !rule.is_general()) {
                items.allow(rule, policy);
                continue;
            }
            match (check_free(item, policy.mode, effects, policy.places), item) {
                // A rule for all projects was not written with this one in mind: commands that are
                // free without it stay confined.
                (Ok(()), AccessItem::Command(command)) => items.free.push((item, command)),
                (Ok(()), _) => {}
                (Err(bare), _) => match rule_for(item, policy, effects, Rule::is_general) {
                    Some(rule) => items.allow(rule, policy),
                    None => items.missing.add(item, bare, policy, effects),
                },
            }
        }
        items
    }

    fn allow(&mut self, rule: &Rule, policy: &Policy<'_>) {
        let why = || format!("{} allows it", rule.describe(policy.places));
        self.why_allowed.get_or_insert_with(why);
        self.allows_command |= !rule.is_for_files();
    }

    /// Returns the bounds of a call that only reads, apart from redirects that the mode allows. In any
    /// other, the free commands are not confined: they need a rule, unless they are harmless anyway.
    /// With redirects they must be harmless, too.
    fn confine(&mut self, policy: &Policy<'_>, effects: &'a CallAccess) -> Option<ReadOnly> {
        let places = policy.places;
        let writes = effects.items.iter().any(|item| matches!(item, AccessItem::Write(_)));
        let only_reads = self.why_allowed.is_none() && !writes && self.missing.items.is_empty();
        let uses = |program: &str| {
            let mut programs = self.free.iter().filter_map(|(_, command)| command.words.first());
            programs.any(|word| word.text == program)
        };
        // Git needs settings files that other programs must not read, and ripgrep reads whatever an
        // ignore file leads to.
        let (uses_git, uses_ripgrep) = (uses("git"), uses("rg"));
        let shell = effects.shell.as_ref()?;
        // Bash loads them too, before it is confined.
        if places.has_libraries_of_project(&shell.bases.shell) && !self.allows_command {
            self.missing.note(read_only::PROJECT_LIBRARY);
        }
        if only_reads && !(uses_git && uses_ripgrep) {
            return Some(places.read_only(&shell.bases.shell, uses_git));
        }
        let is_free = |command| {
            let bases = shell.bases.known();
            bases.is_some_and(|bases| read_only::is_free_unconfined(command, bases, places))
        };
        for (item, command) in std::mem::take(&mut self.free) {
            if let Some(rule) = rule_for(item, policy, effects, Rule::is_general) {
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
                let bare =
                    format!("no rule allows {}, which is {why}", suggest::short_form(command));
                self.missing.add(item, bare, policy, effects);
            }
        }
        // Anything such a file starts runs in the folder of the line.
        if places.has_start_file && !self.allows_command {
            self.missing.note("your BASH_ENV file would run first, unconfined");
        }
        let is_by_mode = self.why_allowed.is_none() && self.missing.bare.is_empty();
        is_by_mode.then(|| {
            let targets = effects.items.iter().filter_map(|item| match item {
                AccessItem::Write(target) => target.resolved.as_deref()?.parent(),
                _ => None,
            });
            // A redirect makes no folder.
            let write = targets.filter(|folder| folder.is_dir()).map(Path::to_owned).collect();
            ReadOnly { write, ..places.read_only(&shell.bases.shell, false) }
        })
    }
}

/// The first allow rule of the kind that covers the item.
fn rule_for<'a>(
    item: &AccessItem,
    policy: &'a Policy<'_>,
    effects: &CallAccess,
    is_kind: impl Fn(&Rule) -> bool,
) -> Option<&'a Rule> {
    // In plan mode only the user allows a call of unknown effect.
    if policy.mode == PermissionMode::Plan && *item == AccessItem::Other {
        return None;
    }
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    rules.find(|rule| is_kind(rule) && rule.allows(item, effects, policy.places))
}

/// Reasons why a call needs approval.
#[derive(Default)]
struct AskReasons<'a> {
    /// The items that nothing allows.
    items: Vec<&'a AccessItem>,
    /// The reasons, without details of allow rules.
    bare: Vec<String>,
    /// The reasons for the user, without duplicates.
    messages: Vec<String>,
}

impl<'a> AskReasons<'a> {
    /// Adds a reason that no rule can remove.
    fn note(&mut self, why: &str) {
        self.bare.push(why.to_owned());
        self.messages.push(why.to_owned());
    }

    fn add(
        &mut self,
        item: &'a AccessItem,
        bare: String,
        policy: &Policy<'_>,
        effects: &CallAccess,
    ) {
        let shown = exception(item, policy, effects).unwrap_or_else(|| bare.clone());
        self.items.push(item);
        self.bare.push(bare);
        if !self.messages.contains(&shown) {
            self.messages.push(shown);
        }
    }
}

/// Why a rule that names the command does not cover it: a dangerous option, and the rule that would
/// cover that, or the folder in which the command runs.
fn exception(item: &AccessItem, policy: &Policy<'_>, effects: &CallAccess) -> Option<String> {
    let AccessItem::Command(command) = item else { return None };
    let mut rules = policy.rules.allow.iter().chain(policy.grants);
    let places = policy.places;
    let found = rules.find_map(|rule| Some((rule, rule.exception(item, effects, places)?)))?;
    let (rule, danger) = match found {
        (rule, Exception::Danger(danger)) => (rule, danger),
        (rule, Exception::Elsewhere(why)) => {
            return Some(format!("{} does not apply here: {why}", rule.describe(places)));
        }
    };
    let program = super::program::base_name(command.program());
    let mut why = format!(
        "no rule allows {program} with {}: {} does not name it",
        danger.option,
        rule.describe(places)
    );
    if let Some(rule) = suggest::rule_naming(command, &danger) {
        why.push_str(&format!("; {rule} would allow it"));
    }
    Some(why)
}

/// Checks that the mode allows the item without a rule; otherwise returns what is missing.
fn check_free(
    item: &AccessItem,
    mode: PermissionMode,
    effects: &CallAccess,
    places: &Places,
) -> Result<(), String> {
    match item {
        AccessItem::Nothing
        | AccessItem::Read(_)
        | AccessItem::Write(_)
        | AccessItem::Command(_)
            if effects.shell.as_ref().is_some_and(|shell| shell.script.tells_values) =>
        {
            Err("its effects would reveal the value of a variable".to_owned())
        }
        AccessItem::Nothing => Ok(()),
        AccessItem::Read(target) if target.is_inside(places) => Ok(()),
        AccessItem::Read(target) => Err(format!(
            "no rule allows reading {} outside the working directories",
            places.show(&target.written)
        )),
        AccessItem::Write(target) => {
            let name = places.show(&target.written);
            if !target.is_inside(places) {
                Err(format!("no rule allows writing {name} outside the working directories"))
            } else if mode != PermissionMode::AcceptEdits {
                Err(format!("no rule allows writing {name}"))
            } else if let Some(protection) = places.protections(target).first() {
                let reason = &protection.reason;
                Err(format!("{name} is protected: {reason}, so edits are always asked about"))
            } else {
                Ok(())
            }
        }
        AccessItem::Command(command) => {
            let bases =
                effects.shell.as_ref().map_or(&[][..], |shell| shell.bases.shell.as_slice());
            let is_fed = effects.shell.as_ref().is_some_and(|shell| shell.script.feeds_values);
            let name = suggest::short_form(command);
            let missing = match check_read_only(command, bases, places, &effects.read_rules) {
                Ok(()) if bases.is_empty() => {
                    "the folder it runs in is known only at run time".to_owned()
                }
                Ok(()) if is_fed => "its input is known only at run time".to_owned(),
                Ok(()) => return Ok(()),
                Err(None) => return Err(format!("no rule allows {name}")),
                Err(Some(obstacle)) => obstacle,
            };
            Err(format!("no rule allows {name}, and {missing}"))
        }
        AccessItem::Unclear(why) => Err(format!("{why}, so no rule for single commands covers it")),
        AccessItem::Fetch(Some(host)) => Err(format!("no rule allows fetching from {host}")),
        AccessItem::Fetch(None) => Err("no rule allows fetching from this address".to_owned()),
        // Starting a sub-agent has no effect by itself: its calls are judged one by one.
        AccessItem::Agent(name) if mode == PermissionMode::DontAsk => {
            Err(format!("no rule allows AgentTool({name})"))
        }
        // Nor has loading a text: the calls it leads to are judged like any others.
        AccessItem::Agent(_) | AccessItem::Skill(_) => Ok(()),
        AccessItem::Other => Err(format!("no rule allows {}", effects.tool)),
    }
}

/// Whether plan mode must block the item.
fn changes(item: &AccessItem, effects: &CallAccess, places: &Places) -> bool {
    match item {
        AccessItem::Write(_) | AccessItem::Unclear(_) => true,
        AccessItem::Command(_) => check_free(item, PermissionMode::Plan, effects, places).is_err(),
        _ => false,
    }
}

/// Programs whose purpose is to talk to other machines.
const NETWORK: &[&str] =
    &["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "gh"];

fn warnings(effects: &CallAccess, access: &Access, places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    for item in &effects.items {
        match item {
            AccessItem::Read(target) | AccessItem::Write(target) => {
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
                let protections = match item {
                    AccessItem::Write(_) => places.protections(target),
                    _ => Vec::new(),
                };
                if let Some(protection) = protections.first() {
                    warnings.push(format!("{name} is protected: {}", protection.reason));
                }
            }
            AccessItem::Fetch(_) => warnings.push("uses the network".to_owned()),
            AccessItem::Command(command) => {
                let words = super::wrapper::strip_wrappers(&command.words);
                let remote =
                    matches!(words.as_slice(), ["git", "push" | "pull" | "fetch" | "clone", ..]);
                if remote || words.first().is_some_and(|program| NETWORK.contains(program)) {
                    warnings.push("uses the network".to_owned());
                }
            }
            AccessItem::Unclear(why) => warnings.push(why.clone()),
            AccessItem::Nothing
            | AccessItem::Agent(_)
            | AccessItem::Skill(_)
            | AccessItem::Other => {}
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
