//! The Gemini API.

use reqwest::header::HeaderName;
use serde_json::Value;

use super::api::{ModelRequest, OfferedModel};
use super::endpoint::Endpoint;
use super::error::ProviderError;
use super::settings::ProviderSettings;
use super::wire::Wire;

mod events;
mod request;
mod signature;

/// The wire of the Gemini API.
pub(super) struct Gemini;

impl Wire for Gemini {
    type Decoder = events::GeminiDecoder;

    fn base(settings: &ProviderSettings) -> Result<Endpoint, ProviderError> {
        let key_header = HeaderName::from_static("x-goog-api-key");
        Endpoint::new(settings, &["v1beta"], Some(key_header))
    }

    fn endpoint(base: &Endpoint, model: &str) -> Endpoint {
        let method = format!("{}:streamGenerateContent", bare(model));
        base.below(&["models", &method], Some(("alt", "sse")))
    }

    fn model_list(base: &Endpoint) -> Endpoint {
        base.below(&["models"], Some(("pageSize", "1000")))
    }

    fn body(request: &ModelRequest<'_>, _endpoint: &Endpoint) -> serde_json::Result<Vec<u8>> {
        request::body(request)
    }

    /// Leaves out models that do not answer prompts.
    fn parse_models(body: &Value) -> Option<Vec<OfferedModel>> {
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
}

/// Returns the name without the folder that the API puts before it.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}
