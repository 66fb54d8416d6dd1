//! Where servers that speak the wires of OpenAI disagree with OpenAI itself.

use url::Url;

use super::ModelRequest;

/// How a server understands the wires of OpenAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI itself: over chat completions its newer models refuse `max_tokens`.
    OpenAi,
    /// Everyone else. Over chat completions many know `max_tokens` alone, and gateways refuse
    /// fields that the model behind them does not know.
    Common,
}

impl Dialect {
    /// The dialect of the server at `url`.
    pub fn of(url: &Url) -> Self {
        match url.host_str() {
            Some(host) if host == "api.openai.com" || host.ends_with(".api.openai.com") => {
                Self::OpenAi
            }
            _ => Self::Common,
        }
    }

    /// The key by which the server finds the machine that has the conversation in its cache.
    pub fn cache_key(self, request: &ModelRequest<'_>) -> Option<String> {
        (self == Self::OpenAi).then(|| request.cache_key())
    }
}
