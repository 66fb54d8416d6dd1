//! The Gemini API.

use std::sync::Arc;

use reqwest::header::HeaderName;
use serde_json::Value;

use super::endpoint::Endpoint;
use super::exchange;
use super::http::HttpClient;
use super::model_list::{self, ModelListFuture, OfferedModel};
use super::settings::ProviderSettings;
use super::{EventStream, ModelRequest, Provider, ProviderError};
use crate::config::models::ModelInfo;

mod events;
mod request;
mod signature;

/// A provider that speaks the Gemini API.
pub(super) struct Gemini {
    name: String,
    http: HttpClient,
    /// The address that model paths begin with.
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
        exchange::run(&self.http, &endpoint, request.model, body, events::GeminiDecoder::default())
    }

    fn models(&self) -> ModelListFuture {
        let list =
            self.base.clone().map(|base| base.below(&["models"], Some(("pageSize", "1000"))));
        model_list::fetch_models(&self.http, list, offered)
    }

    fn can_force(&self, _model: &ModelInfo) -> bool {
        true
    }
}

/// Returns the models of a list that answer prompts.
fn offered(body: &Value) -> Option<Vec<OfferedModel>> {
    let answers = |model: &&Value| {
        let methods = model["supportedGenerationMethods"].as_array();
        methods.is_some_and(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let models = body["models"].as_array()?.iter().filter(answers);
    let named = models.filter_map(|model| {
        let context_window = model["inputTokenLimit"].as_u64();
        Some(OfferedModel { name: bare(model["name"].as_str()?).to_owned(), context_window })
    });
    Some(named.collect())
}

/// Returns the name without the folder that the API puts before it.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}
