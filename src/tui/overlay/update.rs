//! Keys and pastes while an overlay covers the body, and leaving it.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::agents::list::rows::ListRow;
use crate::tui::agents::list::update as agent_list;
use crate::tui::agents::picker::update as agent_picker;
use crate::tui::composer::TextBuffer;
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, step_selection};
use crate::tui::page::{Page, update as page};
use crate::tui::picker::{sessions, update as picker};
use crate::tui::reader::update as reader;

/// The most bytes that can be pasted into a filter or a search.
const MAX_FILTER_PASTE: usize = 1000;

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
        Some(Overlay::Picker(_)) => picker::press(model, key, action, effects),
        Some(Overlay::History(_)) => picker::press_history(model, key, action, effects),
        Some(Overlay::AgentPicker(_)) => agent_picker::press(model, key, action, effects),
        Some(Overlay::Help { .. } | Overlay::Page(_) | Overlay::Question { .. }) => {
            page::press(model, key, action, effects);
            if work_is_done(model) {
                leave(model, effects);
                agent_list::select_next_work(model);
            }
        }
        Some(Overlay::Reader(_)) | None => {}
    }
}

/// Whether the work on the open page was merged or discarded with the last key.
fn work_is_done(model: &TuiModel) -> bool {
    matches!(&model.overlay, Some(Overlay::Page(Page { work: Some(work), .. })) if work.is_done)
}

/// Moves the selection of an open list by rows, no further than its ends.
pub fn scroll_list(model: &mut TuiModel, rows: isize) {
    let agents = match &model.overlay {
        Some(Overlay::Agents(list)) => list.rows(model).len(),
        _ => 0,
    };
    match &mut model.overlay {
        Some(Overlay::Agents(list)) => {
            list.pending = None;
            step_selection(&mut list.selected, agents, rows);
        }
        Some(Overlay::Picker(picker)) => {
            picker.confirms = false;
            let found = picker.matching().len();
            step_selection(&mut picker.selected, found, rows);
        }
        Some(Overlay::History(search)) => {
            let found = model.composer.search(search.query.text()).len();
            step_selection(&mut search.selected, found, -rows);
        }
        Some(Overlay::AgentPicker(which)) => {
            which.confirms = false;
            which.typed.clear();
            step_selection(&mut which.selected, which.rows.len(), rows);
        }
        _ => {}
    }
}

/// Handles a click on a row of an open list: it selects the row, and if nothing has happened since it was
/// clicked before, does what Enter does.
pub fn click_row(model: &mut TuiModel, row: usize, effects: &mut Vec<ScreenEffect>) {
    let again = model.keys.click(row, model.metrics.list_top);
    let Some(selected) = select_row(model, row) else { return };
    if !(again && selected) {
        return;
    }
    model.keys.clicked = None;
    let (key, action) = (KeyEvent::from(KeyCode::Enter), Some(Action::Submit));
    match model.overlay {
        Some(Overlay::Agents(_)) => agent_list::press(model, key, action, effects),
        Some(Overlay::Picker(_)) => picker::press(model, key, action, effects),
        Some(Overlay::History(_)) => picker::press_history(model, key, action, effects),
        Some(Overlay::AgentPicker(_)) => agent_picker::press(model, key, action, effects),
        _ => {}
    }
}

/// Selects a row of the open list. Returns whether it was selected already; `None` without a list.
fn select_row(model: &mut TuiModel, row: usize) -> Option<bool> {
    let found = match &model.overlay {
        Some(Overlay::History(search)) => model.composer.search(search.query.text()).len(),
        _ => 0,
    };
    let (selected, row) = match &mut model.overlay {
        Some(Overlay::Agents(list)) => (&mut list.selected, row),
        Some(Overlay::Picker(picker)) => (&mut picker.selected, row),
        // The newest is at the bottom.
        Some(Overlay::History(search)) => (&mut search.selected, found.checked_sub(row + 1)?),
        Some(Overlay::AgentPicker(which)) => (&mut which.selected, row),
        _ => return None,
    };
    let was = std::mem::replace(selected, row) == row;
    if !was {
        clear_pending(model);
    }
    Some(was)
}

/// Forgets what the keys have begun in a list, which was about another row.
fn clear_pending(model: &mut TuiModel) {
    match &mut model.overlay {
        Some(Overlay::Agents(list)) => list.pending = None,
        Some(Overlay::Picker(picker)) => picker.confirms = false,
        Some(Overlay::AgentPicker(which)) => {
            which.confirms = false;
            which.typed.clear();
        }
        _ => {}
    }
}

/// Leaves the text field of an overlay if one is open, otherwise closes the overlay.
pub fn leave(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    match &mut model.overlay {
        Some(Overlay::Reader(reader)) if reader.typing.is_some() => reader.typing = None,
        Some(Overlay::Agents(list)) if list.filtering => {
            let row = agent_list::selected_row(model);
            agent_list::end_filter(model, row.as_ref());
        }
        Some(Overlay::Reader(_)) => reader::close(model, effects),
        Some(Overlay::Page(Page { work: Some(work), .. })) => {
            let row = ListRow::Agent(work.agent.clone());
            agent_list::open(model, "", effects);
            agent_list::keep_selected(model, &row);
        }
        _ => model.overlay = None,
    }
}

/// Pastes into the text field of the overlay, if there is one: the first line, up to a limit. Returns
/// false if the text is for the draft: a page has no field, and closes.
pub fn paste(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) -> bool {
    if matches!(model.overlay, Some(Overlay::Help { .. } | Overlay::Page(_))) {
        model.overlay = None;
        return false;
    }
    paste_line(model, text);
    if let Some(Overlay::Picker(picker)) = &mut model.overlay {
        sessions::filter_changed(picker, effects);
    }
    true
}

fn paste_line(model: &mut TuiModel, text: &str) {
    let buffer: Option<&mut TextBuffer> = match &mut model.overlay {
        Some(Overlay::Agents(list)) if list.filtering => Some(&mut list.filter),
        Some(Overlay::Picker(picker)) => Some(&mut picker.filter),
        Some(Overlay::History(search)) => Some(&mut search.query),
        Some(Overlay::Reader(reader)) => reader.typing.as_mut(),
        _ => None,
    };
    let Some(buffer) = buffer else { return model.reply("nothing pasted · Esc first") };
    let text = text.trim_end_matches(['\r', '\n']);
    let line = text.split(['\r', '\n']).next().unwrap_or_default();
    let part = &line[..line.floor_char_boundary(MAX_FILTER_PASTE)];
    buffer.insert(part);
    if part.len() < line.len() {
        model.say(format!("pasted the first {MAX_FILTER_PASTE} bytes only"));
    } else if line.len() < text.len() {
        model.say("pasted the first line only");
    }
}
