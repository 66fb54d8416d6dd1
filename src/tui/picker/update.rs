//! Keys in the lists to choose from, and the replies that fill them.

use crossterm::event::KeyEvent;

use crate::protocol::{Command, PermissionMode};
use crate::tui::choices;
use crate::tui::composer::edit::edit_text;
use crate::tui::composer::{draft, image_request};
use crate::tui::first_run::{SetupWay, update as first_run};
use crate::tui::host::{ModelChoice, ModelList};
use crate::tui::interrupt::stop;
use crate::tui::keymap::Action;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection, move_selection, type_filter};
use crate::tui::picker::rows::{PickerChoice, PickerRow};
use crate::tui::picker::{Picker, PickerRows, sessions};

/// Fills an open picker with its rows.
pub fn fill(model: &mut TuiModel, rows: PickerRows) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && picker.rows == PickerRows::Loading
    {
        picker.rows = rows;
    }
}

/// Fills an open picker with models; without any, and without a configured one, with the ways to get
/// one.
pub fn fill_models(model: &mut TuiModel, ModelList { mut choices, notes }: ModelList) {
    if !choices.is_empty() {
        add_current(model, &mut choices);
    }
    let ways = model.session.first_run.as_ref().filter(|_| choices.is_empty());
    let rows = ways.map_or(PickerRows::Models(choices), |first| PickerRows::Ways(first.rows()));
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && picker.rows == PickerRows::Loading
    {
        picker.rows = rows;
        let current = |row: &PickerRow| picker.is_current(row);
        picker.selected = picker.all().iter().position(current).unwrap_or(0);
        picker.notes = notes;
    }
}

/// Adds the model in use to those of its provider, if that does not list it: a default model may be newer
/// than the list, or have another name there.
fn add_current(model: &TuiModel, choices: &mut Vec<ModelChoice>) {
    let session = &model.session;
    let Some(provider) = session.provider.as_ref().filter(|_| !session.model.is_empty()) else {
        return;
    };
    let of_provider = |choice: &&ModelChoice| choice.provider == *provider;
    if choices.iter().filter(of_provider).any(|choice| choice.name == session.model) {
        return;
    }
    let first = choices.iter().position(|choice| choice.provider == *provider);
    let others = first.and_then(|at| choices[at].detail.split(" · ").next());
    let detail = format!("{} · not in its list", others.unwrap_or(provider));
    let first = first.unwrap_or(0);
    let (provider, name) = (provider.clone(), session.model.clone());
    choices.insert(first, ModelChoice { provider, name, detail });
}

/// Handles a key in a picker.
pub fn press(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let (in_force, lines) = (model.session.mode, model.metrics.list);
    let stops_work = stop::session_work_label(model).is_some();
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    let confirmed = std::mem::take(&mut picker.confirms);
    if type_filter(&mut picker.filter, &mut picker.selected, key) {
        return sessions::filter_changed(picker, effects);
    }
    let rows = picker.matching();
    match action {
        Some(action) if move_selection(&mut picker.selected, rows.len(), lines, action) => {}
        Some(Action::Submit) if !confirmed && in_force != BYPASS && selects_bypass(picker) => {
            picker.confirms = true;
        }
        Some(Action::Submit) if !confirmed && stops_work && selects_session(picker) => {
            picker.confirms = true;
        }
        Some(Action::All) => sessions::toggle_everywhere(model, effects),
        Some(Action::Submit) => match rows.into_iter().nth(picker.selected).map(|row| row.choice) {
            Some(PickerChoice::Rule(origin)) => model.reply(format!("to change it: {origin}")),
            // The list stays, for what is found.
            Some(PickerChoice::Way(way @ SetupWay::NoServer)) => {
                first_run::choose(model, way, effects);
            }
            Some(PickerChoice::Session(id)) => sessions::choose(model, id, effects),
            Some(choice) => {
                model.overlay = None;
                apply_choice(model, choice, effects);
            }
            None => {}
        },
        Some(edit) => {
            edit_text(&mut picker.filter, edit);
            sessions::filter_changed(picker, effects);
        }
        None => {}
    }
}

/// The mode that Enter turns on only when pressed twice.
const BYPASS: PermissionMode = PermissionMode::BypassPermissions;

fn selects_bypass(picker: &Picker) -> bool {
    let chosen = picker.matching().into_iter().nth(picker.selected);
    chosen.is_some_and(|row| matches!(row.choice, PickerChoice::Mode(BYPASS)))
}

fn selects_session(picker: &Picker) -> bool {
    let chosen = picker.matching().into_iter().nth(picker.selected);
    chosen.is_some_and(|row| matches!(row.choice, PickerChoice::Session(_)))
}

/// Applies the chosen row of a picker.
fn apply_choice(model: &mut TuiModel, choice: PickerChoice, effects: &mut Vec<ScreenEffect>) {
    match choice {
        PickerChoice::Model(choice) => {
            let provider = Some(choice.provider);
            effects.push(ScreenEffect::Send(Command::SetModel { provider, model: choice.name }));
        }
        PickerChoice::Effort(effort) => {
            effects.push(ScreenEffect::Send(Command::SetEffort { effort }));
        }
        PickerChoice::File(path) => effects.push(ScreenEffect::EditFile(path)),
        PickerChoice::Way(way) => first_run::choose(model, way, effects),
        // Handled above.
        PickerChoice::Rule(_) | PickerChoice::Session(_) => {}
        PickerChoice::Mode(mode) => {
            effects.push(ScreenEffect::Send(Command::SetMode { mode, answers: false }));
        }
        PickerChoice::Theme(name) => choose_theme(model, name, effects),
    }
}

/// Takes a theme. Once it is kept, a notice says so.
pub fn choose_theme(model: &mut TuiModel, name: String, effects: &mut Vec<ScreenEffect>) {
    model.say(format!("theme {name}"));
    choices::keep_theme(&name, effects);
    model.settings.theme = name;
}

/// Handles a key in the history search.
pub fn press_history(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let lines = model.metrics.list;
    let Some(Overlay::History(search)) = &mut model.overlay else { return };
    if type_filter(&mut search.query, &mut search.selected, key) {
        return;
    }
    let found = model.composer.search(search.query.text());
    // The newest match is at the bottom, next to the prompt.
    let mut row = found.len().saturating_sub(1 + search.selected);
    match action {
        Some(Action::SearchHistory) => {
            cycle_selection(&mut search.selected, found.len(), true);
        }
        Some(action) if move_selection(&mut row, found.len(), lines, action) => {
            search.selected = found.len().saturating_sub(1 + row);
        }
        Some(Action::Submit | Action::Next) => {
            let chosen = found.get(search.selected).map(|&prompt| prompt.to_owned());
            model.overlay = None;
            if let Some(prompt) = chosen {
                model.composer.recall(&prompt);
                draft::edited(model, effects);
                image_request::request_past(model, effects);
            }
        }
        Some(edit) => {
            edit_text(&mut search.query, edit);
        }
        None => {}
    }
}
