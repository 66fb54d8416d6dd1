//! Keys in what covers the body: pickers, help, history search, "Cancel which?".

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::composer::Buffer;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::overlay::Wish;
use crate::tui::model::{Model, Overlay};
use crate::tui::msg::Effect;

use super::{agent_list, background, focus, outs, question, reader};

/// One key while something covers the body.
pub fn press(model: &mut Model, keys: &Keymap, key: KeyEvent, effects: &mut Vec<Effect>) {
    if let Some(Overlay::Reader(_)) = model.overlay {
        return reader::press(model, keys, key, effects);
    }
    let action = keys.action(Context::List, key);
    match action {
        Some(Action::Redraw) => return effects.push(Effect::Redraw),
        Some(Action::Suspend) => return effects.push(Effect::Suspend),
        _ => {}
    }
    match model.overlay {
        Some(Overlay::Agents(_)) => agent_list::press(model, key, action, effects),
        Some(Overlay::Picker(_)) => picker(model, key, action, effects),
        Some(Overlay::History(_)) => history(model, key, action, effects),
        Some(Overlay::Which(_)) => which(model, key, action, effects),
        Some(Overlay::Help { .. } | Overlay::Page { .. } | Overlay::Question { .. }) => {
            page(model, key, action);
        }
        Some(Overlay::Reader(_)) | None => {}
    }
}

/// The letter of a key, if it is one without a chord.
pub fn letter(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter)
            if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(letter)
        }
        _ => None,
    }
}

/// Moves a choice, round and round.
pub fn shift(selected: &mut usize, rows: usize, down: bool) {
    let rows = rows.max(1);
    *selected = if down { *selected + 1 } else { (*selected).min(rows - 1) + rows - 1 } % rows;
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
    if let Some(letter) = letter(key) {
        search.query.type_char(letter);
        search.selected = 0;
        return;
    }
    let found = model.composer.search(search.query.text());
    match action {
        // The newest match stands lowest, next to the prompt.
        Some(Action::Up | Action::SearchHistory) => shift(&mut search.selected, found.len(), true),
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

/// "Cancel which?" and "Background which?": one by the number of its pane or the arrows, or all.
fn which(model: &mut Model, key: KeyEvent, action: Option<Action>, effects: &mut Vec<Effect>) {
    let Some(Overlay::Which(which)) = &mut model.overlay else { return };
    let (count, wish) = (which.rows.len(), which.wish);
    let meant = match (letter(key), action) {
        (Some('a'), _) => return all_listed(model, wish, effects),
        (Some(letter), _) => {
            let number = letter.to_digit(10).map(|digit| digit as usize);
            let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
            let mut open = agents.filter(|agent| wish.fits(agent));
            open.find(|agent| Some(agent.number) == number).map(|agent| agent.path.clone())
        }
        (_, Some(Action::Submit)) => which.rows.get(which.selected).cloned(),
        (_, Some(Action::Up | Action::Down)) => {
            return shift(&mut which.selected, count, action == Some(Action::Down));
        }
        _ => return,
    };
    let Some(agent) = meant.and_then(|path| model.agents.get(&path)) else { return };
    if !wish.fits(agent) {
        return;
    }
    let path = agent.path.clone();
    model.overlay = None;
    match wish {
        Wish::Cancel => outs::cancel(model, &path, effects),
        Wish::Background => background::send(model, &path, effects),
    }
}

fn all_listed(model: &mut Model, wish: Wish, effects: &mut Vec<Effect>) {
    match wish {
        Wish::Cancel => outs::cancel_listed(model, effects),
        Wish::Background => background::send_listed(model, effects),
    }
}

fn page(model: &mut Model, key: KeyEvent, action: Option<Action>) {
    let extent = model.metrics.page;
    let Some(
        Overlay::Help { scroll } | Overlay::Page { scroll, .. } | Overlay::Question { scroll, .. },
    ) = &mut model.overlay
    else {
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
