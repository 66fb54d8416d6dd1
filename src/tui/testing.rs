//! Events, keys and models for tests.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::protocol::{
    Access, AgentEvent, AgentId, AgentInfo, AgentPath, Command, Cost, EventKind, Question,
    QuestionId, RunEnd, RunOutcome, Sender, SessionId, ShellEnd, ShellId, ToolUseId, Usage,
};

use super::host::{AgentChoice, SessionChoice, SessionEnd};
use super::keymap::Keymap;
use super::model::TuiModel;
use super::msg::{Msg, ScreenEffect};
use super::session::ScreenSession;
use super::settings::{StartInfo, TuiSettings};
use super::text::Highlighter;
use super::theme::Theme;
use super::update::update;
use super::view::View;

/// Creates the info of a test agent.
pub fn agent_info(name: &str, description: &str) -> AgentInfo {
    AgentInfo {
        name: name.to_owned(),
        number: 0,
        agent: name.split('-').next().unwrap_or(name).to_owned(),
        description: description.to_owned(),
        prompt: format!("Please {description}."),
        model: "sonnet-5".to_owned(),
        tool_use_id: ToolUseId::new(format!("call-{name}")),
        max_turns: 20,
        max_usd: None,
        color: None,
        background: false,
    }
}

/// Creates a definition with this name.
pub fn agent_choice(name: &str) -> AgentChoice {
    AgentChoice {
        name: name.to_owned(),
        description: "looks".to_owned(),
        tools: "Read, Grep".to_owned(),
        model: "haiku".to_owned(),
        origin: "built in".to_owned(),
    }
}

/// Creates a stored session without agents.
pub fn session_choice(id: SessionId, title: &str) -> SessionChoice {
    SessionChoice {
        id,
        title: title.to_owned(),
        age: "2 min ago".to_owned(),
        agents: 0,
        folder: "/code/shop".into(),
        elsewhere: false,
        branch: None,
        open: false,
        end: SessionEnd::default(),
    }
}

/// Creates the end of a run.
pub fn finish(end: RunEnd, text: &str) -> EventKind {
    EventKind::Finished(Box::new(RunOutcome {
        end,
        api_error: None,
        rejected: false,
        text: text.to_owned(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        took: Duration::from_secs(1),
    }))
}

/// A model with a clock controlled by the test.
pub struct TestScreen {
    pub model: TuiModel,
    pub at: Duration,
    /// All effects since they were last drained.
    pub effects: Vec<ScreenEffect>,
    /// Whether questions are too new for a key at first, as for a user.
    pub unread: bool,
}

impl TestScreen {
    pub fn new() -> Self {
        let session = ScreenSession {
            cwd: "shop".to_owned(),
            folder: "shop".into(),
            branch: Some("main".to_owned()),
            model: "sonnet-5".to_owned(),
            version: "0.1.0".to_owned(),
            context_window: Some(200_000),
            resumable: true,
            notes: vec!["AGENTS.md read".to_owned(), "4 agents defined".to_owned()],
            ..ScreenSession::default()
        };
        let start = StartInfo { session, ..StartInfo::default() };
        let settings = TuiSettings { mouse: true, ..TuiSettings::default() };
        let model = TuiModel::new(start, settings, Keymap::built_in().unwrap(), Vec::new());
        Self { model, at: Duration::from_secs(10), effects: Vec::new(), unread: false }
    }

    pub fn send(&mut self, msg: Msg) -> &mut Self {
        self.effects.extend(update(&mut self.model, msg));
        if let Some(open) = self.model.questions.open.as_mut().filter(|_| !self.unread) {
            open.unread = None;
        }
        self
    }

    /// Advances the clock.
    pub fn wait(&mut self, millis: u64) -> &mut Self {
        self.at += Duration::from_millis(millis);
        let at = self.at;
        self.send(Msg::Tick { at })
    }

    pub fn key(&mut self, code: KeyCode) -> &mut Self {
        self.chord(code, KeyModifiers::NONE)
    }

    pub fn ctrl(&mut self, letter: char) -> &mut Self {
        self.chord(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    pub fn chord(&mut self, code: KeyCode, modifiers: KeyModifiers) -> &mut Self {
        let at = self.at;
        self.send(Msg::Key { key: KeyEvent::new(code, modifiers), at })
    }

    pub fn esc(&mut self) -> &mut Self {
        self.key(KeyCode::Esc)
    }

    pub fn enter(&mut self) -> &mut Self {
        self.key(KeyCode::Enter)
    }

    pub fn write(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.key(KeyCode::Char(letter));
        }
        self
    }

    pub fn event(&mut self, path: &AgentPath, kind: EventKind) -> &mut Self {
        let at = self.at;
        let event = AgentEvent { path: path.clone(), seq: 0, at: Timestamp::UNIX_EPOCH, kind };
        self.send(Msg::Events { events: vec![event], at })
    }

    pub fn main(&mut self, kind: EventKind) -> &mut Self {
        self.event(&AgentPath::root(), kind)
    }

    /// Opens another session with this history, events one second apart.
    pub fn opened(&mut self, history: Vec<(&AgentPath, EventKind)>) -> &mut Self {
        let events = history.into_iter().zip(1..).map(|((path, kind), second)| {
            let at = Timestamp::from_second(second).unwrap();
            AgentEvent { path: path.clone(), seq: 0, at, kind }
        });
        let (id, history) = (SessionId::generate(), events.collect());
        self.main(EventKind::SessionOpened { id, history, forked: false })
    }

    /// Sends a prompt of the user, which main reads and starts working on.
    pub fn prompt(&mut self, text: &str) -> &mut Self {
        self.main(EventKind::PromptRead { id: None, text: text.into(), from: Sender::Person });
        self.main(EventKind::TurnStarted { turn: 1, limit: None })
    }

    pub fn says(&mut self, path: &AgentPath, text: &str) -> &mut Self {
        self.event(path, EventKind::TextDelta { text: text.to_owned() })
    }

    /// Adds an agent in its first turn.
    pub fn agent(&mut self, parent: &AgentPath, name: &str, description: &str) -> AgentPath {
        let path = self.queued_agent(parent, name, description);
        self.event(&path, EventKind::TurnStarted { turn: 1, limit: Some(20) });
        path
    }

    /// Adds an agent that has not started a turn.
    pub fn queued_agent(&mut self, parent: &AgentPath, name: &str, description: &str) -> AgentPath {
        let path = parent.child(AgentId::generate());
        let info = agent_info(name, description);
        let tool = EventKind::ToolStarted {
            id: info.tool_use_id.clone(),
            name: "AgentTool".to_owned(),
            summary: description.to_owned(),
        };
        self.event(parent, tool);
        self.event(&path, EventKind::Started(Box::new(info)));
        path
    }

    /// Adds a background agent in its first turn.
    pub fn background(&mut self, parent: &AgentPath, name: &str, description: &str) -> AgentPath {
        let path = parent.child(AgentId::generate());
        let info = AgentInfo { background: true, ..agent_info(name, description) };
        self.event(&path, EventKind::Started(Box::new(info)));
        self.event(&path, EventKind::TurnStarted { turn: 1, limit: Some(20) });
        path
    }

    /// Starts a background command of an agent.
    pub fn job(&mut self, path: &AgentPath, id: &str, command: &str) -> &mut Self {
        let (id, command) = (ShellId::new(id), command.to_owned());
        self.event(path, EventKind::BackgroundShellStarted { id, command })
    }

    pub fn job_done(&mut self, path: &AgentPath, id: &str, code: i32) -> &mut Self {
        let (id, end) = (ShellId::new(id), ShellEnd::Code { code });
        self.event(path, EventKind::BackgroundShellEnded { id, end })
    }

    /// Adds a message that was not typed by the user to a conversation.
    pub fn reads(&mut self, path: &AgentPath, from: Sender, text: &str) -> &mut Self {
        self.event(path, EventKind::PromptRead { id: None, text: text.into(), from })
    }

    pub fn tool(&mut self, path: &AgentPath, id: &str, name: &str, summary: &str) -> &mut Self {
        let (id, name, summary) = (ToolUseId::new(id), name.to_owned(), summary.to_owned());
        self.event(path, EventKind::ToolStarted { id, name, summary })
    }

    pub fn tool_done(
        &mut self,
        path: &AgentPath,
        id: &str,
        name: &str,
        summary: &str,
    ) -> &mut Self {
        self.event(
            path,
            EventKind::ToolFinished {
                id: ToolUseId::new(id),
                name: name.to_owned(),
                is_error: false,
                summary: summary.to_owned(),
                content: Vec::new(),
                details: None,
                took: Duration::from_millis(5),
            },
        )
    }

    pub fn turn_done(&mut self, path: &AgentPath, tokens: u64, usd: f64) -> &mut Self {
        self.event(
            path,
            EventKind::TurnFinished {
                whole: true,
                usage: Usage { input_tokens: tokens, ..Usage::default() },
                cost: Cost::known(usd),
                model: "sonnet-5".to_owned(),
                api_time: Duration::from_secs(1),
            },
        )
    }

    pub fn asks(&mut self, path: &AgentPath, id: u64, agent: &str, command: &str) -> &mut Self {
        self.event(path, Self::question(path, id, agent, command)).draw()
    }

    /// Creates the event of a question about a command.
    pub fn question(path: &AgentPath, id: u64, agent: &str, command: &str) -> EventKind {
        EventKind::PermissionAsked(Box::new(Question {
            id: QuestionId(id),
            path: path.clone(),
            agent: agent.to_owned(),
            tool_use_id: ToolUseId::new(format!("ask-{id}")),
            tool: "Bash".to_owned(),
            input: serde_json::json!({ "command": command }),
            access: Access::Command { line: command.to_owned(), cwd: "shop".into() },
            cwd: "shop".into(),
            worktree: None,
            reason: "no rule allows psql".to_owned(),
            warnings: Vec::new(),
            rules: vec!["Bash(psql:*)".to_owned()],
            offers_always: true,
            preview: None,
        }))
    }

    /// Adds questions that an agent asks the user.
    pub fn asks_user(
        &mut self,
        path: &AgentPath,
        id: u64,
        questions: &serde_json::Value,
    ) -> &mut Self {
        let EventKind::PermissionAsked(mut question) = Self::question(path, id, "main", "") else {
            return self;
        };
        question.tool = crate::protocol::ASK_USER_TOOL.to_owned();
        question.input = serde_json::json!({ "questions": questions });
        question.access = Access::AskUser { answered: false };
        question.rules = Vec::new();
        self.event(path, EventKind::PermissionAsked(question)).draw()
    }

    /// Adds a plan that an agent shows the user.
    pub fn plans(&mut self, path: &AgentPath, id: u64, agent: &str, plan: &str) -> &mut Self {
        let EventKind::PermissionAsked(mut question) = Self::question(path, id, agent, "") else {
            return self;
        };
        question.tool = crate::protocol::EXIT_PLAN_TOOL.to_owned();
        question.input = serde_json::json!({ "plan": plan });
        question.access = Access::ExitPlan { mode: None };
        question.reason = "approving it ends plan mode".to_owned();
        question.rules = Vec::new();
        self.event(path, EventKind::PermissionAsked(question)).draw()
    }

    /// Draws a frame, so that the visible question can be answered.
    pub fn draw(&mut self) -> &mut Self {
        let (width, height) = self.model.size;
        let mut view = View::new(Theme::default(), Highlighter::off());
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view.draw(&self.model, frame)).unwrap();
        self.send(Msg::Drawn(Box::new(view.metrics().clone())))
    }

    /// Drains the effects and returns the commands among them.
    pub fn sent(&mut self) -> Vec<Command> {
        let sent = self.effects.drain(..).filter_map(|effect| match effect {
            ScreenEffect::Send(command) => Some(command),
            _ => None,
        });
        sent.collect()
    }

    pub fn notice(&self) -> &str {
        self.model.notice.as_ref().map_or("", |notice| &notice.text)
    }
}
