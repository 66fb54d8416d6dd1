//! OpenAI's chat completions, as OpenAI and most other servers speak them.

use super::api::ModelRequest;
use super::dialect::OpenaiDialect;
use super::endpoint::Endpoint;
use super::wire::Wire;

mod calls;
mod events;
mod request;

/// The wire of chat completions.
pub(super) struct OpenaiChat;

impl Wire for OpenaiChat {
    type Decoder = events::ChatDecoder;

    fn endpoint(base: &Endpoint, _model: &str) -> Endpoint {
        base.below(&["chat", "completions"], None)
    }

    fn body(request: &ModelRequest<'_>, endpoint: &Endpoint) -> serde_json::Result<Vec<u8>> {
        request::body(request, OpenaiDialect::from_url(&endpoint.url))
    }
}
