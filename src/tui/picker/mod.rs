//! Lists to choose from: stored sessions, models, permission modes, and the prompt history.

pub mod draw;
pub mod open;
mod preview;
mod rows;
pub mod sessions;
pub mod update;

use std::collections::HashSet;

use crate::protocol::{PermissionMode, SessionId};
use crate::tui::composer::TextBuffer;
use crate::tui::first_run::SetupRow;
use crate::tui::host::{MemoryChoice, ModelChoice, SessionChoice};
use crate::tui::session::ScreenRule;
use crate::tui::themes::ThemeChoice;

/// A list to choose one row from.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub title: String,
    pub filter: TextBuffer,
    pub selected: usize,
    pub rows: PickerRows,
    /// The label of the row that is in force now.
    pub current: String,
    /// The provider of the current model, if this is a list of models.
    pub provider: Option<String>,
    /// Read-only lines below the rows.
    pub notes: Vec<String>,
    /// Whether Enter was pressed on a row that needs it twice.
    pub confirms: bool,
}

/// The rows of a picker.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerRows {
    /// The host has not answered yet.
    Loading,
    Sessions(SessionRows),
    Models(Vec<ModelChoice>),
    Memory(Vec<MemoryChoice>),
    /// Effort levels, the default first.
    Efforts(Vec<String>),
    /// Ways to get a model, while there is none.
    Ways(Vec<SetupRow>),
    Permissions {
        modes: Vec<PermissionMode>,
        rules: Vec<ScreenRule>,
    },
    /// The selected one is shown at once.
    Themes(Vec<ThemeChoice>),
}

/// The stored sessions to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRows {
    pub choices: Vec<SessionChoice>,
    /// Whether those of all directories are listed.
    pub everywhere: bool,
    /// The sessions that have the words of the filter in their texts, as far as that is known.
    pub hits: HashSet<SessionId>,
}

impl Picker {
    pub fn new(title: &str, rows: PickerRows) -> Self {
        Self {
            title: title.to_owned(),
            filter: TextBuffer::default(),
            selected: 0,
            rows,
            current: String::new(),
            provider: None,
            notes: Vec::new(),
            confirms: false,
        }
    }
}

/// A search in the prompt history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistorySearch {
    pub query: TextBuffer,
    pub selected: usize,
}
