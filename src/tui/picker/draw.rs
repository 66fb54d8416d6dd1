//! Overlays over the body: pickers, history search, "Cancel which?", help, pages of lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::agents::list::draw as agent_list;
use crate::tui::agents::row::AgentRow;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::{Extent, TuiModel};
use crate::tui::overlay::{AgentAction, AgentPicker, HistorySearch, Overlay, Picker, PickerRows};
use crate::tui::paint::{Painter, cut_spans, frame, put};
use crate::tui::text::{one_line, padded, sanitize, width, wrap_text};
use crate::tui::{labels, page};

/// Draws the overlay, except for the reader and the question. Returns the scrolled extent.
pub fn draw(model: &TuiModel, area: Rect, pen: Painter<'_>, buffer: &mut Buffer) -> Extent {
    match &model.overlay {
        Some(Overlay::Agents(list)) => agent_list::draw(model, list, area, pen, buffer),
        Some(Overlay::Picker(picker)) => draw_picker(model, picker, area, pen, buffer),
        Some(Overlay::History(search)) => draw_history(model, search, area, pen, buffer),
        Some(Overlay::AgentPicker(which)) => draw_which(model, which, area, pen, buffer),
        Some(Overlay::Help { scroll }) => {
            return draw_page(
                "keys and commands",
                &page::lines(&model.keymap, area.width.saturating_sub(4), pen),
                *scroll,
                area,
                pen,
                buffer,
            );
        }
        Some(Overlay::Page { title, lines, scroll }) => {
            let room = area.width.saturating_sub(4);
            // Indent after a newline, so that a name or an error cannot fake a line of the page.
            let indented = |line: &String| sanitize(line).replace('\n', "\n  ");
            let wrapped: Vec<Line<'static>> = lines
                .iter()
                .flat_map(|line| wrap_text(&indented(line), room, pen.theme.text))
                .collect();
            return draw_page(title, &wrapped, *scroll, area, pen, buffer);
        }
        Some(Overlay::Reader(_) | Overlay::Question { .. }) | None => {}
    }
    Extent::default()
}

fn draw_page(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    pen: Painter<'_>,
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

/// Draws rows, scrolled to show the selected one. A `selected` out of range selects none.
pub fn draw_rows(
    lines: Vec<Line<'static>>,
    selected: usize,
    area: Rect,
    pen: Painter<'_>,
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

fn draw_picker(
    model: &TuiModel,
    picker: &Picker,
    area: Rect,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) {
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} · {}", picker.title, picker.filter.text())
    };
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, &footer(model));
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
            PickerRows::Loading => "loading",
            _ if !picker.filter.is_empty() => "no match",
            PickerRows::Sessions(_) => "no other sessions in this directory",
            PickerRows::Models(_) => {
                "no known models · /model NAME takes any name your provider knows"
            }
            PickerRows::Modes(_) => "",
        };
        lines.push(Line::styled(words, pen.theme.dim));
    }
    let selected = picker.selected.min(lines.len() - 1);
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    // Reserve up to a third of the height for notes.
    let kept = u16::try_from(picker.notes.len()).unwrap_or(u16::MAX).min(inner.height / 3);
    let above = Rect { height: inner.height - kept, ..inner };
    draw_rows(lines, selected, above, pen, buffer);
    let below = inner.height.saturating_sub(used).max(kept);
    let area = Rect { y: inner.bottom() - below, height: below, ..inner };
    for (at, note) in picker.notes.iter().enumerate() {
        put(buffer, area, at, &Line::styled(one_line(note), pen.theme.dim));
    }
}

fn footer(model: &TuiModel) -> String {
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    take.into_iter().chain(Some("Esc closes".to_owned())).collect::<Vec<_>>().join(" · ")
}

/// Draws the history search, the newest match at the bottom, next to the prompt.
fn draw_history(
    model: &TuiModel,
    search: &HistorySearch,
    area: Rect,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) {
    let title = format!("history: {}", search.query.text());
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, &footer(model));
    let found = model.composer.search(search.query.text());
    let lines: Vec<Line<'static>> =
        found.iter().rev().map(|prompt| Line::raw(one_line(prompt))).collect();
    if lines.is_empty() {
        return draw_rows(vec![Line::styled("no match", pen.theme.dim)], 0, inner, pen, buffer);
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
    draw_rows(window, selected - first, low, pen, buffer);
}

fn draw_which(
    model: &TuiModel,
    which: &AgentPicker,
    area: Rect,
    pen: Painter<'_>,
    buffer: &mut Buffer,
) {
    let height = u16::try_from(which.rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect::new(area.x, area.bottom() - height, area.width, height);
    let (title, foot) = match which.action {
        AgentAction::Cancel => ("Cancel which?", "a or Ctrl+C all · Esc none"),
        AgentAction::Background => ("Background which?", "a all · Esc none"),
    };
    let numbers = which.rows.iter().filter_map(|path| model.agents.get(path));
    let digits = numbers.map(|agent| agent.number.to_string().len()).max().unwrap_or(1);
    let foot = format!("{} · {foot}", which.key_hints(model));
    let inner = frame(buffer, area, pen.theme, pen.theme.question, title, &foot);
    let lines = which
        .rows
        .iter()
        .map(|path| {
            let Some(agent) = model.agents.get(path) else { return Line::default() };
            let can = which.action.applies_to(agent);
            let look = if can { pen.theme.text } else { pen.theme.dim };
            let number = if can { pen.agent(agent) } else { pen.theme.dim };
            let title = one_line(&agent.info.description);
            let row = AgentRow::new(labels::agent_status(model, agent), pen)
                .text(format!("{:>digits$}  ", agent.number), number)
                .text(agent.info.name.clone(), look)
                .text(format!(" · {title}  "), pen.theme.dim)
                .glyph()
                .state(look);
            Line::from(row.into_spans())
        })
        .collect();
    draw_rows(lines, which.selected, inner, pen, buffer);
}
