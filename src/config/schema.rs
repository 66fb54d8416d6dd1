//! The configuration as types. `config/default.toml` has the defaults; `config/schema.json` is
//! generated from these types.
//!
//! A key is added only once the program supports it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mcp_entry::McpServerConfig;
use super::project_start::EntryCwd;
use crate::protocol::{
    HookEvent, MotionMode, NotificationMethod, PaneLayout, PermissionMode, Secret, lossy_path,
};
use crate::spanned::non_blank;

/// The whole configuration, all layers merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default)]
    pub model: ModelConfig,
    /// Model providers, by name. Built in: anthropic, openai, gemini, ollama, llamacpp, vllm.
    pub providers: BTreeMap<String, ProviderConfig>,
    pub permissions: PermissionsConfig,
    /// Commands that run on certain events, by event.
    #[serde(default)]
    #[schemars(schema_with = "hooks")]
    pub hooks: HookTables,
    #[serde(default)]
    pub budget: BudgetConfig,
    /// MCP servers, by name.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    pub subagents: SubagentsConfig,
    pub tui: TuiConfig,
    pub session: SessionConfig,
    pub log: LogConfig,
}

/// The model to use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The model's name as its provider spells it. Absent: the provider's default.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The name of a provider. Absent: the first one that has a key in the environment.
    #[schemars(length(min = 1))]
    pub provider: Option<String>,
    /// Maximum tokens of one answer. Absent: the catalogue's value for the model.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// How hard to think, in the provider's terms. Not sent to a model that does not support it.
    #[schemars(length(min = 1))]
    pub effort: Option<String>,
}

/// How to reach one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The API it speaks.
    pub kind: ProviderKind,
    /// The address before `/v1/messages`, `/chat/completions`, `/responses` or `/v1beta/models`.
    pub base_url: Option<Secret<String>>,
    /// The environment variable that holds the key. Absent: no key is needed.
    #[schemars(length(min = 1))]
    pub api_key_env: Option<String>,
    /// A shell command that prints the key; run if the variable is not set.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<String>,
    /// Seconds without data after which a stream has failed.
    #[serde(default = "idle_timeout_s")]
    #[schemars(range(min = 0.001, max = 86400))]
    pub idle_timeout_s: f64,
    /// How many times a failed request is retried.
    #[serde(default = "max_retries")]
    #[schemars(range(max = 100))]
    pub max_retries: u32,
    /// The file with the answers; only for the scripted kind.
    #[serde(serialize_with = "lossy_path::option::serialize")]
    pub scenario: Option<PathBuf>,
}

impl ProviderConfig {
    /// `idle_timeout_s` as a duration.
    pub fn idle_timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.idle_timeout_s).unwrap_or(Duration::MAX)
    }
}

pub(super) fn idle_timeout_s() -> f64 {
    120.0
}

pub(super) fn max_retries() -> u32 {
    8
}

/// The API that a provider speaks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProviderKind {
    /// The Messages API.
    Anthropic,
    /// Chat Completions, which most local and hosted servers speak.
    OpenaiChat,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// The Gemini API.
    Gemini,
    /// Answers from a file, without a network.
    Scripted,
}

impl ProviderKind {
    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Permissions of tools. The lists of all layers are concatenated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionsConfig {
    pub mode: PermissionMode,
    /// Rules for calls that run without asking, such as `Bash(git diff:*)`.
    pub allow: Vec<String>,
    /// Rules for calls that need confirmation even if they would run otherwise.
    pub ask: Vec<String>,
    /// Rules for calls that never run.
    pub deny: Vec<String>,
    /// Additional folders that tools may work in.
    #[serde(serialize_with = "lossy_path::list::serialize")]
    pub additional_dirs: Vec<PathBuf>,
}

/// Default time limit of a hook, in seconds.
pub(super) const DEFAULT_TIMEOUT_S: f64 = 60.0;

/// A hook as written in our own files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Which tools, agents or causes it is for: a name, names separated by `|`, or a regular expression. Absent: all.
    #[serde(default)]
    pub matcher: String,
    /// The command, run by bash. It gets the event as JSON on stdin.
    #[serde(deserialize_with = "non_blank")]
    #[schemars(length(min = 1))]
    pub command: String,
    /// Time limit in seconds.
    #[serde(default = "timeout_s", deserialize_with = "positive_seconds")]
    #[schemars(range(min = 0.001, max = 86400))]
    pub timeout_s: f64,
    /// Where your own hook starts: `project` is the project's root, once you accept that for the
    /// project. Absent: an empty folder. A project's hooks start in the folder above their file's
    /// `.caliban` or `.claude`.
    pub cwd: Option<EntryCwd>,
}

pub(super) fn timeout_s() -> f64 {
    DEFAULT_TIMEOUT_S
}

pub(super) fn positive_seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let wrong = || format!("must be a number of seconds above 0, not {seconds}");
    if seconds > 0.0 { Ok(seconds) } else { Err(D::Error::custom(wrong())) }
}

/// The hooks of our own files; those of all layers are concatenated.
pub type HookTables = BTreeMap<HookEvent, Vec<HookEntry>>;

/// The schema of [`HookTables`]: each event is a key.
fn hooks(generator: &mut SchemaGenerator) -> Schema {
    let entries = generator.subschema_for::<Vec<HookEntry>>();
    let events =
        HookEvent::NAMES.iter().map(|name| ((*name).to_owned(), entries.clone().to_value()));
    let events: serde_json::Map<String, Value> = events.collect();
    json_schema!({ "type": "object", "additionalProperties": false, "properties": events })
}

/// Limits for the main agent and all its sub-agents together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetConfig {
    /// US dollars for the whole tree of agents.
    #[schemars(range(min = 0))]
    pub max_usd: Option<f64>,
    /// Maximum turns of the main agent per prompt.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// Time limit for one prompt in seconds, without the time spent waiting for the user.
    #[schemars(range(min = 1))]
    pub max_wall_s: Option<u64>,
    /// Time limit for one call of any tool in seconds, without the time spent waiting for the user.
    #[schemars(range(min = 1))]
    pub max_call_s: Option<u64>,
}

/// Sub-agents and their limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentsConfig {
    /// Whether models get the tool that starts them.
    pub enabled: bool,
    pub tool_name: AgentToolName,
    /// How models can start them: one tool, the lifecycle tools, one tool per agent.
    pub faces: Vec<AgentToolset>,
    /// Maximum depth below the main agent.
    pub max_depth: u32,
    /// Whether sub-agents may start others.
    pub allow_nested_spawn: bool,
    /// How many may run at a time; others queue.
    #[schemars(range(min = 1))]
    pub max_concurrent_agents: u32,
    /// How many of one parent may run at a time; others queue.
    #[schemars(range(min = 1))]
    pub max_children_per_agent: u32,
    /// How many one parent may start in total. Absent: any number.
    #[schemars(range(min = 1))]
    pub max_children_total: Option<u32>,
    /// How many requests and tool calls of all agents may run at a time; others wait.
    #[schemars(range(min = 1))]
    pub max_concurrent_ops: u32,
    /// How to treat a call over a limit: `auto` lets foreground calls queue and refuses background ones.
    pub on_limit: OnLimit,
    /// Maximum turns of a sub-agent.
    #[schemars(range(min = 1))]
    pub max_turns: u32,
    /// US dollars that one sub-agent and those below it may spend.
    #[schemars(range(min = 0))]
    pub max_usd: Option<f64>,
    /// Time limit for one sub-agent in seconds, without the time spent waiting for the user.
    #[schemars(range(min = 1))]
    pub max_wall_s: Option<u64>,
    /// Token budget of a sub-agent started by `agent_spawn` or `agent_fork` if the call names none.
    #[schemars(range(min = 1))]
    pub default_budget: u64,
    /// Maximum token budget that a call may request.
    #[schemars(range(min = 1))]
    pub max_budget_per_agent: Option<u64>,
    /// Maximum characters of the final text that the parent gets; 0 is no limit.
    pub result_max_chars: u32,
    /// Whether sub-agents' transcripts are kept on disk.
    pub persist: bool,
    /// Whether an unknown name in a list of tools is an error instead of a warning.
    pub strict_tools: bool,
    /// Permissions of a sub-agent: `ceiling` shares rules and mode but no grants, `inherit` also
    /// the parent's grants, `own` uses only its definition's mode. Deny rules always apply.
    pub permissions: ChildPermissions,
    /// How a call beyond the depth limit affects the run.
    pub on_autonomy_violation: OnViolation,
    /// How a key rejected by a sub-agent's provider affects the run.
    pub child_auth: ChildAuth,
    /// Whether parents and their sub-agents can send each other messages.
    pub comms: bool,
    /// Whether a sub-agent gets instructions on how to use its tools.
    pub inherit_tool_instructions: bool,
    /// The provider of sub-agents that name none; `inherit` is their parent's.
    #[schemars(length(min = 1))]
    pub default_provider: String,
    /// The model of sub-agents that name none; `inherit` is their parent's.
    #[schemars(length(min = 1))]
    pub default_model: String,
    /// Whether the frames of headless runs call the tool `Task`.
    pub compat_task_name: bool,
    /// Per provider, the models that sub-agents may use. Absent: any.
    #[serde(default)]
    pub allowed_models: BTreeMap<String, Vec<String>>,
}

/// One way for models to start sub-agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentToolset {
    /// One tool that waits for the result.
    Agent,
    /// `agent_spawn`, `agent_wait` and the other lifecycle tools.
    Lifecycle,
    /// One tool per definition: `delegate_to_NAME`.
    Delegate,
}

/// How to treat a call over a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    Auto,
    Queue,
    Error,
}

/// How the permissions of sub-agents derive from those of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChildPermissions {
    Ceiling,
    Inherit,
    Own,
}

/// How exceeding the depth limit affects the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnViolation {
    /// The run stops.
    Abort,
    /// The model gets an error.
    Report,
}

/// How a key rejected by a sub-agent's provider affects the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildAuth {
    /// The run stops.
    Abort,
    /// The parent gets an error, unless the provider is its own.
    SoftIfOtherProvider,
}

/// The name of the tool that starts sub-agents.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::EnumString,
    strum::IntoStaticStr,
)]
pub enum AgentToolName {
    AgentTool,
    Agent,
    Task,
}

impl AgentToolName {
    /// Returns the name that models see.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the screen looks and moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuiConfig {
    /// The name of a theme. Absent: `auto`.
    #[schemars(length(min = 1))]
    pub theme: Option<String>,
    /// Where sub-agents are shown.
    pub panes: PaneLayout,
    pub motion: MotionMode,
    /// Whether the mouse scrolls, focuses and selects.
    pub mouse: bool,
    /// Whether the screen is a sequence of lines that screen readers can follow.
    pub screen_reader: bool,
    /// How the terminal notifies the user while its window has no focus. `true` is `auto`, `false` is `off`.
    #[serde(deserialize_with = "notifications")]
    #[schemars(schema_with = "notifications_schema")]
    pub notifications: NotificationMethod,
    /// A command that notifies instead of the terminal. Its first argument is the message.
    #[schemars(length(min = 1))]
    pub notify_command: Option<String>,
    /// A command whose first line of output is the status line. It gets the state of the session as JSON.
    #[schemars(length(min = 1))]
    pub status_line: Option<String>,
}

/// Reads a way to notify, or a bool.
fn notifications<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<NotificationMethod, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Setting {
        On(bool),
        Way(NotificationMethod),
    }
    Ok(match Setting::deserialize(deserializer)? {
        Setting::On(true) => NotificationMethod::Auto,
        Setting::On(false) => NotificationMethod::Off,
        Setting::Way(way) => way,
    })
}

fn notifications_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "enum": ["auto", "off", "bell", "osc9", "osc99", "osc777", true, false] })
}

/// Stored sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// Days after its last use that a session is kept. If your own file sets it, older ones are
    /// removed in the background.
    #[schemars(range(min = 1))]
    pub keep_days: u32,
}

/// The log file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The least severe level to record. `CALIBAN_LOG` accepts a whole filter instead, such as `warn,caliban=debug`.
    #[schemars(extend("enum" = LEVELS))]
    pub level: String,
}

/// The levels that files and flags may name.
pub const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The JSON schema of one configuration file without its descriptions, read from `config/schema.json`
/// by the build script. A test keeps that file equal to the generated schema; reading it takes a
/// fraction of the time of generating it, and this delays the first frame.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/schema.json"))).unwrap_or_default()
});

/// The JSON schema as text.
pub const SCHEMA_TEXT: &str = include_str!("../../config/schema.json");

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/schema.json");

    /// Generates the JSON schema of one configuration file: every key is optional there.
    fn json_schema() -> Value {
        let settings =
            SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
        loosen(&mut schema, true);
        schema
    }

    /// Drops what holds for the merged configuration but not for one file: required keys, and
    /// `null`, which TOML lacks. The tables of a list are complete in each file, so their required
    /// keys stay required. `schema` is a schema, or else a table of schemas by property name.
    fn loosen(schema: &mut Value, is_schema: bool) {
        let Value::Object(map) = schema else { return };
        if !is_schema {
            return map.values_mut().for_each(|property| loosen(property, true));
        }
        map.shift_remove("required");
        if map.get("default").is_some_and(|default| default.is_null() || default.is_object()) {
            map.shift_remove("default");
        }
        if let Some(Value::Array(types)) = map.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                map.insert("type".to_owned(), only);
            }
        }
        for key in ["properties", "patternProperties"] {
            if let Some(properties) = map.get_mut(key) {
                loosen(properties, false);
            }
        }
        if let Some(inner) = map.get_mut("additionalProperties") {
            loosen(inner, true);
        }
        if let Some(inner) = map.get_mut("items") {
            let required = inner.get("required").cloned();
            loosen(inner, true);
            if let (Some(required), Some(inner)) = (required, inner.as_object_mut()) {
                inner.insert("required".to_owned(), required);
            }
        }
    }

    fn made() -> String {
        serde_json::to_string_pretty(&json_schema()).unwrap() + "\n"
    }

    #[test]
    fn the_schema_file_is_the_one_that_the_types_make() {
        let written = std::fs::read_to_string(FILE).unwrap();
        assert!(
            written == made(),
            "config/schema.json is out of date: `cargo test --lib write_the_schema -- --ignored` makes it anew"
        );
    }

    #[test]
    #[ignore = "writes config/schema.json"]
    fn write_the_schema_file() {
        std::fs::write(FILE, made()).unwrap();
    }
}
