//! The mouse: a click focuses a pane, a second one zooms, or it expands what is folded there, or places
//! the cursor in the draft; in a list, a click selects a row, and a second one opens it; the wheel scrolls the area under the pointer, and dragging over text copies it.

use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::protocol::AgentPath;
use crate::tui::composer::{draft, update as prompt};
use crate::tui::focus;
use crate::tui::labels;
use crate::tui::model::{DrawUrgency, NoticeCause, TuiModel};
use crate::tui::msg::{HitKind, HitTarget, ScreenEffect};
use crate::tui::overlay::{Overlay, step_selection, update as overlay};
use crate::tui::page::{job, update as page};
use crate::tui::question::click::{click_answer, click_tab};
use crate::tui::question::form::AnswerForm;
use crate::tui::question::{QuestionStage, update as question};
use crate::tui::selection::{MouseSelection, Side};
use crate::tui::transcript::expand;

/// Time between two lines by which a selection scrolls while the button is held beside its area.
const PULL_PAUSE: Duration = Duration::from_millis(50);

/// Lines per step of the wheel.
const WHEEL_LINES: isize = 3;

/// Handles a mouse event. Clicks answer the forms of agents, but never a question about a permission: there
/// they only select.
pub fn handle_mouse(
    model: &mut TuiModel,
    event: MouseEvent,
    under: HitTarget,
    effects: &mut Vec<ScreenEffect>,
) {
    let at = Position { x: event.column, y: event.row };
    if matches!(event.kind, MouseEventKind::Down(_)) {
        model.disarm_quit();
        model.notice.take_if(|notice| notice.cause == NoticeCause::LastKey);
    }
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, &under, -WHEEL_LINES),
        MouseEventKind::ScrollDown => wheel(model, &under, WHEEL_LINES),
        MouseEventKind::Down(MouseButton::Left) => match under.kind {
            HitKind::Prompt(position) if draft_takes_keyboard(model) => {
                model.selection = None;
                let extends = event.modifiers.contains(KeyModifiers::SHIFT);
                model.composer.buffer.place_cursor(position, extends);
                draft::edited(model, effects);
            }
            _ => {
                let transcript = transcript_under(model, &under);
                model.selection = Some(MouseSelection::new(under.area, at, transcript));
            }
        },
        // The button was pressed in the draft.
        MouseEventKind::Drag(MouseButton::Left) if model.selection.is_none() => {
            if let HitKind::Prompt(position) = under.kind {
                model.composer.buffer.place_cursor(position, true);
                draft::edited(model, effects);
            }
        }
        MouseEventKind::Drag(MouseButton::Left) => drag_selection(model, at),
        MouseEventKind::Up(MouseButton::Left) => release(model, at, under, effects),
        _ => return,
    }
    model.draw = DrawUrgency::Now;
}

/// Gives the keyboard to the draft unless something else needs it. Returns whether it has it.
fn draft_takes_keyboard(model: &mut TuiModel) -> bool {
    let draft = !model.composer.is_empty();
    let typing = model.questions.form().is_some_and(AnswerForm::is_typing);
    match &mut model.questions.open {
        _ if model.overlay.is_some() => false,
        Some(open) if open.keyboard => {
            let takes = draft && open.stage == QuestionStage::Choose && !typing;
            open.keyboard = !takes;
            open.selected = open.selected.filter(|_| !takes);
            takes
        }
        _ => true,
    }
}

/// The transcript in the area under the pointer, if it can scroll.
fn transcript_under(model: &TuiModel, under: &HitTarget) -> Option<AgentPath> {
    let (path, extent) = match &under.kind {
        _ if model.overlay.is_some() => return None,
        HitKind::Pane(path) => (path.clone(), model.metrics.pane(path)),
        HitKind::Body | HitKind::Item(_) | HitKind::AgentRow(_) => {
            let zoomed = model.zoomed().map(|agent| agent.path.clone());
            (zoomed.unwrap_or_else(AgentPath::root), model.metrics.body)
        }
        _ => return None,
    };
    // The head of a zoomed agent stays in its place.
    (extent.height == usize::from(under.area.height)).then_some(path)
}

/// Extends the selection. Beside its area, it also scrolls, at once and as long as the button is held there.
fn drag_selection(model: &mut TuiModel, at: Position) {
    let now = model.now;
    let Some(selection) = &mut model.selection else { return };
    selection.extend(at);
    let side = selection.side(at).filter(|_| selection.transcript.is_some());
    selection.pull = side.map(|side| (side, now));
    pull_selection(model);
}

/// Scrolls the text below a selection that is held beside its area.
pub fn pull_selection(model: &mut TuiModel) {
    let now = model.now;
    let Some(selection) = &mut model.selection else { return };
    let Some((side, due)) = selection.pull.filter(|(_, due)| *due <= now) else { return };
    selection.pull = Some((side, due.max(now) + PULL_PAUSE));
    let Some(path) = selection.transcript.clone().filter(|_| selection.is_drawn) else { return };
    let is_pane = model.agents.get(&path).is_some() && !model.zoom;
    let extent = if is_pane { model.metrics.pane(&path) } else { model.metrics.body };
    let scroll = match model.agents.get_mut(&path) {
        Some(agent) => &mut agent.scroll,
        None => &mut model.main_scroll,
    };
    let before = scroll.top.unwrap_or(extent.last_top());
    scroll.scroll_by(extent, if side == Side::Above { -1 } else { 1 });
    let after = scroll.top.unwrap_or(extent.last_top());
    let moved = after.cast_signed() - before.cast_signed();
    if moved != 0 {
        selection.scroll(moved, &model.metrics.selected);
        model.draw = DrawUrgency::Now;
    }
}

/// Handles the release of the button: copies the selection; without one, it was a click.
fn release(model: &mut TuiModel, at: Position, under: HitTarget, effects: &mut Vec<ScreenEffect>) {
    if let Some(selection) = &mut model.selection {
        selection.extend(at);
        selection.pull = None;
    }
    match &model.selection {
        Some(selection) if !selection.is_empty() => {
            effects.push(ScreenEffect::CopySelection);
        }
        Some(_) => {
            model.selection = None;
            click(model, under, effects);
        }
        None => {
            if let Some(text) = model.composer.buffer.selected_text() {
                model.say(labels::copied_label(&text));
                effects.push(ScreenEffect::Copy(text));
            }
        }
    }
}

fn click(model: &mut TuiModel, under: HitTarget, effects: &mut Vec<ScreenEffect>) {
    match under.kind {
        HitKind::Pane(path) if model.overlay.is_none() => {
            let focused = model.focus.as_ref() == Some(&path);
            focus::focus_agent(model, &path);
            match under.output {
                Some(item) => expand::toggle(model, item),
                None => model.zoom |= focused,
            }
        }
        HitKind::AgentRow(path) if model.overlay.is_none() => {
            focus::focus_agent(model, &path);
            model.zoom = true;
        }
        HitKind::JobRow(id) if model.overlay.is_none() => job::open(model, &id, effects),
        HitKind::Item(id) if model.overlay.is_none() => {
            leave_pane(model);
            expand::toggle(model, id);
        }
        HitKind::Body if model.overlay.is_none() => leave_pane(model),
        HitKind::Answer(digit) => click_answer(model, digit, effects),
        HitKind::FormTab(tab) => click_tab(model, tab),
        HitKind::ListRow(row) => overlay::click_row(model, row, effects),
        HitKind::MenuRow(row) => click_menu(model, row, effects),
        _ => {}
    }
}

/// A click in the completion menu selects a row; if nothing has happened since it was clicked before, it
/// does what Enter does.
fn click_menu(model: &mut TuiModel, row: usize, effects: &mut Vec<ScreenEffect>) {
    let again = model.keys.click(row, model.metrics.list_top);
    let Some(menu) = &mut model.composer.menu else { return };
    let was_selected = std::mem::replace(&mut menu.selected, row) == row;
    if again && was_selected {
        model.keys.clicked = None;
        prompt::take_menu_row(model, effects);
    }
}

/// A click on main's transcript beside the panes returns the focus to main.
fn leave_pane(model: &mut TuiModel) {
    if model.focus.is_some() && !model.zoom {
        focus::leave(model);
    }
}

fn wheel(model: &mut TuiModel, under: &HitTarget, lines: isize) {
    model.selection = None;
    model.keys.clicked = None;
    if model.overlay.is_some() {
        question::mark_end_seen(model);
        return match &mut model.overlay {
            Some(Overlay::Reader(reader)) => {
                reader.scroll.scroll_by(model.metrics.reader, lines);
            }
            Some(Overlay::Help { .. } | Overlay::Page(_) | Overlay::Question { .. }) => {
                page::scroll(model, lines);
            }
            _ => overlay::scroll_list(model, lines),
        };
    }
    if let Some(menu) = &mut model.composer.menu {
        return step_selection(&mut menu.selected, menu.items.len(), lines);
    }
    let body = model.metrics.body;
    match &under.kind {
        HitKind::Pane(path) => {
            if let Some(agent) = model.agents.get_mut(path) {
                agent.scroll.scroll_by(under.pane, lines);
            }
        }
        HitKind::Answer(_) | HitKind::FormTab(_) | HitKind::Overlay => {
            question::scroll(model, lines);
        }
        _ => {
            let zoomed = model.focus.clone().filter(|_| model.zoom);
            match zoomed.and_then(|path| model.agents.get_mut(&path)) {
                Some(agent) => agent.scroll.scroll_by(body, lines),
                None => model.main_scroll.scroll_by(body, lines),
            }
        }
    }
}
