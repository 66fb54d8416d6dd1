//! `caliban auth status`: whether the chosen provider has a key, and where it comes from. The key
//! itself is never read.

use serde_json::json;

use super::CommandReport;
use crate::config::{Config, KeySource};
use crate::protocol::EnvOverlay;

/// Reports on the provider of a new session, as text or as the JSON object that programs expect.
pub fn status(config: &Config, env: &EnvOverlay, as_json: bool) -> CommandReport {
    let provider = config.choose_provider(env).map(|choice| choice.provider);
    let source = provider.as_deref().and_then(|name| config.key_source(name, env));
    let (method, place) = match &source {
        Some(KeySource::Env { name, .. }) => ("api_key", Some(name.clone())),
        Some(KeySource::Command(_)) => ("api_key_helper", Some("api_key_command".to_owned())),
        Some(KeySource::NotNeeded | KeySource::Missing { .. }) | None => ("none", None),
    };
    let logged_in = !matches!(source, Some(KeySource::Missing { .. }) | None);
    let text = match as_json {
        true => {
            let status = json!({
                "loggedIn": logged_in, "authMethod": method, "apiProvider": provider,
                "apiKeySource": place,
            });
            format!("{status}\n")
        }
        false => describe_key(provider.as_deref(), source.as_ref()),
    };
    CommandReport { text, broken: !logged_in, ..CommandReport::default() }
}

fn describe_key(provider: Option<&str>, source: Option<&KeySource>) -> String {
    let Some(name) = provider else {
        return "no key: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n".to_owned();
    };
    match source {
        Some(KeySource::Env { name: variable, .. }) => format!("{name}: key from {variable}\n"),
        Some(KeySource::Command(_)) => format!("{name}: key from api_key_command\n"),
        Some(KeySource::NotNeeded) => format!("{name}: needs no key\n"),
        Some(KeySource::Missing { wanted }) => format!("{name}: no key: set {wanted}\n"),
        None => format!("{name}: no such provider\n"),
    }
}
