//! The trust question before a session: whether to use the project's own settings. It has the whole
//! screen, because the session does not exist yet.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub mod ask;
mod draw;

/// How long no text must have been typed before a digit answers, so that a digit meant for the prompt
/// decides nothing.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// The content of the trust question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The folder that would be trusted.
    pub root: String,
    /// Whether other things in it are trusted already.
    pub changed: bool,
    /// Untrusted things in the folder, file by file.
    pub items: Vec<TrustItem>,
    /// Entries of the user that would start in it.
    pub own_items: Vec<TrustItem>,
}

/// A thing that is ignored until trusted, or an entry that does not start in the project yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    pub file: String,
    pub line: usize,
    pub what: String,
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    Trust,
    NotNow,
    Quit,
    /// A signal of this number ended it.
    Signal(i32),
}

/// The state of the open question. Times are relative to its start.
struct TrustDialog<'a> {
    question: &'a TrustQuestion,
    /// The first visible line of the list.
    scroll: usize,
    /// Lines of the list in the last frame, and how many of them were shown.
    lines: usize,
    height: usize,
    /// Width of the last frame, in cells.
    width: u16,
    /// Whether the last line was shown at this width. The user can't trust what was not shown.
    seen_all: bool,
    /// When text was last typed.
    typed: Duration,
    /// Whether it is printed as lines, which cannot change.
    printed: bool,
}

impl<'a> TrustDialog<'a> {
    fn new(question: &'a TrustQuestion) -> Self {
        let typed = Duration::ZERO;
        Self {
            question,
            scroll: 0,
            lines: 0,
            height: 0,
            width: 0,
            seen_all: false,
            typed,
            printed: false,
        }
    }

    /// Whether digits are accepted as answers.
    fn accepts_answers(&self, now: Duration) -> bool {
        now >= self.typed + QUIET_TIME
    }

    /// When digits will be accepted.
    fn accepts_at(&self) -> Duration {
        self.typed + QUIET_TIME
    }

    /// Handles a key; an answer ends the question.
    fn press(&mut self, key: KeyEvent, now: Duration) -> Option<TrustAnswer> {
        if key.kind != KeyEventKind::Press {
            return None;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Some(TrustAnswer::Quit),
            KeyCode::Esc => return Some(TrustAnswer::NotNow),
            KeyCode::Char('1') if self.accepts_answers(now) && self.seen_all => {
                return Some(TrustAnswer::Trust);
            }
            KeyCode::Char('2') if self.accepts_answers(now) => return Some(TrustAnswer::NotNow),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll += 1,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.page()),
            KeyCode::PageDown => self.scroll += self.page(),
            KeyCode::Home => self.scroll = 0,
            KeyCode::End => self.scroll = self.lines,
            KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace => {
                self.typed = now;
            }
            _ => {}
        }
        self.scroll = self.scroll.min(self.lines.saturating_sub(self.height));
        None
    }

    fn page(&self) -> usize {
        self.height.saturating_sub(1).max(1)
    }

    /// Records the sizes of the last frame.
    fn frame_drawn(&mut self, lines: usize, height: usize, width: u16) {
        // At another width the lines wrap differently.
        self.seen_all &= self.width == width;
        (self.lines, self.height, self.width) = (lines, height, width);
        self.scroll = self.scroll.min(lines.saturating_sub(height));
        self.seen_all |= height > 0 && self.scroll + height >= lines;
    }
}

#[cfg(test)]
mod tests;
