//! The address of requests, and its name in errors.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::ProviderError;
use super::settings::{Credential, ProviderSettings, is_local};
use crate::protocol::ApiKey;

/// The address of one provider's requests, with the headers that carry its key.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub url: Url,
    /// Headers of every request, the key among them.
    pub headers: HeaderMap,
    /// Host and port as the user writes them.
    pub host: String,
    /// Whether the server runs on this machine or in its own network.
    pub local: bool,
    /// The provider's name as the user writes it.
    pub label: String,
    pub idle_timeout: Duration,
    key: Option<ApiKey>,
    key_hint: String,
}

impl Endpoint {
    /// Creates the endpoint at `path` below the base URL. A first segment that the base ends with
    /// is not repeated. An API key goes into the header `key_header` unchanged; without one it is
    /// sent as a bearer token.
    pub fn new(
        settings: &ProviderSettings,
        path: &[&str],
        key_header: Option<HeaderName>,
    ) -> Result<Self, ProviderError> {
        let url = join(&parse_base(settings)?, path);
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            let (name, value) = match (key, key_header) {
                (Credential::ApiKey(key), Some(name)) => (name, key.expose().to_owned()),
                _ => (AUTHORIZATION, format!("Bearer {}", key.key().expose())),
            };
            headers.insert(name, sensitive(&value, settings)?);
        }
        let endpoint = Self {
            headers,
            host: authority(&url),
            local: is_local(&url),
            label: label(&settings.name).to_owned(),
            idle_timeout: settings.idle_timeout,
            key: settings.key.as_ref().map(|key| key.key().clone()),
            key_hint: settings.key_hint.clone(),
            url,
        };
        if settings.key_required && endpoint.key.is_none() {
            let message = format!("No key for {}. {}", endpoint.label, endpoint.key_advice());
            return Err(ProviderError::auth(message));
        }
        Ok(endpoint)
    }

    /// Returns the endpoint at `path` below this one, with one more pair in the query.
    pub fn below(&self, path: &[&str], query: Option<(&str, &str)>) -> Self {
        let mut url = join(&self.url, path);
        if let Some((name, value)) = query {
            url.query_pairs_mut().append_pair(name, value);
        }
        Self { url, ..self.clone() }
    }

    /// Returns the address for display, without what may be secret in it.
    pub fn shown_url(&self) -> String {
        format!("{}://{}{}", self.url.scheme(), self.host, self.url.path())
    }

    /// Returns advice about a missing or rejected key.
    pub fn key_advice(&self) -> String {
        if self.key_hint.is_empty() {
            "Set api_key_env for this provider in config.toml".to_owned()
        } else {
            format!("Set {}", self.key_hint)
        }
    }

    /// Masks the key in `text`.
    pub fn scrub(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.scrub(text),
            None => text.to_owned(),
        }
    }
}

fn parse_base(settings: &ProviderSettings) -> Result<Url, ProviderError> {
    let wrong = |why: &str| {
        let message = format!(
            "base_url of [providers.{}] {why}: write it like http://127.0.0.1:8080/v1",
            settings.name
        );
        ProviderError::bad_request(message)
    };
    let url = Url::parse(settings.base_url.trim())
        .map_err(|error| wrong(&format!("is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("is neither http:// nor https://"));
    }
    Ok(url)
}

/// Appends `path` to `base`; its query stays.
fn join(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    let last = base.path().trim_end_matches('/').rsplit('/').next();
    let rest = match path.split_first() {
        Some((first, rest)) if last == Some(*first) => rest,
        _ => path,
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(rest);
    }
    url
}

fn sensitive(value: &str, settings: &ProviderSettings) -> Result<HeaderValue, ProviderError> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        let source = if settings.key_hint.is_empty() { "its source" } else { &settings.key_hint };
        let message = format!(
            "The key for {} contains invalid characters, such as a line break. Check {source}",
            label(&settings.name)
        );
        ProviderError::auth(message)
    })?;
    header.set_sensitive(true);
    Ok(header)
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns a provider's name for display.
pub fn label(provider: &str) -> &str {
    match provider {
        "anthropic" => "Anthropic",
        "openai" => "OpenAI",
        "gemini" => "Gemini",
        "ollama" => "Ollama",
        "llamacpp" => "llama.cpp",
        "vllm" => "vLLM",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::ErrorKind;
    use super::*;
    use crate::config::ProviderKind;

    fn settings(base_url: &str) -> ProviderSettings {
        ProviderSettings {
            key_hint: "ANTHROPIC_API_KEY".into(),
            ..ProviderSettings::new("anthropic", ProviderKind::Anthropic, base_url)
        }
    }

    fn error(settings: &ProviderSettings) -> ProviderError {
        Endpoint::new(settings, &["v1", "messages"], None).err().unwrap()
    }

    #[test]
    fn the_path_is_appended_once() {
        let table = [
            ("http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:9/v1/messages"),
            ("http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/messages"),
            ("http://127.0.0.1:9/api?x=1", "http://127.0.0.1:9/api/v1/messages?x=1"),
        ];
        for (base, expected) in table {
            assert_eq!(join(&Url::parse(base).unwrap(), &["v1", "messages"]).as_str(), expected);
        }
    }

    #[test]
    fn a_path_below_keeps_the_query_and_what_is_no_path() {
        let base = Endpoint::new(&settings("http://127.0.0.1:9/api?x=1"), &["v1beta"], None);
        let base = base.unwrap();
        let below = |name: &str| base.below(&["models", name], Some(("alt", "sse"))).url;
        let expected = "http://127.0.0.1:9/api/v1beta/models/m:run?x=1&alt=sse";
        assert_eq!(below("m:run").as_str(), expected);
        let expected = "http://127.0.0.1:9/api/v1beta/models/..%2F..%2Fm%3Fy=2?x=1&alt=sse";
        assert_eq!(below("../../m?y=2").as_str(), expected);
    }

    #[test]
    fn only_remote_servers_need_a_key() {
        let local =
            ["127.0.0.1:11434", "localhost", "[::1]:8080", "192.168.1.9", "box.local", "ollama"];
        for host in local {
            assert!(
                Endpoint::new(&settings(&format!("http://{host}")), &[], None).is_ok(),
                "{host}"
            );
        }
        for host in ["api.anthropic.com", "8.8.8.8", "127.0.0.1.example.com"] {
            let error = error(&settings(&format!("https://{host}")));
            assert_eq!(error.kind, ErrorKind::Auth, "{host}");
            assert_eq!(error.message, "No key for Anthropic. Set ANTHROPIC_API_KEY");
        }
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_an_error_without_the_key() {
        let key = ApiKey::new("sk-one\nsk-two").map(Credential::ApiKey);
        let error = error(&ProviderSettings { key, ..settings("https://api.anthropic.com") });
        assert_eq!(error.kind, ErrorKind::Auth);
        assert!(!error.message.contains("sk-"), "{error}");
    }

    #[test]
    fn a_base_url_that_is_none_says_which_setting_to_mend() {
        for base in ["", "127.0.0.1:80", "ftp://host/"] {
            let error = error(&settings(base));
            assert_eq!(error.kind, ErrorKind::BadRequest);
            assert!(error.message.starts_with("base_url of [providers.anthropic] is n"), "{error}");
        }
    }
}
