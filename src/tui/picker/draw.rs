//! Draws the lists to choose from, and their hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, draw_rows, frame, put, put_all};
use crate::tui::picker::{HistorySearch, Picker, PickerRows};
use crate::tui::text::{column_width, one_line, padded, whole_diff};

/// Draws a picker.
pub fn draw(
    model: &TuiModel,
    picker: &Picker,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) {
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} · {}", picker.title, picker.filter.text())
    };
    let inner = frame(buffer, area, painter.theme, painter.theme.accent, &title, &footer(model));
    let found = picker.matching();
    let names = column_width(found.iter().map(|row| &*row.label), 60);
    let mut lines: Vec<Line<'static>> = found
        .iter()
        .map(|row| {
            Line::from(vec![
                Span::raw(format!("{}  ", padded(&one_line(&row.label), names))),
                Span::styled(one_line(&row.detail), painter.theme.dim),
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
            PickerRows::Modes(_) | PickerRows::Themes(_) => "",
        };
        lines.push(Line::styled(words, painter.theme.dim));
    }
    let selected = picker.selected.min(lines.len() - 1);
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    // Reserve up to a third of the height for notes.
    let kept = u16::try_from(picker.notes.len()).unwrap_or(u16::MAX).min(inner.height / 3);
    let above = Rect { height: inner.height - kept, ..inner };
    draw_rows(lines, selected, above, painter, buffer);
    let below = inner.height.saturating_sub(used).max(kept);
    let area = Rect { y: inner.bottom() - below, height: below, ..inner };
    if matches!(picker.rows, PickerRows::Themes(_)) {
        put_all(buffer, Rect { y: area.y, ..area }, &theme_sample(painter));
    }
    for (at, note) in picker.notes.iter().enumerate() {
        put(buffer, area, at, &Line::styled(one_line(note), painter.theme.dim));
    }
}

/// A few lines in the theme's colours, to choose one by.
fn theme_sample(painter: Painter<'_>) -> Vec<Line<'static>> {
    let theme = painter.theme;
    let glyphs = theme.glyphs;
    let word = |text: &str, style| Span::styled(text.to_owned(), style);
    let agents =
        ["1 map the routes  ", "2 find the query  ", "3 check the tests  ", "4 read the docs"];
    let agents = agents.into_iter().enumerate().map(|(at, name)| word(name, theme.agent(None, at)));
    let diff = "@@ -8 +8 @@\n-  if count > bulk_from {\n+  if count >= bulk_from {\n";
    let mut lines = vec![
        Line::from(vec![
            word(glyphs.prompt, theme.accent),
            word(" find out why login is slow", theme.text),
        ]),
        Line::default(),
        Line::from(vec![
            word(&format!("{} ", glyphs.done), theme.good),
            word("Read src/session.rs", theme.text),
            word("  88 lines", theme.dim),
        ]),
        Line::from(vec![
            word(&format!("{} ", glyphs.failed), theme.bad),
            word("Bash cargo test", theme.text),
            word("  exit 1", theme.dim),
        ]),
        Line::from(vec![
            word(&format!("{} ", glyphs.asks), theme.question),
            word("main wants to edit ", theme.text),
            word("src/session.rs", theme.text.add_modifier(Modifier::BOLD)),
        ]),
        Line::default(),
        Line::from(vec![
            word("The session is read twice, by ", theme.text),
            word("fn guard()", theme.code),
            word(" and by the handler.", theme.text),
        ]),
        Line::from(vec![
            word("let ", theme.keyword),
            word("row", theme.text),
            word(" = ", theme.text),
            word("query", theme.function),
            word("(", theme.text),
            word("\"sessions\"", theme.string),
            word(", ", theme.text),
            word("1", theme.number),
            word("); ", theme.text),
            word("// twice", theme.comment),
        ]),
    ];
    lines.extend(whole_diff(diff, None, 60, theme));
    lines.push(Line::default());
    lines.push(agents.collect());
    lines
}

fn footer(model: &TuiModel) -> String {
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    take.into_iter().chain(Some("Esc closes".to_owned())).collect::<Vec<_>>().join(" · ")
}

/// Hints for the keys of a picker.
pub fn hint(model: &TuiModel) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    let before = ["type to filter".to_owned()].into_iter().chain(arrows).chain(take);
    before.chain(["Esc closes".to_owned()]).collect()
}

/// Draws the history search, the newest match at the bottom, next to the prompt.
pub fn draw_history(
    model: &TuiModel,
    search: &HistorySearch,
    area: Rect,
    painter: Painter<'_>,
    buffer: &mut Buffer,
) {
    let title = format!("history: {}", search.query.text());
    let inner = frame(buffer, area, painter.theme, painter.theme.accent, &title, &footer(model));
    let found = model.composer.search(search.query.text());
    let lines: Vec<Line<'static>> =
        found.iter().rev().map(|prompt| Line::raw(one_line(prompt))).collect();
    if lines.is_empty() {
        return draw_rows(
            vec![Line::styled("no match", painter.theme.dim)],
            0,
            inner,
            painter,
            buffer,
        );
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
    draw_rows(window, selected - first, low, painter, buffer);
}

/// Hints for the keys of the history search.
pub fn history_hint(model: &TuiModel) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let older = model.keymap.label(KeyContext::List, Action::SearchHistory);
    let moves: Vec<String> = arrows.into_iter().chain(older).collect();
    let moves = (!moves.is_empty()).then(|| moves.join(" or "));
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    let before = ["type to search".to_owned()].into_iter().chain(moves).chain(take);
    before.chain(["Esc closes".to_owned()]).collect()
}
