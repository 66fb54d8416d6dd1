use std::io::Write;
use std::num::NonZero;

use async_trait::async_trait;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::stream;
use parking_lot::Mutex;

use super::*;
use crate::protocol::{EventKind, Sender};

struct NoHost;

#[async_trait]
impl ScreenHost for NoHost {
    async fn answer(&self, request: &mut HostRequest) {
        if let HostRequest::Branch(branch) = request {
            *branch = Some("main".to_owned());
        }
    }

    fn end_editor(&self) {}
}

/// The other end of a terminal: shows what was written to it.
#[derive(Clone)]
struct Display(Arc<Mutex<vt100::Parser>>);

impl Write for Display {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().process(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> io::Result<Input> {
    Ok(Input::Event(Event::Key(KeyEvent::new(code, modifiers))))
}

fn terminal() -> (TerminalGuard, Display) {
    let (rows, columns) = (NonZero::new(24).unwrap(), NonZero::new(80).unwrap());
    let display = Display(Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0))));
    (TerminalGuard::for_test(display.clone(), 80, 24), display)
}

fn themes() -> ThemeSet {
    ThemeSet::new(&[], &crate::protocol::EnvOverlay::default()).0
}

fn connected(commands: mpsc::Sender<Command>, events: EventQueue) -> TuiIo {
    TuiIo {
        commands,
        events,
        start: StartInfo::default(),
        settings: TuiSettings::default(),
        history: Vec::new(),
        keymap: Keymap::built_in().unwrap(),
        pending: PendingInput::default(),
        log: None,
    }
}

#[tokio::test]
async fn an_error_of_a_closed_terminal_is_a_hangup_and_any_other_is_told() {
    for (errno, hangs_up) in [(nix::errno::Errno::EIO, true), (nix::errno::Errno::EBADF, false)] {
        let (commands, mut sent) = mpsc::channel(8);
        let io = connected(commands, EventQueue::unbounded());
        let error = move || Err(io::Error::from_raw_os_error(errno as i32));
        let keys = Box::pin(stream::iter([error()]).chain(stream::pending()));
        let (mut terminal, _) = terminal();
        let ended = Box::pin(run_on(io, Arc::new(NoHost), themes(), &mut terminal, keys)).await;
        match ended {
            Ok(exit) => assert_eq!((exit.signal, hangs_up), (Some(HANGUP), true)),
            Err(error) => assert!(matches!(error, TuiError::Terminal(_)) && !hangs_up, "{error}"),
        }
        assert_eq!(sent.recv().await.is_some(), hangs_up, "the agents are told");
    }
}

#[tokio::test(start_paused = true)]
async fn the_real_loop_sends_what_was_typed_shows_what_is_said_and_quits() {
    let (commands, mut sent) = mpsc::channel(8);
    let events = EventQueue::unbounded();
    events.sink().emit(EventKind::PromptRead {
        id: None,
        text: "earlier".into(),
        from: Sender::Person,
    });
    events.sink().emit(EventKind::TextDelta { text: "A **streamed** word".to_owned() });
    let io = connected(commands, events.clone());
    let (mut terminal, display) = terminal();
    // Send the second half of the keys once the runtime has the first prompt.
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let typed: Vec<_> = "hi"
        .chars()
        .map(|letter| key(KeyCode::Char(letter), KeyModifiers::NONE))
        .chain([key(KeyCode::Enter, KeyModifiers::NONE)])
        .collect();
    let later = stream::once(async move {
        let _ = told.await;
        key(KeyCode::Char('d'), KeyModifiers::CONTROL)
    });
    let mut keys = Box::pin(stream::iter(typed).chain(later).chain(stream::pending()));
    // A stream may keep the waker it sees, so it must never see a no-op waker.
    let keys = stream::poll_fn(move |context| {
        assert!(!context.waker().will_wake(futures_util::task::noop_waker_ref()));
        keys.poll_next_unpin(context)
    });
    let runtime = async {
        let command = sent.recv().await.unwrap();
        let Command::Prompt { to, prompt } = command else { panic!("{command:?}") };
        assert!(to.is_root());
        assert_eq!(prompt.text, "hi");
        events.sink().emit(crate::tui::testing::finish(crate::protocol::RunEnd::Completed, "done"));
        // The screen has processed the end once it has drawn it.
        while events.drain_ready(&mut Vec::new(), 0) > 0 {}
        tokio::time::sleep(Duration::from_millis(60)).await;
        tell.send(()).unwrap();
        sent.recv().await
    };
    let screen = run_on(io, Arc::new(NoHost), themes(), &mut terminal, keys);
    let (exit, shutdown) = tokio::join!(screen, runtime);
    assert_eq!(shutdown, Some(Command::Quit));
    let exit = exit.unwrap();
    assert_eq!(exit.signal, None);
    assert_eq!(exit.summary.first().map(String::as_str), Some("A streamed word"));
    let output = display.0.lock().screen().contents();
    assert!(output.contains("A streamed word"), "{output}");
    let frames = terminal.frames();
    assert!(frames < 12, "{frames} frames");
}

/// A terminal that only counts what it gets.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock() += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Types so many letters, each after a pause, and waits, on a clock that skips all waits. Returns the
/// number of frames and bytes.
async fn drawn(keys: usize, wait: Duration, motion: MotionMode, busy: bool) -> (usize, usize) {
    let (commands, _sent) = mpsc::channel(8);
    let events = EventQueue::unbounded();
    if busy {
        let text = "go".into();
        events.sink().emit(EventKind::PromptRead { id: None, text, from: Sender::Person });
        events.sink().emit(EventKind::TurnStarted { turn: 1, limit: None });
    }
    let mut io = connected(commands, events);
    io.settings.motion = motion;
    let counter = Counter::default();
    let mut terminal = TerminalGuard::for_test(counter.clone(), 120, 40);
    // Some time for what is known only after the first frame.
    let start = Duration::from_millis(200);
    let keys = stream::unfold(0, move |at| async move {
        match at {
            0 => tokio::time::sleep(start).await,
            at if at < keys => tokio::time::sleep(Duration::from_millis(40)).await,
            _ => tokio::time::sleep(wait).await,
        }
        (at < keys).then(|| (key(KeyCode::Char('x'), KeyModifiers::NONE), at + 1))
    });
    let keys = Box::pin(keys);
    Box::pin(run_on(io, Arc::new(NoHost), themes(), &mut terminal, keys)).await.unwrap();
    let bytes = *counter.0.lock();
    (terminal.frames(), bytes)
}

#[tokio::test(start_paused = true)]
async fn a_key_takes_one_small_frame_and_an_idle_screen_none() {
    let short = Duration::from_millis(100);
    let (before, bytes_before) = drawn(1, short, MotionMode::Full, false).await;
    let (idle, _) = drawn(1, Duration::from_millis(1500), MotionMode::Full, false).await;
    assert!(idle.abs_diff(before) <= 1, "{before} frames, {idle} after another second");
    let (after, bytes) = drawn(21, short, MotionMode::Full, false).await;
    assert!((1..=20).contains(&(after - before)), "{before} frames, then {after}");
    let most = (bytes - bytes_before) / 20;
    assert!(most < 300, "{most} bytes for a letter");
}

#[tokio::test(start_paused = true)]
async fn with_reduced_motion_nothing_turns() {
    let time = Duration::from_millis(2500);
    let (full, _) = drawn(1, time, MotionMode::Full, true).await;
    let (reduced, _) = drawn(1, time, MotionMode::Reduced, true).await;
    let (short, _) = drawn(1, Duration::from_millis(100), MotionMode::Reduced, true).await;
    assert!(full > reduced + 4, "{full} frames, {reduced} with reduced motion");
    assert!(reduced <= short + 1, "{reduced} frames, {short} at once");
}
