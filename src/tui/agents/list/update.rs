//! Keys in `/agents`.

use crossterm::event::KeyEvent;

use crate::protocol::AgentPath;
use crate::protocol::prompt::AGENT_PREFIX;
use crate::tui::agents::AgentState;
use crate::tui::agents::list::AgentList;
use crate::tui::agents::list::rows::ListRow;
use crate::tui::background::update as background;
use crate::tui::composer::edit::edit_text;
use crate::tui::composer::{Movement, TextBuffer};
use crate::tui::focus;
use crate::tui::format::count;
use crate::tui::host::HostRequest;
use crate::tui::interrupt::stop;
use crate::tui::keymap::{Action, plain_char};
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, move_selection};
use crate::tui::page::{job, work};
use crate::tui::text::one_line;

/// Opens the list of agents and requests the definitions.
pub fn open(model: &mut TuiModel, filter: &str, effects: &mut Vec<ScreenEffect>) {
    let known = model.definitions.clone().filter(|definitions| !definitions.is_empty());
    effects.push(ScreenEffect::Ask(HostRequest::Agents(Vec::new())));
    let filter = TextBuffer::from(&*one_line(filter));
    let list = AgentList { filter, definitions: known, ..AgentList::default() };
    model.overlay = Some(Overlay::Agents(list));
}

/// Handles a key in the list.
pub fn press(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let Some(Overlay::Agents(list)) = &mut model.overlay else { return };
    let (filtering, pending) = (list.filtering, list.pending.take());
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    let lines = model.metrics.list;
    let (rows, chosen) = (list.rows(model).len(), list.selected_row(model));
    match (plain_char(key), action) {
        (Some(letter), _) if filtering => change(model, |list| {
            list.filter.type_char(letter);
            list.selected = 0;
        }),
        (Some('/'), _) => change(model, |list| list.filtering = true),
        (Some('a'), _) if pending == Some('a') => cancel_all(model, effects),
        (Some(letter), _) if pending == Some('a') => start_filter(model, pending, letter),
        (Some('a'), _) if model.agents.alive().next().is_some() => {
            let alive = count(model.agents.alive().count(), "agent");
            change(model, |list| list.pending = Some('a'));
            model.say_while(NoticeCause::Confirm, format!("a again cancels {alive}"));
        }
        (Some('r'), _) if !can_resume(model, chosen.as_ref()) => {
            change(model, |list| list.pending = Some('r'));
        }
        (Some('d'), _) if lacks_work(model, chosen.as_ref()) => {
            change(model, |list| list.pending = Some('d'));
            let at_work = chosen.and_then(|row| row.agent(model)).filter(|agent| agent.alive());
            let words = at_work.map(|agent| {
                format!("{} is at work · d shows its work once it has ended", agent.label())
            });
            model.reply(words.unwrap_or_else(|| "it has left no work".to_owned()));
        }
        (Some(letter), _) => {
            let acted = act(model, letter, chosen, effects);
            if !acted {
                start_filter(model, pending, letter);
            }
        }
        (_, Some(Action::Submit)) => open_row(model, chosen, effects),
        (_, Some(action)) => change(model, |list| {
            if !move_selection(&mut list.selected, rows, lines, action) && filtering {
                edit_text(&mut list.filter, action);
            }
        }),
        _ => {}
    }
}

fn change(model: &mut TuiModel, change: impl FnOnce(&mut AgentList)) {
    if let Some(Overlay::Agents(list)) = &mut model.overlay {
        change(list);
    }
}

/// Begins to filter with a letter, behind the one before it that has done nothing. Letters without a
/// meaning do so, and all further ones go there, so that no word that is typed to filter acts on a row.
fn start_filter(model: &mut TuiModel, before: Option<char>, letter: char) {
    change(model, |list| {
        list.filtering = true;
        list.selected = 0;
        before.into_iter().chain([letter]).for_each(|letter| list.filter.type_char(letter));
    });
}

fn can_resume(model: &TuiModel, row: Option<&ListRow>) -> bool {
    row.and_then(|row| row.agent(model)).is_some_and(AgentState::resumable)
}

fn lacks_work(model: &TuiModel, row: Option<&ListRow>) -> bool {
    row.and_then(|row| row.agent(model)).is_some_and(|agent| !agent.has_work())
}

fn cancel_all(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    model.mark_acted('a');
    let all: Vec<AgentPath> = model.agents.alive().map(|agent| agent.path.clone()).collect();
    stop::cancel_all(model, &all, effects);
}

/// Performs the action of a letter on the selected row. Returns false for other letters.
fn act(
    model: &mut TuiModel,
    letter: char,
    row: Option<ListRow>,
    effects: &mut Vec<ScreenEffect>,
) -> bool {
    match (letter, row) {
        ('x', Some(ListRow::Agent(path))) => stop::cancel(model, &path, effects),
        ('x', Some(ListRow::Job(id))) => background::kill(model, &id, effects),
        ('b', Some(ListRow::Agent(path))) => background::send_to_background(model, &path, effects),
        ('d', Some(ListRow::Agent(path)))
            if model.agents.get(&path).is_some_and(AgentState::has_work) =>
        {
            work::open(model, &path, effects);
        }
        ('r', Some(ListRow::Agent(path))) => background::resume(model, &path, effects),
        _ => return false,
    }
    true
}

/// Enter: shows the agent's transcript or a command's page, or inserts a definition's name into the prompt.
fn open_row(model: &mut TuiModel, row: Option<ListRow>, effects: &mut Vec<ScreenEffect>) {
    match row {
        Some(ListRow::Agent(path)) => {
            model.overlay = None;
            focus::focus_agent(model, &path);
            model.zoom = true;
        }
        Some(ListRow::Job(id)) => job::open(model, &id, effects),
        Some(ListRow::Definition(definition)) => {
            model.overlay = None;
            let buffer = &mut model.composer.buffer;
            if buffer.selection().is_some() {
                buffer.delete(Movement::Left);
            }
            buffer.insert_agent(buffer.cursor(), &format!("{AGENT_PREFIX}{}", definition.name));
        }
        None => {}
    }
}

/// The selected row, to restore after events change the list, so that no key acts on its neighbour.
pub fn selected_row(model: &TuiModel) -> Option<ListRow> {
    match &model.overlay {
        Some(Overlay::Agents(list)) => list.selected_row(model),
        _ => None,
    }
}

/// Selects the next row of an agent that has left work, if there is another one.
pub fn select_next_work(model: &mut TuiModel) {
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    let rows = list.rows(model);
    let has_work = |row: &ListRow| row.agent(model).is_some_and(AgentState::has_work);
    let after = (1..rows.len()).map(|step| (list.selected + step) % rows.len());
    if let Some(next) = after.into_iter().find(|at| has_work(&rows[*at])) {
        change(model, |list| list.selected = next);
    }
}

/// Ends filtering; the selected row stays.
pub fn end_filter(model: &mut TuiModel, row: Option<&ListRow>) {
    change(model, |list| {
        list.filtering = false;
        list.filter.take();
    });
    if let Some(row) = row {
        keep_selected(model, row);
    }
}

/// Selects the same row again at its new position.
pub fn keep_selected(model: &mut TuiModel, row: &ListRow) {
    let Some(Overlay::Agents(list)) = &model.overlay else { return };
    if let Some(at) = list.rows(model).iter().position(|other| other == row) {
        change(model, |list| list.selected = at);
    }
}
