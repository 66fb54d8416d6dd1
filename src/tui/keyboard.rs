//! The keyboard: events from the terminal, without a thread that reads ahead. Bytes are read only
//! while somebody waits for them, so an editor that has the terminal gets all of its own, and what
//! was read and not used can be handed on.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

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

pub use decode::Typed;

/// Bytes taken with one read.
const CHUNK: usize = 4096;

/// How long a sequence may wait for its next byte. Over a slow line it comes in pieces; what takes
/// longer was broken off, or is a person's Alt and a bracket.
const PATIENCE: Duration = Duration::from_millis(100);

/// A stream of what is typed, pasted and done with the mouse, and of new sizes. It ends when the
/// terminal is gone.
pub struct Keyboard {
    terminal: AsyncFd<OwnedFd>,
    resized: Signal,
    typed: Typed,
    /// When the sequence that has begun is given up; counts only while there is one.
    patience: Pin<Box<Sleep>>,
}

impl Keyboard {
    /// Listens to the terminal. First come the events of what was typed before and not used.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn open(typed: Typed) -> io::Result<Self> {
        Ok(Self {
            terminal: listen(terminal()?)?,
            resized: signal(SignalKind::window_change())?,
            typed,
            patience: Box::pin(sleep_until(Instant::now())),
        })
    }

    /// Listens no longer; answers with what was read and not used.
    #[must_use]
    pub fn close(self) -> Typed {
        self.typed
    }

    /// Reads what is there. `false` is the terminal's end.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut chunk = [0; CHUNK];
        loop {
            let mut guard = ready!(self.terminal.poll_read_ready(context))?;
            match guard.try_io(|terminal| Ok(nix::unistd::read(terminal, &mut chunk)?)) {
                Ok(Ok(count)) => {
                    self.typed.push(&chunk[..count]);
                    self.patience.as_mut().reset(Instant::now() + PATIENCE);
                    return Poll::Ready(Ok(count > 0));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // What a terminal answers that is gone.
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
    type Item = io::Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.typed.take() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.resized.poll_recv(context).is_ready() {
                let size = crossterm::terminal::size();
                return Poll::Ready(Some(size.map(|(width, height)| Event::Resize(width, height))));
            }
            match this.poll_read(context) {
                Poll::Ready(Ok(true)) => continue,
                Poll::Ready(Ok(false)) => return Poll::Ready(None),
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending if !this.typed.is_unfinished() => return Poll::Pending,
                Poll::Pending => {}
            }
            ready!(this.patience.as_mut().poll(context));
            this.typed.give_up();
        }
    }
}

/// The terminal that raw mode is set on, opened anew: reads that do not wait are then ours alone,
/// and not also those of the shell that shares stdin with us.
fn terminal() -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let open = |path: &Path| nix::fcntl::open(path, flags, Mode::empty());
    let stdin = nix::unistd::ttyname(io::stdin());
    Ok(stdin.and_then(|path| open(&path)).or_else(|_| open(Path::new("/dev/tty")))?)
}

#[expect(
    deprecated,
    reason = "the form that takes its place is unsafe, for types that change their descriptor"
)]
fn listen(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(terminal, Interest::READABLE)
}
