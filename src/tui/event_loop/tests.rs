use async_trait::async_trait;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::stream;
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};

use super::*;
use crate::protocol::{EventKind, Sender};
use crate::tui::host::{
    AgentChoice, CommandChoice, LocalServer, McpServers, ModelList, SessionChoice,
};
use crate::tui::text::CopyError;

struct NoHost;

#[async_trait]
impl ScreenHost for NoHost {
    async fn files(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
    async fn agents(&self) -> Vec<AgentChoice> {
        Vec::new()
    }
    async fn commands(&self) -> Vec<CommandChoice> {
        Vec::new()
    }
    async fn doctor(&self) -> Vec<String> {
        Vec::new()
    }
    async fn sessions(&self) -> Vec<SessionChoice> {
        Vec::new()
    }
    async fn models(&self) -> ModelList {
        ModelList::default()
    }
    async fn mcp_servers(&self) -> McpServers {
        McpServers::default()
    }

    async fn local_servers(&self) -> Vec<LocalServer> {
        Vec::new()
    }
    async fn branch(&self) -> Option<String> {
        Some("main".to_owned())
    }
    async fn edit(&self, draft: &str) -> Result<String, String> {
        Ok(format!("{draft} edited"))
    }
    async fn remember(&self, _: &str) {}
}

/// An in-memory surface that counts its frames.
struct TestSurface {
    terminal: Terminal<TestBackend>,
    frames: usize,
}

impl Surface for TestSurface {
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()> {
        self.frames += 1;
        self.terminal.draw(|frame| render(frame)).map(|_| ()).map_err(io::Error::other)
    }
    fn after_first_frame(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn redraw(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn stop(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn set_mouse(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
    fn set_title(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn copy(&mut self, _: &str) -> Result<(), CopyError> {
        Ok(())
    }
    fn notify(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> io::Result<Event> {
    Ok(Event::Key(KeyEvent::new(code, modifiers)))
}

fn paper() -> TestSurface {
    TestSurface { terminal: Terminal::new(TestBackend::new(80, 24)).unwrap(), frames: 0 }
}

fn connected(commands: mpsc::Sender<Command>, events: EventQueue) -> TuiIo {
    TuiIo {
        commands,
        events,
        start: StartInfo { cwd: "shop".to_owned(), ..StartInfo::default() },
        settings: TuiSettings::default(),
        history: Vec::new(),
        keymap: Keymap::built_in().unwrap(),
        pending: PendingInput::default(),
        log: None,
    }
}

#[tokio::test]
async fn t10_an_error_of_a_closed_terminal_is_a_hangup_and_any_other_is_told() {
    for (errno, hangs_up) in [(nix::errno::Errno::EIO, true), (nix::errno::Errno::EBADF, false)] {
        let (commands, mut sent) = mpsc::channel(8);
        let io = connected(commands, EventQueue::unbounded());
        let error = move || Err(io::Error::from_raw_os_error(errno as i32));
        let keys = Box::pin(stream::iter([error()]).chain(stream::pending()));
        let ended = run_on(io, Arc::new(NoHost), Theme::default(), &mut paper(), keys).await;
        match ended {
            Ok(exit) => assert_eq!((exit.signal, hangs_up), (Some(HANGUP), true)),
            Err(error) => assert!(matches!(error, TuiError::Terminal(_)) && !hangs_up, "{error}"),
        }
        assert_eq!(sent.recv().await.is_some(), hangs_up, "the agents are told");
    }
}

#[tokio::test]
async fn the_real_loop_sends_what_was_typed_shows_what_is_said_and_quits() {
    let (commands, mut sent) = mpsc::channel(8);
    let events = EventQueue::unbounded();
    events.sink().emit(EventKind::PromptRead {
        id: None,
        text: "earlier".to_owned(),
        from: Sender::Person,
    });
    events.sink().emit(EventKind::TextDelta { text: "A **streamed** word".to_owned() });
    let io = connected(commands, events.clone());
    let mut paper = paper();
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
    let screen = run_on(io, Arc::new(NoHost), Theme::default(), &mut paper, keys);
    let (exit, shutdown) = tokio::join!(screen, runtime);
    assert_eq!(shutdown, Some(Command::Quit));
    let exit = exit.unwrap();
    assert_eq!(exit.signal, None);
    assert_eq!(exit.summary.first().map(String::as_str), Some("A **streamed** word"));
    let shown = paper.terminal.backend().to_string();
    assert!(shown.contains("A streamed word"), "{shown}");
    assert!(paper.frames < 12, "{} frames", paper.frames);
}
