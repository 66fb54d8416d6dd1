//! Layered configuration: where each value comes from, the environment, the model catalogue.
//!
//! Layers, lowest to highest: the built-in `config/default.toml`, the person's
//! `~/.claude/settings.json` and `config.toml`, the project's `.claude/settings.json` and
//! `.caliban/config.toml`, its `.claude/settings.local.json` and `.caliban/config.local.toml` (each
//! of the nearest folder up to the repository's root that has one of its kind), the environment,
//! `--settings`, the other options. Of each pair ours is the higher one; the settings.json shape
//! brings permissions, variables and hooks. Tables merge, the highest value wins, and the lists of
//! permission rules and folders add up. Every value keeps its origin. A layer that changes the
//! provider without naming a model gets that provider's default model, because a model belongs to
//! its provider.
//!
//! A project's files come with the project, and the person may never have read them. What they
//! bring that runs code, sends keys elsewhere, widens rights or raises a limit is [`Inert`] until
//! the person accepts it ([`Trust`]), thing by thing. What only narrows counts at once. A rule that
//! the person's "always" wrote into such a file is accepted by that.

mod dirs;
mod document;
pub mod env;
mod error;
mod hooks;
mod inert;
mod layers;
pub mod list;
mod load;
mod matcher;
pub mod mcp;
pub mod mcp_file;
mod mcp_place;
mod mcp_text;
pub mod models;
pub mod node;
mod overrides;
mod prohibition;
mod project;
mod provider;
pub mod replace;
pub mod schema;
mod setting_sources;
mod settings_file;
mod settings_layer;
mod show;
mod start;
pub mod trust;
mod untrusted;

pub use dirs::Dirs;
pub use error::{ConfigError, Origin};
pub use hooks::{HookConfig, HookEntry, HookList, of_node as read_hooks};
pub use inert::Inert;
pub use layers::Origins;
pub use load::{Loaded, Sources, load, load_for, rule_files};
pub use matcher::Matcher;
pub use mcp::{McpEntry, McpServerConfig};
pub use mcp_file::{MCP_FILE, of_json as mcp_of_json};
pub use mcp_place::{McpEditError, McpPlace, McpScope};
pub use overrides::Overrides;
pub use project::Project;
pub use provider::{Choice, INHERIT, KeySource, base_url_variable, default_model};
pub use schema::{
    AgentToolName, BudgetConfig, ChildAuth, ChildPermissions, Config, Face, LogConfig, ModelConfig,
    Motion, OnLimit, OnViolation, Panes, PermissionsConfig, ProviderConfig, ProviderKind,
    SubagentsConfig, TuiConfig,
};
pub use setting_sources::SettingSources;
pub use settings_file::{Owner, SettingsFile, Written, WrittenPermissions, WrittenSandbox};
pub use settings_layer::Variables;
pub use start::{EntryCwd, ProjectStart, names_file, relative_word, ways as start_ways};
pub use trust::Trust;
