//! Servers over streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::worker::WorkerQuitReason;
use url::Url;

/// The reason why a URL cannot be reached, in one line.
pub type ConnectError = String;

/// Finds the client for a URL: the session's own, with its proxies and certificates.
pub type HttpSource =
    Arc<dyn Fn(Url) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync>;

/// Prepares the connection to a server. Nothing is sent yet.
pub async fn connect(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &HttpSource,
) -> Result<StreamableHttpClientTransport<Client>, ConnectError> {
    let parsed = Url::parse(url).map_err(|error| format!("its url is not valid: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("its url must start with http:// or https://".to_owned());
    }
    let client = http(parsed).await?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(parse_headers(headers)?)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Describes a failed request in one line, if the error is the client's own. Names the server
/// without its query, which may hold a key.
pub fn describe_error(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(status) = chain(error).find_map(refusal) {
        return Some(format!("it answered {status}"));
    }
    let error = chain(error).find_map(|error| error.downcast_ref::<reqwest::Error>())?;
    let place = error.url().map_or_else(|| "the server".to_owned(), redacted_url);
    if let Some(status) = error.status() {
        return Some(format!("{place} answered {status}"));
    }
    let io = chain(error).filter_map(|error| error.downcast_ref::<io::Error>());
    let reason = if io.into_iter().any(|error| error.kind() == ErrorKind::ConnectionRefused) {
        "connection refused".to_owned()
    } else if error.is_timeout() {
        "no answer in time".to_owned()
    } else if error.is_dns() || chain(error).any(|error| error.to_string().contains("dns error")) {
        "name not found".to_owned()
    } else {
        // Only the outermost error names the whole address.
        match chain(error).skip(1).last() {
            Some(cause) => cause.to_string(),
            None => return Some(format!("the connection to {place} failed")),
        }
    };
    Some(format!("cannot reach {place}: {reason}"))
}

/// Whether the server has refused a request for want of a valid key.
pub fn refuses_key(error: &(dyn Error + 'static)) -> bool {
    let is_about_key =
        |status: &str| ["HTTP 401", "HTTP 403"].iter().any(|it| status.starts_with(it));
    chain(error).find_map(refusal).is_some_and(is_about_key)
}

/// Returns the status of an answer, with its text if it has one.
fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::UnexpectedServerResponse(answer) if answer.starts_with("HTTP ") => {
            Some(answer.trim_end_matches([':', ' ']))
        }
        StreamableHttpError::AuthRequired(_) => Some("HTTP 401 Unauthorized"),
        StreamableHttpError::InsufficientScope(_) => Some("HTTP 403 Forbidden"),
        _ => None,
    }
}

/// Returns the address of a server without parts that may be secret.
fn redacted_url(url: &Url) -> String {
    let path = if url.path() == "/" { "" } else { url.path() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Iterates over the error and its causes. Some wrap another without exposing it as their source.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause(error).or_else(|| error.source()),
        }
    })
}

/// Returns the client's own error inside of one of the transport's, which does not expose it.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(WorkerQuitReason::Fatal { error, .. }) = error.downcast_ref::<WorkerQuit>() {
        return Some(error);
    }
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(cause) => Some(cause),
        _ => None,
    }
}

/// The reason why the transport's task has ended.
type WorkerQuit = WorkerQuitReason<StreamableHttpError<reqwest::Error>>;

/// Converts the headers. The errors leave values out: they may be keys.
fn parse_headers(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectError> {
    let header = |(name, value): (&String, &String)| {
        let bad = || format!("its header {name:?} cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    headers.iter().map(header).collect()
}
