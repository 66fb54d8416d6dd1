//! Decodes the terminal's bytes into events. Unusable sequences are dropped whole, and nothing else with them.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tokio::time::Instant;

use super::csi::{self, DecodeResult};
use crate::tui::composer::paste::MAX_PASTED;
use crate::tui::theme::TerminalBackground;

/// Bytes per read.
pub(super) const READ_SIZE: usize = 4096;

pub(super) const ESC: u8 = 0x1b;
const BELL: u8 = 0x07;

/// How long an ESC may be the start of a sequence before it is the key.
const ESC_TIMEOUT: Duration = Duration::from_millis(10);

/// How long a started sequence may wait for its next byte. Over a slow connection it arrives in
/// pieces; a longer gap means that it was cut off, or that the user typed Alt and a bracket.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(100);

/// The same for the answer to [`QUERY_BACKGROUND`](crate::tui::terminal::QUERY_BACKGROUND): late
/// pieces of it must not pass as keys.
const BACKGROUND_REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a paste may pause. Its end may never arrive, and until then no key is one: what has
/// arrived is then inserted, and a key alone ends the paste.
const PASTE_TIMEOUT: Duration = Duration::from_secs(1);

/// The most bytes of a paste that are kept: more than any text field accepts.
const MAX_PASTE_BYTES: usize = csi::PASTE_BEGIN.len() + MAX_PASTED + 1;

/// The most bytes of that answer. What is longer is none, but keys that the user presses meanwhile.
const MAX_BACKGROUND_REPLY: usize = 64;

/// The start of the answer with the background's colour.
const BACKGROUND_REPLY_PREFIX: &[u8] = b"\x1b]11;";

/// Something from the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key, a paste, the mouse, the focus or a new size.
    Event(Event),
    /// The brightness of the background.
    TerminalBackground(TerminalBackground),
}

/// Input that was read but not used yet: complete events, and the bytes of an unfinished one.
#[derive(Debug, Default)]
pub struct PendingInput {
    events: VecDeque<Input>,
    bytes: Vec<u8>,
    /// When the last bytes arrived.
    read_at: Option<Instant>,
    /// Whether an unfinished paste has paused for so long that what had arrived of it was taken.
    stalled: bool,
}

impl PendingInput {
    /// Adds bytes that were read at a time.
    pub fn push(&mut self, bytes: &[u8], at: Instant) {
        if std::mem::take(&mut self.stalled) && is_no_paste(bytes) {
            self.bytes.clear();
        }
        let before = self.bytes.len();
        self.read_at = Some(at);
        self.bytes.extend_from_slice(bytes);
        // Search only the new bytes for the end of a long paste.
        if self.is_paste() && !csi::holds_paste_end(&self.bytes, before) {
            self.bound_paste();
            return;
        }
        let mut from = 0;
        while from < self.bytes.len() {
            match decode_first(&self.bytes[from..]) {
                DecodeResult::Event(count, event) => {
                    self.events.push_back(Input::Event(event));
                    from += count;
                }
                DecodeResult::TerminalBackground(count, background) => {
                    self.events.push_back(Input::TerminalBackground(background));
                    from += count;
                }
                DecodeResult::Ignored(count) => from += count,
                DecodeResult::Unfinished => break,
            }
        }
        self.bytes.drain(..from);
        if self.bytes.is_empty() {
            // Don't keep the memory of one huge paste.
            self.bytes.shrink_to(READ_SIZE);
        }
    }

    /// Removes and returns the next event.
    pub fn take(&mut self) -> Option<Input> {
        self.events.pop_front()
    }

    /// When to stop waiting for the rest of a sequence, if there is an unfinished one.
    pub fn deadline(&self) -> Option<Instant> {
        let timeout = match self.bytes[..] {
            [] => return None,
            [ESC] | [ESC, ESC] => ESC_TIMEOUT,
            _ if self.stalled => return None,
            _ if self.is_paste() => PASTE_TIMEOUT,
            _ if self.is_background_reply() => BACKGROUND_REPLY_TIMEOUT,
            _ => SEQUENCE_TIMEOUT,
        };
        Some(self.read_at? + timeout)
    }

    fn is_paste(&self) -> bool {
        self.bytes.starts_with(csi::PASTE_BEGIN)
    }

    /// Drops the middle of an unfinished paste that is longer than any text field accepts. The last
    /// bytes may be the start of its end.
    fn bound_paste(&mut self) {
        let tail = self.bytes.len().saturating_sub(csi::PASTE_END.len() - 1);
        if tail > MAX_PASTE_BYTES {
            self.bytes.drain(MAX_PASTE_BYTES..tail);
        }
    }

    /// Takes what has arrived of an unfinished paste. What follows belongs to it, unless a key ends it.
    fn take_stalled_paste(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes[csi::PASTE_BEGIN.len()..]).into_owned();
        if !text.is_empty() {
            self.events.push_back(Input::Event(Event::Paste(text)));
        }
        self.bytes.truncate(csi::PASTE_BEGIN.len());
        self.bytes.shrink_to(READ_SIZE);
        self.stalled = true;
    }

    /// Whether the bytes are, or may become, the answer with the background's colour.
    fn is_background_reply(&self) -> bool {
        self.bytes.starts_with(BACKGROUND_REPLY_PREFIX) && self.bytes.len() <= MAX_BACKGROUND_REPLY
            || self.bytes.len() > 2 && BACKGROUND_REPLY_PREFIX.starts_with(&self.bytes)
    }

    /// Stops waiting for the rest of a sequence once its deadline has passed: an ESC is the key, an ESC
    /// and a character are a key with Alt, a paste is what has arrived of it, anything else is dropped.
    pub fn expire(&mut self, now: Instant) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        if self.is_paste() {
            return self.take_stalled_paste();
        }
        match self.bytes[..] {
            [ESC] | [ESC, ESC] => {
                let escape = Input::Event(key(KeyCode::Esc, KeyModifiers::NONE));
                self.events.extend(std::iter::repeat_n(escape, self.bytes.len()));
            }
            [ESC, letter @ 0x20..=0x7e] => {
                let code = KeyCode::Char(char::from(letter));
                self.events.push_back(Input::Event(key(code, KeyModifiers::ALT)));
            }
            _ => {}
        }
        self.bytes.clear();
    }
}

/// Whether bytes that arrive after a pause in a paste do not belong to it: one key alone, or a
/// sequence, which terminals take out of pasted text. The rest of a paste arrives in larger pieces.
fn is_no_paste(bytes: &[u8]) -> bool {
    bytes.starts_with(&[ESC])
        || matches!(decode_first(bytes), DecodeResult::Event(count, _) if count == bytes.len())
}

/// Creates the event of a key press.
pub(super) fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

/// Decodes the start of the bytes, of which there is at least one.
pub(super) fn decode_first(bytes: &[u8]) -> DecodeResult {
    match bytes {
        // The start of a sequence until its deadline.
        [ESC] | [ESC, ESC] => DecodeResult::Unfinished,
        [ESC, b'[', ..] => csi::decode_csi(bytes),
        [ESC, b'O'] => DecodeResult::Unfinished,
        [ESC, b'O', letter, ..] => function_key(*letter),
        [ESC, b']' | b'P', ..] => terminal_response(bytes),
        [ESC, ESC, ESC, ..] => escape_key(),
        [ESC, rest @ ..] if rest.starts_with(csi::PASTE_BEGIN) => escape_key(),
        [ESC, rest @ ..] => with_alt(&decode_first(rest)),
        [byte @ 0x80..=0xff, ..] => multibyte_char(bytes, *byte),
        [byte, ..] => DecodeResult::Event(1, single_byte_key(*byte)),
        [] => DecodeResult::Unfinished,
    }
}

/// Decodes a key of one byte.
fn single_byte_key(byte: u8) -> Event {
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

/// Decodes a multibyte character that starts with this byte.
fn multibyte_char(bytes: &[u8], byte: u8) -> DecodeResult {
    let count = match byte {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return DecodeResult::Ignored(1),
    };
    let there = &bytes[..count.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(text) => text.chars().next().map_or(DecodeResult::Ignored(1), |letter| {
            DecodeResult::Event(count, character(letter))
        }),
        Err(error) if error.error_len().is_none() => DecodeResult::Unfinished,
        Err(_) => DecodeResult::Ignored(1),
    }
}

/// Decodes `ESC O` and a letter: arrows and function keys in application mode.
fn function_key(letter: u8) -> DecodeResult {
    match csi::letter_key(letter) {
        Some(code) => DecodeResult::Event(3, key(code, KeyModifiers::NONE)),
        None => DecodeResult::Ignored(3),
    }
}

/// Skips a response of the terminal, of any length, up to its terminator. Reads the background's
/// colour; anything but a colour in its place is skipped as well.
fn terminal_response(bytes: &[u8]) -> DecodeResult {
    let Some(end) = bytes.iter().skip(2).position(|byte| *byte < 0x20) else {
        return DecodeResult::Unfinished;
    };
    let end = end + 2;
    let response = |count: usize| {
        let color = bytes[..end]
            .strip_prefix(BACKGROUND_REPLY_PREFIX)
            .and_then(|color| str::from_utf8(color).ok());
        match color.and_then(TerminalBackground::from_color) {
            Some(background) => DecodeResult::TerminalBackground(count, background),
            None => DecodeResult::Ignored(count),
        }
    };
    match bytes[end..] {
        [BELL, ..] => response(end + 1),
        [ESC, b'\\', ..] => response(end + 2),
        [ESC] => DecodeResult::Unfinished,
        // No response contains such a byte: it was cut off before.
        _ => DecodeResult::Ignored(end),
    }
}

/// Adds Alt to a key that follows an ESC. Before anything else, the ESC is a key of its own.
fn with_alt(first: &DecodeResult) -> DecodeResult {
    match first {
        DecodeResult::Event(count, Event::Key(first)) => {
            let modifiers = first.modifiers | KeyModifiers::ALT;
            DecodeResult::Event(count + 1, Event::Key(KeyEvent { modifiers, ..*first }))
        }
        DecodeResult::Event(..)
        | DecodeResult::TerminalBackground(..)
        | DecodeResult::Ignored(_) => escape_key(),
        DecodeResult::Unfinished => DecodeResult::Unfinished,
    }
}

fn escape_key() -> DecodeResult {
    DecodeResult::Event(1, key(KeyCode::Esc, KeyModifiers::NONE))
}

#[cfg(test)]
mod tests;
