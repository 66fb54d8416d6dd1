//! What the loop draws on: the terminal, or a buffer in a test.

use std::io;

use ratatui::Frame;

use super::terminal::TerminalGuard;
use super::text::CopyError;

/// A screen that can be drawn on, given back and taken again.
pub trait Surface {
    /// Draws one frame.
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()>;
    /// The first frame stands: what may wait can be set up now.
    fn after_first_frame(&mut self) -> io::Result<()>;
    /// The next frame is drawn in full.
    fn redraw(&mut self) -> io::Result<()>;
    /// Gives the screen back for a while.
    fn suspend(&mut self) -> io::Result<()>;
    /// Takes the screen again.
    fn resume(&mut self) -> io::Result<()>;
    /// Stops the process until the shell goes on with it.
    fn stop(&mut self) -> io::Result<()>;
    fn set_mouse(&mut self, on: bool) -> io::Result<()>;
    fn set_title(&mut self, title: &str) -> io::Result<()>;
    fn copy(&mut self, text: &str) -> Result<(), CopyError>;
    fn notify(&mut self, text: &str) -> io::Result<()>;
}

impl Surface for TerminalGuard {
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()> {
        Self::draw(self, |frame| render(frame))
    }

    fn after_first_frame(&mut self) -> io::Result<()> {
        Self::after_first_frame(self)
    }

    fn redraw(&mut self) -> io::Result<()> {
        Self::redraw(self)
    }

    fn suspend(&mut self) -> io::Result<()> {
        Self::suspend(self)
    }

    fn resume(&mut self) -> io::Result<()> {
        Self::resume(self)
    }

    fn stop(&mut self) -> io::Result<()> {
        Self::stop(self)
    }

    fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        Self::set_mouse(self, on)
    }

    fn set_title(&mut self, title: &str) -> io::Result<()> {
        Self::set_title(self, title)
    }

    fn copy(&mut self, text: &str) -> Result<(), CopyError> {
        Self::copy(self, text)
    }

    fn notify(&mut self, text: &str) -> io::Result<()> {
        Self::notify(self, text)
    }
}
