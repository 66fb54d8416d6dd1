//! What a provider is made from, and the making.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::Provider;
use super::anthropic::Anthropic;
use super::endpoint::is_local;
use super::gemini::Gemini;
use super::http::HttpClient;
use super::openai_chat::OpenaiChat;
use super::openai_responses::OpenaiResponses;
use super::secret::Secret;

/// How long a stream may be silent unless the configuration says otherwise.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// The wire of an HTTP provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The Anthropic Messages API.
    Anthropic,
    /// OpenAI's chat completions, as most other servers speak them too.
    OpenaiChat,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// The Gemini API.
    Gemini,
}

/// How we show who we are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// In the wire's own key header, such as `x-api-key`.
    ApiKey(Secret),
    /// As `authorization: Bearer`.
    Bearer(Secret),
}

impl Key {
    /// The key, whichever way it travels.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        match self {
            Self::ApiKey(secret) | Self::Bearer(secret) => secret,
        }
    }
}

/// One provider as the configuration describes it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The name in the configuration, such as `anthropic`.
    pub name: String,
    pub kind: Kind,
    /// Where the API's paths begin.
    pub base_url: String,
    pub key: Option<Key>,
    /// The environment variable to set when the key is missing or rejected; may be empty.
    pub key_hint: String,
    /// Whether a request without a key is refused before it leaves.
    pub key_required: bool,
    /// How long the server may be silent, from the request on and between any two bytes of its answer.
    pub idle_timeout: Duration,
}

impl ProviderSettings {
    /// Settings without a key. One is required unless the server runs on this machine or in its own network.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let local = Url::parse(&base_url).is_ok_and(|url| is_local(&url));
        Self {
            name: name.into(),
            kind,
            base_url,
            key: None,
            key_hint: String::new(),
            key_required: !local,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
        }
    }
}

impl fmt::Debug for ProviderSettings {
    /// Leaves the URL out: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("key", &self.key)
            .field("key_required", &self.key_required)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}

/// Makes the provider. Costs nothing until its first request; what is wrong with the settings is
/// that request's error.
#[must_use]
pub fn build(settings: &ProviderSettings, http: &HttpClient) -> Arc<dyn Provider> {
    match settings.kind {
        Kind::Anthropic => Arc::new(Anthropic::new(settings, http)),
        Kind::OpenaiChat => Arc::new(OpenaiChat::new(settings, http)),
        Kind::OpenaiResponses => Arc::new(OpenaiResponses::new(settings, http)),
        Kind::Gemini => Arc::new(Gemini::new(settings, http)),
    }
}
