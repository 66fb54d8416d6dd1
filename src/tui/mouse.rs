//! The mouse: a click focuses a pane, a second one zooms, or it expands what is folded there, or places
//! the cursor in the draft; the wheel scrolls the area under the pointer, and dragging over text copies it.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::tui::composer::draft;
use crate::tui::focus;
use crate::tui::labels;
use crate::tui::model::{DrawUrgency, NoticeCause, TuiModel};
use crate::tui::msg::{HitKind, HitTarget, ScreenEffect};
use crate::tui::overlay::{Overlay, update as overlay};
use crate::tui::page::update as page;
use crate::tui::question::form::AnswerForm;
use crate::tui::question::{QuestionStage, update as question};
use crate::tui::selection::MouseSelection;
use crate::tui::transcript::expand;

/// Lines per step of the wheel.
const WHEEL_LINES: isize = 3;

/// Handles a mouse event. A click selects an answer but never gives it.
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
            _ => model.selection = Some(MouseSelection { area: under.area, from: at, to: at }),
        },
        // The button was pressed in the draft.
        MouseEventKind::Drag(MouseButton::Left) if model.selection.is_none() => {
            if let HitKind::Prompt(position) = under.kind {
                model.composer.buffer.place_cursor(position, true);
                draft::edited(model, effects);
            }
        }
        MouseEventKind::Drag(MouseButton::Left) => extend_selection(model, at),
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

/// Extends the selection, within the area where it began.
fn extend_selection(model: &mut TuiModel, at: Position) {
    let Some(MouseSelection { area, to, .. }) = &mut model.selection else { return };
    if area.is_empty() {
        return;
    }
    to.x = at.x.clamp(area.left(), area.right() - 1);
    to.y = at.y.clamp(area.top(), area.bottom() - 1);
}

/// Handles the release of the button: copies the selection; without one, it was a click.
fn release(model: &mut TuiModel, at: Position, under: HitTarget, effects: &mut Vec<ScreenEffect>) {
    extend_selection(model, at);
    match model.selection {
        Some(selection) if selection.from != selection.to => {
            effects.push(ScreenEffect::CopySelection);
        }
        Some(_) => {
            model.selection = None;
            click(model, under);
        }
        None => {
            if let Some(text) = model.composer.buffer.selected_text() {
                model.say(labels::copied_label(&text));
                effects.push(ScreenEffect::Copy(text));
            }
        }
    }
}

fn click(model: &mut TuiModel, under: HitTarget) {
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
        HitKind::Item(id) if model.overlay.is_none() => {
            leave_pane(model);
            expand::toggle(model, id);
        }
        HitKind::Body if model.overlay.is_none() => leave_pane(model),
        HitKind::Answer(digit) => question::select_clicked(model, digit),
        _ => {}
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
    let body = model.metrics.body;
    match &under.kind {
        HitKind::Pane(path) => {
            if let Some(agent) = model.agents.get_mut(path) {
                agent.scroll.scroll_by(under.pane, lines);
            }
        }
        HitKind::Answer(_) | HitKind::Overlay => question::scroll(model, lines),
        _ => {
            let zoomed = model.focus.clone().filter(|_| model.zoom);
            match zoomed.and_then(|path| model.agents.get_mut(&path)) {
                Some(agent) => agent.scroll.scroll_by(body, lines),
                None => model.main_scroll.scroll_by(body, lines),
            }
        }
    }
}
