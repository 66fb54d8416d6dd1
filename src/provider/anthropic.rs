//! The Anthropic Messages API.

use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError, Thinking};
use crate::config::models::ModelInfo;

mod events;
mod request;

const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// A provider that speaks the Messages API.
pub(super) struct Anthropic {
    name: String,
    http: HttpClient,
    endpoint: Result<Arc<Endpoint>, ProviderError>,
}

impl Anthropic {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        let key_header = HeaderName::from_static("x-api-key");
        let endpoint = Endpoint::new(settings, &["v1", "messages"], Some(key_header));
        let endpoint = endpoint.map(|mut endpoint| {
            endpoint.headers.insert("anthropic-version", VERSION);
            Arc::new(endpoint)
        });
        Self { name: settings.name.clone(), http: http.clone(), endpoint }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let body = |_: &Endpoint| request::body(request);
        exchange::run(&self.http, &self.endpoint, body, events::Decoder::default())
    }

    /// The API refuses a forced call beside thinking, and a model that nobody knows may think by default.
    fn can_force(&self, model: &ModelInfo) -> bool {
        model.known && model.thinking == Thinking::Off
    }
}
