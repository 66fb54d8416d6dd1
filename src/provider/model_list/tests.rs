use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::api::Provider;
use super::super::settings::{Credential, ProviderSettings};
use super::super::test_server::{CannedResponse, TestServer};
use super::*;
use crate::config::ProviderKind;
use crate::protocol::{ApiKey, EnvOverlay};

fn build(settings: &ProviderSettings, http: &HttpClient) -> Arc<dyn Provider> {
    super::super::build(settings, http).unwrap()
}

const KINDS: [ProviderKind; 4] = [
    ProviderKind::Anthropic,
    ProviderKind::OpenaiChat,
    ProviderKind::OpenaiResponses,
    ProviderKind::Gemini,
];

async fn ask(kind: ProviderKind, base_url: &str) -> Result<Vec<OfferedModel>, ProviderError> {
    let settings = ProviderSettings {
        key: ApiKey::new("sk-canary").map(Credential::ApiKey),
        key_hint: "THE_KEY".into(),
        ..ProviderSettings::new("openai", kind, base_url)
    };
    build(&settings, &HttpClient::new(&EnvOverlay::default())).models().await
}

fn names(offered: &[OfferedModel]) -> Vec<&str> {
    offered.iter().map(|model| model.name.as_str()).collect()
}

fn json_answer(status: u16, body: &Value) -> CannedResponse {
    CannedResponse::new(status, "application/json", body.to_string())
}

#[tokio::test]
async fn each_wire_lists_its_models_with_its_key_where_it_keeps_them() {
    let ids = json!({"object": "list", "has_more": false, "data": [{"id": "one"}, {"id": "two"}]});
    let gemini = json!({"models": [
        {"name": "models/one", "inputTokenLimit": 1000, "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/vectors", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/two", "supportedGenerationMethods": ["generateContent"]},
    ]});
    let table = [
        (ProviderKind::Anthropic, &ids, "GET /v1/models?limit=1000 ", "x-api-key: sk-canary"),
        (ProviderKind::OpenaiChat, &ids, "GET /models ", "authorization: Bearer sk-canary"),
        (ProviderKind::OpenaiResponses, &ids, "GET /models ", "authorization: Bearer sk-canary"),
        (
            ProviderKind::Gemini,
            &gemini,
            "GET /v1beta/models?pageSize=1000 ",
            "x-goog-api-key: sk-canary",
        ),
    ];
    for (kind, list, line, header) in table {
        let server = TestServer::start(vec![json_answer(200, list)]).await;
        let offered = ask(kind, &server.url()).await.unwrap();
        assert_eq!(names(&offered), ["one", "two"], "{kind:?}");
        let window = (kind == ProviderKind::Gemini).then_some(1000);
        assert_eq!(offered[0].context_window, window, "{kind:?}");
        let (request, _) = server.seen.lock().unwrap().requests.remove(0);
        assert!(request.starts_with(line), "{kind:?}: {request}");
        assert!(request.contains(header), "{kind:?}: {request}");
    }
}

#[tokio::test]
async fn what_does_not_work_is_told_apart_and_the_key_never_shows() {
    let page = || CannedResponse::new(200, "text/html", "<html>");
    for kind in KINDS {
        let said = json!({"error": {"message": "bad key sk-canary"}});
        let table = [
            (json_answer(401, &said), ErrorKind::Auth, "rejected the key (401). Set THE_KEY"),
            (json_answer(404, &said), ErrorKind::BadRequest, "does not list its models (404)"),
            (json_answer(500, &said), ErrorKind::Server, "failed (500): bad key ***"),
            (
                json_answer(200, &json!({"hello": 1})),
                ErrorKind::Protocol,
                "it is not a list of models",
            ),
            (page(), ErrorKind::Protocol, "answered with a web page (200)"),
        ];
        for (answer, expected, words) in table {
            let server = TestServer::start(vec![answer]).await;
            let error = ask(kind, &server.url()).await.unwrap_err();
            assert_eq!(error.kind, expected, "{kind:?}: {error}");
            assert!(error.message.contains(words), "{kind:?}: {error}");
            assert!(!error.message.contains("sk-canary"), "{kind:?}: {error}");
        }
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = ask(kind, &format!("http://{nobody}")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Connection);
        assert!(error.message.ends_with("is the server running?"), "{error}");
    }
}

#[test]
fn only_models_to_talk_to_are_listed() {
    let all = [
        "gpt-5.5",
        "text-embedding-3-large",
        "dall-e-3",
        "gpt-4o-audio-preview",
        "whisper-1",
        "tts-1",
        "gpt-4o-mini-tts",
        "gpt-realtime",
        "omni-moderation-latest",
        "o3",
        "house/llama-3:8b",
        "sora-2",
    ];
    let list: Vec<_> = all.iter().map(|id| json!({"id": id})).collect();
    let offered = parse_ids(&json!({"data": list})).unwrap();
    assert_eq!(names(&offered), ["gpt-5.5", "o3", "house/llama-3:8b"]);
}
