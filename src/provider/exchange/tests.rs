use std::net::TcpListener;
use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::super::api::{ModelRequest, Provider, ToolChoice};
use super::super::error::ErrorKind;
use super::super::retry::RetryPolicy;
use super::super::settings::{Credential, ProviderSettings};
use super::super::test_server::{CannedResponse, TestServer};
use super::*;
use crate::config::ProviderKind;
use crate::config::models::Thinking;
use crate::protocol::{Accumulator, ApiKey, EnvOverlay, Message, Reply, StopReason};

fn build(settings: &ProviderSettings, http: &HttpClient) -> Arc<dyn Provider> {
    super::super::build(settings, http).unwrap()
}

/// Long enough for a loaded machine, short enough to wait for.
const IDLE: Duration = Duration::from_millis(400);

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

: a comment
event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"grüße 🦀"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#;

const CHAT: &str = r#"data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"grüße 🦀"}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

"#;

fn settings(kind: ProviderKind, base_url: &str) -> ProviderSettings {
    ProviderSettings {
        key: ApiKey::new("sk-canary").map(Credential::ApiKey),
        key_hint: "ANTHROPIC_API_KEY".into(),
        ..ProviderSettings::new("anthropic", kind, base_url)
    }
}

fn http() -> HttpClient {
    HttpClient::new(&EnvOverlay::default())
}

fn ask(provider: &dyn Provider) -> EventStream {
    let messages = [Message::user_text("hello")];
    provider.stream(&ModelRequest {
        model: "m",
        system: "s",
        messages: &messages,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        max_tokens: 100,
        thinking: Thinking::Off,
        effort: None,
    })
}

async fn collect(mut stream: EventStream) -> (Accumulator, Option<ProviderError>) {
    let mut accumulator = Accumulator::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => drop(accumulator.push(&event)),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (accumulator, Some(error));
            }
        }
    }
    (accumulator, None)
}

async fn reply(provider: &dyn Provider) -> Reply {
    let (accumulator, error) = collect(ask(provider)).await;
    assert_eq!(error, None);
    assert!(accumulator.is_whole());
    accumulator.into_reply()
}

async fn error_of(kind: ProviderKind, answer: CannedResponse) -> ProviderError {
    let server = TestServer::start(vec![answer]).await;
    let settings = ProviderSettings { idle_timeout: IDLE, ..settings(kind, &server.url()) };
    let error = collect(ask(&*build(&settings, &http()))).await.1.unwrap();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    error
}

#[tokio::test]
async fn the_wires_ask_at_their_paths_with_their_headers() {
    let server =
        TestServer::start(vec![CannedResponse::events(ANTHROPIC), CannedResponse::events(CHAT)])
            .await;
    let anthropic = build(&settings(ProviderKind::Anthropic, &server.url()), &http());
    let reply_1 = reply(&*anthropic).await;
    let chat = build(&settings(ProviderKind::OpenaiChat, &format!("{}/v1", server.url())), &http());
    let reply_2 = reply(&*chat).await;
    assert_eq!((reply_1.id.as_str(), reply_2.id.as_str()), ("msg_1", "c1"));
    let seen = server.seen.lock().unwrap();
    let (head, body) = &seen.requests[0];
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nx-api-key: sk-canary\r\n"), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/json\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!((&body["model"], &body["stream"]), (&"m".into(), &true.into()));
    let (head, _) = &seen.requests[1];
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nauthorization: Bearer sk-canary\r\n"), "{head}");
}

#[tokio::test]
async fn a_bearer_token_travels_in_its_own_header() {
    let server = TestServer::start(vec![CannedResponse::events(ANTHROPIC)]).await;
    let key = ApiKey::new("token").map(Credential::Bearer);
    let settings = ProviderSettings { key, ..settings(ProviderKind::Anthropic, &server.url()) };
    reply(&*build(&settings, &http())).await;
    let head = server.seen.lock().unwrap().requests[0].0.clone();
    assert!(head.contains("\r\nauthorization: Bearer token"), "{head}");
    assert!(!head.contains("x-api-key"), "{head}");
}

#[tokio::test]
async fn a_body_cut_at_any_byte_gives_the_same_answer() {
    for (kind, body) in [(ProviderKind::Anthropic, ANTHROPIC), (ProviderKind::OpenaiChat, CHAT)] {
        let answers = (0..body.len()).map(|at| CannedResponse::events(body).split_at(at)).collect();
        let server = TestServer::start(answers).await;
        let provider = build(&settings(kind, &server.url()), &http());
        for at in 0..body.len() {
            let reply = reply(&*provider).await;
            assert_eq!(reply.content, [crate::protocol::ContentBlock::text("grüße 🦀")], "{at}");
            assert_eq!(reply.stop_reason, StopReason::EndTurn);
        }
    }
}

#[tokio::test]
async fn one_connection_serves_requests_that_follow_each_other() {
    let server = TestServer::start(vec![CannedResponse::events(ANTHROPIC)]).await;
    let http = http();
    // Two providers: the pool belongs to the client.
    let settings = settings(ProviderKind::Anthropic, &server.url());
    for _ in 0..5 {
        reply(&*build(&settings, &http)).await;
    }
    assert_eq!(server.seen.lock().unwrap().connections, 1);
}

#[tokio::test]
async fn a_stop_that_leaves_the_connection_open_ends_the_answer_all_the_same() {
    let server = TestServer::start(vec![CannedResponse::events(ANTHROPIC).silent()]).await;
    let reply_1 = reply(&*build(&settings(ProviderKind::Anthropic, &server.url()), &http())).await;
    assert_eq!(reply_1.usage.output_tokens, 9);
    let chat = [CHAT, "data: [DONE]\n\n"].concat();
    let server = TestServer::start(vec![CannedResponse::events(chat).silent()]).await;
    reply(&*build(&settings(ProviderKind::OpenaiChat, &server.url()), &http())).await;
    // Without the end mark everything that matters has arrived, so silence is not a failure.
    let server = TestServer::start(vec![CannedResponse::events(CHAT).silent()]).await;
    let settings = ProviderSettings {
        idle_timeout: IDLE,
        ..settings(ProviderKind::OpenaiChat, &server.url())
    };
    reply(&*build(&settings, &http())).await;
}

#[tokio::test]
async fn an_answer_that_is_cut_or_falls_silent_is_an_error_after_its_events() {
    let half = &ANTHROPIC[..ANTHROPIC.find("event: content_block_stop").unwrap()];
    let table = [
        (CannedResponse::events(half).cut(), ErrorKind::Connection),
        (CannedResponse::events(half), ErrorKind::Connection),
        (CannedResponse::events(half).silent(), ErrorKind::Timeout),
    ];
    for (answer, kind) in table {
        let server = TestServer::start(vec![answer]).await;
        let settings = ProviderSettings {
            idle_timeout: IDLE,
            ..settings(ProviderKind::Anthropic, &server.url())
        };
        let (accumulator, error) = collect(ask(&*build(&settings, &http()))).await;
        let error = error.unwrap();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(&server.address.to_string()), "{error}");
        assert_eq!(accumulator.text(), "grüße 🦀");
        assert!(!accumulator.is_whole());
    }
}

#[tokio::test]
async fn silence_before_the_answer_is_a_timeout() {
    let silent = CannedResponse::events("").silent();
    let error = error_of(ProviderKind::Anthropic, silent).await;
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.starts_with("No data from 127.0.0.1:"), "{error}");
    assert!(error.message.contains(" for 0.4 s: "), "{error}");
}

#[tokio::test]
async fn dropping_the_stream_closes_its_connection() {
    let server = TestServer::start(vec![CannedResponse::events(&ANTHROPIC[..300]).silent()]).await;
    let mut stream = ask(&*build(&settings(ProviderKind::Anthropic, &server.url()), &http()));
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::MessageStart { .. }))));
    drop(stream);
    server.closed.notified().await;
}

#[tokio::test]
async fn a_proxy_is_used_for_remote_hosts_alone() {
    let proxy = TestServer::start(vec![CannedResponse::events(ANTHROPIC)]).await;
    let env: EnvOverlay = [("HTTP_PROXY", proxy.url().as_str()), ("NO_PROXY", "direct.invalid")]
        .into_iter()
        .collect();
    let http = HttpClient::new(&env);
    reply(&*build(&settings(ProviderKind::Anthropic, "http://model.invalid"), &http)).await;
    let head = proxy.seen.lock().unwrap().requests[0].0.clone();
    assert!(head.starts_with("POST http://model.invalid/v1/messages HTTP/1.1"), "{head}");

    let server = TestServer::start(vec![CannedResponse::events(ANTHROPIC)]).await;
    reply(&*build(&settings(ProviderKind::Anthropic, &server.url()), &http)).await;
    let direct = build(&settings(ProviderKind::Anthropic, "http://direct.invalid"), &http);
    assert_eq!(collect(ask(&*direct)).await.1.unwrap().kind, ErrorKind::Connection);
    assert_eq!(proxy.seen.lock().unwrap().requests.len(), 1);
}

#[tokio::test]
async fn a_proxy_that_makes_no_sense_is_named_without_its_password() {
    for value in ["socks5://me:canary@host", "http://[me:canary", "me canary"] {
        let env: EnvOverlay = [("http_proxy", value)].into_iter().collect();
        let provider = build(
            &settings(ProviderKind::Anthropic, "http://model.invalid"),
            &HttpClient::new(&env),
        );
        let error = collect(ask(&*provider)).await.1.unwrap();
        assert_eq!(error.kind, ErrorKind::BadRequest, "{value}");
        assert!(error.message.starts_with("HTTP_PROXY is not a supported proxy"), "{error}");
        assert!(!error.message.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_refused_connection_asks_whether_the_server_runs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = settings(ProviderKind::OpenaiChat, &format!("http://{address}/v1"));
    let error = collect(ask(&*build(&settings, &http()))).await.1.unwrap();
    assert_eq!(error.kind, ErrorKind::Connection);
    assert_eq!(error.message, format!("Cannot reach {address}: is the server running?"));
}

#[tokio::test]
async fn no_key_is_an_error_that_never_leaves() {
    let server = TestServer::start(vec![CannedResponse::events(ANTHROPIC)]).await;
    let settings = ProviderSettings {
        key: None,
        key_required: true,
        ..settings(ProviderKind::Anthropic, &server.url())
    };
    let error = collect(ask(&*build(&settings, &http()))).await.1.unwrap();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(error.message, "No key for Anthropic. Set ANTHROPIC_API_KEY");
    assert_eq!(server.seen.lock().unwrap().connections, 0);
}

#[tokio::test]
async fn rejections_keep_the_key_and_the_wait() {
    let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-canary"}}"#;
    let error =
        error_of(ProviderKind::Anthropic, CannedResponse::new(401, "application/json", body)).await;
    assert_eq!(error.message, "Anthropic rejected the key (401). Set ANTHROPIC_API_KEY");
    let error =
        error_of(ProviderKind::Anthropic, CannedResponse::new(500, "application/json", body)).await;
    assert_eq!(error.kind, ErrorKind::Server);
    let limited = CannedResponse::new(429, "application/json", "{}").header("retry-after", "2");
    let error = error_of(ProviderKind::OpenaiChat, limited).await;
    assert_eq!(error.kind, ErrorKind::RateLimit);
    assert_eq!(RetryPolicy::default().next(1, &error), Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn an_endless_error_body_is_read_no_further_than_needed() {
    let body = "x".repeat(1 << 20);
    let error =
        error_of(ProviderKind::Anthropic, CannedResponse::new(400, "text/plain", body).silent())
            .await;
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    assert!(error.message.len() < 500);
}

#[tokio::test]
async fn a_web_page_asks_for_the_base_url() {
    for status in [200, 404] {
        let page = CannedResponse::new(status, "text/html", "\n<!doctype html><title>Hi</title>");
        let error = error_of(ProviderKind::OpenaiChat, page).await;
        assert_eq!(error.kind, ErrorKind::Protocol);
        let end = format!("answered with a web page ({status}): is the base URL right?");
        assert!(error.message.ends_with(&end), "{error}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let away = CannedResponse::new(308, "text/plain", "").header("location", "http://127.0.0.1:1/");
    let error = error_of(ProviderKind::Anthropic, away).await;
    assert!(error.message.ends_with("redirects elsewhere (308). Check base_url"), "{error}");
}

#[tokio::test]
async fn an_answer_in_one_piece_is_an_answer_or_a_clear_error() {
    let whole = r#"{"id":"c","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let server = TestServer::start(vec![CannedResponse::new(200, "application/json", whole)]).await;
    let chat = build(&settings(ProviderKind::OpenaiChat, &server.url()), &http());
    assert_eq!(reply(&*chat).await.content, [crate::protocol::ContentBlock::text("hi")]);
    let message =
        CannedResponse::new(200, "application/json", r#"{"type":"message","content":[]}"#);
    assert_eq!(error_of(ProviderKind::Anthropic, message).await.kind, ErrorKind::Protocol);
    let failure = r#"{"error":{"message":"busy","code":429}}"#;
    let failure = CannedResponse::new(200, "application/json", failure);
    assert_eq!(error_of(ProviderKind::OpenaiChat, failure).await.kind, ErrorKind::RateLimit);
}

#[tokio::test]
async fn a_failure_in_mid_stream_has_its_class() {
    let error = r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded sk-canary"}}"#;
    let body = format!("{}{error}\n\n", &ANTHROPIC[..ANTHROPIC.find("event: content").unwrap()]);
    let error = error_of(ProviderKind::Anthropic, CannedResponse::events(body)).await;
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert!(error.message.contains("is overloaded: Overloaded ***"), "{error}");
    let failed =
        r#"data: {"type":"error","error":{"type":"api_error sk-canary","message":"oops"}}"#;
    let body = format!("{}{failed}\n\n", &ANTHROPIC[..ANTHROPIC.find("event: content").unwrap()]);
    let error = error_of(ProviderKind::Anthropic, CannedResponse::events(body)).await;
    assert_eq!((error.kind, error.class.as_deref()), (ErrorKind::Server, Some("api_error ***")));
    assert!(error.message.contains("failed (api_error ***): oops. Try again"), "{error}");
}
