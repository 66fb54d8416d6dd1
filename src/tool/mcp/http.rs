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

/// Why there is no way to a URL, in one line.
pub type Unreachable = String;

/// Finds the client for a URL: the session's own, with its proxies and certificates.
pub type HttpSource =
    Arc<dyn Fn(Url) -> BoxFuture<'static, Result<Client, Unreachable>> + Send + Sync>;

/// The way to a server. Nothing is sent yet.
pub async fn connect(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &HttpSource,
) -> Result<StreamableHttpClientTransport<Client>, Unreachable> {
    let parsed = Url::parse(url).map_err(|error| format!("its url is not valid: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("its url must start with http:// or https://".to_owned());
    }
    let client = http(parsed).await?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(named(headers)?)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Why nothing came back, in one line, where the error is the client's own. Names the server
/// without its query, which may hold a key.
pub fn unanswered(error: &(dyn Error + 'static)) -> Option<String> {
    let error = chain(error).find_map(|error| error.downcast_ref::<reqwest::Error>())?;
    let place = error.url().map_or_else(|| "the server".to_owned(), place);
    if let Some(status) = error.status() {
        return Some(format!("{place} answered {status}"));
    }
    let io = chain(error).filter_map(|error| error.downcast_ref::<io::Error>());
    let reason = if io.into_iter().any(|error| error.kind() == ErrorKind::ConnectionRefused) {
        "connection refused".to_owned()
    } else if error.is_timeout() {
        "no answer in time".to_owned()
    } else if error.is_dns() || chain(error).any(|error| error.to_string().contains("dns error")) {
        "there is no server of that name".to_owned()
    } else {
        // The outermost alone names the whole address.
        match chain(error).skip(1).last() {
            Some(cause) => cause.to_string(),
            None => return Some(format!("the connection to {place} failed")),
        }
    };
    Some(format!("cannot reach {place}: {reason}"))
}

/// Where a server is, without what may be secret.
fn place(url: &Url) -> String {
    let path = if url.path() == "/" { "" } else { url.path() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}

/// The error and its causes. Some wrap another without calling it their source.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause(error).or_else(|| error.source()),
        }
    })
}

/// The client's own error inside of one of the transport's, which does not tell of it.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(WorkerQuitReason::Fatal { error, .. }) = error.downcast_ref::<Quit>() {
        return Some(error);
    }
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(cause) => Some(cause),
        _ => None,
    }
}

/// Why the transport's own task has ended.
type Quit = WorkerQuitReason<StreamableHttpError<reqwest::Error>>;

/// The headers as they are sent. The errors leave values out: they may be keys.
fn named(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, Unreachable> {
    let header = |(name, value): (&String, &String)| {
        let bad = || format!("its header {name:?} cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    headers.iter().map(header).collect()
}
