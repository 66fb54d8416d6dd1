//! The loop: keys first, then what agents say, then time; at most one frame each 16 ms, and none
//! when nothing changed.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, KeyEvent, MouseEventKind};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use ratatui::layout::Position;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::protocol::{AgentEvent, Command, EventQueue};

use super::escape::EscapeFilter;
use super::farewell::farewell;
use super::host::{self, Host, HostReply};
use super::keyboard::{Keyboard, Typed};
use super::keymap::{Keymap, KeymapError};
use super::model::{Draw, Model};
use super::msg::{Effect, Msg};
use super::settings::{Exit, Motion, StartInfo, TuiSettings};
use super::surface::Surface;
use super::terminal::{GuardOptions, TerminalGuard};
use super::text::Highlighter;
use super::theme::{Theme, ThemeError};
use super::update::{self, update};
use super::view::{self, View};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// How long the text of panes may wait for its frame.
const LAZY: Duration = Duration::from_millis(100);

/// The same with reduced motion.
const LAZY_REDUCED: Duration = Duration::from_millis(500);

/// Events taken at once, so that keys never wait long.
const BATCH: usize = 512;

/// Keys taken before a frame.
const KEY_BURST: usize = 256;

/// Why the screen could not be shown, or went away.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("the terminal does not answer: {0}. Run caliban in a terminal, or use caliban -p")]
    Terminal(#[from] io::Error),
    #[error("{0}")]
    Theme(#[from] ThemeError),
    #[error("the built-in keymap, line {0}")]
    Keymap(#[from] KeymapError),
    #[error("the agents' side ended by itself; the log says why. The session can be resumed")]
    RuntimeGone,
}

/// Everything that the screen is connected to.
pub struct TuiIo {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub start: StartInfo,
    pub settings: TuiSettings,
    /// Earlier prompts, oldest first.
    pub history: Vec<String>,
    /// Which key does what.
    pub keymap: Keymap,
    /// What was typed before, to a question or to nobody.
    pub typed: Typed,
    /// Where a panic points to.
    pub log: Option<std::path::PathBuf>,
}

/// Shows the screen on the terminal until the person leaves or a signal ends it.
/// Has to run on the thread that calls it, not in a spawned task: a panic there gives the terminal back.
pub async fn run(mut io: TuiIo, host: Arc<dyn Host>) -> Result<Exit, TuiError> {
    let theme = theme(&io.settings)?;
    let keyboard = Keyboard::open(std::mem::take(&mut io.typed))?;
    let options = GuardOptions { mouse: io.settings.mouse, log: io.log.clone() };
    let mut guard = TerminalGuard::enter(&options)?;
    run_on(io, host, theme, &mut guard, keyboard).await
}

/// The theme that the settings and the terminal ask for.
pub(super) fn theme(settings: &TuiSettings) -> Result<Theme, ThemeError> {
    if settings.no_color {
        let env = settings.env.with([("NO_COLOR", "1")]);
        return Ok(Theme::no_color().for_terminal(&env));
    }
    let named = match settings.theme.as_str() {
        "" => Theme::default(),
        name => Theme::named(name)?,
    };
    Ok(named.for_terminal(&settings.env))
}

/// The same on any surface and any input, of which nothing may be read unless it is asked: an
/// editor has the terminal too.
pub async fn run_on<S, I>(
    io: TuiIo,
    host: Arc<dyn Host>,
    theme: Theme,
    surface: &mut S,
    mut keyboard: I,
) -> Result<Exit, TuiError>
where
    S: Surface,
    I: Stream<Item = io::Result<Event>> + Unpin,
{
    let (prompt, pick_session) = (io.start.prompt.clone(), io.start.pick_session);
    let coloured = Arc::new(Notify::new());
    let notify = Arc::clone(&coloured);
    let view = View::new(theme, Highlighter::new(move || notify.notify_one()));
    let mut screen = Screen {
        model: Model::new(io.start, io.settings, io.keymap, io.history),
        view,
        host,
        surface,
        start: Instant::now(),
        last_frame: None,
        commands: io.commands,
        outbox: VecDeque::new(),
        replies: FuturesUnordered::new(),
        escape: EscapeFilter::default(),
        edit: None,
        quit: false,
    };
    screen.draw()?;
    screen.surface.after_first_frame()?;
    // How the tests see that a panic gives the terminal back; a release build does not know the variable.
    debug_assert!(
        screen.model.settings.env.get("CALIBAN_DEBUG_PANIC").is_none(),
        "CALIBAN_DEBUG_PANIC asks for a panic"
    );
    let effects = update::start(&mut screen.model, prompt, pick_session);
    screen.perform(effects)?;
    let signal = match screen.until_its_end(&mut keyboard, &io.events, &coloured).await {
        // The signal that says so may come after the error.
        Err(TuiError::Terminal(error)) if has_hung_up(&error) => Some(HANGUP),
        ended => ended?,
    };
    if signal.is_some() {
        screen.model.exit_in_turn = screen.model.main_works();
        let _ = screen.commands.try_send(Command::Shutdown);
    }
    Ok(Exit { farewell: farewell(&screen.model), signal })
}

/// The number of the signal that says that the terminal was closed.
pub(super) const HANGUP: i32 = 1;

/// Whether this is what a closed terminal answers to all who read and write.
fn has_hung_up(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::EIO as i32)
}

/// Signals that end the screen.
pub(super) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Ctrl+C that an editor had: one that leaves the terminal as shells do makes it a signal to us as well.
    fn forget_interrupt(&mut self) {
        while self.interrupt.recv().now_or_never().flatten().is_some() {}
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.hangup.recv() => HANGUP,
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}

/// The event that is there already, if any. Polls with the task's own waker, so that what comes
/// later wakes it.
async fn ready<I: Stream + Unpin>(input: &mut I) -> Option<I::Item> {
    poll_fn(|context| match input.poll_next_unpin(context) {
        Poll::Ready(event) => Poll::Ready(event),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

struct Screen<'a, S: Surface> {
    model: Model,
    view: View,
    host: Arc<dyn Host>,
    surface: &'a mut S,
    start: Instant,
    last_frame: Option<Instant>,
    commands: mpsc::Sender<Command>,
    /// Commands that the runtime has no room for yet.
    outbox: VecDeque<Command>,
    replies: FuturesUnordered<BoxFuture<'static, HostReply>>,
    escape: EscapeFilter,
    /// The draft to open in an editor.
    edit: Option<String>,
    quit: bool,
}

impl<S: Surface> Screen<'_, S> {
    /// Shows what happens until the person leaves; the number of the signal when it is one that ends it.
    async fn until_its_end<I: Stream<Item = io::Result<Event>> + Unpin>(
        &mut self,
        keyboard: &mut I,
        events: &EventQueue,
        coloured: &Notify,
    ) -> Result<Option<i32>, TuiError> {
        let mut signals = Signals::new()?;
        let mut batch = Vec::new();
        while !self.quit {
            self.draw_if_due()?;
            self.flush()?;
            if let Some(draft) = self.edit.take() {
                self.run_editor(&draft).await?;
                signals.forget_interrupt();
            }
            let ended = self.step(keyboard, &mut signals, events, &mut batch, coloured).await?;
            if ended.is_some() {
                return Ok(ended);
            }
        }
        self.flush()?;
        Ok(None)
    }

    /// Waits for one thing to happen and takes it. Answers with the signal that ends the screen.
    async fn step<I: Stream<Item = io::Result<Event>> + Unpin>(
        &mut self,
        keyboard: &mut I,
        signals: &mut Signals,
        events: &EventQueue,
        batch: &mut Vec<AgentEvent>,
        coloured: &Notify,
    ) -> Result<Option<i32>, TuiError> {
        let far = self.start + Duration::from_secs(u32::MAX.into());
        let escape = self.escape.deadline().map(|at| self.start + at);
        let wake = self.model.next_wake().map(|at| self.start + at);
        let frame = self.next_frame();
        let full = !self.outbox.is_empty();
        let commands = self.commands.clone();
        tokio::select! {
            biased;
            event = keyboard.next() => match event {
                Some(event) => self.take_input(event?, keyboard).await?,
                // The terminal is gone: as if it had hung up.
                None => return Ok(Some(HANGUP)),
            },
            () = sleep_until(escape.unwrap_or(far)), if escape.is_some() => self.release_escape()?,
            number = signals.next() => return Ok(Some(number)),
            Some(reply) = self.replies.next(), if !self.replies.is_empty() => {
                self.update(|at| Msg::Host { reply, at })?;
            }
            () = sleep_until(frame.unwrap_or(far)), if frame.is_some() => {}
            () = events.drain(batch, BATCH) => {
                let events = std::mem::take(batch);
                self.update(|at| Msg::Events { events, at })?;
            }
            () = sleep_until(wake.unwrap_or(far)), if wake.is_some() => {
                self.update(|at| Msg::Tick { at })?;
            }
            () = coloured.notified() => {
                self.view.highlighting_ready();
                self.model.draw = Draw::Now;
            }
            permit = commands.reserve(), if full => match permit {
                Ok(permit) => if let Some(command) = self.outbox.pop_front() {
                    permit.send(command);
                },
                Err(_) => return Err(TuiError::RuntimeGone),
            },
        }
        Ok(None)
    }

    /// One input event, and what else is there already: a burst makes one frame.
    async fn take_input<I: Stream<Item = io::Result<Event>> + Unpin>(
        &mut self,
        first: Event,
        keyboard: &mut I,
    ) -> Result<(), TuiError> {
        let mut next = Some(first);
        let mut left = KEY_BURST;
        while let Some(event) = next.take() {
            self.input(event)?;
            left -= 1;
            if left > 0 && !self.quit && self.edit.is_none() {
                next = ready(keyboard).await.transpose()?;
            }
        }
        Ok(())
    }

    fn input(&mut self, event: Event) -> Result<(), TuiError> {
        match event {
            Event::Key(key) => {
                let now = self.now();
                for key in self.escape.push(key, now) {
                    self.press(key)?;
                }
                Ok(())
            }
            Event::Paste(text) => self.update(|at| Msg::Paste { text, at }),
            Event::Mouse(event) => {
                let place = Position { x: event.column, y: event.row };
                let scrolls =
                    matches!(event.kind, MouseEventKind::ScrollUp | MouseEventKind::ScrollDown);
                let under = self.view.under(&self.model, place, scrolls);
                self.update(|at| Msg::Mouse { event, under, at })
            }
            Event::Resize(width, height) => self.update(|_| Msg::Resize { width, height }),
            Event::FocusGained => self.update(|_| Msg::Window { focused: true }),
            Event::FocusLost => self.update(|_| Msg::Window { focused: false }),
        }
    }

    fn press(&mut self, key: KeyEvent) -> Result<(), TuiError> {
        self.update(|at| Msg::Key { key, at })
    }

    fn release_escape(&mut self) -> Result<(), TuiError> {
        let now = self.now();
        match self.escape.expired(now) {
            Some(key) => self.press(key),
            None => Ok(()),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn update(&mut self, msg: impl FnOnce(Duration) -> Msg) -> Result<(), TuiError> {
        let now = self.now();
        let effects = update(&mut self.model, msg(now));
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                Effect::Send(command) => self.outbox.push_back(command),
                Effect::Ask(request) => {
                    let host = Arc::clone(&self.host);
                    self.replies.push(async move { host::ask(&*host, request).await }.boxed());
                }
                Effect::Copy(text) => {
                    if let Err(problem) = self.surface.copy(&text) {
                        self.model.say(problem.to_string());
                    }
                }
                Effect::CopySelection => {
                    self.draw()?;
                    if let Err(problem) = self.surface.copy(self.view.selected()) {
                        self.model.say(problem.to_string());
                    }
                }
                Effect::Notify(text) => self.surface.notify(&text)?,
                Effect::Edit(draft) => self.edit = Some(draft),
                Effect::Mouse(on) => self.surface.set_mouse(on)?,
                Effect::Redraw => self.surface.redraw()?,
                Effect::Suspend => {
                    self.surface.stop()?;
                    self.model.draw = Draw::Now;
                }
                Effect::Quit => self.quit = true,
            }
        }
        self.flush()
    }

    /// Hands over the commands that there is room for.
    fn flush(&mut self) -> Result<(), TuiError> {
        while let Some(command) = self.outbox.pop_front() {
            match self.commands.try_send(command) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(command)) => {
                    self.outbox.push_front(command);
                    break;
                }
                Err(mpsc::error::TrySendError::Closed(_)) if self.quit || self.model.closing => {}
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(TuiError::RuntimeGone),
            }
        }
        Ok(())
    }

    /// When the next frame is due; `None` when nothing has changed.
    fn next_frame(&self) -> Option<Instant> {
        let reduced = self.model.settings.motion == Motion::Reduced;
        let pause = match self.model.draw {
            Draw::Clean => return None,
            Draw::Now => FRAME,
            Draw::Lazy if reduced => LAZY_REDUCED,
            Draw::Lazy => LAZY,
        };
        Some(self.last_frame.map_or(self.start, |last| last + pause))
    }

    fn draw_if_due(&mut self) -> Result<(), TuiError> {
        if self.next_frame().is_some_and(|due| due <= Instant::now()) {
            self.draw()?;
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        let (model, view) = (&self.model, &mut self.view);
        let mut size = model.size;
        self.surface.draw(&mut |frame| {
            let area = frame.area();
            size = (area.width, area.height);
            view.draw(model, frame);
        })?;
        self.surface.set_title(&view::title(model))?;
        let metrics = self.view.metrics().clone();
        self.model.size = size;
        self.model.draw = Draw::Clean;
        self.last_frame = Some(Instant::now());
        update(&mut self.model, Msg::Drawn(Box::new(metrics)));
        Ok(())
    }

    /// Gives the terminal to an editor, and takes it back. Agents go on meanwhile.
    async fn run_editor(&mut self, draft: &str) -> Result<(), TuiError> {
        self.surface.suspend()?;
        let edited = self.host.edit(draft).await;
        self.surface.resume()?;
        self.update(|at| Msg::Host { reply: HostReply::Edited(edited), at })
    }
}

#[cfg(test)]
mod tests;
