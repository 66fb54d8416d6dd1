//! Turns failures of an exchange with a server into errors for the user: what happened, at which
//! host, what to do about it.

use std::error::Error;
use std::io;
use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::endpoint::Endpoint;
use super::error::{ErrorKind, ProviderError, innermost};
use super::retry::MAX_RETRY_AFTER;
use crate::protocol::{clip_chars, seconds};

mod report;

use report::ErrorReport;

/// Maximum bytes read of an error's body.
const BODY_LIMIT: usize = 64 * 1024;
/// Maximum characters shown of a server's own message.
const DETAIL_LIMIT: usize = 300;
/// Maximum characters shown of a server's name of a failure.
const CLASS_LIMIT: usize = 40;
/// How long the body of an error may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Advice where only time helps.
const LATER: &str = "Try again later";
const CHECK_HINT: &str = "Check the network, the proxy variables and base_url";

impl ProviderError {
    /// Creates the error that a server reports in the middle of its answer, in the server's words.
    pub(super) fn reported(body: &Value) -> Self {
        let report = ErrorReport::parse(body);
        let error = match report.kind_in_stream() {
            ErrorKind::Server => Self::failed_inside(report.name().to_owned(), report.message),
            kind => Self::new(kind, report.message),
        };
        Self { retry_after: report.wait, ..error }
    }

    /// Adds the host and some advice to an error of an exchange.
    pub(super) fn with_host(self, endpoint: &Endpoint) -> Self {
        let class =
            self.class.map(|class| clip_chars(&clean(&class, endpoint), CLASS_LIMIT).into());
        let status = self.status.map(|status| status.to_string());
        let code = status.as_deref().or(class.as_deref());
        let message = describe(self.kind, self.status, code, &self.message, endpoint);
        let message = with_wait(message, self.retry_after, Timestamp::now());
        Self { message, class, ..self }
    }

    /// Creates the error of an answer that is not a success. Reads its body. `model` is the one
    /// that the request named.
    pub(super) async fn rejected(
        mut response: Response,
        endpoint: &Endpoint,
        model: Option<&str>,
    ) -> Self {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = read_some(response, endpoint.idle_timeout.min(BODY_TIMEOUT)).await;
        let body = String::from_utf8_lossy(&body);
        let answer = ErrorResponse { status, headers: &headers, body: &body, model };
        rejection(&answer, endpoint, Timestamp::now())
    }

    /// Creates the error of a web page in place of an answer. A gateway in trouble serves one too,
    /// so its status counts.
    pub(super) fn web_page(status: u16, endpoint: &Endpoint) -> Self {
        let kind = match status {
            408 | 429 | 500.. => ErrorReport::default().kind_of_status(status, false),
            _ => ErrorKind::Protocol,
        };
        let host = &endpoint.host;
        let message = format!("{host} answered with a web page ({status}): is the base URL right?");
        Self::new(kind, message)
    }

    /// Creates the error of a request without any answer.
    pub(super) fn unreachable(
        error: &reqwest::Error,
        endpoint: &Endpoint,
        connect_timeout: Duration,
    ) -> Self {
        let host = &endpoint.host;
        if let Some(tls) = find_tls(error) {
            let message = format!(
                "No secure connection to {host}: {tls}. Check base_url, the system's clock and its CA certificates"
            );
            let again = !matches!(
                tls,
                rustls::Error::InvalidCertificate(_) | rustls::Error::InvalidMessage(_)
            );
            let kind = ErrorKind::Connection;
            return Self { should_retry: Some(again), ..Self::new(kind, message) };
        }
        let message = if !error.is_connect() {
            format!("{host} closed the connection before it answered: try again")
        } else if error.is_timeout() {
            format!(
                "Cannot reach {host}: no connection within {}. {CHECK_HINT}",
                seconds(connect_timeout)
            )
        } else if chain_says(error, "tunnel") {
            format!("Cannot reach {host} through the proxy: check HTTPS_PROXY and NO_PROXY")
        } else if error.is_dns() || chain_says(error, "dns error") {
            format!("Cannot reach {host}: name not found. {CHECK_HINT}")
        } else if endpoint.local {
            format!("Cannot reach {host}: is the server running?")
        } else if is_refused(error) {
            format!("Cannot reach {host}: it refuses connections. {CHECK_HINT}")
        } else {
            format!("Cannot reach {host}: {}. {CHECK_HINT}", clean(&innermost(error), endpoint))
        };
        Self::new(ErrorKind::Connection, message)
    }
}

/// Reads the start of the body, as far as it arrives.
async fn read_some(mut response: Response, limit: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = BODY_LIMIT - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == BODY_LIMIT {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(limit, reading).await;
    body
}

struct ErrorResponse<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    body: &'a str,
    model: Option<&'a str>,
}

fn rejection(answer: &ErrorResponse<'_>, endpoint: &Endpoint, now: Timestamp) -> ProviderError {
    let status = answer.status.as_u16();
    let mut retry_after = retry_after(answer.headers, now);
    let should_retry = match header(answer.headers, "x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    let error = if is_web_page(answer.body) {
        ProviderError::web_page(status, endpoint)
    } else {
        let report = match serde_json::from_str(answer.body) {
            Ok(body) => ErrorReport::parse(&body),
            Err(_) => ErrorReport { message: answer.body.to_owned(), ..ErrorReport::default() },
        };
        retry_after = retry_after.or(report.wait);
        let kind = report.kind_of_status(status, retry_after.is_some());
        let message = match (status, answer.model) {
            (404, Some(model)) => not_found(&report, model, endpoint),
            _ => {
                let code = status.to_string();
                describe(kind, Some(status), Some(&code), &report.message, endpoint)
            }
        };
        let message = with_wait(message, retry_after, now);
        ProviderError::new(kind, message)
    };
    ProviderError { status: Some(status), retry_after, should_retry, ..error }
}

/// Whether a body is HTML instead of an API answer.
pub(super) fn is_web_page(body: &str) -> bool {
    body.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Iterates over the error and its causes. `io::Error::source` skips the error that it wraps.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

fn chain_says(error: &reqwest::Error, words: &str) -> bool {
    chain(error).skip(1).any(|error| error.to_string().contains(words))
}

fn is_refused(error: &reqwest::Error) -> bool {
    chain(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn find_tls(error: &reqwest::Error) -> Option<&rustls::Error> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// Describes a failed exchange: what happened, at which host, what the server said and what to do.
/// `code` is the status, or the server's name of the failure.
fn describe(
    kind: ErrorKind,
    status: Option<u16>,
    code: Option<&str>,
    said: &str,
    endpoint: &Endpoint,
) -> String {
    let Endpoint { host, label, .. } = endpoint;
    let code = code.filter(|code| !code.is_empty());
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let said = clean(said, endpoint);
    let (what, advice) = match (kind, status) {
        (ErrorKind::Auth, Some(403)) => {
            (format!("{label} does not allow this request{code}"), "Check the key's permissions")
        }
        (ErrorKind::Auth, _) => {
            return format!("{label} rejected the key{code}. {}", endpoint.key_advice());
        }
        (ErrorKind::Billing, _) => (
            format!("{label}: payment required{code}"),
            "Check the plan, the credit and the spend limits of the account",
        ),
        (ErrorKind::RateLimit, _) => (format!("{host}: rate limit reached{code}"), LATER),
        (ErrorKind::Overloaded, _) => (format!("{host} is overloaded{code}"), LATER),
        (ErrorKind::ContextFull, _) => (
            format!("The conversation is too long for the model at {host}{code}"),
            "Send less, start a new session (/clear), or use a model with a larger window",
        ),
        (ErrorKind::InvalidRequest, Some(413)) => (
            format!("The request is too large for {host}{code}"),
            "Send less text or fewer images, or start a new session (/clear)",
        ),
        (ErrorKind::BadRequest, Some(300..=399)) => {
            (format!("{host} redirects elsewhere{code}"), "Check base_url")
        }
        (ErrorKind::InvalidRequest | ErrorKind::BadRequest, _) => {
            (format!("{host} rejected the request{code}"), "Check the model's name and settings")
        }
        (ErrorKind::Server, _) => (format!("{host} failed{code}"), LATER),
        (ErrorKind::Protocol, _) => {
            (format!("{host} sent an invalid answer"), "Check kind and base_url of the provider")
        }
        (ErrorKind::Connection, _) => {
            return format!("The answer from {host} was cut off: try again");
        }
        (ErrorKind::Timeout, _) => {
            return format!(
                "No data from {host} for {}: try again, or raise idle_timeout_s of the provider",
                seconds(endpoint.idle_timeout)
            );
        }
    };
    format!("{what}{}. {advice}", quoted(&said))
}

/// Names the time instead of [`LATER`] if the server asks for a wait that is too long to retry.
fn with_wait(message: String, wait: Option<Duration>, now: Timestamp) -> String {
    let said = message.strip_suffix(LATER).zip(wait.filter(|wait| *wait > MAX_RETRY_AFTER));
    let advice = |wait| wait_advice(wait, &now.to_zoned(TimeZone::system()));
    match said.and_then(|(start, wait)| Some(format!("{start}{}", advice(wait)?))) {
        Some(timed) => timed,
        None => message,
    }
}

/// `Try again in 1 h 30 min, at 16:20`. `None` for times beyond the calendar.
fn wait_advice(wait: Duration, now: &Zoned) -> Option<String> {
    let until = now.checked_add(wait).ok()?;
    let minutes = wait.as_secs().div_ceil(60);
    let length = match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    };
    let form = if until.date() == now.date() { "at %H:%M" } else { "on %b %-d at %H:%M" };
    Some(format!("Try again in {length}, {}", until.strftime(form)))
}

/// Returns a server's own words as the end of a sentence.
fn quoted(said: &str) -> String {
    match said.trim_end_matches('.') {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

/// Describes a 404: the model is unknown, or the base URL is wrong. Names both if the server does
/// not say which.
fn not_found(report: &ErrorReport, model: &str, endpoint: &Endpoint) -> String {
    let Endpoint { host, label, .. } = endpoint;
    let missing = Missing::find(report, model, endpoint);
    let (model, url) = (clean(model, endpoint), clean(&endpoint.shown_url(), endpoint));
    let said = clean(&report.message, endpoint);
    // One vendor's whole message.
    let said = if said == format!("model: {model}") { String::new() } else { quoted(&said) };
    match missing {
        Missing::Model => format!(
            "{label} does not know the model {model} (404){said}. Choose one with --model, or /model on the screen"
        ),
        Missing::Url => format!("{host} does not know {url} (404){said}. Check base_url"),
        Missing::Either => format!(
            "{host} does not know the model {model} or the address {url} (404){said}. Choose a model with --model, or /model on the screen, or check base_url"
        ),
    }
}

/// Whether a message names this model as a word of its own, or as the end of a path.
fn names(said: &str, model: &str) -> bool {
    let splits = |c: char| !c.is_alphanumeric() && !"-_.:/".contains(c);
    let mut words = said.split(splits).map(|word| word.trim_end_matches(['.', ':']));
    let of_path = |word: &str| word.strip_suffix(model).is_some_and(|above| above.ends_with('/'));
    words.any(|word| word == model || of_path(word))
}

/// The part of a request that a server does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Model,
    Url,
    Either,
}

impl Missing {
    /// Finds it in the server's report. The address may contain the model's name.
    fn find(report: &ErrorReport, model: &str, endpoint: &Endpoint) -> Self {
        let said = &report.message;
        if report.code == "model_not_found" {
            Self::Model
        } else if said.contains(endpoint.url.path()) || said.starts_with("Invalid URL") {
            Self::Url
        } else if names(said, model) {
            Self::Model
        } else {
            Self::Either
        }
    }
}

/// Puts a server's message on one line, without keys and control characters, and shortened.
fn clean(text: &str, endpoint: &Endpoint) -> String {
    let scrubbed = endpoint.scrub(text);
    let words: Vec<&str> = scrubbed
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    clip_chars(&words.join(" "), DETAIL_LIMIT).into_owned()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Returns the wait that the server asks for: in milliseconds, in seconds, or as a date. Invalid
/// values count as none.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(ms) = header(headers, "retry-after-ms").and_then(seconds) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let text = header(headers, RETRY_AFTER.as_str())?;
    if let Some(seconds) = seconds(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests;
