//! Draws the first lines of a session without a model: what this is, and how to begin.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::first_run::{FirstRun, SetupRow};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::layout::MAX_PROSE_WIDTH;
use crate::tui::model::TuiModel;
use crate::tui::paint::two_ends;
use crate::tui::text::{column_width, padded, width, wrap_hanging};
use crate::tui::theme::Theme;

/// Cells before a row's label: the margin and the mark.
const INDENT: usize = 6;

/// The lines; `location` is the folder with its branch.
pub fn head(
    model: &TuiModel,
    first: &FirstRun,
    location: &str,
    theme: &Theme,
    room: u16,
) -> Vec<Line<'static>> {
    let bold = Modifier::BOLD;
    let name = vec![
        Span::raw("  "),
        Span::styled("caliban", theme.accent.add_modifier(bold)),
        Span::styled(format!(" {}", model.session.version), theme.text),
        Span::styled("   agents you can watch", theme.dim),
    ];
    let place = Span::styled(format!("{location} "), theme.dim);
    let mut lines = vec![
        two_ends(name, vec![place], usize::from(room), None),
        Line::default(),
        Line::styled("  No model yet. Any one of these will do:", theme.text),
    ];
    let rows = first.rows();
    let labels = column_width(rows.iter().map(|row| row.label), 24);
    let active = model.shows_setup();
    for (at, row) in rows.iter().enumerate() {
        let chosen = active && at == first.selected;
        lines.extend(row_lines(model, row, chosen, labels, theme, room));
    }
    lines
}

fn row_lines(
    model: &TuiModel,
    row: &SetupRow,
    chosen: bool,
    labels: usize,
    theme: &Theme,
    room: u16,
) -> Vec<Line<'static>> {
    let mark = if chosen { theme.glyphs.focus } else { " " };
    let strong = match chosen {
        true => theme.accent.add_modifier(Modifier::BOLD),
        false => theme.text,
    };
    let before = Line::from(vec![
        Span::styled(format!("    {mark} "), theme.accent),
        Span::styled(padded(row.label, labels), strong),
        Span::raw("  "),
    ]);
    let rest = Line::raw(" ".repeat(INDENT + labels + 2));
    let detail = Line::styled(row.detail.clone(), if chosen { theme.text } else { theme.dim });
    let mut lines = wrap_hanging(&detail, room.saturating_sub(1), &before, &rest);
    let key = model.keymap.hint(KeyContext::Prompt, Action::Submit, row.action);
    if let (true, Some(key), [only]) = (chosen, key, &mut lines[..])
        && only.width() + width(&key) + 4 <= usize::from(room)
    {
        // Near its row, also on a wide screen.
        let end = usize::from(room.min(MAX_PROSE_WIDTH)).max(only.width() + width(&key) + 4);
        let key = Span::styled(format!("{key} "), theme.accent);
        *only = two_ends(std::mem::take(&mut only.spans), vec![key], end, None);
    }
    lines
}

/// Hints for the keys of the list.
pub fn hint(model: &TuiModel, first: &FirstRun) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::Prompt, &[Action::Up, Action::Down]);
    let rows = first.rows();
    let action = rows.get(first.selected).map_or("selects", |row| row.action);
    let enter = model.keymap.hint(KeyContext::Prompt, Action::Submit, action);
    let arrows = arrows.map(|arrows| format!("{arrows} choose"));
    arrows.into_iter().chain(enter).chain(["? keys".to_owned()]).collect()
}
