//! Agents that start, and their batch in main's transcript.

use crate::protocol::{AgentInfo, AgentPath};
use crate::tui::model::TuiModel;
use crate::tui::transcript::{BatchForm, ItemKind};

/// Adds a sub-agent: assigns a number and a slot, and shows its batch in place of the call.
pub fn start(model: &mut TuiModel, path: &AgentPath, info: AgentInfo) {
    let now = model.now;
    if model.agents.get(path).is_some() {
        model.agents.restart(path, info, now);
        return redraw_batches(model, path);
    }
    let call = info.tool_use_id.clone();
    let before = model.agents.batch();
    redraw_open_batches(model);
    // A new batch has its numbers whether or not the user reads the old one.
    if model.fold_due && !model.agents.starts_aside(path, &info) {
        fold_panel(model);
    }
    let agent = model.agents.start(path.clone(), info, now);
    let (batch, aside) = (agent.batch, agent.in_background);
    if aside {
        // Nothing waits for it, so its call stays in the transcript with its result.
        return;
    }
    if batch != before {
        model.batch_item = None;
        model.fold_due = false;
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
        if let Some(agent) = model.agents.get_mut(&parent) {
            agent.transcript.mark_call_changed(&call);
        }
        return;
    }
    match model.batch_item {
        Some(item) => {
            let (agents, number) = (&model.agents, model.agents.get(path).map(|it| it.number));
            model.main.change(item, |item| {
                if let ItemKind::Batch { members, .. } = &mut item.kind {
                    let number_of = |path: &AgentPath| agents.get(path).map(|it| it.number);
                    let at = members.partition_point(|other| number_of(other) < number);
                    members.insert(at, path.clone());
                }
            });
            model.main.replace_call(&call, ItemKind::Hidden);
        }
        None => {
            let kind = ItemKind::Batch { members: vec![path.clone()], form: BatchForm::Whole };
            let replaced = model.main.replace_call(&call, kind.clone());
            let item = replaced.unwrap_or_else(|| model.main.push(kind));
            model.batch_item = Some(item);
            model.turn_batches.push(item);
        }
    }
}

/// Folds the panel if all agents in it have ended; while a pane has the focus, it is due.
pub fn fold(model: &mut TuiModel) {
    let has_ended = || !model.agents.panel().iter().any(|agent| agent.alive());
    model.fold_due = model.focus.is_some() && model.batch_item.is_some() && has_ended();
    if model.focus.is_none() {
        fold_panel(model);
    }
}

/// Folds the panel, whatever has the focus.
fn fold_panel(model: &mut TuiModel) {
    model.fold_due = false;
    if model.batch_item.is_none() || !model.agents.fold() {
        return;
    }
    if let Some(item) = model.batch_item.take() {
        model.main.change(item, |_| {});
    }
}

/// Moves the rows of a turn's batches below its last line.
pub fn move_rows(model: &mut TuiModel) {
    let mut agents = Vec::new();
    for item in std::mem::take(&mut model.turn_batches) {
        model.main.change(item, |item| {
            if let ItemKind::Batch { members, form } = &mut item.kind {
                *form = BatchForm::Head;
                agents.extend_from_slice(members);
            }
        });
    }
    if !agents.is_empty() {
        let kind = ItemKind::Batch { members: agents, form: BatchForm::Rows { opens: true } };
        model.agent_rows = Some(model.main.push(kind));
    }
}

/// Notes that a turn begins: the agents of the last one are no longer what the key opens at its end.
pub fn begin_turn(model: &mut TuiModel) {
    fold(model);
    model.jobs.drop_killed();
    model.turn_batches.clear();
    if let Some(item) = model.agent_rows.take() {
        model.main.change(item, |item| {
            if let ItemKind::Batch { form: BatchForm::Rows { opens }, .. } = &mut item.kind {
                *opens = false;
            }
        });
    }
}

/// Redraws the batches of the agents in the panel: while it is open, it has their rows.
pub fn redraw_open_batches(model: &mut TuiModel) {
    let panel = model.agents.panel();
    let tops = panel.iter().filter(|agent| agent.path.depth() == 1);
    let tops: Vec<AgentPath> = tops.map(|agent| agent.path.clone()).collect();
    let is_open = |item: &ItemKind| match item {
        ItemKind::Batch { members, .. } => members.iter().any(|member| tops.contains(member)),
        _ => false,
    };
    let ids = model.main.ids();
    let open = |id: &u64| model.main.get(*id).is_some_and(|item| is_open(&item.kind));
    let found: Vec<u64> = if tops.is_empty() { Vec::new() } else { ids.filter(open).collect() };
    for id in found {
        model.main.change(id, |_| {});
    }
}

/// Redraws the lines of a batch, since the state of a member that left it has changed.
pub fn redraw_batches(model: &mut TuiModel, path: &AgentPath) {
    let of_it = |item: &ItemKind| match item {
        ItemKind::Batch { members, .. } => members.iter().any(|member| path.is_within(member)),
        _ => false,
    };
    // An agent is a member of one batch, usually a recent one. Its rows are below its head.
    let mut ids = model.main.ids().rev();
    let found = ids.find(|id| model.main.get(*id).is_some_and(|item| of_it(&item.kind)));
    if let Some(id) = found {
        model.main.change(id, |_| {});
    }
}
