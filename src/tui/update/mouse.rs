//! The mouse: a click focuses a pane, a second one zooms, the wheel scrolls what is under it.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::tui::model::{Draw, Model, Overlay};
use crate::tui::msg::Target;

use super::focus;

/// Lines that one turn of the wheel moves.
const WHEEL: isize = 3;

/// One mouse event. A click selects an answer but never answers.
pub fn react(model: &mut Model, event: MouseEvent, target: Target) {
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, &target, -WHEEL),
        MouseEventKind::ScrollDown => wheel(model, &target, WHEEL),
        MouseEventKind::Down(MouseButton::Left) => click(model, target),
        _ => return,
    }
    model.draw = Draw::Now;
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
        Target::Answer(digit) => {
            if let Some(open) = &mut model.questions.open {
                open.selected = Some(digit);
                open.keyboard = true;
            }
        }
        _ => {}
    }
}

fn wheel(model: &mut Model, target: &Target, lines: isize) {
    if model.overlay.is_some() {
        scroll_overlay(model, lines);
        return;
    }
    let metrics = model.metrics;
    match target {
        Target::Pane(path) => {
            let extent = if model.focus.as_ref() == Some(path) { metrics.pane } else { return };
            if let Some(agent) = model.agents.get_mut(path) {
                focus::move_by(&mut agent.scroll, extent, lines);
            }
        }
        Target::Answer(_) | Target::Overlay => super::question::scroll(model, lines),
        _ => {
            let zoomed = model.focus.clone().filter(|_| model.zoom);
            match zoomed.and_then(|path| model.agents.get_mut(&path)) {
                Some(agent) => focus::move_by(&mut agent.scroll, metrics.body, lines),
                None => focus::move_by(&mut model.main_scroll, metrics.body, lines),
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
        Some(Overlay::Help { scroll } | Overlay::Page { scroll, .. }) => {
            let last = extent.total.saturating_sub(extent.height);
            *scroll = scroll.saturating_add_signed(lines).min(last);
        }
        _ => {}
    }
}
