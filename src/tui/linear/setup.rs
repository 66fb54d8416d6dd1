//! Says which of the ways to begin without a model is selected, and what has changed in them.

use super::speech::Speech;
use super::words::clean_row;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;

/// The ways as they were last said.
#[derive(Default)]
pub struct SetupLog {
    rows: Vec<String>,
    selected: Option<usize>,
}

impl SetupLog {
    /// Says the selected way when it is another one or the user asks, and any way that has changed.
    pub fn say(&mut self, model: &TuiModel, asked: bool, speech: &mut Speech) {
        let Some(first) = model.session.first_run.as_ref().filter(|_| model.shows_setup()) else {
            self.selected = None;
            return;
        };
        let ways = first.rows();
        let line = |label: &str, detail: &str| clean_row(&format!("{label}: {detail}")).text;
        let rows: Vec<String> = ways.iter().map(|way| line(way.label, &way.detail)).collect();
        let selects = asked || self.selected != Some(first.selected);
        // The first lines of the session have said all of them.
        let known = !self.rows.is_empty();
        for (at, (row, way)) in rows.iter().zip(&ways).enumerate() {
            let changed = known && self.rows.get(at) != Some(row);
            if at == first.selected && (selects || changed) {
                let key = model.keymap.hint(KeyContext::Prompt, Action::Submit, way.action);
                let key = key.map(|key| format!(", {key}")).unwrap_or_default();
                speech.line(&format!("Selected: {row}{key}"));
            } else if changed {
                speech.line(row);
            }
        }
        (self.rows, self.selected) = (rows, Some(first.selected));
    }
}
