//! The Anthropic Messages API.

use reqwest::header::{HeaderName, HeaderValue};

use super::api::ModelRequest;
use super::endpoint::Endpoint;
use super::error::ProviderError;
use super::settings::ProviderSettings;
use super::wire::Wire;
use crate::config::models::{ModelInfo, Thinking};

mod events;
mod request;

const API_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The wire of the Messages API.
pub(super) struct Anthropic;

impl Wire for Anthropic {
    type Decoder = events::AnthropicDecoder;

    fn base(settings: &ProviderSettings) -> Result<Endpoint, ProviderError> {
        let key_header = HeaderName::from_static("x-api-key");
        let mut base = Endpoint::new(settings, &["v1"], Some(key_header))?;
        base.headers.insert("anthropic-version", API_VERSION);
        Ok(base)
    }

    fn endpoint(base: &Endpoint, _model: &str) -> Endpoint {
        base.below(&["messages"], None)
    }

    fn model_list(base: &Endpoint) -> Endpoint {
        base.below(&["models"], Some(("limit", "1000")))
    }

    fn body(request: &ModelRequest<'_>, _endpoint: &Endpoint) -> serde_json::Result<Vec<u8>> {
        request::body(request)
    }

    /// The API refuses a forced call together with thinking, and an unknown model may think by default.
    fn can_force(model: &ModelInfo) -> bool {
        model.known && model.thinking == Thinking::Off
    }
}
