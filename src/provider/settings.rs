//! The settings of a provider.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use url::{Host, Url};

use crate::config::ProviderKind;
use crate::protocol::{ApiKey, Secret};

/// How long a stream may be silent unless the configuration says otherwise.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// A key, with the way it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// In the wire's own key header, such as `x-api-key`.
    ApiKey(ApiKey),
    /// As `authorization: Bearer`.
    Bearer(ApiKey),
}

impl Credential {
    /// Returns the key, however it is sent.
    pub fn key(&self) -> &ApiKey {
        match self {
            Self::ApiKey(key) | Self::Bearer(key) => key,
        }
    }
}

/// A provider as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The name in the configuration, such as `anthropic`.
    pub name: String,
    pub kind: ProviderKind,
    /// The prefix of the API's paths. It may hold a password.
    pub base_url: Secret<String>,
    pub key: Option<Credential>,
    /// The environment variable to set if the key is missing or rejected; may be empty.
    pub key_hint: String,
    /// Whether a request without a key is refused before it is sent.
    pub key_required: bool,
    /// How long the server may be silent, from the request on and between any two bytes of its answer.
    pub idle_timeout: Duration,
    /// The file of a scripted provider.
    pub scenario: Option<PathBuf>,
}

impl ProviderSettings {
    /// Creates settings without a key. A key is required unless the server runs on this machine or
    /// in its own network.
    pub fn new(name: impl Into<String>, kind: ProviderKind, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let local = Url::parse(&base_url).is_ok_and(|url| is_local(&url));
        Self {
            name: name.into(),
            kind,
            base_url: base_url.into(),
            key: None,
            key_hint: String::new(),
            key_required: !local,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            scenario: None,
        }
    }
}

/// Whether the host is this machine or one of a private network.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => is_local_v4(ip),
        Some(Host::Ipv6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => is_local_v4(ip),
            None => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        },
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            !name.contains('.')
                || [".localhost", ".local", ".internal", ".lan"]
                    .iter()
                    .any(|suffix| name.ends_with(suffix))
        }
        None => false,
    }
}

fn is_local_v4(ip: Ipv4Addr) -> bool {
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
}
