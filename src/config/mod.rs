//! Layered configuration with the origin of each value, the environment, and the model catalogue.
//!
//! Layers, lowest to highest: the built-in `config/default.toml`, the user's
//! `~/.claude/settings.json` and `config.toml`, the project's `.claude/settings.json` and
//! `.caliban/config.toml`, its `.claude/settings.local.json` and `.caliban/config.local.toml` (each
//! from the nearest folder, up to the repository's root, that has one of its kind), the
//! environment, `--settings`, the other options. Of each pair ours is the higher one; settings.json
//! files provide permissions, variables and hooks. Tables merge, the highest value wins, and the
//! lists of permission rules and folders are concatenated. Every value keeps its origin. A layer
//! that changes the provider without naming a model gets that provider's default model, because a
//! model belongs to its provider.
//!
//! A project's files come with the project, and the user may never have read them. Anything in them
//! that runs code, sends keys elsewhere, widens permissions or raises a limit is [`UntrustedItem`] until
//! the user accepts that item ([`Trust`]). Settings that only restrict apply at once. A rule that
//! the user's "always" wrote into such a file is thereby accepted.

mod config_file;
mod dirs;
mod document;
mod edit;
pub mod env;
mod error;
mod hooks;
mod layers;
pub mod list;
mod load;
pub mod lock;
mod matcher;
mod mcp;
mod mcp_config_file;
mod mcp_edit;
mod mcp_entry;
pub mod mcp_file;
pub mod models;
mod overrides;
mod project;
mod project_start;
mod provider;
pub mod replace;
mod restrictions;
pub mod schema;
mod setting_sources;
mod settings_file;
mod settings_layer;
mod show;
mod sources;
mod start;
pub mod trust;
mod trust_filter;
mod untrusted_item;

pub use config_file::{ConfigEditError, ConfigFile, ConfigScope};
pub use dirs::Dirs;
pub use edit::ConfigEdit;
pub use error::{ConfigError, Origin};
pub use hooks::{HookConfig, HookList, read_hooks};
pub use layers::Origins;
pub use load::{LoadedConfig, load, load_project, load_replaced, rule_files};
pub use matcher::Matcher;
pub use mcp_config_file::McpConfigFile;
pub use mcp_entry::{McpEntry, McpServerConfig, describe_server};
pub use mcp_file::{MCP_FILE, from_json as mcp_of_json};
pub use overrides::Overrides;
pub use project::Project;
pub use project_start::{EntryCwd, ProjectStart};
pub use provider::{INHERIT, KeySource, ProviderChoice, base_url_variable, default_model};
pub use schema::{
    AgentToolName, AgentToolset, BudgetConfig, ChildAuth, ChildPermissions, Config, HookEntry,
    LogConfig, ModelConfig, OnLimit, OnViolation, PermissionsConfig, ProviderConfig, ProviderKind,
    SubagentsConfig, TuiConfig,
};
pub use setting_sources::SettingSources;
pub use settings_file::{
    SettingsFile, SettingsKeys, SettingsOwner, SettingsPermissions, SettingsSandbox,
};
pub use settings_layer::Variables;
pub use sources::ConfigSources;
pub use start::{names_file, relative_word, relative_word_hint as start_ways};
pub use trust::Trust;
pub use untrusted_item::UntrustedItem;
