//! Checks which providers have a key, and its source. Never reads a key itself.

use super::Finding;
use crate::config::{Config, KeySource};
use crate::protocol::EnvOverlay;

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

#[cfg(test)]
mod tests {
    use super::super::FindingState;
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
