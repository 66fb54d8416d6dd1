//! Draws the trust question.

use std::collections::HashMap;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{TrustDialog, TrustItem, TrustQuestion};
use crate::protocol::{escaped_lines, printable};
use crate::tui::format::count;
use crate::tui::paint::{frame as draw_box, paint_ground, put};
use crate::tui::text::{reveal_line, wrap_text, wrap_written};
use crate::tui::theme::Theme;

/// Maximum width, in cells: longer lines are hard to read.
const MAX_WIDTH: u16 = 100;

/// Minimum width, in cells, for showing the list.
const MIN_WIDTH: u16 = 20;

/// Width, in cells, below which answers are shortened.
const NARROW_WIDTH: u16 = 50;

pub(super) const TITLE: &str = "trust this project?";

/// Cells of the numbers of lines, beside which no row begins.
const NUMBER_CELLS: usize = 5;

/// Introduces the user's own entries.
const OWN_ENTRIES_INTRO: &str = "Your own hooks and servers below would start in this project, whose files can change what they run. Until you trust it, each starts in an empty folder:";

/// Draws the question.
pub(super) fn draw(
    asking: &mut TrustDialog<'_>,
    theme: &Theme,
    now: Duration,
    frame: &mut Frame<'_>,
) {
    let screen = frame.area();
    let width = screen.width.min(MAX_WIDTH);
    let room = width.saturating_sub(4).max(1);
    let head = head(asking, room, theme);
    let mut list = list(asking.question, room, theme);
    let rows = usize::from(screen.height);
    let space = rows > 5;
    // Two edges, two answers, and a blank line if there is room.
    let around = 4 + usize::from(space);
    let crowded = rows < around + head.len() + list.len().min(3);
    let head = match crowded {
        // The head scrolls with the list then: the folder must be seen too.
        true => {
            list.splice(..0, head);
            Vec::new()
        }
        false => head,
    };
    let needed = (around + head.len() + list.len()).min(rows);
    // Zero is possible: lines that are not on the screen were not seen.
    let height = match screen.width {
        ..MIN_WIDTH => 0,
        _ => needed.saturating_sub(around + head.len()).min(list.len()),
    };
    asking.frame_drawn(list.len(), height, width);

    let needed = u16::try_from(needed).unwrap_or(u16::MAX);
    let area = Rect::new(screen.x, screen.y, width, needed);
    let title = format!("{} {TITLE}", theme.glyphs.asks);
    let mut foot = match asking.lines > asking.height {
        true => "Esc not now · Ctrl+C quits · PgUp PgDn scroll",
        false => "Esc not now · Ctrl+C quits",
    };
    if !asking.accepts_answers(now) {
        foot = match asking.seen_all {
            true => "Esc not now · 1 and 2 work in a second",
            false => "Esc not now · 2 works in a second",
        };
    }
    let buffer = frame.buffer_mut();
    let inner = draw_box(buffer, area, theme, theme.question, &title, foot);
    let visible = list.iter().skip(asking.scroll).take(height);
    let empty = Line::default();
    let lines = head.iter().chain(visible).chain(space.then_some(&empty));
    let mut row = 0;
    for line in lines {
        put(buffer, inner, row, line);
        row += 1;
    }
    for line in answers(asking, room, theme, now) {
        put(buffer, inner, row, &line);
        row += 1;
    }
    paint_ground(buffer, theme);
}

pub(super) fn head(asking: &TrustDialog<'_>, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let question = asking.question;
    let why = match (question.changed, question.items.is_empty()) {
        (_, true) => OWN_ENTRIES_INTRO,
        (false, false) => {
            "These settings run code or widen permissions. They stay off until you trust them:"
        }
        (true, false) => {
            "It has changed since you trusted it. These settings are new and stay off until you trust them:"
        }
    };
    let mut lines = path_rows(&question.root, room, theme.accent, theme);
    lines.extend(wrap_text(why, room, theme.text));
    lines.push(Line::default());
    lines
}

/// All things and entries, in full, as lines.
pub(super) fn list(question: &TrustQuestion, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = group_by_file(&question.items, room, theme);
    if !question.items.is_empty() && !question.own_items.is_empty() {
        lines.push(Line::default());
        lines.extend(wrap_text(OWN_ENTRIES_INTRO, room, theme.text));
        lines.push(Line::default());
    }
    lines.extend(group_by_file(&question.own_items, room, theme));
    lines
}

/// The things of each file in the order of its lines; the files keep theirs.
fn in_order_of_lines(things: &[TrustItem]) -> Vec<&TrustItem> {
    let mut files = HashMap::new();
    for thing in things {
        let next = files.len();
        files.entry(&thing.file).or_insert(next);
    }
    let mut things: Vec<&TrustItem> = things.iter().collect();
    things.sort_by_key(|thing| (files.get(&thing.file), thing.line));
    things
}

/// Lines of the things, grouped by file.
fn group_by_file(things: &[TrustItem], room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut last = None;
    for thing in in_order_of_lines(things) {
        if last != Some(&thing.file) {
            lines.extend(path_rows(&thing.file, room, theme.dim, theme));
            last = Some(&thing.file);
        }
        let number = format!("{:>NUMBER_CELLS$}  ", thing.line);
        let mut start = Line::from(Span::styled(number, theme.dim));
        let rest = continued(NUMBER_CELLS, theme);
        for text in escaped_lines(&thing.what) {
            let text = Line::styled(escape_line(text, theme), theme.text);
            lines.extend(wrap_written(&text, room, &start, &rest, theme.dim));
            start = Line::from(" ".repeat(NUMBER_CELLS + 2));
        }
    }
    lines
}

/// The lines of the answers; dim and without digits until those are accepted.
pub(super) fn answers(
    asking: &TrustDialog<'_>,
    room: u16,
    theme: &Theme,
    now: Duration,
) -> [Line<'static>; 2] {
    let works = asking.accepts_answers(now);
    if !works && asking.printed {
        return [Line::default(), Line::default()];
    }
    let answer = |digit: char, words: &str| match works {
        true => Line::styled(format!("{digit}  {words}"), theme.text),
        false => Line::styled(format!("   {words}"), theme.dim),
    };
    let below = asking.lines.saturating_sub(asking.scroll + asking.height);
    let wide = room >= NARROW_WIDTH;
    let trust = match (asking.seen_all, wide) {
        (true, true) => answer('1', "trust this, now and in later sessions"),
        (true, false) => answer('1', "trust this"),
        (false, true) => {
            let more = count(below, "more line");
            let them = if below == 1 { "it" } else { "them" };
            Line::styled(format!("   {more}: PgDn or End shows {them} first"), theme.dim)
        }
        (false, false) => Line::styled(format!("   {below} more: PgDn"), theme.dim),
    };
    let later = match (wide, asking.question.items.is_empty()) {
        (true, true) => "not now: start them in an empty folder",
        (true, false) => "not now: continue without it",
        (false, _) => "not now",
    };
    [trust, answer('2', later)]
}

/// The rows of a path.
fn path_rows(path: &str, room: u16, style: Style, theme: &Theme) -> Vec<Line<'static>> {
    let path = Line::styled(escape_line(path, theme), style);
    wrap_written(&path, room, &Line::default(), &continued(0, theme), theme.dim)
}

/// The mark of a row that continues a line, indented by `blanks` cells. No other row begins with it.
fn continued(blanks: usize, theme: &Theme) -> Line<'static> {
    Line::styled(format!("{}{} ", " ".repeat(blanks), theme.glyphs.continued), theme.dim)
}

/// Escapes a text into one line without hidden characters or terminal controls.
fn escape_line(text: &str, theme: &Theme) -> String {
    reveal_line(&printable(&theme.glyphs.number(text)))
}
