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
        let indent = u32::try_from(group.indent(agent)).unwrap_or_default();
        let depth = agent.path.depth();
        for level in depth + 1 - indent..=depth {
            let line = if goes_on(group, at, level) { glyphs.vertical } else { " " };
            let branch = match (level == depth, line) {
                (true, " ") => glyphs.last_branch,
                (true, _) => glyphs.branch,
                (false, line) => line,
            };
            head.push(Span::styled(branch, painter.theme.dim));
            rest.push(Span::styled(line, painter.theme.dim));
        }
        head.push(mark);
        rest.push(bar);
        Self { head, rest }
    }

    /// The lines of the tree above the agent at this index.
    pub fn above(group: AgentGroup<'_>, at: usize) -> Vec<Span<'static>> {
        let AgentGroup { agents, painter, .. } = group;
        let glyphs = painter.theme.glyphs;
        let depth = agents[at].path.depth();
        let indent = u32::try_from(group.indent(agents[at])).unwrap_or_default();
        let line = |level| match level == depth || goes_on(group, at, level) {
            true => glyphs.vertical,
            false => " ",
        };
        let levels = depth + 1 - indent..=depth;
        levels.map(|level| Span::styled(line(level), painter.theme.dim)).collect()
    }

    /// Cells before the text.
    pub fn width(&self) -> usize {
        spans_width(&self.rest)
    }
}

/// Whether another agent at this depth stands below, under the same parent as this one or an agent above it.
fn goes_on(group: AgentGroup<'_>, at: usize, depth: u32) -> bool {
    let mut after = group.agents[at + 1..].iter().map(|other| other.path.depth());
    after.find(|other| *other <= depth) == Some(depth)
}

/// The left edge of the line of an agent: the branch of a child, and the bar in the agent's colour.
pub fn edge(group: AgentGroup<'_>, at: usize) -> Vec<Span<'static>> {
    Gutter::new(group, at).head
}
