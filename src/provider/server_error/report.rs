//! Parses servers' error reports, in all their shapes, and classifies them.

use std::time::Duration;

use serde_json::Value;

use super::super::error::ErrorKind;

/// A server's own report of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorReport {
    /// Such as `overloaded_error`.
    pub class: String,
    /// Such as `context_length_exceeded`; sometimes an HTTP status.
    pub code: String,
    pub message: String,
    /// How long the server asks us to wait, if it says so here instead of in a header.
    pub wait: Option<Duration>,
}

impl ErrorReport {
    /// Parses `{"error": {"type", "code", "message", "details": {"error_code"}}}` and its common
    /// variations, and Google's `{"error": {"status", "code", "message", "details": [{"reason"},
    /// {"retryDelay"}]}}`.
    pub fn parse(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        if let Value::String(message) = error {
            return Self { message: message.clone(), ..Self::default() };
        }
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let details = error.get("details");
        let detail = |name: &str| details?.as_array()?.iter().find_map(|detail| detail.get(name));
        let detailed = details.and_then(|details| details.get("error_code"));
        let detailed = detailed.or_else(|| detail("reason"));
        let message = ["message", "detail"].iter().find_map(|name| {
            error.get(name).or_else(|| body.get(name)).filter(|value| value.is_string())
        });
        Self {
            class: text(error.get("type").or_else(|| error.get("status"))),
            code: text(detailed.or_else(|| error.get("code"))),
            message: text(message),
            wait: detail("retryDelay").and_then(Value::as_str).and_then(seconds),
        }
    }

    /// Classifies an answer with `status`. `waits`: the server said when to come back.
    pub fn kind_of_status(&self, status: u16, waits: bool) -> ErrorKind {
        if matches!(status, 400 | 413 | 422) && self.is_context_full() {
            return ErrorKind::ContextFull;
        }
        if matches!(status, 400 | 403 | 429) && self.is_billing() && !waits {
            return ErrorKind::Billing;
        }
        if status == 400 && self.code == "API_KEY_INVALID" {
            return ErrorKind::Auth;
        }
        match status {
            401 | 403 => ErrorKind::Auth,
            402 => ErrorKind::Billing,
            408 | 409 => ErrorKind::Server,
            429 => ErrorKind::RateLimit,
            503 | 529 => ErrorKind::Overloaded,
            500.. if self.class == "overloaded_error" => ErrorKind::Overloaded,
            500.. if self.is_context_full() => ErrorKind::ContextFull,
            500.. => ErrorKind::Server,
            400 | 413 | 422 => ErrorKind::InvalidRequest,
            _ => ErrorKind::BadRequest,
        }
    }

    /// Classifies a failure reported inside an answer that had begun well.
    pub fn kind_in_stream(&self) -> ErrorKind {
        if self.is_context_full() {
            return ErrorKind::ContextFull;
        }
        if self.is_billing() {
            return ErrorKind::Billing;
        }
        if let Ok(status @ 400..=599) = self.code.parse::<u16>() {
            return self.kind_of_status(status, false);
        }
        for name in [&self.class, &self.code] {
            match name.as_str() {
                "overloaded_error" | "server_overloaded" | "UNAVAILABLE" => {
                    return ErrorKind::Overloaded;
                }
                "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
                    return ErrorKind::RateLimit;
                }
                "authentication_error"
                | "permission_error"
                | "invalid_api_key"
                | "UNAUTHENTICATED"
                | "PERMISSION_DENIED"
                | "API_KEY_INVALID" => return ErrorKind::Auth,
                "invalid_request_error"
                | "invalid_prompt"
                | "INVALID_ARGUMENT"
                | "request_too_large"
                | "BadRequestError" => return ErrorKind::InvalidRequest,
                "FAILED_PRECONDITION" | "NOT_FOUND" | "not_found_error" => {
                    return ErrorKind::BadRequest;
                }
                _ => {}
            }
        }
        // Includes unknown failures: the server was already at work, so they may well pass.
        ErrorKind::Server
    }

    /// Returns the most telling name of the failure; empty if it has none.
    pub fn name(&self) -> &str {
        let is_status = self.code.parse::<u16>().is_ok();
        let class = Some(self.class.as_str()).filter(|class| !matches!(*class, "" | "error"));
        match class {
            Some(class) if self.code.is_empty() || is_status => class,
            _ => &self.code,
        }
    }

    fn is_context_full(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        let words = [
            "prompt is too long",
            "exceed context limit",
            "maximum context length",
            "exceeds the available context size",
            "exceeds the context window",
            "exceeds the maximum number of tokens allowed",
        ];
        codes.contains(&self.code.as_str())
            || codes.contains(&self.class.as_str())
            || words.iter().any(|words| self.says(words))
    }

    fn is_billing(&self) -> bool {
        self.class == "billing_error"
            || self.class == "insufficient_quota"
            || self.code == "insufficient_quota"
            || self.code.ends_with("spend_limit_reached")
            || self.says("spend limit")
            || self.says("credit balance is too low")
    }

    fn says(&self, words: &str) -> bool {
        self.message.to_ascii_lowercase().contains(words)
    }
}

/// Parses a duration in Google's format: `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_common_shape_of_an_error_body_is_read() {
        let table = [
            (
                json!({"type": "error", "error": {"type": "api_error", "message": "m"}, "request_id": "r"}),
                ("api_error", "", "m"),
            ),
            (
                json!({"error": {"message": "m", "type": "t", "code": "c", "param": null}}),
                ("t", "c", "m"),
            ),
            (json!({"error": {"message": "m", "code": 502}}), ("", "502", "m")),
            (
                json!({"error": {"type": "t", "message": "m", "details": {"error_code": "d"}}}),
                ("t", "d", "m"),
            ),
            (json!({"error": "m"}), ("", "", "m")),
            (json!([{"error": {"message": "m"}}]), ("", "", "m")),
            (json!({"detail": "m"}), ("", "", "m")),
            (
                json!({"object": "error", "message": "m", "type": "t", "code": 400}),
                ("t", "400", "m"),
            ),
            (json!(null), ("", "", "")),
            (
                json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}),
                ("UNAVAILABLE", "503", "m"),
            ),
            (
                json!({"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT",
                    "details": [{"reason": "API_KEY_INVALID"}, {"message": "n"}]}}),
                ("INVALID_ARGUMENT", "API_KEY_INVALID", "m"),
            ),
            (
                json!({"type": "error", "code": "c", "message": "m", "sequence_number": 3}),
                ("error", "c", "m"),
            ),
        ];
        for (body, (class, code, message)) in table {
            let report = ErrorReport::parse(&body);
            assert_eq!(
                (&*report.class, &*report.code, &*report.message),
                (class, code, message),
                "{body}"
            );
        }
    }

    #[test]
    fn a_wait_may_stand_among_the_details() {
        let wait = |delay: Value| {
            ErrorReport::parse(
                &json!({"error": {"details": [{"reason": "r"}, {"retryDelay": delay}]}}),
            )
            .wait
        };
        assert_eq!(wait(json!("34.5s")), Some(Duration::from_millis(34_500)));
        for nonsense in [json!("soon"), json!("-1s"), json!("1e99s"), json!(3)] {
            assert_eq!(wait(nonsense.clone()), None, "{nonsense}");
        }
    }

    #[test]
    fn a_wrong_key_may_come_as_a_bad_request() {
        let wrong = ErrorReport { code: "API_KEY_INVALID".into(), ..ErrorReport::default() };
        assert_eq!(wrong.kind_of_status(400, false), ErrorKind::Auth);
        assert_eq!(wrong.kind_in_stream(), ErrorKind::Auth);
    }

    #[test]
    fn each_status_has_its_class() {
        use ErrorKind::{Auth, BadRequest, Billing, InvalidRequest, Overloaded, RateLimit, Server};
        let table = [
            (400, InvalidRequest),
            (401, Auth),
            (402, Billing),
            (403, Auth),
            (404, BadRequest),
            (408, Server),
            (409, Server),
            (413, InvalidRequest),
            (422, InvalidRequest),
            (429, RateLimit),
            (500, Server),
            (502, Server),
            (503, Overloaded),
            (504, Server),
            (529, Overloaded),
        ];
        for (status, kind) in table {
            assert_eq!(ErrorReport::default().kind_of_status(status, false), kind, "{status}");
        }
    }

    #[test]
    fn a_conversation_that_is_too_long_is_told_from_other_bad_requests() {
        let bodies = [
            json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 212345 tokens > 200000 maximum"}}),
            json!({"error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}),
            json!({"error": {"message": "too much", "code": "context_length_exceeded"}}),
            json!({"error": {"message": "This model's maximum context length is 8192 tokens"}}),
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}),
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                "message": "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}}),
            json!({"error": {"type": "invalid_request_error", "message": "Your input exceeds the context window of this model."}}),
        ];
        for body in bodies {
            let report = ErrorReport::parse(&body);
            assert_eq!(report.kind_of_status(400, false), ErrorKind::ContextFull, "{body}");
            assert_eq!(report.kind_in_stream(), ErrorKind::ContextFull, "{body}");
        }
    }

    #[test]
    fn a_spent_limit_is_no_rate_limit_unless_the_server_says_when_to_return() {
        let body = json!({"error": {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}});
        let report = ErrorReport::parse(&body);
        assert_eq!(report.kind_of_status(429, false), ErrorKind::Billing);
        assert_eq!(report.kind_of_status(429, true), ErrorKind::RateLimit);
        let quota = ErrorReport { code: "insufficient_quota".into(), ..ErrorReport::default() };
        assert_eq!(quota.kind_of_status(429, false), ErrorKind::Billing);
        let spend = ErrorReport { message: "You have reached your spend limit".into(), ..quota };
        assert_eq!(spend.kind_of_status(400, false), ErrorKind::Billing);
    }

    #[test]
    fn failures_inside_a_stream_are_classed_by_their_names() {
        use ErrorKind::{Auth, BadRequest, Billing, InvalidRequest, Overloaded, RateLimit, Server};
        let table = [
            ("overloaded_error", "", Overloaded),
            ("rate_limit_error", "", RateLimit),
            ("api_error", "", Server),
            ("timeout_error", "", Server),
            ("authentication_error", "", Auth),
            ("permission_error", "", Auth),
            ("billing_error", "", Billing),
            ("invalid_request_error", "", InvalidRequest),
            ("not_found_error", "", BadRequest),
            ("", "429", RateLimit),
            ("", "502", Server),
            ("tokens", "rate_limit_exceeded", RateLimit),
            ("UNAVAILABLE", "503", Overloaded),
            ("RESOURCE_EXHAUSTED", "r", RateLimit),
            ("INTERNAL", "500", Server),
            ("error", "server_error", Server),
            ("error", "invalid_prompt", InvalidRequest),
            ("news_to_us", "", Server),
        ];
        for (class, code, kind) in table {
            let report =
                ErrorReport { class: class.into(), code: code.into(), ..ErrorReport::default() };
            assert_eq!(report.kind_in_stream(), kind, "{class} {code}");
        }
    }

    #[test]
    fn the_name_of_a_failure_is_its_code_unless_that_is_a_status() {
        for (class, code, name) in [
            ("api_error", "", "api_error"),
            ("INTERNAL", "500", "INTERNAL"),
            ("error", "server_error", "server_error"),
            ("server_error", "engine_lost", "engine_lost"),
            ("", "502", "502"),
            ("error", "", ""),
            ("", "", ""),
        ] {
            let report =
                ErrorReport { class: class.into(), code: code.into(), ..ErrorReport::default() };
            assert_eq!(report.name(), name, "{class} {code}");
        }
    }
}
