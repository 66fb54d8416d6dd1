//! How other servers deviate from OpenAI on its wires.

use url::Url;

use super::api::ModelRequest;

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
