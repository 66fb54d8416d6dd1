//! The results of a turn of main so far: changed files, agents, tokens and cost.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::tui::agents::{AgentSet, AgentState, HISTORY_START};
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::labels;
use crate::tui::model::TuiModel;

/// The agents that have worked for the current or last turn.
pub fn agents(model: &TuiModel) -> impl Iterator<Item = &AgentState> {
    let began = model.run.started.unwrap_or_default();
    // A stored history has later times than everything since.
    let is_history = |at: Duration| at >= HISTORY_START;
    let in_turn = move |agent: &&AgentState| {
        let started = agent.run.started.filter(|at| is_history(*at) == is_history(began));
        started.is_some_and(|at| at >= began) && !agent.in_background
    };
    model.agents.iter().filter(in_turn)
}

/// The facts about an ended turn, most important first, after `head`.
pub fn facts(model: &TuiModel, head: &str) -> Vec<String> {
    let took = model.run.elapsed(model.now).unwrap_or_default();
    let mut facts = vec![format!("{head} {}", clock(took))];
    let tally = AgentSet::tally(agents(model));
    if tally.all > 0 {
        let ends = labels::end_counts(tally, model.settings.glyphs());
        facts.push(format!("{} {ends}", count(tally.all, "agent")));
    }
    facts.extend(changes_label(model));
    let (mut used, mut cost) = labels::sum_usage(agents(model));
    used += model.run.usage.counted();
    cost += model.run.cost;
    if used > 0 {
        facts.push(format!("{} tokens", tokens(used)));
    }
    if cost.usd > 0.0 {
        facts.push(money(cost));
    }
    facts
}

/// `3 files +41 −12`: what main and its agents have changed, if anything.
fn changes_label(model: &TuiModel) -> Option<String> {
    let runs = agents(model).map(|agent| &agent.run).chain([&model.run]);
    let (mut files, mut added, mut removed) = (BTreeSet::new(), 0, 0);
    for (file, lines) in runs.flat_map(|run| &run.changes) {
        files.insert(file);
        (added, removed) = (added + lines.0, removed + lines.1);
    }
    (!files.is_empty()).then(|| format!("{} +{added} −{removed}", count(files.len(), "file")))
}
