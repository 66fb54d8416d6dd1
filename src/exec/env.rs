//! What of the environment a child process gets to see.

use crate::protocol::EnvOverlay;

/// Keys of providers: no command that a model writes may read them.
const PROVIDER_KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"];

/// How deep the process already is in a chain of programs that start one another.
const DEPTH: &str = "CALIBAN_DEPTH";

/// The environment of a child: `env` without provider keys and without the names in `secrets`, one level deeper.
/// `depth` counts the hops of the calling agent below the main agent of this process.
#[must_use]
pub fn child_env(env: &EnvOverlay, depth: u32, secrets: &[String]) -> EnvOverlay {
    let inherited = env.get(DEPTH).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
    let deeper = inherited.saturating_add(depth).saturating_add(1);
    env.without(PROVIDER_KEYS.into_iter().chain(secrets.iter().map(String::as_str)))
        .with([(DEPTH, deeper.to_string())])
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
        let expected = EnvOverlay::from_iter([("CALIBAN_DEPTH", "1"), ("LANG", "C")]);
        assert_eq!(child, expected);
    }

    #[test]
    fn depth_adds_up_over_programs_and_agents() {
        let env = EnvOverlay::from_iter([("CALIBAN_DEPTH", "2")]);
        assert_eq!(child_env(&env, 1, &[]).get("CALIBAN_DEPTH"), Some("4"));
    }
}
