//! Reads and edits the individual files in which the user or a project defines MCP servers.

use std::path::{Path, PathBuf};

use super::config_file::{ConfigEditError, ConfigScope};
use super::dirs::Dirs;
use super::document;
use super::error::{ConfigError, Origin, display_path};
use super::layers::{Layers, SERVERS_KEY};
use super::mcp;
use super::mcp_edit::{self, McpChange};
use super::mcp_entry::McpEntry;
use super::mcp_file::{self, MCP_FILE, McpServerList};
use super::project::Project;
use super::schema::SCHEMA;
use super::sources::read_text;
use super::untrusted_item::UntrustedItem;
use crate::protocol::{McpServer, RuleFile};

/// One such file, existing or not.
#[derive(Clone, Debug)]
pub struct McpConfigFile {
    pub scope: ConfigScope,
    /// The path as the user would write it.
    pub shown: PathBuf,
    file: PathBuf,
    cwd: PathBuf,
    is_json: bool,
}

impl McpConfigFile {
    /// Returns all files, highest precedence first.
    pub fn all(dirs: &Dirs, project: &Project, cwd: &Path) -> Vec<Self> {
        let json = mcp_file::project_file(project).unwrap_or_else(|| project.root().join(MCP_FILE));
        let config_file = |scope, file: PathBuf, is_json| {
            let shown = display_path(&file, cwd);
            Self { scope, shown, file, cwd: cwd.to_owned(), is_json }
        };
        vec![
            config_file(ConfigScope::Project, project.file(RuleFile::Local), false),
            config_file(ConfigScope::Project, project.file(RuleFile::Shared), false),
            config_file(ConfigScope::Project, json, true),
            config_file(ConfigScope::User, dirs.config_file(), false),
        ]
    }

    /// Whether new servers of its scope go into this file.
    pub fn takes_new(&self) -> bool {
        self.is_json || self.scope == ConfigScope::User
    }

    /// Returns its usable servers.
    pub fn servers(&self) -> Vec<McpEntry> {
        self.read().entries
    }

    /// Returns its problems, one line each: skipped servers, then ignored keys.
    pub fn problems(&self) -> (Vec<String>, Vec<String>) {
        let McpServerList { errors: broken, mut notices, entries, .. } = self.read();
        if self.scope == ConfigScope::User {
            let notice = |it: &McpEntry| {
                mcp::user_server_notice(&it.server, &it.origin, it.wants_project_cwd, &self.cwd)
            };
            notices.extend(entries.iter().filter_map(notice));
        }
        (broken, notices)
    }

    fn read(&self) -> McpServerList {
        if self.is_json {
            return mcp_file::read_file_if_exists(&self.file, &self.cwd);
        }
        match self.read_tables() {
            Ok(entries) => McpServerList { entries, ..McpServerList::default() },
            Err(error) => {
                McpServerList { errors: vec![error.to_string()], ..McpServerList::default() }
            }
        }
    }

    fn read_tables(&self) -> Result<Vec<McpEntry>, ConfigError> {
        let Some(text) = read_text(&self.file, &self.cwd)? else { return Ok(Vec::new()) };
        let file = Origin::File { path: self.shown.clone(), line: 1 };
        let mut all = document::parse(&text, &SCHEMA, &file)?;
        all.retain(|setting| setting.path.first().is_some_and(|table| table == SERVERS_KEY));
        let mut layers = Layers::default();
        layers.add(all);
        let Some(servers) = layers.merged.remove(SERVERS_KEY) else { return Ok(Vec::new()) };
        let servers = servers.try_into().map_err(|error: toml::de::Error| {
            ConfigError::invalid(&file, error.message().to_owned())
        })?;
        mcp::from_tables(&servers, &layers.origins)
    }

    /// Whether the server of this file is waiting for the user's trust.
    pub fn is_untrusted(&self, entry: &McpEntry, untrusted: &[UntrustedItem]) -> bool {
        if self.is_json {
            return untrusted.contains(&entry.untrusted_item());
        }
        let start = format!("{SERVERS_KEY}.{}: ", entry.server.name);
        let here = |thing: &UntrustedItem| matches!(&thing.origin, Origin::File { path, .. } if *path == self.shown);
        untrusted.iter().any(|thing| here(thing) && thing.what.starts_with(&start))
    }

    /// Adds a server. Returns false if the file has one of that name.
    ///
    /// # Errors
    /// Fails if the file is malformed or cannot be written; it is then left unchanged.
    pub fn add(&self, server: &McpServer) -> Result<bool, ConfigEditError> {
        self.change(McpChange::Add(server))
    }

    /// Removes a server. Returns false if the file has none of that name.
    ///
    /// # Errors
    /// As [`McpConfigFile::add`].
    pub fn remove(&self, name: &str) -> Result<bool, ConfigEditError> {
        self.change(McpChange::Remove(name))
    }

    /// Whether the file has a server of this name, usable or not.
    ///
    /// # Errors
    /// Fails if the file is malformed.
    pub fn has(&self, name: &str) -> Result<bool, ConfigEditError> {
        Ok(self.changed_text(McpChange::Remove(name))?.is_some())
    }

    fn change(&self, change: McpChange<'_>) -> Result<bool, ConfigEditError> {
        let _one_at_a_time = self.scope.lock(&self.file)?;
        let Some(text) = self.changed_text(change)? else { return Ok(false) };
        let failed = |source| ConfigEditError::Write { path: self.shown.clone(), source };
        self.scope.replace(&self.file, &text).map_err(failed)?;
        Ok(true)
    }

    fn changed_text(&self, change: McpChange<'_>) -> Result<Option<String>, ConfigEditError> {
        let text = read_text(&self.file, &self.cwd)?.unwrap_or_default();
        let changed = match self.is_json {
            true => mcp_edit::edit_json(&text, change),
            false => mcp_edit::edit_toml(&text, change),
        };
        changed.map_err(|problem| ConfigEditError::Broken { path: self.shown.clone(), problem })
    }
}
