//! Reads and merges all layers, and checks the result as a whole.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, display_path};
use super::hooks::{self, HookConfig};
use super::layers::{Layers, Origins};
use super::mcp;
use super::mcp_entry::McpEntry;
use super::project::Project;
use super::project_start::ProjectStart;
use super::restrictions;
use super::schema::{self, Config, ProviderKind, SubagentsConfig};
use super::settings_file::{self, SettingsFile};
use super::settings_layer::Variables;
use super::sources::ConfigSources;
use super::start::{is_one_of, project_files};
use super::untrusted_item::UntrustedItem;
use crate::protocol::{RuleFile, StartDir, printable_path};

mod layer_reader;

use layer_reader::{LayerReader, default_settings};

/// The effective configuration, with origins and notices.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    pub config: Config,
    pub origins: Origins,
    pub project: Project,
    /// Notices for the user, one line each.
    pub notices: Vec<String>,
    /// Project items that are ignored because the user has not accepted them.
    pub untrusted: Vec<UntrustedItem>,
    /// The user's hooks and servers that ask to start in the project, but start in an empty folder
    /// until the user accepts that.
    pub starts: Vec<ProjectStart>,
    /// Hooks; of the project's, only those that the user has accepted.
    pub hooks: Vec<HookConfig>,
    /// MCP servers by name; of the project's, only those that the user has accepted.
    pub mcp: Vec<McpEntry>,
    /// The settings.json files that exist, lowest first; the one of `--settings` is last.
    pub settings: Vec<SettingsFile>,
    /// Whether a settings file disables the mode `bypassPermissions`.
    pub bypass_disabled: bool,
    /// The origin of a setting that requires a sandbox; without one nothing may run.
    pub sandbox_required: Option<Origin>,
    /// Environment variables that settings files set for commands, hooks and servers.
    pub variables: Variables,
    /// The files that were looked for, lowest first, and whether each exists.
    pub files: Vec<(PathBuf, bool)>,
    /// The merged tables as written, for `config show`.
    pub(super) merged: Table,
}

impl LoadedConfig {
    /// Returns the output style of the highest settings file. It is reported to programs and has no effect here.
    pub fn output_style(&self) -> Option<&str> {
        self.settings.iter().rev().find_map(|file| file.output_style.as_deref())
    }

    /// Returns where the command in this key's value starts: above `.caliban` if it comes from one
    /// of the project's own files.
    pub fn start_of(&self, key: &str, dirs: &Dirs, cwd: &Path) -> StartDir {
        match is_one_of(&project_files(&self.project, dirs, cwd), self.origins.get(key)) {
            true => StartDir::project(&self.project.config_root),
            false => StartDir::Private,
        }
    }
}

impl Config {
    /// The built-in defaults.
    pub fn built_in() -> Result<Self, ConfigError> {
        let mut layers = Layers::default();
        layers.add(default_settings()?);
        fill_providers(&mut layers.merged);
        build_config(&layers)
    }
}

/// Reads and merges all layers, lowest first.
pub fn load(sources: &ConfigSources<'_>) -> Result<LoadedConfig, ConfigError> {
    load_project(
        sources,
        Project::with_sources(
            sources.cwd,
            sources.env.get_os("HOME").map(Path::new),
            sources.overrides.setting_sources,
        ),
    )
}

/// Like [`load`], for a known project: a session keeps the project it began with, however its folders change.
pub fn load_project(
    sources: &ConfigSources<'_>,
    project: Project,
) -> Result<LoadedConfig, ConfigError> {
    load_layers(sources, project, None)
}

/// Like [`load_project`], as if the file at this path had this text.
pub fn load_replaced(
    sources: &ConfigSources<'_>,
    project: Project,
    file: (&Path, &str),
) -> Result<LoadedConfig, ConfigError> {
    load_layers(sources, project, Some(file))
}

fn load_layers(
    sources: &ConfigSources<'_>,
    project: Project,
    replaced: Option<(&Path, &str)>,
) -> Result<LoadedConfig, ConfigError> {
    let LayerReader {
        mut layers,
        mut trust_filter,
        mut starts,
        files,
        settings,
        hooks: more,
        variables,
        mut notices,
        ..
    } = LayerReader::read(*sources, &project, replaced)?;
    fill_providers(&mut layers.merged);
    let Layers { merged, origins } = &mut layers;
    let bypass_disabled = restrictions::forbid_bypass(&settings, merged, origins, &mut notices)?;
    notices.extend(restrictions::unused_notice(&settings));
    notices.extend(hidden_notices(&project, sources));
    let mut config = build_config(&layers)?;
    resolve_paths(&mut config, &layers.origins, sources);
    let mut hooks = hooks::from_tables(&config.hooks, &layers.origins, &mut starts, &mut notices)?;
    hooks.extend(more);
    let tables = mcp::from_tables(&config.mcp_servers, &layers.origins)?;
    let disabled: Vec<&str> =
        settings.iter().flat_map(|file| &file.keys.disabled_servers).map(String::as_str).collect();
    let admits = |thing| trust_filter.admit_item(thing);
    let mcp =
        mcp::collect(sources, &project, tables, &disabled, &mut notices, &mut starts, admits)?;
    let Layers { merged, origins } = layers;
    let (untrusted, starts) = (trust_filter.items, starts.waiting);
    Ok(LoadedConfig {
        config,
        origins,
        project,
        notices,
        untrusted,
        starts,
        hooks,
        mcp,
        sandbox_required: restrictions::required_sandbox(&settings),
        bypass_disabled,
        settings,
        variables,
        files,
        merged,
    })
}

/// Returns a notice for each project file that is ignored because of a closer one: otherwise anyone
/// who can write to a folder could hide rules and hooks unnoticed.
fn hidden_notices(project: &Project, sources: &ConfigSources<'_>) -> Vec<String> {
    let ConfigSources { dirs, cwd, .. } = *sources;
    // The user's own files are read wherever they are.
    let own =
        [Some(dirs.config_file()), dirs.claude.as_ref().map(|folder| folder.join("settings.json"))];
    let is_own = |file: &Path| own.iter().flatten().any(|own| own == file);
    let files = project.hidden_files().into_iter().filter(|(file, _)| !is_own(file));
    let line = |(file, nearest): (PathBuf, &Path)| {
        format!(
            "{} is ignored because {} has a closer configuration of the same kind; its rules and hooks do not apply here",
            printable_path(&display_path(&file, cwd)),
            printable_path(nearest)
        )
    };
    files.map(line).collect()
}

/// Lists the files that may contain permission rules, existing or not.
pub fn rule_files(sources: &ConfigSources<'_>, project: &Project) -> Vec<PathBuf> {
    let ConfigSources { dirs, cwd, overrides, .. } = *sources;
    let own = [dirs.config_file(), project.file(RuleFile::Shared), project.file(RuleFile::Local)];
    let settings = settings_file::settings_paths(project, dirs).into_iter().map(|(_, path)| path);
    let flag = overrides.settings.iter().filter(|value| !value.trim_start().starts_with('{'));
    own.into_iter().chain(settings).chain(flag.map(|path| cwd.join(path))).collect()
}

/// Fills in the defaults that all providers share, so that they are shown too.
fn fill_providers(merged: &mut Table) {
    let Some(Value::Table(providers)) = merged.get_mut("providers") else { return };
    for (_, provider) in providers.iter_mut() {
        if let Value::Table(provider) = provider {
            provider.entry("idle_timeout_s").or_insert(Value::Float(schema::idle_timeout_s()));
            provider.entry("max_retries").or_insert(Value::from(schema::max_retries()));
        }
    }
}

/// Deserializes the merged tables and checks what a single value cannot show.
fn build_config(layers: &Layers) -> Result<Config, ConfigError> {
    if let Some(Value::Table(providers)) = layers.merged.get("providers") {
        for (name, provider) in providers {
            if provider.get("kind").is_none() {
                let message = format!(
                    "[providers.{name}] needs a `kind`: anthropic, openai_chat, openai_responses, gemini or scripted"
                );
                let at = layers.origins.first_below(&format!("providers.{name}"));
                return Err(ConfigError::invalid(at, message));
            }
        }
    }
    let config = Config::deserialize(Value::Table(layers.merged.clone()))
        .map_err(|error| ConfigError::invalid(&Origin::BuiltIn, error.message()))?;
    check_providers(&config, &layers.origins)?;
    Ok(config)
}

fn check_providers(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    for (name, provider) in &config.providers {
        let key = |field: &str| format!("providers.{name}.{field}");
        if let Some(url) = &provider.base_url {
            check_url(url).map_err(|why| {
                let key = key("base_url");
                ConfigError::invalid(origins.get(&key), format!("`{key}` {why}"))
            })?;
        }
        if !provider.api_key_env.as_deref().is_none_or(is_variable) {
            let key = key("api_key_env");
            let message =
                format!("`{key}` must be the name of an environment variable, not the key itself");
            return Err(ConfigError::invalid(origins.get(&key), message));
        }
        // Without an address of its own, a kind would send its key to another one's.
        let needs_address = match provider.kind {
            ProviderKind::OpenaiChat | ProviderKind::OpenaiResponses => true,
            ProviderKind::Anthropic | ProviderKind::Gemini | ProviderKind::Scripted => false,
        };
        let is_scripted = provider.kind == ProviderKind::Scripted;
        let message = if needs_address && provider.base_url.is_none() {
            "needs a `base_url`, such as \"http://127.0.0.1:8080/v1\""
        } else if is_scripted && provider.scenario.is_none() {
            "needs a `scenario`, the file with its answers"
        } else if !is_scripted && provider.scenario.is_some() {
            "must not have a `scenario`; only kind scripted takes one"
        } else {
            continue;
        };
        let message = format!("[providers.{name}] of kind {} {message}", provider.kind.name());
        return Err(ConfigError::invalid(origins.get(&key("kind")), message));
    }
    check_names(config, origins)
}

/// Checks that every provider named by a key is defined.
fn check_names(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let SubagentsConfig { default_provider, allowed_models, .. } = &config.subagents;
    let default = (default_provider != "inherit")
        .then(|| (default_provider, "subagents.default_provider".to_owned()));
    let lists =
        allowed_models.keys().map(|name| (name, format!("subagents.allowed_models.{name}")));
    let main = config.model.provider.iter().map(|name| (name, "model.provider".to_owned()));
    for (name, key) in main.chain(default).chain(lists) {
        if !config.providers.contains_key(name) {
            let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
            let message = format!("there is no provider {name:?}; defined: {}", known.join(", "));
            return Err(ConfigError::invalid(origins.get(&key), message));
        }
    }
    Ok(())
}

fn check_url(text: &str) -> Result<(), &'static str> {
    let url = url::Url::parse(text).map_err(|_| "must be a URL, such as \"https://host/v1\"")?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("must start with http:// or https:// and a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password; use api_key_env");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not contain `?` or `#`: request paths are appended to it");
    }
    Ok(())
}

/// Whether a text can be the name of a variable. Any other text may be the key itself.
fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Makes paths absolute: `~/` is the home directory; others are relative to the working directory
/// or, for a scenario, to the folder of the file that names it.
fn resolve_paths(config: &mut Config, origins: &Origins, sources: &ConfigSources<'_>) {
    let home = sources.env.get_os("HOME").map(Path::new);
    let absolute = |path: &Path, base: &Path| match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => base.join(path),
    };
    for folder in &mut config.permissions.additional_dirs {
        *folder = absolute(folder, sources.cwd);
    }
    for (name, provider) in &mut config.providers {
        let Some(scenario) = &mut provider.scenario else { continue };
        let file = match origins.get(&format!("providers.{name}.scenario")) {
            Origin::File { path, .. } => sources.cwd.join(path),
            _ => continue,
        };
        *scenario = absolute(scenario, file.parent().unwrap_or(sources.cwd));
    }
}

#[cfg(test)]
mod tests;
