//! Lists an endpoint's models: one cheap request, which also checks the address and the key.

use std::time::Duration;

use futures_util::FutureExt;
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use super::api::{ModelListFuture, OfferedModel};
use super::endpoint::Endpoint;
use super::error::{ErrorKind, ProviderError};
use super::http::HttpClient;
use super::server_error::is_web_page;

/// Time limit for the list.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the list, in bytes.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

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
        sent.map_err(|error| ProviderError::unreachable(&error, endpoint, http.connect_timeout()))?;
    let status = answer.status().as_u16();
    if matches!(status, 404 | 405 | 501) {
        let message = format!("{} does not list its models ({status})", endpoint.host);
        return Err(ProviderError::bad_request(message));
    }
    if !answer.status().is_success() {
        return Err(ProviderError::rejected(answer, endpoint, None).await);
    }
    let body = body(answer, endpoint).await?;
    if is_web_page(&String::from_utf8_lossy(&body)) {
        return Err(ProviderError::web_page(status, endpoint));
    }
    let list = serde_json::from_slice(&body).ok().and_then(|body| read(&body));
    let malformed = || ProviderError::malformed("it is not a list of models").with_host(endpoint);
    list.ok_or_else(malformed)
}

async fn body(mut answer: Response, endpoint: &Endpoint) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) =
        answer.chunk().await.map_err(|_| ProviderError::cut().with_host(endpoint))?
    {
        if body.len() + chunk.len() > MAX_LIST_BYTES {
            return Err(ProviderError::malformed("the list is too large").with_host(endpoint));
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
