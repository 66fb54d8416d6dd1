//! Filters the settings in a project's own files, which the user may have cloned without reading.
//!
//! They may always restrict what the user allows. A setting that would run code, send keys
//! elsewhere, widen permissions or raise a limit is a separate item, which counts once the user has
//! accepted it. So is an unknown key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use super::error::Origin;
use super::layers::Setting;
use super::trust::Trust;
use super::untrusted_item::{UntrustedItem, one_line};
use crate::disk::resolve;
use crate::protocol::PermissionMode;

/// Limits on the spending and number of agents; absent means no limit. A project may lower them: a
/// lower limit ends work earlier, starts fewer agents, or makes an agent wait before it begins, and
/// so before any of its calls is judged. The number of concurrent calls is not included: with few
/// slots, calls that were already judged would wait for each other.
pub(super) const LIMIT_KEYS: [&str; 15] = [
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

/// Keys that a project may set freely. None of `tui`: the screen shows what the user is asked to allow.
const FREE_KEYS: [&str; 9] = [
    "model.name",
    "model.effort",
    "permissions.ask",
    "permissions.deny",
    "subagents.on_limit",
    "subagents.inherit_tool_instructions",
    "subagents.default_model",
    "subagents.compat_task_name",
    "log.level",
];

/// Other keys of which some values count without consent.
const COMPARED_KEYS: [&str; 12] = [
    "permissions.mode",
    "subagents.permissions",
    "subagents.on_autonomy_violation",
    "subagents.child_auth",
    "subagents.comms",
    "subagents.allow_nested_spawn",
    "subagents.strict_tools",
    "subagents.persist",
    FACES_KEY,
    "model.provider",
    "subagents.default_provider",
    "model.max_tokens",
];

/// Tables that a project cannot set at all, trusted or not: they are about the user's other projects too.
const USERS_TABLES: [&str; 1] = ["session"];

/// Tables whose entries are accepted as a whole: their parts mean nothing alone.
const NAMED_TABLES: [&str; 2] = ["providers", "mcp_servers"];

/// The key of the ways for models to start agents.
const FACES_KEY: &str = "subagents.faces";

/// Output limit that a project may always set if no file of the user's sets one: the smallest
/// `default_output` of the built-in catalogue, in tokens.
pub(super) const MIN_OUTPUT_TOKENS: u32 = 8_192;

/// Keys that choose a provider, each with the key of its model.
const PROVIDER_KEYS: [(&str, &str); 2] =
    [("model.provider", "model.name"), ("subagents.default_provider", "subagents.default_model")];

/// Collects the ignored items of a project's files, file by file.
pub(super) struct TrustFilter<'a> {
    pub trust: &'a Trust,
    /// The base of relative folders.
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub items: Vec<UntrustedItem>,
    /// The project's ignored providers: choosing one is ignored too.
    providers: BTreeSet<String>,
}

impl<'a> TrustFilter<'a> {
    pub fn new(trust: &'a Trust, cwd: &'a Path, home: Option<&'a Path>) -> Self {
        Self { trust, cwd, home, items: Vec::new(), providers: BTreeSet::new() }
    }

    /// Whether an item of the project counts; if not, it is recorded.
    pub fn admit_item(&mut self, thing: UntrustedItem) -> bool {
        self.trust.admit(thing, &mut self.items)
    }

    /// Notes that a mistake leaves out the value at this path.
    pub fn note_left_out(&mut self, path: &[String]) {
        if let [table, name] = path
            && table == "providers"
        {
            self.providers.insert(name.clone());
        }
    }

    /// Returns the settings of one file that count. Hooks were filtered before; `below` are the merged lower layers.
    pub fn filter_settings(&mut self, settings: Vec<Setting>, below: &Table) -> Vec<Setting> {
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        let mut named: BTreeMap<[String; 2], Vec<Setting>> = BTreeMap::new();
        for mut setting in settings {
            match setting.path.as_slice() {
                [table, name, _, ..] if NAMED_TABLES.contains(&table.as_str()) => {
                    named.entry([table.clone(), name.clone()]).or_default().push(setting);
                }
                // Each hook was decided when it was read.
                [table, ..] if table == "hooks" => kept.push(setting),
                _ if !widens(&setting, below) => kept.push(setting),
                _ => match self.admit_value(&mut setting, below) {
                    true => kept.push(setting),
                    false => refused.push(setting.key()),
                },
            }
        }
        for ([table, name], settings) in named {
            if self.admit_table(&table, &name, &settings) {
                kept.extend(settings);
            } else if table == "providers" {
                self.providers.insert(name);
            }
        }
        for (provider, model) in PROVIDER_KEYS {
            if refused.iter().any(|key| key == provider) {
                // The model was meant for that provider.
                kept.retain(|setting| setting.key() != model);
            }
        }
        self.drop_provider_choices(kept, below)
    }

    /// Removes from a value what does not count; returns false if nothing is left.
    fn admit_value(&mut self, setting: &mut Setting, below: &Table) -> bool {
        let key = setting.key();
        let before = value_at(&setting.path, below).cloned();
        let Value::Array(entries) = &mut setting.value else {
            let what = one_line(&format!("{key}: {}", display_value(&setting.value)), None);
            let origin = setting.origins.first().cloned().unwrap_or(Origin::BuiltIn);
            return self.admit_item(UntrustedItem { what, origin });
        };
        let all = std::mem::take(entries).into_iter().zip(std::mem::take(&mut setting.origins));
        for (entry, origin) in all {
            let (entry, what) = match key.as_str() {
                "permissions.additional_dirs" => match self.resolve_folder(&entry) {
                    Ok(accepted) => accepted,
                    Err(what) => {
                        self.items.push(UntrustedItem { what, origin });
                        continue;
                    }
                },
                _ => (entry.clone(), describe_entry(&key, &entry)),
            };
            let thing = UntrustedItem { what, origin: origin.clone() };
            // Ways to start agents that are enabled anyway need no consent.
            let is_free =
                key == FACES_KEY && is_subset(&Value::Array(vec![entry.clone()]), before.as_ref());
            if is_free || self.admit_item(thing) {
                entries.push(entry);
                setting.origins.push(origin);
            }
        }
        !entries.is_empty()
    }

    /// Resolves an additional folder, and returns its line. The target of links counts, not the
    /// name, because the project may add links at any time. The error is the line of a folder that
    /// never counts because its target has no UTF-8 path.
    fn resolve_folder(&self, entry: &Value) -> Result<(Value, String), String> {
        let text = display_value(entry);
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

    fn admit_table(&mut self, table: &str, name: &str, settings: &[Setting]) -> bool {
        let mut parts: Vec<String> = settings
            .iter()
            .map(|setting| format!("{} = {}", setting.path[2..].join("."), setting.value))
            .collect();
        parts.sort();
        let what = one_line(&format!("{table}.{name}: {}", parts.join(", ")), None);
        let first = settings.iter().find_map(|setting| setting.origins.first());
        let origin = first.cloned().unwrap_or(Origin::BuiltIn);
        self.admit_item(UntrustedItem { what, origin })
    }

    /// Drops the choice of an ignored provider, and the model meant for it.
    fn drop_provider_choices(&self, mut settings: Vec<Setting>, below: &Table) -> Vec<Setting> {
        let known = |name: &str| below.get("providers").and_then(|all| all.get(name)).is_some();
        let gone = |name: &str| self.providers.contains(name) && !known(name);
        let chosen = |setting: &Setting| setting.value.as_str().is_some_and(gone);
        for (provider, model) in PROVIDER_KEYS {
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

/// Whether only the user's own file sets this key.
pub(super) fn is_users_alone(path: &[String]) -> bool {
    path.first().is_some_and(|table| USERS_TABLES.contains(&table.as_str()))
}

/// Whether a value at this path may hold something that counts for a project without consent.
pub(super) fn may_narrow(path: &str) -> bool {
    let is_below = |key: &str, above: &str| {
        above.is_empty()
            || key.strip_prefix(above).is_some_and(|it| it.is_empty() || it.starts_with('.'))
    };
    let mut keys = FREE_KEYS.iter().chain(&LIMIT_KEYS).chain(&COMPARED_KEYS);
    keys.any(|key| is_below(key, path) || is_below(path, key))
}

/// Whether the path leads into a thing that is accepted as a whole.
pub(super) fn is_accepted_whole(path: &[String]) -> bool {
    path.len() > 2 && NAMED_TABLES.contains(&path[0].as_str())
}

/// Describes one entry of a list.
fn describe_entry(key: &str, entry: &Value) -> String {
    let text = display_value(entry);
    let line = match key {
        "permissions.allow" => format!("allow rule {text}"),
        _ => format!("{key}: {text}"),
    };
    one_line(&line, None)
}

/// Formats a value for the user: strings without quotes.
fn display_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a project's setting runs code or allows more than the layers `below`.
pub(super) fn widens(setting: &Setting, below: &Table) -> bool {
    let key = setting.key();
    let before = || value_at(&setting.path, below);
    let only = |narrowest: &str| setting.value.as_str() != Some(narrowest);
    match key.as_str() {
        "permissions.mode" => mode_rank(Some(&setting.value)) > mode_rank(before()),
        // Only the strictest value of each may come from a project.
        "subagents.permissions" => only("ceiling"),
        "subagents.on_autonomy_violation" | "subagents.child_auth" => only("abort"),
        "subagents.comms" | "subagents.allow_nested_spawn" => {
            setting.value.as_bool() != Some(false)
        }
        "subagents.strict_tools" => setting.value.as_bool() != Some(true),
        // What is kept on the user's disk, and for whom.
        "subagents.persist" => Some(&setting.value) != before(),
        // The user's guards may not know another way to start agents.
        FACES_KEY => !is_subset(&setting.value, before()),
        // The recipient of the conversation.
        "model.provider" | "subagents.default_provider" => Some(&setting.value) != before(),
        "model.max_tokens" => {
            let most =
                before().map_or(f64::from(MIN_OUTPUT_TOKENS), |most| limit_value(&key, Some(most)));
            limit_value(&key, Some(&setting.value)) > most
        }
        key if LIMIT_KEYS.contains(&key) => {
            limit_value(key, Some(&setting.value)) > limit_value(key, before())
        }
        key => !FREE_KEYS.contains(&key),
    }
}

/// Whether every entry of one list is in the other.
fn is_subset(value: &Value, all: Option<&Value>) -> bool {
    let all = all.and_then(Value::as_array);
    let is_in = |entry: &Value| all.is_some_and(|all| all.contains(entry));
    value.as_array().is_some_and(|entries| entries.iter().all(is_in))
}

/// Returns the value of the lower layers at this path.
fn value_at<'a>(path: &[String], below: &'a Table) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(below.get(first)?, |value, name| value.get(name))
}

/// Ranks a mode by how much it allows.
fn mode_rank(mode: Option<&Value>) -> u8 {
    let mode =
        mode.and_then(|mode| mode.clone().try_into().ok()).unwrap_or(PermissionMode::Default);
    match mode {
        PermissionMode::Plan => 0,
        PermissionMode::DontAsk => 1,
        PermissionMode::Default => 2,
        PermissionMode::AcceptEdits => 3,
        PermissionMode::BypassPermissions => 4,
    }
}

/// Converts a limit to a comparable number.
fn limit_value(key: &str, value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Integer(0)) if key == "subagents.result_max_chars" => f64::INFINITY,
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(Value::Boolean(on)) => f64::from(u8::from(*on)),
        _ => f64::INFINITY,
    }
}
