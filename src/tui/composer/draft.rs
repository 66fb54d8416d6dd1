//! Changes of the draft, and the menu that follows them.

use crate::tui::composer::{Menu, MenuKind, image_request, mention};
use crate::tui::host::{HostRequest, MAX_FILES_FOUND};
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::slash;

/// Types a letter into the draft, whatever has the focus.
pub fn type_letter(model: &mut TuiModel, letter: char, effects: &mut Vec<ScreenEffect>) {
    if letter == '?' && model.composer.is_empty() {
        model.overlay = Some(Overlay::Help { scroll: 0 });
        return;
    }
    model.keys.text = Some(model.now);
    if letter == '/' && model.composer.text() == "/" && model.composer.dismissed.is_some() {
        // The slash is there from the menu that was closed.
        model.composer.dismissed = None;
        return edited(model, effects);
    }
    if letter.is_whitespace() {
        image_request::request_ended_mention(model, effects);
    }
    model.composer.buffer.type_char(letter);
    edited(model, effects);
}

/// Updates the menu after a change of the draft, and takes the keyboard from an open question: the keys that
/// follow are text, not answers.
pub fn edited(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    model.composer.edited();
    if let Some(open) = model.questions.open.as_mut().filter(|_| !model.composer.is_empty()) {
        open.keyboard = false;
        open.selected = None;
    }
    model.composer.images.sends = false;
    model.notice.take_if(|notice| notice.cause == NoticeCause::Draft);
    model.queue.returned = (0, 0);
    look_up(model, effects);
    refresh_menu(model, effects);
}

/// Requests menu entries other than files. Only after a change of the draft, so that a reply does not
/// cause another request.
fn look_up(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(trigger) = model.composer.trigger() else { return };
    match trigger.kind {
        MenuKind::Command => slash::look_up(model, &trigger.query, effects),
        MenuKind::Mention => mention::look_up(model, &trigger.query, effects),
        MenuKind::Path => {}
    }
}

/// Opens, fills or closes the menu for the text at the cursor.
pub fn refresh_menu(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(trigger) = model.composer.trigger() else {
        model.composer.menu = None;
        model.composer.dismissed = None;
        return;
    };
    if model.composer.dismissed == Some(trigger.start) {
        return;
    }
    let items = match trigger.kind {
        MenuKind::Command => {
            slash::matching(model.commands.as_deref().unwrap_or_default(), &trigger.query)
        }
        MenuKind::Mention => {
            effects.push(ScreenEffect::Ask(HostRequest::Files {
                query: trigger.query.clone(),
                paths: Vec::new(),
            }));
            mention::items(model, &trigger.query, &[])
        }
        MenuKind::Path => {
            effects.push(ScreenEffect::Ask(HostRequest::Files {
                query: trigger.query.clone(),
                paths: Vec::new(),
            }));
            Vec::new()
        }
    };
    let kind = trigger.kind;
    let (start, query) = (trigger.start, trigger.query);
    let menu = Menu { kind, start, query, items, has_more: false, selected: 0 };
    model.composer.menu = Some(menu).filter(|menu| !menu.items.is_empty());
}

/// Fills the menu with the files that the host has found.
pub fn files_found(model: &mut TuiModel, query: &str, paths: &[String]) {
    let Some(trigger) = model.composer.trigger() else { return };
    let current = trigger.kind != MenuKind::Command && trigger.query == query;
    if !current || model.composer.dismissed == Some(trigger.start) {
        return;
    }
    let items = match trigger.kind {
        MenuKind::Path => {
            let rows = paths.iter().map(|path| mention::shell_item(path));
            rows.filter(|row| model.composer.takes_word(&row.insert)).collect()
        }
        _ => mention::items(model, query, paths),
    };
    let selected = model.composer.menu.as_ref().map_or(0, |menu| menu.selected);
    let selected = selected.min(items.len().saturating_sub(1));
    let (kind, start, query) = (trigger.kind, trigger.start, trigger.query);
    let has_more = paths.len() >= MAX_FILES_FOUND;
    let menu = Menu { kind, start, query, items, has_more, selected };
    model.composer.menu = Some(menu).filter(|menu| !menu.items.is_empty());
}

/// Empties the prompt and adds its text to the history.
pub fn remember(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let prompt = model.composer.take();
    effects.push(ScreenEffect::Ask(HostRequest::Remember(prompt)));
}
