//! How the question looks.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Asking, TrustQuestion, TrustThing};
use crate::protocol::{escaped_lines, printable};
use crate::tui::figures::count;
use crate::tui::text::{sanitize, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;
use crate::tui::view::{boxed, put};

/// Lines longer than this are hard to read. Cells.
const WIDTH: u16 = 100;

/// Nothing can be read where there is less room than this. Cells.
const LEAST: u16 = 20;

/// Answers are short where there is less room than this. Cells.
const NARROW: u16 = 50;

/// Introduces the user's own entries.
const OWN: &str = "Your own hooks and servers below are to start in this project, whose files then change what they run. Until you trust that, each starts in an empty folder:";

/// Draws the question.
pub(super) fn draw(asking: &mut Asking<'_>, theme: &Theme, now: Duration, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let width = screen.width.min(WIDTH);
    let room = width.saturating_sub(4).max(1);
    let head = head(asking, room, theme);
    let mut list = list(asking.question, room, theme);
    let rows = usize::from(screen.height);
    let space = rows > 5;
    // Two edges, two answers, and a blank line where there is room for it.
    let around = 4 + usize::from(space);
    let crowded = rows < around + head.len() + list.len().min(3);
    let head = match crowded {
        // The head scrolls with the list then: the folder has to be seen too.
        true => {
            list.splice(..0, head);
            Vec::new()
        }
        false => head,
    };
    let needed = (around + head.len() + list.len()).min(rows);
    let height = u16::try_from(needed).unwrap_or(u16::MAX);
    // Nothing of the list is a possible answer too: what is not on the screen was not seen.
    let shown = match screen.width {
        ..LEAST => 0,
        _ => needed.saturating_sub(around + head.len()).min(list.len()),
    };
    asking.drawn(list.len(), shown, width);

    let area = Rect::new(screen.x, screen.y, width, height);
    let title = format!("{} trust this project?", theme.glyphs.asks);
    let foot = match asking.lines > asking.shown {
        true => "Esc not now · Ctrl+C quits · PgUp PgDn scroll",
        false => "Esc not now · Ctrl+C quits",
    };
    let buffer = frame.buffer_mut();
    let inner = boxed(buffer, area, theme, theme.question, &title, foot);
    let visible = list.iter().skip(asking.scroll).take(shown);
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
}

fn head(asking: &Asking<'_>, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let question = asking.question;
    let root = visible(&question.root);
    let why = match (question.changed, question.things.is_empty()) {
        (_, true) => OWN,
        (false, false) => {
            "It brings what runs code or gives agents more rights. That does nothing until you trust it:"
        }
        (true, false) => {
            "It has changed since you trusted it. This is new, and does nothing until you trust it too:"
        }
    };
    let mut lines = wrap_text(&root, room, theme.accent);
    lines.extend(wrap_text(why, room, theme.text));
    lines.push(Line::default());
    lines
}

/// All things and entries, in full.
fn list(question: &TrustQuestion, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = by_file(&question.things, room, theme);
    if !question.things.is_empty() && !question.own.is_empty() {
        lines.push(Line::default());
        lines.extend(wrap_text(OWN, room, theme.text));
        lines.push(Line::default());
    }
    lines.extend(by_file(&question.own, room, theme));
    lines
}

/// The things by their files.
fn by_file(things: &[TrustThing], room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut last = None;
    for thing in things {
        if last != Some(&thing.file) {
            lines.extend(wrap_text(&visible(&thing.file), room, theme.dim));
            last = Some(&thing.file);
        }
        let mut start = Line::from(Span::styled(format!("{:>5}  ", thing.line), theme.dim));
        let rest = Line::from(" ".repeat(7));
        for text in escaped_lines(&thing.what) {
            let text = Line::styled(visible(text), theme.text);
            lines.extend(wrap_hanging(&text, room, &start, &rest));
            start = rest.clone();
        }
    }
    lines
}

/// The answers that a key can give by now.
fn answers(asking: &Asking<'_>, room: u16, theme: &Theme, now: Duration) -> [Line<'static>; 2] {
    if !asking.answers(now) {
        return [Line::default(), Line::default()];
    }
    let below = asking.lines.saturating_sub(asking.scroll + asking.shown);
    let wide = room >= NARROW;
    let trust = match (asking.seen_all, wide) {
        (true, true) => Line::styled("1  trust this, now and in later sessions", theme.text),
        (true, false) => Line::styled("1  trust this", theme.text),
        (false, true) => {
            let more = count(below, "more line");
            let them = if below == 1 { "it" } else { "them" };
            Line::styled(format!("   {more}: PgDn or End shows {them} first"), theme.dim)
        }
        (false, false) => Line::styled(format!("   {below} more: PgDn"), theme.dim),
    };
    let later = match (wide, asking.question.things.is_empty()) {
        (true, true) => "2  not now: start them in an empty folder",
        (true, false) => "2  not now: go on without it",
        (false, _) => "2  not now",
    };
    [trust, Line::styled(later, theme.text)]
}

/// One line in which nothing hides and nothing acts on the terminal.
fn visible(text: &str) -> String {
    let escaped = printable(text).replace('\n', "\\n").replace('\t', "\\t");
    sanitize(&escaped).into_owned()
}
