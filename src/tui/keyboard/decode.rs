//! From the terminal's bytes to events. What nobody can use is dropped whole, and nothing else with it.

use std::collections::VecDeque;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::csi;

pub(super) const ESC: u8 = 0x1b;
const BELL: u8 = 0x07;

/// What was typed and is not used yet: whole events, and the bytes of one that has begun.
#[derive(Debug, Default)]
pub struct Typed {
    events: VecDeque<Event>,
    bytes: Vec<u8>,
}

/// What the first bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// So many bytes are this event.
    Event(usize, Event),
    /// So many bytes are nothing to us.
    Nothing(usize),
    /// More has to come.
    Unfinished,
}

impl Typed {
    /// Takes bytes that came at once: an Esc at their end is the key.
    pub fn push(&mut self, bytes: &[u8]) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        // The end of a long paste is looked for in what is new alone.
        if self.is_paste() && !csi::holds_paste_end(&self.bytes, before) {
            return;
        }
        let mut from = 0;
        while from < self.bytes.len() {
            match first(&self.bytes[from..]) {
                First::Event(count, event) => {
                    self.events.push_back(event);
                    from += count;
                }
                First::Nothing(count) => from += count,
                First::Unfinished => break,
            }
        }
        self.bytes.drain(..from);
        if self.bytes.is_empty() {
            // One huge paste need not stay in memory.
            self.bytes.shrink_to(super::CHUNK);
        }
    }

    /// The next event.
    pub fn take(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether a sequence has begun that can be given up. A paste cannot: its end always comes.
    pub fn is_unfinished(&self) -> bool {
        !self.bytes.is_empty() && !self.is_paste()
    }

    fn is_paste(&self) -> bool {
        self.bytes.starts_with(csi::PASTE_BEGIN)
    }

    /// The rest does not come: two bytes are a key with Alt, anything else is dropped.
    pub fn give_up(&mut self) {
        if let [ESC, letter @ 0x20..=0x7e] = self.bytes[..] {
            let code = KeyCode::Char(char::from(letter));
            self.events.push_back(key(code, KeyModifiers::ALT));
        }
        self.bytes.clear();
    }
}

/// A key that was pressed.
pub(super) fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

/// What stands at the start of the bytes, of which there is at least one.
pub(super) fn first(bytes: &[u8]) -> First {
    match bytes {
        [ESC] => First::Event(1, key(KeyCode::Esc, KeyModifiers::NONE)),
        [ESC, b'[', ..] => csi::first(bytes),
        [ESC, b'O'] => First::Unfinished,
        [ESC, b'O', letter, ..] => function_key(*letter),
        [ESC, b']' | b'P', ..] => answer(bytes),
        // Esc Esc is two keys; before a sequence, the first one is an Alt.
        [ESC, ESC] | [ESC, ESC, ESC, ..] => First::Event(1, key(KeyCode::Esc, KeyModifiers::NONE)),
        [ESC, rest @ ..] => with_alt(first(rest)),
        [byte @ 0x80..=0xff, ..] => letter(bytes, *byte),
        [byte, ..] => First::Event(1, plain(*byte)),
        [] => First::Unfinished,
    }
}

/// Keys of one byte.
fn plain(byte: u8) -> Event {
    let control = |letter: u8| key(KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    match byte {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE),
        0x7f => key(KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        0x01..=0x1a => control(byte - 1 + b'a'),
        0x1b..=0x1f => control(byte - 0x1c + b'4'),
        _ => character(char::from(byte)),
    }
}

fn character(letter: char) -> Event {
    let shift = if letter.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    key(KeyCode::Char(letter), shift)
}

/// A character of several bytes that begins with this one.
fn letter(bytes: &[u8], byte: u8) -> First {
    let count = match byte {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return First::Nothing(1),
    };
    let there = &bytes[..count.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(text) => text
            .chars()
            .next()
            .map_or(First::Nothing(1), |letter| First::Event(count, character(letter))),
        Err(error) if error.error_len().is_none() => First::Unfinished,
        Err(_) => First::Nothing(1),
    }
}

/// `ESC O` and a letter: arrows and function keys in the terminal's application mode.
fn function_key(letter: u8) -> First {
    match csi::lettered(letter) {
        Some(code) => First::Event(3, key(code, KeyModifiers::NONE)),
        None => First::Nothing(3),
    }
}

/// A terminal's answer of any length, up to the sign that ends it. Nobody asked here.
fn answer(bytes: &[u8]) -> First {
    let Some(end) = bytes.iter().skip(2).position(|byte| *byte < 0x20) else {
        return First::Unfinished;
    };
    let end = end + 2;
    match bytes[end..] {
        [BELL, ..] => First::Nothing(end + 1),
        [ESC, b'\\', ..] => First::Nothing(end + 2),
        [ESC] => First::Unfinished,
        // No answer has such a byte: it was broken off before.
        _ => First::Nothing(end),
    }
}

/// The same behind an Esc.
fn with_alt(first: First) -> First {
    match first {
        First::Event(count, Event::Key(mut key)) => {
            key.modifiers |= KeyModifiers::ALT;
            First::Event(count + 1, Event::Key(key))
        }
        First::Event(count, event) => First::Event(count + 1, event),
        First::Nothing(count) => First::Nothing(count + 1),
        First::Unfinished => First::Unfinished,
    }
}

#[cfg(test)]
mod tests;
