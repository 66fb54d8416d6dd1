//! Finds what is under the mouse.

use ratatui::layout::Position;

use crate::tui::agents::batch;
use crate::tui::model::TuiModel;
use crate::tui::msg::{HitKind, HitTarget};

use super::View;

impl View {
    /// Returns the target at a cell of the last frame. Measures a pane if it is about to scroll.
    pub fn hit_test(&mut self, model: &TuiModel, at: Position, scrolls: bool) -> HitTarget {
        let found = self.hit_areas.iter().rev().find(|(area, _)| area.contains(at));
        let Some((area, mut target)) = found.cloned() else { return HitTarget::default() };
        if let HitKind::Prompt(position) = &mut target {
            let draft = &model.composer.buffer;
            self.draft.refresh(draft, model.prompt_width());
            *position = self.draft.position_at(draft, at.x - area.x, at.y - area.y);
        }
        if target == HitKind::Body {
            let zoomed = model.zoomed().map(|agent| &agent.path);
            let layout = zoomed
                .map_or(Some(&self.main), |path| self.agents.get(path).map(|(_, layout)| layout));
            if let Some(hit) = layout.and_then(|layout| layout.line_at(at.y)) {
                let main = model.main.get(hit.item).filter(|_| zoomed.is_none());
                let row = main.zip(hit.line);
                let agent = row.and_then(|(item, line)| batch::agent_at(model, item, line));
                target = agent.map_or(HitKind::Item(hit.item), HitKind::AgentRow);
            }
        }
        let HitKind::Pane(path) = &target else {
            return HitTarget { area, kind: target, ..HitTarget::default() };
        };
        let pane = self.panes.iter().find(|(of, inner)| of == path && area.union(*inner) == area);
        let inner = pane.map_or(area, |(_, inner)| *inner);
        let agent = model.agents.get(path).filter(|_| pane.is_some());
        let layout = self.agents.get(path).filter(|_| inner.contains(at));
        let output = layout.zip(agent).and_then(|((_, layout), agent)| {
            let hit = layout.line_at(at.y)?;
            let expanded = agent.transcript.get(hit.item).is_some_and(|item| item.expanded);
            (hit.counts_rest || expanded).then_some(hit.item)
        });
        let pane = agent.filter(|_| scrolls);
        let pane = pane.map(|agent| self.draw_agent(model, agent, inner, true, None));
        HitTarget { area: inner, kind: target, pane: pane.unwrap_or_default(), output }
    }
}
