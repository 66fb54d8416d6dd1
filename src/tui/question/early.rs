//! Keys that come too early for a question that has just opened, or too late for one that has just left
//! the screen.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::tui::composer::draft;
use crate::tui::interrupt::{InterruptAction, interrupt_key};
use crate::tui::keymap::{Action, KeyContext, plain_char};
use crate::tui::model::{InterruptKey, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::question::{HeldDigits, QUIET_TIME};

/// Whether a key was on its way when the question opened, and is handled as if the question were not there.
/// A key that shows more of the question is no answer, so it is for the question at once.
pub fn comes_before(model: &TuiModel, key: KeyEvent) -> bool {
    let Some(open) = model.questions.open.as_ref().filter(|open| open.unread.is_some()) else {
        return false;
    };
    let shows_more = matches!(
        model.keymap.action(KeyContext::Prompt, key),
        Some(Action::PageUp | Action::PageDown | Action::Home | Action::End | Action::Reader)
    );
    model.overlay.is_none() && !(open.keyboard && shows_more)
}

/// Types digits that were held back as answers into the draft if a sentence goes on behind them while the
/// user still counts as typing. Any other key forgets them.
pub fn release_digits(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<ScreenEffect>) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    let (now, letter) = (model.now, plain_char(key));
    let Some(held) = model.questions.held.take_if(|held| now < held.at + QUIET_TIME) else {
        model.questions.held = None;
        return;
    };
    let is_digit = letter.is_some_and(|letter| letter.is_ascii_digit());
    if is_digit && model.questions.is_unread() {
        model.questions.held = Some(held);
        return;
    }
    let types = letter.is_some() && !is_digit && model.overlay.is_none();
    if types && model.composer.is_empty() {
        if let Some(open) = &mut model.questions.open {
            open.keyboard = false;
        }
        for digit in held.digits.chars() {
            draft::type_letter(model, digit, effects);
        }
    }
}

/// Handles a key that was on its way when the question opened: as if the question were not there.
pub fn press_before(model: &mut TuiModel, press: impl FnOnce(&mut TuiModel)) {
    let shown = model.questions.open.take();
    let at = shown
        .as_ref()
        .and_then(|open| model.questions.waiting.iter().position(|it| it.question.id == open.id));
    let waiting = at.and_then(|at| model.questions.waiting.remove(at));
    press(model);
    let (Some(at), Some(waiting), Some(mut open)) = (at, waiting, shown) else { return };
    let at = at.min(model.questions.waiting.len());
    model.questions.waiting.insert(at, waiting);
    // The key may have shown a question that waited before.
    if model.questions.open.is_none() {
        open.keyboard = model.composer.is_empty() && model.overlay.is_none();
        if let Some(unread) = &mut open.unread {
            unread.extend(model.now);
        }
        model.questions.open = Some(open);
    }
}

/// Drops a key that was meant for a question which has just left the screen, and one that comes too early
/// to be an answer: a digit, an arrow, Tab, or a key that would stop main and all agents otherwise. Returns
/// false for other keys. Text is never dropped, nor is a key that edits or sends what was typed since.
pub fn drop_key(model: &mut TuiModel, key: KeyEvent) -> bool {
    let letter = plain_char(key);
    let is_digit =
        letter.is_some_and(|letter| letter.is_ascii_digit()) && model.composer.is_empty();
    let is_text = letter.is_some() && !is_digit;
    let covered = model.overlay.is_some() || model.composer.menu.is_some();
    if is_text || covered || key.kind == KeyEventKind::Release {
        return false;
    }
    if model.questions.open.is_some() {
        return drop_unread(model, key, is_digit);
    }
    let Some(left) = model.questions.left.filter(|left| model.now < left.at + QUIET_TIME) else {
        return false;
    };
    let words = match (model.questions.next().is_some(), left.answered) {
        (true, _) => "the next question opens in a moment",
        (false, false) => "the question is gone: no answer is needed",
        (false, true) => return false,
    };
    let drops = !is_for_draft(model, key, left.at);
    if drops {
        model.reply(words);
    }
    drops
}

/// Drops a key that comes before the open question can have been read.
fn drop_unread(model: &mut TuiModel, key: KeyEvent, is_digit: bool) -> bool {
    let Some(open) = model.questions.open.as_ref().filter(|_| comes_before(model, key)) else {
        return false;
    };
    let follows = open.follows.is_some();
    let late = open.follows.is_some_and(|left| !is_for_draft(model, key, left));
    // It would go to a pane, and turn the draft over to its agent.
    let is_tab = matches!(key.code, KeyCode::Tab | KeyCode::BackTab);
    // It would recall a prompt, which Enter would send again once the question takes keys for answers.
    let recalls = model.composer.is_empty()
        && matches!(model.keymap.action(KeyContext::Prompt, key), Some(Action::Up | Action::Down));
    let drops = is_digit || is_tab || recalls || late || would_stop(model, key);
    if !drops {
        return false;
    }
    let now = model.now;
    if let Some(unread) = model.questions.open.as_mut().and_then(|open| open.unread.as_mut()) {
        match is_digit {
            true => unread.extend_burst(now),
            false => unread.extend(now),
        }
    }
    // Behind another question, it was meant for that one.
    if let Some(digit) = plain_char(key).filter(|_| is_digit && !follows) {
        let empty = HeldDigits { digits: String::new(), at: now };
        let held = model.questions.held.get_or_insert(empty);
        held.digits.push(digit);
        held.at = now;
    }
    true
}

/// Whether a key edits or sends a draft in which the user has typed since a question left the screen.
fn is_for_draft(model: &TuiModel, key: KeyEvent, left: Duration) -> bool {
    let typed = model.keys.text.is_some_and(|at| at > left);
    typed && !model.composer.is_empty() && interrupt_key(key).is_none()
}

/// Whether a key would stop the turn if the question were not there.
fn would_stop(model: &mut TuiModel, key: KeyEvent) -> bool {
    let shown = model.questions.open.take();
    let action = interrupt_key(key).map(|which| match which {
        InterruptKey::Escape => model.escape_action(),
        InterruptKey::Interrupt => model.interrupt_action(),
    });
    model.questions.open = shown;
    action == Some(InterruptAction::Stop)
}
