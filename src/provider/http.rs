//! The process's HTTP client: connections, proxies, TLS.
//!
//! Nothing is built before the first request needs it, and plain `http://` never touches certificates.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, NoProxy, Proxy, redirect};
use rustls::crypto::ring;
use url::Url;

use super::error::{ProviderError, innermost};
use crate::protocol::{EnvOverlay, Secret};

/// Default time limit for opening a connection.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Hosts that no proxy can reach for us.
const NEVER_PROXIED: &str = "localhost,127.0.0.0/8,::1";

/// A shared pool of connections. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient(Arc<HttpClientInner>);

struct HttpClientInner {
    proxies: Proxies,
    connect_timeout: Duration,
    plain: OnceLock<Result<Client, ProviderError>>,
    tls: OnceLock<Result<Client, ProviderError>>,
}

impl HttpClient {
    /// Creates a client that takes its proxies from `env`.
    pub fn new(env: &EnvOverlay) -> Self {
        Self::with_connect_timeout(env, DEFAULT_CONNECT_TIMEOUT)
    }

    /// Like [`Self::new`], with its own connect timeout.
    pub fn with_connect_timeout(env: &EnvOverlay, connect_timeout: Duration) -> Self {
        Self(Arc::new(HttpClientInner {
            proxies: Proxies::from_env(env),
            connect_timeout,
            plain: OnceLock::new(),
            tls: OnceLock::new(),
        }))
    }

    /// Returns the time limit for opening a connection.
    pub fn connect_timeout(&self) -> Duration {
        self.0.connect_timeout
    }

    /// Returns the client for `url`. It follows no redirects. The first `https://` URL of the
    /// process loads the system's certificates. Fails if there are none, or if a proxy variable is
    /// invalid.
    pub async fn client(&self, url: &Url) -> Result<Client, ProviderError> {
        if !self.needs_tls(url) {
            return self.0.plain.get_or_init(|| self.0.build_plain()).clone();
        }
        if let Some(client) = self.0.tls.get() {
            return client.clone();
        }
        let inner = Arc::clone(&self.0);
        // Reading and parsing hundreds of certificates must not hold up the other agents' streams.
        let built = tokio::task::spawn_blocking(move || {
            inner.tls.get_or_init(|| inner.build_tls()).clone()
        });
        built.await.unwrap_or_else(|_| Err(no_tls("loading the certificates failed")))
    }

    fn needs_tls(&self, url: &Url) -> bool {
        let proxy = self.0.proxies.http.as_ref();
        url.scheme() == "https" || proxy.is_some_and(|proxy| proxy.starts_with("https:"))
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

impl HttpClientInner {
    /// Builds a client that trusts no certificate, so it need not load any.
    fn build_plain(&self) -> Result<Client, ProviderError> {
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| no_tls(&error.to_string()))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let builder = self.builder()?.http1_only().tls_backend_preconfigured(tls);
        builder.build().map_err(|error| no_tls(&innermost(&error)))
    }

    fn build_tls(&self) -> Result<Client, ProviderError> {
        // The client asks rustls for its provider; an error means that one is installed already.
        let _ = ring::default_provider().install_default();
        self.builder()?.build().map_err(|error| no_tls(&innermost(&error)))
    }

    fn builder(&self) -> Result<ClientBuilder, ProviderError> {
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(self.connect_timeout)
            .user_agent(concat!("caliban/", env!("CARGO_PKG_VERSION")));
        for proxy in self.proxies.to_reqwest()? {
            builder = builder.proxy(proxy);
        }
        Ok(builder)
    }
}

/// The proxy variables of the environment.
#[derive(Debug, Default)]
struct Proxies {
    http: Option<Secret<String>>,
    https: Option<Secret<String>>,
    except: String,
}

impl Proxies {
    fn from_env(env: &EnvOverlay) -> Self {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| env.non_empty(name)).map(|value| value.trim().to_owned())
        };
        let url = |names: &[&str]| first(names).map(Secret::from);
        let except = first(&["no_proxy", "NO_PROXY"]);
        Self {
            http: url(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: url(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            except: except.map_or(NEVER_PROXIED.to_owned(), |own| format!("{NEVER_PROXIED},{own}")),
        }
    }

    fn to_reqwest(&self) -> Result<Vec<Proxy>, ProviderError> {
        let mut proxies = Vec::new();
        if let Some(url) = &self.http {
            proxies.push(self.proxy("HTTP_PROXY", url, |url| Proxy::http(url))?);
        }
        if let Some(url) = &self.https {
            proxies.push(self.proxy("HTTPS_PROXY", url, |url| Proxy::https(url))?);
        }
        Ok(proxies)
    }

    /// The errors leave the value out: it may hold a password.
    fn proxy(
        &self,
        variable: &str,
        url: &str,
        make: impl Fn(&str) -> reqwest::Result<Proxy>,
    ) -> Result<Proxy, ProviderError> {
        let wrong = || {
            let message = format!(
                "{variable} is not a supported proxy: write it like http://host:3128, or unset it"
            );
            ProviderError::bad_request(message)
        };
        if url.split_once("://").is_some_and(|(scheme, _)| !matches!(scheme, "http" | "https")) {
            return Err(wrong());
        }
        let proxy = make(url).map_err(|_| wrong())?;
        Ok(proxy.no_proxy(NoProxy::from_string(&self.except)))
    }
}

fn no_tls(why: &str) -> ProviderError {
    let message = format!(
        "Secure connections cannot be set up: {why}. Install the system's CA certificates (package ca-certificates)"
    );
    ProviderError::bad_request(message)
}
