//! Servers over streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
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

/// The client's own error inside of one of the transport's, which does not tell of it.
pub fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(cause) => Some(cause),
        _ => None,
    }
}

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
