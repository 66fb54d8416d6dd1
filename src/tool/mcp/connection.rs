//! A live connection to a server: opened, asked for its tools, called, closed.

use std::collections::BTreeSet;
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

use super::deps::ServerDeps;
use super::http;
use super::listener::Listener;
use super::listing::ToolListing;
use super::peer::PeerTransport;
use super::reader::{BadLines, FirstOutput};
use super::stdio::ServerProcess;
use crate::protocol::{EnvOverlay, McpServer, McpTransport};
use crate::tool::api::{SoftKind, ToolContext, ToolError};
use crate::tool::mcp::expand;

/// Default time limit for starting a server and listing its tools.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait for the orderly end of a connection.
const CLOSE_WAIT: Duration = Duration::from_millis(500);

/// Maximum characters of a server's own message in ours.
const MAX_MESSAGE_CHARS: usize = 500;

/// Maximum pages of a list of tools.
const MAX_PAGES: usize = 200;

/// A server that answers. Dropping it closes it; [`Connection::end`] also waits for that.
pub struct Connection {
    pub client: McpClient,
    service: JoinHandle<Result<QuitReason, JoinError>>,
    stop: Option<RunningServiceCancellationToken>,
    program: Option<ServerProcess>,
}

/// Sends calls to the server. Cheap to clone; fails once the connection has ended.
#[derive(Clone)]
pub struct McpClient {
    peer: Peer<RoleClient>,
    listener: Listener,
    unreadable: BadLines,
}

impl Connection {
    /// Starts or reaches the server and shakes hands. The first output of a program is in `first`
    /// meanwhile. The error is one line.
    ///
    /// `initialize` comes first: older servers expect nothing else, and some end when it comes. A
    /// server without `initialize` says so, and is then started or reached once more with
    /// `server/discover`, because the first connection is used up.
    pub async fn open(
        server: &McpServer,
        env: &EnvOverlay,
        depth: u32,
        deps: &ServerDeps,
        first: &FirstOutput,
    ) -> Result<Self, String> {
        let place = ConnectParams { server, env, depth, deps, first };
        match place.connect(ClientLifecycleMode::Initialize).await {
            Ok(connection) => Ok(connection),
            Err(HandshakeError { why, has_initialize: true }) => Err(why),
            Err(HandshakeError { why, has_initialize: false }) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                let discover = ClientLifecycleMode::Discover { preferred_versions };
                // A server with neither is described by its answer to the first.
                place.connect(discover).await.map_err(|_| why)
            }
        }
    }

    /// Waits until it has ended by itself, and returns the reason in one line. Safe to drop at any point.
    pub async fn ended(&mut self) -> String {
        let service = &mut self.service;
        match &mut self.program {
            None => {
                wait_finished(service).await;
                "the connection has ended".to_owned()
            }
            Some(program) => {
                tokio::select! {
                    () = wait_finished(service) => {}
                    () = program.ended() => {
                        // Its earlier output is still to be read.
                        let _ = tokio::time::timeout(CLOSE_WAIT, wait_finished(service)).await;
                    }
                }
                program.exit_reason().await
            }
        }
    }

    /// Closes it, and ends the program, if any.
    pub async fn end(mut self) {
        if let Some(program) = &mut self.program {
            program.scan_descendants();
        }
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
        if tokio::time::timeout(CLOSE_WAIT, wait_finished(&mut self.service)).await.is_err() {
            self.service.abort();
        }
        if let Some(program) = self.program.take() {
            program.end().await;
        }
    }
}

/// A server, with everything needed to start or reach it.
#[derive(Clone, Copy)]
struct ConnectParams<'a> {
    server: &'a McpServer,
    env: &'a EnvOverlay,
    depth: u32,
    deps: &'a ServerDeps,
    first: &'a FirstOutput,
}

/// Why a handshake failed.
struct HandshakeError {
    /// One line.
    why: String,
    /// Whether the server may support the handshake that was tried.
    has_initialize: bool,
}

impl From<String> for HandshakeError {
    fn from(why: String) -> Self {
        Self { why, has_initialize: true }
    }
}

impl From<ClientInitializeError> for HandshakeError {
    fn from(error: ClientInitializeError) -> Self {
        let has_none = matches!(
            &error,
            ClientInitializeError::JsonRpcError(error)
                if [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&error.code)
        );
        Self { why: refused(&error), has_initialize: !has_none }
    }
}

/// Says where the key of a server over HTTP comes from, if that has refused it.
fn with_advice(
    error: ClientInitializeError,
    transport: &McpTransport,
    env: &EnvOverlay,
) -> HandshakeError {
    let refuses_key = matches!(
        &error,
        ClientInitializeError::TransportError { error, .. } if http::refuses_key(&*error.error)
    );
    let mut refusal = HandshakeError::from(error);
    if let (true, McpTransport::Http { url, headers }) = (refuses_key, transport) {
        let texts = std::iter::once(url.as_str()).chain(headers.values().map(String::as_str));
        let named = texts.flat_map(|text| expand::expanded_variables(text, env));
        let names: BTreeSet<&str> = named.map(|(name, _)| name).collect();
        let advice = match (names.is_empty(), headers.is_empty()) {
            (false, _) => format!("check {}", Vec::from_iter(names).join(" and ")),
            (true, false) => "check its headers".to_owned(),
            (true, true) => "it may need a header with a key".to_owned(),
        };
        refusal.why.push_str(&format!("; {advice}"));
    }
    refusal
}

impl ConnectParams<'_> {
    async fn connect(self, lifecycle: ClientLifecycleMode) -> Result<Connection, HandshakeError> {
        let Self { server, env, depth, deps, first } = self;
        let limit = server.startup.unwrap_or(STARTUP_TIMEOUT);
        let transport =
            expand::transport(&server.transport, env).map_err(|unset| unset.to_string())?;
        if let Some((mut program, pipes)) =
            ServerProcess::start(&transport, &server.start, env, depth, deps, first)?
        {
            return match with_timeout(limit, greet(pipes, deps, lifecycle)).await {
                Ok(Ok(mut connection)) => {
                    connection.client.unreadable = program.unreadable();
                    connection.program = Some(program);
                    Ok(connection)
                }
                // A program that has ended cannot be written to either.
                Ok(Err(
                    ClientInitializeError::ConnectionClosed(_)
                    | ClientInitializeError::TransportError { .. },
                )) => Err(program.exit_reason().await.into()),
                Ok(Err(error)) => {
                    let mut refusal = HandshakeError::from(error);
                    if refusal.has_initialize {
                        refusal.why = program.with_stderr(refusal.why);
                    } else {
                        program.end().await;
                    }
                    Err(refusal)
                }
                Err(late) => Err(program.with_stderr(late).into()),
            };
        }
        let greeted = async {
            match &transport {
                McpTransport::Http { url, headers } => {
                    let way = http::connect(url, headers, &deps.http).await?;
                    let greeted = greet(way, deps, lifecycle).await;
                    greeted.map_err(|error| with_advice(error, &server.transport, env))
                }
                _ => {
                    let none = || "no program is driving caliban".to_owned();
                    let peer = deps.peer.clone().ok_or_else(none)?;
                    let way = PeerTransport::new(&server.name, peer);
                    greet(way, deps, lifecycle).await.map_err(HandshakeError::from)
                }
            }
        };
        with_timeout(limit, greeted).await?
    }
}

async fn greet<T, E, A>(
    transport: T,
    deps: &ServerDeps,
    lifecycle: ClientLifecycleMode,
) -> Result<Connection, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let listener = Listener::new(deps.redactor.clone());
    // Boxed: the handshake of each transport is large.
    let running =
        Box::pin(serve_client_with_lifecycle(listener.clone(), transport, lifecycle)).await?;
    let line = McpClient { peer: running.peer().clone(), listener, unreadable: BadLines::none() };
    let stop = Some(running.cancellation_token());
    Ok(Connection { client: line, service: tokio::spawn(running.waiting()), stop, program: None })
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

impl McpClient {
    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Waits until the server says that its tools have changed.
    pub async fn tools_changed(&self) {
        self.listener.tools_changed().await;
    }

    /// Asks for all tools, page by page.
    pub async fn list(&self, server: &McpServer) -> Result<ToolListing, String> {
        let mut listed = ToolListing::default();
        let Some(info) = self.peer.peer_info().filter(|info| info.capabilities.tools.is_some())
        else {
            return Ok(listed);
        };
        listed.set_instructions(&server.name, info.instructions.as_deref().unwrap_or_default());
        let limit = server.startup.unwrap_or(STARTUP_TIMEOUT);
        let pages = async {
            let mut cursor = None;
            for _ in 0..MAX_PAGES {
                let page = self.page(cursor).await?;
                let tools = page["tools"].as_array().ok_or("its list of tools is not an array")?;
                listed.add_page(&server.name, tools);
                cursor = page["nextCursor"].as_str().map(str::to_owned);
                if cursor.is_none() || listed.is_full() {
                    return Ok(());
                }
            }
            Err("its list of tools never ends".to_owned())
        };
        with_timeout(limit, pages).await.and_then(|read: Result<(), String>| read)?;
        Ok(listed.finish())
    }

    /// As JSON, so that one malformed tool does not cost the others.
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

    /// Calls a tool by the server's own name for it, and shows progress through `cx`. A cancel
    /// returns at once; it and a drop notify the server. The error of a cancel quotes text that
    /// came in place of an answer.
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
        let mut unanswered = PendingCall(Some(sent));
        let answer = tokio::select! {
            biased;
            answer = unanswered.answer() => answer,
            () = cx.cancel.cancelled() => {
                return Err(unreadable.stray_line().map_or_else(cancelled, |text| {
                    let why = format!("MCP server {server} sent no answer, but {text}");
                    ToolError::soft(SoftKind::Cancelled, why)
                }));
            }
            // The call it was meant for is unknown: all waiting ones fail.
            why = unreadable.message() => {
                return Err(ToolError::failed(format!("MCP server {server}: {why}")));
            }
        };
        let answer = answer.map_err(|why| error(&why))?;
        serde_json::to_value(answer).map_err(|error| ToolError::failed(error.to_string()))
    }
}

/// A request that waits for its answer. Dropping it notifies the server.
struct PendingCall(Option<RequestHandle<RoleClient>>);

impl PendingCall {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(sent) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut sent.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // Without a runtime the connection is gone too.
        if let (Some(sent), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // A server that does not read must not block the drop.
            let cancel = sent.cancel(Some("cancelled".to_owned()));
            runtime.spawn(async { tokio::time::timeout(CLOSE_WAIT, cancel).await });
        }
    }
}

/// Waits for the end of a task that may have been awaited before.
async fn wait_finished<T>(task: &mut JoinHandle<T>) {
    if !task.is_finished() {
        let _ = task.await;
    }
}

async fn with_timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, String> {
    let late = |_| format!("it did not answer within {} s", limit.as_secs_f64());
    tokio::time::timeout(limit, work).await.map_err(late)
}

/// Describes why the handshake failed, in one line.
fn refused(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => one_line(&error.message),
        ClientInitializeError::TransportError { error, .. } => one_line(&innermost(&*error.error)),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        other => format!("it does not speak the protocol: {}", one_line(&other.to_string())),
    }
}

/// Describes why a request failed, in one line.
fn failed(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => one_line(&error.message),
        ServiceError::TransportSend(error) => one_line(&innermost(&*error.error)),
        ServiceError::TransportClosed => "it ended before it answered".to_owned(),
        other => one_line(&other.to_string()),
    }
}

/// Returns the HTTP client's own description, or else the innermost cause, which says most.
fn innermost(error: &(dyn Error + 'static)) -> String {
    http::describe_error(error).unwrap_or_else(|| {
        let mut error = error;
        while let Some(source) = error.source() {
            error = source;
        }
        error.to_string()
    })
}

fn one_line(text: &str) -> String {
    let clean = crate::exec::OutputCleaner::clean(text);
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_MESSAGE_CHARS).collect()
}

pub fn cancelled() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, "This call was cancelled.")
}
