//! Keys in `/agents`.

use crossterm::event::KeyEvent;

use crate::protocol::AgentPath;
use crate::tui::host::HostRequest;
use crate::tui::keymap::Action;
use crate::tui::model::agent_list::{AgentList, AgentRow};
use crate::tui::model::{Job, Model, Overlay};
use crate::tui::msg::Effect;

use super::{background, focus, lists, outs, question};

/// Opens the list of agents and asks for the definitions.
pub fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let known = model.definitions.clone().filter(|definitions| !definitions.is_empty());
    effects.push(Effect::Ask(HostRequest::Agents));
    model.overlay = Some(Overlay::Agents(AgentList { definitions: known, ..AgentList::default() }));
}

/// One key in the list.
pub fn press(model: &mut Model, key: KeyEvent, action: Option<Action>, effects: &mut Vec<Effect>) {
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    let (rows, chosen) = (list.rows(model).len(), list.chosen(model));
    let filtering = list.filtering;
    match (lists::letter(key), action) {
        (Some(letter), _) if filtering => change(model, |list| {
            list.filter.type_char(letter);
            list.selected = 0;
        }),
        (Some('/'), _) => change(model, |list| list.filtering = true),
        (Some(letter), _) => act(model, letter, chosen, effects),
        (_, Some(Action::Submit)) => open_row(model, chosen, effects),
        (_, Some(Action::Up | Action::Down)) => change(model, |list| {
            lists::shift(&mut list.selected, rows, action == Some(Action::Down));
        }),
        (_, Some(edit)) if filtering => {
            change(model, |list| question::edit_line(&mut list.filter, edit));
        }
        _ => {}
    }
}

fn change(model: &mut Model, change: impl FnOnce(&mut AgentList)) {
    if let Some(Overlay::Agents(list)) = &mut model.overlay {
        change(list);
    }
}

/// A letter that does something with the chosen row.
fn act(model: &mut Model, letter: char, row: Option<AgentRow>, effects: &mut Vec<Effect>) {
    match (letter, row) {
        ('a', _) => {
            let all: Vec<AgentPath> =
                model.agents.alive().map(|agent| agent.path.clone()).collect();
            outs::cancel_all(model, &all, effects);
        }
        ('x', Some(AgentRow::Agent(path))) => outs::cancel(model, &path, effects),
        ('x', Some(AgentRow::Job(id))) => background::kill(model, &id, effects),
        ('b', Some(AgentRow::Agent(path))) => background::send(model, &path, effects),
        ('r', Some(AgentRow::Agent(path))) => background::resume(model, &path, effects),
        _ => {}
    }
}

/// Enter: the agent's transcript, what is known of a command, or a definition's name into the prompt.
fn open_row(model: &mut Model, row: Option<AgentRow>, effects: &mut Vec<Effect>) {
    match row {
        Some(AgentRow::Agent(path)) => {
            outs::close_overlay(model, effects);
            focus::focus(model, &path);
            model.zoom = true;
        }
        Some(AgentRow::Job(id)) => {
            let Some(job) = model.jobs.get(&id) else { return };
            let lines = job_lines(model, job);
            model.overlay = Some(Overlay::Page { title: id, lines, scroll: 0 });
        }
        Some(AgentRow::Definition(definition)) => {
            outs::close_overlay(model, effects);
            model.composer.buffer.insert(&format!("@agent-{} ", definition.name));
        }
        None => {}
    }
}

fn job_lines(model: &Model, job: &Job) -> Vec<String> {
    let end = match &job.ended {
        None => "runs".to_owned(),
        Some((_, end)) => end.to_string(),
    };
    let mut lines = vec![format!("{} of {}", end, model.name(&job.path)), String::new()];
    lines.extend(job.command.lines().map(str::to_owned));
    lines
}

/// The row that was chosen before events changed the list, so that no key can hit its neighbour.
pub fn chosen(model: &Model) -> Option<AgentRow> {
    match &model.overlay {
        Some(Overlay::Agents(list)) => list.chosen(model),
        _ => None,
    }
}

/// The same row stays chosen wherever it stands now.
pub fn keep_chosen(model: &mut Model, row: &AgentRow) {
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    if let Some(at) = list.rows(model).iter().position(|other| other == row) {
        change(model, |list| list.selected = at);
    }
}
