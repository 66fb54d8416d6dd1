//! The surface the event loop draws on: the terminal, or a buffer in tests.

use std::io;

use ratatui::Frame;

use super::terminal::TerminalGuard;
use super::text::CopyError;

/// A screen that can be drawn on, released and taken again.
pub trait Surface {
    /// Draws one frame.
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()>;
    /// Sets up what can wait until after the first frame.
    fn after_first_frame(&mut self) -> io::Result<()>;
    /// Makes the next frame a full redraw.
    fn redraw(&mut self) -> io::Result<()>;
    /// Releases the screen for a while.
    fn suspend(&mut self) -> io::Result<()>;
    /// Takes the screen again.
    fn resume(&mut self) -> io::Result<()>;
    /// Stops the process until the shell continues it.
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
