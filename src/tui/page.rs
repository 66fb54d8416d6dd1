//! Pages of lines over the body: the help, with the keys as the user's keymap names them, and what
//! commands such as `/cost` show.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{Painter, frame, put};
use crate::tui::slash::COMMANDS;
use crate::tui::text::{sanitize, truncate, width, wrap_hanging, wrap_text};
use crate::tui::transcript::Extent;

/// Opens a page.
pub fn open(model: &mut TuiModel, title: &str, lines: Vec<String>) {
    model.overlay = Some(Overlay::Page { title: title.to_owned(), lines, scroll: 0 });
}

/// Fills the page with this title, if it is still open.
pub fn fill(model: &mut TuiModel, name: &str, found: Vec<String>) {
    if let Some(Overlay::Page { title, lines, .. }) = &mut model.overlay
        && title == name
    {
        *lines = found;
    }
}

/// Handles a key on a page.
pub fn press(model: &mut TuiModel, key: KeyEvent, action: Option<Action>) {
    let step = model.metrics.page.page_step();
    match (plain_char(key), action) {
        (Some('q' | '?'), _) | (_, Some(Action::Submit | Action::Reader)) => model.overlay = None,
        (Some('j'), _) | (_, Some(Action::Down)) => scroll(model, 1),
        (Some('k'), _) | (_, Some(Action::Up)) => scroll(model, -1),
        (Some(' '), _) | (_, Some(Action::PageDown)) => scroll(model, step),
        (Some('b'), _) | (_, Some(Action::PageUp)) => scroll(model, -step),
        (Some('g'), _) | (_, Some(Action::Home)) => scroll(model, isize::MIN / 2),
        (Some('G'), _) | (_, Some(Action::End)) => scroll(model, isize::MAX / 2),
        _ => {}
    }
}

/// Scrolls the open page by lines, no further than its end.
pub fn scroll(model: &mut TuiModel, lines: isize) {
    let last = model.metrics.page.last_top();
    if let Some(
        Overlay::Help { scroll } | Overlay::Page { scroll, .. } | Overlay::Question { scroll, .. },
    ) = &mut model.overlay
    {
        *scroll = scroll.saturating_add_signed(lines).min(last);
    }
}

/// Hints for the keys; `close` says what Esc does.
pub fn hint(model: &TuiModel, close: &str) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let scroll = arrows.map(|arrows| format!("{arrows} scroll"));
    scroll.into_iter().chain([close.to_owned()]).collect()
}

/// Draws the help.
pub fn draw_help(
    keymap: &Keymap,
    scroll: usize,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let lines = help_lines(keymap, area.width.saturating_sub(4), painter);
    draw_lines("keys and commands", &lines, scroll, area, painter, buffer)
}

/// Draws a page. Returns its extent.
pub fn draw(
    title: &str,
    lines: &[String],
    scroll: usize,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let room = area.width.saturating_sub(4);
    // Indent after a newline, so that a name or an error cannot fake a line of the page.
    let indented = |line: &String| sanitize(line).replace('\n', "\n  ");
    let wrapped =
        lines.iter().flat_map(|line| wrap_text(&indented(line), room, painter.theme.text));
    draw_lines(title, &wrapped.collect::<Vec<_>>(), scroll, area, painter, buffer)
}

fn draw_lines(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let inner = frame(buffer, area, painter.theme, painter.theme.accent, title, "Esc closes");
    let height = usize::from(inner.height);
    let top = scroll.min(lines.len().saturating_sub(height));
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    Extent { total: lines.len(), height, top, ..Extent::default() }
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
    lines.extend(COMMANDS.iter().flat_map(|(name, words)| row(&format!("/{name}"), words)));
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
    let in_agents = format!("{open}x cancel or kill, a all, b background, r resume, / filter");
    let rows = [
        of(&[Submit], "send; while main works: queue · on an agent: zoom"),
        Some((newline_keys(keymap), "new line".to_owned())).filter(|(keys, _)| !keys.is_empty()),
        fixed(
            "Ctrl+C",
            "cancel one agent, else clear the draft, else stop main; twice when idle: quit",
        ),
        fixed("Esc", "go back one step; at the outermost, stop the turn"),
        of(&[Next], "complete, else the question, else the agents; there: the next one"),
        of(&[Previous], "next permission mode; among agents: the previous one"),
        agent_keys(keymap).map(|keys| (keys, "jump to an agent".to_owned())),
        of(&[BackgroundOrLeft], "empty prompt: an agent to the background; else one letter back"),
        of(&[Up, Down], "lines of the draft, then history; empty: recall a queued message"),
        of(&[SearchHistory], "search the history"),
        of(&[PageUp, PageDown], "scroll"),
        of(&[Expand], "expand or fold the last output; a click does it for any"),
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
        of(&[Edit], "edit the draft in $EDITOR"),
        of(&[Redraw, Suspend], "redraw, suspend"),
        of(&[DeleteOrQuit], "quit on an empty prompt; twice while something runs"),
        fixed("in /agents", &in_agents),
    ];
    rows.into_iter().flatten().collect()
}

/// The prompt's keys for `actions`: `Up, Down`, or `Ctrl+U K` where they share a modifier.
fn key_labels(keymap: &Keymap, actions: &[Action]) -> Option<String> {
    let mut text = String::new();
    let mut held = String::new();
    for label in actions.iter().filter_map(|action| keymap.label(KeyContext::Prompt, *action)) {
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
