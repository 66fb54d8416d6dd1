//! `caliban config [show|path|schema|set]`.

use super::{CommandReport, columns};
use crate::app::setup::{AppError, Setup};
use crate::cli::ConfigAction;
use crate::config::schema::SCHEMA_TEXT;
use crate::config::{Config, KeySource, LoadedConfig};
use crate::protocol::{EnvOverlay, printable, printable_line, printable_path};

mod set;

use set::set;

/// Prints the effective values, the configuration files or the schema, or sets a key.
pub(crate) fn config(action: &ConfigAction, setup: Setup) -> Result<CommandReport, AppError> {
    let Setup { loaded, env, .. } = &setup;
    Ok(match action {
        ConfigAction::Show => CommandReport::text(show(loaded, env)),
        ConfigAction::Path => CommandReport::text(path(loaded)),
        ConfigAction::Schema => schema(),
        ConfigAction::Set { scope, key, value } => return set(setup, *scope, key, value),
    })
}

/// Returns the JSON schema of a configuration file.
pub fn schema() -> CommandReport {
    CommandReport::text(SCHEMA_TEXT)
}

/// Returns TOML with origins, after comments about the resulting model and problems.
fn show(loaded: &LoadedConfig, env: &EnvOverlay) -> String {
    let notices: String =
        loaded.notices.iter().map(|notice| format!("# {}\n", printable_line(notice))).collect();
    let answers = printable_line(&describe_model(&loaded.config, env));
    format!("# {answers}\n{notices}\n{}", printable(&loaded.show()))
}

/// Describes the resulting provider and model in one line.
fn describe_model(config: &Config, env: &EnvOverlay) -> String {
    let Some(choice) = config.choose_provider(env) else {
        return "No model: no provider is named, and no key is in the environment.".to_owned();
    };
    let key = match config.key_source(&choice.provider, env) {
        Some(KeySource::Env { name, .. }) => format!("key from {name}"),
        Some(KeySource::Command(_)) => "key from api_key_command".to_owned(),
        Some(KeySource::Missing { wanted }) => format!("key missing: set {wanted}"),
        Some(KeySource::NotNeeded) | None => "no key needed".to_owned(),
    };
    let model = choice.model.as_deref().unwrap_or("none: name one with --model");
    format!("Provider: {}, {key}. Model: {model}.", choice.provider)
}

fn path(loaded: &LoadedConfig) -> String {
    let rows: Vec<[String; 2]> = loaded
        .files
        .iter()
        .map(|(path, found)| {
            let found = if *found { "read" } else { "not there" };
            [printable_path(path), found.to_owned()]
        })
        .collect();
    columns(&rows)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::config::Overrides;

    fn report(action: &ConfigAction, top: &Path) -> String {
        let env: EnvOverlay = [("CALIBAN_HOME", "home"), ("ANTHROPIC_API_KEY", "sk-top-secret")]
            .into_iter()
            .collect();
        let setup = Setup::in_dir(top.into(), env, &Overrides::default()).unwrap();
        let text = config(action, setup).unwrap().text;
        text.replace(&format!("{}/", top.display()), "")
    }

    #[test]
    fn show_says_who_answers_and_where_values_came_from_and_no_key() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("home")).unwrap();
        fs::write(top.path().join("home/config.toml"), "model.effort = \"low\"").unwrap();
        let text = report(&ConfigAction::Show, top.path());
        let first = text.lines().next().unwrap();
        assert_eq!(
            first,
            "# Provider: anthropic, key from ANTHROPIC_API_KEY. Model: claude-sonnet-5."
        );
        let effort = text.lines().find(|line| line.starts_with("model.effort")).unwrap();
        assert!(
            effort.starts_with("model.effort = \"low\" ")
                && effort.ends_with("# home/config.toml:1")
        );
        assert!(!text.contains("sk-top-secret"));
        toml::from_str::<toml::Table>(&text).unwrap();
    }

    #[test]
    fn path_lists_the_files_lowest_first_and_whether_they_are_there() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join(".caliban")).unwrap();
        fs::write(top.path().join(".caliban/config.toml"), "").unwrap();
        let expected = "home/config.toml            not there\n\
                        .claude/settings.json       not there\n\
                        .caliban/config.toml        read\n\
                        .claude/settings.local.json not there\n\
                        .caliban/config.local.toml  not there\n";
        // The columns are aligned to full paths, so compare word by word.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&report(&ConfigAction::Path, top.path())), words(expected));
    }
}
