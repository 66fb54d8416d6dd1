//! The state of the screen, as plain data.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{AgentPath, Cost, MotionMode, PermissionMode};
use crate::tui::agents::{AgentSet, AgentState, RunState};
use crate::tui::background::Jobs;
use crate::tui::composer::Composer;
use crate::tui::composer::past_prompt::PastPrompt;
use crate::tui::host::{AgentChoice, CommandChoice};
use crate::tui::keymap::Keymap;
use crate::tui::overlay::Overlay;
use crate::tui::question::{NO_DIGIT, QUIET_TIME, QuestionFrame, QuestionQueue};
use crate::tui::queue::PromptQueue;
use crate::tui::selection::MouseSelection;
use crate::tui::session::{ScreenRule, ScreenSession};
use crate::tui::settings::{StartInfo, TuiSettings};
use crate::tui::theme::TerminalBackground;
use crate::tui::themes::ThemeChoice;
use crate::tui::transcript::{Extent, ItemId, ItemKind, Scroll, SearchResult, TranscriptState};

/// The whole state of the screen. Only `update` changes it; `View` reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuiModel {
    /// Time from the start of the screen to the last message.
    pub now: Duration,
    pub settings: TuiSettings,
    pub themes: ThemeState,
    /// Key bindings, for input and for hints.
    pub keymap: Arc<Keymap>,
    pub session: ScreenSession,
    /// The main agent's conversation and state.
    pub main: TranscriptState,
    pub run: RunState,
    pub main_scroll: Scroll,
    pub agents: AgentSet,
    /// Background commands of agents.
    pub jobs: Jobs,
    /// The item of the running batch in main's transcript.
    pub batch_item: Option<ItemId>,
    /// The items of all batches of this turn.
    pub turn_batches: Vec<ItemId>,
    /// The rows of agents below the last turn, until the next one begins.
    pub agent_rows: Option<ItemId>,
    /// The agent whose pane has the focus. `None`: the prompt addresses main.
    pub focus: Option<AgentPath>,
    /// Whether the focused agent fills the body.
    pub zoom: bool,
    pub composer: Composer,
    pub queue: PromptQueue,
    pub questions: QuestionQueue,
    pub overlay: Option<Overlay>,
    pub notice: Option<Notice>,
    pub notify_command: NotifyCommandState,
    pub status_line: StatusLineState,
    pub shell: Option<RunningShell>,
    /// Whether the last known mode was plan mode.
    pub was_plan: bool,
    pub keys: KeyTimes,
    /// Text selected with the mouse, or being selected.
    pub selection: Option<MouseSelection>,
    /// Sizes from the last frame, needed for scrolling.
    pub metrics: Metrics,
    pub size: (u16, u16),
    /// Everything is being stopped; the screen closes once it has.
    pub closing: bool,
    pub closing_until: Option<Duration>,
    /// Whether main was working when the user quit.
    pub exit_in_turn: bool,
    /// Whether the demo follows when the screen has closed.
    pub play_demo: bool,
    /// When the user stopped the turn; cleared by the next prompt.
    pub stopped_at: Option<Duration>,
    /// Main has written text after its agents ended: they fold as soon as no pane has the focus, or
    /// the next ones start.
    pub fold_due: bool,
    /// Enter on the empty prompt retries the last prompt, because its turn failed.
    pub can_retry: bool,
    /// The model whose provider has rejected the last prompt: the same fails with it again.
    pub rejected_by: Option<String>,
    /// Number of other waiting questions that the last answer settled.
    pub also_settled: usize,
    /// When the page of `/mcp` was opened last: it is followed, and no other one before it.
    pub servers_opened: Duration,
    /// Sub-agent definitions, once the host has sent them.
    pub definitions: Option<Vec<AgentChoice>>,
    /// Custom commands, once the host has sent them.
    pub commands: Option<Vec<CommandChoice>>,
    /// A draft that names an unknown command: sent if the host knows the command.
    pub unknown_command: Option<String>,
    pub focused_window: bool,
    /// How soon the screen must be redrawn.
    pub draw: DrawUrgency,
}

/// The choices that decide on the theme, besides the setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThemeState {
    /// The themes to choose from.
    pub choices: Vec<ThemeChoice>,
    /// The background, once the terminal has said what it is.
    pub background: Option<TerminalBackground>,
}

/// Sizes of the areas in the last frame, in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The main transcript, or the zoomed one.
    pub body: Extent,
    /// The panes with a transcript.
    pub panes: Vec<(AgentPath, Extent)>,
    /// Agents in each column of the panel, if it has several columns.
    pub pane_rows: Option<usize>,
    /// The reader.
    pub reader: Extent,
    /// Result of the search in the reader.
    pub search: Option<SearchResult>,
    /// The open question, in its dialog or in the reader.
    pub question: Option<QuestionFrame>,
    /// The help, or a page of lines.
    pub page: Extent,
    /// Lines that a list has room for, and the first one that is visible there or in the menu.
    pub list: usize,
    pub list_top: usize,
    /// The rows of the selected text that are on the screen.
    pub selected: Vec<String>,
}

impl Metrics {
    /// The extent of an agent's pane.
    pub fn pane(&self, path: &AgentPath) -> Extent {
        let found = self.panes.iter().find(|(of, _)| of == path);
        found.map(|(_, extent)| *extent).unwrap_or_default()
    }
}

/// A temporary message on the hint line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub until: Duration,
    pub cause: NoticeCause,
}

/// The reason for a notice. It disappears early when the reason no longer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeCause {
    /// An event; the notice stays for its full time.
    Event,
    /// Questions are waiting and none is shown.
    Questions,
    /// The prompt is empty and no `!` command is running.
    EmptyPrompt,
    /// The draft has not changed.
    Draft,
    /// An image for the draft is being read.
    ImageRead,
    /// The next press of a key quits.
    Quit,
    /// The next press of a letter acts on all agents, or on the work of one.
    Confirm,
    /// An agent fills the body.
    Zoom,
    /// There is no model, and no overlay is open to choose one.
    NoModel,
    /// A background command is being killed.
    Kill,
    /// The last key did nothing, or went on from the other end.
    LastKey,
}

/// The running `!` command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningShell {
    pub line: String,
    pub since: Duration,
}

/// The state of the user's command for notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifyCommandState {
    /// It runs for an earlier notification.
    pub running: bool,
    /// It failed, so the terminal notifies instead.
    pub failed: bool,
}

/// The state of the user's status line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLineState {
    /// The line as the command printed it. `None`: the usual status line is shown.
    pub text: Option<String>,
    /// The last input of the command.
    pub input: String,
    pub running: bool,
    /// Something may have changed since the last start.
    pub stale: bool,
    /// When it may start again.
    pub next: Duration,
    pub failures: u32,
    pub reported: bool,
}

impl StatusLineState {
    /// When the command is to start, if it is.
    pub fn next_start(&self) -> Option<Duration> {
        (self.stale && !self.running).then_some(self.next)
    }
}

/// Earlier keys that other keys depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTimes {
    /// Time of the last key that typed text.
    pub text: Option<Duration>,
    /// Until when Ctrl+C quits on an idle, empty prompt.
    pub quit_by_interrupt: Option<Duration>,
    /// Until when Ctrl+D quits while something works.
    pub quit_by_eof: Option<Duration>,
    /// The key that is ignored, and until when.
    pub muted: Option<(InterruptKey, Duration)>,
    /// A draft to an ended agent that another Enter sends to main.
    pub send_to_main: Option<String>,
    /// A command that would stop work, and until when the same one confirms it.
    pub command_armed: Option<(String, Duration)>,
    /// The last letter that scrolled a page, unless it was one of several, and when.
    pub paged: Option<(Option<char>, Duration)>,
    /// The row of a list that the last input has clicked.
    pub clicked: Option<ClickedRow>,
    /// The letter that acted when it was pressed twice, and until when more presses of it do nothing.
    pub acted: Option<(char, Duration)>,
    /// The mode that Shift+Tab has chosen, until it applies.
    pub mode: Option<PermissionMode>,
}

/// A row of a list, of the menu or of a form that was clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClickedRow {
    pub row: usize,
    /// The first visible line of the list then: it does not scroll before the second click.
    pub top: usize,
}

impl KeyTimes {
    /// Notes that a row was clicked. Returns whether the last input has clicked it, too.
    pub fn click(&mut self, row: usize, top: usize) -> bool {
        let again = self.clicked.is_some_and(|clicked| clicked.row == row);
        self.clicked = Some(ClickedRow { row, top });
        again
    }

    /// The first visible line of a list in which a row was clicked.
    pub fn clicked_top(&self) -> Option<usize> {
        self.clicked.map(|clicked| clicked.top)
    }
}

/// The two keys that cancel or go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptKey {
    Interrupt,
    Escape,
}

/// How soon a change must be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawUrgency {
    #[default]
    Clean,
    /// Text in a pane: ten times a second is enough.
    Lazy,
    /// The next frame.
    Now,
}

/// Cells of a prompt line not available to text: the mark before it and the cursor after it.
const PROMPT_MARGIN: usize = 3;

/// The tool with which main waits for background agents.
const WAIT_TOOL: &str = "agent_wait";

/// How long more presses of a letter do nothing after two of them have acted.
pub const ACTED_TIME: Duration = Duration::from_millis(500);

/// How long a notice is shown.
pub const NOTICE_TIME: Duration = Duration::from_secs(4);

impl TuiModel {
    /// The state before the first event.
    pub fn new(
        start: StartInfo,
        settings: TuiSettings,
        keymap: Keymap,
        history: Vec<PastPrompt>,
    ) -> Self {
        let mut main = TranscriptState::default();
        for (level, text) in start.notices {
            main.push(ItemKind::Notice { level, text });
        }
        let plan = start.session.mode == PermissionMode::Plan;
        Self {
            was_plan: plan,
            settings,
            keymap: Arc::new(keymap),
            session: start.session,
            main,
            composer: Composer::new(history),
            queue: PromptQueue { next_id: 1, ..PromptQueue::default() },
            size: (80, 24),
            focused_window: true,
            draw: DrawUrgency::Now,
            ..Self::default()
        }
    }

    /// The agent that has the focus.
    pub fn focused(&self) -> Option<&AgentState> {
        self.agents.get(self.focus.as_ref()?)
    }

    /// The agent that fills the body.
    pub fn zoomed(&self) -> Option<&AgentState> {
        self.focused().filter(|_| self.zoom)
    }

    /// The agent whose transcript the keys scroll, expand and open: the focused one, or main.
    pub fn key_target(&self) -> AgentPath {
        self.focus.clone().unwrap_or_else(AgentPath::root)
    }

    /// The extent of that transcript in the last frame: of the body, or of a pane.
    pub fn key_extent(&self) -> Extent {
        match &self.focus {
            Some(path) if !self.zoom => self.metrics.pane(path),
            _ => self.metrics.body,
        }
    }

    /// Whether main's turn is running.
    pub fn main_is_busy(&self) -> bool {
        self.run.alive()
    }

    /// Whether a prompt to main waits for the end of the user's `!` command: main reads its output with
    /// the prompt.
    pub fn prompt_waits_for_shell(&self) -> bool {
        self.shell.is_some() && !self.main_is_busy()
    }

    /// Whether quitting would stop anything.
    pub fn is_busy(&self) -> bool {
        self.main_is_busy() || self.shell.is_some() || self.agents.alive().next().is_some()
    }

    /// Whether an agent has ended and can be resumed: its transcript is stored.
    pub fn can_resume(&self, agent: &AgentState) -> bool {
        self.session.resumable && agent.resumable()
    }

    /// The agents that the turn waits for: those in the foreground, and those named by a running
    /// `agent_wait` call.
    pub fn awaited_agents(&self) -> Vec<&AgentState> {
        let waits = self.run.tools.iter().filter(|tool| tool.name == WAIT_TOOL);
        let named: Vec<&str> = waits.flat_map(|tool| split_words(&tool.summary)).collect();
        let meant = |agent: &AgentState| {
            let id = agent.id.to_string();
            named.iter().any(|word| *word == agent.info.name || *word == id)
        };
        self.agents.alive().filter(|agent| !agent.in_background || meant(agent)).collect()
    }

    /// The transcript of an agent, or main's.
    pub fn transcript(&self, path: &AgentPath) -> &TranscriptState {
        self.agents.get(path).map_or(&self.main, |agent| &agent.transcript)
    }

    /// Width of a line of the draft, in cells.
    pub fn prompt_width(&self) -> usize {
        usize::from(self.size.0).saturating_sub(PROMPT_MARGIN).max(1)
    }

    /// Whether the keys act in the list of ways to begin without a model: it is on the screen, and
    /// nothing else wants them.
    pub fn shows_setup(&self) -> bool {
        let is_notice = |kind: &ItemKind| matches!(kind, ItemKind::Notice { .. });
        self.session.first_run.is_some()
            && self.overlay.is_none()
            && self.questions.open.is_none()
            && self.focus.is_none()
            && self.composer.is_empty()
            && self.main.iter().all(|(_, item)| is_notice(&item.kind))
    }

    /// The permission rules in force, including those allowed until an agent ends.
    pub fn rules(&self) -> Vec<ScreenRule> {
        let grants = self.session.grants.iter().map(|(path, rule)| ScreenRule {
            list: "allow".to_owned(),
            rule: rule.clone(),
            origin: match path.is_root() {
                true => "main, this session".to_owned(),
                false => format!("{}, until it ends", self.name(path)),
            },
        });
        self.session.rules.iter().cloned().chain(grants).collect()
    }

    /// The display name of an agent.
    pub fn name(&self, path: &AgentPath) -> &str {
        self.agents.get(path).map_or("main", |agent| &agent.info.name)
    }

    /// The name of an agent in hints, notices and questions: `agent 2`, or `main`.
    pub fn label(&self, path: &AgentPath) -> String {
        self.agents.get(path).map_or_else(|| "main".to_owned(), AgentState::label)
    }

    /// Notes that a letter has acted, since it was pressed twice: a third press does nothing.
    pub fn mark_acted(&mut self, letter: char) {
        self.keys.acted = Some((letter, self.now + ACTED_TIME));
    }

    /// Shows a notice on the hint line.
    pub fn say(&mut self, text: impl Into<String>) {
        self.say_while(NoticeCause::Event, text);
    }

    /// Shows a notice about the last key, which the next one removes.
    pub fn reply(&mut self, text: impl Into<String>) {
        self.say_while(NoticeCause::LastKey, text);
    }

    /// Shows a notice on the hint line until it expires or its cause no longer holds.
    pub fn say_while(&mut self, cause: NoticeCause, text: impl Into<String>) {
        let until = self.now + NOTICE_TIME;
        self.notice = Some(Notice { text: text.into(), until, cause });
        self.draw = DrawUrgency::Now;
    }

    /// Takes back that the next press of Ctrl+C or Ctrl+D quits. The notice that says so is over then.
    pub fn disarm_quit(&mut self) {
        self.keys.quit_by_interrupt = None;
        self.keys.quit_by_eof = None;
    }

    /// Forgets a letter that acts when pressed twice, unless the notice still says so.
    pub fn disarm_letter(&mut self) {
        if self.notice.as_ref().is_some_and(|notice| notice.cause == NoticeCause::Confirm) {
            return;
        }
        match &mut self.overlay {
            Some(Overlay::Agents(list)) => {
                list.pending.take_if(|letter| *letter == 'a');
            }
            Some(Overlay::AgentPicker(which)) => which.confirms = false,
            Some(Overlay::Page(page)) => {
                if let Some(work) = &mut page.work {
                    work.pending = None;
                }
            }
            _ => {}
        }
    }

    /// Whether the notice has expired or its cause no longer holds.
    pub fn notice_is_over(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| {
            notice.until <= self.now
                || match notice.cause {
                    // The next key removes the second.
                    NoticeCause::Event | NoticeCause::LastKey => false,
                    NoticeCause::Questions => {
                        self.questions.open.is_some() || self.questions.waiting.is_empty()
                    }
                    NoticeCause::Kill => !self.jobs.iter().any(|job| job.killing),
                    NoticeCause::EmptyPrompt => !self.composer.is_empty() || self.shell.is_some(),
                    // A change of the draft removes it.
                    NoticeCause::Draft => self.composer.is_empty(),
                    NoticeCause::ImageRead => !self.composer.images.is_reading(),
                    NoticeCause::Quit => {
                        self.keys.quit_by_interrupt.is_none() && self.keys.quit_by_eof.is_none()
                    }
                    NoticeCause::Confirm => !match &self.overlay {
                        Some(Overlay::Agents(list)) => list.pending == Some('a'),
                        Some(Overlay::AgentPicker(which)) => which.confirms,
                        Some(Overlay::Page(page)) => {
                            page.work.as_ref().is_some_and(|work| work.pending.is_some())
                        }
                        _ => false,
                    },
                    NoticeCause::Zoom => !self.zoom,
                    NoticeCause::NoModel => {
                        self.overlay.is_some() || self.session.first_run.is_none()
                    }
                }
        })
    }

    /// Total cost of the session so far.
    pub fn total_cost(&self) -> Cost {
        self.session.cost
    }

    /// Whether anything on the screen is animated.
    pub fn animated(&self) -> bool {
        self.is_busy() || self.jobs.alive().next().is_some()
    }

    /// When the screen next changes without an event or a key, if it does.
    pub fn next_wake(&self) -> Option<Duration> {
        let step = match self.settings.motion {
            MotionMode::Full => Duration::from_millis(200),
            MotionMode::Reduced => Duration::from_secs(10),
        };
        let steps = self.now.as_millis() / step.as_millis() + 1;
        let next = u64::try_from(steps * step.as_millis()).map(Duration::from_millis).ok();
        let animation = next.filter(|_| self.animated());
        let notice = self.notice.as_ref().map(|notice| notice.until);
        let question = self.question_opens_at();
        let unread =
            self.questions.open.as_ref().and_then(|open| Some(open.unread.as_ref()?.until));
        let unread_list = match &self.overlay {
            Some(Overlay::AgentPicker(which)) => which.unread_until,
            _ => None,
        };
        let armed = [
            unread,
            unread_list,
            self.keys.quit_by_interrupt,
            self.keys.quit_by_eof,
            self.closing_until,
            self.agents.next_expiry(self.focus.as_ref()),
            self.agents.next_shrink(self.now),
            self.jobs.next_expiry(),
            self.status_line.next_start(),
            self.selection.as_ref().and_then(|selection| Some(selection.pull?.1)),
        ];
        let all =
            [animation, notice, question, self.questions.pause_until, self.questions.notify_at];
        let times = all.into_iter().chain(armed).flatten();
        times.filter(|time| *time > self.now || Some(*time) == question).min()
    }

    /// When a waiting question may open by itself.
    pub fn question_opens_at(&self) -> Option<Duration> {
        if self.questions.open.is_some() || self.overlay.is_some() {
            return None;
        }
        self.questions.next()?;
        let quiet = self.keys.text.map_or(Duration::ZERO, |last| last + QUIET_TIME);
        Some(quiet.max(self.questions.pause_until.unwrap_or_default()))
    }

    /// The open question as drawn; `None` before it was drawn and while something covers it.
    pub fn question_frame(&self) -> Option<&QuestionFrame> {
        let open = self.questions.open.as_ref()?;
        self.metrics.question.as_ref().filter(|frame| frame.id == open.id)
    }

    /// The digits that answer the open question now. Denials are always accepted; the other answers
    /// must be on the screen, and the end of the content must have been shown.
    pub fn answers(&self) -> Vec<u8> {
        let Some((_, waiting)) = self.questions.current() else { return Vec::new() };
        let live = self.question_frame().map_or(&[][..], |frame| &frame.available);
        let choices = QuestionQueue::choices(&waiting.question).iter().copied();
        choices.filter(|digit| *digit >= NO_DIGIT || live.contains(digit)).collect()
    }
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    words.map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
}
