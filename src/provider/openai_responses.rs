//! OpenAI's Responses API. The server stores nothing: each request carries the whole conversation.

use super::api::ModelRequest;
use super::dialect::OpenaiDialect;
use super::endpoint::Endpoint;
use super::wire::Wire;

mod events;
mod reasoning;
mod request;

/// The wire of the Responses API.
pub(super) struct OpenaiResponses;

impl Wire for OpenaiResponses {
    type Decoder = events::ResponsesDecoder;

    fn endpoint(base: &Endpoint, _model: &str) -> Endpoint {
        base.below(&["responses"], None)
    }

    fn body(request: &ModelRequest<'_>, endpoint: &Endpoint) -> serde_json::Result<Vec<u8>> {
        request::body(request, OpenaiDialect::from_url(&endpoint.url))
    }
}
