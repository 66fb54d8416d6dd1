//! Providers as they are used: one instance for each address and key, shared with its connections.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::app::Setup;
use crate::config::{Config, KeySource, ProviderConfig, ProviderKind, base_url_variable};
use crate::exec::{Shell, ShellCall, StartDirs};
use crate::protocol::{EnvOverlay, Redactor, StartDir};
use crate::provider::scripted::Scripted;
use crate::provider::{
    HttpClient, Key, Kind, ModelError, Provider, ProviderSettings, Secret, build,
};

/// Where the Messages API is, for a provider that does not say.
const ANTHROPIC_URL: &str = "https://api.anthropic.com";

/// The same for the Gemini API. The other wires have no usual place.
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com";

/// How long the command that prints a key may take.
const KEY_COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// The providers of a session. Each is built at its first use.
pub(super) struct Pool {
    config: Arc<Config>,
    /// The environment of this process.
    env: EnvOverlay,
    /// What agents have: the same, and what settings files set.
    session: EnvOverlay,
    starts: StartDirs,
    /// Where the command of each provider starts that prints its key.
    key_starts: BTreeMap<String, StartDir>,
    http: HttpClient,
    redactor: Redactor,
    built: Mutex<HashMap<Identity, Arc<Instance>>>,
}

type Instance = OnceCell<Arc<dyn Provider>>;

/// What makes two uses of a provider the same instance.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    name: String,
    base_url: String,
    key: KeyFrom,
}

/// Where an instance's key comes from.
#[derive(Clone, PartialEq, Eq, Hash)]
enum KeyFrom {
    Given(Key),
    /// A shell command prints it: run once, in the session's environment.
    Command(String),
    /// There is none; `wanted` is the variable to set, if there is one.
    Nowhere {
        wanted: Option<String>,
    },
}

impl Pool {
    /// A pool that has built nothing yet.
    pub fn new(setup: &Setup, config: Arc<Config>) -> Self {
        let start = |name: &String| {
            let key = format!("providers.{name}.api_key_command");
            (name.clone(), setup.loaded.start_of(&key, &setup.dirs, &setup.cwd))
        };
        let key_starts = config.providers.keys().map(start).collect();
        Self {
            env: setup.env.clone(),
            session: setup.loaded.variables.over(&setup.env),
            starts: setup.starts.clone(),
            key_starts,
            http: HttpClient::new(&setup.env),
            redactor: setup.redactor.clone(),
            built: Mutex::default(),
            config,
        }
    }

    /// The provider of this name as the session reaches it. A missing key is its first request's error.
    pub async fn get(&self, name: &str) -> Result<Arc<dyn Provider>, ModelError> {
        let config = self.config_of(name)?;
        let identity = self.identity(name, config, &self.env);
        self.instance(identity, config).await
    }

    /// The provider of this name as an agent with the environment `env` reaches it. A missing key
    /// is an error at once.
    pub async fn get_for(
        &self,
        name: &str,
        env: Option<&EnvOverlay>,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        let config = self.config_of(name)?;
        // What settings files set is for commands, hooks and servers, and reaches no provider.
        let env = env.map(|env| self.env.with(env.beyond(&self.session).iter()));
        let identity = self.identity(name, config, env.as_ref().unwrap_or(&self.env));
        if let KeyFrom::Nowhere { wanted } = &identity.key
            && needs_key(&identity, config)
        {
            let advice = match wanted {
                Some(variable) => format!("set {variable}"),
                None => format!("set api_key_env of [providers.{name}] in config.toml"),
            };
            return Err(ModelError::Auth(format!(
                "`provider`: there is no key for {name}: {advice}."
            )));
        }
        self.instance(identity, config).await
    }

    /// What the configuration says of a provider.
    pub fn config_of(&self, name: &str) -> Result<&ProviderConfig, ModelError> {
        self.config.providers.get(name).ok_or_else(|| {
            let known: Vec<_> = self.config.providers.keys().map(String::as_str).collect();
            let known = known.join(", ");
            ModelError::Usage(format!("there is no provider {name:?}; defined: {known}"))
        })
    }

    /// How `env` reaches a provider. The session's key goes to the session's address only: who
    /// names another address brings a key of its own.
    fn identity(&self, name: &str, config: &ProviderConfig, env: &EnvOverlay) -> Identity {
        let own = env.beyond(&self.env);
        let moved = base_url_variable(name).and_then(|variable| own.non_empty(variable));
        let usual = if config.kind == ProviderKind::Gemini { GEMINI_URL } else { ANTHROPIC_URL };
        let base_url = moved.or(config.base_url.as_deref()).unwrap_or(usual).to_owned();
        let key = match (self.key_from(name, &own), moved) {
            (KeyFrom::Given(key), _) => KeyFrom::Given(key),
            (_, None) => self.key_from(name, env),
            (_, Some(_)) => KeyFrom::Nowhere { wanted: config.api_key_env.clone() },
        };
        Identity { name: name.to_owned(), base_url, key }
    }

    fn key_from(&self, provider: &str, env: &EnvOverlay) -> KeyFrom {
        match self.config.key_source(provider, env) {
            Some(KeySource::Env { name, bearer }) => match env.get(&name).and_then(Secret::new) {
                Some(secret) if bearer => KeyFrom::Given(Key::Bearer(secret)),
                Some(secret) => KeyFrom::Given(Key::ApiKey(secret)),
                None => KeyFrom::Nowhere { wanted: Some(name) },
            },
            Some(KeySource::Command(line)) => KeyFrom::Command(line),
            Some(KeySource::Missing { wanted }) => KeyFrom::Nowhere { wanted: Some(wanted) },
            Some(KeySource::NotNeeded) | None => KeyFrom::Nowhere { wanted: None },
        }
    }

    async fn instance(
        &self,
        identity: Identity,
        config: &ProviderConfig,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        let cell = {
            let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
            built.entry(identity.clone()).or_default().clone()
        };
        cell.get_or_try_init(|| self.build(&identity, config)).await.cloned()
    }

    async fn build(
        &self,
        identity: &Identity,
        config: &ProviderConfig,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        let Some(mut settings) = settings(identity, config) else {
            return scripted(&identity.name, config);
        };
        settings.key = match &identity.key {
            KeyFrom::Given(key) => Some(key.clone()),
            KeyFrom::Command(line) => {
                Some(self.key_from_command(&identity.name, line).await.map_err(ModelError::Auth)?)
            }
            KeyFrom::Nowhere { .. } => None,
        };
        if let Some(key) = &settings.key {
            self.redactor.add(key.secret().expose());
        }
        Ok(build(&settings, &self.http))
    }

    /// Runs the person's own command for the key. What it prints is never shown.
    async fn key_from_command(&self, provider: &str, line: &str) -> Result<Key, String> {
        let dir = self.key_starts.get(provider).unwrap_or(&StartDir::Private);
        let start = self.starts.start(dir, &self.env).await.map_err(|error| {
            format!("api_key_command: there is no empty folder to start it in: {error}")
        })?;
        let shell = Shell::new(start.cwd.as_path().into(), Arc::from([]));
        // What a program says beside the key, such as a warning, is no part of it.
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
        if let Some(end) = outcome.exit.words() {
            let place = match dir {
                StartDir::Private => {
                    "; it starts in an empty folder, so name files by absolute paths"
                }
                StartDir::Project(_) => "",
            };
            return Err(format!(
                "api_key_command of [providers.{provider}] gave no key ({end}): run it yourself to see why{place}"
            ));
        }
        let secret = Secret::new(&outcome.output.text);
        secret.map(Key::ApiKey).ok_or_else(|| {
            format!(
                "api_key_command of [providers.{provider}] printed nothing: it must print the key"
            )
        })
    }
}

/// The settings of a provider that is reached over HTTP, without its key; `None` for the scripted kind.
fn settings(identity: &Identity, config: &ProviderConfig) -> Option<ProviderSettings> {
    let kind = match config.kind {
        ProviderKind::Anthropic => Kind::Anthropic,
        ProviderKind::OpenaiChat => Kind::OpenaiChat,
        ProviderKind::OpenaiResponses => Kind::OpenaiResponses,
        ProviderKind::Gemini => Kind::Gemini,
        ProviderKind::Scripted => return None,
    };
    let mut settings = ProviderSettings::new(&identity.name, kind, &identity.base_url);
    settings.idle_timeout = config.idle_timeout();
    settings.key_hint = config.api_key_env.clone().unwrap_or_default();
    // A server on this machine that speaks a wire of OpenAI takes any key or none.
    settings.key_required |= matches!(kind, Kind::Anthropic | Kind::Gemini);
    Some(settings)
}

fn needs_key(identity: &Identity, config: &ProviderConfig) -> bool {
    settings(identity, config).is_some_and(|settings| settings.key_required)
}

/// A provider that plays a scenario file.
fn scripted(name: &str, config: &ProviderConfig) -> Result<Arc<dyn Provider>, ModelError> {
    let path = config.scenario.as_deref().unwrap_or(Path::new(""));
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: the scenario cannot be read: {error}", path.display()))
        .map_err(ModelError::Usage)?;
    let scripted =
        Scripted::from_toml(&text, path).map_err(|error| ModelError::Usage(error.to_string()))?;
    Ok(Arc::new(scripted.with_name(name)))
}
