//! Lists the models that can be picked from all available providers.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::Models;
use crate::config::{KeySource, ProviderKind};
use crate::provider::{Model, OfferedModel, ProviderError, label};
use crate::tui::host::{LocalServer, ModelChoice, ModelList};

/// The timeout for a local server that may not be running.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(800);

/// The most models that are shown as examples; each request pays for them.
const MAX_EXAMPLES: usize = 6;

/// A provider to query.
#[derive(Clone, Copy)]
struct ProviderQuery<'a> {
    name: &'a str,
    /// Whether the user expects it to work: then a failure is reported.
    expected: bool,
}

impl Models {
    /// Lists the models that can be picked, those of the configured provider first.
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
                        list.notes.push(format!("{name}: showing the models of the catalogue"));
                    }
                    list.choices.extend(self.choices(asked.name, known));
                }
                Err(_) => {}
            }
        }
        list
    }

    /// Lists the providers on this machine that need no key and answer.
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

    /// Returns the first model that a server offers, for a provider without a default model.
    pub(super) async fn first_offered(&self, provider: &str) -> Result<Model, ProviderError> {
        let name = label(provider);
        let unnamed =
            |why: String| ProviderError::bad_request(format!("{why}: name one with --model"));
        let silent = |error: ProviderError| {
            let why = format!("{name} lists no models ({error})");
            ProviderError::bad_request(format!(
                "{why}: check that it runs, or name one with --model"
            ))
        };
        if self.config.key_source(provider, &self.env) != Some(KeySource::NotNeeded) {
            return Err(unnamed(format!("{provider} has no default model")));
        }
        let provider = self.pool.get(provider).await?;
        let offered = provider.models().await.map_err(silent)?;
        let first = offered.first().ok_or_else(|| unnamed(format!("{name} has no model yet")))?;
        self.build(provider, &first.name)
    }

    async fn ask_all<'a>(
        &self,
        all: &[ProviderQuery<'a>],
    ) -> Vec<(ProviderQuery<'a>, Result<Vec<OfferedModel>, String>)> {
        join_all(all.iter().map(|asked| async { (*asked, self.ask(*asked).await) })).await
    }

    async fn ask(&self, asked: ProviderQuery<'_>) -> Result<Vec<OfferedModel>, String> {
        let asking = self.offered_by(asked.name);
        if asked.expected {
            return asking.await;
        }
        timeout(LOCAL_TIMEOUT, asking).await.unwrap_or_else(|_| Err("no answer".to_owned()))
    }

    /// Lists the models of one provider. The error is one line: no key, a wrong one, no answer.
    pub async fn offered_by(&self, provider: &str) -> Result<Vec<OfferedModel>, String> {
        let provider = self.pool.get(provider).await.map_err(|error| error.to_string())?;
        provider.models().await.map_err(|error| error.to_string())
    }

    /// Returns the configured provider, then all with a key in a variable, then those that need
    /// none. A command that prints a key runs only for the configured provider, because it may ask
    /// for a password.
    fn askable(&self) -> Vec<ProviderQuery<'_>> {
        let current = self.config.choose_provider(&self.env).map(|choice| choice.provider);
        let is_current = |name: &str| current.as_deref() == Some(name);
        let mut all: Vec<_> = self.keyless().filter(|asked| !is_current(asked.name)).collect();
        all.extend(self.config.providers.keys().filter_map(|name| {
            let has_key =
                matches!(self.config.key_source(name, &self.env), Some(KeySource::Env { .. }));
            (has_key || is_current(name)).then_some(ProviderQuery { name, expected: true })
        }));
        all.sort_by_key(|asked| (!is_current(asked.name), !asked.expected));
        all
    }

    fn keyless(&self) -> impl Iterator<Item = ProviderQuery<'_>> {
        let asked = self.config.providers.iter().filter(|(name, provider)| {
            let source = self.config.key_source(name, &self.env);
            provider.kind != ProviderKind::Scripted && source == Some(KeySource::NotNeeded)
        });
        asked.map(|(name, _)| ProviderQuery { name, expected: false })
    }

    /// Returns the names of a built-in provider's models to show as examples: aliases, which stand
    /// for the newest of their kind, or else full names, newest first.
    pub(super) fn example_names(&self, provider: &str) -> Vec<String> {
        let Some(family) = family(provider) else { return Vec::new() };
        let aliases = self.catalogue.aliases().into_iter();
        let aliases = aliases.filter(|(_, name)| name.starts_with(family));
        let mut names: Vec<&str> = aliases.map(|(alias, _)| alias).collect();
        if names.is_empty() {
            names = self.catalogue.names().filter(|name| name.starts_with(family)).collect();
            names.reverse();
        }
        names.into_iter().take(MAX_EXAMPLES).map(str::to_owned).collect()
    }

    /// Returns the catalogue's models of a built-in provider.
    fn known(&self, provider: &str) -> Vec<OfferedModel> {
        let Some(family) = family(provider) else { return Vec::new() };
        let names = self.catalogue.names().filter(|name| name.starts_with(family));
        names.map(|name| OfferedModel { name: name.to_owned(), context_window: None }).collect()
    }

    /// Converts models to rows, those in the catalogue first.
    fn choices(&self, provider: &str, mut models: Vec<OfferedModel>) -> Vec<ModelChoice> {
        models.sort_by_key(|model| !self.catalogue.get(&model.name).known);
        let choice = |model: OfferedModel| {
            let info = self.catalogue.get(&model.name);
            let known = info.known.then_some(info.context_window);
            let window = known.or(model.context_window);
            let window = window.map(|size| format!(" · {} window", window_size(size)));
            let detail = format!("{}{}", label(provider), window.unwrap_or_default());
            ModelChoice { provider: provider.to_owned(), name: model.name, detail }
        };
        models.into_iter().map(choice).collect()
    }
}

/// `200k` or `1M`.
fn window_size(tokens: u64) -> String {
    match (tokens / 1_000_000, tokens / 100_000 % 10) {
        (0, _) => format!("{}k", tokens / 1000),
        (millions, 0) => format!("{millions}M"),
        (millions, tenths) => format!("{millions}.{tenths}M"),
    }
}

/// Returns the start of the names of a built-in provider's models.
fn family(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-"),
        "openai" => Some("gpt-"),
        "gemini" => Some("gemini-"),
        _ => None,
    }
}
