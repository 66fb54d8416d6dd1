//! "Cancel which?" and "Background which?": asks which agent to act on.

pub mod draw;
pub mod update;

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
    /// Whether `a` was pressed, which acts on all when pressed twice.
    pub confirms: bool,
}

/// The action for the chosen agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAction {
    Cancel,
    Background,
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
