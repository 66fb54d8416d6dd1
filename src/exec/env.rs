//! What of the environment a child process gets to see.

use crate::protocol::{DEPTH_VARIABLE, EnvOverlay};

/// Keys of providers: no command that a model writes may read them.
const PROVIDER_KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"];

/// How many settings the environment brings for git.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";

/// The environment of a child: `env` without provider keys and without the names in `secrets`, one level deeper,
/// in which git finds repositories by their `.git` alone.
/// `depth` counts the hops of the calling agent below the main agent of this process.
#[must_use]
pub fn child_env(env: &EnvOverlay, depth: u32, secrets: &[String]) -> EnvOverlay {
    let inherited =
        env.get(DEPTH_VARIABLE).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
    let deeper = inherited.saturating_add(depth).saturating_add(1);
    let env = env.without(PROVIDER_KEYS.into_iter().chain(secrets.iter().map(String::as_str)));
    without_bare_repositories(&env).with([(DEPTH_VARIABLE, deeper.to_string())])
}

/// Keeps git from taking a folder for a bare repository because it looks like one: any checkout can bring such a
/// folder, and its settings name programs. Comes after what the environment sets already, so that it counts.
fn without_bare_repositories(env: &EnvOverlay) -> EnvOverlay {
    let count = env.get(GIT_COUNT).and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    env.with([
        (GIT_COUNT.to_owned(), count.saturating_add(1).to_string()),
        (format!("GIT_CONFIG_KEY_{count}"), "safe.bareRepository".to_owned()),
        (format!("GIT_CONFIG_VALUE_{count}"), "explicit".to_owned()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_0", "explicit"),
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
        assert_eq!((of("GIT_CONFIG_COUNT"), of("GIT_CONFIG_VALUE_0")), ("2".into(), "Ann".into()));
        assert_eq!(of("GIT_CONFIG_KEY_1"), "safe.bareRepository");
    }

    #[test]
    fn depth_adds_up_over_programs_and_agents() {
        let env = EnvOverlay::from_iter([("CALIBAN_DEPTH", "2")]);
        assert_eq!(child_env(&env, 1, &[]).get("CALIBAN_DEPTH"), Some("4"));
    }
}
