//! A server with the task that keeps it running: starts it, lists its tools, restarts it when it dies.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::connection::{Connection, McpClient, cancelled};
use super::deps::ServerDeps;
use super::keys::{self, ServerKeys};
use super::listing::ToolListing;
use super::reader::FirstOutput;
use crate::protocol::{
    EnvOverlay, McpServer, McpState, McpStatus, Redactor, mcp_name, printable_line,
};
use crate::tool::api::{ToolContext, ToolError};

/// How long the first request waits for a server, from the start of the server.
const REQUEST_WAIT: Duration = Duration::from_secs(5);

/// Maximum restarts in a row of a server that dies.
const MAX_RESTARTS: u32 = 5;

/// The pause before the first restart; each further one is twice as long.
const BACK_OFF: Duration = Duration::from_millis(200);

/// A server that has run this long starts with a clean slate.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// Minimum pause between two requests for a list of tools that keeps changing.
const LIST_PAUSE: Duration = Duration::from_millis(100);

/// Maximum warnings about one server. Only its final failure comes after them.
const MAX_WARNINGS: usize = 20;

/// Shows a line to the user.
pub type NoticeFn = Arc<dyn Fn(String) + Send + Sync>;

/// A server that is kept running until this is dropped.
pub struct Server {
    config: McpServer,
    env: EnvOverlay,
    started: Instant,
    state: watch::Receiver<ServerState>,
    first: FirstOutput,
    redactor: Redactor,
    /// Keys to mask in results of its tools.
    keys: Redactor,
    _stop: DropGuard,
}

/// The state of a server.
#[derive(Clone, Default)]
struct ServerState {
    state: McpState,
    /// Kept while it is restarted: tools that a model knows do not vanish.
    listed: Arc<ToolListing>,
    error: Option<String>,
    client: Option<McpClient>,
}

impl Server {
    /// Starts it in a task of `tasks` for an agent that is `depth` below the main agent, and
    /// reports errors to `notify`.
    pub fn start(
        config: McpServer,
        env: EnvOverlay,
        depth: u32,
        deps: Arc<ServerDeps>,
        notify: NoticeFn,
        tasks: &TaskTracker,
    ) -> Self {
        let full = deps.starts.with_project(&config.start, &env);
        let ServerKeys { possible, certain } = ServerKeys::from_transport(&config.transport, &full);
        possible.iter().for_each(|key| deps.redactor.suspect(key));
        let words = certain.iter().flat_map(|key| key.split(' '));
        words.filter(|word| keys::is_token(word)).for_each(|key| deps.redactor.add(key));
        let (redactor, keys) = (deps.redactor.clone(), Redactor::default());
        certain.iter().for_each(|key| keys.add(key));
        let (standing, seen) = watch::channel(ServerState::default());
        let (stop, first) = (CancellationToken::new(), FirstOutput::default());
        let keeper = ServerTask {
            config: config.clone(),
            env: full,
            depth,
            deps,
            notify,
            warned: BTreeSet::new(),
            state: standing,
            first: first.clone(),
            stop: stop.clone(),
        };
        tasks.spawn(keeper.run());
        let started = Instant::now();
        Self { config, env, started, state: seen, first, redactor, keys, _stop: stop.drop_guard() }
    }

    pub fn config(&self) -> &McpServer {
        &self.config
    }

    pub fn env(&self) -> &EnvOverlay {
        &self.env
    }

    /// Returns its tools, or those of its last run.
    pub fn listed(&self) -> Arc<ToolListing> {
        self.state.borrow().listed.clone()
    }

    /// Returns its status for the user.
    pub fn status(&self) -> McpStatus {
        let standing = self.state.borrow();
        McpStatus {
            name: self.config.name.clone(),
            state: standing.state,
            tools: standing.listed.tools.iter().map(|tool| tool.remote.clone()).collect(),
            error: standing.error.clone().or_else(|| self.complaint()),
            about: self.config.about(),
        }
    }

    /// Returns an error if it prints something other than the protocol while it starts.
    pub fn complaint(&self) -> Option<String> {
        let waits = self.state.borrow().state == McpState::Pending;
        let complaint = waits.then(|| self.first.complaint()).flatten()?;
        Some(self.redactor.mask(&complaint).into_owned())
    }

    /// Whether it is starting for the first time. After a crash, its tools stay listed.
    pub fn is_starting(&self) -> bool {
        let standing = self.state.borrow();
        standing.state == McpState::Pending && standing.error.is_none()
    }

    /// Waits until it is up or has failed, or a request's wait is over.
    pub async fn wait_ready(&self) {
        self.wait_ready_by(self.started + REQUEST_WAIT).await;
    }

    /// The same with a given deadline.
    pub async fn wait_ready_by(&self, moment: Instant) {
        let mut standing = self.state.clone();
        let settled = standing.wait_for(|standing| standing.state != McpState::Pending);
        // On timeout the caller re-checks the state.
        let _ = tokio::time::timeout_at(moment, settled).await;
    }

    /// Calls a tool by the server's own name for it. Waits while the server is starting.
    pub async fn call(
        &self,
        tool: &str,
        input: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let line = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(cancelled()),
            line = self.client() => line?,
        };
        match line.call(&self.config.name, tool, input, cx).await {
            Ok(mut result) => {
                // A value that only may be a key can be the tool's subject: a folder, the name of a table.
                keys::mask(&mut result, &self.keys);
                Ok(result)
            }
            Err(ToolError::Soft { kind, message, .. }) => {
                Err(ToolError::soft(kind, self.redactor.mask(&message)))
            }
            Err(fatal @ ToolError::Fatal { .. }) => Err(fatal),
        }
    }

    async fn client(&self) -> Result<McpClient, ToolError> {
        let mut standing = self.state.clone();
        // When a server has just died, the connection may be the first to know.
        let has_died =
            |standing: &ServerState| standing.client.as_ref().is_some_and(McpClient::is_closed);
        let settled = standing
            .wait_for(|standing| standing.state != McpState::Pending && !has_died(standing))
            .await;
        let why = match settled {
            Ok(standing) => match &standing.client {
                Some(line) => return Ok(line.clone()),
                None => standing.error.clone().unwrap_or_default(),
            },
            Err(_) => "it was stopped".to_owned(),
        };
        Err(ToolError::failed(format!("MCP server {} is not available: {why}", self.config.name)))
    }
}

/// The task that keeps a server running.
struct ServerTask {
    config: McpServer,
    /// The agent's variables, and those that name the project.
    env: EnvOverlay,
    /// Hops of that agent below the main agent.
    depth: u32,
    deps: Arc<ServerDeps>,
    notify: NoticeFn,
    /// Warnings given so far: each is given once, however often the server is started.
    warned: BTreeSet<String>,
    state: watch::Sender<ServerState>,
    first: FirstOutput,
    stop: CancellationToken,
}

impl ServerTask {
    async fn run(mut self) {
        let stop = self.stop.clone();
        let mut deaths = 0;
        loop {
            let up = Instant::now();
            let opening = Box::pin(self.open());
            let opened = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                opened = opening => opened,
            };
            // A server that never started needs the user, not another attempt.
            let mut connection = match opened {
                Ok(connection) => connection,
                Err(why) => return self.fail(why).await,
            };
            let why = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                why = self.watch_tools(&mut connection) => Some(why),
            };
            connection.end().await;
            let Some(why) = why else { return };
            deaths = if up.elapsed() >= HEALTHY_AFTER { 1 } else { deaths + 1 };
            if deaths > MAX_RESTARTS {
                return self.fail(format!("{why}, {deaths} times in a row")).await;
            }
            let why = self.deps.redactor.mask(&why).into_owned();
            self.warn_once(&format!("ended and is being restarted: {why}"));
            self.state.send_modify(|standing| {
                standing.state = McpState::Pending;
                standing.client = None;
                standing.error = Some(why);
            });
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(BACK_OFF * 2u32.pow(deaths - 1)) => {}
            }
        }
    }

    /// Connects and asks for the tools.
    async fn open(&mut self) -> Result<Connection, String> {
        if let Some(problem) = mcp_name::check_server(&self.config.name) {
            return Err(problem);
        }
        let connection =
            Connection::open(&self.config, &self.env, self.depth, &self.deps, &self.first).await?;
        match connection.client.list(&self.config).await {
            Ok(listed) => {
                self.connected(&connection.client, listed);
                Ok(connection)
            }
            Err(why) => {
                connection.end().await;
                Err(why)
            }
        }
    }

    fn connected(&mut self, line: &McpClient, listed: ToolListing) {
        for problem in &listed.problems {
            self.warn_once(problem);
        }
        self.state.send_modify(|standing| {
            standing.state = McpState::Connected;
            standing.listed = Arc::new(listed);
            standing.client = Some(line.clone());
        });
    }

    /// Keeps the list of tools up to date until the connection ends; returns the reason.
    async fn watch_tools(&mut self, connection: &mut Connection) -> String {
        let line = connection.client.clone();
        loop {
            tokio::select! {
                biased;
                why = connection.ended() => return why,
                () = line.tools_changed() => {}
            }
            tokio::select! {
                biased;
                why = connection.ended() => return why,
                listed = line.list(&self.config) => match listed {
                    Ok(listed) => self.connected(&line, listed),
                    Err(why) => self.warn_once(&format!("its tools have changed, but {why}")),
                },
            }
            tokio::time::sleep(LIST_PAUSE).await;
        }
    }

    /// Marks it as failed, and waits until its last handle is dropped.
    async fn fail(self, why: String) {
        let why = self.deps.redactor.mask(&why).into_owned();
        self.warn(&why);
        self.state.send_modify(|standing| {
            standing.state = McpState::Failed;
            standing.client = None;
            standing.error = Some(why);
        });
        self.stop.cancelled().await;
    }

    /// Warns about a problem, each once and up to a limit.
    fn warn_once(&mut self, what: &str) {
        if self.warned.len() == MAX_WARNINGS || !self.warned.insert(what.to_owned()) {
            return;
        }
        self.warn(what);
        if self.warned.len() == MAX_WARNINGS {
            self.warn("further problems are not shown");
        }
    }

    fn warn(&self, what: &str) {
        let what = self.deps.redactor.mask(what);
        let line =
            format!("MCP server {}: {}", printable_line(&self.config.name), printable_line(&what));
        tracing::warn!("{line}");
        (self.notify)(line);
    }
}
