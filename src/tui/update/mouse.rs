//! The mouse: a click focuses a pane, a second one zooms, the wheel scrolls what is under it, and
//! drawing over text copies it.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::tui::figures::count;
use crate::tui::model::{Draw, Model, Overlay, Selection};
use crate::tui::msg::{Effect, Target, Under};

use super::{focus, question};

/// Lines that one turn of the wheel moves.
const WHEEL: isize = 3;

/// One mouse event. A click selects an answer but never answers.
pub fn react(model: &mut Model, event: MouseEvent, under: Under, effects: &mut Vec<Effect>) {
    let at = Position { x: event.column, y: event.row };
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, &under, -WHEEL),
        MouseEventKind::ScrollDown => wheel(model, &under, WHEEL),
        MouseEventKind::Down(MouseButton::Left) => {
            model.selection = Some(Selection { area: under.area, from: at, to: at });
        }
        MouseEventKind::Drag(MouseButton::Left) => draw_to(model, at),
        MouseEventKind::Up(MouseButton::Left) => release(model, at, under.target, effects),
        _ => return,
    }
    model.draw = Draw::Now;
}

/// Draws the selection on, within the area that it began in.
fn draw_to(model: &mut Model, at: Position) {
    let Some(Selection { area, to, .. }) = &mut model.selection else { return };
    if area.is_empty() {
        return;
    }
    to.x = at.x.clamp(area.left(), area.right() - 1);
    to.y = at.y.clamp(area.top(), area.bottom() - 1);
}

/// The button is up: what was drawn over is copied; where nothing was, it was a click.
fn release(model: &mut Model, at: Position, target: Target, effects: &mut Vec<Effect>) {
    draw_to(model, at);
    match model.selection {
        Some(selection) if selection.from != selection.to => {
            model.say(format!("copied {}", count(selection.rows().count(), "line")));
            effects.push(Effect::CopySelection);
        }
        _ => {
            model.selection = None;
            click(model, target);
        }
    }
}

fn click(model: &mut Model, target: Target) {
    match target {
        Target::Pane(path) if model.overlay.is_none() => {
            if model.focus.as_ref() == Some(&path) {
                model.zoom = true;
            } else {
                focus::focus(model, &path);
            }
        }
        Target::Answer(digit) => question::point_at(model, digit),
        _ => {}
    }
}

fn wheel(model: &mut Model, under: &Under, lines: isize) {
    model.selection = None;
    if model.overlay.is_some() {
        question::read_on(model);
        scroll_overlay(model, lines);
        return;
    }
    let body = model.metrics.body;
    match &under.target {
        Target::Pane(path) => {
            if let Some(agent) = model.agents.get_mut(path) {
                focus::move_by(&mut agent.scroll, under.pane, lines);
            }
        }
        Target::Answer(_) | Target::Overlay => question::scroll(model, lines),
        _ => {
            let zoomed = model.focus.clone().filter(|_| model.zoom);
            match zoomed.and_then(|path| model.agents.get_mut(&path)) {
                Some(agent) => focus::move_by(&mut agent.scroll, body, lines),
                None => focus::move_by(&mut model.main_scroll, body, lines),
            }
        }
    }
}

fn scroll_overlay(model: &mut Model, lines: isize) {
    let extent = model.metrics.page;
    match &mut model.overlay {
        Some(Overlay::Reader(reader)) => {
            focus::move_by(&mut reader.scroll, model.metrics.reader, lines);
        }
        Some(
            Overlay::Help { scroll }
            | Overlay::Page { scroll, .. }
            | Overlay::Question { scroll, .. },
        ) => {
            let last = extent.total.saturating_sub(extent.height);
            *scroll = scroll.saturating_add_signed(lines).min(last);
        }
        _ => {}
    }
}
