//! Resolves models from the configuration: provider, key, and catalogue entry.

use std::sync::Arc;

use async_trait::async_trait;

use super::setup::Setup;
use crate::config::models::{Catalogue, ThinkingOverride};
use crate::config::{Config, INHERIT, ProviderChoice};
use crate::protocol::EnvOverlay;
use crate::provider::{ChildModel, Model, ModelSource, Provider, ProviderError, RetryPolicy};

mod choice;
mod list;
mod pool;
#[cfg(test)]
mod tests;

use choice::{ModelQuery, ModelRules};
use pool::ProviderPool;

/// Resolves models. Providers are built once and shared.
pub struct Models {
    config: Arc<Config>,
    env: EnvOverlay,
    catalogue: Arc<Catalogue>,
    pool: ProviderPool,
    thinking: Option<ThinkingOverride>,
    /// The model to use while another is overloaded.
    fallback: Option<String>,
}

impl Models {
    /// Creates a source that has not built any provider yet.
    pub fn new(setup: &Setup, catalogue: &Arc<Catalogue>) -> Self {
        let config = Arc::new(setup.loaded.config.clone());
        Self {
            pool: ProviderPool::new(setup, config.clone()),
            env: setup.env.clone(),
            catalogue: catalogue.clone(),
            thinking: setup.overrides.thinking,
            fallback: setup.overrides.fallback_model.clone(),
            config,
        }
    }

    /// Returns the model of a new session; `None` if none is set up yet.
    pub async fn initial(&self) -> Result<Option<Model>, ProviderError> {
        let Some(choice) = self.config.choose_provider(&self.env) else { return Ok(None) };
        let Some(model) = choice.model else {
            return self.first_offered(&choice.provider).await.map(Some);
        };
        self.resolve(Some(&choice.provider), &model).await.map(Some)
    }

    /// Returns the provider of this name with the session's address and key.
    pub async fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        self.pool.get(name).await
    }

    /// Returns warnings for the user when `main` is the main agent's model: about it, and about the
    /// models of sub-agents.
    pub fn notices(&self, main: &Model) -> Vec<String> {
        let mut notices = main.notices();
        if self.config.subagents.enabled {
            notices.extend(self.rules().notice(main.provider.name(), &main.name));
        }
        notices
    }

    fn rules(&self) -> ModelRules<'_> {
        ModelRules { config: &self.config.subagents, catalogue: &self.catalogue }
    }

    /// Builds the model of this name at a provider, with its fallback.
    fn build(&self, provider: Arc<dyn Provider>, model: &str) -> Result<Model, ProviderError> {
        let main = self.build_one(provider.clone(), model)?;
        let fallback = self.fallback.as_deref();
        let other = fallback.filter(|name| self.catalogue.resolve_alias(name) != main.name);
        let other = other.map(|name| self.build_one(provider, name).map(Arc::new)).transpose()?;
        Ok(Model { fallback: other, ..main })
    }

    /// Builds the model of this name without its fallback.
    fn build_one(&self, provider: Arc<dyn Provider>, model: &str) -> Result<Model, ProviderError> {
        let name = self.catalogue.resolve_alias(model).to_owned();
        let mut info = self.catalogue.get(&name);
        if let Some(thinking) = self.thinking {
            info.override_thinking(thinking);
        }
        if info.pricing.is_unknown() && self.config.budget.max_usd.is_some() {
            let why = format!(
                "No price is known for {name}, so a dollar budget cannot be enforced: add its price to models.toml, or remove the budget"
            );
            return Err(ProviderError::bad_request(why));
        }
        let settings = self.pool.config_of(provider.name())?;
        Ok(Model {
            wanted_tokens: self.config.model.max_tokens,
            info,
            name,
            effort: self.config.model.effort.clone(),
            retry: RetryPolicy { max_retries: settings.max_retries },
            fallback: None,
            provider,
        })
    }
}

#[async_trait]
impl ModelSource for Models {
    async fn resolve(&self, provider: Option<&str>, model: &str) -> Result<Model, ProviderError> {
        let chosen = self.config.choose_provider(&self.env).map(|choice| choice.provider);
        let Some(name) = provider.map(str::to_owned).or(chosen) else {
            let why =
                "No provider is set up: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY)";
            return Err(ProviderError::auth(why));
        };
        self.build(self.pool.get(&name).await?, model)
    }

    async fn child(&self, ask: ChildModel<'_>) -> Result<Model, ProviderError> {
        let parent = ask.parent;
        if let Some(named) = ask.provider.filter(|name| *name != INHERIT) {
            self.pool.config_of(named)?;
            if ask.by_call && named != parent.provider.name() && !self.pool.is_set_up(named) {
                return Err(ProviderError::bad_request(format!(
                    "the user has not set up the provider {named:?}; leave `provider` out, or ask the user to set \
                     `base_url` of [providers.{named}] in config.toml"
                )));
            }
        }
        let wish = ModelQuery {
            parent_provider: parent.provider.name(),
            parent_model: &parent.name,
            provider: ask.provider,
            model: ask.model,
        };
        let ProviderChoice { provider, model } = self.rules().choose(wish)?;
        let model = model.unwrap_or_default();
        let same = provider == parent.provider.name();
        let provider = match ask.env {
            None if same => parent.provider.clone(),
            env => self.pool.get_for(&provider, env).await?,
        };
        let child = self.build(provider, &model)?;
        // The effort is specific to a provider.
        let effort = if same { parent.effort.clone() } else { None };
        let child = Model { effort, ..child };
        for notice in child.notices() {
            tracing::info!(%notice, "model of a sub-agent");
        }
        Ok(child)
    }

    fn allowed(&self) -> Vec<(String, Vec<String>)> {
        let lists = self.config.subagents.allowed_models.iter();
        lists.map(|(provider, models)| (provider.clone(), models.clone())).collect()
    }

    fn examples(&self, parent: &str) -> Option<(String, Vec<String>)> {
        let configured = Some(self.config.subagents.default_provider.as_str());
        let provider = configured.filter(|name| *name != INHERIT).unwrap_or(parent);
        let models = self.example_names(provider);
        (!models.is_empty()).then(|| (provider.to_owned(), models))
    }
}
