//! Lists to choose from: stored sessions, models, permission modes, and the prompt history.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::protocol::{Command, PermissionMode, SessionId};
use crate::tui::composer::{TextBuffer, update as prompt};
use crate::tui::host::{ModelChoice, SessionChoice};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels::mode_label;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection, type_filter};
use crate::tui::paint::{Painter, draw_rows, frame, put};
use crate::tui::text::{column_width, one_line, padded};

/// A list to choose one row from.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub title: String,
    pub filter: TextBuffer,
    pub selected: usize,
    pub rows: PickerRows,
    /// Read-only lines below the rows.
    pub notes: Vec<String>,
}

/// The rows of a picker.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerRows {
    /// The host has not answered yet.
    Loading,
    Sessions(Vec<SessionChoice>),
    Models(Vec<ModelChoice>),
    Modes(Vec<PermissionMode>),
}

/// The value of a chosen row.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerChoice {
    Session(SessionId),
    Model(ModelChoice),
    Mode(PermissionMode),
}

/// One row of a picker: its text and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct PickerRow {
    pub label: String,
    pub detail: String,
    pub choice: PickerChoice,
}

impl Picker {
    pub fn new(title: &str, rows: PickerRows) -> Self {
        let title = title.to_owned();
        Self { title, filter: TextBuffer::default(), selected: 0, rows, notes: Vec::new() }
    }

    /// The rows that match the filter.
    pub fn matching(&self) -> Vec<PickerRow> {
        let filter = self.filter.text().to_lowercase();
        let fits = |row: &PickerRow| {
            filter.split_whitespace().all(|word| {
                row.label.to_lowercase().contains(word) || row.detail.to_lowercase().contains(word)
            })
        };
        self.all().into_iter().filter(fits).collect()
    }

    fn all(&self) -> Vec<PickerRow> {
        match &self.rows {
            PickerRows::Loading => Vec::new(),
            PickerRows::Sessions(sessions) => sessions
                .iter()
                .map(|session| PickerRow {
                    label: session.title.clone(),
                    detail: session.detail.clone(),
                    choice: PickerChoice::Session(session.id),
                })
                .collect(),
            PickerRows::Models(models) => models
                .iter()
                .map(|model| PickerRow {
                    label: model.name.clone(),
                    detail: model.detail.clone(),
                    choice: PickerChoice::Model(model.clone()),
                })
                .collect(),
            PickerRows::Modes(modes) => modes
                .iter()
                .map(|mode| PickerRow {
                    label: mode.name().to_owned(),
                    detail: mode_label(*mode).to_owned(),
                    choice: PickerChoice::Mode(*mode),
                })
                .collect(),
        }
    }
}

/// Fills an open picker with its rows.
pub fn fill(model: &mut TuiModel, rows: PickerRows) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && picker.rows == PickerRows::Loading
    {
        picker.rows = rows;
    }
}

/// Sets the notes of the open model picker.
pub fn set_notes(model: &mut TuiModel, notes: Vec<String>) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && matches!(picker.rows, PickerRows::Models(_))
    {
        picker.notes = notes;
    }
}

/// Handles a key in a picker.
pub fn press(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    if type_filter(&mut picker.filter, &mut picker.selected, key) {
        return;
    }
    let rows = picker.matching();
    match action {
        Some(Action::Up | Action::Down) => {
            cycle_selection(&mut picker.selected, rows.len(), action == Some(Action::Down));
        }
        Some(Action::Submit) => {
            if let Some(row) = rows.into_iter().nth(picker.selected) {
                model.overlay = None;
                apply_choice(row.choice, effects);
            }
        }
        Some(edit) => {
            prompt::edit_text(&mut picker.filter, edit);
        }
        None => {}
    }
}

/// Applies the chosen row of a picker.
fn apply_choice(choice: PickerChoice, effects: &mut Vec<ScreenEffect>) {
    match choice {
        PickerChoice::Session(id) => effects.push(ScreenEffect::Send(Command::Resume(id))),
        PickerChoice::Model(choice) => {
            let provider = Some(choice.provider);
            effects.push(ScreenEffect::Send(Command::SetModel { provider, model: choice.name }));
        }
        PickerChoice::Mode(mode) => effects.push(ScreenEffect::Send(Command::SetMode(mode))),
    }
}

/// Draws a picker.
pub fn draw(model: &TuiModel, picker: &Picker, area: Rect, pen: Painter<'_>, buffer: &mut Buffer) {
    let title = if picker.filter.is_empty() {
        picker.title.clone()
    } else {
        format!("{} · {}", picker.title, picker.filter.text())
    };
    let inner = frame(buffer, area, pen.theme, pen.theme.accent, &title, &footer(model));
    let found = picker.matching();
    let names = column_width(found.iter().map(|row| &*row.label), 60);
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

/// Hints for the keys of a picker.
pub fn hint(model: &TuiModel) -> Vec<String> {
    let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
    let take = model.keymap.hint(KeyContext::List, Action::Submit, "selects");
    let before = ["type to filter".to_owned()].into_iter().chain(arrows).chain(take);
    before.chain(["Esc closes".to_owned()]).collect()
}

/// A search in the prompt history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistorySearch {
    pub query: TextBuffer,
    pub selected: usize,
}

/// Handles a key in the history search.
pub fn press_history(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::History(search)) = &mut model.overlay else { return };
    if type_filter(&mut search.query, &mut search.selected, key) {
        return;
    }
    let found = model.composer.search(search.query.text());
    match action {
        // The newest match is at the bottom, next to the prompt.
        Some(Action::Up | Action::SearchHistory) => {
            cycle_selection(&mut search.selected, found.len(), true);
        }
        Some(Action::Down) => cycle_selection(&mut search.selected, found.len(), false),
        Some(Action::Submit | Action::Next) => {
            let chosen = found.get(search.selected).map(|&prompt| prompt.to_owned());
            model.overlay = None;
            if let Some(prompt) = chosen {
                model.composer.buffer.set(&prompt);
                prompt::edited(model, effects);
            }
        }
        Some(edit) => {
            prompt::edit_text(&mut search.query, edit);
        }
        None => {}
    }
}

/// Draws the history search, the newest match at the bottom, next to the prompt.
pub fn draw_history(
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
