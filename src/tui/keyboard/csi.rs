//! Sequences that start with `ESC [`: legacy and kitty keys, the mouse, focus and pastes. All others
//! are unsolicited responses; a common grammar tells where they end.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use crate::tui::theme::TerminalBackground;

/// Result of decoding the first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DecodeResult {
    /// This many bytes are this event.
    Event(usize, Event),
    /// This many bytes are the terminal's answer about its background.
    TerminalBackground(usize, TerminalBackground),
    /// This many bytes are ignored.
    Ignored(usize),
    /// More bytes are needed.
    Unfinished,
}

/// The markers around a paste.
pub(super) const PASTE_BEGIN: &[u8] = b"\x1b[200~";
pub(super) const PASTE_END: &[u8] = b"\x1b[201~";

/// Whether a paste ends in these bytes, of which the first `known` were checked before.
pub(super) fn holds_paste_end(bytes: &[u8], known: usize) -> bool {
    let from = known.saturating_sub(PASTE_END.len() - 1);
    bytes[from..].windows(PASTE_END.len()).any(|window| window == PASTE_END)
}

/// Decodes the sequence at the start of the bytes.
pub(super) fn decode_csi(bytes: &[u8]) -> DecodeResult {
    if bytes.starts_with(PASTE_BEGIN) {
        return paste(bytes);
    }
    match bytes {
        // Function keys of the Linux console.
        [_, _, b'['] => return DecodeResult::Unfinished,
        [_, _, b'[', letter @ b'A'..=b'E', ..] => {
            return DecodeResult::Event(
                4,
                pressed(KeyCode::F(letter - b'A' + 1), KeyModifiers::NONE),
            );
        }
        // The oldest mouse encoding: three bytes of any value.
        [_, _, b'M', button, column, row, ..] => {
            let fields = [button, column, row].map(|byte| u16::from(byte.saturating_sub(32)));
            return or_ignored(6, mouse(fields, false));
        }
        [_, _, b'M', ..] => return DecodeResult::Unfinished,
        _ => {}
    }
    let Some(end) = bytes.iter().skip(2).position(|byte| !matches!(byte, 0x20..=0x3f)) else {
        return DecodeResult::Unfinished;
    };
    let end = end + 2;
    match bytes[end] {
        letter @ 0x40..=0x7e => or_ignored(end + 1, event(&bytes[2..end], letter)),
        // No sequence contains such a byte: it was cut off before.
        _ => DecodeResult::Ignored(end),
    }
}

fn or_ignored(count: usize, event: Option<Event>) -> DecodeResult {
    event.map_or(DecodeResult::Ignored(count), |event| DecodeResult::Event(count, event))
}

fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

fn paste(bytes: &[u8]) -> DecodeResult {
    let text = &bytes[PASTE_BEGIN.len()..];
    let Some(end) = text.windows(PASTE_END.len()).position(|window| window == PASTE_END) else {
        return DecodeResult::Unfinished;
    };
    let pasted = String::from_utf8_lossy(&text[..end]).into_owned();
    DecodeResult::Event(PASTE_BEGIN.len() + end + PASTE_END.len(), Event::Paste(pasted))
}

/// The event of a complete sequence with these parameters and this final byte, if any.
fn event(parameters: &[u8], last: u8) -> Option<Event> {
    let text = std::str::from_utf8(parameters).ok()?;
    match (text.chars().next(), last) {
        (None, b'I') => Some(Event::FocusGained),
        (None, b'O') => Some(Event::FocusLost),
        (Some('<'), b'M' | b'm') => mouse(numbers(&text[1..])?, last == b'm'),
        (None | Some('0'..='9' | ';'), _) => key(text, last),
        _ => None,
    }
}

/// Parses three numbers separated by semicolons.
fn numbers(text: &str) -> Option<[u16; 3]> {
    let mut fields = text.split(';').map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??, fields.next()??])
}

/// Parses `number : … ; modifiers : kind ; …` and a letter. Omitted numbers are 1.
fn key(text: &str, last: u8) -> Option<Event> {
    let mut fields = text.split(';');
    let number = |field: Option<&str>| match field.unwrap_or_default() {
        "" => Some(1),
        digits => digits.parse::<u32>().ok(),
    };
    let which = number(fields.next().unwrap_or_default().split(':').next())?;
    let mut held = fields.next().unwrap_or_default().split(':');
    let mut modifiers = modifiers(number(held.next())?);
    let kind = match number(held.next())? {
        2 => KeyEventKind::Repeat,
        3 => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    let code = match last {
        b'~' => tilde_key(which)?,
        b'u' => unicode_key(which)?,
        b'Z' => KeyCode::BackTab,
        _ => letter_key(last)?,
    };
    let code = match code {
        KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        code => code,
    };
    if code == KeyCode::BackTab {
        modifiers.insert(KeyModifiers::SHIFT);
    }
    Some(Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
}

/// Decodes modifiers: the number is one more than their sum. Caps Lock and Num Lock are ignored.
fn modifiers(number: u32) -> KeyModifiers {
    let held = number.saturating_sub(1);
    let all = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let held = all.into_iter().enumerate().filter(|(bit, _)| held & (1 << bit) != 0);
    held.fold(KeyModifiers::NONE, |all, (_, one)| all | one)
}

/// Keys with a final letter of their own. F3 has none: its `R` also ends a cursor position report.
pub(super) fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

/// Keys with a number before a tilde.
fn tilde_key(number: u32) -> Option<KeyCode> {
    let function = |key: u32| u8::try_from(key).ok().map(KeyCode::F);
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        11..=15 => function(number - 10),
        17..=21 => function(number - 11),
        23 | 24 => function(number - 12),
        _ => None,
    }
}

/// Keys by their character, as the kitty protocol writes them, and those of its keypad.
fn unicode_key(number: u32) -> Option<KeyCode> {
    const KEYPAD: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
    match number {
        9 => Some(KeyCode::Tab),
        13 | 57414 => Some(KeyCode::Enter),
        27 => Some(KeyCode::Esc),
        127 => Some(KeyCode::Backspace),
        57399..=57408 => KEYPAD.get(number as usize - 57399).copied().map(KeyCode::Char),
        57409 => Some(KeyCode::Char('.')),
        57410 => Some(KeyCode::Char('/')),
        57411 => Some(KeyCode::Char('*')),
        57412 => Some(KeyCode::Char('-')),
        57413 => Some(KeyCode::Char('+')),
        57415 => Some(KeyCode::Char('=')),
        57416 => Some(KeyCode::Char(',')),
        57417 => Some(KeyCode::Left),
        57418 => Some(KeyCode::Right),
        57419 => Some(KeyCode::Up),
        57420 => Some(KeyCode::Down),
        57421 => Some(KeyCode::PageUp),
        57422 => Some(KeyCode::PageDown),
        57423 => Some(KeyCode::Home),
        57424 => Some(KeyCode::End),
        57425 => Some(KeyCode::Insert),
        57426 => Some(KeyCode::Delete),
        // The other keys of the private use area are not characters.
        57344..=63743 => None,
        _ => char::from_u32(number).filter(|letter| !letter.is_control()).map(KeyCode::Char),
    }
}

/// Decodes button, column and row, from 1. Only the newer encoding tells which button was `released`.
fn mouse([button, column, row]: [u16; 3], released: bool) -> Option<Event> {
    let drags = button & 32 != 0;
    let named = |number| match number {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        _ => MouseButton::Right,
    };
    let kind = match ((button & 3) | ((button & 0xc0) >> 4), drags) {
        (which @ 0..=2, false) if released => MouseEventKind::Up(named(which)),
        (which @ 0..=2, false) => MouseEventKind::Down(named(which)),
        (which @ 0..=2, true) => MouseEventKind::Drag(named(which)),
        (3, false) => MouseEventKind::Up(MouseButton::Left),
        (3, true) => MouseEventKind::Moved,
        (4, _) => MouseEventKind::ScrollUp,
        (5, _) => MouseEventKind::ScrollDown,
        (6, _) => MouseEventKind::ScrollLeft,
        (7, _) => MouseEventKind::ScrollRight,
        _ => return None,
    };
    let keys = [(4, KeyModifiers::SHIFT), (8, KeyModifiers::ALT), (16, KeyModifiers::CONTROL)];
    let modifiers = keys
        .into_iter()
        .filter(|(bit, _)| button & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, one)| all | one);
    Some(Event::Mouse(MouseEvent {
        kind,
        column: column.checked_sub(1)?,
        row: row.checked_sub(1)?,
        modifiers,
    }))
}
