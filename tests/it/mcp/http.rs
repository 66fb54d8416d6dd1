//! Servers over streamable HTTP: a stub on loopback.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::last;
use crate::support::process;
use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// A stub that runs.
pub struct Web {
    pub url: String,
    seen: Arc<Seen>,
}

/// What it has seen.
#[derive(Default)]
struct Seen {
    /// Each message: its method, or the tool that it calls, and the headers with which it came.
    messages: Mutex<Vec<(String, HeaderMap)>>,
    sessions: AtomicUsize,
}

impl Web {
    pub fn count(&self, what: &str) -> usize {
        let messages = self.seen.messages.lock().unwrap();
        messages.iter().filter(|(message, _)| message == what).count()
    }
}

async fn message(
    State(seen): State<Arc<Seen>>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let method = message["method"].as_str().unwrap_or_default();
    let tool = message["params"]["name"].as_str().filter(|_| method == "tools/call");
    let what = tool.unwrap_or(method).to_owned();
    seen.messages.lock().unwrap().push((what.clone(), headers.clone()));
    let header = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap());
    let keys = format!("{} {}", header("authorization").replace("Bearer ", ""), header("x-key"));
    let id = &message["id"];
    let spoken = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let error = |message: String| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}});
    let result = match what.as_str() {
        "initialize" if uri.path().ends_with("/401") => {
            return (StatusCode::UNAUTHORIZED, format!("{keys} {uri}")).into_response();
        }
        "initialize" if uri.path().ends_with("/closed") => {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        "initialize" if uri.path().ends_with("/rpc") => {
            return answer(&error(format!("refused {keys}")));
        }
        "initialize" if uri.path().ends_with("/modern") => {
            let error = json!({"code": -32601, "message": "no such method"});
            let all = answer(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            return (StatusCode::BAD_REQUEST, all).into_response();
        }
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        }),
        "initialize" => {
            let session = seen.sessions.fetch_add(1, Ordering::SeqCst) + 1;
            let result = json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "stub", "version": "1"},
            });
            let all = answer(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            return ([("mcp-session-id", session.to_string())], all).into_response();
        }
        "tools/list" => {
            let names = ["echo", "leak", "tell", "expired", "broken", "cut", "ended", "never"];
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": names.map(tool)})
        }
        "echo" => spoken(message["params"]["arguments"]["text"].as_str().unwrap()),
        "leak" => return answer(&error(format!("refused {keys}"))),
        "tell" => spoken(&format!("told {keys}")),
        "expired" if header("mcp-session-id") == "1" => {
            return StatusCode::NOT_FOUND.into_response();
        }
        "expired" => spoken("in a new session"),
        "broken" => return (StatusCode::BAD_GATEWAY, "<html>no").into_response(),
        "cut" => {
            let begins = stream::iter([Ok(": it begins\n\n")]);
            // What has begun is on its way before the connection breaks.
            let breaks = stream::once(async {
                tokio::task::yield_now().await;
                Err(io::Error::other("cut"))
            });
            let body = Body::from_stream(begins.chain(breaks));
            return ([("content-type", "text/event-stream")], body).into_response();
        }
        "ended" => {
            return ([("content-type", "text/event-stream")], ": no answer\n\n").into_response();
        }
        "never" => return pending().await,
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    answer(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn answer(message: &Value) -> Response {
    ([("content-type", "application/json")], message.to_string()).into_response()
}

/// Serves on loopback.
pub async fn web() -> Web {
    let seen = Arc::new(Seen::default());
    let routes = Router::new()
        .route("/mcp", post(message))
        .route("/mcp/{way}", post(message))
        .with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Web { url: format!("http://{address}/mcp"), seen }
}

/// A scene with the stub as its server `web`.
async fn with_web() -> (Scene, Web) {
    let (scene, web) = (Scene::new(), web().await);
    scene.world.config(&format!("[mcp_servers.web]\nurl = \"{}\"\n", web.url));
    (scene, web)
}

/// Calls a tool that fails in its way and then one that works: the first must not spoil the second,
/// nor wait for its time limit. Answers with the first result's text.
async fn called(scene: &Scene, tool: &str) -> String {
    let call = tool_use(&format!("mcp__web__{tool}"), json!({}));
    let echo = tool_use("mcp__web__echo", json!({"text": "still here"}));
    scene.server.when(PARENT).reply(call).then(echo).then(text(DONE));
    scene.go().await;
    assert_eq!(last(scene).tool_result().text, "still here", "{tool}");
    let second = &scene.server.requests_of(PARENT)[1];
    second.tool_result().text
}

#[tokio::test]
async fn a_server_over_http_is_called_with_its_headers() {
    let mut scene = Scene::new();
    let web = web().await;
    scene.world.env("STUB_TOKEN", "sk-stub-77");
    scene.world.config(&format!(
        "[mcp_servers.web]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer ${{STUB_TOKEN}}\" }}\n",
        web.url
    ));
    let call = tool_use("mcp__web__echo", json!({"text": "over the wire"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let finished = scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "over the wire");
    let seen = web.seen.messages.lock().unwrap();
    assert!(seen.len() >= 4, "initialize, initialized, list, call: {}", seen.len());
    assert!(seen.iter().all(|(_, headers)| headers["authorization"] == "Bearer sk-stub-77"));
    assert!(!format!("{finished}{}", scene.world.log()).contains("sk-stub-77"));
    scene.server.finish();
}

#[tokio::test]
async fn a_server_that_wants_another_key_is_named_with_the_variable_that_holds_it() {
    let mut scene = Scene::new();
    let url = web().await.url;
    scene.world.env("STUB_TOKEN", "sk-stub-77");
    let headers = [
        ("{ Authorization = \"Bearer ${STUB_TOKEN}\" }", "check STUB_TOKEN"),
        ("{ X-Key = \"abc\" }", "check its headers"),
        ("{}", "it may need a header with a key"),
    ];
    for (headers, advice) in headers {
        let config = format!("[mcp_servers.web]\nurl = \"{url}/closed\"\nheaders = {headers}\n");
        scene.world.config(&config);
        let told = scene.world.run(["mcp"]).finish().await.to_string();
        let line = format!("it answered HTTP 401 Unauthorized; {advice}");
        assert!(told.contains(&line), "{line}: {told}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn an_expired_session_is_begun_anew_and_the_call_is_made_in_it() {
    let (scene, web) = with_web().await;
    assert_eq!(called(&scene, "expired").await, "in a new session");
    assert_eq!((web.count("initialize"), web.count("expired")), (2, 2));
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_that_says_that_the_server_failed_is_one_line() {
    let (scene, web) = with_web().await;
    let said = called(&scene, "broken").await;
    assert_eq!((said.as_str(), web.count("broken")), ("MCP server web: HTTP 502", 1));
    scene.server.finish();
}

#[tokio::test]
async fn an_answer_that_is_cut_off_or_never_comes_is_one_line() {
    for tool in ["cut", "ended"] {
        let (scene, _web) = with_web().await;
        let said = called(&scene, tool).await;
        assert_eq!(said, "MCP server web: it ended before it answered", "{tool}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_is_cancelled_at_the_server() {
    let (scene, web) = with_web().await;
    let call = tool_use("mcp__web__never", json!({}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let screen =
        Screen::start(&scene.world, ["--dangerously-skip-permissions", "PARENT-1 go"], 100, 30);
    process::eventually(|| web.count("never") == 1).await;
    screen.wait_for("web: never");
    screen.keys("\u{3}");
    screen.wait_for("stopped after");
    process::eventually(|| web.count("notifications/cancelled") == 1).await;
    screen.keys("go on\r");
    screen.wait_for(DONE);
    scene.server.finish();
}
