//! Opening, filling and scrolling pages.

use crossterm::event::KeyEvent;

use crate::tui::keymap::{Action, plain_char};
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::page::{Page, PageLine};

/// Opens a page.
pub fn open(model: &mut TuiModel, title: &str, lines: Vec<PageLine>) {
    model.overlay = Some(Overlay::Page(Page { title: title.to_owned(), lines, scroll: 0 }));
}

/// Fills the page with this title, if it is still open.
pub fn fill(model: &mut TuiModel, title: &str, lines: Vec<PageLine>) {
    if let Some(Overlay::Page(page)) = &mut model.overlay
        && page.title == title
    {
        page.lines = lines;
    }
}

/// Handles a key on a page.
pub fn press(model: &mut TuiModel, key: KeyEvent, action: Option<Action>) {
    let step = model.metrics.page.page_step();
    match (plain_char(key), action) {
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

/// Scrolls the open page by lines, no further than its end.
pub fn scroll(model: &mut TuiModel, lines: isize) {
    let last = model.metrics.page.last_top();
    if let Some(
        Overlay::Help { scroll }
        | Overlay::Page(Page { scroll, .. })
        | Overlay::Question { scroll, .. },
    ) = &mut model.overlay
    {
        *scroll = scroll.saturating_add_signed(lines).min(last);
    }
}
