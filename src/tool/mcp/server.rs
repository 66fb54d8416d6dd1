//! One server with the task that keeps it up: started, asked for its tools, started again when it dies.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::connection::{Connection, Line, cancelled};
use super::keys::{self, Keys};
use super::listing::Listed;
use super::reader::Printed;
use super::session::Means;
use crate::protocol::{EnvOverlay, McpServer, McpState, McpStatus, Redactor, mcp_name};
use crate::tool::{ToolContext, ToolError};

/// How long the first request waits for a server, from the moment it was started.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often in a row a server that has died is started again.
const RESTARTS: u32 = 5;

/// The wait before the first of them; each further one is twice as long.
const BACK_OFF: Duration = Duration::from_millis(200);

/// A server that has lived this long starts with a clean sheet.
const HEALTHY: Duration = Duration::from_secs(60);

/// The least time between two looks at a list of tools that keeps changing.
const LIST_PAUSE: Duration = Duration::from_millis(100);

/// How many lines are said of one server. Only its end for good comes after them.
const LINES: usize = 20;

/// Says a line to the person.
pub type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// A server that is kept up until this is dropped.
pub struct Server {
    config: McpServer,
    env: EnvOverlay,
    started: Instant,
    standing: watch::Receiver<Standing>,
    first: Printed,
    redactor: Redactor,
    /// What no result of its tools may hold.
    keys: Redactor,
    _stop: DropGuard,
}

/// How it stands.
#[derive(Clone, Default)]
struct Standing {
    state: McpState,
    /// Kept while it is started again: what a model was told of does not vanish.
    listed: Arc<Listed>,
    error: Option<String>,
    line: Option<Line>,
}

impl Server {
    /// Starts it in a task of `tasks` for an agent that is `depth` below the main agent, and says
    /// to `tell` what goes wrong with it.
    pub fn start(
        config: McpServer,
        env: EnvOverlay,
        depth: u32,
        means: Arc<Means>,
        tell: Tell,
        tasks: &TaskTracker,
    ) -> Self {
        let full = means.starts.with_project(&config.start, &env);
        let Keys { possible, certain } = Keys::of(&config.transport, &full);
        possible.iter().for_each(|key| means.redactor.suspect(key));
        let words = certain.iter().flat_map(|key| key.split(' '));
        words.filter(|word| keys::is_token(word)).for_each(|key| means.redactor.add(key));
        let (redactor, keys) = (means.redactor.clone(), Redactor::default());
        certain.iter().for_each(|key| keys.add(key));
        let (standing, seen) = watch::channel(Standing::default());
        let (stop, first) = (CancellationToken::new(), Printed::default());
        let keeper = Keeper {
            config: config.clone(),
            env: full,
            depth,
            means,
            tell,
            told: BTreeSet::new(),
            standing,
            first: first.clone(),
            stop: stop.clone(),
        };
        tasks.spawn(keeper.keep_up());
        let started = Instant::now();
        Self {
            config,
            env,
            started,
            standing: seen,
            first,
            redactor,
            keys,
            _stop: stop.drop_guard(),
        }
    }

    pub fn config(&self) -> &McpServer {
        &self.config
    }

    pub fn env(&self) -> &EnvOverlay {
        &self.env
    }

    /// What it offers now, or did when it was last up.
    pub fn listed(&self) -> Arc<Listed> {
        self.standing.borrow().listed.clone()
    }

    /// How it stands, for people.
    pub fn status(&self) -> McpStatus {
        let standing = self.standing.borrow();
        McpStatus {
            name: self.config.name.clone(),
            state: standing.state,
            tools: standing.listed.tools.iter().map(|tool| tool.remote.clone()).collect(),
            error: standing.error.clone().or_else(|| self.complaint()),
            about: self.config.about(),
        }
    }

    /// That it prints what is not the protocol, while it is waited for.
    pub fn complaint(&self) -> Option<String> {
        let waits = self.standing.borrow().state == McpState::Pending;
        let complaint = waits.then(|| self.first.complaint()).flatten()?;
        Some(self.redactor.mask(&complaint).into_owned())
    }

    /// Whether it is being started for the first time: of one that has died the tools stay.
    pub fn is_missing(&self) -> bool {
        let standing = self.standing.borrow();
        standing.state == McpState::Pending && standing.error.is_none()
    }

    /// Waits until it is up or has failed, but not longer than a request waits for a server.
    pub async fn settled(&self) {
        self.settled_by(self.started + PATIENCE).await;
    }

    /// The same with a moment of one's own.
    pub async fn settled_by(&self, moment: Instant) {
        let mut standing = self.standing.clone();
        let settled = standing.wait_for(|standing| standing.state != McpState::Pending);
        // Late or gone: the one who waits looks for himself.
        let _ = tokio::time::timeout_at(moment, settled).await;
    }

    /// Calls a tool by the server's own name for it. While the server is being started this waits.
    pub async fn call(
        &self,
        tool: &str,
        input: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let line = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(cancelled()),
            line = self.line() => line?,
        };
        match line.call(&self.config.name, tool, input, cx).await {
            Ok(mut result) => {
                // A value that only may be a key can be what the tool is about: a folder, the name
                // of a table.
                keys::mask(&mut result, &self.keys);
                Ok(result)
            }
            Err(ToolError::Soft { kind, message, .. }) => {
                Err(ToolError::soft(kind, self.redactor.mask(&message)))
            }
            Err(fatal @ ToolError::Fatal { .. }) => Err(fatal),
        }
    }

    async fn line(&self) -> Result<Line, ToolError> {
        let mut standing = self.standing.clone();
        // Of a server that has just died nobody may know yet but the line.
        let has_died = |standing: &Standing| standing.line.as_ref().is_some_and(Line::is_closed);
        let settled = standing
            .wait_for(|standing| standing.state != McpState::Pending && !has_died(standing))
            .await;
        let why = match settled {
            Ok(standing) => match &standing.line {
                Some(line) => return Ok(line.clone()),
                None => standing.error.clone().unwrap_or_default(),
            },
            Err(_) => "it was stopped".to_owned(),
        };
        Err(ToolError::failed(format!("MCP server {} is not there: {why}", self.config.name)))
    }
}

/// The task behind a server.
struct Keeper {
    config: McpServer,
    /// The agent's variables, and those that name the project.
    env: EnvOverlay,
    /// Hops of that agent below the main agent.
    depth: u32,
    means: Arc<Means>,
    tell: Tell,
    /// Each line is said once, however often the server is started.
    told: BTreeSet<String>,
    standing: watch::Sender<Standing>,
    first: Printed,
    stop: CancellationToken,
}

impl Keeper {
    async fn keep_up(mut self) {
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
            // One that was never up needs a person, not another try.
            let mut connection = match opened {
                Ok(connection) => connection,
                Err(why) => return self.fail(why).await,
            };
            let why = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                why = self.attend(&mut connection) => Some(why),
            };
            connection.end().await;
            let Some(why) = why else { return };
            deaths = if up.elapsed() >= HEALTHY { 1 } else { deaths + 1 };
            if deaths > RESTARTS {
                return self.fail(format!("{why}, and so it did {deaths} times in a row")).await;
            }
            let why = self.means.redactor.mask(&why).into_owned();
            self.say(&format!("has ended and is started again: {why}"));
            self.standing.send_modify(|standing| {
                standing.state = McpState::Pending;
                standing.line = None;
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
        if let Some(problem) = mcp_name::problem(&self.config.name) {
            return Err(problem);
        }
        let connection =
            Connection::open(&self.config, &self.env, self.depth, &self.means, &self.first).await?;
        match connection.line.list(&self.config).await {
            Ok(listed) => {
                self.connected(&connection.line, listed);
                Ok(connection)
            }
            Err(why) => {
                connection.end().await;
                Err(why)
            }
        }
    }

    fn connected(&mut self, line: &Line, listed: Listed) {
        for problem in &listed.problems {
            self.say(problem);
        }
        self.standing.send_modify(|standing| {
            standing.state = McpState::Connected;
            standing.listed = Arc::new(listed);
            standing.line = Some(line.clone());
        });
    }

    /// Keeps the list of tools up to date until the connection ends; says why it did.
    async fn attend(&mut self, connection: &mut Connection) -> String {
        let line = connection.line.clone();
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
                    Err(why) => self.say(&format!("its tools have changed, but {why}")),
                },
            }
            tokio::time::sleep(LIST_PAUSE).await;
        }
    }

    /// It is of no use; waits until nobody wants it any more.
    async fn fail(self, why: String) {
        let why = self.means.redactor.mask(&why).into_owned();
        self.tell(&why);
        self.standing.send_modify(|standing| {
            standing.state = McpState::Failed;
            standing.line = None;
            standing.error = Some(why);
        });
        self.stop.cancelled().await;
    }

    /// Says what is wrong, but not what was said before, and not without end.
    fn say(&mut self, what: &str) {
        if self.told.len() == LINES || !self.told.insert(what.to_owned()) {
            return;
        }
        self.tell(what);
        if self.told.len() == LINES {
            self.tell("what else is wrong with it is not shown");
        }
    }

    fn tell(&self, what: &str) {
        let what = self.means.redactor.mask(what);
        let line = format!("MCP server {}: {what}", self.config.name);
        tracing::warn!("{line}");
        (self.tell)(line);
    }
}
