//! The overlay that covers the body: a list, a picker, a page, or the reader. Only one is open at a
//! time; each is drawn and handled by its own module.

pub mod update;

use crossterm::event::KeyEvent;

use crate::protocol::QuestionId;
use crate::tui::agents::list::AgentList;
use crate::tui::agents::picker::AgentPicker;
use crate::tui::composer::TextBuffer;
use crate::tui::keymap::{Action, plain_char};
use crate::tui::page::Page;
use crate::tui::picker::{HistorySearch, Picker};
use crate::tui::reader::Reader;

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
    /// `/cost` and the like.
    Page(Page),
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

/// Moves a selection, wrapping around.
pub fn cycle_selection(selected: &mut usize, rows: usize, down: bool) {
    let rows = rows.max(1);
    *selected = if down { *selected + 1 } else { (*selected).min(rows - 1) + rows - 1 } % rows;
}

/// A step of a selection with an end at both sides: by rows, down is positive.
pub fn step_selection(selected: &mut usize, rows: usize, by: isize) {
    let last = rows.saturating_sub(1);
    *selected = (*selected).min(last).saturating_add_signed(by).min(last);
}

/// Moves a selection with a key, in a list that shows so many `lines`. Returns false for other keys.
pub fn move_selection(selected: &mut usize, rows: usize, lines: usize, action: Action) -> bool {
    let page = isize::try_from(lines.saturating_sub(1).max(1)).unwrap_or(1);
    match action {
        Action::Up | Action::Down => cycle_selection(selected, rows, action == Action::Down),
        Action::PageUp => step_selection(selected, rows, -page),
        Action::PageDown => step_selection(selected, rows, page),
        Action::Home => *selected = 0,
        Action::End => *selected = rows.saturating_sub(1),
        _ => return false,
    }
    true
}

/// Types a letter into the filter of a list and selects the first row. Returns false for other keys.
pub fn type_filter(filter: &mut TextBuffer, selected: &mut usize, key: KeyEvent) -> bool {
    let Some(letter) = plain_char(key) else { return false };
    filter.type_char(letter);
    *selected = 0;
    true
}
