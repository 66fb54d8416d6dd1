//! The editing keys of any text: the draft, a filter, or an answer.

use crate::tui::composer::{Movement, TextBuffer};
use crate::tui::keymap::Action;

/// Applies an editing key to a text: the draft, a filter, or an answer. Returns false if the text to
/// insert is too large.
pub fn edit_text(buffer: &mut TextBuffer, action: Action) -> bool {
    let width = usize::MAX;
    match action {
        Action::Newline => {
            buffer.note_agent();
            buffer.insert("\n");
        }
        Action::Backspace => buffer.delete(Movement::Left),
        Action::Delete | Action::DeleteOrQuit => buffer.delete(Movement::Right),
        Action::KillWordLeft => buffer.kill(Movement::WordLeft),
        Action::KillWordRight => buffer.kill(Movement::WordRight),
        Action::KillLineLeft => buffer.kill(Movement::LineStart),
        Action::KillLineRight => buffer.kill(Movement::LineEnd),
        Action::Yank => return buffer.yank(),
        Action::Undo => buffer.undo(),
        Action::SelectLeft => buffer.select(Movement::Left),
        Action::SelectRight => buffer.select(Movement::Right),
        Action::SelectUp => buffer.select(Movement::Up { width }),
        Action::SelectDown => buffer.select(Movement::Down { width }),
        Action::SelectWordLeft => buffer.select(Movement::WordLeft),
        Action::SelectWordRight => buffer.select(Movement::WordRight),
        Action::SelectLineStart => buffer.select(Movement::LineStart),
        Action::SelectLineEnd => buffer.select(Movement::LineEnd),
        _ => {
            let movement = match action {
                Action::Left | Action::BackgroundOrLeft => Movement::Left,
                Action::Right => Movement::Right,
                Action::Up => Movement::Up { width },
                Action::Down => Movement::Down { width },
                Action::WordLeft => Movement::WordLeft,
                Action::WordRight => Movement::WordRight,
                Action::LineStart | Action::Home => Movement::LineStart,
                Action::LineEnd | Action::End => Movement::LineEnd,
                _ => return true,
            };
            buffer.move_cursor(movement);
        }
    }
    true
}
