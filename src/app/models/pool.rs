//! Shared providers: one instance for each address and key, including its connections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::app::setup::Setup;
use crate::config::{Config, KeySource, ProviderConfig, ProviderKind, base_url_variable};
use crate::exec::{Shell, ShellCall, StartDirs};
use crate::protocol::{ApiKey, EnvOverlay, Redactor, StartDir};
use crate::provider::{Credential, HttpClient, Provider, ProviderError, ProviderSettings, build};

/// The default URL of the Messages API.
const ANTHROPIC_URL: &str = "https://api.anthropic.com";

/// The default URL of the Gemini API. The other wires have none.
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com";

/// The timeout of a command that prints a key.
const KEY_COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// The providers of a session. Each is built on first use.
pub(super) struct ProviderPool {
    config: Arc<Config>,
    /// The environment of this process.
    env: EnvOverlay,
    /// The environment of agents, which includes variables from settings files.
    session: EnvOverlay,
    starts: StartDirs,
    /// The providers that the user's configuration or environment names.
    set_up: BTreeSet<String>,
    /// The folder where each provider's key command starts.
    key_starts: BTreeMap<String, StartDir>,
    http: HttpClient,
    redactor: Redactor,
    built: Mutex<HashMap<ProviderIdentity, Arc<ProviderCell>>>,
}

type ProviderCell = OnceCell<Arc<dyn Provider>>;

/// The key of an instance: uses with the same identity share it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ProviderIdentity {
    name: String,
    base_url: String,
    key: KeyOrigin,
}

/// The source of an instance's key.
#[derive(Clone, PartialEq, Eq, Hash)]
enum KeyOrigin {
    Given(Credential),
    /// A shell command that prints it, run once in the session's environment.
    Command(String),
    /// Missing; `wanted` is the variable to set, if any.
    None {
        wanted: Option<String>,
    },
}

impl ProviderPool {
    /// Creates an empty pool.
    pub fn new(setup: &Setup, config: Arc<Config>) -> Self {
        let start = |name: &String| {
            let key = format!("providers.{name}.api_key_command");
            (name.clone(), setup.loaded.start_of(&key, &setup.dirs, &setup.cwd))
        };
        let key_starts = config.providers.keys().map(start).collect();
        let is_named = |name: &str| {
            config.subagents.default_provider == name
                || config.subagents.allowed_models.contains_key(name)
        };
        let is_own = |name: &&String| {
            setup.loaded.origins.is_set_below(&format!("providers.{name}")) || is_named(name)
        };
        let set_up = config.providers.keys().filter(is_own).cloned().collect();
        Self {
            env: setup.env.clone(),
            session: setup.loaded.variables.apply_to(&setup.env),
            starts: setup.starts.clone(),
            key_starts,
            set_up,
            http: HttpClient::new(&setup.env),
            redactor: setup.redactor.clone(),
            built: Mutex::default(),
            config,
        }
    }

    /// Returns the provider of this name with the session's address and key. A missing key only
    /// fails its first request.
    pub async fn get(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        let config = self.config_of(name)?;
        let identity = self.identity(name, config, &self.env);
        self.instance(identity, config).await
    }

    /// Returns the provider of this name for an agent with the environment `env`. A missing key fails at once.
    pub async fn get_for(
        &self,
        name: &str,
        env: Option<&EnvOverlay>,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        let config = self.config_of(name)?;
        // Variables from settings files are for commands, hooks and servers, not for providers.
        let env = env.map(|env| self.env.with(env.difference(&self.session).iter()));
        let identity = self.identity(name, config, env.as_ref().unwrap_or(&self.env));
        if let KeyOrigin::None { wanted } = &identity.key
            && needs_key(&identity, config)
        {
            let advice = match wanted {
                Some(variable) => format!("set {variable}"),
                None => format!("set api_key_env of [providers.{name}] in config.toml"),
            };
            return Err(ProviderError::auth(format!(
                "`provider`: there is no key for {name}: {advice}."
            )));
        }
        self.instance(identity, config).await
    }

    /// Whether requests may go to the provider without further settings: the user has set it up, or it
    /// takes a key, whose absence is an error of its own.
    pub fn is_set_up(&self, name: &str) -> bool {
        let takes_key = |config: &ProviderConfig| {
            let identity = self.identity(name, config, &self.env);
            !matches!(identity.key, KeyOrigin::None { .. }) || needs_key(&identity, config)
        };
        self.set_up.contains(name) || self.config.providers.get(name).is_some_and(takes_key)
    }

    /// Returns the configuration of a provider.
    pub fn config_of(&self, name: &str) -> Result<&ProviderConfig, ProviderError> {
        self.config.providers.get(name).ok_or_else(|| {
            let known: Vec<_> = self.config.providers.keys().map(String::as_str).collect();
            let known = known.join(", ");
            ProviderError::bad_request(format!("there is no provider {name:?}; defined: {known}"))
        })
    }

    /// Returns the address and key of a provider in `env`. The session's key is sent only to the
    /// session's address: another address needs its own key.
    fn identity(&self, name: &str, config: &ProviderConfig, env: &EnvOverlay) -> ProviderIdentity {
        let own = env.difference(&self.env);
        let moved = base_url_variable(name).and_then(|variable| own.non_empty(variable));
        let usual = match config.kind {
            ProviderKind::Gemini => GEMINI_URL,
            ProviderKind::Anthropic => ANTHROPIC_URL,
            // The configuration must name one.
            ProviderKind::OpenaiChat | ProviderKind::OpenaiResponses => "",
            ProviderKind::Scripted => "",
        };
        let base_url =
            moved.or(config.base_url.as_ref().map(|url| url.as_str())).unwrap_or(usual).to_owned();
        let key = match (self.key_from(name, &own), moved) {
            (KeyOrigin::Given(key), _) => KeyOrigin::Given(key),
            (_, None) => self.key_from(name, env),
            (_, Some(_)) => KeyOrigin::None { wanted: config.api_key_env.clone() },
        };
        ProviderIdentity { name: name.to_owned(), base_url, key }
    }

    fn key_from(&self, provider: &str, env: &EnvOverlay) -> KeyOrigin {
        match self.config.key_source(provider, env) {
            Some(KeySource::Env { name, bearer }) => match env.get(&name).and_then(ApiKey::new) {
                Some(key) if bearer => KeyOrigin::Given(Credential::Bearer(key)),
                Some(key) => KeyOrigin::Given(Credential::ApiKey(key)),
                None => KeyOrigin::None { wanted: Some(name) },
            },
            Some(KeySource::Command(line)) => KeyOrigin::Command(line),
            Some(KeySource::Missing { wanted }) => KeyOrigin::None { wanted: Some(wanted) },
            Some(KeySource::NotNeeded) | None => KeyOrigin::None { wanted: None },
        }
    }

    async fn instance(
        &self,
        identity: ProviderIdentity,
        config: &ProviderConfig,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        let cell = {
            let mut built = self.built.lock();
            built.entry(identity.clone()).or_default().clone()
        };
        cell.get_or_try_init(|| self.build(&identity, config)).await.cloned()
    }

    async fn build(
        &self,
        identity: &ProviderIdentity,
        config: &ProviderConfig,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        let mut settings = settings(identity, config);
        settings.key = match &identity.key {
            KeyOrigin::Given(key) => Some(key.clone()),
            KeyOrigin::Command(line) => Some(
                self.key_from_command(&identity.name, line).await.map_err(ProviderError::auth)?,
            ),
            KeyOrigin::None { .. } => None,
        };
        if let Some(key) = &settings.key {
            self.redactor.add(key.key().expose());
        }
        build(&settings, &self.http)
    }

    /// Runs the user's command that prints the key. Its output is never shown.
    async fn key_from_command(&self, provider: &str, line: &str) -> Result<Credential, String> {
        let dir = self.key_starts.get(provider).unwrap_or(&StartDir::Private);
        let start = self.starts.start(dir, &self.env).await.map_err(|error| {
            format!("api_key_command: cannot create an empty folder to start it in: {error}")
        })?;
        let shell = Shell::new(start.cwd.as_path().into(), Arc::from([]));
        // Discard warnings and the like: they are not part of the key.
        let line = format!("exec 2>/dev/null\n{line}");
        let call = ShellCall {
            line: &line,
            env: &start.env,
            depth: 0,
            limit: Some(KEY_COMMAND_LIMIT),
            cancel: &CancellationToken::new(),
            read_only: None,
        };
        let outcome = shell.run(call, |_| {}).await;
        start.end().await;
        let outcome = outcome.map_err(|error| format!("api_key_command: {error}"))?;
        if let Some(end) = outcome.exit.describe() {
            let hint = match dir {
                StartDir::Private => "; it starts in an empty folder, so use absolute paths",
                StartDir::Project(_) => "",
            };
            return Err(format!(
                "api_key_command of [providers.{provider}] gave no key ({end}): run it yourself to see why{hint}"
            ));
        }
        let key = ApiKey::new(&outcome.output.text);
        key.map(Credential::ApiKey).ok_or_else(|| {
            format!(
                "api_key_command of [providers.{provider}] printed nothing: it must print the key"
            )
        })
    }
}

/// Returns the settings of a provider without its key.
fn settings(identity: &ProviderIdentity, config: &ProviderConfig) -> ProviderSettings {
    let mut settings = ProviderSettings::new(&identity.name, config.kind, &identity.base_url);
    settings.idle_timeout = config.idle_timeout();
    settings.key_hint = config.api_key_env.clone().unwrap_or_default();
    settings.scenario = config.scenario.clone();
    settings.key_required = match config.kind {
        ProviderKind::Anthropic | ProviderKind::Gemini => true,
        // A local server accepts any key or none.
        ProviderKind::OpenaiChat | ProviderKind::OpenaiResponses => settings.key_required,
        ProviderKind::Scripted => false,
    };
    settings
}

fn needs_key(identity: &ProviderIdentity, config: &ProviderConfig) -> bool {
    settings(identity, config).key_required
}
