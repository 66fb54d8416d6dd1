//! Keys in the lists to choose from, and the replies that fill them.

use crossterm::event::KeyEvent;

use crate::protocol::Command;
use crate::tui::composer::draft;
use crate::tui::composer::edit::edit_text;
use crate::tui::keymap::Action;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection, type_filter};
use crate::tui::picker::PickerRows;
use crate::tui::picker::rows::PickerChoice;

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
                apply_choice(model, row.choice, effects);
            }
        }
        Some(edit) => {
            edit_text(&mut picker.filter, edit);
        }
        None => {}
    }
}

/// Applies the chosen row of a picker.
fn apply_choice(model: &mut TuiModel, choice: PickerChoice, effects: &mut Vec<ScreenEffect>) {
    match choice {
        PickerChoice::Session(id) => effects.push(ScreenEffect::Send(Command::Resume(id))),
        PickerChoice::Model(choice) => {
            let provider = Some(choice.provider);
            effects.push(ScreenEffect::Send(Command::SetModel { provider, model: choice.name }));
        }
        PickerChoice::Mode(mode) => {
            effects.push(ScreenEffect::Send(Command::SetMode { mode, answers: false }));
        }
        PickerChoice::Theme(name) => choose_theme(model, name),
    }
}

/// Takes a theme for the session.
pub fn choose_theme(model: &mut TuiModel, name: String) {
    model.say(format!("theme {name} for this session · theme = \"{name}\" below [tui] keeps it"));
    model.settings.theme = name;
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
                draft::edited(model, effects);
            }
        }
        Some(edit) => {
            edit_text(&mut search.query, edit);
        }
        None => {}
    }
}
