//! The two highest layers: environment variables and command-line options.

use std::path::PathBuf;

use toml::Value;

use super::error::Origin;
use super::layers::Setting;
use super::models::ThinkingOverride;
use super::setting_sources::SettingSources;
use crate::protocol::{EnvOverlay, PermissionMode};

/// Environment variables that set a key if not empty.
const VARIABLES: [(&str, &str); 5] = [
    ("CALIBAN_PROVIDER", "model.provider"),
    ("CALIBAN_MODEL", "model.name"),
    ("ANTHROPIC_BASE_URL", "providers.anthropic.base_url"),
    ("OPENAI_BASE_URL", "providers.openai.base_url"),
    ("CALIBAN_LOG", "log.level"),
];

/// The values set on the command line. Absent and empty values set nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    /// `--dangerously-skip-permissions`: wins over `permission_mode`.
    pub skip_permissions: bool,
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    pub additional_dirs: Vec<String>,
    pub max_turns: Option<u32>,
    pub max_usd: Option<f64>,
    pub log_level: Option<String>,
    /// `--debug-file`: an additional log file, relative to the working directory.
    pub debug_file: Option<PathBuf>,
    /// `--thinking` and `--max-thinking-tokens`.
    pub thinking: Option<ThinkingOverride>,
    pub fallback_model: Option<String>,
    pub theme: Option<String>,
    pub screen_reader: bool,
    pub no_sub_agent: bool,
    /// `--settings`: JSON or a settings.json file.
    pub settings: Option<String>,
    /// `--setting-sources`: which files of other programs are read.
    pub setting_sources: SettingSources,
    /// `--mcp-config`: JSON or `.mcp.json` files.
    pub mcp_config: Vec<String>,
    /// `--strict-mcp-config`: only use those servers.
    pub strict_mcp_config: bool,
}

impl Overrides {
    pub(super) fn settings(&self) -> Vec<Setting> {
        let text = |value: &Option<String>| value.clone().map(Value::String);
        let list = |values: &[String]| {
            let values: Vec<Value> = values.iter().cloned().map(Value::String).collect();
            (!values.is_empty()).then_some(Value::Array(values))
        };
        let mode = |mode: PermissionMode| Value::String(mode.name().to_owned());
        let skip = self.skip_permissions.then(|| mode(PermissionMode::BypassPermissions));
        let all = [
            ("--provider", "model.provider", text(&self.provider)),
            ("--model", "model.name", text(&self.model)),
            ("--effort", "model.effort", text(&self.effort)),
            ("--permission-mode", "permissions.mode", self.permission_mode.map(mode)),
            ("--dangerously-skip-permissions", "permissions.mode", skip),
            ("--allowed-tools", "permissions.allow", list(&self.allow)),
            ("--disallowed-tools", "permissions.deny", list(&self.deny)),
            ("--add-dir", "permissions.additional_dirs", list(&self.additional_dirs)),
            (
                "--max-turns",
                "budget.max_turns",
                self.max_turns.map(|turns| Value::Integer(turns.into())),
            ),
            ("--max-budget-usd", "budget.max_usd", self.max_usd.map(Value::Float)),
            ("--log-level", "log.level", text(&self.log_level)),
            ("--theme", "tui.theme", text(&self.theme)),
            (
                "--screen-reader",
                "tui.screen_reader",
                self.screen_reader.then_some(Value::Boolean(true)),
            ),
            (
                "--no-sub-agent",
                "subagents.enabled",
                self.no_sub_agent.then_some(Value::Boolean(false)),
            ),
        ];
        all.into_iter()
            .filter_map(|(name, key, value)| Some(setting(key, value?, Origin::Flag { name })))
            .collect()
    }
}

/// Builds the layer of environment variables.
pub(super) fn from_env(env: &EnvOverlay) -> Vec<Setting> {
    VARIABLES
        .iter()
        .filter_map(|&(name, key)| {
            let value = env.non_empty(name)?.to_owned();
            Some(setting(key, Value::String(value), Origin::Env { name }))
        })
        .collect()
}

fn setting(key: &str, value: Value, origin: Origin) -> Setting {
    let origins = match &value {
        Value::Array(values) => vec![origin; values.len()],
        _ => vec![origin],
    };
    Setting { path: key.split('.').map(str::to_owned).collect(), value, origins }
}
