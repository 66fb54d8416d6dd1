//! Provider settings, and building a provider from them.

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
pub enum WireKind {
    /// The Anthropic Messages API.
    Anthropic,
    /// OpenAI's chat completions, as most other servers speak them too.
    OpenaiChat,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// The Gemini API.
    Gemini,
}

/// A key, with the way it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// In the wire's own key header, such as `x-api-key`.
    ApiKey(Secret),
    /// As `authorization: Bearer`.
    Bearer(Secret),
}

impl Credential {
    /// Returns the key, however it is sent.
    pub fn secret(&self) -> &Secret {
        match self {
            Self::ApiKey(secret) | Self::Bearer(secret) => secret,
        }
    }
}

/// A provider as configured.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The name in the configuration, such as `anthropic`.
    pub name: String,
    pub kind: WireKind,
    /// The prefix of the API's paths.
    pub base_url: String,
    pub key: Option<Credential>,
    /// The environment variable to set if the key is missing or rejected; may be empty.
    pub key_hint: String,
    /// Whether a request without a key is refused before it is sent.
    pub key_required: bool,
    /// How long the server may be silent, from the request on and between any two bytes of its answer.
    pub idle_timeout: Duration,
}

impl ProviderSettings {
    /// Creates settings without a key. A key is required unless the server runs on this machine or
    /// in its own network.
    pub fn new(name: impl Into<String>, kind: WireKind, base_url: impl Into<String>) -> Self {
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

/// Builds the provider. Does nothing until its first request; invalid settings are that request's error.
pub fn build(settings: &ProviderSettings, http: &HttpClient) -> Arc<dyn Provider> {
    match settings.kind {
        WireKind::Anthropic => Arc::new(Anthropic::new(settings, http)),
        WireKind::OpenaiChat => Arc::new(OpenaiChat::new(settings, http)),
        WireKind::OpenaiResponses => Arc::new(OpenaiResponses::new(settings, http)),
        WireKind::Gemini => Arc::new(Gemini::new(settings, http)),
    }
}
