//! The servers of a session.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::cancelled;
use super::deps::ServerDeps;
use super::http::HttpSource;
use super::pool::ServerPool;
use super::server_set::ServerSet;
use crate::budget::{Budget, Limits};
use crate::exec::{BlockingPools, StartDirs};
use crate::protocol::{
    Access, EnvOverlay, EventQueue, McpSelection, McpServer, McpState, McpStatus, Redactor,
    SharedPeer, Span, ToolUseId,
};
use crate::tool::api::{Conversation, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use crate::tool::spec::ToolSpec;

/// How long to wait for the end of servers.
const END_WAIT: Duration = Duration::from_secs(4);

/// Settings of a session's servers.
pub struct McpSettings {
    /// In the order of the configuration.
    pub servers: Vec<McpServer>,
    /// The session's working directory.
    pub cwd: Arc<Path>,
    /// Prepares the folders that programs start in.
    pub starts: StartDirs,
    /// The session's variables.
    pub env: EnvOverlay,
    /// Variables, besides the well-known provider keys, that programs must not see.
    pub secrets: Arc<[String]>,
    pub http: HttpSource,
    /// Absent when no program drives us.
    pub peer: Option<SharedPeer>,
    /// Whether a violation of autonomy is left to the model instead of ending the run.
    pub soften: bool,
    /// Receives the keys of servers: values of variables and headers, and the query of an address.
    pub redactor: Redactor,
}

/// The servers of a session and its sub-agents. Nothing runs before [`Mcp::start`]. Cheap to clone.
#[derive(Clone)]
pub struct Mcp(Arc<McpInner>);

struct McpInner {
    servers: Vec<McpServer>,
    env: EnvOverlay,
    soften: bool,
    pool: ServerPool,
    /// The main agent's; empty before the start and after the end.
    main: Mutex<ServerSet>,
    /// The main agent's tools in its current run.
    offered: Mutex<Vec<Arc<dyn Tool>>>,
    /// Names and lines that the user has already seen.
    told: Mutex<BTreeSet<String>>,
}

impl Mcp {
    /// Stores the settings. Starts no server.
    pub fn new(settings: McpSettings) -> Self {
        let McpSettings { servers, cwd, starts, env, secrets, http, peer, soften, redactor } =
            settings;
        let pool = ServerPool::new(ServerDeps { cwd, starts, secrets, http, peer, redactor });
        let (main, offered, told) = Default::default();
        Self(Arc::new(McpInner { servers, env, soften, pool, main, offered, told }))
    }

    /// Whether the session has no servers of its own.
    pub fn is_empty(&self) -> bool {
        self.0.servers.is_empty()
    }

    /// Starts all servers in parallel and returns at once. Reports errors to `notify`, one line each.
    pub fn start(&self, notify: impl Fn(String) + Send + Sync + 'static) {
        self.0.pool.set_notice(Arc::new(notify));
        let mut main = lock(&self.0.main);
        if main.status().is_empty() && !self.is_empty() {
            *main = self.server_set(self.0.servers.iter(), &self.0.env, 0);
        }
    }

    fn server_set<'a>(
        &self,
        servers: impl Iterator<Item = &'a McpServer>,
        env: &EnvOverlay,
        depth: u32,
    ) -> ServerSet {
        let servers = servers.map(|server| self.0.pool.get(server, env, depth)).collect();
        ServerSet::new(servers, self.0.soften)
    }

    /// Returns the main agent's servers.
    pub fn main(&self) -> ServerSet {
        lock(&self.0.main).clone()
    }

    /// Updates the main agent's tools to the ones available now, and returns them with any new problems.
    pub fn refresh_tools(&self) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let offered = self.main().offered();
        lock(&self.0.offered).clone_from(&offered.tools);
        (offered.tools, self.take_untold(offered.problems))
    }

    /// Returns the main agent's servers that are still starting, described for the user, each once.
    pub fn still_starting(&self) -> Vec<String> {
        self.take_untold(self.main().still_starting())
    }

    /// Keeps the lines that the user has not seen yet.
    fn take_untold(&self, mut all: Vec<String>) -> Vec<String> {
        let mut told = lock(&self.0.told);
        all.retain(|text| told.insert(text.clone()));
        all
    }

    /// Returns the main agent's tools.
    pub fn offered(&self) -> Vec<Arc<dyn Tool>> {
        lock(&self.0.offered).clone()
    }

    /// Returns the servers of a sub-agent with these variables at this depth below the main agent:
    /// those that its definition asks for, or else all of the session. Also returns the names that
    /// match no server.
    pub fn for_agent(
        &self,
        selection: Option<&[McpSelection]>,
        env: &EnvOverlay,
        depth: u32,
    ) -> (ServerSet, Vec<String>) {
        let Some(selection) = selection else {
            return (self.server_set(self.0.servers.iter(), env, depth), Vec::new());
        };
        let mut unknown = Vec::new();
        let servers = selection.iter().filter_map(|entry| match entry {
            McpSelection::Own(server) => Some(server),
            McpSelection::Named(name) => {
                let known = self.0.servers.iter().find(|server| server.name == *name);
                if known.is_none() {
                    unknown.push(name.clone());
                }
                known
            }
        });
        let mut named: Vec<&McpServer> = Vec::new();
        for server in servers {
            // Named twice it is still one.
            if !named.contains(&server) {
                named.push(server);
            }
        }
        (self.server_set(named.into_iter(), env, depth), unknown)
    }

    /// Returns the status of each server of the session.
    pub fn status(&self) -> Vec<McpStatus> {
        let running = self.main().status();
        if !running.is_empty() {
            return running;
        }
        let waiting = self.0.servers.iter().map(|server| McpStatus {
            name: server.name.clone(),
            state: McpState::Pending,
            tools: Vec::new(),
            error: None,
            about: server.about(),
        });
        waiting.collect()
    }

    /// The same once all are up or have failed, or after `limit`.
    pub async fn wait_status(&self, limit: Duration) -> Vec<McpStatus> {
        self.main().wait_ready_by(Instant::now() + limit).await;
        self.status()
    }

    /// Calls a tool of the session by its name on the wire, outside of any agent's loop, without
    /// permission rules or display.
    ///
    /// # Errors
    ///
    /// Soft ones for an unknown tool, and for a call that fails, is cancelled or exceeds the tool's time limit.
    pub async fn call(
        &self,
        tool: &str,
        input: impl FnOnce(&ToolSpec) -> Value + Send,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        let fleet = self.main();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            () = fleet.wait_ready() => {}
        }
        let offered = fleet.offered().tools;
        let Some(found) = offered.iter().find(|known| known.spec().name == tool) else {
            let known: Vec<_> = offered.iter().map(|known| known.spec().name.as_str()).collect();
            let why = format!("there is no MCP tool {tool}; there are: {}", known.join(", "));
            return Err(ToolError::soft(SoftKind::UnknownTool, why));
        };
        let stop = cancel.child_token();
        let call = found.clone().prepare(&input(found.spec()));
        let call = call.map_err(|error| ToolError::soft(SoftKind::InvalidInput, error.0))?;
        let limit = call.time_limit();
        let call = call.run(self.context(&stop));
        let Some(limit) = limit else { return call.await };
        let late = || ToolError::soft(SoftKind::Timeout, format!("{tool} took too long"));
        let answer = tokio::time::timeout(limit, call).await;
        answer.unwrap_or_else(|_| Err(late()))
    }

    /// Creates the context of a call that no agent makes.
    fn context(&self, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            tool_use_id: ToolUseId::new("outside"),
            events: EventQueue::unbounded().sink(),
            cancel: cancel.clone(),
            overdue: Arc::default(),
            access: Access::Other,
            order: 0,
            cwd: self.0.pool.deps().cwd.clone(),
            env: self.0.env.clone(),
            budget: Budget::new(Limits::default()),
            depth: 0,
            span: Span::root(),
            conversation: Conversation::default(),
            masked: Default::default(),
            read_only: None,
            approved_content: None,
            file_guard: None,
            files: BlockingPools::default().files,
        }
    }

    /// Ends all servers and waits until they are gone. Agents that hold one must have ended.
    pub async fn end(&self) {
        *lock(&self.0.main) = ServerSet::default();
        lock(&self.0.offered).clear();
        if tokio::time::timeout(END_WAIT, self.0.pool.wait_ended()).await.is_err() {
            tracing::warn!("an MCP server did not end in time");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("servers", &self.0.servers).finish_non_exhaustive()
    }
}
