//! The pure decision: given rules, mode and a call, may it run?
//!
//! The order: deny rules, the agent's bound, the mode's prohibitions, hooks that ask and ask rules,
//! hooks that allow, then for each item of the call allow rules, the agent's grants, and what the
//! mode leaves free.

use serde_json::Value;

use super::bounds::BoundRules;
use super::call::{Call, HookAdvice};
use super::call_access::{AccessItem, CallAccess};
use super::path::PathTarget;
use super::pattern::Restriction;
use super::places::Places;
use super::read_only::ReadRules;
use super::rule::{Rule, RuleSet, read_rules};
use crate::protocol::{Access, PermissionMode, ReadOnly, ToolUseId, single_line};

mod items;
mod warnings;

use warnings::warnings;

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
    /// Where the names in a call that is asked about lead.
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
    // Names in it may be of others.
    judgement.why = single_line(&judgement.why);
    if judgement.decision == Decision::Ask {
        judgement.targets = match (call.access, &effects.shell) {
            (Access::Read { paths } | Access::Write { paths }, _) => paths.clone(),
            (_, Some(shell)) if shell.line.len() <= MAX_TARGET_LINE => shell.named_targets(),
            _ => Vec::new(),
        };
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
        && effects.items.iter().any(|item| items::changes(item, effects, places))
    {
        let instead = if policy.interactive { " with ExitPlanMode" } else { "" };
        let why = format!(
            "plan mode is on: nothing may be changed, and only read-only commands may run; present the plan{instead} \
             instead"
        );
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
    match *call.access {
        Access::AskUser { answered } => return judge_questions(policy, call, answered),
        Access::ExitPlan { .. } => {
            return match policy.mode {
                PermissionMode::Plan => {
                    Judgement::new(Decision::Ask, "approving it ends plan mode")
                }
                // Nothing is left to approve; the call itself says so.
                _ => Judgement::new(Decision::Allow, "plan mode is off"),
            };
        }
        _ => {}
    }
    if bypass {
        return Judgement::new(Decision::Allow, "bypassPermissions mode allows it");
    }
    // In plan mode only the user allows a call of unknown effect.
    let unknown = policy.mode == PermissionMode::Plan && effects.items.contains(&AccessItem::Other);
    if call.advice == HookAdvice::Allow && !unknown {
        return Judgement::new(Decision::Allow, "a hook allows it");
    }
    items::judge_items(policy, effects, call.access)
}

/// Decides on questions for the user. Neither a rule nor a mode can answer them; a hook can.
fn judge_questions(policy: &Policy<'_>, call: &Call<'_>, answered: bool) -> Judgement {
    if answered && call.advice == HookAdvice::Allow {
        return Judgement::new(Decision::Allow, "a hook has answered");
    }
    match policy.mode {
        PermissionMode::DontAsk => {
            let why = "dontAsk mode never asks; decide yourself, and say what you have assumed";
            Judgement::new(Decision::Deny, why)
        }
        _ => Judgement::new(Decision::Ask, items::NEEDS_ANSWERS),
    }
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

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
