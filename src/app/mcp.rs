//! `caliban mcp`: servers are started to see how they stand, and the files in which they are
//! defined are changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{AppError, Setup, parts, working_dir};
use crate::cli::{Cli, McpAction, McpAddArgs};
use crate::command::Report;
use crate::command::mcp::{self, Standing};
use crate::config::{Dirs, McpEntry, McpPlace, McpScope, Project};
use crate::protocol::{EnvOverlay, McpServer};
use crate::tool::ToolSpec;

/// How long the answers of servers are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long their end is.
const END_WAIT: Duration = Duration::from_secs(2);

/// Does what the command says.
pub(super) fn report(cli: &Cli, env: &EnvOverlay, action: &McpAction) -> Result<Report, AppError> {
    let setup = || Setup::load(cli, env.clone(), &cli.overrides());
    match action {
        McpAction::List => {
            let setup = setup()?;
            let standings = parts::run(async { Ok(setup.mcp_standings(PATIENCE).await) })?;
            let (broken, odd) = setup.mcp_problems();
            Ok(mcp::list(&standings, &broken, &odd))
        }
        McpAction::Get { name } => get(name, &setup()?),
        McpAction::Add(args) => {
            let server = mcp::defined(args).map_err(AppError::Usage)?;
            add(args, &server, &setup()?)
        }
        McpAction::Remove { name, scope } => {
            // Not from a setup: this is also how a person gets rid of what cannot be read.
            let cwd = working_dir(cli.common.cd.as_deref())?;
            let project = Project::discover(&cwd, env.get_os("HOME").map(std::path::Path::new));
            let places = McpPlace::all(&Dirs::new(env, &cwd)?, &project, &cwd);
            remove(name, *scope, &places)
        }
    }
}

impl Setup {
    /// How each server stands, those last that are not trusted and so not started.
    pub(super) async fn mcp_standings(&self, patience: Duration) -> Vec<Standing> {
        let counting = self.loaded.mcp.clone();
        let (mut standings, ..) = self.connect(counting, patience).await;
        standings.extend(self.untrusted());
        standings
    }

    /// The servers of the project that wait for the person's word.
    fn untrusted(&self) -> impl Iterator<Item = Standing> {
        let inert = &self.loaded.inert;
        self.mcp_places().into_iter().flat_map(move |place| {
            let mut entries = place.servers();
            entries.retain(|entry| place.waits(entry, inert));
            entries.into_iter().map(|entry| Standing { entry, status: None })
        })
    }

    /// What is wrong with the definitions in files: what is left out, and what means nothing.
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

    /// What a person should know of servers that do not count, one line each.
    pub(super) fn mcp_notes(&self) -> Vec<String> {
        let (broken, _) = self.mcp_problems();
        let waiting = self.untrusted().map(|Standing { entry, .. }| {
            format!("{}  {}  {}", entry.server.name, mcp::NOT_TRUSTED, entry.server.about())
        });
        waiting.chain(broken).collect()
    }

    fn mcp_places(&self) -> Vec<McpPlace> {
        McpPlace::all(&self.dirs, &self.loaded.project, &self.cwd)
    }

    /// Starts servers, sees how they stand and ends them. Also answers with their tools, and with
    /// what was said of them.
    async fn connect(
        &self,
        entries: Vec<McpEntry>,
        patience: Duration,
    ) -> (Vec<Standing>, Vec<(String, String)>, Vec<String>) {
        let servers = entries.iter().map(|entry| entry.server.clone()).collect();
        let said = Arc::new(Mutex::new(Vec::new()));
        let mcp = self.mcp_of(servers, None);
        let lines = said.clone();
        mcp.start(move |line| lines.lock().unwrap_or_else(PoisonError::into_inner).push(line));
        let status = mcp.settled_status(patience).await;
        let tools = mcp.main().offered().tools;
        // Before it is cut to the width of a line: a part of a key would not be known.
        let about = |spec: &ToolSpec| self.redactor.mask(&spec.description).into_owned();
        let tool = |spec: &ToolSpec| (spec.name.clone(), about(spec));
        let named = tools.iter().map(|tool_of| tool(tool_of.spec())).collect();
        // Who holds a tool holds its server.
        drop(tools);
        // One that is slow to end is ended with this program.
        let _ = tokio::time::timeout(END_WAIT, mcp.end()).await;
        let standing = |(entry, status)| Standing { entry, status: Some(status) };
        let standings = entries.into_iter().zip(status).map(standing).collect();
        let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
        (standings, named, said)
    }
}

fn get(name: &str, setup: &Setup) -> Result<Report, AppError> {
    let known = |entry: &McpEntry| entry.server.name == name;
    if let Some(entry) = setup.loaded.mcp.iter().find(|entry| known(entry)) {
        let entry = vec![entry.clone()];
        let (standings, tools, mut said) =
            parts::run(async { Ok(setup.connect(entry, PATIENCE).await) })?;
        let Some(standing) = standings.first() else { return Err(AppError::Internal) };
        // The last error has a line of its own.
        let error = standing.status.as_ref().and_then(|status| status.error.clone());
        said.retain(|line| error.as_ref().is_none_or(|error| !line.ends_with(error)));
        return Ok(mcp::get(standing, &tools, &said));
    }
    if let Some(standing) = setup.untrusted().find(|standing| known(&standing.entry)) {
        return Ok(mcp::get(&standing, &[], &[]));
    }
    let counting = setup.loaded.mcp.iter().map(|entry| entry.server.name.clone());
    let waiting = setup.untrusted().map(|standing| standing.entry.server.name);
    Ok(mcp::unknown(name, &counting.chain(waiting).collect::<Vec<_>>()))
}

fn add(args: &McpAddArgs, server: &McpServer, setup: &Setup) -> Result<Report, AppError> {
    if setup.is_started_by_agent()? {
        let why = "an agent started this: servers are added by you, in a terminal of your own";
        return Err(AppError::Usage(why.to_owned()));
    }
    if args.scope == McpScope::User {
        mcp::check_words(server, &setup.cwd).map_err(AppError::Usage)?;
    }
    let places = setup.mcp_places();
    let here = |place: &McpPlace| place.scope == args.scope && place.for_new();
    let Some(at) = places.iter().position(here) else { return Err(AppError::Internal) };
    let place = &places[at];
    if !place.add(server)? {
        return Ok(mcp::exists(&server.name, place));
    }
    let same = |entry: &McpEntry| entry.server.name == server.name;
    let has = |place: &&McpPlace| place.servers().iter().any(same);
    let over: Vec<_> = places[..at].iter().filter(has).collect();
    let under: Vec<_> = places[at + 1..].iter().filter(has).collect();
    let report = mcp::added(&server.name, place, &over, &under);
    if args.scope == McpScope::User {
        return Ok(report);
    }
    // Written by the person's own hand, and so accepted.
    let written = place.servers().into_iter().filter(same);
    match setup.trust.accept(&written.map(|entry| entry.inert()).collect::<Vec<_>>()) {
        Ok(()) => Ok(report),
        Err(error) => Ok(mcp::not_trusted(&report, &error.to_string())),
    }
}

fn remove(name: &str, scope: Option<McpScope>, places: &[McpPlace]) -> Result<Report, AppError> {
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
