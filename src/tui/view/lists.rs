//! What covers the body: pickers, history search, "Cancel which?", help, pages of lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, Context};
use crate::tui::model::overlay::{HistorySearch, Picker, Rows, Which, Wish};
use crate::tui::model::{Extent, Model, Overlay};
use crate::tui::text::{one_line, padded, sanitize, width, wrap_text};
use crate::tui::words;

use super::paint::{Pen, cut_spans, frame, put};
use super::{agent_list, help};

/// Draws what covers the body, but for the reader. Answers with what was scrolled.
pub fn draw(model: &Model, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) -> Extent {
    match &model.overlay {
        Some(Overlay::Agents(list)) => agent_list::draw(model, list, area, pen, buffer),
        Some(Overlay::Picker(picker)) => pick(model, picker, area, pen, buffer),
        Some(Overlay::History(search)) => history(model, search, area, pen, buffer),
        Some(Overlay::Which(which)) => draw_which(model, which, area, pen, buffer),
        Some(Overlay::Help { scroll }) => {
            return page(
                "keys and commands",
                &help::lines(&model.keymap, area.width.saturating_sub(4), pen),
                *scroll,
                area,
                pen,
                buffer,
            );
        }
        Some(Overlay::Page { title, lines, scroll }) => {
            let room = area.width.saturating_sub(4);
            // A name or an error with a newline in it begins no line that looks like one of the page's.
            let indented = |line: &String| sanitize(line).replace('\n', "\n  ");
            let wrapped: Vec<Line<'static>> = lines
                .iter()
                .flat_map(|line| wrap_text(&indented(line), room, pen.theme.text))
                .collect();
            return page(title, &wrapped, *scroll, area, pen, buffer);
        }
        Some(Overlay::Reader(_) | Overlay::Question { .. }) | None => {}
    }
    Extent::default()
}

fn page(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) -> Extent {
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, title, "Esc closes");
    let height = usize::from(inner.height);
    let top = scroll.min(lines.len().saturating_sub(height));
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(buffer, inner, row, line);
    }
    Extent { total: lines.len(), height, top, ..Extent::default() }
}

/// Rows with one chosen, scrolled so that it is seen. None is, if `selected` is beyond them.
pub fn rows(
    lines: Vec<Line<'static>>,
    selected: usize,
    area: Rect,
    pen: Pen<'_>,
    buffer: &mut Buffer,
) {
    let height = usize::from(area.height);
    let first = if selected < lines.len() { (selected + 1).saturating_sub(height) } else { 0 };
    for (at, line) in lines.into_iter().enumerate().skip(first).take(height) {
        let chosen = at == selected;
        let mark = if chosen { pen.theme.glyphs.focus } else { " " };
        let mut spans = vec![Span::styled(mark, pen.theme.accent), Span::raw(" ")];
        spans.extend(line.spans);
        cut_spans(&mut spans, usize::from(area.width));
        let mut line = Line::from(spans);
        if chosen {
            line = line.patch_style(pen.theme.selection);
        }
        put(buffer, area, at - first, &line);
    }
}

fn pick(model: &Model, picker: &Picker, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} · {}", picker.title, picker.filter.text())
    };
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, &foot(model));
    let found = picker.matching();
    let names = found.iter().map(|row| width(&row.label)).max().unwrap_or(0).min(60);
    let mut lines: Vec<Line<'static>> = found
        .iter()
        .map(|row| {
            Line::from(vec![
                Span::raw(format!("{}  ", padded(&one_line(&row.label), names))),
                Span::styled(one_line(&row.detail), pen.theme.dim),
            ])
        })
        .collect();
    if lines.is_empty() {
        let words = match &picker.rows {
            Rows::Loading => "looking",
            _ if !picker.filter.is_empty() => "nothing fits",
            Rows::Sessions(_) => "no other session of this directory is stored",
            Rows::Models(_) => {
                "nothing is known to pick · /model NAME takes any name of your provider"
            }
            Rows::Modes(_) => "",
        };
        lines.push(Line::styled(words, pen.theme.dim));
    }
    let selected = picker.selected.min(lines.len() - 1);
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    // However many rows there are, the first notes can be read.
    let kept = u16::try_from(picker.notes.len()).unwrap_or(u16::MAX).min(inner.height / 3);
    let above = Rect { height: inner.height - kept, ..inner };
    rows(lines, selected, above, pen, buffer);
    let below = inner.height.saturating_sub(used).max(kept);
    let area = Rect { y: inner.bottom() - below, height: below, ..inner };
    for (at, note) in picker.notes.iter().enumerate() {
        put(buffer, area, at, &Line::styled(one_line(note), pen.theme.dim));
    }
}

fn foot(model: &Model) -> String {
    let take = model.keymap.hint(Context::List, Action::Submit, "take");
    take.into_iter().chain(Some("Esc closes".to_owned())).collect::<Vec<_>>().join(" · ")
}

/// The newest match stands lowest, next to the prompt.
fn history(model: &Model, search: &HistorySearch, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let title = format!("history: {}", search.query.text());
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, &foot(model));
    let found = model.composer.search(search.query.text());
    let lines: Vec<Line<'static>> =
        found.iter().rev().map(|prompt| Line::raw(one_line(prompt))).collect();
    if lines.is_empty() {
        return rows(vec![Line::styled("nothing fits", pen.theme.dim)], 0, inner, pen, buffer);
    }
    let selected = lines.len() - 1 - search.selected.min(lines.len() - 1);
    let height = usize::from(inner.height).min(lines.len());
    let low = Rect::new(
        inner.x,
        inner.bottom() - u16::try_from(height).unwrap_or(0),
        inner.width,
        u16::try_from(height).unwrap_or(0),
    );
    let first = if selected + height > lines.len() { lines.len() - height } else { selected };
    let window: Vec<Line<'static>> = lines.into_iter().skip(first).take(height).collect();
    rows(window, selected - first, low, pen, buffer);
}

fn draw_which(model: &Model, which: &Which, area: Rect, pen: Pen<'_>, buffer: &mut Buffer) {
    let height = u16::try_from(which.rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let (title, foot) = match which.wish {
        Wish::Cancel => ("Cancel which?", "a or Ctrl+C all · Esc nobody"),
        Wish::Background => ("Background which?", "a all · Esc nobody"),
    };
    let numbers = which.rows.iter().filter_map(|path| model.agents.get(path));
    let digits = numbers.map(|agent| agent.number.to_string().len()).max().unwrap_or(1);
    let foot = format!("{} · {foot}", which.keys(model));
    let inner = frame(buffer, area, pen.theme, pen.theme.question, title, &foot);
    let lines = which
        .rows
        .iter()
        .map(|path| {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let state = words::agent_state(model, agent);
            let can = which.wish.fits(agent);
            let look = if can { pen.theme.text } else { pen.theme.dim };
            let number = pen.theme.agent(agent.info.color.as_deref(), agent.colour);
            let number = if can { number } else { pen.theme.dim };
            Line::from(vec![
                Span::styled(format!("{:>digits$}  ", agent.number), number),
                Span::styled(agent.info.name.clone(), look),
                Span::styled(format!(" · {}  ", one_line(&agent.info.description)), pen.theme.dim),
                Span::styled(format!("{} ", pen.sign(state.glyph)), pen.style(state.glyph)),
                Span::styled(state.words, look),
            ])
        })
        .collect();
    rows(lines, which.selected, inner, pen, buffer);
}
