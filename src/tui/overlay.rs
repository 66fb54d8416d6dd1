//! The overlay that covers the body: a list, a picker, a page, or the reader. Only one is open at a
//! time; each is drawn and handled by its own module.

use crossterm::event::KeyEvent;

use crate::protocol::QuestionId;
use crate::tui::agents::list::AgentList;
use crate::tui::agents::picker::AgentPicker;
use crate::tui::composer::TextBuffer;
use crate::tui::keymap::{Action, KeyContext, Keymap, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::picker::{HistorySearch, Picker};
use crate::tui::reader::Reader;
use crate::tui::{agents, page, picker, reader};

/// The overlay that covers the body.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// `/agents`.
    Agents(AgentList),
    /// `/resume`, `/model`, `/permissions`.
    Picker(Picker),
    /// `?` and `/help`.
    Help {
        scroll: usize,
    },
    /// `/cost` and the like: a title and lines.
    Page {
        title: String,
        lines: Vec<String>,
        scroll: usize,
    },
    /// Ctrl+O on a question: its content with more room.
    Question {
        id: QuestionId,
        scroll: usize,
    },
    /// Ctrl+R.
    History(HistorySearch),
    /// Ctrl+O.
    Reader(Reader),
    AgentPicker(AgentPicker),
}

/// The most bytes that can be pasted into a filter or a search.
const MAX_FILTER_PASTE: usize = 1000;

impl Overlay {
    /// Hints for the keys, most important first.
    pub fn hint(&self, model: &TuiModel) -> Vec<String> {
        match self {
            Self::Agents(list) => list.hint(model),
            Self::Picker(_) => picker::hint(model),
            Self::Help { .. } | Self::Page { .. } => page::hint(model, "Esc closes"),
            Self::Question { .. } => page::hint(model, "Esc back"),
            Self::History(_) => picker::history_hint(model),
            Self::Reader(reader) => reader.hint(model),
            Self::AgentPicker(which) => which.hint(model),
        }
    }
}

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
        Some(Overlay::Agents(_)) => agents::list::update::press(model, key, action, effects),
        Some(Overlay::Picker(_)) => picker::press(model, key, action, effects),
        Some(Overlay::History(_)) => picker::press_history(model, key, action, effects),
        Some(Overlay::AgentPicker(_)) => agents::picker::press(model, key, action, effects),
        Some(Overlay::Help { .. } | Overlay::Page { .. } | Overlay::Question { .. }) => {
            page::press(model, key, action);
        }
        Some(Overlay::Reader(_)) | None => {}
    }
}

/// Moves a selection, wrapping around.
pub fn cycle_selection(selected: &mut usize, rows: usize, down: bool) {
    let rows = rows.max(1);
    *selected = if down { *selected + 1 } else { (*selected).min(rows - 1) + rows - 1 } % rows;
}

/// Types a letter into the filter of a list and selects the first row. Returns false for other keys.
pub fn type_filter(filter: &mut TextBuffer, selected: &mut usize, key: KeyEvent) -> bool {
    let Some(letter) = plain_char(key) else { return false };
    filter.type_char(letter);
    *selected = 0;
    true
}

/// Leaves the text field of an overlay if one is open, otherwise closes the overlay.
pub fn leave(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    match &mut model.overlay {
        Some(Overlay::Reader(reader)) if reader.typing.is_some() => reader.typing = None,
        Some(Overlay::Agents(list)) if list.filtering => {
            list.filtering = false;
            list.filter.take();
        }
        _ => close(model, effects),
    }
}

/// Closes the overlay; captures the mouse again after the reader.
pub fn close(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    if let Some(Overlay::Reader(_)) = model.overlay.take()
        && model.settings.mouse
    {
        effects.push(ScreenEffect::Mouse(true));
    }
}

/// Pastes into the text field of the overlay, if there is one: the first line, up to a limit.
pub fn paste(model: &mut TuiModel, text: &str) {
    let buffer: Option<&mut TextBuffer> = match &mut model.overlay {
        Some(Overlay::Agents(list)) if list.filtering => Some(&mut list.filter),
        Some(Overlay::Picker(picker)) => Some(&mut picker.filter),
        Some(Overlay::History(search)) => Some(&mut search.query),
        Some(Overlay::Reader(reader)) => reader.typing.as_mut(),
        _ => None,
    };
    let Some(buffer) = buffer else { return };
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
