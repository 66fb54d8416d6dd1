//! `caliban mcp [list|get NAME|add …|remove NAME]`: starts servers to check their state, and edits
//! the files that define them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{CommandReport, columns, one_line};
use crate::app::parts;
use crate::app::setup::{AppError, Setup, working_dir};
use crate::cli::{Cli, McpAction};
use crate::config::{Dirs, McpConfigFile, McpEntry, Project};
use crate::protocol::{
    EnvOverlay, McpState, McpStatus, McpTransport, StartDir, display_url, printable_line,
    printable_path,
};
use crate::tool::ToolSpec;

mod edit;

/// The timeout for servers to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for servers to stop.
const END_WAIT: Duration = Duration::from_secs(2);

/// The maximum length of an error or a tool's description in a line, in characters.
const MAX_DETAIL_CHARS: usize = 120;

/// The state of an untrusted server.
const NOT_TRUSTED_STATE: &str = "not trusted: caliban trust";

/// Carries out the command.
pub(crate) fn mcp(
    cli: &Cli,
    env: &EnvOverlay,
    action: &McpAction,
) -> Result<CommandReport, AppError> {
    let setup = || Setup::load(cli, env.clone(), &cli.overrides());
    match action {
        McpAction::List => {
            let setup = setup()?;
            let rows = parts::block_on(async { Ok(setup.mcp_rows(CONNECT_TIMEOUT).await) })?;
            let (broken, odd) = setup.mcp_problems();
            Ok(list(&rows, &broken, &odd))
        }
        McpAction::Get { name } => get(name, &setup()?),
        McpAction::Add(args) => {
            let server = edit::parse_server(args).map_err(AppError::Usage)?;
            edit::add(args, &server, &setup()?)
        }
        McpAction::Remove { name, scope } => {
            // Don't load a setup: this must also work for removing an unreadable definition.
            let cwd = working_dir(cli.common.cd.as_deref())?;
            let project = Project::discover(&cwd, env.get_os("HOME").map(Path::new));
            let places = McpConfigFile::all(&Dirs::new(env, &cwd)?, &project, &cwd);
            edit::remove(name, *scope, &places)
        }
    }
}

/// A server and its status; `None` if it is not started, because it is not trusted.
#[derive(Clone, Debug)]
pub struct ServerRow {
    pub entry: McpEntry,
    pub status: Option<McpStatus>,
}

impl ServerRow {
    /// Returns the state in a few words.
    pub fn state(&self) -> &'static str {
        match &self.status {
            None => NOT_TRUSTED_STATE,
            Some(status) if status.state == McpState::Pending => "no answer",
            Some(status) => status.state.label(),
        }
    }

    /// Returns the last error in one line.
    pub fn error(&self) -> String {
        let error = self.status.as_ref().and_then(|status| status.error.as_deref());
        one_line(error.unwrap_or_default(), MAX_DETAIL_CHARS)
    }
}

impl Setup {
    /// Returns the state of each server. Untrusted ones, which are not started, come last.
    pub(crate) async fn mcp_rows(&self, limit: Duration) -> Vec<ServerRow> {
        let defined = self.loaded.mcp.clone();
        let (mut rows, ..) = self.connect(defined, limit).await;
        rows.extend(self.untrusted_servers());
        rows
    }

    /// Returns the project's untrusted servers.
    fn untrusted_servers(&self) -> impl Iterator<Item = ServerRow> {
        let untrusted = &self.loaded.untrusted;
        self.mcp_places().into_iter().flat_map(move |place| {
            let mut entries = place.servers();
            entries.retain(|entry| place.is_untrusted(entry, untrusted));
            entries.into_iter().map(|entry| ServerRow { entry, status: None })
        })
    }

    /// Returns problems with definitions in files: broken ones that are left out, and odd ones.
    pub(crate) fn mcp_problems(&self) -> (Vec<String>, Vec<String>) {
        let (mut broken, mut odd) = (Vec::new(), Vec::new());
        if self.overrides.strict_mcp_config {
            return (broken, odd);
        }
        for place in self.mcp_places() {
            let (more_broken, more_odd) = place.problems();
            broken.extend(more_broken);
            odd.extend(more_odd);
        }
        let servers = self.loaded.starts.iter().filter(|start| start.is_server()).cloned();
        odd.extend(self.trust.start_notice(&servers.collect::<Vec<_>>()));
        (broken, odd)
    }

    /// Returns one line for the user about each ignored server.
    pub(crate) fn mcp_notes(&self) -> Vec<String> {
        let (broken, _) = self.mcp_problems();
        let waiting = self.untrusted_servers().map(|ServerRow { entry, .. }| {
            format!("{}  {}  {}", entry.server.name, NOT_TRUSTED_STATE, entry.server.about())
        });
        waiting.chain(broken).collect()
    }

    pub(crate) fn mcp_places(&self) -> Vec<McpConfigFile> {
        McpConfigFile::all(&self.dirs, &self.loaded.project, &self.cwd)
    }

    /// Starts servers, checks their state and stops them. Also returns their tools and messages about them.
    async fn connect(
        &self,
        entries: Vec<McpEntry>,
        limit: Duration,
    ) -> (Vec<ServerRow>, Vec<(String, String)>, Vec<String>) {
        let servers = entries.iter().map(|entry| entry.server.clone()).collect();
        let messages = Arc::new(Mutex::new(Vec::new()));
        let mcp = self.mcp_with(servers, None);
        let lines = messages.clone();
        mcp.start(move |line| lines.lock().push(line));
        let status = mcp.wait_status(limit).await;
        let tools = mcp.main().offered().tools;
        // Mask before truncating: a part of a key would not be recognized.
        let about = |spec: &ToolSpec| self.redactor.mask(&spec.description).into_owned();
        let tool = |spec: &ToolSpec| (spec.name.clone(), about(spec));
        let named = tools.iter().map(|tool_of| tool(tool_of.spec())).collect();
        // A tool keeps its server alive.
        drop(tools);
        // A server that is slow to stop is killed when this program exits.
        let _ = tokio::time::timeout(END_WAIT, mcp.end()).await;
        let row = |(entry, status)| ServerRow { entry, status: Some(status) };
        let rows = entries.into_iter().zip(status).map(row).collect();
        let messages = std::mem::take(&mut *messages.lock());
        (rows, named, messages)
    }
}

fn get(name: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let known = |entry: &McpEntry| entry.server.name == name;
    if let Some(entry) = setup.loaded.mcp.iter().find(|entry| known(entry)) {
        let entry = vec![entry.clone()];
        let (rows, tools, mut messages) =
            parts::block_on(async { Ok(setup.connect(entry, CONNECT_TIMEOUT).await) })?;
        let Some(row) = rows.first() else { return Err(AppError::Internal) };
        // The last error has its own line.
        let error = row.status.as_ref().and_then(|status| status.error.clone());
        messages.retain(|line| error.as_ref().is_none_or(|error| !line.ends_with(error)));
        return Ok(describe(row, &tools, &messages));
    }
    if let Some(row) = setup.untrusted_servers().find(|row| known(&row.entry)) {
        return Ok(describe(&row, &[], &[]));
    }
    let defined = setup.loaded.mcp.iter().map(|entry| entry.server.name.clone());
    let waiting = setup.untrusted_servers().map(|row| row.entry.server.name);
    Ok(edit::unknown(name, &defined.chain(waiting).collect::<Vec<_>>()))
}

/// Lists all servers, after `broken` definitions that are left out and before `odd` ones.
fn list(servers: &[ServerRow], broken: &[String], odd: &[String]) -> CommandReport {
    let problem = |problem: &String| format!("problem: {}\n", one_line(problem, 400));
    let mut text: String = broken.iter().map(problem).collect();
    text.push_str(&match servers {
        [] if !broken.is_empty() => String::new(),
        [] => "No MCP servers yet: caliban mcp add NAME COMMAND_OR_URL defines one.\n".to_owned(),
        _ => {
            let head = ["NAME", "STATE", "TOOLS", "FROM", "LAST ERROR"].map(str::to_owned);
            let rows = servers.iter().map(|row| {
                let up = row.status.as_ref().filter(|it| it.state == McpState::Connected);
                [
                    printable_line(&row.entry.server.name),
                    row.state().to_owned(),
                    up.map_or_else(|| "-".to_owned(), |status| status.tools.len().to_string()),
                    row.entry.origin.to_string(),
                    row.error(),
                ]
            });
            columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
        }
    });
    text.extend(odd.iter().map(problem));
    CommandReport { text, broken: !broken.is_empty(), ..CommandReport::default() }
}

/// Shows one server with its tools and their descriptions, and the messages about it at startup.
fn describe(row: &ServerRow, tools: &[(String, String)], messages: &[String]) -> CommandReport {
    let McpEntry { server, origin, .. } = &row.entry;
    let mut rows = vec![("name", server.name.clone())];
    match &server.transport {
        McpTransport::Stdio { env, .. } => {
            let place = match &server.start {
                StartDir::Private => "an empty folder".to_owned(),
                StartDir::Project(folder) => format!("this project: {}", printable_path(folder)),
            };
            let place = if row.status.is_some() { place } else { String::new() };
            rows.extend([("runs", server.about()), ("in", place), ("env", mask_values(env))]);
        }
        McpTransport::Http { url, headers } => {
            rows.extend([("url", display_url(url)), ("headers", mask_values(headers))]);
        }
        McpTransport::Peer => rows.push(("runs", server.about())),
    }
    rows.extend([
        ("from", origin.to_string()),
        ("state", row.state().to_owned()),
        ("error", row.error()),
    ]);
    rows.retain(|(_, value)| !value.is_empty());
    let rows: Vec<_> =
        rows.into_iter().map(|(key, value)| [format!("{key}:"), one_line(&value, 1000)]).collect();
    let mut text = columns(&rows);
    text.extend(messages.iter().map(|line| format!("{}\n", one_line(line, 400))));
    if !tools.is_empty() {
        let row = |(name, about): &(String, String)| {
            [String::new(), printable_line(name), one_line(about, MAX_DETAIL_CHARS)]
        };
        text.push_str("\ntools:\n");
        text.push_str(&columns(&tools.iter().map(row).collect::<Vec<_>>()));
    }
    CommandReport::text(text)
}

/// Returns the names, with values masked.
fn mask_values(values: &BTreeMap<String, String>) -> String {
    values.keys().map(|name| format!("{name}=***")).collect::<Vec<_>>().join(" ")
}
