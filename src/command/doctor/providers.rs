//! Checks which providers have a key, without reading it, and whether they answer.

use std::sync::Arc;

use super::finding::Finding;
use crate::config::{Config, KeySource};
use crate::protocol::{EnvOverlay, count};
use crate::provider::{ErrorKind, Provider, ProviderError};

const ABOUT: &str = "key";

/// Returns one line for each provider with a key, and one for the chosen provider in any case.
pub fn keys(config: &Config, env: &EnvOverlay) -> Vec<Finding> {
    let chosen = config.choose_provider(env).map(|choice| choice.provider);
    let mut findings = Vec::new();
    for name in config.providers.keys() {
        let is_chosen = chosen.as_ref() == Some(name);
        findings.extend(match config.key_source(name, env) {
            Some(KeySource::Env { name: variable, .. }) => {
                Some(Finding::ok(ABOUT, format!("{name}: from {variable}")))
            }
            Some(KeySource::Command(_)) => {
                Some(Finding::ok(ABOUT, format!("{name}: from api_key_command")))
            }
            Some(KeySource::NotNeeded) if is_chosen => {
                Some(Finding::ok(ABOUT, format!("{name}: needs none")))
            }
            Some(KeySource::Missing { wanted }) if is_chosen => {
                Some(Finding::wrong(ABOUT, format!("{name}: missing: set {wanted}")))
            }
            _ => None,
        });
    }
    match chosen {
        None => findings.push(Finding::wrong(
            ABOUT,
            "no model yet: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a server with --provider",
        )),
        Some(chosen) if !config.providers.contains_key(&chosen) => findings.push(Finding::wrong(
            ABOUT,
            format!("there is no provider {chosen:?}; defined: {}", known(config)),
        )),
        Some(_) => {}
    }
    findings
}

fn known(config: &Config) -> String {
    config.providers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Queries a provider; `model` is the requested one.
pub async fn endpoint(
    name: &str,
    provider: Result<Arc<dyn Provider>, ProviderError>,
    model: Option<String>,
) -> Vec<Finding> {
    let provider = match provider {
        Ok(provider) => provider,
        Err(why) => return vec![Finding::wrong("endpoint", format!("{name}: {why}"))],
    };
    let offered = match provider.models().await {
        Ok(offered) => offered,
        // It answers, which is enough.
        Err(error) if matches!(error.kind, ErrorKind::InvalidRequest | ErrorKind::BadRequest) => {
            return vec![Finding::note("endpoint", format!("{name}: {error}"))];
        }
        Err(error) => return vec![Finding::wrong("endpoint", format!("{name}: {error}"))],
    };
    let missing = model.filter(|model| !offered.iter().any(|it| it.name == *model));
    vec![match (missing, offered.len()) {
        (_, 0) => Finding::note("endpoint", format!("{name}: answers, but has no model yet")),
        (Some(model), _) => Finding::note(
            "endpoint",
            format!("{name}: answers, but does not list {model}: /model shows its models"),
        ),
        (None, models) => {
            Finding::ok("endpoint", format!("{name}: answers, {}", count(models, "model")))
        }
    }]
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    fn look(provider: Option<&str>, variables: &[&str]) -> Vec<(FindingState, String)> {
        let mut config = Config::built_in().unwrap();
        config.model.provider = provider.map(str::to_owned);
        let env: EnvOverlay = variables.iter().map(|name| (*name, "sk-77")).collect();
        let found = keys(&config, &env).into_iter();
        found.map(|Finding { state, text, .. }| (state, text)).collect()
    }

    #[test]
    fn each_key_is_told_with_its_place_and_none_is_shown() {
        let ok = |text: &str| (FindingState::Ok, text.to_owned());
        let all = look(None, &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]);
        assert!(all.contains(&ok("anthropic: from ANTHROPIC_API_KEY")), "{all:?}");
        assert!(all.contains(&ok("openai: from OPENAI_API_KEY")), "{all:?}");
        assert!(!format!("{all:?}").contains("sk-77"));
        assert_eq!(look(Some("ollama"), &[]), [ok("ollama: needs none")]);
        let wrong = |text: &str| vec![(FindingState::Wrong, text.to_owned())];
        assert_eq!(look(Some("gemini"), &[]), wrong("gemini: missing: set GEMINI_API_KEY"));
        let [(FindingState::Wrong, none)] = &look(None, &[])[..] else { panic!() };
        assert!(none.starts_with("no model yet: set ANTHROPIC_API_KEY"));
        let [(FindingState::Wrong, gone)] = &look(Some("gone"), &[])[..] else { panic!() };
        assert!(gone.starts_with("there is no provider \"gone\"; defined: "), "{gone}");
    }
}
