//! The left edge of panes and lines of agents.

use ratatui::text::Span;

use crate::tui::agents::row::AgentGroup;
use crate::tui::paint::spans_width;

/// The left edge of an agent: the branch of a child, and the bar in the agent's colour.
pub struct Gutter {
    /// Before the first line.
    pub head: Vec<Span<'static>>,
    /// Before the others.
    pub rest: Vec<Span<'static>>,
}

impl Gutter {
    /// The bar alone.
    pub fn bar(group: AgentGroup<'_>, at: usize) -> Span<'static> {
        let AgentGroup { agents, painter, .. } = group;
        Span::styled(painter.theme.glyphs.bar, painter.agent(agents[at]))
    }

    /// The edge of the agent at this index.
    pub fn new(group: AgentGroup<'_>, at: usize) -> Self {
        let AgentGroup { agents, painter, .. } = group;
        let agent = agents[at];
        let glyphs = painter.theme.glyphs;
        let bar = Self::bar(group, at);
        let mark = if group.is_focused(at) {
            Span::styled(glyphs.focus, painter.agent(agent))
        } else {
            bar.clone()
        };
        let (mut head, mut rest) = (Vec::new(), Vec::new());
        let indent = group.indent(agent);
        if indent > 0 {
            let depth = agent.path.depth();
            let mut after = agents[at + 1..].iter().map(|other| other.path.depth());
            let last = after.find(|other| *other <= depth) != Some(depth);
            let (branch, line) =
                if last { (glyphs.last_branch, " ") } else { (glyphs.branch, glyphs.vertical) };
            let indent = " ".repeat(indent - 1);
            head.push(Span::styled(format!("{indent}{branch}"), painter.theme.dim));
            rest.push(Span::styled(format!("{indent}{line}"), painter.theme.dim));
        }
        head.push(mark);
        rest.push(bar);
        Self { head, rest }
    }

    /// Cells before the text.
    pub fn width(&self) -> usize {
        spans_width(&self.rest)
    }
}

/// The left edge of the line of an agent: the branch of a child, and the bar in the agent's colour.
pub fn edge(group: AgentGroup<'_>, at: usize) -> Vec<Span<'static>> {
    Gutter::new(group, at).head
}
