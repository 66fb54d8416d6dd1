//! Lists an endpoint's models: one cheap request, which also checks the address and the key.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::http::HttpClient;
use super::{ErrorKind, ProviderError, failure};

/// Time limit for the list.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the list, in bytes.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// One model that an endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// The name in requests.
    pub name: String,
    /// The context window in tokens, if the endpoint gives it.
    pub context_window: Option<u64>,
}

impl OfferedModel {
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), context_window: None }
    }
}

/// The models, or the error of the request.
pub type ModelListFuture = BoxFuture<'static, Result<Vec<OfferedModel>, ProviderError>>;

/// A wire's parser of the list; `None` if it is not a list.
pub(super) type ParseModels = fn(&Value) -> Option<Vec<OfferedModel>>;

/// Requests the list from the endpoint.
pub(super) fn fetch_models(
    http: &HttpClient,
    endpoint: Result<Endpoint, ProviderError>,
    read: ParseModels,
) -> ModelListFuture {
    let http = http.clone();
    async move {
        let endpoint = endpoint?;
        match timeout(LIST_TIMEOUT, get(&http, &endpoint, read)).await {
            Ok(offered) => offered,
            Err(_) => {
                let message =
                    format!("{} did not list its models within {LIST_TIMEOUT:?}", endpoint.host);
                Err(ProviderError::new(ErrorKind::Timeout, message))
            }
        }
    }
    .boxed()
}

async fn get(
    http: &HttpClient,
    endpoint: &Endpoint,
    read: ParseModels,
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
        return Err(failure::rejected(answer, endpoint, None).await);
    }
    let body = body(answer, endpoint).await?;
    if failure::is_web_page(&String::from_utf8_lossy(&body)) {
        let (kind, message) = failure::web_page(status, endpoint);
        return Err(ProviderError::new(kind, message));
    }
    let list = serde_json::from_slice(&body).ok().and_then(|body| read(&body));
    list.ok_or_else(|| failure::malformed("it is not a list of models", endpoint))
}

async fn body(mut answer: Response, endpoint: &Endpoint) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|_| failure::cut(endpoint))? {
        if body.len() + chunk.len() > MAX_LIST_BYTES {
            return Err(failure::malformed("the list is too large", endpoint));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Parses `{"data": [{"id"}]}`, the format of all but one wire. Leaves out OpenAI's models that are not for chat.
pub(super) fn parse_ids(body: &Value) -> Option<Vec<OfferedModel>> {
    let names = body["data"].as_array()?.iter().filter_map(|model| model["id"].as_str());
    Some(names.filter(|name| !is_no_chat(name)).map(OfferedModel::named).collect())
}

/// Whether a model is one of OpenAI's for images, audio, embeddings or moderation.
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
