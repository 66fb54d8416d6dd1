//! Which models an endpoint offers: one cheap request, which also tells whether its address and key work.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::http::HttpClient;
use super::{ErrorKind, ProviderError, failure};

/// How long a list may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest list that is taken, in bytes.
const LIMIT: usize = 16 * 1024 * 1024;

/// One model that an endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// The name in requests.
    pub name: String,
    /// Tokens that a conversation may have, where the endpoint says it.
    pub context_window: Option<u64>,
}

impl OfferedModel {
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), context_window: None }
    }
}

/// The models, or why they are not known.
pub type Offer = BoxFuture<'static, Result<Vec<OfferedModel>, ProviderError>>;

/// What a wire makes of an answer; `None` when it is no list.
pub(super) type Read = fn(&Value) -> Option<Vec<OfferedModel>>;

/// Asks the endpoint, which is where its list is.
pub(super) fn fetch(
    http: &HttpClient,
    endpoint: Result<Endpoint, ProviderError>,
    read: Read,
) -> Offer {
    let http = http.clone();
    async move {
        let endpoint = endpoint?;
        match timeout(PATIENCE, get(&http, &endpoint, read)).await {
            Ok(offered) => offered,
            Err(_) => {
                let message =
                    format!("{} did not list its models within {PATIENCE:?}", endpoint.host);
                Err(ProviderError::new(ErrorKind::Timeout, message))
            }
        }
    }
    .boxed()
}

async fn get(
    http: &HttpClient,
    endpoint: &Endpoint,
    read: Read,
) -> Result<Vec<OfferedModel>, ProviderError> {
    let client = http.client(&endpoint.url).await?;
    let request = client.get(endpoint.url.clone()).headers(endpoint.headers.clone());
    let sent = request.send().await;
    let answer =
        sent.map_err(|error| failure::unreachable(&error, endpoint, http.connect_timeout()))?;
    let status = answer.status().as_u16();
    if matches!(status, 404 | 405 | 501) {
        let message = format!("{} does not list its models ({status})", endpoint.host);
        return Err(ProviderError::new(ErrorKind::BadRequest, message));
    }
    if !answer.status().is_success() {
        return Err(failure::rejected(answer, endpoint).await);
    }
    let body = body(answer, endpoint).await?;
    if failure::is_web_page(&String::from_utf8_lossy(&body)) {
        let (kind, message) = failure::web_page(status, endpoint);
        return Err(ProviderError::new(kind, message));
    }
    let list = serde_json::from_slice(&body).ok().and_then(|body| read(&body));
    list.ok_or_else(|| failure::senseless("no list of models", endpoint))
}

async fn body(mut answer: Response, endpoint: &Endpoint) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|_| failure::cut(endpoint))? {
        if body.len() + chunk.len() > LIMIT {
            return Err(failure::senseless("a list without end", endpoint));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// `{"data": [{"id"}]}`, as all but one wire write it. What its owner serves beside chat models is left out.
pub(super) fn ids(body: &Value) -> Option<Vec<OfferedModel>> {
    let names = body["data"].as_array()?.iter().filter_map(|model| model["id"].as_str());
    Some(names.filter(|name| !is_no_chat(name)).map(OfferedModel::named).collect())
}

/// Whether a model is one of OpenAI's for pictures, sound, vectors or verdicts.
fn is_no_chat(name: &str) -> bool {
    const STARTS: [&str; 9] = [
        "babbage",
        "chatgpt-image",
        "dall-e",
        "davinci",
        "gpt-image",
        "omni-moderation",
        "sora",
        "tts",
        "whisper",
    ];
    const PARTS: [&str; 5] = ["-audio", "-realtime", "-transcribe", "-tts", "text-embedding-"];
    STARTS.iter().any(|start| name.starts_with(start))
        || PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests;
