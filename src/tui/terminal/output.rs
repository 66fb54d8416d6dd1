//! The buffer for terminal output, and the terminal modes that were switched on.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// Alternate screen, bracketed paste, focus changes.
pub(super) const ENTER: &str = "\x1b[?1049h\x1b[?2004h\x1b[?1004h";
pub(super) const LEAVE: &str = "\x1b[?1004l\x1b[?2004l\x1b[?1049l";
/// Presses, drags and the wheel, in the form without a limit on columns.
pub(super) const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The kitty protocol's "disambiguate", pushed and popped.
pub(super) const KEYBOARD_PUSH: &str = "\x1b[>1u";
pub(super) const KEYBOARD_POP: &str = "\x1b[<1u";
/// Synchronized update: the terminal shows everything between these two at once.
pub(super) const FRAME_BEGIN: &str = "\x1b[?2026h";
pub(super) const FRAME_END: &str = "\x1b[?2026l";
/// Saves and restores the terminal's own title.
pub(super) const TITLE_SAVE: &str = "\x1b[22;2t";
pub(super) const TITLE_RESTORE: &str = "\x1b]2;\x1b\\\x1b[23;2t";
pub(super) const RESET: &str = "\x1b[0m\x1b[?25h";

/// The only output to the terminal, shared with the panic hook.
#[derive(Clone)]
pub(super) struct TerminalOutput(pub(super) Arc<Mutex<Sink>>);

pub(super) struct Sink {
    out: Box<dyn Write + Send>,
    /// Bytes to write with the next [`Sink::send`].
    pub(super) buffer: Vec<u8>,
    pub(super) modes: TerminalModes,
}

/// Modes that were switched on and must be switched off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TerminalModes {
    /// The screen is ours now.
    pub(super) entered: bool,
    /// Whether to set raw mode; tests have no terminal.
    pub(super) raw: bool,
    pub(super) mouse: bool,
    pub(super) keyboard: bool,
    pub(super) titled: bool,
}

impl TerminalOutput {
    pub(super) fn new(out: Box<dyn Write + Send>, modes: TerminalModes) -> Self {
        Self(Arc::new(Mutex::new(Sink { out, buffer: Vec::new(), modes })))
    }

    /// Locks the sink. A panic while drawing leaves it in a state that [`Sink::leave`] can handle.
    pub(super) fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.lock()
    }
}

/// Collects ratatui's output in the buffer. Ignores its flushes, of which there are several per frame.
impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink().buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    pub(super) fn put(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Writes the buffer in one go.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.buffer.clear();
        // A screenful of styles is enough; don't keep the memory of one huge paste.
        self.buffer.shrink_to(1 << 16);
        written
    }

    pub(super) fn enter(&mut self) -> io::Result<()> {
        if self.modes.entered {
            return Ok(());
        }
        if self.modes.raw {
            crossterm::terminal::enable_raw_mode()?;
        }
        self.modes.entered = true;
        self.put(ENTER);
        if self.modes.mouse {
            self.put(MOUSE_ON);
        }
        if self.modes.keyboard {
            self.put(KEYBOARD_PUSH);
        }
        self.send()
    }

    /// Undoes [`Sink::enter`] and later mode changes; drops a frame being drawn.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        if !self.modes.entered {
            return Ok(());
        }
        self.modes.entered = false;
        self.buffer.clear();
        self.put(FRAME_END);
        if self.modes.keyboard {
            self.put(KEYBOARD_POP);
        }
        if self.modes.mouse {
            self.put(MOUSE_OFF);
        }
        if self.modes.titled {
            self.modes.titled = false;
            self.put(TITLE_RESTORE);
        }
        self.put(RESET);
        self.put(LEAVE);
        let written = self.send();
        if self.modes.raw {
            crossterm::terminal::disable_raw_mode()?;
        }
        written
    }
}
