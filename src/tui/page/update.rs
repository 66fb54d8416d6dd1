//! Opening, filling and scrolling pages.

use std::time::Duration;

use crossterm::event::KeyEvent;

use crate::tui::composer::draft;
use crate::tui::keymap::{Action, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::page::{Page, PageBody, PageLine, work};

/// Letters that scroll or close a page.
const PAGER_KEYS: &str = "q?jk bgG";

/// Opens a page.
pub fn open(model: &mut TuiModel, title: &str, lines: Vec<PageLine>) {
    let body = PageBody::Lines(lines);
    model.overlay =
        Some(Overlay::Page(Page { title: title.to_owned(), body, scroll: 0, work: None }));
}

/// Whether the page with this title is open.
pub fn is_open(model: &TuiModel, title: &str) -> bool {
    matches!(&model.overlay, Some(Overlay::Page(page)) if page.title == title)
}

/// Fills the page with this title, if it is still open.
pub fn fill(model: &mut TuiModel, title: &str, body: impl Into<PageBody>) {
    if let Some(Overlay::Page(page)) = &mut model.overlay
        && page.title == title
    {
        page.body = body.into();
    }
}

/// Answers need the dialog, which shows what they do.
const BACK_FIRST: &str = "Esc goes back to the answers first";

/// A letter that scrolled is part of a word if the next one follows this soon.
const WORD_PAUSE: Duration = Duration::from_millis(500);

/// Handles a key on a page. A letter without a meaning there closes it and is typed into the draft, so
/// that nothing typed is lost.
pub fn press(
    model: &mut TuiModel,
    key: KeyEvent,
    action: Option<Action>,
    effects: &mut Vec<ScreenEffect>,
) {
    let step = model.metrics.page.page_step();
    let scrolls = |letter: &char| PAGER_KEYS.contains(*letter);
    let plain = plain_char(key);
    if let Some(letter) = plain.filter(|letter| !scrolls(letter)) {
        let typed = work::press(model, letter, effects);
        return leave_typing(model, &typed, effects);
    }
    if let Some(Overlay::Page(Page { work: Some(work), .. })) = &mut model.overlay {
        work.pending = None;
    }
    match plain {
        Some(letter) => {
            let now = model.now;
            let run = std::mem::take(&mut model.keys.paged);
            let follows = run.is_some_and(|(_, at)| now < at + WORD_PAUSE);
            // Several are no start of a word.
            model.keys.paged = Some((Some(letter).filter(|_| !follows), now));
        }
        None => model.keys.paged = None,
    }
    match (plain, action) {
        (Some('q' | '?'), _) | (_, Some(Action::Submit | Action::Reader)) => model.overlay = None,
        (Some('j'), _) | (_, Some(Action::Down)) => scroll(model, 1),
        (Some('k'), _) | (_, Some(Action::Up)) => scroll(model, -1),
        (Some(' '), _) | (_, Some(Action::PageDown)) => scroll(model, step),
        (Some('b'), _) | (_, Some(Action::PageUp)) => scroll(model, -step),
        (Some('g'), _) | (_, Some(Action::Home)) => scroll(model, isize::MIN / 2),
        (Some('G'), _) | (_, Some(Action::End)) => scroll(model, isize::MAX / 2),
        _ => {}
    }
}

/// Closes the page and types the letters into the draft, behind one that has just scrolled. A question in
/// full says what goes back to its answers instead.
fn leave_typing(model: &mut TuiModel, letters: &[char], effects: &mut Vec<ScreenEffect>) {
    if letters.is_empty() {
        return;
    }
    if matches!(model.overlay, Some(Overlay::Question { .. })) {
        return model.reply(BACK_FIRST);
    }
    let now = model.now;
    let run = model.keys.paged.take().filter(|(_, at)| now < *at + WORD_PAUSE);
    model.overlay = None;
    for letter in run.and_then(|(first, _)| first).iter().chain(letters) {
        draft::type_letter(model, *letter, effects);
    }
}

/// Scrolls the open page by lines, no further than its end. The page of a command follows its output from
/// there on.
pub fn scroll(model: &mut TuiModel, lines: isize) {
    let last = model.metrics.page.last_top();
    let follows =
        matches!(&model.overlay, Some(Overlay::Page(Page { body: PageBody::Job(_), .. })));
    if let Some(
        Overlay::Help { scroll }
        | Overlay::Page(Page { scroll, .. })
        | Overlay::Question { scroll, .. },
    ) = &mut model.overlay
    {
        let top = (*scroll).min(last).saturating_add_signed(lines).min(last);
        *scroll = if follows && top == last { usize::MAX } else { top };
    }
}
