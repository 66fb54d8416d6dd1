//! The Anthropic Messages API.

use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::offer::{self, Offer};
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
    /// Where its models are listed.
    list: Result<Endpoint, ProviderError>,
}

impl Anthropic {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        let at = |path: &[&str]| {
            let key_header = HeaderName::from_static("x-api-key");
            let mut endpoint = Endpoint::new(settings, path, Some(key_header))?;
            endpoint.headers.insert("anthropic-version", VERSION);
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
        exchange::run(&self.http, &self.endpoint, body, events::Decoder::default())
    }

    fn models(&self) -> Offer {
        offer::fetch(&self.http, self.list.clone(), offer::ids)
    }

    /// The API refuses a forced call beside thinking, and a model that nobody knows may think by default.
    fn can_force(&self, model: &ModelInfo) -> bool {
        model.known && model.thinking == Thinking::Off
    }
}
