//! The help: keys by the names that they have in the person's keymap, and commands.

use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::text::{truncate, width, wrap_hanging};
use crate::tui::update::COMMANDS;

use super::paint::Pen;

/// How wide the column of keys is at least, in cells.
const KEYS: usize = 18;

/// The lines of the help, for so much room.
pub fn lines(keymap: &Keymap, room: u16, pen: Pen<'_>) -> Vec<Line<'static>> {
    let keys = keys(keymap);
    let longest = keys.iter().map(|(key, _)| width(key) + 2).max().unwrap_or(KEYS);
    let column = longest.clamp(KEYS, usize::from(room / 2).max(KEYS));
    let row = |key: &str, words: &str| {
        let key = truncate(key, column - 1);
        let key = format!("{key}{}", " ".repeat(column - width(&key)));
        let first = Line::from(Span::styled(key, pen.theme.accent));
        let rest = Line::from(" ".repeat(column));
        wrap_hanging(&Line::from(words.to_owned()), room, &first, &rest)
    };
    let mut lines: Vec<_> = keys.iter().flat_map(|(key, words)| row(key, words)).collect();
    lines.push(Line::default());
    lines.extend(COMMANDS.iter().flat_map(|(name, words)| row(&format!("/{name}"), words)));
    lines
}

/// Keys and what they do. What has no key any more has no row.
fn keys(keymap: &Keymap) -> Vec<(String, String)> {
    use Action::{
        BackgroundOrLeft, DeleteOrQuit, Down, Edit, KillLineLeft, KillLineRight, KillWordLeft,
        KillWordRight, LineEnd, LineStart, Next, PageDown, PageUp, Previous, Reader, Redraw,
        SearchHistory, Submit, Suspend, Undo, Up, WordLeft, WordRight, Yank,
    };
    let of = |actions: &[Action], words: &str| Some((together(keymap, actions)?, words.to_owned()));
    let fixed = |key: &str, words: &str| Some((key.to_owned(), words.to_owned()));
    let open = keymap.hint(Context::List, Submit, "open, ").unwrap_or_default();
    let in_agents = format!("{open}x cancel or kill, a all, b background, r resume, / filter");
    let rows = [
        of(&[Submit], "send; while main works: queue · on an agent: zoom"),
        Some((newline(keymap), "new line".to_owned())).filter(|(keys, _)| !keys.is_empty()),
        fixed(
            "Ctrl+C",
            "cancel one agent, else clear the draft, else stop main; twice when idle: quit",
        ),
        fixed("Esc", "one step out; at the outermost step it stops the turn"),
        of(&[Next], "complete, else the question, else the agents; there: the next one"),
        of(&[Previous], "next permission mode; among agents: the previous one"),
        agents(keymap).map(|keys| (keys, "straight to an agent".to_owned())),
        of(&[BackgroundOrLeft], "empty prompt: an agent to the background; else one letter back"),
        of(&[Up, Down], "lines of the draft, then history; empty: take a queued message back"),
        of(&[SearchHistory], "search the history"),
        of(&[PageUp, PageDown], "scroll"),
        of(&[Reader], "read and search the whole transcript, with the mouse released"),
        fixed("@", "a file or an agent"),
        fixed("/", "commands"),
        fixed("!", "run a shell command yourself"),
        fixed("?", "this help, on an empty prompt"),
        of(&[Action::Home, Action::End], "with an empty draft: the first and the last line"),
        of(&[LineStart, LineEnd], "to the start and the end of the line"),
        of(&[WordLeft, WordRight], "a word back and on"),
        of(&[KillWordLeft, KillWordRight], "delete the word before and behind the cursor"),
        of(&[KillLineLeft, KillLineRight, Yank], "delete to the start, to the end; put it back"),
        of(&[Undo], "undo"),
        of(&[Edit], "write the draft in your editor"),
        of(&[Redraw, Suspend], "draw anew, suspend"),
        of(&[DeleteOrQuit], "quit on an empty prompt; twice while something works"),
        fixed("in /agents", &in_agents),
    ];
    rows.into_iter().flatten().collect()
}

/// The prompt's keys for these: `Up, Down`, and `Ctrl+U K` where the same is held.
fn together(keymap: &Keymap, actions: &[Action]) -> Option<String> {
    let mut text = String::new();
    let mut held = String::new();
    for label in actions.iter().filter_map(|action| keymap.label(Context::Prompt, *action)) {
        let (before, _) = label.rsplit_once('+').unwrap_or_default();
        match label.strip_prefix(&format!("{held}+")) {
            Some(key) if !held.is_empty() => text.push_str(&format!(" {key}")),
            _ if text.is_empty() => text.push_str(&label),
            _ => text.push_str(&format!(", {label}")),
        }
        before.clone_into(&mut held);
    }
    Some(text).filter(|text| !text.is_empty())
}

/// `Ctrl+J, \ Enter`.
fn newline(keymap: &Keymap) -> String {
    let plain = keymap.label(Context::Prompt, Action::Submit).map(|key| format!("\\ {key}"));
    let keys = keymap.label(Context::Prompt, Action::Newline).into_iter().chain(plain);
    keys.collect::<Vec<_>>().join(", ")
}

/// `Alt+1…9`.
fn agents(keymap: &Keymap) -> Option<String> {
    let first = keymap.label(Context::Prompt, Action::Agent(1))?;
    let last = keymap.label(Context::Prompt, Action::Agent(9))?;
    let held = first.rsplit_once('+').map(|(held, _)| format!("{held}+")).unwrap_or_default();
    Some(format!("{first}…{}", last.strip_prefix(&held).unwrap_or(&last)))
}
