//! One live connection to a server: opened, asked for its tools, called, closed.

use std::error::Error;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, QuitReason,
    RequestHandle, RunningServiceCancellationToken, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::http;
use super::listener::Listener;
use super::listing::Listed;
use super::peer::PeerTransport;
use super::reader::{Printed, Unreadable};
use super::session::Means;
use super::stdio::Program;
use crate::protocol::{EnvOverlay, McpServer, McpTransport};
use crate::tool::mcp::expand;
use crate::tool::{SoftKind, ToolContext, ToolError};

/// How long a server may take to start, and to say what tools it has, when its configuration does not say.
const STARTUP: Duration = Duration::from_secs(30);

/// How long the orderly end of a connection is waited for.
const CLOSE_WAIT: Duration = Duration::from_millis(500);

/// The most characters of a server's own message in one of ours.
const MESSAGE: usize = 500;

/// How many pages a list of tools may have.
const PAGES: usize = 200;

/// A server that answers. Dropped, it is closed; [`Connection::end`] also waits for that.
pub struct Connection {
    pub line: Line,
    service: JoinHandle<Result<QuitReason, JoinError>>,
    stop: Option<RunningServiceCancellationToken>,
    program: Option<Program>,
}

/// What calls go over. Cheap to clone; says an error once the connection has ended.
#[derive(Clone)]
pub struct Line {
    peer: Peer<RoleClient>,
    listener: Listener,
    unreadable: Unreadable,
}

impl Connection {
    /// Starts or reaches the server and shakes hands. What a program prints first is in `first`
    /// meanwhile. The error is one line.
    ///
    /// `initialize` comes first: older servers do not expect anything else, and some end when it
    /// comes. A server that has no `initialize` says so, and is then started or reached once more
    /// with `server/discover`, because the first connection is used up.
    pub async fn open(
        server: &McpServer,
        env: &EnvOverlay,
        depth: u32,
        means: &Means,
        first: &Printed,
    ) -> Result<Self, String> {
        let place = Place { server, env, depth, means, first };
        match place.connect(ClientLifecycleMode::Initialize).await {
            Ok(connection) => Ok(connection),
            Err(Refusal { why, has_initialize: true }) => Err(why),
            Err(Refusal { why, has_initialize: false }) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                let discover = ClientLifecycleMode::Discover { preferred_versions };
                // One that has neither is told of by its answer to the first.
                place.connect(discover).await.map_err(|_| why)
            }
        }
    }

    /// Waits until it has ended by itself, and says why in one line. Safe to drop at any point.
    pub async fn ended(&mut self) -> String {
        let service = &mut self.service;
        match &mut self.program {
            None => {
                over(service).await;
                "the connection has ended".to_owned()
            }
            Some(program) => {
                tokio::select! {
                    () = over(service) => {}
                    () = program.ended() => {
                        // What it had written before is still to be read.
                        let _ = tokio::time::timeout(CLOSE_WAIT, over(service)).await;
                    }
                }
                program.obituary().await
            }
        }
    }

    /// Closes it, and ends the program if it is one.
    pub async fn end(mut self) {
        if let Some(program) = &mut self.program {
            program.look_below();
        }
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
        if tokio::time::timeout(CLOSE_WAIT, over(&mut self.service)).await.is_err() {
            self.service.abort();
        }
        if let Some(program) = self.program.take() {
            program.end().await;
        }
    }
}

/// A server, and all that it takes to start or reach it.
#[derive(Clone, Copy)]
struct Place<'a> {
    server: &'a McpServer,
    env: &'a EnvOverlay,
    depth: u32,
    means: &'a Means,
    first: &'a Printed,
}

/// Why a handshake failed.
struct Refusal {
    /// One line.
    why: String,
    /// Whether the server may know the handshake that was tried.
    has_initialize: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, has_initialize: true }
    }
}

impl From<ClientInitializeError> for Refusal {
    fn from(error: ClientInitializeError) -> Self {
        let has_none = matches!(
            &error,
            ClientInitializeError::JsonRpcError(error)
                if [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&error.code)
        );
        Self { why: refused(&error), has_initialize: !has_none }
    }
}

impl Place<'_> {
    async fn connect(self, lifecycle: ClientLifecycleMode) -> Result<Connection, Refusal> {
        let Self { server, env, depth, means, first } = self;
        let limit = server.startup.unwrap_or(STARTUP);
        let transport =
            expand::transport(&server.transport, env).map_err(|unset| unset.to_string())?;
        if let Some((mut program, pipes)) =
            Program::start(&transport, &server.start, env, depth, means, first)?
        {
            return match within(limit, greet(pipes, means, lifecycle)).await {
                Ok(Ok(mut connection)) => {
                    connection.line.unreadable = program.unreadable();
                    connection.program = Some(program);
                    Ok(connection)
                }
                // What has ended cannot be written to either.
                Ok(Err(
                    ClientInitializeError::ConnectionClosed(_)
                    | ClientInitializeError::TransportError { .. },
                )) => Err(program.obituary().await.into()),
                Ok(Err(error)) => {
                    let mut refusal = Refusal::from(error);
                    if refusal.has_initialize {
                        refusal.why = program.with_words(refusal.why);
                    } else {
                        program.end().await;
                    }
                    Err(refusal)
                }
                Err(late) => Err(program.with_words(late).into()),
            };
        }
        let greeted = async {
            match &transport {
                McpTransport::Http { url, headers } => {
                    let way = http::connect(url, headers, &means.http).await?;
                    greet(way, means, lifecycle).await.map_err(Refusal::from)
                }
                _ => {
                    let none = || "no program drives caliban".to_owned();
                    let peer = means.peer.clone().ok_or_else(none)?;
                    let way = PeerTransport::new(&server.name, peer);
                    greet(way, means, lifecycle).await.map_err(Refusal::from)
                }
            }
        };
        within(limit, greeted).await?
    }
}

async fn greet<T, E, A>(
    transport: T,
    means: &Means,
    lifecycle: ClientLifecycleMode,
) -> Result<Connection, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let listener = Listener::masking(means.redactor.clone());
    // Boxed: the handshake of each transport is large.
    let running =
        Box::pin(serve_client_with_lifecycle(listener.clone(), transport, lifecycle)).await?;
    let line = Line { peer: running.peer().clone(), listener, unreadable: Unreadable::none() };
    let stop = Some(running.cancellation_token());
    Ok(Connection { line, service: tokio::spawn(running.waiting()), stop, program: None })
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

impl Line {
    /// Whether nothing goes over it any more.
    pub fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Waits until the server says that its tools have changed.
    pub async fn tools_changed(&self) {
        self.listener.tools_changed().await;
    }

    /// Asks for all tools, page by page.
    pub async fn list(&self, server: &McpServer) -> Result<Listed, String> {
        let mut listed = Listed::default();
        let Some(info) = self.peer.peer_info().filter(|info| info.capabilities.tools.is_some())
        else {
            return Ok(listed);
        };
        listed.instruct(&server.name, info.instructions.as_deref().unwrap_or_default());
        let limit = server.startup.unwrap_or(STARTUP);
        let pages = async {
            let mut cursor = None;
            for _ in 0..PAGES {
                let page = self.page(cursor).await?;
                let tools = page["tools"].as_array().ok_or("its list of tools is no list")?;
                listed.take(&server.name, tools);
                cursor = page["nextCursor"].as_str().map(str::to_owned);
                if cursor.is_none() || listed.is_full() {
                    return Ok(());
                }
            }
            Err("its list of tools does not end".to_owned())
        };
        within(limit, pages).await.and_then(|read: Result<(), String>| read)?;
        Ok(listed.finish())
    }

    /// As JSON, because one tool that is not what it should be must not cost the others.
    async fn page(&self, cursor: Option<String>) -> Result<Value, String> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest::with_param(params);
        let mut unreadable = self.unreadable.clone();
        let answer = tokio::select! {
            biased;
            answer = self.peer.send_request(ClientRequest::ListToolsRequest(request)) => answer,
            why = unreadable.message() => return Err(why),
        };
        let answer = answer.map_err(|error| failed(&error))?;
        serde_json::to_value(answer).map_err(|error| error.to_string())
    }

    /// Calls a tool by the server's own name for it. `cx` shows the progress. A cancel returns at
    /// once; it and a drop tell the server. The error of a cancel names text that came in place of
    /// an answer.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        input: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let error = |error: &ServiceError| {
            ToolError::failed(format!("MCP server {server}: {}", failed(error)))
        };
        let mut unreadable = self.unreadable.clone();
        let sent = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(cancelled()),
            sent = self.peer.send_cancellable_request(request, options) => {
                sent.map_err(|why| error(&why))?
            }
        };
        let _watching = self.listener.watch(sent.progress_token.clone(), cx);
        let mut unanswered = Unanswered(Some(sent));
        let answer = tokio::select! {
            biased;
            answer = unanswered.answer() => answer,
            () = cx.cancel.cancelled() => {
                return Err(unreadable.stray().map_or_else(cancelled, |text| {
                    let why = format!("MCP server {server} sent no answer, but {text}");
                    ToolError::soft(SoftKind::Cancelled, why)
                }));
            }
            // Which call it was to answer cannot be known: all that wait fail.
            why = unreadable.message() => {
                return Err(ToolError::failed(format!("MCP server {server}: {why}")));
            }
        };
        let answer = answer.map_err(|why| error(&why))?;
        serde_json::to_value(answer).map_err(|error| ToolError::failed(error.to_string()))
    }
}

/// A request that waits for its answer. Dropped before that, it tells the server that nobody waits any more.
struct Unanswered(Option<RequestHandle<RoleClient>>);

impl Unanswered {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(sent) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut sent.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        // Without a runtime the connection is gone too.
        if let (Some(sent), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // A server that does not read must not hold up the one who drops this.
            let cancel = sent.cancel(Some("cancelled".to_owned()));
            runtime.spawn(async { tokio::time::timeout(CLOSE_WAIT, cancel).await });
        }
    }
}

/// Waits for the end of a task that may have been waited for before.
async fn over<T>(task: &mut JoinHandle<T>) {
    if !task.is_finished() {
        let _ = task.await;
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, String> {
    let late = |_| format!("it did not answer within {} s", limit.as_secs_f64());
    tokio::time::timeout(limit, work).await.map_err(late)
}

/// Why a server did not shake hands, in one line.
fn refused(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => short(&error.message),
        ClientInitializeError::TransportError { error, .. } => short(&innermost(&*error.error)),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        other => format!("it does not speak the protocol: {}", short(&other.to_string())),
    }
}

/// Why a request has no answer, in one line.
fn failed(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => short(&error.message),
        ServiceError::TransportSend(error) => short(&innermost(&*error.error)),
        ServiceError::TransportClosed => "it ended before it answered".to_owned(),
        other => short(&other.to_string()),
    }
}

/// What the client of HTTP says, or the cause at the bottom of an error, which says most.
fn innermost(error: &(dyn Error + 'static)) -> String {
    http::unanswered(error).unwrap_or_else(|| {
        let mut error = error;
        while let Some(source) = error.source() {
            error = source;
        }
        error.to_string()
    })
}

fn short(text: &str) -> String {
    let clean = crate::exec::Cleaner::whole(text);
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MESSAGE).collect()
}

pub fn cancelled() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, "This call was cancelled.")
}
