//! Checks the terminal by its variables. It is not queried, because answers may end up in the prompt.

use std::path::Path;
use std::time::Duration;

use super::finding::Finding;
use super::machine::output_of;
use crate::protocol::EnvOverlay;

const ABOUT: &str = "terminal";

/// The acceptable delay of Esc, in milliseconds.
const ESCAPE_LIMIT: u32 = 50;

/// Terminals that distinguish Shift+Enter from Enter, by `TERM` or `TERM_PROGRAM`.
const KITTY_KEYS: [&str; 7] =
    ["xterm-kitty", "xterm-ghostty", "ghostty", "WezTerm", "foot", "alacritty", "iTerm.app"];

/// Checks which colours the terminal shows, and whether it distinguishes Shift+Enter.
pub fn variables(env: &EnvOverlay, is_terminal: bool) -> Vec<Finding> {
    if !is_terminal {
        return vec![Finding::ok(ABOUT, "not a terminal: nothing to check")];
    }
    let get = |name| env.get(name).unwrap_or_default();
    let (term, color) = (get("TERM"), get("COLORTERM"));
    let mut findings = vec![match term {
        "" | "dumb" => Finding::wrong(
            ABOUT,
            format!(
                "TERM is {term:?}: the screen needs the name of a real terminal, such as xterm-256color"
            ),
        ),
        _ if env.non_empty("NO_COLOR").is_some() => {
            Finding::ok(ABOUT, format!("{term}, no colours (NO_COLOR)"))
        }
        _ if matches!(color, "truecolor" | "24bit") || term.ends_with("-direct") => {
            Finding::ok(ABOUT, format!("{term}, all colours"))
        }
        _ if term.contains("256color") || KITTY_KEYS.contains(&term) => Finding::ok(
            ABOUT,
            format!("{term}, 256 colours; if it has more, set COLORTERM=truecolor"),
        ),
        _ => Finding::note(
            ABOUT,
            format!("{term}, 16 colours; if it has more, set COLORTERM=truecolor"),
        ),
    }];
    let named = [term, get("TERM_PROGRAM")].iter().any(|name| KITTY_KEYS.contains(name));
    findings.push(match named && env.non_empty("TMUX").is_none() {
        true => Finding::ok(ABOUT, "Shift+Enter makes a new line"),
        false => {
            Finding::ok(ABOUT, "Shift+Enter may act as Enter here: Ctrl+J always makes a new line")
        }
    });
    findings
}

/// Checks how long tmux delays Esc. `None` outside tmux.
pub async fn tmux(env: EnvOverlay, cwd: &Path) -> Option<Finding> {
    env.non_empty("TMUX")?;
    let wait = Duration::from_secs(3);
    // Newer versions have it as a server option; older ones show it among the session's.
    let shown = output_of("tmux", &["show", "-sv", "escape-time"], &env, cwd, wait).await;
    Some(match shown {
        Ok(text) => escape_time(&text),
        Err(why) => Finding::note(ABOUT, format!("cannot read the escape-time of tmux: {why}")),
    })
}

fn escape_time(shown: &str) -> Finding {
    match shown.trim().parse::<u32>() {
        Ok(time) if time > ESCAPE_LIMIT => Finding::note(
            ABOUT,
            format!("tmux delays Esc by {time} ms: put `set -sg escape-time 10` into ~/.tmux.conf"),
        ),
        Ok(0) => Finding::ok(ABOUT, "tmux passes Esc on at once"),
        Ok(time) => Finding::ok(ABOUT, format!("tmux delays Esc by {time} ms")),
        Err(_) => Finding::note(ABOUT, "cannot read the escape-time of tmux"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[test]
    fn variables_tell_what_a_terminal_can() {
        let look = |variables: &[(&str, &str)]| {
            let findings = variables_of(variables);
            (findings[0].state, findings[0].text.clone())
        };
        let wrong = look(&[("TERM", "dumb")]);
        assert_eq!(wrong.0, FindingState::Wrong);
        assert!(wrong.1.contains("xterm-256color"));
        assert_eq!(look(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]).1, "xterm, all colours");
        assert_eq!(look(&[("TERM", "vt220")]).0, FindingState::Note);
        assert_eq!(look(&[("TERM", "vt220"), ("NO_COLOR", "1")]).0, FindingState::Ok);
        let shift = |variables: &[(&str, &str)]| variables_of(variables)[1].text.clone();
        assert!(shift(&[("TERM", "xterm-kitty")]).starts_with("Shift+Enter makes"));
        assert!(shift(&[("TERM", "xterm-kitty"), ("TMUX", "x")]).contains("Ctrl+J"));
        assert_eq!(variables(&EnvOverlay::default(), false).len(), 1);
    }

    fn variables_of(variables: &[(&str, &str)]) -> Vec<Finding> {
        super::variables(&variables.iter().copied().collect(), true)
    }

    #[test]
    fn a_long_escape_time_is_told_with_what_to_set() {
        assert_eq!(escape_time("10\n").state, FindingState::Ok);
        let long = escape_time("500\n");
        assert!(long.state == FindingState::Note && long.text.contains("set -sg escape-time 10"));
        assert_eq!(escape_time("no server").state, FindingState::Note);
    }
}
