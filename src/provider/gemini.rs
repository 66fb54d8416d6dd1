//! The Gemini API.

use std::sync::Arc;

use reqwest::header::HeaderName;

use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError};
use crate::config::models::ModelInfo;

mod events;
mod request;
mod thought;

/// A provider that speaks the Gemini API.
pub(super) struct Gemini {
    name: String,
    http: HttpClient,
    /// Where the paths of models begin.
    base: Result<Endpoint, ProviderError>,
}

impl Gemini {
    pub fn new(settings: &ProviderSettings, http: &HttpClient) -> Self {
        let key_header = HeaderName::from_static("x-goog-api-key");
        let base = Endpoint::new(settings, &["v1beta"], Some(key_header));
        Self { name: settings.name.clone(), http: http.clone(), base }
    }
}

impl Provider for Gemini {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: &ModelRequest<'_>) -> EventStream {
        let method = format!("{}:streamGenerateContent", bare(request.model));
        let path = ["models", &method];
        let endpoint = self.base.as_ref().map(|base| base.below(&path, Some(("alt", "sse"))));
        let endpoint = endpoint.map(Arc::new).map_err(Clone::clone);
        let body = |_: &Endpoint| request::body(request);
        exchange::run(&self.http, &endpoint, body, events::Decoder::default())
    }

    fn can_force(&self, _model: &ModelInfo) -> bool {
        true
    }
}

/// The name without the folder that the API itself puts before it.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}
