//! Links from paths on the screen to their files (OSC 8), for terminals that have them.
//!
//! They are found in the drawn cells and written after the frame, so neither the width of a text
//! nor what a view draws depends on them. A link leads where its own text says.

use std::path::PathBuf;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

use crate::protocol::EnvOverlay;

/// Where paths lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkBase {
    /// The name of this machine: over ssh, the terminal's is another.
    pub host: String,
    /// The folder of relative paths.
    pub folder: PathBuf,
    pub home: Option<PathBuf>,
}

/// A linked path on the screen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub x: u16,
    pub y: u16,
    pub cells: Vec<Cell>,
    pub uri: String,
}

/// Whether the terminal is known to have links. `FORCE_HYPERLINK` decides for any other.
pub fn has_links(env: &EnvOverlay) -> bool {
    if let Some(forced) = env.non_empty("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let term = env.get("TERM").unwrap_or_default();
    let program = env.get("TERM_PROGRAM").unwrap_or_default();
    let version = |name: &str| -> Option<(u32, u32)> {
        let mut numbers = env.non_empty(name)?.split(|c: char| !c.is_ascii_digit());
        let mut number = || numbers.next().and_then(|number| number.parse().ok());
        Some((number()?, number().unwrap_or(0)))
    };
    if env.non_empty("TMUX").is_some() || term.starts_with("tmux") {
        // It passes them to terminals that have them.
        return program == "tmux" && version("TERM_PROGRAM_VERSION").is_some_and(|of| of >= (3, 4));
    }
    if term.starts_with("screen") || matches!(term, "linux" | "dumb" | "vt100" | "vt220") {
        return false;
    }
    matches!(program, "iTerm.app" | "WezTerm" | "ghostty" | "vscode" | "Tabby" | "rio")
        || matches!(term, "xterm-kitty" | "xterm-ghostty" | "alacritty" | "contour")
        || term.starts_with("foot")
        || version("VTE_VERSION").is_some_and(|of| of >= (5000, 0))
        || version("KONSOLE_VERSION").is_some_and(|of| of >= (201_200, 0))
        || ["KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE"]
            .iter()
            .any(|name| env.non_empty(name).is_some())
}

/// Finds the paths in a frame, in order of rows and columns.
pub(super) fn find(buffer: &Buffer, base: &LinkBase) -> Vec<Link> {
    let Rect { x: left, width, .. } = buffer.area;
    let mut links = Vec::new();
    for (y, row) in (buffer.area.y..).zip(buffer.content.chunks(usize::from(width).max(1))) {
        if !row.iter().any(|cell| cell.symbol() == "/") {
            continue;
        }
        let mut at = 0;
        while at < row.len() {
            let text: String = row[at..].iter().map_while(path_char).collect();
            let length = text.chars().count();
            let next = row.get(at + length).map(Cell::symbol);
            // What is cut or goes on in the next line is not the whole path.
            let whole = next.is_some_and(|next| next != "…");
            if let Some((length, uri)) = Some(&text).filter(|_| whole).and_then(|it| uri(it, base))
                && let Ok(x) = u16::try_from(at)
            {
                let cells = row[at..at + length].to_vec();
                links.push(Link { x: left + x, y, cells, uri });
            }
            at += length + 1;
        }
    }
    links
}

/// The character of a cell, if it may be part of a path.
fn path_char(cell: &Cell) -> Option<char> {
    let mut chars = cell.symbol().chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return None };
    (c.is_ascii_alphanumeric() || "/._-~+@=:".contains(c) || ('\u{c0}'..'\u{250}').contains(&c))
        .then_some(c)
}

/// The number of characters of the path at the start of a word, with its line, and the address.
fn uri(word: &str, base: &LinkBase) -> Option<(usize, String)> {
    let word = word.trim_end_matches(['.', ':', '-', '=']);
    let path = word.split(':').next()?;
    let lines = &word[path.len()..];
    if !lines.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-')) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').collect();
    let (first, last) = (*parts.first()?, *parts.last()?);
    let below = match first {
        "" | "~" | "." => &parts[1..],
        _ => &parts[..],
    };
    if parts.len() < 2 || below.iter().any(|part| part.is_empty() || matches!(*part, "." | "..")) {
        return None;
    }
    let folder = match first {
        "" if below.len() > 1 => PathBuf::from("/"),
        "~" => base.home.clone()?,
        "." => base.folder.clone(),
        // Not a host, a number or two words: a file in a folder.
        _ if has_suffix(last)
            && !first.trim_start_matches('.').contains('.')
            && below.len() > 1 =>
        {
            base.folder.clone()
        }
        _ => return None,
    };
    let path = below.iter().fold(folder, |folder, part| folder.join(part));
    let mut uri = format!("file://{}", base.host);
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some((word.chars().count(), uri))
}

/// Whether a name ends like `.rs`.
fn has_suffix(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, suffix)| {
        let letter = suffix.starts_with(|c: char| c.is_ascii_alphabetic());
        !stem.is_empty() && letter && suffix.len() <= 8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(text: &str) -> Vec<(String, String)> {
        let base = LinkBase {
            host: "box".to_owned(),
            folder: "/p/my shop".into(),
            home: Some("/home/ann".into()),
        };
        let lines: Vec<String> = text.lines().map(|line| format!("{line}  ")).collect();
        let found = find(&Buffer::with_lines(lines), &base);
        let text = |link: &Link| link.cells.iter().map(Cell::symbol).collect::<String>();
        found.iter().map(|link| (text(link), link.uri.clone())).collect()
    }

    #[test]
    fn paths_are_links_to_their_files() {
        for (text, shown, uri) in [
            (
                "● Read lib/discount.sh   12 lines",
                "lib/discount.sh",
                "/p/my%20shop/lib/discount.sh",
            ),
            ("see src/a.rs:88.", "src/a.rs:88", "/p/my%20shop/src/a.rs"),
            ("│src/a.rs:60-120│", "src/a.rs:60-120", "/p/my%20shop/src/a.rs"),
            ("(.github/ci.yml)", ".github/ci.yml", "/p/my%20shop/.github/ci.yml"),
            ("./run and", "./run", "/p/my%20shop/run"),
            ("in /etc/hosts:", "/etc/hosts", "/etc/hosts"),
            ("~/notes/größe.md", "~/notes/größe.md", "/home/ann/notes/gr%C3%B6%C3%9Fe.md"),
        ] {
            assert_eq!(links(text), [(shown.to_owned(), format!("file://box{uri}"))], "{text}");
        }
    }

    #[test]
    fn what_is_no_whole_path_is_no_link() {
        for text in [
            "and/or",
            "4/20 $0.04/0.50",
            "https://example.org/a/b.html",
            "example.org/index.html",
            "text/x.1",
            "../up/a.rs",
            "src/../../x.rs",
            "/help",
            "//x/y.rs",
            "src/long-na…",
            "src/a.rs:x9",
            "日本/a.rs",
        ] {
            assert_eq!(links(text), [], "{text}");
        }
        let edge = Buffer::with_lines(["src/session.rs"]);
        assert_eq!(find(&edge, &LinkBase::default()), [], "it may go on in the next line");
    }

    #[test]
    fn only_terminals_that_are_known_get_links() {
        let has = |env: &[(&str, &str)]| has_links(&env.iter().copied().collect());
        assert!(has(&[("TERM", "xterm-kitty")]));
        assert!(has(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")]));
        assert!(!has(&[("TERM", "xterm-256color"), ("VTE_VERSION", "4600")]));
        assert!(!has(&[("TERM", "xterm-256color")]));
        assert!(has(&[("TERM", "xterm-256color"), ("FORCE_HYPERLINK", "1")]));
        assert!(!has(&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")]));
        let tmux = |version| {
            has(&[
                ("TMUX", "x"),
                ("KITTY_WINDOW_ID", "1"),
                ("TERM_PROGRAM", "tmux"),
                ("TERM_PROGRAM_VERSION", version),
            ])
        };
        assert!(tmux("3.4") && tmux("3.5a") && !tmux("3.3a"));
        assert!(!has(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")]));
        assert!(!has(&[("TERM", "screen"), ("KITTY_WINDOW_ID", "1")]));
    }
}
