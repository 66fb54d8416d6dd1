//! The configuration as types. `config/default.toml` holds the defaults, `config/schema.json` is
//! made from these types.
//!
//! A key stands here when the program does what it says, not before.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hooks::HookEntry;
use super::mcp::McpServerConfig;
use crate::protocol::{HookEvent, Mode, lossy_path};

/// The whole configuration, all layers merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default)]
    pub model: ModelConfig,
    /// Places that answer model requests, by name. Built in: anthropic, openai, gemini, ollama,
    /// llamacpp, vllm.
    pub providers: BTreeMap<String, ProviderConfig>,
    pub permissions: PermissionsConfig,
    /// Commands that run at certain moments, by event.
    #[serde(default)]
    #[schemars(schema_with = "hooks")]
    pub hooks: Hooks,
    #[serde(default)]
    pub budget: BudgetConfig,
    /// MCP servers, by name.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    pub subagents: SubagentsConfig,
    pub tui: TuiConfig,
    pub log: LogConfig,
}

/// Which model answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The model's name, as its provider spells it. Absent: the provider's default.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The name of a provider. Absent: the first one that has a key in the environment.
    #[schemars(length(min = 1))]
    pub provider: Option<String>,
    /// The most tokens that one answer may have. Absent: what the catalogue says of the model.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// How hard to think, in the provider's own words. Not sent to a model that does not take it.
    #[schemars(length(min = 1))]
    pub effort: Option<String>,
}

/// How to reach one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The wire that it speaks.
    pub kind: ProviderKind,
    /// The address before `/v1/messages`, `/chat/completions`, `/responses` or `/v1beta/models`.
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Absent: it needs none.
    #[schemars(length(min = 1))]
    pub api_key_env: Option<String>,
    /// A shell command that prints the key; asked when the variable is not set.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<String>,
    /// A stream that says nothing for this many seconds has failed.
    #[serde(default = "idle_timeout_s")]
    #[schemars(range(min = 0.001, max = 86400))]
    pub idle_timeout_s: f64,
    /// How often a failed request is repeated.
    #[serde(default = "max_retries")]
    #[schemars(range(max = 100))]
    pub max_retries: u32,
    /// The file with the answers; of the scripted kind only.
    #[serde(serialize_with = "lossy_path::option::serialize")]
    pub scenario: Option<PathBuf>,
}

impl ProviderConfig {
    /// `idle_timeout_s` as a duration.
    #[must_use]
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

/// The wire that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// The Messages API.
    Anthropic,
    /// Chat completions, as most local and hosted servers speak it.
    OpenaiChat,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// The Gemini API.
    Gemini,
    /// Answers from a file, without any network.
    Scripted,
}

impl ProviderKind {
    /// The name as it is written in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
            Self::Scripted => "scripted",
        }
    }
}

/// What tools may do. The lists of all layers add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionsConfig {
    pub mode: Mode,
    /// Rules for what runs without a question, such as `Bash(git diff:*)`.
    pub allow: Vec<String>,
    /// Rules for what is asked even where it would run.
    pub ask: Vec<String>,
    /// Rules for what never runs.
    pub deny: Vec<String>,
    /// Folders beside the working directory that tools may work in.
    #[serde(serialize_with = "lossy_path::list::serialize")]
    pub additional_dirs: Vec<PathBuf>,
}

/// The hooks of our own files; those of all layers add up.
pub type Hooks = BTreeMap<HookEvent, Vec<HookEntry>>;

/// The schema of [`Hooks`]: each event is a key.
fn hooks(generator: &mut SchemaGenerator) -> Schema {
    let entries = generator.subschema_for::<Vec<HookEntry>>();
    let events = HookEvent::ALL.map(|event| (event.name().to_owned(), entries.clone().to_value()));
    let events: serde_json::Map<String, Value> = events.into_iter().collect();
    json_schema!({ "type": "object", "additionalProperties": false, "properties": events })
}

/// What the main agent and all its sub-agents together may spend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetConfig {
    /// US dollars for the whole tree of agents.
    #[schemars(range(min = 0))]
    pub max_usd: Option<f64>,
    /// Turns of the main agent for one prompt.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// Seconds that one prompt may take; they do not run while a person is asked.
    #[schemars(range(min = 1))]
    pub max_wall_s: Option<u64>,
    /// Seconds that one tool call may take, whatever tool it is of; they do not run while a person is asked.
    #[schemars(range(min = 1))]
    pub max_call_s: Option<u64>,
}

/// Sub-agents and their limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentsConfig {
    /// Whether models are offered the tool that starts them.
    pub enabled: bool,
    pub tool_name: AgentToolName,
    /// The ways in which they are offered: one tool, the lifecycle tools, one tool per agent.
    pub faces: Vec<Face>,
    /// How many levels of them there may be below the main agent.
    pub max_depth: u32,
    /// Whether sub-agents may start others at all.
    pub allow_nested_spawn: bool,
    /// How many run at a time; further ones queue.
    #[schemars(range(min = 1))]
    pub max_concurrent_agents: u32,
    /// How many of one parent run at a time; further ones queue.
    #[schemars(range(min = 1))]
    pub max_children_per_agent: u32,
    /// How many one parent may start over its whole life. Absent: any number.
    #[schemars(range(min = 1))]
    pub max_children_total: Option<u32>,
    /// How many requests and tool calls of all agents run at a time; further ones wait.
    #[schemars(range(min = 1))]
    pub max_concurrent_ops: u32,
    /// What a call over a limit does: `auto` lets foreground calls queue and refuses background ones.
    pub on_limit: OnLimit,
    /// The most turns that a sub-agent may take.
    #[schemars(range(min = 1))]
    pub max_turns: u32,
    /// US dollars that one sub-agent and those below it may spend.
    #[schemars(range(min = 0))]
    pub max_usd: Option<f64>,
    /// Seconds that one sub-agent may take; they do not run while a person is asked.
    #[schemars(range(min = 1))]
    pub max_wall_s: Option<u64>,
    /// Tokens that a sub-agent of `agent_spawn` or `agent_fork` may use when the call names no budget.
    #[schemars(range(min = 1))]
    pub default_budget: u64,
    /// The most tokens that any call may ask for.
    #[schemars(range(min = 1))]
    pub max_budget_per_agent: Option<u64>,
    /// The most characters of its final text that its parent gets; 0 is no limit.
    pub result_max_chars: u32,
    /// Whether sub-agents' transcripts are kept on disk.
    pub persist: bool,
    /// Whether an unknown name in a list of tools is an error instead of a warning.
    pub strict_tools: bool,
    /// What a sub-agent may do: `ceiling` shares rules and mode but no grants, `inherit` also the
    /// parent's grants, `own` lets its definition's mode count alone. Deny rules always hold.
    pub permissions: ChildPermissions,
    /// What a call beyond the depth limit does to the run.
    pub on_autonomy_violation: OnViolation,
    /// What a key that a sub-agent's provider rejects does to the run.
    pub child_auth: ChildAuth,
    /// Whether parents and their sub-agents can send each other messages.
    pub comms: bool,
    /// Whether a sub-agent is told how to use its tools.
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

/// One way in which sub-agents are offered to models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Face {
    /// The one tool that waits for the result.
    Agent,
    /// `agent_spawn`, `agent_wait` and their kin.
    Lifecycle,
    /// One tool per definition: `delegate_to_NAME`.
    Delegate,
}

/// What a call over a limit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    Auto,
    Queue,
    Error,
}

/// How the rights of sub-agents follow from those of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChildPermissions {
    Ceiling,
    Inherit,
    Own,
}

/// What a violation of autonomy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnViolation {
    /// The run stops.
    Abort,
    /// The model is told.
    Report,
}

/// What a key that a sub-agent's provider rejects does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildAuth {
    /// The run stops.
    Abort,
    /// The parent is told, unless the provider is its own.
    SoftIfOtherProvider,
}

/// The name under which the tool that starts sub-agents is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AgentToolName {
    AgentTool,
    Agent,
    Task,
}

impl AgentToolName {
    /// The name that is written like this.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::AgentTool, Self::Agent, Self::Task].into_iter().find(|known| known.name() == name)
    }

    /// The name as models see it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentTool => "AgentTool",
            Self::Agent => "Agent",
            Self::Task => "Task",
        }
    }
}

/// How the screen looks and moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuiConfig {
    /// The name of a theme. Absent: the built-in one.
    #[schemars(length(min = 1))]
    pub theme: Option<String>,
    /// Where sub-agents are shown.
    pub panes: Panes,
    pub motion: Motion,
    /// Whether the mouse scrolls, focuses and selects.
    pub mouse: bool,
}

/// Where sub-agents are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Panes {
    Auto,
    Right,
    Below,
    Rows,
}

/// How much moves on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Motion {
    Full,
    Reduced,
}

/// What is written to the log file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The least severe records that are kept. `CALIBAN_LOG` puts a whole filter here, such as
    /// `warn,caliban=debug`.
    #[schemars(extend("enum" = LEVELS))]
    pub level: String,
}

/// The levels that files and flags may name.
pub const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The JSON schema of one configuration file, as `config/schema.json` has it. A test keeps that
/// file equal to what the types make; reading it takes a tenth of the time that making it takes,
/// and this is on the way to the first frame.
pub(super) static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA_TEXT).unwrap_or_default());

/// The same as text.
pub const SCHEMA_TEXT: &str = include_str!("../../config/schema.json");

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/schema.json");

    /// Makes the JSON schema of one configuration file: every key is optional there.
    fn json_schema() -> Value {
        let settings =
            SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
        loosen(&mut schema, true);
        schema
    }

    /// Drops what is true of the merged configuration but not of one file: required keys, and
    /// `null`, which TOML has not. The tables of a list are whole in each file: there a required
    /// key is required. `schema` is a schema, or else a table of schemas by property name.
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
