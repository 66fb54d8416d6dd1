//! The parts of a call, one by one: each needs a rule that allows it, or must be free.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use super::warnings::warnings;
use super::{Decision, Judgement, Policy};
use crate::permission::call_access::{AccessItem, CallAccess};
use crate::permission::places::Places;
use crate::permission::program::base_name;
use crate::permission::read_only::{self, check_read_only};
use crate::permission::rule::{Exception, Rule};
use crate::permission::script::SimpleCommand;
use crate::permission::suggest;
use crate::protocol::{Access, PermissionMode, ReadOnly};

/// Why questions for the user are asked in every mode.
pub const NEEDS_ANSWERS: &str = "only the user can answer questions";

/// Allows the call if every item of it is allowed or free.
pub fn judge_items(policy: &Policy<'_>, effects: &CallAccess, access: &Access) -> Judgement {
    let mut items = ItemResults::from_access(policy, effects);
    let read_only = items.confine(policy, effects);
    if items.missing.bare.is_empty() {
        let by_mode = || format!("{} mode allows it", policy.mode.name());
        let why = items.why_allowed.unwrap_or_else(by_mode);
        return Judgement { read_only, ..Judgement::new(Decision::Allow, why) };
    }
    let why = items.missing.describe();
    let AskReasons { items: missing, bare, .. } = items.missing;
    let mut judgement = match policy.mode {
        PermissionMode::DontAsk => {
            Judgement::new(Decision::Deny, format!("{why}, and dontAsk mode never asks"))
        }
        _ => Judgement::new(Decision::Ask, why),
    };
    judgement.reasons = bare;
    judgement.warnings = warnings(effects, access, policy.places);
    // In plan mode no rule covers a call of unknown effect.
    if policy.mode != PermissionMode::Plan || !missing.contains(&&AccessItem::Other) {
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
                let why =
                    format!("no rule allows {}, which is {why}", suggest::short_form(command));
                self.missing.add(item, AskReason::Other(why), policy, effects);
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

/// The reason why an item needs approval.
enum AskReason {
    /// No rule allows this program.
    Program(String),
    /// No rule allows this program, and something keeps it from running without one.
    Hindered { program: String, obstacle: String },
    /// No rule allows writing this file.
    Write(String),
    /// A sentence of its own.
    Other(String),
}

impl Display for AskReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "no rule allows {name}"),
            Self::Hindered { program, obstacle } => {
                write!(f, "no rule allows {program}, and {obstacle}")
            }
            Self::Write(name) => write!(f, "no rule allows writing {name}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

/// Reasons why a call needs approval.
#[derive(Default)]
struct AskReasons<'a> {
    /// The items that nothing allows.
    items: Vec<&'a AccessItem>,
    /// The reasons, without details of allow rules.
    bare: Vec<String>,
    /// The programs and files that no rule allows, and the other reasons for the user, without
    /// duplicates.
    programs: Vec<String>,
    written: Vec<String>,
    messages: Vec<String>,
    /// The programs of which a message names an obstacle: the first one says enough.
    hindered: Vec<String>,
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
        reason: AskReason,
        policy: &Policy<'_>,
        effects: &CallAccess,
    ) {
        self.items.push(item);
        self.bare.push(reason.to_string());
        let shown = exception(item, policy, effects).map_or(reason, AskReason::Other);
        let (list, text) = match shown {
            AskReason::Program(name) => (&mut self.programs, name),
            AskReason::Write(name) => (&mut self.written, name),
            AskReason::Hindered { program, .. } if self.hindered.contains(&program) => return,
            AskReason::Hindered { program, obstacle } => {
                let why = AskReason::Hindered { program: program.clone(), obstacle }.to_string();
                self.hindered.push(program);
                (&mut self.messages, why)
            }
            AskReason::Other(why) => (&mut self.messages, why),
        };
        if !list.contains(&text) {
            list.push(text);
        }
    }

    /// Describes them for the user: `no rule allows curl, python3 or tee; …`.
    fn describe(&self) -> String {
        let plain = match (&self.programs[..], &self.written[..]) {
            ([], []) => None,
            (programs, []) => Some(format!("no rule allows {}", one_of(programs))),
            ([], written) => Some(format!("no rule allows writing {}", one_of(written))),
            (programs, written) => Some(format!(
                "no rule allows {}, nor writing {}",
                one_of(programs),
                one_of(written)
            )),
        };
        let all: Vec<&str> = plain.iter().chain(&self.messages).map(String::as_str).collect();
        all.join("; ")
    }
}

/// Joins names: `curl, python3 or tee`.
fn one_of(names: &[String]) -> String {
    match names {
        [first @ .., one, last] => {
            let before: String = first.iter().map(|name| format!("{name}, ")).collect();
            format!("{before}{one} or {last}")
        }
        few => few.concat(),
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
    let program = base_name(command.program());
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
) -> Result<(), AskReason> {
    let other = |why: String| Err(AskReason::Other(why));
    match item {
        AccessItem::Nothing
        | AccessItem::Read(_)
        | AccessItem::Write(_)
        | AccessItem::Command(_)
            if effects.shell.as_ref().is_some_and(|shell| shell.script.tells_values) =>
        {
            other("its effects would reveal the value of a variable".to_owned())
        }
        AccessItem::Nothing
            if effects
                .shell
                .as_ref()
                .is_some_and(|shell| shell.script.is_fed_without_command()) =>
        {
            other("its input is known only at run time".to_owned())
        }
        AccessItem::Nothing => Ok(()),
        AccessItem::Read(target) if target.is_inside(places) => Ok(()),
        AccessItem::Read(target) => other(format!(
            "no rule allows reading {} outside the working directories",
            places.show(&target.written)
        )),
        AccessItem::Write(target) => {
            let name = places.show(&target.written);
            if !target.is_inside(places) {
                other(format!("no rule allows writing {name} outside the working directories"))
            } else if mode != PermissionMode::AcceptEdits {
                Err(AskReason::Write(name))
            } else if let Some(protection) = places.protections(target).first() {
                let reason = &protection.reason;
                other(format!("{name} is protected: {reason}, so edits are always asked about"))
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
                Err(None) => return Err(AskReason::Program(name)),
                Err(Some(obstacle)) => obstacle,
            };
            Err(AskReason::Hindered { program: name, obstacle: missing })
        }
        AccessItem::Unclear(why) => {
            other(format!("{why}, so no rule for single commands covers it"))
        }
        AccessItem::Fetch(Some(host)) => other(format!("no rule allows fetching from {host}")),
        AccessItem::Fetch(None) => other("no rule allows fetching from this address".to_owned()),
        // Starting a sub-agent has no effect by itself: its calls are judged one by one.
        AccessItem::Agent(name) if mode == PermissionMode::DontAsk => {
            other(format!("no rule allows AgentTool({name})"))
        }
        // Nor has loading a text: the calls it leads to are judged like any others.
        AccessItem::Agent(_) | AccessItem::Skill(_) => Ok(()),
        AccessItem::AskUser => other(NEEDS_ANSWERS.to_owned()),
        AccessItem::Other if mode == PermissionMode::Plan => {
            other(format!("plan mode asks about each call of {}", effects.tool))
        }
        AccessItem::Other => other(format!("no rule allows {}", effects.tool)),
    }
}

/// Whether plan mode must block the item.
pub fn changes(item: &AccessItem, effects: &CallAccess, places: &Places) -> bool {
    match item {
        AccessItem::Write(_) | AccessItem::Unclear(_) => true,
        AccessItem::Command(_) => check_free(item, PermissionMode::Plan, effects, places).is_err(),
        _ => false,
    }
}
