//! The files in which a person or a project defines MCP servers, each by itself: to be looked at,
//! and to be changed.

use std::io;
use std::path::{Path, PathBuf};

use super::dirs::Dirs;
use super::error::{ConfigError, Origin, shown};
use super::inert::Inert;
use super::layers::Layers;
use super::load::{read_text, settings};
use super::mcp::{self, McpEntry, SERVERS};
use super::mcp_file::{self, MCP_FILE, McpFile};
use super::mcp_text::{self, Change};
use super::project::Project;
use super::replace::{replace, replace_in_project};
use super::schema::SCHEMA;
use crate::protocol::{McpServer, RuleFile, printable_path};

/// Whose files they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum McpScope {
    /// Your own, for all projects.
    User,
    /// The project's, for all who work on it.
    Project,
}

impl McpScope {
    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum McpEditError {
    #[error("{0}: nothing was changed; mend it first")]
    Unreadable(#[from] ConfigError),
    #[error("{}: {problem}: nothing was changed; mend it first", printable_path(path))]
    Broken { path: PathBuf, problem: String },
    #[error("cannot write {}: {source}", printable_path(path))]
    Write { path: PathBuf, source: io::Error },
}

/// One such file, whether it is there or not.
#[derive(Clone, Debug)]
pub struct McpPlace {
    pub scope: McpScope,
    /// The path as the person would write it.
    pub shown: PathBuf,
    file: PathBuf,
    cwd: PathBuf,
    is_json: bool,
}

impl McpPlace {
    /// All of them, those first whose servers count over the others'.
    #[must_use]
    pub fn all(dirs: &Dirs, project: &Project, cwd: &Path) -> Vec<Self> {
        let json = mcp_file::file_of(project).unwrap_or_else(|| project.root().join(MCP_FILE));
        let place = |scope, file: PathBuf, is_json| {
            let shown = shown(&file, cwd);
            Self { scope, shown, file, cwd: cwd.to_owned(), is_json }
        };
        vec![
            place(McpScope::Project, project.file(RuleFile::Local), false),
            place(McpScope::Project, project.file(RuleFile::Shared), false),
            place(McpScope::Project, json, true),
            place(McpScope::User, dirs.config_file(), false),
        ]
    }

    /// Whether this is where new servers of its scope go.
    #[must_use]
    pub fn for_new(&self) -> bool {
        self.is_json || self.scope == McpScope::User
    }

    /// The servers that stand in it and can be used.
    #[must_use]
    pub fn servers(&self) -> Vec<McpEntry> {
        self.read().entries
    }

    /// What is wrong with it: first what is left out, then what means nothing. One line each.
    #[must_use]
    pub fn problems(&self) -> (Vec<String>, Vec<String>) {
        let McpFile { broken, mut notices, entries, .. } = self.read();
        if self.scope == McpScope::User {
            let notice =
                |it: &McpEntry| mcp::own_notice(&it.server, &it.origin, it.asks_project, &self.cwd);
            notices.extend(entries.iter().filter_map(notice));
        }
        (broken, notices)
    }

    fn read(&self) -> McpFile {
        if self.is_json {
            return mcp_file::read_file_if_there(&self.file, &self.cwd);
        }
        match self.tables() {
            Ok(entries) => McpFile { entries, ..McpFile::default() },
            Err(error) => McpFile { broken: vec![error.to_string()], ..McpFile::default() },
        }
    }

    fn tables(&self) -> Result<Vec<McpEntry>, ConfigError> {
        let Some(text) = read_text(&self.file, &self.cwd)? else { return Ok(Vec::new()) };
        let at = |line| Origin::File { path: self.shown.clone(), line };
        let mut all = settings(&text, &SCHEMA, at)?;
        all.retain(|setting| setting.path.first().is_some_and(|table| table == SERVERS));
        let mut layers = Layers::default();
        layers.add(all);
        let Some(servers) = layers.merged.remove(SERVERS) else { return Ok(Vec::new()) };
        let servers = servers.try_into().map_err(|error: toml::de::Error| {
            ConfigError::invalid(&at(1), error.message().to_owned())
        })?;
        mcp::of_tables(&servers, &layers.origins)
    }

    /// Whether the server of this file is one of the things that wait for the person's word.
    #[must_use]
    pub fn waits(&self, entry: &McpEntry, inert: &[Inert]) -> bool {
        if self.is_json {
            return inert.contains(&entry.inert());
        }
        let start = format!("{SERVERS}.{}: ", entry.server.name);
        let here = |thing: &Inert| matches!(&thing.origin, Origin::File { path, .. } if *path == self.shown);
        inert.iter().any(|thing| here(thing) && thing.what.starts_with(&start))
    }

    /// Writes a server into it. False when it has one of that name.
    ///
    /// # Errors
    /// When the file is not what it should be, or cannot be written; it then stays as it was.
    pub fn add(&self, server: &McpServer) -> Result<bool, McpEditError> {
        self.change(Change::Add(server))
    }

    /// Takes a server out of it. False when it has none of that name.
    ///
    /// # Errors
    /// As [`McpPlace::add`].
    pub fn remove(&self, name: &str) -> Result<bool, McpEditError> {
        self.change(Change::Remove(name))
    }

    /// Whether a server of this name stands in it, usable or not.
    ///
    /// # Errors
    /// When the file is not what it should be.
    pub fn has(&self, name: &str) -> Result<bool, McpEditError> {
        Ok(self.changed(Change::Remove(name))?.is_some())
    }

    fn change(&self, change: Change<'_>) -> Result<bool, McpEditError> {
        let Some(text) = self.changed(change)? else { return Ok(false) };
        let failed = |source| McpEditError::Write { path: self.shown.clone(), source };
        match self.scope {
            // It may hold keys.
            McpScope::User => replace(&self.file, &text, 0o600),
            McpScope::Project => replace_in_project(&self.file, &text),
        }
        .map_err(failed)?;
        Ok(true)
    }

    fn changed(&self, change: Change<'_>) -> Result<Option<String>, McpEditError> {
        let text = read_text(&self.file, &self.cwd)?.unwrap_or_default();
        let changed = match self.is_json {
            true => mcp_text::json(&text, change),
            false => mcp_text::toml(&text, change),
        };
        changed.map_err(|problem| McpEditError::Broken { path: self.shown.clone(), problem })
    }
}
