//! `WebFetch`: the text of a web page.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::api::{PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use super::spec::{InvalidInput, ToolSpec};
use super::web_guard::{AddressGuard, RefusedAddress};
use super::web_text;
use crate::protocol::{Access, EnvOverlay, byte_size};

const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes read of a body.
const MAX_BYTES: usize = 1024 * 1024;
const MAX_REDIRECTS: usize = 5;
/// Usual paths of the system's trusted certificates.
const CERTIFICATES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<WebFetchInput>(
        "WebFetch",
        "Fetches a public http(s) URL; HTML comes as plain text.",
    )
});

/// Settings for web access. Clones share connections.
#[derive(Clone, Debug, Default)]
pub struct WebSettings {
    allow_loopback: bool,
    client: Arc<OnceLock<Client>>,
    redirects: RedirectRules,
}

/// Rules for redirects to other hosts. All are allowed by default.
#[derive(Clone, Default)]
pub struct RedirectRules(Option<Arc<RefuseFn>>);

type RefuseFn = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

impl RedirectRules {
    /// Creates rules from `refuses`, which is called for each redirect with the permitted address
    /// and the new one, and returns why it must not be followed.
    pub fn new(refuses: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(refuses)))
    }
}

impl fmt::Debug for RedirectRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedirectRules").field(&self.0.is_some()).finish()
    }
}

/// The tool.
#[derive(Debug)]
pub struct WebFetch {
    settings: WebSettings,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebFetchInput {
    url: String,
    // Models may say what they look for; they get the whole text.
    #[serde(rename = "prompt")]
    #[schemars(skip)]
    _prompt: Option<String>,
}

impl WebSettings {
    /// Creates settings that also allow servers on this machine, for tests.
    pub fn with_loopback() -> Self {
        Self { allow_loopback: true, ..Self::default() }
    }

    /// Sets the rules for redirects.
    pub fn with_redirects(self, redirects: RedirectRules) -> Self {
        Self { redirects, ..self }
    }

    fn guard(&self) -> AddressGuard {
        AddressGuard { allow_loopback: self.allow_loopback }
    }

    /// Returns the client, created at the first fetch: the startup path reads no certificates.
    fn client(&self, env: &EnvOverlay) -> Result<Client, ToolError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .tls_backend_preconfigured(tls(env)?)
            .dns_resolver(self.guard())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("caliban/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ToolError::failed(format!("Cannot set up web access: {error}.")))?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

impl WebFetch {
    /// Creates a fetcher. Nothing is set up before the first fetch.
    pub fn new(settings: WebSettings) -> Self {
        Self { settings }
    }

    async fn fetch(&self, url: Url, cx: &ToolContext) -> Result<ToolOutcome, ToolError> {
        let (settings, env) = (self.settings.clone(), cx.env.clone());
        let client = cx.blocking(move |_| settings.client(&env)).await?;
        let first = url.clone();
        let mut url = url;
        for _ in 0..=MAX_REDIRECTS {
            self.settings.guard().check_url(&url).map_err(|refused| refuse(&refused))?;
            let request =
                client.get(url.clone()).header("accept", "text/html, text/*;q=0.9, */*;q=0.5");
            let response = request.send().await.map_err(|error| unreachable(&url, &error))?;
            let Some(next) = self.redirect(&first, &url, &response)? else {
                return page(url, response, cx).await;
            };
            url = next;
        }
        Err(ToolError::failed(format!("Gave up after {MAX_REDIRECTS} redirects, last to {url}.")))
    }

    /// Returns the target of a redirect of `url`. A page on another host is not followed, because
    /// it was not the one that was allowed, and neither is one that leaves https. With or without
    /// `www.` it is the same host, unless a rule covers one and not the other. `first` is the
    /// permitted address.
    fn redirect(
        &self,
        first: &Url,
        url: &Url,
        response: &Response,
    ) -> Result<Option<Url>, ToolError> {
        if !response.status().is_redirection() {
            return Ok(None);
        }
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let Some(next) = location.and_then(|location| url.join(location).ok()) else {
            return Ok(None);
        };
        if !matches!(next.scheme(), "http" | "https") {
            let text = format!("{url} redirects to {}, which is not http(s).", next.scheme());
            return Err(ToolError::failed(text));
        }
        self.settings.guard().check_url(&next).map_err(|refused| refuse(&refused))?;
        if bare_host(&next) != bare_host(url) {
            let text = format!("{url} redirects to another host. To go there, fetch {next}");
            return Err(ToolError::failed(text));
        }
        if url.scheme() == "https" && next.scheme() == "http" {
            let text = format!(
                "{url} redirects from https to http, where others on the network can read \
                 and change the page. To go there, fetch {next}"
            );
            return Err(ToolError::failed(text));
        }
        let refuses = self.settings.redirects.0.as_ref();
        let refused = refuses.filter(|_| next.host() != url.host());
        if let Some(why) = refused.and_then(|refuses| refuses(first.as_str(), next.as_str())) {
            let text = format!("{url} redirects to {next}, and {why}");
            return Err(ToolError::soft(SoftKind::Denied, text));
        }
        Ok(Some(next))
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: WebFetchInput = SPEC.parse(input)?;
        Ok(Box::new(WebFetchCall { tool: self, url: parse(&input.url)?, written: input.url }))
    }
}

/// A call with a valid input.
struct WebFetchCall {
    tool: Arc<WebFetch>,
    url: Url,
    /// The address as the model wrote it.
    written: String,
}

#[async_trait]
impl PreparedCall for WebFetchCall {
    fn summary(&self) -> String {
        self.written.clone()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Fetch { url: self.written.clone() }
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(FETCH_TIMEOUT)
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, url, .. } = *self;
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::soft(SoftKind::Cancelled, "Cancelled.")),
            result = Box::pin(tool.fetch(url, &cx)) => result,
        }
    }
}

fn parse(text: &str) -> Result<Url, InvalidInput> {
    let url = Url::parse(text)
        .map_err(|error| InvalidInput(format!("url is not valid ({error}): {text:?}.")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let text = format!("url must begin with http:// or https://, not {}:.", url.scheme());
        return Err(InvalidInput(text));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(InvalidInput("url must not hold a user name or password.".to_owned()));
    }
    Ok(url)
}

fn bare_host(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

/// Reads the answer, up to 1 MB.
async fn page(
    url: Url,
    mut response: Response,
    cx: &ToolContext,
) -> Result<ToolOutcome, ToolError> {
    let status = response.status();
    if !status.is_success() {
        return Err(ToolError::failed(format!("{url} answered {status}.")));
    }
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = header.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    let mut cut = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&url, &error))? {
        let fits = chunk.len().min(MAX_BYTES - body.len());
        body.extend_from_slice(&chunk[..fits]);
        if fits < chunk.len() {
            cut = true;
            break;
        }
    }
    let summary = byte_size(body.len() as u64);
    cx.blocking(move |_| {
        let mut text = web_text::readable(&content_type, &body)?;
        if text.is_empty() {
            text.push_str("(the page has no text)");
        }
        if cut {
            text.push_str("\n(only the first 1 MB was read)");
        }
        Ok(ToolOutcome::text(text, summary))
    })
    .await
}

/// Trusts the system's certificates; `SSL_CERT_FILE` takes precedence. The variables are passed in,
/// because this reads no environment.
fn tls(env: &EnvOverlay) -> Result<ClientConfig, ToolError> {
    let files = env.non_empty("SSL_CERT_FILE").into_iter().chain(CERTIFICATES);
    let mut roots = RootCertStore::empty();
    for file in files {
        let Ok(pem) = std::fs::read(file) else { continue };
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten());
        if !roots.is_empty() {
            break;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ToolError::failed(format!("Cannot set up TLS: {error}.")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn refuse(refused: &RefusedAddress) -> ToolError {
    ToolError::soft(SoftKind::Denied, format!("Not fetched: {refused}."))
}

/// Describes why there is no answer: the innermost error is the most specific.
fn unreachable(url: &Url, error: &reqwest::Error) -> ToolError {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        if let Some(refused) = inner.downcast_ref::<RefusedAddress>() {
            return refuse(refused);
        }
        cause = inner;
    }
    ToolError::failed(format!("Cannot fetch {url}: {cause}."))
}

#[cfg(test)]
mod tls_server;

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::response::{Html, Redirect};
    use axum::routing::get;
    use serde_json::json;

    use super::super::testing::{ToolFixture, text};
    use super::*;

    /// Serves a few pages on loopback and returns its address.
    async fn server() -> String {
        let pages = Router::new()
            .route("/page", get(|| async { Html("<p>Hello</p>") }))
            .route("/big", get(|| async { "x".repeat(2 * MAX_BYTES) }))
            .route("/image", get(|| async { ([("content-type", "image/png")], b"\x89PNG") }))
            .route("/near", get(|| async { Redirect::to("/page") }))
            .route("/loop", get(|| async { Redirect::to("/loop") }))
            .route("/far", get(|| async { Redirect::to("http://example.com/x") }))
            .route("/www", get(www))
            .route("/file", get(|| async { Redirect::to("file:///etc/passwd") }))
            .route("/meta", get(|| async { Redirect::to("http://169.254.169.254/latest") }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, pages).await });
        format!("http://{address}")
    }

    /// Leads to the same server under its other name.
    async fn www(headers: axum::http::HeaderMap) -> Redirect {
        let host = headers["host"].to_str().unwrap();
        Redirect::to(&format!("http://www.{host}/page"))
    }

    async fn fetch(settings: WebSettings, url: &str) -> Result<ToolOutcome, ToolError> {
        let call = Arc::new(WebFetch::new(settings))
            .prepare(&json!({"url": url, "prompt": "what is it?"}))
            .map_err(|error| ToolError::soft(SoftKind::InvalidInput, error.0))?;
        call.run(ToolFixture::new().context(Access::Other)).await
    }

    async fn error(settings: &WebSettings, url: &str) -> String {
        fetch(settings.clone(), url).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_page_is_fetched_as_text_also_over_a_redirect() {
        let (server, settings) = (server().await, WebSettings::with_loopback());
        for path in ["/page", "/near"] {
            let outcome = fetch(settings.clone(), &format!("{server}{path}")).await.unwrap();
            assert_eq!(text(&outcome), "Hello");
        }
        let big = text(&fetch(settings.clone(), &format!("{server}/big")).await.unwrap());
        assert!(big.ends_with("\n(only the first 1 MB was read)"));
        assert!(big.len() < 60_000);
    }

    #[tokio::test]
    async fn addresses_that_are_not_public_are_refused() {
        let settings = WebSettings::default();
        for url in [
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
            "http://169.254.169.254/latest/meta-data",
            "http://localhost:1/",
            "https://[::ffff:127.0.0.1]/",
        ] {
            let error = error(&settings, url).await;
            assert!(error.ends_with("only public web addresses can be fetched."), "{error}");
        }
    }

    #[tokio::test]
    async fn redirects_cannot_lead_astray() {
        let (server, settings) = (server().await, WebSettings::with_loopback());
        let error = async |path: &str| error(&settings, &format!("{server}{path}")).await;
        assert_eq!(
            error("/meta").await,
            "Not fetched: 169.254.169.254 is a link-local address; only public web addresses can be fetched."
        );
        assert_eq!(
            error("/far").await,
            format!(
                "{server}/far redirects to another host. To go there, fetch http://example.com/x"
            )
        );
        assert!(error("/file").await.ends_with("redirects to file, which is not http(s)."));
        assert!(error("/loop").await.starts_with("Gave up after 5 redirects"));
    }

    #[tokio::test]
    async fn a_redirect_from_https_to_http_is_not_followed() {
        let plain = server().await;
        let secure = tls_server::start(move |path| match path {
            "/page" => tls_server::page("Secret"),
            "/near" => tls_server::redirect("/page"),
            "/down" => tls_server::redirect(&format!("{plain}/page")),
            "/twice" => tls_server::redirect("/down"),
            other => panic!("{other}"),
        });
        let bench = ToolFixture::new();
        let certificate = bench.file("localhost.pem", tls_server::CERTIFICATE);
        let tool = Arc::new(WebFetch::new(WebSettings::with_loopback()));
        let fetch = async |path: &str| {
            let mut cx = bench.context(Access::Other);
            cx.env = cx.env.with([("SSL_CERT_FILE", &certificate)]);
            let input = json!({"url": format!("{secure}{path}")});
            tool.clone().prepare(&input).unwrap().run(cx).await
        };
        for path in ["/page", "/near"] {
            assert_eq!(text(&fetch(path).await.unwrap()), "Secret");
        }
        for path in ["/down", "/twice"] {
            let error = fetch(path).await.unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{secure}/down redirects from https to http")),
                "{error}"
            );
            assert!(error.contains("To go there, fetch http://127.0.0.1:"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_redirect_to_a_host_that_a_rule_is_about_is_not_followed() {
        let server = server().await.replace("127.0.0.1", "localhost");
        let rules = RedirectRules::new(|from, to| {
            let is_other = from.starts_with("http://localhost:") && to.starts_with("http://www.");
            is_other.then(|| "a rule denies it".to_owned())
        });
        let settings = WebSettings::with_loopback().with_redirects(rules);
        let www = server.replace("//", "//www.");
        assert_eq!(
            error(&settings, &format!("{server}/www")).await,
            format!("{server}/www redirects to {www}/page, and a rule denies it")
        );
        // On the same host there is nothing to ask.
        let near = fetch(settings, &format!("{server}/near")).await.unwrap();
        assert_eq!(text(&near), "Hello");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_told() {
        let (server, settings) = (server().await, WebSettings::with_loopback());
        let missing = error(&settings, &format!("{server}/none")).await;
        assert_eq!(missing, format!("{server}/none answered 404 Not Found."));
        let image = error(&settings, &format!("{server}/image")).await;
        assert_eq!(
            image,
            "The answer is binary (image/png). Download it with Bash if you need it."
        );
        let scheme = error(&settings, "ftp://example.com").await;
        assert_eq!(scheme, "url must begin with http:// or https://, not ftp:.");
    }
}
