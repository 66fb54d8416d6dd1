//! Input events from the terminal, without a thread that reads ahead. Bytes are read only while a
//! caller waits for them, so an editor gets all of its own input, and unused input can be handed on.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crossterm::event::Event;
use futures_util::stream::Stream;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, Sleep, sleep_until};

mod csi;
mod decode;

use decode::READ_SIZE;
pub use decode::{Input, PendingInput};

/// A stream of keys, pastes, mouse events and new sizes. It ends when the terminal is gone.
pub struct Keyboard {
    terminal: AsyncFd<OwnedFd>,
    resized: Signal,
    pending: PendingInput,
    /// Ends at the deadline of an unfinished sequence; only relevant while there is one.
    timeout: Pin<Box<Sleep>>,
}

impl Keyboard {
    /// Opens the terminal for input. Yields the events of unused earlier input first.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn open(typed: PendingInput) -> io::Result<Self> {
        Self::new(open_terminal()?, typed)
    }

    fn new(terminal: OwnedFd, pending: PendingInput) -> io::Result<Self> {
        Ok(Self {
            terminal: watch_terminal(terminal)?,
            resized: signal(SignalKind::window_change())?,
            timeout: Box::pin(sleep_until(pending.deadline().unwrap_or_else(Instant::now))),
            pending,
        })
    }

    /// Stops reading; returns the input that was read but not used.
    pub fn close(self) -> PendingInput {
        self.pending
    }

    /// Reads available bytes. `false` means that the terminal is gone.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut chunk = [0; READ_SIZE];
        loop {
            let mut guard = ready!(self.terminal.poll_read_ready(context))?;
            match guard.try_io(|terminal| Ok(nix::unistd::read(terminal, &mut chunk)?)) {
                Ok(Ok(count)) => {
                    self.pending.push(&chunk[..count], Instant::now());
                    if let Some(deadline) = self.pending.deadline() {
                        self.timeout.as_mut().reset(deadline);
                    }
                    return Poll::Ready(Ok(count > 0));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // The error of a terminal that is gone.
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::EIO as i32) => {
                    return Poll::Ready(Ok(false));
                }
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_nothing_there) => {}
            }
        }
    }
}

impl Stream for Keyboard {
    type Item = io::Result<Input>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.pending.take() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.resized.poll_recv(context).is_ready() {
                let size = crossterm::terminal::size();
                let resized = |(width, height)| Input::Event(Event::Resize(width, height));
                return Poll::Ready(Some(size.map(resized)));
            }
            match this.poll_read(context) {
                Poll::Ready(Ok(true)) => continue,
                Poll::Ready(Ok(false)) => return Poll::Ready(None),
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending if this.pending.deadline().is_none() => return Poll::Pending,
                Poll::Pending => {}
            }
            ready!(this.timeout.as_mut().poll(context));
            this.pending.expire(Instant::now());
        }
    }
}

/// Reopens the terminal that is in raw mode, so that non-blocking reads are set for us alone and not
/// for the shell that shares stdin with us.
fn open_terminal() -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let open = |path: &Path| nix::fcntl::open(path, flags, Mode::empty());
    let stdin = nix::unistd::ttyname(io::stdin());
    Ok(stdin.and_then(|path| open(&path)).or_else(|_| open(Path::new("/dev/tty")))?)
}

#[expect(
    deprecated,
    reason = "the form that takes its place is unsafe, for types that change their descriptor"
)]
fn watch_terminal(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(terminal, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    /// A keyboard that reads a pipe.
    fn on_pipe() -> (Keyboard, OwnedFd) {
        let (reads, writes) = nix::unistd::pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).unwrap();
        (Keyboard::new(reads, PendingInput::default()).unwrap(), writes)
    }

    fn key(code: KeyCode) -> Input {
        Input::Event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    #[tokio::test]
    async fn a_lone_esc_arrives_after_ten_milliseconds() {
        let (mut keyboard, terminal) = on_pipe();
        let start = Instant::now();
        nix::unistd::write(&terminal, b"\x1b").unwrap();
        assert_eq!(keyboard.next().await.unwrap().unwrap(), key(KeyCode::Esc));
        assert!(start.elapsed().as_millis() >= 10);
    }

    #[tokio::test]
    async fn an_arrow_that_arrives_in_pieces_is_one_key() {
        for pieces in [&["\x1b", "[A"][..], &["\x1b[", "A"], &["\x1b", "[", "A"]] {
            let (mut keyboard, terminal) = on_pipe();
            let mut events = Vec::new();
            for piece in pieces {
                let before = keyboard.pending.deadline();
                nix::unistd::write(&terminal, piece.as_bytes()).unwrap();
                while events.is_empty() && keyboard.pending.deadline() == before {
                    tokio::task::yield_now().await;
                    events.extend(keyboard.next().now_or_never().flatten().transpose().unwrap());
                }
            }
            assert_eq!(events, [key(KeyCode::Up)], "{pieces:?}");
        }
    }
}
