//! The models that can be picked: what all providers that can be asked offer.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::Models;
use crate::config::{KeySource, ProviderKind};
use crate::provider::{Model, ModelError, OfferedModel, label};
use crate::tui::host::{LocalServer, ModelChoice, ModelList};

/// How long a server that may well not be there has to answer.
const PATIENCE: Duration = Duration::from_millis(800);

/// A provider to be asked.
#[derive(Clone, Copy)]
struct Asked<'a> {
    name: &'a str,
    /// Whether the person counts on it: then a failure is told of.
    expected: bool,
}

impl Models {
    /// What can be picked, the models of the configured provider first.
    pub async fn list(&self) -> ModelList {
        let mut list = ModelList::default();
        for (asked, offered) in self.ask_all(&self.askable()).await {
            match offered {
                Ok(models) => list.choices.extend(self.choices(asked.name, models)),
                Err(why) if asked.expected => {
                    list.notes.push(why);
                    let known = self.known(asked.name);
                    if !known.is_empty() {
                        let name = label(asked.name);
                        list.notes.push(format!("shown of {name} is what the catalogue knows"));
                    }
                    list.choices.extend(self.choices(asked.name, known));
                }
                Err(_) => {}
            }
        }
        list
    }

    /// The providers on this machine that take no key and answer.
    pub async fn local_servers(&self) -> Vec<LocalServer> {
        let keyless: Vec<_> = self.keyless().collect();
        let answers = self.ask_all(&keyless).await.into_iter();
        let found = answers.filter_map(|(asked, offered)| {
            let models = offered.ok()?.into_iter().map(|model| model.name).collect();
            let name = label(asked.name).to_owned();
            Some(LocalServer { name, models, provider: asked.name.to_owned() })
        });
        found.collect()
    }

    /// The first model that a server offers whose provider has none of its own to begin with.
    pub(super) async fn first_offered(&self, provider: &str) -> Result<Model, ModelError> {
        let name = label(provider);
        let unnamed = |why: String| ModelError::Usage(format!("{why}: name one with --model"));
        if self.config.key_source(provider, &self.env) != Some(KeySource::NotNeeded) {
            return Err(unnamed(format!("{provider} has no default model")));
        }
        let provider = self.pool.get(provider).await?;
        let offered = provider
            .models()
            .await
            .map_err(|error| unnamed(format!("{name} cannot be asked for its models ({error})")))?;
        let first = offered.first().ok_or_else(|| unnamed(format!("{name} has no model yet")))?;
        self.at(provider, &first.name)
    }

    async fn ask_all<'a>(
        &self,
        all: &[Asked<'a>],
    ) -> Vec<(Asked<'a>, Result<Vec<OfferedModel>, String>)> {
        join_all(all.iter().map(|asked| async { (*asked, self.ask(*asked).await) })).await
    }

    async fn ask(&self, asked: Asked<'_>) -> Result<Vec<OfferedModel>, String> {
        let asking = self.offered_by(asked.name);
        if asked.expected {
            return asking.await;
        }
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err("no answer".to_owned()))
    }

    /// The models of one provider, or one line on why they are not known: no key, a wrong one, nobody there.
    pub async fn offered_by(&self, provider: &str) -> Result<Vec<OfferedModel>, String> {
        let provider = self.pool.get(provider).await.map_err(|error| error.to_string())?;
        provider.models().await.map_err(|error| error.to_string())
    }

    /// The configured provider, then all with a key at hand, and those that need none. A command
    /// that prints a key runs for the configured provider alone: it may ask the person something.
    fn askable(&self) -> Vec<Asked<'_>> {
        let current = self.config.choose(&self.env).map(|choice| choice.provider);
        let is_current = |name: &str| current.as_deref() == Some(name);
        let mut all: Vec<_> = self.keyless().filter(|asked| !is_current(asked.name)).collect();
        all.extend(self.config.providers.keys().filter_map(|name| {
            let has_key =
                matches!(self.config.key_source(name, &self.env), Some(KeySource::Env { .. }));
            (has_key || is_current(name)).then_some(Asked { name, expected: true })
        }));
        all.sort_by_key(|asked| (!is_current(asked.name), !asked.expected));
        all
    }

    fn keyless(&self) -> impl Iterator<Item = Asked<'_>> {
        let asked = self.config.providers.iter().filter(|(name, provider)| {
            let source = self.config.key_source(name, &self.env);
            provider.kind != ProviderKind::Scripted && source == Some(KeySource::NotNeeded)
        });
        asked.map(|(name, _)| Asked { name, expected: false })
    }

    /// What the catalogue knows of a built-in provider's models; it tells whose they are by the name alone.
    fn known(&self, provider: &str) -> Vec<OfferedModel> {
        let family = match provider {
            "anthropic" => "claude-",
            "openai" => "gpt-",
            "gemini" => "gemini-",
            _ => return Vec::new(),
        };
        let names = self.catalogue.names().filter(|name| name.starts_with(family));
        names.map(|name| OfferedModel { name: name.to_owned(), context_window: None }).collect()
    }

    /// The models as rows, those that the catalogue knows first.
    fn choices(&self, provider: &str, mut models: Vec<OfferedModel>) -> Vec<ModelChoice> {
        models.sort_by_key(|model| !self.catalogue.get(&model.name).known);
        let choice = |model: OfferedModel| {
            let info = self.catalogue.get(&model.name);
            let known = info.known.then_some(info.context_window);
            let window = known.or(model.context_window);
            let window = window.map(|tokens| format!(" · {}k window", tokens / 1000));
            let detail = format!("{}{}", label(provider), window.unwrap_or_default());
            ModelChoice { provider: provider.to_owned(), name: model.name, detail }
        };
        models.into_iter().map(choice).collect()
    }
}
