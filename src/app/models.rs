//! Models from the configuration: a provider by its name, its key, and what the catalogue knows.

use std::sync::Arc;

use async_trait::async_trait;

use super::Setup;
use crate::config::models::{Catalogue, ThinkingOverride};
use crate::config::{Choice, Config, INHERIT};
use crate::protocol::EnvOverlay;
use crate::provider::{ChildModel, Model, ModelError, ModelSource, Provider, RetryPolicy};

mod choice;
mod list;
mod pool;
#[cfg(test)]
mod tests;

use choice::{Rules, Wish};
use pool::Pool;

/// Makes models, over providers that are built once and shared.
pub struct Models {
    config: Arc<Config>,
    env: EnvOverlay,
    catalogue: Arc<Catalogue>,
    pool: Pool,
    thinking: Option<ThinkingOverride>,
    /// The fallback while a model is overloaded.
    fallback: Option<String>,
}

impl Models {
    /// A source that has built nothing yet.
    #[must_use]
    pub fn new(setup: &Setup, catalogue: &Arc<Catalogue>) -> Self {
        let config = Arc::new(setup.loaded.config.clone());
        Self {
            pool: Pool::new(setup, config.clone()),
            env: setup.env.clone(),
            catalogue: catalogue.clone(),
            thinking: setup.overrides.thinking,
            fallback: setup.overrides.fallback_model.clone(),
            config,
        }
    }

    /// The model that a new session starts with; `None` when nothing is set up yet.
    pub async fn first(&self) -> Result<Option<Model>, ModelError> {
        let Some(choice) = self.config.choose(&self.env) else { return Ok(None) };
        let Some(model) = choice.model else {
            return self.first_offered(&choice.provider).await.map(Some);
        };
        self.resolve(Some(&choice.provider), &model).await.map(Some)
    }

    /// The provider of this name as the session reaches it.
    pub async fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, ModelError> {
        self.pool.get(name).await
    }

    /// Returns warnings for the user when `main` is the main agent's model: about it, and about the
    /// models of sub-agents.
    #[must_use]
    pub fn notices(&self, main: &Model) -> Vec<String> {
        let mut notices = main.notices();
        if self.config.subagents.enabled {
            notices.extend(self.rules().notice(main.provider.name(), &main.name));
        }
        notices
    }

    fn rules(&self) -> Rules<'_> {
        Rules { config: &self.config.subagents, catalogue: &self.catalogue }
    }

    /// The model of this name at a provider, with the one that stands in for it.
    fn at(&self, provider: Arc<dyn Provider>, model: &str) -> Result<Model, ModelError> {
        let main = self.alone(provider.clone(), model)?;
        let fallback = self.fallback.as_deref();
        let other = fallback.filter(|name| self.catalogue.resolve_alias(name) != main.name);
        let other = other.map(|name| self.alone(provider, name).map(Arc::new)).transpose()?;
        Ok(Model { fallback: other, ..main })
    }

    /// The model of this name alone.
    fn alone(&self, provider: Arc<dyn Provider>, model: &str) -> Result<Model, ModelError> {
        let name = self.catalogue.resolve_alias(model).to_owned();
        let mut info = self.catalogue.get(&name);
        if let Some(thinking) = self.thinking {
            info.override_thinking(thinking);
        }
        if info.pricing.is_unknown() && self.config.budget.max_usd.is_some() {
            let why = format!(
                "No price is known for {name}, so a budget in dollars cannot hold: put its price into models.toml, or leave the budget out"
            );
            return Err(ModelError::Usage(why));
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
    async fn resolve(&self, provider: Option<&str>, model: &str) -> Result<Model, ModelError> {
        let chosen = self.config.choose(&self.env).map(|choice| choice.provider);
        let Some(name) = provider.map(str::to_owned).or(chosen) else {
            let why =
                "No provider is set up: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY)";
            return Err(ModelError::Auth(why.to_owned()));
        };
        self.at(self.pool.get(&name).await?, model)
    }

    async fn child(&self, ask: ChildModel<'_>) -> Result<Model, ModelError> {
        let parent = ask.parent;
        if let Some(named) = ask.provider.filter(|name| *name != INHERIT) {
            self.pool.config_of(named)?;
        }
        let wish = Wish {
            parent_provider: parent.provider.name(),
            parent_model: &parent.name,
            provider: ask.provider,
            model: ask.model,
        };
        let Choice { provider, model } = self.rules().choose(wish)?;
        let model = model.unwrap_or_default();
        let same = provider == parent.provider.name();
        let provider = match ask.env {
            None if same => parent.provider.clone(),
            env => self.pool.get_for(&provider, env).await?,
        };
        let child = self.at(provider, &model)?;
        // How hard to think is said in the words of one provider.
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
}
