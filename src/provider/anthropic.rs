//! The Anthropic Messages API.

use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::model_list::{self, ModelListFuture};
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError, Thinking};
use crate::config::models::ModelInfo;

mod events;
mod request;

const API_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// A provider that speaks the Messages API.
pub(super) struct Anthropic {
    name: String,
    http: HttpClient,
    endpoint: Result<Arc<Endpoint>, ProviderError>,
    /// The address of its list of models.
    list: Result<Endpoint, ProviderError>,
}

impl Anthropic {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        let at = |path: &[&str]| {
            let key_header = HeaderName::from_static("x-api-key");
            let mut endpoint = Endpoint::new(settings, path, Some(key_header))?;
            endpoint.headers.insert("anthropic-version", API_VERSION);
            Ok(endpoint)
        };
        let list = at(&["v1", "models"]).map(|list| list.below(&[], Some(("limit", "1000"))));
        let endpoint = at(&["v1", "messages"]).map(Arc::new);
        Self { name: settings.name.clone(), http: http.clone(), endpoint, list }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let body = |_: &Endpoint| request::body(request);
        exchange::run(
            &self.http,
            &self.endpoint,
            request.model,
            body,
            events::AnthropicDecoder::default(),
        )
    }

    fn models(&self) -> ModelListFuture {
        model_list::fetch_models(&self.http, self.list.clone(), model_list::parse_ids)
    }

    /// The API refuses a forced call together with thinking, and an unknown model may think by default.
    fn can_force(&self, model: &ModelInfo) -> bool {
        model.known && model.thinking == Thinking::Off
    }
}
