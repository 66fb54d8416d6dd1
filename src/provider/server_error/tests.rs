use super::super::settings::{Credential, ProviderSettings};
use super::*;
use crate::config::ProviderKind;
use crate::protocol::ApiKey;

fn endpoint() -> Endpoint {
    let settings = ProviderSettings {
        key: ApiKey::new("sk-canary").map(Credential::ApiKey),
        key_hint: "ANTHROPIC_API_KEY".into(),
        ..ProviderSettings::new("anthropic", ProviderKind::Anthropic, "https://api.anthropic.com")
    };
    Endpoint::new(&settings, &["v1", "messages"], None).unwrap()
}

fn answer(status: u16, headers: &[(&'static str, &str)], body: &str) -> ProviderError {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect::<HeaderMap>();
    let status = StatusCode::from_u16(status).unwrap();
    let now = "2026-11-20T10:00:00Z".parse().unwrap();
    let model = Some("claude-x");
    rejection(&ErrorResponse { status, headers: &headers, body, model }, &endpoint(), now)
}

fn said(message: &str) -> String {
    serde_json::json!({"type": "error", "error": {"type": "x", "message": message}}).to_string()
}

#[test]
fn errors_name_the_host_the_status_and_what_to_do() {
    let table = [
        (401, "Anthropic rejected the key (401). Set ANTHROPIC_API_KEY"),
        (
            402,
            "Anthropic: payment required (402): why. Check the plan, the credit and the spend limits of the account",
        ),
        (403, "Anthropic does not allow this request (403): why. Check the key's permissions"),
        (
            413,
            "The request is too large for api.anthropic.com (413): why. Send less text or fewer images, or start a new session (/clear)",
        ),
        (429, "api.anthropic.com: rate limit reached (429): why. Try again later"),
        (500, "api.anthropic.com failed (500): why. Try again later"),
        (529, "api.anthropic.com is overloaded (529): why. Try again later"),
        (307, "api.anthropic.com redirects elsewhere (307): why. Check base_url"),
    ];
    for (status, expected) in table {
        assert_eq!(answer(status, &[], &said("why.")).message, expected);
    }
    assert_eq!(answer(500, &[], "").message, "api.anthropic.com failed (500). Try again later");
    let full = answer(400, &[], &said("prompt is too long: 9 > 8"));
    assert_eq!(full.kind, ErrorKind::ContextFull);
}

#[test]
fn a_long_wait_that_the_server_asks_for_is_named() {
    let now = "2026-11-20T15:20:30+00:00[UTC]".parse().unwrap();
    let advice = |seconds| wait_advice(Duration::from_secs(seconds), &now).unwrap();
    assert_eq!(advice(3600), "Try again in 1 h, at 16:20");
    assert_eq!(advice(20 * 60 + 1), "Try again in 21 min, at 15:40");
    assert_eq!(advice(5400), "Try again in 1 h 30 min, at 16:50");
    assert_eq!(advice(10 * 3600), "Try again in 10 h, on Nov 21 at 01:20");
    let said = |wait| answer(429, &[("retry-after", wait)], &said("why.")).message;
    let long = said("3600");
    let start = "api.anthropic.com: rate limit reached (429): why. Try again in 1 h, ";
    assert!(long.starts_with(start), "{long}");
    assert!(said("600").ends_with("Try again later"), "the request is repeated by itself");
    assert!(said("1e300").ends_with("Try again later"));
}

#[test]
fn a_404_names_the_model_the_address_or_both_as_the_server_says() {
    let model = |said: &str| {
        format!(
            "Anthropic does not know the model claude-x (404){said}. Choose one with --model, or /model on the screen"
        )
    };
    let address = "https://api.anthropic.com/v1/messages";
    let either = |said: &str| {
        format!(
            "api.anthropic.com does not know the model claude-x or the address {address} (404){said}. Choose a model with --model, or /model on the screen, or check base_url"
        )
    };
    let code = r#"{"error":{"message":"no access","code":"model_not_found"}}"#;
    let invalid = "Invalid URL (POST /v1/v1/messages)";
    let table = [
        (said("model: claude-x"), model("")),
        (
            said("The model `claude-x` does not exist."),
            model(": The model `claude-x` does not exist"),
        ),
        (code.to_owned(), model(": no access")),
        (
            said(invalid),
            format!("api.anthropic.com does not know {address} (404): {invalid}. Check base_url"),
        ),
        (
            said("No route for /v1/messages of claude-x"),
            format!(
                "api.anthropic.com does not know {address} (404): No route for /v1/messages of claude-x. Check base_url"
            ),
        ),
        (said("Not Found"), either(": Not Found")),
        (String::new(), either("")),
    ];
    for (body, expected) in table {
        assert_eq!(answer(404, &[], &body).message, expected);
    }
}

#[test]
fn keys_control_characters_and_floods_do_not_pass() {
    for status in [400, 401, 403, 404, 500] {
        for body in [said("key \x1b[31msk-canary\n is bad"), "raw sk-canary".to_owned()] {
            let message = answer(status, &[], &body).message;
            assert!(!message.contains("canary"), "{message}");
            assert!(!message.contains(char::is_control), "{message:?}");
        }
    }
    let long = answer(400, &[], &said(&"ü".repeat(5000))).message;
    assert!(long.chars().count() < 450, "{}", long.len());
}

#[test]
fn a_web_page_asks_for_the_base_url() {
    let page = "\u{feff}\n<!DOCTYPE html><html>nginx</html>";
    let error = answer(404, &[], page);
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert_eq!(
        error.message,
        "api.anthropic.com answered with a web page (404): is the base URL right?"
    );
    assert_eq!(answer(502, &[], page).kind, ErrorKind::Server);
    assert_eq!(answer(503, &[], page).kind, ErrorKind::Overloaded);
}

#[test]
fn the_server_says_when_and_whether_to_come_back() {
    let wait = |headers: &[(&'static str, &str)]| answer(429, headers, "").retry_after;
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(wait(&[("retry-after", "2")]), ms(2000));
    assert_eq!(wait(&[("retry-after", "0.5")]), ms(500));
    assert_eq!(wait(&[("retry-after-ms", "250"), ("retry-after", "9")]), ms(250));
    assert_eq!(wait(&[("retry-after", "Fri, 20 Nov 2026 10:01:30 GMT")]), ms(90_000));
    assert_eq!(wait(&[("retry-after", "Fri, 20 Nov 2026 09:00:00 GMT")]), ms(0));
    for nonsense in ["", "soon", "-3", "inf", "NaN", "1e300"] {
        assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
    assert_eq!(answer(500, &[("x-should-retry", "false")], "").should_retry, Some(false));
    assert_eq!(answer(400, &[("x-should-retry", "true")], "").should_retry, Some(true));
    assert_eq!(answer(400, &[], "").should_retry, None);
}

#[test]
fn a_spent_limit_with_a_date_of_return_is_a_rate_limit() {
    let body = r#"{"error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    assert_eq!(answer(429, &[], body).kind, ErrorKind::Billing);
    assert_eq!(answer(429, &[("retry-after", "3")], body).kind, ErrorKind::RateLimit);
}
