//! The environment that a child process gets.

use std::path::Path;

use crate::protocol::{DEPTH_VARIABLE, EnvOverlay};

/// Keys of providers: no command that a model writes may read them.
const PROVIDER_KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"];

/// The number of git settings in the environment.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";

/// Git settings that keep it from starting programs named by a folder, by itself or when it tidies
/// up after a fetch, and from reading a split index, whose parts the index itself names.
pub const GIT_SETTINGS: [(&str, &str); 7] = [
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("index.threads", "1"),
    // Nested repositories have settings of their own, also those that only earlier commits name.
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
];

/// The git setting that disables all hooks: no file lies below a device.
pub const NO_HOOKS: (&str, &str) = ("core.hooksPath", "/dev/null");

/// Variables for git: don't rewrite the index to show a status, and accept default messages instead
/// of starting an editor, since there is no terminal.
const GIT_VARIABLES: [(&str, &str); 3] =
    [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_EDITOR", ":"), ("GIT_SEQUENCE_EDITOR", ":")];

/// Returns the environment of a child: `env` without provider keys and without the names in
/// `secrets`, one level deeper, in which git finds repositories by their `.git` alone. `depth`
/// counts the hops of the calling agent below the main agent of this process.
pub fn child_env(env: &EnvOverlay, depth: u32, secrets: &[String]) -> EnvOverlay {
    let inherited =
        env.get(DEPTH_VARIABLE).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
    let deeper = inherited.saturating_add(depth).saturating_add(1);
    let env = env.without(PROVIDER_KEYS.into_iter().chain(secrets.iter().map(String::as_str)));
    // The loader takes an empty or relative path for the folder in which the program starts.
    let env = env.with_library_paths(Path::is_absolute);
    let env = with_git_settings(&env, &GIT_SETTINGS).with(GIT_VARIABLES);
    env.with([(DEPTH_VARIABLE, deeper.to_string())])
}

/// Returns an environment in which git starts no hooks.
pub fn without_hooks(env: &EnvOverlay) -> EnvOverlay {
    with_git_settings(env, &[NO_HOOKS])
}

/// Adds git settings after those in the environment, so that they win. Git doesn't take a folder
/// for a bare repository because it looks like one: any checkout can bring such a folder, and its
/// settings name programs. It starts no file watcher, and no hook when it writes the index, and
/// does not tidy up by itself, which would start others.
fn with_git_settings(env: &EnvOverlay, settings: &[(&str, &str)]) -> EnvOverlay {
    let before = env.get(GIT_COUNT).and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let count = before.saturating_add(settings.len()).to_string();
    let settings = settings.iter().zip(before..).flat_map(|((key, value), at)| {
        [(format!("GIT_CONFIG_KEY_{at}"), *key), (format!("GIT_CONFIG_VALUE_{at}"), *value)]
    });
    env.with(settings).with([(GIT_COUNT, count.as_str())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_loads_what_lies_where_it_starts() {
        let env = EnvOverlay::from_iter([
            ("LD_LIBRARY_PATH", ":/opt/my libs:lib;./x;:"),
            ("LD_PRELOAD", "./x.so /lib/y.so libz.so"),
            ("LD_AUDIT", "a/x.so"),
        ]);
        let child = child_env(&env, 0, &[]);
        assert_eq!(child.get("LD_LIBRARY_PATH"), Some("/opt/my libs"));
        assert_eq!(child.get("LD_PRELOAD"), Some("/lib/y.so:libz.so"));
        assert_eq!(child.get("LD_AUDIT"), None);
    }

    #[test]
    fn keys_and_named_secrets_stay_out() {
        let env = EnvOverlay::from_iter([
            ("ANTHROPIC_API_KEY", "a"),
            ("ANTHROPIC_AUTH_TOKEN", "b"),
            ("OPENAI_API_KEY", "c"),
            ("GEMINI_API_KEY", "d"),
            ("MY_KEY", "e"),
            ("LANG", "C"),
        ]);
        let child = child_env(&env, 0, &["MY_KEY".to_owned()]);
        let expected = EnvOverlay::from_iter([
            ("CALIBAN_DEPTH", "1"),
            ("LANG", "C"),
            ("GIT_CONFIG_COUNT", "7"),
            ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_0", "explicit"),
            ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_1", "false"),
            ("GIT_CONFIG_KEY_2", "gc.auto"),
            ("GIT_CONFIG_VALUE_2", "0"),
            ("GIT_CONFIG_KEY_3", "maintenance.auto"),
            ("GIT_CONFIG_VALUE_3", "false"),
            ("GIT_CONFIG_KEY_4", "index.threads"),
            ("GIT_CONFIG_VALUE_4", "1"),
            ("GIT_CONFIG_KEY_5", "diff.submodule"),
            ("GIT_CONFIG_VALUE_5", "short"),
            ("GIT_CONFIG_KEY_6", "status.submoduleSummary"),
            ("GIT_CONFIG_VALUE_6", "false"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", ":"),
            ("GIT_SEQUENCE_EDITOR", ":"),
        ]);
        assert_eq!(child, expected);
    }

    #[test]
    fn settings_for_git_that_are_there_stay() {
        let env = EnvOverlay::from_iter([
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "Ann"),
        ]);
        let child = child_env(&env, 0, &[]);
        let of = |name: &str| child.get(name).unwrap().to_owned();
        assert_eq!((of("GIT_CONFIG_COUNT"), of("GIT_CONFIG_VALUE_0")), ("8".into(), "Ann".into()));
        assert_eq!(of("GIT_CONFIG_KEY_1"), "safe.bareRepository");
        assert_eq!(of("GIT_CONFIG_KEY_2"), "core.fsmonitor");
    }

    #[test]
    fn depth_adds_up_over_programs_and_agents() {
        let env = EnvOverlay::from_iter([("CALIBAN_DEPTH", "2")]);
        assert_eq!(child_env(&env, 1, &[]).get("CALIBAN_DEPTH"), Some("4"));
    }
}
