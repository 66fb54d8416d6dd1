//! Servers over streamable HTTP: a stub on loopback.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use super::last;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// The headers of all messages that came.
type Seen = Arc<Mutex<Vec<HeaderMap>>>;

async fn message(State(seen): State<Seen>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    seen.lock().unwrap().push(headers);
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let text = &message["params"]["arguments"]["text"];
            json!({"content": [{"type": "text", "text": text}]})
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    ([("content-type", "application/json")], answer).into_response()
}

/// Serves on loopback and says where.
async fn stub() -> (String, Seen) {
    let seen = Seen::default();
    let routes = Router::new().route("/mcp", post(message)).with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (format!("http://{address}/mcp"), seen)
}

#[tokio::test]
async fn a_server_over_http_is_called_with_its_headers() {
    let (url, seen) = stub().await;
    let mut scene = Scene::new();
    scene.world.env("STUB_TOKEN", "sk-stub-77");
    scene.world.config(&format!(
        "[mcp_servers.web]\nurl = \"{url}\"\nheaders = {{ Authorization = \"Bearer ${{STUB_TOKEN}}\" }}\n"
    ));
    let call = tool_use("mcp__web__echo", json!({"text": "over the wire"}));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let finished = scene.go().await;
    assert_eq!(last(&scene).tool_result().text, "over the wire");
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 4, "initialize, initialized, list, call: {}", seen.len());
    assert!(seen.iter().all(|headers| headers["authorization"] == "Bearer sk-stub-77"));
    assert!(!format!("{finished}{}", scene.world.log()).contains("sk-stub-77"));
    scene.server.finish();
}
