//! `/agents`: running and finished agents and commands, definitions, and the actions on each.

pub mod draw;
pub mod rows;
pub mod update;

use crate::tui::composer::TextBuffer;
use crate::tui::host::AgentChoice;

/// The list of agents: running ones, others of this session, and definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentList {
    pub filter: TextBuffer,
    /// Whether letters go to the filter instead of acting on the row.
    pub filtering: bool,
    /// The last letter, if it has done nothing yet: `a`, which acts when pressed twice, or a letter
    /// without a meaning for the row. It may begin a word to filter by.
    pub pending: Option<char>,
    pub selected: usize,
    /// `None` until the host has answered.
    pub definitions: Option<Vec<AgentChoice>>,
}
