//! The overlay that covers the body: a list, a picker, a page, or the reader. Only one is open at a
//! time; each is drawn and handled by its own module.

pub mod update;

use crossterm::event::KeyEvent;

use crate::protocol::QuestionId;
use crate::tui::agents::list::AgentList;
use crate::tui::agents::picker::AgentPicker;
use crate::tui::composer::TextBuffer;
use crate::tui::keymap::plain_char;
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

/// Types a letter into the filter of a list and selects the first row. Returns false for other keys.
pub fn type_filter(filter: &mut TextBuffer, selected: &mut usize, key: KeyEvent) -> bool {
    let Some(letter) = plain_char(key) else { return false };
    filter.type_char(letter);
    *selected = 0;
    true
}
