//! The HTTP side of the scripted server: records a request, checks it, picks the answer and plays it.

use std::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::player::Player;
use super::record::{Recorded, Wire, first_user_text};
use super::script::{self, Http, Reply, Step, Stream};
use super::server::{Offer, State};
use super::watched::Watched;
use super::wire;

/// The API refuses larger bodies.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// Serves until told to stop.
pub fn serve(listener: std::net::TcpListener, state: Watched<State>, stop: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let app = Router::new().fallback(answer).with_state(state);
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::select! {
            served = axum::serve(listener, app).into_future() => served.unwrap(),
            _ = stop => {}
        }
    });
    runtime.shutdown_background();
}

async fn answer(
    Shared(state): Shared<Watched<State>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let arrived = Instant::now();
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
    let path = parts.uri.path();
    let model = gemini_model(path);
    let wire = match (&parts.method, path) {
        (&Method::POST, "/v1/messages") => Wire::Anthropic,
        (&Method::POST, "/v1/chat/completions") => Wire::Chat,
        (&Method::POST, "/v1/responses") => Wire::Responses,
        (&Method::POST, _) if model.is_some() && parts.uri.query() == Some("alt=sse") => {
            Wire::Gemini
        }
        (&Method::POST, "/v1/messages/count_tokens") => return count_tokens(&bytes),
        (&Method::GET, "/v1/models" | "/v1beta/models") => {
            return state.update(|state| list(state, path, &parts.headers));
        }
        (method, path) => {
            let violation = format!("{method} {path}: no such endpoint");
            state.update(|state| state.violations.push(violation.clone()));
            let body = wire::error(Wire::Anthropic, 404, "not_found_error", &violation);
            return plain(404, &[], body.to_string());
        }
    };
    let mut recorded = Recorded {
        index: 0,
        wire,
        model: model.map(str::to_owned),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        connection: peer.port(),
        agent: None,
        arrived,
        first_byte: None,
        end: None,
        status: None,
    };
    let reply = state.update(|state| {
        recorded.index = state.requests.len();
        let reply = check(&recorded, state).and_then(|()| choose(&mut recorded, state));
        state.requests.push(recorded.clone());
        reply.unwrap_or_else(|violation| {
            state.violations.push(format!("request {}: {violation}", recorded.index));
            script::error(400, "invalid_request_error", &violation)
        })
    });
    play(&state, &recorded, reply).await
}

/// The model that a path of the Gemini API names.
fn gemini_model(path: &str) -> Option<&str> {
    path.strip_prefix("/v1beta/models/")?.strip_suffix(":streamGenerateContent")
}

/// Answers to a request for the models.
fn list(state: &mut State, path: &str, headers: &HeaderMap) -> Response {
    state.lists.push(path.to_owned());
    let wire = match path {
        "/v1beta/models" => Wire::Gemini,
        _ if headers.contains_key("anthropic-version") => Wire::Anthropic,
        _ => Wire::Chat,
    };
    let refused = match &state.offer {
        None => Err("nobody may ask for the models".to_owned()),
        Some(_) => check_key(headers, wire, state.keyless),
    };
    if let Err(violation) = refused {
        state.violations.push(format!("GET {path}: {violation}"));
        let body = wire::error(wire, 400, "invalid_request_error", &violation);
        return plain(400, &[], body.to_string());
    }
    match &state.offer {
        Some(Offer::Models(models)) => plain(200, &[], wire::models(wire, models).to_string()),
        Some(Offer::Error(status)) => {
            let body = wire::error(wire, *status, "some_error", "no models for you");
            plain(*status, &[], body.to_string())
        }
        None => unreachable!("refused above"),
    }
}

fn check(request: &Recorded, state: &State) -> Result<(), String> {
    check_headers(&request.headers)?;
    check_key(&request.headers, request.wire, state.keyless)?;
    wire::check(request, &state.issued)
}

fn check_headers(headers: &HeaderMap) -> Result<(), String> {
    if header(headers, "content-type").starts_with("application/json") {
        return Ok(());
    }
    Err("content-type: must be application/json".to_owned())
}

/// Whether the request shows who sends it, as the wire wants it.
fn check_key(headers: &HeaderMap, wire: Wire, keyless: bool) -> Result<(), String> {
    let bearer = header(headers, "authorization").strip_prefix("Bearer ");
    let bearer = bearer.is_some_and(|key| !key.is_empty());
    let keys = ["x-api-key", "x-goog-api-key"].map(|name| !header(headers, name).is_empty());
    if keyless {
        let shown = bearer || keys.contains(&true);
        return if shown { Err("a key where none is wanted".to_owned()) } else { Ok(()) };
    }
    match wire {
        Wire::Anthropic if header(headers, "anthropic-version") != "2023-06-01" => {
            Err("anthropic-version: header is required".to_owned())
        }
        Wire::Anthropic if !keys[0] && !bearer => Err("x-api-key: header is required".to_owned()),
        Wire::Chat | Wire::Responses if !bearer => Err("You didn't provide an API key.".to_owned()),
        Wire::Gemini if !keys[1] => Err("Method doesn't allow unregistered callers.".to_owned()),
        _ => Ok(()),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Takes the next answer of the one script whose word stands in the first user text.
fn choose(request: &mut Recorded, state: &mut State) -> Result<Reply, String> {
    let text = first_user_text(&request.body);
    let mut matching = state.scripts.iter_mut().filter(|script| text.contains(&script.word));
    let script = matching.next().ok_or_else(|| format!("no script for {text:?}"))?;
    if let Some(other) = matching.next() {
        return Err(format!("both {} and {} stand in {text:?}", script.word, other.word));
    }
    request.agent = Some(script.word.clone());
    let next = script.replies.pop_front().or_else(|| script.forever.clone());
    next.ok_or_else(|| format!("the script of {} has no answer left", script.word))
}

async fn play(state: &Watched<State>, request: &Recorded, mut reply: Reply) -> Response {
    while let Reply::Dynamic(dynamic) = &reply {
        reply = (dynamic.0)(request);
    }
    match reply {
        Reply::Stream(stream) => play_stream(state, request, stream).await,
        Reply::Http(http) => {
            state.update(|state| state.requests[request.index].status = Some(http.status));
            play_http(request.wire, http)
        }
        Reply::Dynamic(_) => unreachable!("resolved above"),
    }
}

async fn play_stream(state: &Watched<State>, request: &Recorded, mut reply: Stream) -> Response {
    state.update(|state| {
        for step in &mut reply.steps {
            if let Step::ToolUse { id, .. } = step
                && id.is_empty()
            {
                state.calls += 1;
                *id = format!("toolu_{:04}", state.calls);
            }
        }
        state.issued.remember(&reply, request);
        state.requests[request.index].status = Some(200);
    });
    let mut encoder = wire::encoder(request, &reply);
    let player = Player::new(state.clone(), request.index, encoder.as_mut(), &reply);
    if let Some(gate) = &reply.before_headers {
        player.pass(gate).await;
    }
    let body = Body::from_stream(player.into_stream());
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/event-stream; charset=utf-8")
        .header("request-id", format!("req_{:04}", request.index));
    response.body(body).unwrap()
}

fn play_http(wire: Wire, http: Http) -> Response {
    let body = match http.body {
        script::Body::Raw(text) => text,
        script::Body::Error { kind, message } => {
            wire::error(wire, http.status, &kind, &message).to_string()
        }
    };
    plain(http.status, &http.headers, body)
}

fn count_tokens(body: &Bytes) -> Response {
    let estimate = json!({ "input_tokens": body.len() / 4 });
    plain(200, &[], estimate.to_string())
}

fn plain(status: u16, headers: &[(String, String)], body: String) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    if !headers.iter().any(|(name, _)| name == "content-type") {
        response = response.header(CONTENT_TYPE, "application/json");
    }
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).unwrap()
}
