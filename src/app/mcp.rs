//! `caliban mcp`: starts servers to check their state, and edits the files that define them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{AppError, Setup, parts, working_dir};
use crate::cli::{Cli, McpAction, McpAddArgs};
use crate::command::CommandReport;
use crate::command::mcp::{self, ServerRow};
use crate::config::{Dirs, McpConfigFile, McpEntry, McpScope, Project};
use crate::protocol::{EnvOverlay, McpServer};
use crate::tool::ToolSpec;

/// The timeout for servers to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for servers to stop.
const END_WAIT: Duration = Duration::from_secs(2);

/// Carries out the command.
pub(super) fn report(
    cli: &Cli,
    env: &EnvOverlay,
    action: &McpAction,
) -> Result<CommandReport, AppError> {
    let setup = || Setup::load(cli, env.clone(), &cli.overrides());
    match action {
        McpAction::List => {
            let setup = setup()?;
            let standings = parts::block_on(async { Ok(setup.mcp_rows(CONNECT_TIMEOUT).await) })?;
            let (broken, odd) = setup.mcp_problems();
            Ok(mcp::list(&standings, &broken, &odd))
        }
        McpAction::Get { name } => get(name, &setup()?),
        McpAction::Add(args) => {
            let server = mcp::parse_server(args).map_err(AppError::Usage)?;
            add(args, &server, &setup()?)
        }
        McpAction::Remove { name, scope } => {
            // Don't load a setup: this must also work for removing an unreadable definition.
            let cwd = working_dir(cli.common.cd.as_deref())?;
            let project = Project::discover(&cwd, env.get_os("HOME").map(std::path::Path::new));
            let places = McpConfigFile::all(&Dirs::new(env, &cwd)?, &project, &cwd);
            remove(name, *scope, &places)
        }
    }
}

impl Setup {
    /// Returns the state of each server. Untrusted ones, which are not started, come last.
    pub(super) async fn mcp_rows(&self, patience: Duration) -> Vec<ServerRow> {
        let counting = self.loaded.mcp.clone();
        let (mut standings, ..) = self.connect(counting, patience).await;
        standings.extend(self.untrusted_servers());
        standings
    }

    /// Returns the project's untrusted servers.
    fn untrusted_servers(&self) -> impl Iterator<Item = ServerRow> {
        let inert = &self.loaded.untrusted;
        self.mcp_places().into_iter().flat_map(move |place| {
            let mut entries = place.servers();
            entries.retain(|entry| place.is_untrusted(entry, inert));
            entries.into_iter().map(|entry| ServerRow { entry, status: None })
        })
    }

    /// Returns problems with definitions in files: broken ones that are left out, and odd ones.
    pub(super) fn mcp_problems(&self) -> (Vec<String>, Vec<String>) {
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
    pub(super) fn mcp_notes(&self) -> Vec<String> {
        let (broken, _) = self.mcp_problems();
        let waiting = self.untrusted_servers().map(|ServerRow { entry, .. }| {
            format!("{}  {}  {}", entry.server.name, mcp::NOT_TRUSTED_STATE, entry.server.about())
        });
        waiting.chain(broken).collect()
    }

    fn mcp_places(&self) -> Vec<McpConfigFile> {
        McpConfigFile::all(&self.dirs, &self.loaded.project, &self.cwd)
    }

    /// Starts servers, checks their state and stops them. Also returns their tools and messages about them.
    async fn connect(
        &self,
        entries: Vec<McpEntry>,
        patience: Duration,
    ) -> (Vec<ServerRow>, Vec<(String, String)>, Vec<String>) {
        let servers = entries.iter().map(|entry| entry.server.clone()).collect();
        let said = Arc::new(Mutex::new(Vec::new()));
        let mcp = self.mcp_with(servers, None);
        let lines = said.clone();
        mcp.start(move |line| lines.lock().push(line));
        let status = mcp.wait_status(patience).await;
        let tools = mcp.main().offered().tools;
        // Mask before truncating: a part of a key would not be recognized.
        let about = |spec: &ToolSpec| self.redactor.mask(&spec.description).into_owned();
        let tool = |spec: &ToolSpec| (spec.name.clone(), about(spec));
        let named = tools.iter().map(|tool_of| tool(tool_of.spec())).collect();
        // A tool keeps its server alive.
        drop(tools);
        // A server that is slow to stop is killed when this program exits.
        let _ = tokio::time::timeout(END_WAIT, mcp.end()).await;
        let standing = |(entry, status)| ServerRow { entry, status: Some(status) };
        let standings = entries.into_iter().zip(status).map(standing).collect();
        let said = std::mem::take(&mut *said.lock());
        (standings, named, said)
    }
}

fn get(name: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let known = |entry: &McpEntry| entry.server.name == name;
    if let Some(entry) = setup.loaded.mcp.iter().find(|entry| known(entry)) {
        let entry = vec![entry.clone()];
        let (standings, tools, mut said) =
            parts::block_on(async { Ok(setup.connect(entry, CONNECT_TIMEOUT).await) })?;
        let Some(standing) = standings.first() else { return Err(AppError::Internal) };
        // The last error has its own line.
        let error = standing.status.as_ref().and_then(|status| status.error.clone());
        said.retain(|line| error.as_ref().is_none_or(|error| !line.ends_with(error)));
        return Ok(mcp::get(standing, &tools, &said));
    }
    if let Some(standing) = setup.untrusted_servers().find(|standing| known(&standing.entry)) {
        return Ok(mcp::get(&standing, &[], &[]));
    }
    let counting = setup.loaded.mcp.iter().map(|entry| entry.server.name.clone());
    let waiting = setup.untrusted_servers().map(|standing| standing.entry.server.name);
    Ok(mcp::unknown(name, &counting.chain(waiting).collect::<Vec<_>>()))
}

fn add(args: &McpAddArgs, server: &McpServer, setup: &Setup) -> Result<CommandReport, AppError> {
    if setup.is_started_by_agent()? {
        let why = "an agent started this command: only you can add servers, in your own terminal";
        return Err(AppError::Usage(why.to_owned()));
    }
    if args.scope == McpScope::User {
        mcp::check_paths(server, &setup.cwd).map_err(AppError::Usage)?;
    }
    let places = setup.mcp_places();
    let here = |place: &McpConfigFile| place.scope == args.scope && place.takes_new();
    let Some(at) = places.iter().position(here) else { return Err(AppError::Internal) };
    let place = &places[at];
    if !place.add(server)? {
        return Ok(mcp::exists(&server.name, place));
    }
    let same = |entry: &McpEntry| entry.server.name == server.name;
    let has = |place: &&McpConfigFile| place.servers().iter().any(same);
    let over: Vec<_> = places[..at].iter().filter(has).collect();
    let under: Vec<_> = places[at + 1..].iter().filter(has).collect();
    let report = mcp::added(&server.name, place, &over, &under);
    if args.scope == McpScope::User {
        return Ok(report);
    }
    // The user wrote it, so it is trusted.
    let written = place.servers().into_iter().filter(same);
    match setup.trust.accept(&written.map(|entry| entry.untrusted_item()).collect::<Vec<_>>()) {
        Ok(()) => Ok(report),
        Err(error) => Ok(mcp::not_trusted(&report, &error.to_string())),
    }
}

fn remove(
    name: &str,
    scope: Option<McpScope>,
    places: &[McpConfigFile],
) -> Result<CommandReport, AppError> {
    let asked = places.iter().filter(|place| scope.is_none_or(|scope| place.scope == scope));
    let (mut standing, mut broken, mut known) = (Vec::new(), None, Vec::new());
    for place in asked {
        known.extend(place.servers().into_iter().map(|entry| entry.server.name));
        match place.has(name) {
            Ok(true) => standing.push(place),
            Ok(false) => {}
            Err(error) => broken = Some(error),
        }
    }
    match (standing.as_slice(), broken) {
        ([], Some(error)) => Err(error.into()),
        ([], None) => Ok(mcp::unknown(name, &known)),
        ([place], _) => {
            place.remove(name)?;
            Ok(mcp::removed(name, place))
        }
        (several, _) => Ok(mcp::ambiguous(name, several)),
    }
}
