//! The event loop: keys first, then agent events, then timers. A key is drawn at once; agent events
//! make a frame no more than every 16 ms, and none when nothing changed.

mod signals;
mod start_theme;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, MouseEventKind};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use ratatui::layout::Position;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::protocol::{AgentEvent, Charset, Command, EventQueue, MotionMode, NoticeLevel};

use super::chrome;
use super::composer::past_prompt::PastPrompt;
use super::exit_summary::exit_summary;
use super::host::{HostRequest, ScreenHost};
use super::keyboard::{Input, Keyboard, PendingInput};
use super::keymap::{Keymap, KeymapError};
use super::labels;
use super::linear::{FrameCause, LinearScreen};
use super::model::{DrawUrgency, TuiModel};
use super::msg::{Msg, ScreenEffect};
use super::settings::{ScreenExit, StartInfo, TuiSettings};
use super::terminal::{GuardOptions, LinkBase, TerminalGuard, has_links};
use super::text::Highlighter;
use super::theme::{ColorDepth, ThemeError};
use super::themes::ThemeSet;
use super::update::{self, update};
use super::view::View;
use start_theme::{first_theme, load_themes};

pub(super) use signals::{HANGUP, ScreenSignals};
pub(super) use start_theme::resolve_theme;
pub use start_theme::{check_theme, theme_problems};

/// The shortest time from a frame to one that shows what agents did.
const FRAME_TIME: Duration = Duration::from_millis(16);

/// When a terminal that does not read is tried again.
pub(super) const BEHIND_PAUSE: Duration = Duration::from_millis(50);

/// How long text in panes may wait for its frame.
const LAZY_FRAME_TIME: Duration = Duration::from_millis(100);

/// The same, with reduced motion.
const LAZY_REDUCED_FRAME_TIME: Duration = Duration::from_millis(500);

/// How long after the start an answer about the background may still come, and how long the exit
/// waits for it.
const BACKGROUND_REPLY_TIME: Duration = Duration::from_secs(1);
const BACKGROUND_REPLY_WAIT: Duration = Duration::from_millis(100);

/// Events handled per batch, so that keys never wait long.
const MAX_EVENT_BATCH: usize = 512;

/// Keys handled before a frame.
const MAX_KEY_BURST: usize = 256;

/// The screen could not be shown, or its loop failed.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("cannot use the terminal: {0}. Run caliban in a terminal, or use caliban -p")]
    Terminal(#[from] io::Error),
    #[error("{0}")]
    Theme(#[from] ThemeError),
    #[error("error in the built-in keymap, line {0}")]
    Keymap(#[from] KeymapError),
    #[error("the agent runtime stopped unexpectedly; see the log. The session can be resumed")]
    RuntimeGone,
}

/// Everything the screen is connected to.
pub struct TuiIo {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub start: StartInfo,
    pub settings: TuiSettings,
    /// Earlier prompts, oldest first.
    pub history: Vec<PastPrompt>,
    /// The key bindings.
    pub keymap: Keymap,
    /// Input typed before the start, such as during the trust question, and not consumed.
    pub pending: PendingInput,
    /// The log file to name after a panic.
    pub log: Option<std::path::PathBuf>,
}

/// Shows the screen on the terminal until the user quits or a signal ends it.
///
/// Must run on the calling thread, not in a spawned task: a panic on that thread restores the terminal.
pub async fn run(mut io: TuiIo, host: Arc<dyn ScreenHost>) -> Result<ScreenExit, TuiError> {
    let (themes, problems) = load_themes(&io.settings);
    // The others are for `caliban doctor`.
    let problems = problems.into_iter().filter(|(name, _)| *name == io.settings.theme);
    let problems: Vec<_> = problems.map(|(_, why)| (NoticeLevel::Warning, why)).collect();
    // Reading a theme takes longer than most of the start, and `auto` needs no check.
    if !io.settings.theme.is_empty()
        && let Err(error) = first_theme(&io.settings, &themes)
    {
        let Some(place) = &io.settings.theme_place else { return Err(error.into()) };
        let why = format!("{place}: {error}. Using auto");
        io.start.notices.push((NoticeLevel::Warning, why));
        io.settings.theme.clear();
    }
    io.start.notices.extend(problems);
    let keyboard = Keyboard::open(std::mem::take(&mut io.pending))?;
    let env = &io.settings.env;
    let links = has_links(env).then(|| LinkBase {
        host: io.settings.host.clone(),
        folder: io.start.session.folder.clone(),
        home: env.get_os("HOME").map(Into::into),
    });
    let (mouse, lines) = (io.settings.mouse, io.settings.screen_reader);
    let charset = Charset::from_env(env);
    let options = GuardOptions { mouse, log: io.log.clone(), lines, charset, links };
    let mut guard = TerminalGuard::enter(&options)?;
    let mut exit = Box::pin(run_on(io, host, themes, &mut guard, keyboard)).await?;
    if guard.leave().is_err() {
        // A terminal that does not read must not hold up the end.
        exit.summary.clear();
    }
    Ok(exit)
}

/// Like [`run`], on a given terminal and input. The input must not read ahead, since an editor may own
/// the terminal in between.
async fn run_on<I: Stream<Item = io::Result<Input>> + Unpin>(
    io: TuiIo,
    host: Arc<dyn ScreenHost>,
    themes: ThemeSet,
    terminal: &mut TerminalGuard,
    mut keyboard: I,
) -> Result<ScreenExit, TuiError> {
    let (prompt, pick_session) = (io.start.prompt.clone(), io.start.pick_session);
    let highlighted = Arc::new(Notify::new());
    let notify = Arc::clone(&highlighted);
    let mut model = TuiModel::new(io.start, io.settings, io.keymap, io.history);
    model.themes.choices = themes.choices();
    let highlighter = Highlighter::new(move || notify.notify_one());
    let view = View::with_themes(themes, &model, highlighter)?;
    let mut screen = EventLoop {
        linear: model.settings.screen_reader.then(LinearScreen::default),
        cause: FrameCause::default(),
        model,
        view,
        host,
        terminal,
        start: Instant::now(),
        last_frame: None,
        commands: io.commands,
        outbox: VecDeque::new(),
        requests: FuturesUnordered::new(),
        edit: None,
        quit: false,
    };
    let rich = screen.view.theme().depth() == ColorDepth::True;
    screen.draw()?;
    screen.terminal.after_first_frame()?;
    if rich {
        screen.terminal.query_background()?;
    }
    // Lets the tests check that a panic restores the terminal; absent from release builds.
    debug_assert!(
        screen.model.settings.env.get("CALIBAN_DEBUG_PANIC").is_none(),
        "CALIBAN_DEBUG_PANIC asks for a panic"
    );
    let effects = update::start(&mut screen.model, prompt, pick_session);
    screen.perform(effects)?;
    let ended = screen.run_until_exit(&mut keyboard, &io.events, &highlighted).await;
    // A choice made just before is written, even if nobody waits for that.
    while let Some(Some(_)) = screen.requests.next().now_or_never() {}
    if rich
        && screen.start.elapsed() < BACKGROUND_REPLY_TIME
        && screen.model.themes.background.is_none()
    {
        // What the terminal still says must not reach the shell's prompt.
        let _ = tokio::time::timeout(BACKGROUND_REPLY_WAIT, async {
            while let Some(Ok(Input::Event(_))) = keyboard.next().await {}
        })
        .await;
    }
    let signal = match ended {
        // The SIGHUP may arrive after the error.
        Err(TuiError::Terminal(error)) if has_hung_up(&error) => Some(HANGUP),
        ended => ended?,
    };
    if signal.is_some() {
        screen.model.exit_in_turn = screen.model.main_is_busy();
        let _ = screen.commands.try_send(Command::Shutdown);
    }
    let demo = screen.model.play_demo && signal.is_none();
    Ok(ScreenExit { summary: exit_summary(&screen.model), demo, signal })
}

/// Whether this is the error for reading from or writing to a closed terminal.
fn has_hung_up(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::EIO as i32)
}

/// Returns an event that is ready, if any. Polls with the task's own waker, so that later events
/// wake it.
async fn next_ready<I: Stream + Unpin>(input: &mut I) -> Option<I::Item> {
    poll_fn(|context| match input.poll_next_unpin(context) {
        Poll::Ready(event) => Poll::Ready(event),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

struct EventLoop<'a> {
    model: TuiModel,
    view: View,
    /// The screen for screen readers, if that is shown, and what it is to say with the next frame.
    linear: Option<LinearScreen>,
    cause: FrameCause,
    host: Arc<dyn ScreenHost>,
    terminal: &'a mut TerminalGuard,
    start: Instant,
    last_frame: Option<Instant>,
    commands: mpsc::Sender<Command>,
    /// Commands waiting for room in the runtime's channel.
    outbox: VecDeque<Command>,
    /// Requests that the host is answering.
    requests: FuturesUnordered<BoxFuture<'static, HostRequest>>,
    /// The draft to open in an editor.
    edit: Option<HostRequest>,
    quit: bool,
}

impl EventLoop<'_> {
    /// Runs until the user quits. Returns the number of the signal if one ended it.
    async fn run_until_exit<I: Stream<Item = io::Result<Input>> + Unpin>(
        &mut self,
        keyboard: &mut I,
        events: &EventQueue,
        highlighted: &Notify,
    ) -> Result<Option<i32>, TuiError> {
        let mut signals = ScreenSignals::new()?;
        let mut batch = Vec::new();
        while !self.quit {
            self.draw_if_due()?;
            self.flush()?;
            if let Some(request) = self.edit.take() {
                let ended = self.run_editor(request, &mut signals).await?;
                if ended.is_some() {
                    return Ok(ended);
                }
                signals.drain_interrupts();
            }
            let ended = self.step(keyboard, &mut signals, events, &mut batch, highlighted).await?;
            if ended.is_some() {
                return Ok(ended);
            }
        }
        self.flush()?;
        Ok(None)
    }

    /// Waits for one event and handles it. Returns the number of a signal that ends the screen.
    async fn step<I: Stream<Item = io::Result<Input>> + Unpin>(
        &mut self,
        keyboard: &mut I,
        signals: &mut ScreenSignals,
        events: &EventQueue,
        batch: &mut Vec<AgentEvent>,
        highlighted: &Notify,
    ) -> Result<Option<i32>, TuiError> {
        let far = self.start + Duration::from_secs(u32::MAX.into());
        let wake = self.model.next_wake().map(|at| self.start + at);
        let behind = self.terminal.is_behind()?.then(|| Instant::now() + BEHIND_PAUSE);
        let frame = behind.or_else(|| self.next_frame());
        let full = !self.outbox.is_empty();
        let commands = self.commands.clone();
        tokio::select! {
            biased;
            event = keyboard.next() => match event {
                Some(event) => self.take_input(event?, keyboard).await?,
                // The terminal is gone: same as SIGHUP.
                None => return Ok(Some(HANGUP)),
            },
            number = signals.next() => return Ok(Some(number)),
            Some(reply) = self.requests.next(), if !self.requests.is_empty() => {
                self.cause.input = true;
                self.update(|at| Msg::Host { reply, at })?;
            }
            () = sleep_until(frame.unwrap_or(far)), if frame.is_some() => {}
            () = events.drain(batch, MAX_EVENT_BATCH) => {
                let events = std::mem::take(batch);
                self.update(|at| Msg::Events { events, at })?;
            }
            () = sleep_until(wake.unwrap_or(far)), if wake.is_some() => {
                self.update(|at| Msg::Tick { at })?;
            }
            () = highlighted.notified() => {
                self.view.highlighting_ready();
                self.model.draw = DrawUrgency::Now;
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

    /// Handles an input event and all others that are ready, and draws what they changed: a burst
    /// makes one frame.
    async fn take_input<I: Stream<Item = io::Result<Input>> + Unpin>(
        &mut self,
        first: Input,
        keyboard: &mut I,
    ) -> Result<(), TuiError> {
        let mut next = Some(first);
        let mut left = MAX_KEY_BURST;
        while let Some(event) = next.take() {
            self.input(event)?;
            left -= 1;
            if left > 0 && !self.quit && self.edit.is_none() {
                next = next_ready(keyboard).await.transpose()?;
            }
        }
        if self.model.draw == DrawUrgency::Now && !self.quit && self.edit.is_none() {
            self.draw()?;
        }
        Ok(())
    }

    fn input(&mut self, input: Input) -> Result<(), TuiError> {
        let event = match input {
            Input::Event(event) => event,
            Input::TerminalBackground(background) => {
                return self.update(|_| Msg::TerminalBackground(background));
            }
        };
        self.cause.input |= matches!(event, Event::Key(_) | Event::Paste(_));
        match event {
            Event::Key(key) => self.update(|at| Msg::Key { key, at }),
            Event::Paste(text) => self.update(|at| Msg::Paste { text, at }),
            Event::Mouse(event) => {
                let at = Position { x: event.column, y: event.row };
                let scrolls =
                    matches!(event.kind, MouseEventKind::ScrollUp | MouseEventKind::ScrollDown);
                let under = self.view.hit_test(&self.model, at, scrolls);
                self.update(|at| Msg::Mouse { event, hit: under, at })
            }
            Event::Resize(width, height) => {
                // The terminal may have cut what it shows, even if it has its old size again.
                self.terminal.redraw()?;
                self.update(|_| Msg::Resize { width, height })
            }
            Event::FocusGained => self.update(|at| Msg::Window { focused: true, at }),
            Event::FocusLost => self.update(|at| Msg::Window { focused: false, at }),
        }
    }

    fn update(&mut self, msg: impl FnOnce(Duration) -> Msg) -> Result<(), TuiError> {
        let effects = update(&mut self.model, msg(self.start.elapsed()));
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<ScreenEffect>) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                ScreenEffect::Send(command) => self.outbox.push_back(command),
                ScreenEffect::Ask(mut request) => {
                    let host = Arc::clone(&self.host);
                    let reply = async move {
                        host.answer(&mut request).await;
                        request
                    };
                    self.requests.push(reply.boxed());
                }
                ScreenEffect::Copy(text) => {
                    if let Err(problem) = self.terminal.copy(&text) {
                        self.model.say(problem.to_string());
                    }
                }
                ScreenEffect::CopySelection => {
                    self.draw()?;
                    let text = self.view.selected();
                    self.model.say(labels::copied_label(text));
                    if !text.is_empty()
                        && let Err(problem) = self.terminal.copy(text)
                    {
                        self.model.say(problem.to_string());
                    }
                }
                ScreenEffect::Notify(text) => {
                    let TuiSettings { notifications, env, .. } = &self.model.settings;
                    self.terminal.notify(*notifications, env, &text)?;
                }
                ScreenEffect::Edit(draft) => self.edit = Some(HostRequest::Edit(Ok(draft))),
                ScreenEffect::EditFile(path) => {
                    self.edit = Some(HostRequest::EditFile { path, result: Ok(()) });
                }
                ScreenEffect::Mouse(on) => self.terminal.set_mouse(on)?,
                ScreenEffect::Redraw => {
                    self.cause.asked = true;
                    self.terminal.redraw()?;
                }
                ScreenEffect::Suspend => {
                    self.terminal.stop()?;
                    self.model.draw = DrawUrgency::Now;
                }
                ScreenEffect::Quit => self.quit = true,
            }
        }
        self.flush()
    }

    /// Sends the commands that the channel has room for.
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
        let reduced = self.model.settings.motion == MotionMode::Reduced;
        let pause = match self.model.draw {
            DrawUrgency::Clean => return None,
            DrawUrgency::Now => FRAME_TIME,
            DrawUrgency::Lazy if reduced => LAZY_REDUCED_FRAME_TIME,
            DrawUrgency::Lazy => LAZY_FRAME_TIME,
        };
        Some(self.last_frame.map_or(self.start, |last| last + pause))
    }

    fn draw_if_due(&mut self) -> Result<(), TuiError> {
        let due = self.next_frame().is_some_and(|due| due <= Instant::now());
        // A terminal that does not read gets no more frames; agents and keys go on.
        if due && !self.terminal.is_behind()? {
            self.draw()?;
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        let (model, view) = (&self.model, &mut self.view);
        let mut size = model.size;
        let cause = std::mem::take(&mut self.cause);
        match &mut self.linear {
            Some(linear) => {
                let width = self.terminal.size().map_or(model.size.0, |size| size.width);
                size = LinearScreen::size(width);
                let frame = linear.frame(model, view, width, cause);
                self.terminal.print(&frame.lines, frame.prompt)?;
            }
            None => self.terminal.draw(|frame| {
                let area = frame.area();
                size = (area.width, area.height);
                view.draw(model, frame);
            })?,
        }
        self.terminal.set_title(&chrome::title(model))?;
        let metrics = self.view.metrics().clone();
        self.model.size = size;
        self.model.draw = DrawUrgency::Clean;
        self.last_frame = Some(Instant::now());
        update(&mut self.model, Msg::Drawn(Box::new(metrics)));
        Ok(())
    }

    /// Gives the terminal to an editor and takes it back afterwards. Agents keep running. Returns the
    /// number of a signal that ends the screen, and the editor with it.
    async fn run_editor(
        &mut self,
        mut request: HostRequest,
        signals: &mut ScreenSignals,
    ) -> Result<Option<i32>, TuiError> {
        self.terminal.suspend()?;
        let mut answer = self.host.answer(&mut request);
        let ended = tokio::select! {
            () = &mut answer => None,
            number = signals.next_for_editor() => Some(number),
        };
        if ended.is_some() {
            self.host.end_editor();
            answer.await;
        } else {
            drop(answer);
        }
        self.terminal.resume()?;
        if ended.is_none() {
            self.update(|at| Msg::Host { reply: request, at })?;
        }
        Ok(ended)
    }
}

#[cfg(test)]
mod tests;
