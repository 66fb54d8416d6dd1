//! The terminal while the screen uses it: entered, drawn to, and restored on every way out.
//!
//! All output goes through one buffer that is written once per frame. The terminal is asked for its
//! background's colour only, and nothing waits for the answer.

use std::io;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ratatui::backend::Backend;
use ratatui::buffer::Cell;
use ratatui::layout::Size;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use crate::protocol::{Charset, EnvOverlay, NotificationMethod};

use super::text::{CopyError, one_line, osc52};

mod backend;
mod lines;
mod links;
mod notification;
mod output;
mod panic_hook;

pub use lines::PromptRows;
pub use links::{LinkBase, has_links};

use backend::{ColumnBackend, encode_cells, mark_covered_cells};
use links::Link;
use output::{
    CURSOR_RESTORE, CURSOR_SAVE, FRAME_BEGIN, FRAME_END, KEYBOARD_PUSH, MOUSE_OFF, MOUSE_ON,
    TITLE_SAVE, TerminalModes, TerminalOutput, open_output,
};

/// Frames up to this size are remembered, so that a repeated one is not written.
const SMALL_FRAME: usize = 256;

/// Cells of the largest terminal that is drawn on.
const MAX_CELLS: usize = 1_000_000;

/// Asks for the background's colour, which some terminals answer.
pub(super) const QUERY_BACKGROUND: &str = "\x1b]11;?\x1b\\";

/// How to use the terminal.
#[derive(Clone, Debug, Default)]
pub struct GuardOptions {
    pub mouse: bool,
    /// Log file to name after a panic.
    pub log: Option<PathBuf>,
    /// Whether to print lines on the terminal's own screen instead of drawing frames.
    pub lines: bool,
    /// The characters that the terminal takes.
    pub charset: Charset,
    /// Where the links of paths lead, if the terminal has links.
    pub links: Option<LinkBase>,
}

/// Owns the terminal and restores it when dropped. Must stay on the thread that entered it.
pub struct TerminalGuard {
    terminal: Terminal<ColumnBackend<TerminalOutput>>,
    output: TerminalOutput,
    title: String,
    last_frame: Vec<u8>,
    link_base: Option<LinkBase>,
    /// The links of the last frame.
    links: Vec<Link>,
    /// The prompt below the printed lines.
    prompt: Option<PromptRows>,
}

impl TerminalGuard {
    /// Takes the terminal on stdout.
    pub fn enter(options: &GuardOptions) -> io::Result<Self> {
        let (columns, rows) = crossterm::terminal::size()?;
        if usize::from(columns) * usize::from(rows) > MAX_CELLS {
            let why = format!("it has {columns} columns and {rows} rows, which is too large");
            return Err(io::Error::other(why));
        }
        let (mouse, lines) = (options.mouse && !options.lines, options.lines);
        let charset = options.charset;
        let modes = TerminalModes { raw: true, mouse, lines, charset, ..TerminalModes::default() };
        let output = TerminalOutput::new(open_output(), modes);
        panic_hook::install(output.clone(), options.log.clone());
        let mut guard = Self::with_output(output, Viewport::Fullscreen)?;
        // The cells of a name that the terminal does not take would lead elsewhere.
        guard.link_base = options.links.clone().filter(|_| charset == Charset::Utf8);
        Ok(guard)
    }

    fn with_output(output: TerminalOutput, viewport: Viewport) -> io::Result<Self> {
        output.sink().enter()?;
        let made = Terminal::with_options(
            ColumnBackend::new(output.clone()),
            TerminalOptions { viewport },
        );
        match made {
            Ok(terminal) => Ok(Self {
                terminal,
                output,
                title: String::new(),
                last_frame: Vec::new(),
                link_base: None,
                links: Vec::new(),
                prompt: None,
            }),
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
        let absurd = sink.modes.raw
            && self
                .terminal
                .size()
                .is_ok_and(|size| usize::from(size.width) * usize::from(size.height) > MAX_CELLS);
        if !sink.modes.entered || absurd {
            return Ok(());
        }
        sink.put(FRAME_BEGIN);
        drop(sink);
        let drawn = self.draw_linked(render);
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

    /// Prints lines, and the prompt below them. Writes only what has changed.
    pub fn print(&mut self, lines: &[String], mut prompt: PromptRows) -> io::Result<()> {
        let mut sink = self.output.sink();
        if !sink.modes.entered {
            return Ok(());
        }
        let charset = sink.modes.charset;
        let encode = |lines: &[String]| -> Vec<String> {
            lines.iter().map(|line| charset.encode(line).into_owned()).collect()
        };
        prompt.rows = encode(&prompt.rows);
        let out = lines::update(self.prompt.as_ref(), &encode(lines), &prompt);
        self.prompt = Some(prompt);
        if out.is_empty() {
            return Ok(());
        }
        sink.put(&out);
        sink.send()
    }

    /// Draws a frame, then the links that have changed in it.
    fn draw_linked(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let size = self.terminal.get_frame().area();
        let charset = self.output.sink().modes.charset;
        let drawn = self.terminal.draw(|frame| {
            render(frame);
            encode_cells(charset, frame.buffer_mut());
            mark_covered_cells(frame.buffer_mut());
        })?;
        let Some(base) = &self.link_base else { return Ok(()) };
        let links = links::find(drawn.buffer, base);
        if drawn.area != size {
            // The terminal was cleared.
            self.links.clear();
        }
        let gone = self.links.iter().filter(|link| !links.contains(link));
        let plain: Vec<(u16, u16, Cell)> = gone
            .flat_map(|link| (link.x..).zip(&link.cells).map(|(x, _)| (x, link.y)))
            .map(|(x, y)| (x, y, drawn.buffer[(x, y)].clone()))
            .collect();
        let new: Vec<&Link> = links.iter().filter(|link| !self.links.contains(link)).collect();
        if plain.is_empty() && new.is_empty() {
            return Ok(());
        }
        let backend = self.terminal.backend_mut();
        self.output.sink().put(CURSOR_SAVE);
        backend.draw(plain.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        for link in new {
            self.output.sink().put(&format!("\x1b]8;;{}\x1b\\", link.uri));
            backend.draw((link.x..).zip(&link.cells).map(|(x, cell)| (x, link.y, cell)))?;
            self.output.sink().put("\x1b]8;;\x1b\\");
        }
        self.output.sink().put(CURSOR_RESTORE);
        self.links = links;
        Ok(())
    }

    /// Whether the terminal does not read at present. Writes first what it takes of earlier output.
    pub fn is_behind(&mut self) -> io::Result<bool> {
        let mut sink = self.output.sink();
        if sink.is_behind() {
            sink.write_backlog()?;
        }
        Ok(sink.is_behind())
    }

    /// Gives the terminal back. The error says that it may not show this, because it does not read.
    pub fn leave(&mut self) -> io::Result<()> {
        self.output.sink().leave()
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
    pub fn query_background(&mut self) -> io::Result<()> {
        let mut sink = self.output.sink();
        sink.put(QUERY_BACKGROUND);
        sink.send()
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Makes the next frame a full redraw.
    pub fn redraw(&mut self) -> io::Result<()> {
        self.last_frame.clear();
        self.links.clear();
        if self.output.sink().modes.lines {
            return Ok(());
        }
        // The methods of `Terminal` for this ask where the cursor is or how large the terminal is.
        self.terminal.backend_mut().clear()?;
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Releases the terminal for a while, as for an editor.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.prompt = None;
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

    /// Notifies the user of a text.
    pub fn notify(
        &mut self,
        method: NotificationMethod,
        env: &EnvOverlay,
        text: &str,
    ) -> io::Result<()> {
        let mut sink = self.output.sink();
        if !sink.modes.entered {
            return Ok(());
        }
        sink.put(&notification::sequence(method, env, text));
        sink.send()
    }
}

#[cfg(test)]
impl TerminalGuard {
    /// A terminal of this size that is written to `out`.
    pub fn for_test(out: impl io::Write + Send + 'static, width: u16, height: u16) -> Self {
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use ratatui::layout::Rect;

    use super::output::{ENTER, KEYBOARD_POP, LEAVE, RESET, TITLE_RESTORE};
    use super::panic_hook::{PanicPlace, on_panic};
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
    fn a_path_is_drawn_as_a_link_once_and_plain_again_when_it_is_none() {
        let (mut guard, paper) = guard(false);
        guard.link_base = Some(LinkBase { folder: "/p".into(), ..LinkBase::default() });
        let mut show = |text: &'static str| {
            guard.draw(|frame| frame.render_widget(text, frame.area())).unwrap();
            paper.take().concat()
        };
        let link = "\x1b]8;;file:///p/a/b.rs\x1b\\";
        let first = show("see a/b.rs");
        assert_eq!(first.matches(link).count(), 1, "{first:?}");
        let shown = first.split(link).nth(1).unwrap();
        assert!(shown.contains("a/b.rs") && shown.contains("\x1b]8;;\x1b\\"), "{first:?}");
        assert!(first.find(CURSOR_SAVE) < first.find(link), "{first:?}");
        assert_eq!(show("see a/b.rs").matches("]8;").count(), 0);
        let longer = show("see a/b.rs!");
        assert!(longer.contains('!') && !longer.contains("]8;"), "{longer:?}");
        let gone = show("see a/b.rs:x");
        assert!(gone.contains("a/b.rs") && !gone.contains("]8;"), "{gone:?}");
    }

    /// A terminal that reads a few bytes, then none until the test releases it.
    #[derive(Clone, Default)]
    struct SlowTerminal {
        room: Arc<Mutex<usize>>,
        log: WriteLog,
    }

    impl Write for SlowTerminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut room = self.room.lock().unwrap();
            let taken = (*room).min(bytes.len());
            if taken == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            *room -= taken;
            self.log.write(&bytes[..taken])
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_terminal_that_does_not_read_gets_the_rest_later_and_is_not_waited_for_long() {
        let slow = SlowTerminal::default();
        *slow.room.lock().unwrap() = ENTER.len() + 30;
        let mut guard = TerminalGuard::for_test(slow.clone(), 20, 2);
        assert!(!guard.is_behind().unwrap());
        guard.draw(|frame| frame.render_widget("hello", frame.area())).unwrap();
        assert!(guard.is_behind().unwrap());
        *slow.room.lock().unwrap() = usize::MAX / 2;
        assert!(!guard.is_behind().unwrap());
        let all = slow.log.take().concat();
        assert!(all.contains("hello") && all.ends_with(FRAME_END), "{all:?}");
        *slow.room.lock().unwrap() = 0;
        assert_eq!(guard.leave().unwrap_err().kind(), io::ErrorKind::TimedOut);
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
