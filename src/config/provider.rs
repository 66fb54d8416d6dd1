//! Which provider and model answer, and where the key comes from. Never holds a key itself.

use super::schema::Config;
use crate::protocol::EnvOverlay;

/// Tried in this order when no provider is named.
const BY_KEY: [&str; 3] = ["anthropic", "openai", "gemini"];

/// Stands for the parent's own provider or model.
pub const INHERIT: &str = "inherit";

/// The model that a built-in provider uses when none is named.
#[must_use]
pub fn default_model(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-sonnet-5"),
        "openai" => Some("gpt-5.5"),
        "gemini" => Some("gemini-3.8-flash"),
        _ => None,
    }
}

/// The variable that moves a built-in provider to another address.
#[must_use]
pub fn base_url_variable(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("ANTHROPIC_BASE_URL"),
        "openai" => Some("OPENAI_BASE_URL"),
        _ => None,
    }
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A key of `providers`.
    pub provider: String,
    /// Absent when none is named and the provider has no default.
    pub model: Option<String>,
}

/// Where a provider's key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The provider takes none.
    NotNeeded,
    /// This variable holds it. `bearer` keys go into an `authorization` header.
    Env { name: String, bearer: bool },
    /// This shell command prints it.
    Command(String),
    /// It needs one and there is none; `wanted` is the variable to set.
    Missing { wanted: String },
}

impl Config {
    /// The named provider, else the first one that has a key; `None` when there is neither.
    #[must_use]
    pub fn choose(&self, env: &EnvOverlay) -> Option<Choice> {
        let has_key = |name: &&str| {
            matches!(
                self.key_source(name, env),
                Some(KeySource::Env { .. } | KeySource::Command(_))
            )
        };
        let provider = match &self.model.provider {
            Some(named) => named.as_str(),
            None => BY_KEY.into_iter().find(has_key)?,
        };
        let default = || default_model(provider).map(str::to_owned);
        Some(Choice {
            provider: provider.to_owned(),
            model: self.model.name.clone().or_else(default),
        })
    }

    /// The provider of sub-agents that name none, as the session starts.
    #[must_use]
    pub fn provider_of_subagents(&self, env: &EnvOverlay) -> Option<String> {
        match self.subagents.default_provider.as_str() {
            INHERIT => self.choose(env).map(|choice| choice.provider),
            named => Some(named.to_owned()),
        }
    }

    /// Where the key of the named provider comes from; `None` when there is no such provider.
    #[must_use]
    pub fn key_source(&self, provider: &str, env: &EnvOverlay) -> Option<KeySource> {
        let provider = self.providers.get(provider)?;
        let set = |name: &str| env.non_empty(name).is_some();
        Some(match (&provider.api_key_env, &provider.api_key_command) {
            (Some(name), _) if set(name) => {
                KeySource::Env { name: name.clone(), bearer: name == AUTH_TOKEN }
            }
            (Some(name), _) if name == API_KEY && set(AUTH_TOKEN) => {
                KeySource::Env { name: AUTH_TOKEN.to_owned(), bearer: true }
            }
            (_, Some(command)) => KeySource::Command(command.clone()),
            (Some(name), None) => KeySource::Missing { wanted: name.clone() },
            (None, None) => KeySource::NotNeeded,
        })
    }

    /// The names of all variables that may hold a key, so that child processes can be kept from seeing them.
    #[must_use]
    pub fn key_variables(&self) -> Vec<&str> {
        let named = self.providers.values().filter_map(|provider| provider.api_key_env.as_deref());
        let mut all: Vec<&str> =
            named.chain([API_KEY, AUTH_TOKEN, "OPENAI_API_KEY", "GEMINI_API_KEY"]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

const API_KEY: &str = "ANTHROPIC_API_KEY";
const AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[&str]) -> EnvOverlay {
        variables.iter().map(|name| (*name, "secret")).collect()
    }

    fn choose(config: &Config, variables: &[&str]) -> Option<(String, Option<String>)> {
        config.choose(&env(variables)).map(|choice| (choice.provider, choice.model))
    }

    #[test]
    fn without_a_named_provider_the_first_one_with_a_key_answers() {
        let config = Config::built_in().unwrap();
        let anthropic = Some(("anthropic".to_owned(), Some("claude-sonnet-5".to_owned())));
        let openai = Some(("openai".to_owned(), Some("gpt-5.5".to_owned())));
        assert_eq!(choose(&config, &[]), None);
        assert_eq!(choose(&config, &["OPENAI_API_KEY"]), openai);
        assert_eq!(choose(&config, &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]), anthropic);
        assert_eq!(choose(&config, &["ANTHROPIC_AUTH_TOKEN"]), anthropic);
        let gemini = Some(("gemini".to_owned(), Some("gemini-3.8-flash".to_owned())));
        assert_eq!(choose(&config, &["GEMINI_API_KEY"]), gemini);
        assert_eq!(choose(&config, &["GEMINI_API_KEY", "OPENAI_API_KEY"]), openai);
    }

    #[test]
    fn a_named_provider_needs_no_key_to_be_chosen() {
        let mut config = Config::built_in().unwrap();
        config.model.provider = Some("ollama".to_owned());
        assert_eq!(choose(&config, &["ANTHROPIC_API_KEY"]), Some(("ollama".to_owned(), None)));
        config.model.name = Some("qwen".to_owned());
        assert_eq!(choose(&config, &[]), Some(("ollama".to_owned(), Some("qwen".to_owned()))));
    }

    #[test]
    fn the_key_comes_from_the_variable_else_from_the_command() {
        let mut config = Config::built_in().unwrap();
        let missing = KeySource::Missing { wanted: API_KEY.to_owned() };
        assert_eq!(config.key_source("anthropic", &env(&[])), Some(missing));
        assert_eq!(config.key_source("ollama", &env(&[])), Some(KeySource::NotNeeded));
        assert_eq!(config.key_source("nobody", &env(&[])), None);

        let provider = config.providers.get_mut("anthropic").unwrap();
        provider.api_key_command = Some("pass show key".to_owned());
        let source = |names: &[&str]| config.key_source("anthropic", &env(names)).unwrap();
        assert_eq!(source(&[]), KeySource::Command("pass show key".to_owned()));
        let token = KeySource::Env { name: AUTH_TOKEN.to_owned(), bearer: true };
        assert_eq!(source(&[AUTH_TOKEN]), token);
        let key = KeySource::Env { name: API_KEY.to_owned(), bearer: false };
        assert_eq!(source(&[AUTH_TOKEN, API_KEY]), key);
    }
}
