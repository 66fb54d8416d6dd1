//! Where agents are drawn, for the mouse and for their transcripts.

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::protocol::AgentPath;
use crate::tui::agents::AgentState;

/// The area of an agent.
pub struct PaneArea {
    /// All of it, for the mouse.
    pub area: Rect,
    pub path: AgentPath,
    /// The part with the transcript; empty if the agent is only a line.
    pub text: Rect,
    /// The line after the transcript.
    pub live: Option<Line<'static>>,
}

/// Areas of the agents drawn.
pub type PaneAreas = Vec<PaneArea>;

/// The area of an agent that is only a line.
pub fn line_area(area: Rect, agent: &AgentState) -> PaneArea {
    PaneArea { area, path: agent.path.clone(), text: Rect::default(), live: None }
}
