//! The buffer for terminal output, and the terminal modes that were switched on.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use parking_lot::{Mutex, MutexGuard};

use crate::protocol::Charset;

/// How long the terminal may take to read the end.
const LEAVE_TIME: Duration = Duration::from_millis(500);

/// The pause before the terminal is tried again meanwhile.
const LEAVE_PAUSE: Duration = Duration::from_millis(10);

/// Alternate screen, no wrapping at the edge (each row is written in its place), bracketed paste,
/// focus changes.
pub(super) const ENTER: &str = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1004h";
/// The same without the alternate screen.
pub(super) const ENTER_LINES: &str = "\x1b[?2004h\x1b[?1004h";
pub(super) const LEAVE_LINES: &str = "\x1b[?1004l\x1b[?2004l\r\n\x1b[J";
pub(super) const LEAVE: &str = "\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?1049l";
/// Presses, drags and the wheel, in the form without a limit on columns.
pub(super) const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The kitty protocol's "disambiguate", pushed and popped.
pub(super) const KEYBOARD_PUSH: &str = "\x1b[>1u";
pub(super) const KEYBOARD_POP: &str = "\x1b[<1u";
/// Synchronized update: the terminal shows everything between these two at once.
pub(super) const FRAME_BEGIN: &str = "\x1b[?2026h";
pub(super) const FRAME_END: &str = "\x1b[?2026l";
/// Saves and restores the cursor.
pub(super) const CURSOR_SAVE: &str = "\x1b7";
pub(super) const CURSOR_RESTORE: &str = "\x1b8";
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
    /// Bytes that were sent and that the terminal has not taken yet.
    backlog: Vec<u8>,
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
    /// Prints lines on the terminal's own screen.
    pub(super) lines: bool,
    /// The characters that the terminal takes: no others reach it.
    pub(super) charset: Charset,
}

impl TerminalOutput {
    pub(super) fn new(out: Box<dyn Write + Send>, modes: TerminalModes) -> Self {
        let (buffer, backlog) = (Vec::new(), Vec::new());
        Self(Arc::new(Mutex::new(Sink { out, buffer, backlog, modes })))
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

    /// Writes the buffer in one go. A terminal that does not read gets the rest later.
    pub(super) fn send(&mut self) -> io::Result<()> {
        match self.modes.charset {
            Charset::Utf8 => self.backlog.append(&mut self.buffer),
            Charset::Ascii => {
                let text = String::from_utf8_lossy(&self.buffer);
                self.backlog.extend_from_slice(Charset::Ascii.encode(&text).as_bytes());
                self.buffer.clear();
            }
        }
        // A screenful of styles is enough; don't keep the memory of one huge paste.
        self.buffer.shrink_to(1 << 16);
        self.write_backlog()
    }

    /// Writes what the terminal takes of the bytes that were sent.
    pub(super) fn write_backlog(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let written = loop {
            if sent == self.backlog.len() {
                break self.out.flush();
            }
            match self.out.write(&self.backlog[sent..]) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if written.is_err() {
            sent = self.backlog.len();
        }
        self.backlog.drain(..sent);
        self.backlog.shrink_to(1 << 16);
        written
    }

    /// Whether the terminal has not taken all that was sent.
    pub(super) fn is_behind(&self) -> bool {
        !self.backlog.is_empty()
    }

    pub(super) fn enter(&mut self) -> io::Result<()> {
        if self.modes.entered {
            return Ok(());
        }
        if self.modes.raw {
            crossterm::terminal::enable_raw_mode()?;
        }
        self.modes.entered = true;
        self.put(if self.modes.lines { ENTER_LINES } else { ENTER });
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
        self.put(if self.modes.lines { LEAVE_LINES } else { LEAVE });
        let mut written = self.send();
        let began = Instant::now();
        while written.is_ok() && self.is_behind() {
            if began.elapsed() > LEAVE_TIME {
                self.backlog.clear();
                written = Err(io::ErrorKind::TimedOut.into());
                break;
            }
            thread::sleep(LEAVE_PAUSE);
            written = self.write_backlog();
        }
        if self.modes.raw {
            crossterm::terminal::disable_raw_mode()?;
        }
        written
    }
}

/// The terminal on stdout, opened anew so that a write never waits: a terminal that does not read
/// must not hold up keys and signals. Stdout itself stays as it is, for the shell that shares it.
struct TerminalDevice(OwnedFd);

impl Write for TerminalDevice {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens the terminal on stdout; stdout itself if that is no terminal.
pub(super) fn open_output() -> Box<dyn Write + Send> {
    let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let path = nix::unistd::ttyname(io::stdout());
    match path.and_then(|path| nix::fcntl::open(&path, flags, Mode::empty())) {
        Ok(device) => Box::new(TerminalDevice(device)),
        Err(_) => Box::new(io::stdout()),
    }
}
