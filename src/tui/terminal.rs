//! The terminal while the screen uses it: entered, drawn to, and restored on every way out.
//!
//! All output goes through one buffer that is written once per frame. The terminal is asked for its
//! background's colour only, and nothing waits for the answer.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::thread::{self, ThreadId};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Size;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use crate::protocol::printable;

use super::text::{CopyError, one_line, osc52};

mod output;

use output::{
    FRAME_BEGIN, FRAME_END, KEYBOARD_PUSH, MOUSE_OFF, MOUSE_ON, TITLE_SAVE, TerminalModes,
    TerminalOutput,
};

/// Frames up to this size are remembered, so that a repeated one is not written.
const SMALL_FRAME: usize = 256;

/// Asks for the background's colour, which some terminals answer.
pub(super) const ASK_GROUND: &str = "\x1b]11;?\x1b\\";

/// How to use the terminal.
#[derive(Clone, Debug, Default)]
pub struct GuardOptions {
    pub mouse: bool,
    /// Log file to name after a panic.
    pub log: Option<PathBuf>,
}

/// Owns the terminal and restores it when dropped. Must stay on the thread that entered it.
pub struct TerminalGuard {
    terminal: Terminal<CrosstermBackend<TerminalOutput>>,
    output: TerminalOutput,
    title: String,
    last_frame: Vec<u8>,
}

impl TerminalGuard {
    /// Takes the terminal on stdout.
    pub fn enter(options: &GuardOptions) -> io::Result<Self> {
        let modes = TerminalModes { raw: true, mouse: options.mouse, ..TerminalModes::default() };
        let output = TerminalOutput::new(Box::new(io::stdout()), modes);
        install_panic_hook(output.clone(), options.log.clone());
        Self::with_output(output, Viewport::Fullscreen)
    }

    fn with_output(output: TerminalOutput, viewport: Viewport) -> io::Result<Self> {
        output.sink().enter()?;
        let made = Terminal::with_options(
            CrosstermBackend::new(output.clone()),
            TerminalOptions { viewport },
        );
        match made {
            Ok(terminal) => {
                Ok(Self { terminal, output, title: String::new(), last_frame: Vec::new() })
            }
            Err(error) => {
                output.sink().leave()?;
                Err(error)
            }
        }
    }

    /// Draws one frame: writes it in one go, shown at once. Writes nothing when nothing changed, or
    /// while the terminal is released.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let mut sink = self.output.sink();
        if !sink.modes.entered {
            return Ok(());
        }
        sink.put(FRAME_BEGIN);
        drop(sink);
        let drawn = self.terminal.draw(render).map(|_| ());
        let mut sink = self.output.sink();
        if let Err(error) = drawn {
            sink.buffer.clear();
            return Err(error);
        }
        sink.put(FRAME_END);
        if sink.buffer == self.last_frame {
            sink.buffer.clear();
            return Ok(());
        }
        self.last_frame.clear();
        if sink.buffer.len() <= SMALL_FRAME {
            self.last_frame.extend_from_slice(&sink.buffer);
        }
        sink.send()
    }

    /// Requests unambiguous keys without waiting for a response. Call it after the first frame.
    pub fn after_first_frame(&mut self) -> io::Result<()> {
        let mut sink = self.output.sink();
        if sink.modes.keyboard {
            return Ok(());
        }
        sink.modes.keyboard = true;
        sink.put(KEYBOARD_PUSH);
        sink.send()
    }

    /// Asks for the background's colour. The answer, if any, comes as input.
    pub fn ask_ground(&mut self) -> io::Result<()> {
        let mut sink = self.output.sink();
        sink.put(ASK_GROUND);
        sink.send()
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Makes the next frame a full redraw.
    pub fn redraw(&mut self) -> io::Result<()> {
        self.last_frame.clear();
        // Resizing to the same size clears both screens without asking where the cursor is.
        let area = self.terminal.get_frame().area();
        self.terminal.resize(area)
    }

    /// Releases the terminal for a while, as for an editor.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.output.sink().leave()
    }

    /// Takes the terminal again; the next frame is a full redraw.
    pub fn resume(&mut self) -> io::Result<()> {
        self.output.sink().enter()?;
        let title = std::mem::take(&mut self.title);
        if !title.is_empty() {
            self.set_title(&title)?;
        }
        self.redraw()
    }

    /// Ctrl+Z: stops this process and its group, and returns when they continue.
    pub fn stop(&mut self) -> io::Result<()> {
        self.suspend()?;
        let stopped = kill(Pid::from_raw(0), Signal::SIGTSTP).map_err(io::Error::from);
        self.resume()?;
        stopped
    }

    /// Captures or releases the mouse.
    pub fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        let mut sink = self.output.sink();
        if sink.modes.mouse == on {
            return Ok(());
        }
        sink.modes.mouse = on;
        if !sink.modes.entered {
            return Ok(());
        }
        sink.put(if on { MOUSE_ON } else { MOUSE_OFF });
        sink.send()
    }

    /// Sets the window's title; the old one is restored at the end.
    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        if self.title == title {
            return Ok(());
        }
        title.clone_into(&mut self.title);
        let mut sink = self.output.sink();
        if !sink.modes.entered {
            return Ok(());
        }
        if !sink.modes.titled {
            sink.modes.titled = true;
            sink.put(TITLE_SAVE);
        }
        sink.put(&format!("\x1b]2;{}\x1b\\", one_line(title)));
        sink.send()
    }

    /// Copies the text to the clipboard (OSC 52).
    pub fn copy(&mut self, text: &str) -> Result<(), CopyError> {
        let sequence = osc52(text)?;
        let mut sink = self.output.sink();
        sink.put(&sequence);
        sink.send().map_err(|error| CopyError::Terminal(error.to_string()))
    }

    /// Notifies the user: a desktop notification where supported, and the bell.
    pub fn notify(&mut self, text: &str) -> io::Result<()> {
        let mut sink = self.output.sink();
        sink.put(&format!("\x1b]9;{}\x1b\\\x07", one_line(text)));
        sink.send()
    }
}

#[cfg(test)]
impl TerminalGuard {
    /// A terminal of this size that is written to `out`.
    pub fn for_test(out: impl Write + Send + 'static, width: u16, height: u16) -> Self {
        let output = TerminalOutput::new(Box::new(out), TerminalModes::default());
        let area = ratatui::layout::Rect::new(0, 0, width, height);
        Self::with_output(output, Viewport::Fixed(area)).unwrap()
    }

    /// Number of frames drawn.
    pub fn frames(&mut self) -> usize {
        self.terminal.get_frame().count()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // The error can't be reported; the terminal may be gone.
        let _ = self.output.sink().leave();
    }
}

/// Installs a panic hook. A panic on the screen's thread restores the terminal before printing the
/// message. A panic on another thread is a failed task, which its owner reports; printing it would
/// garble the screen.
fn install_panic_hook(output: TerminalOutput, log: Option<PathBuf>) {
    let previous = std::panic::take_hook();
    let owner = thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        let (message, location) = describe(panic);
        tracing::error!(message, place = location, "panic");
        match on_panic(&output, owner) {
            PanicPlace::NoScreen => previous(panic),
            PanicPlace::OtherThread => {}
            PanicPlace::Screen => {
                let mut text =
                    format!("caliban crashed because of a bug: {message} ({location})\n");
                if let Some(log) = &log {
                    text.push_str(&format!("Please report it with the end of {}\n", log.display()));
                }
                let _ = io::stderr().write_all(printable(&text).as_bytes());
            }
        }
    }));
}

/// Where a panic happened.
#[derive(Debug, PartialEq, Eq)]
enum PanicPlace {
    Screen,
    OtherThread,
    NoScreen,
}

/// Restores the terminal if the panic is on the screen's own thread.
fn on_panic(output: &TerminalOutput, owner: ThreadId) -> PanicPlace {
    // The panicking thread may hold the lock and must not wait for itself.
    let mut sink = match output.0.try_lock() {
        Some(sink) => sink,
        None if thread::current().id() == owner => return PanicPlace::Screen,
        None => return PanicPlace::OtherThread,
    };
    if !sink.modes.entered {
        return PanicPlace::NoScreen;
    }
    if thread::current().id() != owner {
        return PanicPlace::OtherThread;
    }
    let _ = sink.leave();
    PanicPlace::Screen
}

fn describe(panic: &PanicHookInfo<'_>) -> (String, String) {
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    (message, location)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ratatui::layout::Rect;

    use super::output::{ENTER, KEYBOARD_POP, LEAVE, RESET, TITLE_RESTORE};
    use super::*;

    /// A writer that records each write.
    #[derive(Clone, Default)]
    struct WriteLog(Arc<Mutex<Vec<String>>>);

    impl Write for WriteLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl WriteLog {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    fn guard(mouse: bool) -> (TerminalGuard, WriteLog) {
        let paper = WriteLog::default();
        let modes = TerminalModes { mouse, ..TerminalModes::default() };
        let output = TerminalOutput::new(Box::new(paper.clone()), modes);
        let guard =
            TerminalGuard::with_output(output, Viewport::Fixed(Rect::new(0, 0, 20, 2))).unwrap();
        (guard, paper)
    }

    #[test]
    fn entering_and_leaving_mirror_each_other() {
        let (mut guard, paper) = guard(true);
        assert_eq!(paper.take(), [format!("{ENTER}{MOUSE_ON}")]);
        guard.after_first_frame().unwrap();
        guard.after_first_frame().unwrap();
        assert_eq!(paper.take(), [KEYBOARD_PUSH]);
        guard.set_title("a\x1b]0;b\x07c\nd").unwrap();
        assert_eq!(paper.take(), [format!("{TITLE_SAVE}\x1b]2;ac d\x1b\\")]);
        drop(guard);
        let all = paper.take().concat();
        assert_eq!(
            all,
            format!("{FRAME_END}{KEYBOARD_POP}{MOUSE_OFF}{TITLE_RESTORE}{RESET}{LEAVE}")
        );
    }

    #[test]
    fn a_frame_is_one_write_and_an_unchanged_one_is_none() {
        let (mut guard, paper) = guard(false);
        paper.take();
        let draw = |frame: &mut Frame<'_>| frame.render_widget("hello", frame.area());
        guard.draw(draw).unwrap();
        let first = paper.take();
        assert_eq!(first.len(), 1);
        assert!(first[0].starts_with(FRAME_BEGIN) && first[0].ends_with(FRAME_END));
        assert!(first[0].contains("hello"));
        guard.draw(draw).unwrap();
        assert!(!paper.take().concat().contains("hello"));
        guard.draw(draw).unwrap();
        assert_eq!(paper.take(), Vec::<String>::new());
        guard.redraw().unwrap();
        guard.draw(draw).unwrap();
        assert!(paper.take().concat().contains("hello"));
    }

    #[test]
    fn an_editor_gets_a_plain_terminal_and_the_screen_comes_back() {
        let (mut guard, paper) = guard(true);
        guard.after_first_frame().unwrap();
        guard.set_title("t").unwrap();
        paper.take();
        guard.suspend().unwrap();
        assert!(paper.take().concat().ends_with(LEAVE));
        guard.suspend().unwrap();
        guard.draw(|frame| frame.render_widget("hello", frame.area())).unwrap();
        assert_eq!(paper.take(), Vec::<String>::new());
        guard.resume().unwrap();
        let all = paper.take().concat();
        assert!(
            all.starts_with(&format!("{ENTER}{MOUSE_ON}{KEYBOARD_PUSH}{TITLE_SAVE}")),
            "{all:?}"
        );
    }

    #[test]
    fn a_panic_gives_the_terminal_back_once_and_only_for_its_own_thread() {
        let (guard, paper) = guard(false);
        paper.take();
        let owner = thread::current().id();
        let output = guard.output.clone();
        let elsewhere = thread::spawn(move || on_panic(&output, owner)).join().unwrap();
        assert_eq!(elsewhere, PanicPlace::OtherThread);
        assert_eq!(paper.take(), Vec::<String>::new());
        assert_eq!(on_panic(&guard.output, owner), PanicPlace::Screen);
        assert!(paper.take().concat().ends_with(LEAVE));
        assert_eq!(on_panic(&guard.output, owner), PanicPlace::NoScreen);
        drop(guard);
        assert_eq!(paper.take(), Vec::<String>::new());
    }

    #[test]
    fn the_mouse_can_be_let_go_and_text_copied() {
        let (mut guard, paper) = guard(true);
        paper.take();
        guard.set_mouse(false).unwrap();
        guard.set_mouse(false).unwrap();
        assert_eq!(paper.take(), [MOUSE_OFF]);
        guard.copy("hi").unwrap();
        assert_eq!(paper.take(), ["\x1b]52;c;aGk=\x1b\\"]);
    }

    #[test]
    fn a_terminal_that_is_gone_is_an_error_not_a_panic() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let output = TerminalOutput::new(
            Box::new(Gone),
            TerminalModes { entered: true, ..TerminalModes::default() },
        );
        let mut guard =
            TerminalGuard::with_output(output, Viewport::Fixed(Rect::new(0, 0, 9, 1))).unwrap();
        assert_eq!(guard.draw(|_| {}).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
