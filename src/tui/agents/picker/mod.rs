//! "Cancel which?" and "Background which?": asks which agent to act on.

pub mod draw;
pub mod update;

use std::time::Duration;

use crate::protocol::AgentPath;
use crate::tui::agents::AgentState;

/// Asks which agent to act on. Its rows never shift.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPicker {
    pub action: AgentAction,
    pub rows: Vec<AgentPath>,
    pub selected: usize,
    /// The digits of a number that Enter takes as a whole.
    pub typed: String,
    /// Whether Enter found no such number, so that the next digit begins another.
    pub rejected: bool,
    /// Whether `a` was pressed, which acts on all when pressed twice.
    pub confirms: bool,
    /// Until when Ctrl+C does nothing: the press that opened the list may have been one of two.
    pub unread_until: Option<Duration>,
}

/// How long a new list is taken for unread.
pub const UNREAD_TIME: Duration = Duration::from_secs(1);

/// The action for the chosen agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAction {
    Cancel,
    Background,
}

impl AgentPicker {
    /// Whether nobody can have read the list yet.
    pub fn is_unread(&self, now: Duration) -> bool {
        self.unread_until.is_some_and(|until| now < until)
    }
}

impl AgentAction {
    /// Whether the action applies to this agent now.
    pub fn applies_to(self, agent: &AgentState) -> bool {
        match self {
            Self::Cancel => agent.alive(),
            Self::Background => agent.running() && !agent.in_background,
        }
    }
}
