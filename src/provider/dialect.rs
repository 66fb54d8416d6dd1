//! Common parts of OpenAI's wires: the deviations of other servers, and the counting of usage.

use serde::Deserialize;
use url::Url;

use super::api::ModelRequest;
use crate::protocol::Usage;

/// A server's dialect of the OpenAI wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenaiDialect {
    /// OpenAI itself: its newer models refuse `max_tokens` in chat completions.
    OpenAi,
    /// Everyone else. In chat completions many support only `max_tokens`, and gateways refuse
    /// fields that the model behind them does not know.
    Common,
}

impl OpenaiDialect {
    /// Returns the dialect of the server at `url`.
    pub fn from_url(url: &Url) -> Self {
        match url.host_str() {
            Some(host) if host == "api.openai.com" || host.ends_with(".api.openai.com") => {
                Self::OpenAi
            }
            _ => Self::Common,
        }
    }

    /// Returns the key by which the server finds the machine with the cached conversation.
    pub fn cache_key(self, request: &ModelRequest<'_>) -> Option<String> {
        (self == Self::OpenAi).then(|| request.cache_key())
    }
}

/// The cached part of the input that a request is charged for.
#[derive(Default, Deserialize)]
pub(super) struct CachedInput {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl CachedInput {
    /// Returns the usage of a request. These wires count cached tokens as part of the input.
    pub fn usage(self, input: Option<u64>, output: Option<u64>) -> Usage {
        let read = self.cached_tokens.unwrap_or(0);
        let written = self.cache_write_tokens.unwrap_or(0);
        Usage {
            input_tokens: input.unwrap_or(0).saturating_sub(read + written),
            output_tokens: output.unwrap_or(0),
            cache_read_input_tokens: read,
            cache_creation_input_tokens: written,
        }
    }
}
