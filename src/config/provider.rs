//! Selects the provider, model and source of the key. Never holds a key itself.

use super::schema::Config;
use crate::protocol::EnvOverlay;

/// Providers to try, in this order, if none is named.
const PROVIDER_ORDER: [&str; 3] = ["anthropic", "openai", "gemini"];

/// The value that stands for the parent's provider or model.
pub const INHERIT: &str = "inherit";

/// Returns the default model of a built-in provider.
pub fn default_model(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-sonnet-5"),
        "openai" => Some("gpt-5.5"),
        "gemini" => Some("gemini-3.8-flash"),
        _ => None,
    }
}

/// Returns the variable that overrides a built-in provider's address.
pub fn base_url_variable(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("ANTHROPIC_BASE_URL"),
        "openai" => Some("OPENAI_BASE_URL"),
        _ => None,
    }
}

/// The selected provider and model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderChoice {
    /// A key of `providers`.
    pub provider: String,
    /// Absent if none is named and the provider has no default.
    pub model: Option<String>,
}

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The provider needs no key.
    NotNeeded,
    /// An environment variable. `bearer` keys go into an `authorization` header.
    Env { name: String, bearer: bool },
    /// A shell command that prints the key.
    Command(String),
    /// A key is needed but missing; `wanted` is the variable to set.
    Missing { wanted: String },
}

impl Config {
    /// Returns the named provider, else the first one that has a key.
    pub fn choose_provider(&self, env: &EnvOverlay) -> Option<ProviderChoice> {
        let has_key = |name: &&str| {
            matches!(
                self.key_source(name, env),
                Some(KeySource::Env { .. } | KeySource::Command(_))
            )
        };
        let provider = match &self.model.provider {
            Some(named) => named.as_str(),
            None => PROVIDER_ORDER.into_iter().find(has_key)?,
        };
        let default = || default_model(provider).map(str::to_owned);
        Some(ProviderChoice {
            provider: provider.to_owned(),
            model: self.model.name.clone().or_else(default),
        })
    }

    /// Returns the provider of sub-agents that name none, at the start of the session.
    pub fn subagent_provider(&self, env: &EnvOverlay) -> Option<String> {
        match self.subagents.default_provider.as_str() {
            INHERIT => self.choose_provider(env).map(|choice| choice.provider),
            named => Some(named.to_owned()),
        }
    }

    /// Returns the source of a provider's key; `None` if there is no such provider.
    pub fn key_source(&self, provider: &str, env: &EnvOverlay) -> Option<KeySource> {
        let provider = self.providers.get(provider)?;
        let set = |name: &str| env.non_empty(name).is_some();
        Some(match (&provider.api_key_env, &provider.api_key_command) {
            (Some(name), _) if set(name) => {
                KeySource::Env { name: name.clone(), bearer: name == AUTH_TOKEN_VARIABLE }
            }
            (Some(name), _) if name == API_KEY_VARIABLE && set(AUTH_TOKEN_VARIABLE) => {
                KeySource::Env { name: AUTH_TOKEN_VARIABLE.to_owned(), bearer: true }
            }
            (_, Some(command)) => KeySource::Command(command.clone()),
            (Some(name), None) => KeySource::Missing { wanted: name.clone() },
            (None, None) => KeySource::NotNeeded,
        })
    }

    /// Returns the names of all variables that may hold a key, so that they can be hidden from child processes.
    pub fn key_variables(&self) -> Vec<&str> {
        let named = self.providers.values().filter_map(|provider| provider.api_key_env.as_deref());
        let mut all: Vec<&str> = named
            .chain([API_KEY_VARIABLE, AUTH_TOKEN_VARIABLE, "OPENAI_API_KEY", "GEMINI_API_KEY"])
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

const API_KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
const AUTH_TOKEN_VARIABLE: &str = "ANTHROPIC_AUTH_TOKEN";

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[&str]) -> EnvOverlay {
        variables.iter().map(|name| (*name, "secret")).collect()
    }

    fn choose_provider(config: &Config, variables: &[&str]) -> Option<(String, Option<String>)> {
        config.choose_provider(&env(variables)).map(|choice| (choice.provider, choice.model))
    }

    #[test]
    fn without_a_named_provider_the_first_one_with_a_key_answers() {
        let config = Config::built_in().unwrap();
        let anthropic = Some(("anthropic".to_owned(), Some("claude-sonnet-5".to_owned())));
        let openai = Some(("openai".to_owned(), Some("gpt-5.5".to_owned())));
        assert_eq!(choose_provider(&config, &[]), None);
        assert_eq!(choose_provider(&config, &["OPENAI_API_KEY"]), openai);
        assert_eq!(choose_provider(&config, &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]), anthropic);
        assert_eq!(choose_provider(&config, &["ANTHROPIC_AUTH_TOKEN"]), anthropic);
        let gemini = Some(("gemini".to_owned(), Some("gemini-3.8-flash".to_owned())));
        assert_eq!(choose_provider(&config, &["GEMINI_API_KEY"]), gemini);
        assert_eq!(choose_provider(&config, &["GEMINI_API_KEY", "OPENAI_API_KEY"]), openai);
    }

    #[test]
    fn a_named_provider_needs_no_key_to_be_chosen() {
        let mut config = Config::built_in().unwrap();
        config.model.provider = Some("ollama".to_owned());
        assert_eq!(
            choose_provider(&config, &["ANTHROPIC_API_KEY"]),
            Some(("ollama".to_owned(), None))
        );
        config.model.name = Some("qwen".to_owned());
        assert_eq!(
            choose_provider(&config, &[]),
            Some(("ollama".to_owned(), Some("qwen".to_owned())))
        );
    }

    #[test]
    fn the_key_comes_from_the_variable_else_from_the_command() {
        let mut config = Config::built_in().unwrap();
        let missing = KeySource::Missing { wanted: API_KEY_VARIABLE.to_owned() };
        assert_eq!(config.key_source("anthropic", &env(&[])), Some(missing));
        assert_eq!(config.key_source("ollama", &env(&[])), Some(KeySource::NotNeeded));
        assert_eq!(config.key_source("nobody", &env(&[])), None);

        let provider = config.providers.get_mut("anthropic").unwrap();
        provider.api_key_command = Some("pass show key".to_owned());
        let source = |names: &[&str]| config.key_source("anthropic", &env(names)).unwrap();
        assert_eq!(source(&[]), KeySource::Command("pass show key".to_owned()));
        let token = KeySource::Env { name: AUTH_TOKEN_VARIABLE.to_owned(), bearer: true };
        assert_eq!(source(&[AUTH_TOKEN_VARIABLE]), token);
        let key = KeySource::Env { name: API_KEY_VARIABLE.to_owned(), bearer: false };
        assert_eq!(source(&[AUTH_TOKEN_VARIABLE, API_KEY_VARIABLE]), key);
    }
}
