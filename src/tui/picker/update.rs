//! Keys in overlays: pickers, help, history search, "Cancel which?".

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::agents::list::update as agent_list;
use crate::tui::background::update as background;
use crate::tui::composer::TextBuffer;
use crate::tui::interrupt::update as interrupt;
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{AgentAction, Overlay};
use crate::tui::question::update as question;
use crate::tui::update::prompt;
use crate::tui::{focus, reader, update};

/// Handles a key while an overlay is open.
pub fn press(model: &mut TuiModel, keys: &Keymap, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    if let Some(Overlay::Reader(_)) = model.overlay {
        return reader::press(model, keys, key, effects);
    }
    let action = keys.action(KeyContext::List, key);
    match action {
        Some(Action::Redraw) => return effects.push(ScreenEffect::Redraw),
        Some(Action::Suspend) => return effects.push(ScreenEffect::Suspend),
        _ => {}
    }
    match model.overlay {
        Some(Overlay::Agents(_)) => agent_list::press(model, key, action, effects),
        Some(Overlay::Picker(_)) => picker(model, key, action, effects),
        Some(Overlay::History(_)) => history(model, key, action, effects),
        Some(Overlay::AgentPicker(_)) => agent_picker(model, key, action, effects),
        Some(Overlay::Help { .. } | Overlay::Page { .. } | Overlay::Question { .. }) => {
            page(model, key, action);
        }
        Some(Overlay::Reader(_)) | None => {}
    }
}

/// The character of a key without Ctrl or Alt.
pub fn plain_char(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter)
            if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(letter)
        }
        _ => None,
    }
}

/// Moves a selection, wrapping around.
pub fn cycle_selection(selected: &mut usize, rows: usize, down: bool) {
    let rows = rows.max(1);
    *selected = if down { *selected + 1 } else { (*selected).min(rows - 1) + rows - 1 } % rows;
}

fn picker(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    if let Some(letter) = plain_char(key) {
        picker.filter.type_char(letter);
        picker.selected = 0;
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
                update::apply_choice(row.choice, effects);
            }
        }
        Some(edit) => question::edit_line(&mut picker.filter, edit),
        None => {}
    }
}

fn history(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::History(search)) = &mut model.overlay else { return };
    if let Some(letter) = plain_char(key) {
        search.query.type_char(letter);
        search.selected = 0;
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
        Some(edit) => question::edit_line(&mut search.query, edit),
        None => {}
    }
}

/// Handles a key in "Cancel which?" and "Background which?": a pane number, arrows, or `a` for all.
fn agent_picker(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::AgentPicker(which)) = &mut model.overlay else { return };
    let (count, wish) = (which.rows.len(), which.action);
    let meant = match (plain_char(key), action) {
        (Some('a'), _) => return apply_to_all(model, wish, effects),
        (Some(letter), _) => {
            let number = letter.to_digit(10).map(|digit| digit as usize);
            let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
            let mut open = agents.filter(|agent| wish.applies_to(agent));
            open.find(|agent| Some(agent.number) == number).map(|agent| agent.path.clone())
        }
        (_, Some(Action::Submit)) => which.rows.get(which.selected).cloned(),
        (_, Some(Action::Up | Action::Down)) => {
            return cycle_selection(&mut which.selected, count, action == Some(Action::Down));
        }
        _ => return,
    };
    let Some(agent) = meant.and_then(|path| model.agents.get(&path)) else { return };
    if !wish.applies_to(agent) {
        return;
    }
    let path = agent.path.clone();
    model.overlay = None;
    match wish {
        AgentAction::Cancel => interrupt::cancel(model, &path, effects),
        AgentAction::Background => background::send_to_background(model, &path, effects),
    }
}

fn apply_to_all(model: &mut TuiModel, wish: AgentAction, effects: &mut Vec<ScreenEffect>) {
    match wish {
        AgentAction::Cancel => interrupt::cancel_listed(model, effects),
        AgentAction::Background => background::send_all_listed(model, effects),
    }
}

fn page(model: &mut TuiModel, key: KeyEvent, action: Option<Action>) {
    let extent = model.metrics.page;
    let Some(
        Overlay::Help { scroll } | Overlay::Page { scroll, .. } | Overlay::Question { scroll, .. },
    ) = &mut model.overlay
    else {
        return;
    };
    let last = extent.total.saturating_sub(extent.height);
    let by = |lines: isize| (*scroll).saturating_add_signed(lines).min(last);
    let next = match (plain_char(key), action) {
        (Some('q' | '?'), _) | (_, Some(Action::Submit | Action::Reader)) => {
            model.overlay = None;
            return;
        }
        (Some('j'), _) | (_, Some(Action::Down)) => by(1),
        (Some('k'), _) | (_, Some(Action::Up)) => by(-1),
        (Some(' '), _) | (_, Some(Action::PageDown)) => by(focus::page_step(extent)),
        (Some('b'), _) | (_, Some(Action::PageUp)) => by(-focus::page_step(extent)),
        (Some('g'), _) | (_, Some(Action::Home)) => 0,
        (Some('G'), _) | (_, Some(Action::End)) => last,
        _ => return,
    };
    *scroll = next;
}

/// Pastes into the text field of the overlay, if there is one.
pub fn paste(model: &mut TuiModel, text: &str) {
    let line = text.lines().next().unwrap_or_default();
    let buffer: Option<&mut TextBuffer> = match &mut model.overlay {
        Some(Overlay::Agents(list)) if list.filtering => Some(&mut list.filter),
        Some(Overlay::Picker(picker)) => Some(&mut picker.filter),
        Some(Overlay::History(search)) => Some(&mut search.query),
        Some(Overlay::Reader(reader)) => reader.typing.as_mut(),
        _ => None,
    };
    if let Some(buffer) = buffer {
        buffer.insert(line);
    }
}
