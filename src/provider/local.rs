//! Model servers on this machine, found on the ports that they usually take.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use url::Url;

use super::HttpClient;

/// How long a server on this machine may take to answer.
const PATIENCE: Duration = Duration::from_millis(800);

/// Name and address of the servers that are looked for.
const USUAL: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
];

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: &'static str,
    pub base_url: &'static str,
    /// The models that it offers.
    pub models: Vec<String>,
}

/// Asks all usual ports at once which models they have.
pub async fn find(http: &HttpClient) -> Vec<LocalServer> {
    let asked = USUAL.map(|(name, base_url)| async move {
        let models = tokio::time::timeout(PATIENCE, models(http, base_url)).await.ok()??;
        Some(LocalServer { name, base_url, models })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn models(http: &HttpClient, base_url: &str) -> Option<Vec<String>> {
    let url = Url::parse(&format!("{base_url}/models")).ok()?;
    let client = http.client(&url).await.ok()?;
    let answer = client.get(url).send().await.ok()?.error_for_status().ok()?;
    let body: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
    let names = body["data"].as_array()?.iter().filter_map(|model| model["id"].as_str());
    Some(names.map(str::to_owned).collect())
}
