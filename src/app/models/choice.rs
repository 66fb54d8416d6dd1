//! Chooses the provider and model of a sub-agent from the call, its definition, the configured
//! defaults and the lists of allowed models.

use crate::config::models::Catalogue;
use crate::config::schema::SubagentsConfig;
use crate::config::{INHERIT, ProviderChoice, default_model};
use crate::provider::ProviderError;

/// The configured rules.
pub(super) struct ModelRules<'a> {
    pub config: &'a SubagentsConfig,
    pub catalogue: &'a Catalogue,
}

/// The requested model, and the parent's.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelQuery<'a> {
    pub parent_provider: &'a str,
    pub parent_model: &'a str,
    pub provider: Option<&'a str>,
    pub model: Option<&'a str>,
}

impl ModelRules<'_> {
    /// Returns the provider and the model's full name. The error lists the allowed models.
    pub fn choose(&self, wish: ModelQuery<'_>) -> Result<ProviderChoice, ProviderError> {
        let default = explicit(&self.config.default_provider).unwrap_or(wish.parent_provider);
        let provider = wish.provider.and_then(explicit).unwrap_or(default);
        let named = wish.model.and_then(explicit);
        // The configured model belongs to the configured provider; another one may not have it.
        let configured = explicit(&self.config.default_model).filter(|_| provider == default);
        let model = match named.or(configured) {
            Some(model) => self.permitted(provider, model)?,
            None => self.default_for(provider, wish)?,
        };
        Ok(ProviderChoice { provider: provider.to_owned(), model: Some(model) })
    }

    /// Returns a notice for the user if sub-agents may not use the model of the main agent.
    pub fn notice(&self, provider: &str, model: &str) -> Option<String> {
        let wish = ModelQuery {
            parent_provider: provider,
            parent_model: model,
            provider: Some(provider),
            model: None,
        };
        let (named, list) = (explicit(&self.config.default_model), self.list(provider)?);
        if named.is_some() || self.is_listed(list, model) {
            return None;
        }
        let instead = match self.choose(wish) {
            Ok(ProviderChoice { model: Some(first), .. }) => format!("they use {first}"),
            _ => "none can be started".to_owned(),
        };
        Some(format!(
            "Sub-agents may not use {model}: {provider} allows {}, so {instead} unless another is named.",
            join_names(list)
        ))
    }

    /// Returns the model if none is named: the parent's if that is allowed, else the provider's first.
    fn default_for(&self, provider: &str, wish: ModelQuery<'_>) -> Result<String, ProviderError> {
        let own = (provider == wish.parent_provider).then_some(wish.parent_model);
        let model = match (self.list(provider), own) {
            (Some(list), Some(own)) if self.is_listed(list, own) => Some(own),
            (Some(list), _) => Some(first(provider, list)?),
            (None, own) => own.or_else(|| default_model(provider)),
        };
        let model = model.ok_or_else(|| {
            ProviderError::bad_request(format!(
                "`model`: {provider} has no default model, so name one."
            ))
        })?;
        Ok(self.full_name(model).to_owned())
    }

    fn permitted(&self, provider: &str, model: &str) -> Result<String, ProviderError> {
        match self.list(provider) {
            Some(list) if !self.is_listed(list, model) => Err(ProviderError::bad_request(format!(
                "`model`: sub-agents may not use {model} at {provider}. Allowed: {}.",
                join_names(list)
            ))),
            _ => Ok(self.full_name(model).to_owned()),
        }
    }

    fn list(&self, provider: &str) -> Option<&[String]> {
        self.config.allowed_models.get(provider).map(Vec::as_slice)
    }

    fn is_listed(&self, list: &[String], model: &str) -> bool {
        list.iter().any(|listed| self.full_name(listed) == self.full_name(model))
    }

    fn full_name<'a>(&'a self, model: &'a str) -> &'a str {
        self.catalogue.resolve_alias(model)
    }
}

/// Returns the name unless it is `inherit`.
fn explicit(name: &str) -> Option<&str> {
    (name != INHERIT).then_some(name)
}

fn first<'a>(provider: &str, list: &'a [String]) -> Result<&'a str, ProviderError> {
    list.first().map(String::as_str).ok_or_else(|| {
        ProviderError::bad_request(format!(
            "`provider`: sub-agents may use no model of {provider}."
        ))
    })
}

fn join_names(list: &[String]) -> String {
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The main agent uses claude-sonnet-5 at anthropic.
    fn choose(
        config: &SubagentsConfig,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Result<String, String> {
        let wish = ModelQuery {
            parent_provider: "anthropic",
            parent_model: "claude-sonnet-5",
            provider,
            model,
        };
        let catalogue = Catalogue::built_in();
        let choice = ModelRules { config, catalogue: &catalogue }.choose(wish);
        let text =
            |choice: ProviderChoice| format!("{}/{}", choice.provider, choice.model.unwrap());
        choice.map(text).map_err(|error| error.to_string())
    }

    fn built_in() -> SubagentsConfig {
        Config::built_in().unwrap().subagents
    }

    #[test]
    fn without_rules_the_parents_model_and_any_named_one_will_do() {
        let config = built_in();
        let table = [
            ((None, None), "anthropic/claude-sonnet-5"),
            ((Some("inherit"), Some("inherit")), "anthropic/claude-sonnet-5"),
            ((None, Some("haiku")), "anthropic/claude-haiku-5-5"),
            ((None, Some("nobody-knows-me")), "anthropic/nobody-knows-me"),
            ((Some("openai"), None), "openai/gpt-5.5"),
            ((Some("openai"), Some("o9")), "openai/o9"),
        ];
        for ((provider, model), expected) in table {
            assert_eq!(choose(&config, provider, model).unwrap(), expected);
        }
        let error = choose(&config, Some("ollama"), None).unwrap_err();
        assert_eq!(error, "`model`: ollama has no default model, so name one.");
    }

    #[test]
    fn defaults_hold_where_nothing_is_named() {
        let config = SubagentsConfig {
            default_provider: "openai".to_owned(),
            default_model: "gpt-small".to_owned(),
            ..built_in()
        };
        assert_eq!(choose(&config, None, None).unwrap(), "openai/gpt-small");
        assert_eq!(choose(&config, None, Some("gpt-big")).unwrap(), "openai/gpt-big");
        let other = choose(&config, Some("anthropic"), None).unwrap();
        assert_eq!(other, "anthropic/claude-sonnet-5", "gpt-small is none of anthropic's");
        let same = SubagentsConfig { default_model: "haiku".to_owned(), ..built_in() };
        assert_eq!(choose(&same, None, None).unwrap(), "anthropic/claude-haiku-5-5");
    }

    #[test]
    fn a_list_refuses_what_it_does_not_name_in_its_own_order() {
        let mut config = built_in();
        let list = ["opus", "claude-haiku-5-5"].map(str::to_owned);
        config.allowed_models.insert("anthropic".to_owned(), list.into());
        assert_eq!(choose(&config, None, Some("haiku")).unwrap(), "anthropic/claude-haiku-5-5");
        assert_eq!(
            choose(&config, None, Some("claude-opus-5-5")).unwrap(),
            "anthropic/claude-opus-5-5"
        );
        assert_eq!(
            choose(&config, None, Some("fable")).unwrap_err(),
            "`model`: sub-agents may not use fable at anthropic. Allowed: opus, claude-haiku-5-5."
        );
        assert_eq!(choose(&config, Some("openai"), Some("any")).unwrap(), "openai/any");
        config.allowed_models.insert("openai".to_owned(), Vec::new());
        assert_eq!(
            choose(&config, Some("openai"), None).unwrap_err(),
            "`provider`: sub-agents may use no model of openai."
        );
    }

    #[test]
    fn an_inherited_model_outside_of_the_list_gives_way_to_the_first_and_is_told_of() {
        let mut config = built_in();
        let list = ["haiku", "claude-opus-5"].map(str::to_owned);
        config.allowed_models.insert("anthropic".to_owned(), list.into());
        assert_eq!(choose(&config, None, None).unwrap(), "anthropic/claude-haiku-5-5");
        let catalogue = Catalogue::built_in();
        let notice =
            |config, model| ModelRules { config, catalogue: &catalogue }.notice("anthropic", model);
        assert_eq!(
            notice(&config, "claude-sonnet-5").unwrap(),
            "Sub-agents may not use claude-sonnet-5: anthropic allows haiku, claude-opus-5, so they use claude-haiku-5-5 unless another is named."
        );
        assert_eq!(notice(&config, "claude-opus-5"), None);
        assert_eq!(notice(&built_in(), "claude-sonnet-5"), None);
    }
}
