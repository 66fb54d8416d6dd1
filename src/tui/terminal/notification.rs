//! The sequences by which terminals notify the user, plain and through tmux.

use crate::protocol::{EnvOverlay, NotificationMethod};
use crate::tui::text::{one_line, truncate};

/// Cells of a notification; desktops cut longer ones.
const MAX_WIDTH: usize = 200;

const BELL: &str = "\x07";

/// Returns the sequence that notifies of a text.
pub(super) fn sequence(method: NotificationMethod, env: &EnvOverlay, text: &str) -> String {
    // A text of its own behind `9;` could be a progress bar, which begins with a digit.
    let text = format!("caliban: {}", one_line(text));
    let text = truncate(&text, MAX_WIDTH);
    if method != NotificationMethod::Auto {
        return plain(method, env, &text);
    }
    let (method, is_sure) = best(env);
    // A terminal that is not known, or tmux, may ignore all but the bell.
    let bell = if is_sure || method == NotificationMethod::Bell { "" } else { BELL };
    plain(method, env, &text) + bell
}

fn plain(method: NotificationMethod, env: &EnvOverlay, text: &str) -> String {
    let sequence = match method {
        NotificationMethod::Off | NotificationMethod::Auto => return String::new(),
        NotificationMethod::Bell => return BELL.to_owned(),
        NotificationMethod::Osc9 => format!("\x1b]9;{text}\x1b\\"),
        NotificationMethod::Osc99 => format!("\x1b]99;;{text}\x1b\\"),
        NotificationMethod::Osc777 => {
            format!("\x1b]777;notify;caliban;{}\x1b\\", text.replace(';', ","))
        }
    };
    if env.non_empty("TMUX").is_none() {
        return sequence;
    }
    // tmux passes it on if its `allow-passthrough` is on.
    format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
}

/// The way that suits the terminal, and whether it is known to work.
fn best(env: &EnvOverlay) -> (NotificationMethod, bool) {
    let term = env.get("TERM").unwrap_or_default();
    let program = env.get("TERM_PROGRAM").unwrap_or_default();
    let method = if matches!(term, "linux" | "dumb" | "vt100" | "vt220") {
        NotificationMethod::Bell
    } else if term == "xterm-kitty" || env.non_empty("KITTY_WINDOW_ID").is_some() {
        NotificationMethod::Osc99
    } else if term.starts_with("rxvt") || env.non_empty("VTE_VERSION").is_some() {
        NotificationMethod::Osc777
    } else {
        NotificationMethod::Osc9
    };
    let known = matches!(program, "iTerm.app" | "WezTerm" | "ghostty")
        || term.starts_with("foot")
        || method != NotificationMethod::Osc9;
    (method, known && env.non_empty("TMUX").is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(method: NotificationMethod, env: &[(&str, &str)]) -> String {
        sequence(method, &env.iter().copied().collect(), "explore-2 needs you")
    }

    #[test]
    fn each_way_has_its_sequence() {
        let text = "caliban: explore-2 needs you";
        for (method, expected) in [
            (NotificationMethod::Off, String::new()),
            (NotificationMethod::Bell, "\x07".to_owned()),
            (NotificationMethod::Osc9, format!("\x1b]9;{text}\x1b\\")),
            (NotificationMethod::Osc99, format!("\x1b]99;;{text}\x1b\\")),
            (NotificationMethod::Osc777, format!("\x1b]777;notify;caliban;{text}\x1b\\")),
        ] {
            assert_eq!(sent(method, &[]), expected);
        }
    }

    #[test]
    fn auto_takes_what_the_terminal_knows_and_the_bell_where_that_is_open() {
        let auto = |env: &[(&str, &str)]| sent(NotificationMethod::Auto, env);
        assert!(auto(&[("TERM", "xterm-kitty")]).starts_with("\x1b]99;;caliban: explore-2"));
        assert!(auto(&[("VTE_VERSION", "7600")]).starts_with("\x1b]777;"));
        assert!(auto(&[("TERM_PROGRAM", "iTerm.app")]).ends_with("\x1b\\"));
        assert!(auto(&[("TERM", "xterm")]).ends_with("\x1b\\\x07"), "not known");
        assert_eq!(auto(&[("TERM", "linux")]), "\x07");
    }

    #[test]
    fn tmux_passes_the_sequence_on() {
        let tmux = [("TMUX", "/tmp/tmux-0/default,1,0")];
        assert_eq!(
            sent(NotificationMethod::Osc9, &tmux),
            "\x1bPtmux;\x1b\x1b]9;caliban: explore-2 needs you\x1b\x1b\\\x1b\\"
        );
        assert_eq!(sent(NotificationMethod::Bell, &tmux), "\x07");
        assert!(sent(NotificationMethod::Auto, &tmux).ends_with('\x07'), "passing on may be off");
    }

    #[test]
    fn a_text_ends_no_sequence_and_begins_none() {
        for method in
            [NotificationMethod::Osc9, NotificationMethod::Osc99, NotificationMethod::Osc777]
        {
            let text = "a\x1b\\\x1b]52;c;RVZJTA==\x07b\x07;4;1\u{9c}\nc";
            let sent = sequence(method, &EnvOverlay::default(), text);
            assert_eq!(sent.matches('\x1b').count(), 2, "{sent:?}");
            assert!(!sent.contains(['\x07', '\u{9c}', '\n']), "{sent:?}");
            assert!(sequence(method, &EnvOverlay::default(), &"x".repeat(9999)).len() < 300);
        }
    }
}
