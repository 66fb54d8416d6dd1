//! Keys in what covers the body: the list of agents, pickers, help, history search, "Cancel which?".

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::AgentPath;
use crate::tui::composer::Buffer;
use crate::tui::host::HostRequest;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::overlay::{AgentList, AgentRow, CancelWhich};
use crate::tui::model::{Model, Overlay};
use crate::tui::msg::Effect;

use super::{focus, outs, question, reader};

/// Opens the list of agents and asks for the definitions.
pub fn open_agents(model: &mut Model, effects: &mut Vec<Effect>) {
    let known = model.definitions.clone().filter(|definitions| !definitions.is_empty());
    effects.push(Effect::Ask(HostRequest::Agents));
    model.overlay = Some(Overlay::Agents(AgentList { definitions: known, ..AgentList::default() }));
}

/// Opens "Cancel which?". Its rows never shift.
pub fn ask_which(model: &mut Model) {
    let mut rows: Vec<AgentPath> =
        model.agents.shown().iter().filter(|a| a.alive()).map(|a| a.path.clone()).collect();
    if rows.is_empty() {
        rows = model.agents.alive().map(|agent| agent.path.clone()).collect();
    }
    model.overlay = Some(Overlay::CancelWhich(CancelWhich { rows, selected: 0 }));
}

/// The rows of the list of agents: those that work, those of this session, definitions.
#[must_use]
pub fn agent_rows(model: &Model, list: &AgentList) -> Vec<AgentRow> {
    let filter = list.filter.text().to_lowercase();
    let fits = |name: &str, words: &str| {
        filter.is_empty()
            || name.to_lowercase().contains(&filter)
            || words.to_lowercase().contains(&filter)
    };
    let mut rows = Vec::new();
    for alive in [true, false] {
        let agents = model.agents.iter().filter(|agent| agent.alive() == alive);
        rows.extend(
            agents
                .filter(|agent| fits(&agent.info.name, &agent.info.description))
                .map(|agent| AgentRow::Agent(agent.path.clone())),
        );
    }
    let definitions = list.definitions.iter().flatten();
    rows.extend(
        definitions
            .filter(|definition| fits(&definition.name, &definition.description))
            .map(|definition| AgentRow::Definition(definition.clone())),
    );
    rows
}

/// One key while something covers the body.
pub fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    let action = keys.action(Context::List, key);
    match action {
        Some(Action::Redraw) => return effects.push(Effect::Redraw),
        Some(Action::Suspend) => return effects.push(Effect::Suspend),
        _ => {}
    }
    match model.overlay {
        Some(Overlay::Reader(_)) => reader::press(model, keys, key, effects),
        Some(Overlay::Agents(_)) => agents(model, key, action, effects),
        Some(Overlay::Picker(_)) => picker(model, key, action, effects),
        Some(Overlay::History(_)) => history(model, key, action, effects),
        Some(Overlay::CancelWhich(_)) => cancel_which(model, key, action, effects),
        Some(Overlay::Help { .. } | Overlay::Page { .. }) => page(model, key, action),
        None => {}
    }
}

fn letter(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter)
            if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(letter)
        }
        _ => None,
    }
}

fn shift(selected: &mut usize, rows: usize, down: bool) {
    let rows = rows.max(1);
    *selected = if down { *selected + 1 } else { (*selected).min(rows - 1) + rows - 1 } % rows;
}

fn agents(model: &mut Model, key: KeyEvent, action: Option<Action>, effects: &mut Vec<Effect>) {
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    let rows = agent_rows(model, list);
    let chosen = rows.get(list.selected.min(rows.len().saturating_sub(1))).cloned();
    let filtering = list.filtering;
    match (letter(key), action) {
        (Some(letter), _) if filtering => {
            if let Some(Overlay::Agents(list)) = &mut model.overlay {
                list.filter.type_char(letter);
                list.selected = 0;
            }
        }
        (Some('/'), _) => {
            if let Some(Overlay::Agents(list)) = &mut model.overlay {
                list.filtering = true;
            }
        }
        (Some('x'), _) => {
            if let Some(AgentRow::Agent(path)) = chosen {
                outs::cancel(model, &path, effects);
            }
        }
        (Some('a'), _) => {
            let all: Vec<AgentPath> =
                model.agents.alive().map(|agent| agent.path.clone()).collect();
            outs::cancel_all(model, &all, effects);
        }
        (_, Some(Action::Submit)) => open_row(model, chosen, effects),
        (_, Some(action)) => {
            let Some(Overlay::Agents(list)) = &mut model.overlay else { return };
            match action {
                Action::Up | Action::Down => {
                    shift(&mut list.selected, rows.len(), action == Action::Down);
                }
                edit if filtering => question::edit_line(&mut list.filter, edit),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Enter in the list of agents: zooms into the agent, or tells how a definition is used.
fn open_row(model: &mut Model, row: Option<AgentRow>, effects: &mut Vec<Effect>) {
    match row {
        Some(AgentRow::Agent(path)) => {
            outs::close_overlay(model, effects);
            focus::focus(model, &path);
            model.zoom = true;
        }
        Some(AgentRow::Definition(definition)) => {
            outs::close_overlay(model, effects);
            model.composer.buffer.insert(&format!("@agent-{} ", definition.name));
        }
        None => {}
    }
}

fn picker(model: &mut Model, key: KeyEvent, action: Option<Action>, effects: &mut Vec<Effect>) {
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    if let Some(letter) = letter(key) {
        picker.filter.type_char(letter);
        picker.selected = 0;
        return;
    }
    let rows = picker.matching();
    match action {
        Some(Action::Up | Action::Down) => {
            shift(&mut picker.selected, rows.len(), action == Some(Action::Down));
        }
        Some(Action::Submit) => {
            if let Some(row) = rows.into_iter().nth(picker.selected) {
                model.overlay = None;
                super::choose(row.choice, effects);
            }
        }
        Some(edit) => question::edit_line(&mut picker.filter, edit),
        None => {}
    }
}

fn history(model: &mut Model, key: KeyEvent, action: Option<Action>, effects: &mut Vec<Effect>) {
    let Some(Overlay::History(search)) = &mut model.overlay else { return };
    let older = key.code == KeyCode::Char('r') && key.modifiers.contains(KeyModifiers::CONTROL);
    if let Some(letter) = letter(key) {
        search.query.type_char(letter);
        search.selected = 0;
        return;
    }
    let found = model.composer.search(search.query.text());
    match action {
        // The newest match stands lowest, next to the prompt.
        _ if older => shift(&mut search.selected, found.len(), true),
        Some(Action::Up) => shift(&mut search.selected, found.len(), true),
        Some(Action::Down) => shift(&mut search.selected, found.len(), false),
        Some(Action::Submit | Action::Next) => {
            let chosen = found.get(search.selected).map(|&prompt| prompt.to_owned());
            model.overlay = None;
            if let Some(prompt) = chosen {
                model.composer.buffer.set(&prompt);
                super::prompt::edited(model, effects);
            }
        }
        Some(edit) => question::edit_line(&mut search.query, edit),
        None => {}
    }
}

fn cancel_which(
    model: &mut Model,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<Effect>,
) {
    let Some(Overlay::CancelWhich(which)) = &mut model.overlay else { return };
    let count = which.rows.len();
    let chosen = match (letter(key), action) {
        (Some('a'), _) => return outs::cancel_listed(model, effects),
        (Some(digit), _) => digit.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1)),
        (_, Some(Action::Submit)) => Some(which.selected),
        (_, Some(Action::Up | Action::Down)) => {
            return shift(&mut which.selected, count, action == Some(Action::Down));
        }
        _ => return,
    };
    let Some(path) = chosen.and_then(|at| which.rows.get(at)).cloned() else { return };
    if model.agents.get(&path).is_some_and(super::super::model::Agent::alive) {
        model.overlay = None;
        outs::cancel(model, &path, effects);
    }
}

fn page(model: &mut Model, key: KeyEvent, action: Option<Action>) {
    let extent = model.metrics.page;
    let Some(Overlay::Help { scroll } | Overlay::Page { scroll, .. }) = &mut model.overlay else {
        return;
    };
    let last = extent.total.saturating_sub(extent.height);
    let by = |lines: isize| (*scroll).saturating_add_signed(lines).min(last);
    let next = match (letter(key), action) {
        (Some('q' | '?'), _) | (_, Some(Action::Submit | Action::Reader)) => {
            model.overlay = None;
            return;
        }
        (Some('j'), _) | (_, Some(Action::Down)) => by(1),
        (Some('k'), _) | (_, Some(Action::Up)) => by(-1),
        (Some(' '), _) | (_, Some(Action::PageDown)) => by(focus::page_of(extent)),
        (Some('b'), _) | (_, Some(Action::PageUp)) => by(-focus::page_of(extent)),
        (Some('g'), _) | (_, Some(Action::Home)) => 0,
        (Some('G'), _) | (_, Some(Action::End)) => last,
        _ => return,
    };
    *scroll = next;
}

/// A paste goes to the line that is typed in the overlay, if there is one.
pub fn paste(model: &mut Model, text: &str) {
    let line = text.lines().next().unwrap_or_default();
    let buffer: Option<&mut Buffer> = match &mut model.overlay {
        Some(Overlay::Agents(list)) if list.filtering => Some(&mut list.filter),
        Some(Overlay::Picker(picker)) => Some(&mut picker.filter),
        Some(Overlay::History(search)) => Some(&mut search.query),
        Some(Overlay::Reader(reader)) => reader.typing.as_mut(),
        _ => None,
    };
    if let Some(buffer) = buffer {
        buffer.insert(line);
    }
}
