//! OpenAI's Responses API. The server stores nothing: each request carries the whole conversation.

use std::sync::Arc;

use super::dialect::OpenaiDialect;
use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::model_list::{self, ModelListFuture};
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError};
use crate::config::models::ModelInfo;

mod events;
mod reasoning;
mod request;

/// A provider that speaks the Responses API.
pub(super) struct OpenaiResponses {
    name: String,
    http: HttpClient,
    endpoint: Result<Arc<Endpoint>, ProviderError>,
    /// The address of its list of models.
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
        let body =
            |endpoint: &Endpoint| request::body(request, OpenaiDialect::from_url(&endpoint.url));
        exchange::run(
            &self.http,
            &self.endpoint,
            request.model,
            body,
            events::ResponsesDecoder::default(),
        )
    }

    fn models(&self) -> ModelListFuture {
        model_list::fetch_models(&self.http, self.list.clone(), model_list::parse_ids)
    }

    fn can_force(&self, _model: &ModelInfo) -> bool {
        true
    }
}
