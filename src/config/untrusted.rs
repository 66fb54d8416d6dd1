//! What counts of the settings in a project's own files: whoever clones a repository has not read them.
//!
//! They may always narrow what the person allows. What would run code, send keys elsewhere, widen
//! rights or raise a limit is a thing of its own, which counts once the person has accepted it. A
//! key that is not known here is such a thing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use super::error::Origin;
use super::inert::{Inert, one_line};
use super::layers::Setting;
use super::trust::Trust;
use crate::disk::resolve;
use crate::protocol::Mode;

/// Limits of what agents spend and of their number. Absent is no limit. A project may lower them: a
/// lower one ends work earlier, starts fewer agents, or makes an agent wait before it begins, and
/// so before any of its calls is judged. How many calls run at a time is not among them: with few
/// places, calls that were judged wait for one another.
pub(super) const LIMITS: [&str; 15] = [
    "budget.max_usd",
    "budget.max_turns",
    "subagents.enabled",
    "budget.max_wall_s",
    "budget.max_call_s",
    "subagents.max_concurrent_agents",
    "subagents.max_children_total",
    "subagents.max_depth",
    "subagents.max_usd",
    "subagents.max_wall_s",
    "subagents.default_budget",
    "subagents.max_budget_per_agent",
    "subagents.max_children_per_agent",
    "subagents.max_turns",
    "subagents.result_max_chars",
];

/// What a project may set as it likes.
const FREE: [&str; 11] = [
    "model.name",
    "model.effort",
    "permissions.ask",
    "permissions.deny",
    "subagents.tool_name",
    "subagents.on_limit",
    "subagents.persist",
    "subagents.strict_tools",
    "subagents.inherit_tool_instructions",
    "subagents.default_model",
    "subagents.compat_task_name",
];

/// The tables of which each does everything that its project may set as it likes.
const FREE_TABLES: [&str; 2] = ["tui", "log"];

/// The tables whose every entry is one thing: its parts mean nothing alone.
const OF_NAMES: [&str; 2] = ["providers", "mcp_servers"];

/// The ways in which models are offered agents.
const FACES: &str = "subagents.faces";

/// Tokens that every model may answer with where no file of the user's sets a limit: the least
/// `default_output` of the built-in catalogue. A project may ask for so many.
pub(super) const LEAST_OUTPUT: u32 = 8_192;

/// Keys that choose a provider, each with the one that names a model of it.
const CHOICES: [(&str, &str); 2] =
    [("model.provider", "model.name"), ("subagents.default_provider", "subagents.default_model")];

/// What is left out of a project's files, gathered file by file.
pub(super) struct Untrusted<'a> {
    pub trust: &'a Trust,
    /// Where relative folders start.
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub inert: Vec<Inert>,
    /// Providers of a project that do not count: to choose one does not count either.
    providers: BTreeSet<String>,
}

impl<'a> Untrusted<'a> {
    pub fn new(trust: &'a Trust, cwd: &'a Path, home: Option<&'a Path>) -> Self {
        Self { trust, cwd, home, inert: Vec::new(), providers: BTreeSet::new() }
    }

    /// Whether a thing of the project counts; one that does not is remembered.
    pub fn admits(&mut self, thing: Inert) -> bool {
        self.trust.admit(thing, &mut self.inert)
    }

    /// What counts of one file, its hooks apart; `below` is what the layers below it say.
    pub fn admit(&mut self, settings: Vec<Setting>, below: &Table) -> Vec<Setting> {
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        let mut named: BTreeMap<[String; 2], Vec<Setting>> = BTreeMap::new();
        for mut setting in settings {
            match setting.path.as_slice() {
                [table, name, _, ..] if OF_NAMES.contains(&table.as_str()) => {
                    named.entry([table.clone(), name.clone()]).or_default().push(setting);
                }
                // Each was decided on when it was read.
                [table, ..] if table == "hooks" => kept.push(setting),
                _ if !widens(&setting, below) => kept.push(setting),
                _ => match self.admit_value(&mut setting, below) {
                    true => kept.push(setting),
                    false => refused.push(setting.key()),
                },
            }
        }
        for ([table, name], settings) in named {
            if self.admits_table(&table, &name, &settings) {
                kept.extend(settings);
            } else if table == "providers" {
                self.providers.insert(name);
            }
        }
        for (provider, model) in CHOICES {
            if refused.iter().any(|key| key == provider) {
                // It was meant for that provider.
                kept.retain(|setting| setting.key() != model);
            }
        }
        self.without_their_choices(kept, below)
    }

    /// Takes out of a value what does not count; false when nothing is left of it.
    fn admit_value(&mut self, setting: &mut Setting, below: &Table) -> bool {
        let key = setting.key();
        let before = value_of(&setting.path, below).cloned();
        let Value::Array(entries) = &mut setting.value else {
            let what = one_line(&format!("{key}: {}", shown(&setting.value)), None);
            let origin = setting.origins.first().cloned().unwrap_or(Origin::BuiltIn);
            return self.admits(Inert { what, origin });
        };
        let all = std::mem::take(entries).into_iter().zip(std::mem::take(&mut setting.origins));
        for (entry, origin) in all {
            let (entry, what) = match key.as_str() {
                "permissions.additional_dirs" => match self.folder(&entry) {
                    Ok(accepted) => accepted,
                    Err(what) => {
                        self.inert.push(Inert { what, origin });
                        continue;
                    }
                },
                _ => (entry.clone(), line_of_entry(&key, &entry)),
            };
            let thing = Inert { what, origin: origin.clone() };
            // Ways to start agents that there are anyway need nobody's word.
            let is_free =
                key == FACES && is_part(&Value::Array(vec![entry.clone()]), before.as_ref());
            if is_free || self.admits(thing) {
                entries.push(entry);
                setting.origins.push(origin);
            }
        }
        !entries.is_empty()
    }

    /// An additional folder as it counts once it is accepted, and its line. Where it leads counts,
    /// not what it is called: the project may bring links, now or later. The error is the line of
    /// one that leads to no place with a name in UTF-8, and so never counts.
    fn folder(&self, entry: &Value) -> Result<(Value, String), String> {
        let text = shown(entry);
        let folder = match (Path::new(&text).strip_prefix("~"), self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => self.cwd.join(&text),
        };
        let name = format!("additional folder {}", one_line(&text, Some(": ")));
        let leads = resolve(&folder).and_then(|leads| leads.into_os_string().into_string().ok());
        match leads {
            Some(leads) => {
                Ok((Value::from(leads.as_str()), format!("{name}: {}", one_line(&leads, None))))
            }
            None => Err(format!("{name}: leads nowhere that can be named")),
        }
    }

    fn admits_table(&mut self, table: &str, name: &str, settings: &[Setting]) -> bool {
        let mut parts: Vec<String> = settings
            .iter()
            .map(|setting| format!("{} = {}", setting.path[2..].join("."), setting.value))
            .collect();
        parts.sort();
        let what = one_line(&format!("{table}.{name}: {}", parts.join(", ")), None);
        let first = settings.iter().find_map(|setting| setting.origins.first());
        let origin = first.cloned().unwrap_or(Origin::BuiltIn);
        self.admits(Inert { what, origin })
    }

    /// Without the choice of a provider that does not count, and without the model that was meant for it.
    fn without_their_choices(&self, mut settings: Vec<Setting>, below: &Table) -> Vec<Setting> {
        let known = |name: &str| below.get("providers").and_then(|all| all.get(name)).is_some();
        let gone = |name: &str| self.providers.contains(name) && !known(name);
        let chosen = |setting: &Setting| setting.value.as_str().is_some_and(gone);
        for (provider, model) in CHOICES {
            if settings.iter().any(|setting| setting.key() == provider && chosen(setting)) {
                settings.retain(|setting| ![provider, model].contains(&setting.key().as_str()));
            }
        }
        settings.retain(|setting| match setting.path.as_slice() {
            [_, list, name] if list == "allowed_models" => !gone(name),
            _ => true,
        });
        settings
    }
}

/// The line of one entry of a list.
fn line_of_entry(key: &str, entry: &Value) -> String {
    let text = shown(entry);
    let line = match key {
        "permissions.allow" => format!("allow rule {text}"),
        _ => format!("{key}: {text}"),
    };
    one_line(&line, None)
}

/// A value as a person reads it: texts without quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a setting of a project runs code or gives it more than the layers `below` do.
pub(super) fn widens(setting: &Setting, below: &Table) -> bool {
    let key = setting.key();
    let before = || value_of(&setting.path, below);
    let only = |narrowest: &str| setting.value.as_str() != Some(narrowest);
    match key.as_str() {
        "permissions.mode" => freedom(Some(&setting.value)) > freedom(before()),
        // Only the strictest choice of each may come from a project.
        "subagents.permissions" => only("ceiling"),
        "subagents.on_autonomy_violation" | "subagents.child_auth" => only("abort"),
        "subagents.comms" | "subagents.allow_nested_spawn" => {
            setting.value.as_bool() != Some(false)
        }
        // Another way to start agents is one that the user's own guards may not know.
        FACES => !is_part(&setting.value, before()),
        // To whom the conversation goes.
        "model.provider" | "subagents.default_provider" => Some(&setting.value) != before(),
        "model.max_tokens" => {
            let most = before().map_or(f64::from(LEAST_OUTPUT), |most| limit(&key, Some(most)));
            limit(&key, Some(&setting.value)) > most
        }
        key if LIMITS.contains(&key) => limit(key, Some(&setting.value)) > limit(key, before()),
        key if FREE.contains(&key) => false,
        _ => !setting.path.first().is_some_and(|table| FREE_TABLES.contains(&table.as_str())),
    }
}

/// Whether every entry of one list is in the other.
fn is_part(value: &Value, all: Option<&Value>) -> bool {
    let all = all.and_then(Value::as_array);
    let is_in = |entry: &Value| all.is_some_and(|all| all.contains(entry));
    value.as_array().is_some_and(|entries| entries.iter().all(is_in))
}

/// What the layers below say at this path.
fn value_of<'a>(path: &[String], below: &'a Table) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(below.get(first)?, |value, name| value.get(name))
}

/// How freely tools act in a mode, to be compared.
fn freedom(mode: Option<&Value>) -> u8 {
    let mode = mode.and_then(|mode| mode.clone().try_into().ok()).unwrap_or(Mode::Default);
    match mode {
        Mode::Plan => 0,
        Mode::DontAsk => 1,
        Mode::Default => 2,
        Mode::AcceptEdits => 3,
        Mode::BypassPermissions => 4,
    }
}

/// How much a limit lets pass, to be compared.
fn limit(key: &str, value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Integer(0)) if key == "subagents.result_max_chars" => f64::INFINITY,
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(Value::Boolean(on)) => f64::from(u8::from(*on)),
        _ => f64::INFINITY,
    }
}
