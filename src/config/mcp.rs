//! MCP servers: `[mcp_servers.NAME]` in our own files, and the selection from all sources.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{ConfigError, Origin};
use super::layers::{Origins, SERVERS_KEY};
use super::mcp_entry::{McpEntry, McpServerConfig, describe_server};
use super::mcp_file;
use super::project::Project;
use super::sources::ConfigSources;
use super::start::{StartResolver, server_notice};
use super::untrusted_item::UntrustedItem;
use crate::protocol::{McpServer, StartDir};

/// Returns the servers of our own files.
pub(super) fn from_tables(
    servers: &BTreeMap<String, McpServerConfig>,
    origins: &Origins,
) -> Result<Vec<McpEntry>, ConfigError> {
    let entry = |(name, config): (&String, &McpServerConfig)| {
        let origin = origins.first_below(&format!("{SERVERS_KEY}.{name}")).clone();
        match config.to_server(name) {
            Ok(server) => Ok(McpEntry { server, origin, wants_project_cwd: config.cwd.is_some() }),
            Err(why) => Err(ConfigError::invalid(&origin, format!("[{SERVERS_KEY}.{name}] {why}"))),
        }
    };
    servers.iter().map(entry).collect()
}

/// Selects the servers by name. Precedence: `--mcp-config`, the project's configuration,
/// `.mcp.json` without the `disabled` ones, the user's own.
pub(super) fn collect(
    sources: &ConfigSources<'_>,
    project: &Project,
    tables: Vec<McpEntry>,
    disabled: &[&str],
    notices: &mut Vec<String>,
    starts: &mut StartResolver<'_>,
    mut admits: impl FnMut(UntrustedItem) -> bool,
) -> Result<Vec<McpEntry>, ConfigError> {
    let mut all = Vec::new();
    if !sources.overrides.strict_mcp_config {
        let is_projects = |entry: &McpEntry| starts.is_from_project(&entry.origin);
        let (of_project, own): (Vec<_>, Vec<_>) = tables.into_iter().partition(is_projects);
        let file = mcp_file::read_project(project, sources.cwd);
        notices.extend(file.errors);
        notices.extend(file.notices);
        all.extend(own);
        let wanted = |entry: &McpEntry| !disabled.contains(&entry.server.name.as_str());
        let entries = file.entries.into_iter().filter(wanted);
        let entries = entries.filter(|entry| admits(entry.untrusted_item()));
        all.extend(entries.map(|entry| entry.in_folder(&file.folder)));
        all.extend(of_project.into_iter().map(|entry| entry.in_folder(&project.config_root)));
    }
    for value in &sources.overrides.mcp_config {
        let given = mcp_file::from_flag(value, sources.cwd)?;
        notices.extend(given.errors);
        all.extend(given.entries.into_iter().map(|entry| entry.in_folder(sources.cwd)));
    }
    let by_name: BTreeMap<_, _> =
        all.into_iter().map(|entry| (entry.server.name.clone(), entry)).collect();
    let mut servers: Vec<McpEntry> = by_name.into_values().collect();
    for McpEntry { server, origin, wants_project_cwd: asks_project } in &mut servers {
        if server.start == StartDir::Private {
            server.start = starts.start_of_user(describe_server(server), origin, *asks_project);
            notices.extend(user_server_notice(server, origin, *asks_project, sources.cwd));
        }
    }
    Ok(servers)
}

/// Returns a notice if the user's server does not set `cwd` but names a relative file.
pub fn user_server_notice(
    server: &McpServer,
    origin: &Origin,
    asks_project: bool,
    cwd: &Path,
) -> Option<String> {
    if asks_project { None } else { server_notice(server, origin, cwd) }
}

#[cfg(test)]
mod tests;
