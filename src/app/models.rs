//! Models from the configuration: a provider by its name, its key, and what the catalogue knows.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Setup;
use crate::config::models::Catalogue;
use crate::config::{Config, KeySource, ProviderConfig, ProviderKind};
use crate::exec::{Shell, ShellCall};
use crate::protocol::{EnvOverlay, Redactor};
use crate::provider::scripted::Scripted;
use crate::provider::{
    HttpClient, Key, Kind, Model, Provider, ProviderSettings, RetryPolicy, Secret, build,
};
use crate::runtime::{ModelError, ModelSource};

/// Where the Messages API is, for a provider that does not say. The other wires have no usual place.
const ANTHROPIC_URL: &str = "https://api.anthropic.com";

/// How long the command that prints a key may take.
const KEY_COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// Makes models. Each provider is built once, at its first use, and shared with its connections.
pub struct Models {
    config: Arc<Config>,
    env: EnvOverlay,
    cwd: Arc<Path>,
    http: HttpClient,
    catalogue: Arc<Catalogue>,
    redactor: Redactor,
    built: Mutex<HashMap<String, Arc<dyn Provider>>>,
}

impl Models {
    /// A source that has built nothing yet.
    #[must_use]
    pub fn new(setup: &Setup, catalogue: &Arc<Catalogue>) -> Self {
        Self {
            config: Arc::new(setup.loaded.config.clone()),
            env: setup.env.clone(),
            cwd: setup.cwd.clone(),
            http: HttpClient::new(&setup.env),
            catalogue: catalogue.clone(),
            redactor: setup.redactor.clone(),
            built: Mutex::default(),
        }
    }

    /// The model that a new session starts with; `None` when nothing is set up yet.
    pub async fn first(&self) -> Result<Option<Model>, ModelError> {
        let Some(choice) = self.config.choose(&self.env) else { return Ok(None) };
        let Some(model) = choice.model else {
            let provider = choice.provider;
            let why = format!("{provider} has no default model: name one with --model");
            return Err(ModelError::Usage(why));
        };
        self.resolve(Some(&choice.provider), &model).await.map(Some)
    }

    async fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, ModelError> {
        let mut built = self.built.lock().await;
        if let Some(provider) = built.get(name) {
            return Ok(provider.clone());
        }
        let provider = self.build(name).await?;
        built.insert(name.to_owned(), provider.clone());
        Ok(provider)
    }

    async fn build(&self, name: &str) -> Result<Arc<dyn Provider>, ModelError> {
        let config = self.config_of(name)?;
        let kind = match config.kind {
            ProviderKind::Anthropic => Kind::Anthropic,
            ProviderKind::OpenaiChat => Kind::OpenaiChat,
            ProviderKind::Scripted => return scripted(config).map_err(ModelError::Usage),
        };
        let base_url = config.base_url.as_deref().unwrap_or(ANTHROPIC_URL);
        let mut settings = ProviderSettings::new(name, kind, base_url);
        settings.idle_timeout = config.idle_timeout();
        settings.key_hint = config.api_key_env.clone().unwrap_or_default();
        settings.key = self.key(name).await.map_err(ModelError::Auth)?;
        if let Some(key) = &settings.key {
            self.redactor.add(key.secret().expose());
        }
        // A server on this machine that speaks chat completions takes any key or none.
        settings.key_required |= kind == Kind::Anthropic;
        Ok(build(&settings, &self.http))
    }

    fn config_of(&self, name: &str) -> Result<&ProviderConfig, ModelError> {
        self.config.providers.get(name).ok_or_else(|| {
            let known: Vec<_> = self.config.providers.keys().map(String::as_str).collect();
            let known = known.join(", ");
            ModelError::Usage(format!("There is no provider {name}. There are: {known}."))
        })
    }

    async fn key(&self, provider: &str) -> Result<Option<Key>, String> {
        match self.config.key_source(provider, &self.env) {
            Some(KeySource::Env { name, bearer }) => {
                let secret = self.env.get(&name).and_then(Secret::new);
                Ok(secret.map(if bearer { Key::Bearer } else { Key::ApiKey }))
            }
            Some(KeySource::Command(line)) => {
                self.key_from_command(provider, &line).await.map(Some)
            }
            Some(KeySource::Missing { .. } | KeySource::NotNeeded) | None => Ok(None),
        }
    }

    /// Runs the person's own command for the key. What it prints is never shown.
    async fn key_from_command(&self, provider: &str, line: &str) -> Result<Key, String> {
        let shell = Shell::new(self.cwd.clone(), Arc::from([]));
        // What a program says beside the key, such as a warning, is no part of it.
        let line = format!("exec 2>/dev/null\n{line}");
        let call = ShellCall {
            line: &line,
            env: &self.env,
            depth: 0,
            limit: Some(KEY_COMMAND_LIMIT),
            cancel: &CancellationToken::new(),
        };
        let outcome = shell.run(call, |_| {}).await;
        let outcome = outcome.map_err(|error| format!("api_key_command: {error}"))?;
        if let Some(end) = outcome.exit.words() {
            return Err(format!(
                "api_key_command of [providers.{provider}] gave no key ({end}): run it yourself to see why"
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

#[async_trait]
impl ModelSource for Models {
    async fn resolve(&self, provider: Option<&str>, model: &str) -> Result<Model, ModelError> {
        let chosen = self.config.choose(&self.env).map(|choice| choice.provider);
        let Some(name) = provider.map(str::to_owned).or(chosen) else {
            let why = "No provider is set up: set ANTHROPIC_API_KEY or OPENAI_API_KEY".to_owned();
            return Err(ModelError::Auth(why));
        };
        let provider = self.provider(&name).await?;
        let name_on_wire = self.catalogue.resolve_alias(model).to_owned();
        let info = self.catalogue.get(&name_on_wire);
        if info.price.is_none() && self.config.budget.max_usd.is_some() {
            let why = format!(
                "No price is known for {name_on_wire}, so a budget in dollars cannot hold: put its price into models.toml, or leave the budget out"
            );
            return Err(ModelError::Usage(why));
        }
        let settings = self.config_of(&name)?;
        Ok(Model {
            provider,
            wanted_tokens: self.config.model.max_tokens,
            info,
            name: name_on_wire,
            effort: self.config.model.effort.clone(),
            retry: RetryPolicy { max_retries: settings.max_retries },
        })
    }
}

/// A provider that plays a scenario file.
fn scripted(config: &ProviderConfig) -> Result<Arc<dyn Provider>, String> {
    let path = config.scenario.as_deref().unwrap_or(Path::new(""));
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("The scenario {} cannot be read: {error}", path.display()))?;
    let scripted = Scripted::from_toml(&text, path).map_err(|error| error.to_string())?;
    Ok(Arc::new(scripted))
}
