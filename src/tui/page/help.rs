//! The help: the keys as the user's keymap names them, and the commands.

use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::paint::Painter;
use crate::tui::slash::COMMANDS;
use crate::tui::text::{padded, truncate, width, wrap_hanging};

/// Minimum width of the help in two columns.
const TWO_COLUMNS: u16 = 140;

/// Cells between the columns.
const GAP: u16 = 4;

/// The help's lines, in two columns if there is room.
pub fn lines(keymap: &Keymap, room: u16, painter: Painter<'_>) -> Vec<Line<'static>> {
    if room < TWO_COLUMNS {
        return help_lines(keymap, room, painter);
    }
    let column = (room - GAP) / 2;
    let lines = help_lines(keymap, column, painter);
    let half = lines.len().div_ceil(2);
    let (left, right) = lines.split_at(half);
    let cells = usize::from(column + GAP);
    let beside = |(at, line): (usize, &Line<'static>)| {
        let mut spans = line.spans.clone();
        if let Some(other) = right.get(at) {
            spans.push(Span::raw(padded("", cells.saturating_sub(line.width()))));
            spans.extend(other.spans.iter().cloned());
        }
        Line::from(spans)
    };
    left.iter().enumerate().map(beside).collect()
}

/// Minimum width of the key column, in cells.
const MIN_KEY_COLUMN: usize = 18;

/// The help's lines, wrapped to `room` cells.
fn help_lines(keymap: &Keymap, room: u16, painter: Painter<'_>) -> Vec<Line<'static>> {
    let keys = key_rows(keymap);
    let longest = keys.iter().map(|(key, _)| width(key) + 2).max().unwrap_or(MIN_KEY_COLUMN);
    let column = longest.clamp(MIN_KEY_COLUMN, usize::from(room / 2).max(MIN_KEY_COLUMN));
    let row = |key: &str, words: &str| {
        let key = truncate(key, column - 1);
        let key = format!("{key}{}", " ".repeat(column - width(&key)));
        let first = Line::from(Span::styled(key, painter.theme.accent));
        let rest = Line::from(" ".repeat(column));
        wrap_hanging(&Line::from(words.to_owned()), room, &first, &rest)
    };
    let mut lines: Vec<_> = keys.iter().flat_map(|(key, words)| row(key, words)).collect();
    lines.push(Line::default());
    lines.extend(
        COMMANDS.iter().flat_map(|command| row(&format!("/{}", command.name), command.description)),
    );
    lines
}

/// Keys and what they do. Actions without a key have no row.
fn key_rows(keymap: &Keymap) -> Vec<(String, String)> {
    use Action::{
        BackgroundOrLeft, DeleteOrQuit, Down, Edit, Expand, KillLineLeft, KillLineRight,
        KillWordLeft, KillWordRight, LineEnd, LineStart, Next, PageDown, PageUp, Previous, Reader,
        Redraw, SearchHistory, SelectDown, SelectLeft, SelectLineEnd, SelectLineStart, SelectRight,
        SelectUp, SelectWordLeft, SelectWordRight, Submit, Suspend, Undo, Up, WordLeft, WordRight,
        Yank,
    };
    let of =
        |actions: &[Action], words: &str| Some((key_labels(keymap, actions)?, words.to_owned()));
    let fixed = |key: &str, words: &str| Some((key.to_owned(), words.to_owned()));
    let open = keymap.hint(KeyContext::List, Submit, "open, ").unwrap_or_default();
    let in_agents =
        format!("{open}x cancel or kill, a twice all, b background, r resume, d work, / filter");
    let rows = [
        of(&[Submit], "send; while main works: queue · on an agent: open it"),
        Some((newline_keys(keymap), "new line".to_owned())).filter(|(keys, _)| !keys.is_empty()),
        fixed(
            "Ctrl+C",
            "cancel one agent, else clear the draft, else stop main; twice when idle: quit",
        ),
        fixed("Esc", "go back one step; at the outermost, stop the turn"),
        fixed("1–5", "answer a question; arrows and Enter too, Esc or Ctrl+C: no"),
        of(&[Next], "complete, else the question, else the agents; there: the next one"),
        of(&[Previous], "next permission mode; among agents: the previous one"),
        agent_keys(keymap).map(|keys| (keys, "jump to an agent".to_owned())),
        of(&[BackgroundOrLeft], "empty prompt: an agent to the background; else one letter back"),
        of(&[Up, Down], "lines of the draft, then history; empty: recall a queued message"),
        of(&[SearchHistory], "search the history"),
        of(&[PageUp, PageDown], "scroll"),
        of(&[Expand], "expand folded output, last first, then fold; a click: any"),
        of(&[Reader], "read and search the whole transcript, with the mouse released"),
        fixed("@", "a file or an agent"),
        fixed("/", "commands"),
        fixed("!", "run a shell command yourself"),
        fixed("?", "this help, on an empty prompt"),
        of(&[Action::Home, Action::End], "with an empty draft: first or last line"),
        of(&[LineStart, LineEnd], "start or end of the line"),
        of(&[WordLeft, WordRight], "a word back or forward"),
        of(&[SelectLeft, SelectRight], "select; typing replaces it, Esc ends it"),
        of(&[SelectUp, SelectDown], "select lines of the draft"),
        of(&[SelectLineStart, SelectLineEnd], "select to the start or end of the line"),
        of(&[SelectWordLeft], "select a word back"),
        of(&[SelectWordRight], "select a word forward"),
        of(&[KillWordLeft, KillWordRight], "delete the word before or after the cursor"),
        of(&[KillLineLeft, KillLineRight, Yank], "delete to the start, to the end; paste it back"),
        of(&[Undo], "undo"),
        of(&[Action::PasteImage], "add the image in the clipboard"),
        of(&[Edit], "edit the draft in $EDITOR"),
        of(&[Redraw, Suspend], "redraw, suspend"),
        of(&[DeleteOrQuit], "quit on an empty prompt; twice while something runs"),
        fixed("in /agents", &in_agents),
        fixed(
            "after d there",
            "m twice merge the agent's work into your files, x twice discard it",
        ),
    ];
    rows.into_iter().flatten().collect()
}

/// The prompt's keys for `actions`: `Up, Down`, or `Ctrl+U/K` where they share a modifier.
fn key_labels(keymap: &Keymap, actions: &[Action]) -> Option<String> {
    let mut text = String::new();
    let mut held = String::new();
    for label in actions.iter().filter_map(|action| keymap.label(KeyContext::Prompt, *action)) {
        let (before, _) = label.rsplit_once('+').unwrap_or_default();
        match label.strip_prefix(&format!("{held}+")) {
            Some(key) if !held.is_empty() => text.push_str(&format!("/{key}")),
            _ if text.is_empty() => text.push_str(&label),
            _ => text.push_str(&format!(", {label}")),
        }
        before.clone_into(&mut held);
    }
    Some(text).filter(|text| !text.is_empty())
}

/// `Ctrl+J, \ Enter`.
fn newline_keys(keymap: &Keymap) -> String {
    let plain = keymap.label(KeyContext::Prompt, Action::Submit).map(|key| format!("\\ {key}"));
    let keys = keymap.label(KeyContext::Prompt, Action::Newline).into_iter().chain(plain);
    keys.collect::<Vec<_>>().join(", ")
}

/// `Alt+1…9`.
fn agent_keys(keymap: &Keymap) -> Option<String> {
    let first = keymap.label(KeyContext::Prompt, Action::Agent(1))?;
    let last = keymap.label(KeyContext::Prompt, Action::Agent(9))?;
    let held = first.rsplit_once('+').map(|(held, _)| format!("{held}+")).unwrap_or_default();
    Some(format!("{first}…{}", last.strip_prefix(&held).unwrap_or(&last)))
}
