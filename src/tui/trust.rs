//! The question before a session: whether what the project brings may count. It has the screen to
//! itself, because nothing of the session is there yet.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

mod asking;
mod draw;

pub use asking::ask_trust;

/// How long no text may have been typed before a digit answers: one that was meant for the prompt
/// decides nothing.
const QUIET: Duration = Duration::from_secs(1);

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The folder that would be trusted.
    pub root: String,
    /// Whether something else of it is trusted already.
    pub changed: bool,
    /// What it brings, file by file.
    pub things: Vec<TrustThing>,
    /// The user's own entries that would start in it.
    pub own: Vec<TrustThing>,
}

/// One thing that does nothing yet, or an entry that does not start in the project yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustThing {
    pub file: String,
    pub line: usize,
    pub what: String,
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    Trust,
    NotNow,
    Quit,
    /// A signal of this number ended it.
    Signal(i32),
}

/// The question while it is open. Times count from when it was opened.
struct Asking<'a> {
    question: &'a TrustQuestion,
    /// The first line of the list that is shown.
    scroll: usize,
    /// Of the last frame: how many lines the list has, and how many of them were shown.
    lines: usize,
    shown: usize,
    /// The width of the last frame. Cells.
    width: u16,
    /// Whether the last line was shown at this width. Nobody trusts what they could not see.
    seen_all: bool,
    /// When text was last typed.
    typed: Duration,
}

impl<'a> Asking<'a> {
    fn new(question: &'a TrustQuestion) -> Self {
        let typed = Duration::ZERO;
        Self { question, scroll: 0, lines: 0, shown: 0, width: 0, seen_all: false, typed }
    }

    /// Whether digits answer by now.
    fn answers(&self, now: Duration) -> bool {
        now >= self.typed + QUIET
    }

    /// When digits will answer.
    fn opens(&self) -> Duration {
        self.typed + QUIET
    }

    /// Takes a key; an answer ends the question.
    fn press(&mut self, key: KeyEvent, now: Duration) -> Option<TrustAnswer> {
        if key.kind != KeyEventKind::Press {
            return None;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Some(TrustAnswer::Quit),
            KeyCode::Esc => return Some(TrustAnswer::NotNow),
            KeyCode::Char('1') if self.answers(now) && self.seen_all => {
                return Some(TrustAnswer::Trust);
            }
            KeyCode::Char('2') if self.answers(now) => return Some(TrustAnswer::NotNow),
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
        self.scroll = self.scroll.min(self.lines.saturating_sub(self.shown));
        None
    }

    fn page(&self) -> usize {
        self.shown.saturating_sub(1).max(1)
    }

    /// Takes over what the last frame showed.
    fn drawn(&mut self, lines: usize, shown: usize, width: u16) {
        // At another width the lines are others.
        self.seen_all &= self.width == width;
        (self.lines, self.shown, self.width) = (lines, shown, width);
        self.scroll = self.scroll.min(lines.saturating_sub(shown));
        self.seen_all |= shown > 0 && self.scroll + shown >= lines;
    }
}

#[cfg(test)]
mod tests;
