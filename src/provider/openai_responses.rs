//! OpenAI's Responses API. Nothing is kept at the server: each request carries the whole conversation.

use std::sync::Arc;

use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::offer::{self, Offer};
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError};
use crate::config::models::ModelInfo;

mod events;
mod request;
mod thought;

/// A provider that speaks the Responses API.
pub(super) struct OpenaiResponses {
    name: String,
    http: HttpClient,
    endpoint: Result<Arc<Endpoint>, ProviderError>,
    /// Where its models are listed.
    list: Result<Endpoint, ProviderError>,
}

impl OpenaiResponses {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        let endpoint = Endpoint::new(settings, &["responses"], None).map(Arc::new);
        let list = Endpoint::new(settings, &["models"], None);
        Self { name: settings.name.clone(), http: http.clone(), endpoint, list }
    }
}

impl Provider for OpenaiResponses {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let body = |endpoint: &Endpoint| request::body(request, Dialect::of(&endpoint.url));
        exchange::run(&self.http, &self.endpoint, body, events::Decoder::default())
    }

    fn models(&self) -> Offer {
        offer::fetch(&self.http, self.list.clone(), offer::ids)
    }

    fn can_force(&self, _model: &ModelInfo) -> bool {
        true
    }
}
