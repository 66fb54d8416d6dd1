//! Everything the screen knows, as plain data.

pub mod agent_list;
pub mod agents;
pub mod item;
pub mod jobs;
pub mod overlay;
pub mod question;
pub mod run;
pub mod step;
pub mod transcript;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::{Position, Rect};

use crate::protocol::{AgentPath, Cost, Mode, PromptId, SessionId, When};

pub use agents::{Agent, Agents, Kept, Tally};
pub use item::{Item, ItemId, ItemKind};
pub use jobs::{Job, Jobs};
pub use overlay::Overlay;
pub use question::{QuestionFrame, Questions};
pub use run::{HISTORY, Phase, Run};
pub use step::Step;
pub use transcript::Transcript;

use super::composer::Composer;
use super::keymap::Keymap;
use super::settings::{FirstRun, Motion, StartInfo, TuiSettings};

/// The whole state of the screen. Changed by `update` alone, read by `view`.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Time since the screen started, as of the last message.
    pub now: Duration,
    pub settings: TuiSettings,
    /// Which key does what, for keys and for hints.
    pub keymap: Arc<Keymap>,
    pub session: Session,
    /// The main agent's conversation and state.
    pub main: Transcript,
    pub run: Run,
    pub main_scroll: Scroll,
    pub agents: Agents,
    /// Commands that agents have left running.
    pub jobs: Jobs,
    /// The item of the running batch in main's transcript.
    pub batch_item: Option<ItemId>,
    /// Whose pane has the focus. `None`: the prompt addresses main.
    pub focus: Option<AgentPath>,
    /// Whether the focused agent fills the body.
    pub zoom: bool,
    pub composer: Composer,
    pub queue: Queue,
    pub questions: Questions,
    pub overlay: Option<Overlay>,
    pub notice: Option<Notice>,
    pub shell: Option<RunningShell>,
    pub keys: KeyTimes,
    /// What the mouse has chosen, or is about to choose.
    pub selection: Option<Selection>,
    /// What the last frame showed: sizes that scrolling needs.
    pub metrics: Metrics,
    pub size: (u16, u16),
    /// Everything is being ended; the screen leaves when it has.
    pub closing: bool,
    pub closing_until: Option<Duration>,
    /// Whether main worked when the person left.
    pub exit_in_turn: bool,
    /// When the turn was stopped by hand, until the next prompt is sent.
    pub stopped_at: Option<Duration>,
    /// Main has spoken after its agents ended: they fold as soon as no pane has the focus.
    pub fold_due: bool,
    /// Enter on the empty prompt sends the last prompt again, because its turn failed.
    pub can_retry: bool,
    /// Waiting questions that the last answer has settled too.
    pub judged: usize,
    /// Sub-agent definitions, once the host has told them.
    pub definitions: Option<Vec<super::host::AgentChoice>>,
    /// What people have written as commands, once the host has told it.
    pub commands: Option<Vec<super::host::CommandChoice>>,
    /// A draft that names a command nobody knows yet: it is sent if the host knows it.
    pub unknown_command: Option<String>,
    pub focused_window: bool,
    /// How soon the screen has to be drawn again.
    pub draw: Draw,
}

/// What is known of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: Option<SessionId>,
    pub cwd: String,
    pub branch: Option<String>,
    pub model: String,
    pub provider: Option<String>,
    pub mode: Mode,
    pub version: String,
    pub scripted: bool,
    pub context_window: Option<u64>,
    /// Of all finished requests of the session, over the whole tree.
    pub cost: Cost,
    /// Prompts that were sent in this run of the program.
    pub prompts: usize,
    pub first_run: Option<FirstRun>,
    /// Whether it is stored, so that it can be gone on with.
    pub resumable: bool,
    /// The words behind the name on the first line, such as `AGENTS.md read`.
    pub notes: Vec<String>,
    /// Permission rules in force, for `/permissions`.
    pub rules: Vec<String>,
    /// What was allowed until its asker ends: who that is, and the rule.
    pub grants: Vec<(AgentPath, String)>,
}

/// Where a transcript is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The line at the top; `None` follows the end.
    pub top: Option<usize>,
    /// The item to bring to the top at the next frame.
    pub goto: Option<ItemId>,
    /// How many lines had come when it stopped following.
    pub seen: usize,
}

/// Sizes of what was drawn last, in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The main transcript, or the zoomed one.
    pub body: Extent,
    /// The focused pane, and those that are scrolled.
    pub panes: Vec<(AgentPath, Extent)>,
    /// The reader.
    pub reader: Extent,
    /// What the search in the reader found.
    pub search: Option<Search>,
    /// The open question, in its dialog or in the reader.
    pub question: Option<QuestionFrame>,
    /// The help, or a page of lines.
    pub page: Extent,
}

impl Metrics {
    /// The pane of an agent.
    #[must_use]
    pub fn pane(&self, path: &AgentPath) -> Extent {
        let found = self.panes.iter().find(|(of, _)| of == path);
        found.map(|(_, extent)| *extent).unwrap_or_default()
    }
}

/// A text on the screen that the mouse was drawn over: from where to where, within one area. Cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    pub area: Rect,
    pub from: Position,
    pub to: Position,
}

impl Selection {
    /// Its cells in each row, as a text runs: row, first cell, and the one behind the last.
    pub fn rows(&self) -> impl Iterator<Item = (u16, u16, u16)> {
        let Self { area, from, to } = *self;
        let (first, last) = if (from.y, from.x) <= (to.y, to.x) { (from, to) } else { (to, from) };
        (first.y..=last.y).map(move |y| {
            let start = if y == first.y { first.x } else { area.left() };
            let end = if y == last.y { last.x + 1 } else { area.right() };
            (y, start, end.min(area.right()))
        })
    }
}

/// One scrolled area as it was drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub total: usize,
    pub height: usize,
    pub top: usize,
    /// The item at the top.
    pub item: ItemId,
    /// Lines that have come since the beginning. Unlike `total`, guesses that are put right do not change it.
    pub grown: usize,
}

/// A line of a transcript as it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    pub item: ItemId,
    pub line: usize,
}

/// Where a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    Forward,
    Backward,
}

/// What a search came to: which lines match is known only where they are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Whether this frame has gone where a key asked for.
    pub sought: bool,
    /// The line that it is at, and its number from 1; 0 when it is at none.
    pub hit: Option<Hit>,
    pub number: usize,
    pub total: usize,
}

/// Prompts that wait in the runtime until their agent reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    pub list: Vec<Queued>,
    pub next_id: u64,
    /// When the last one was queued.
    pub last: Duration,
    /// Bytes at the start of the draft that came back when the turn was stopped, and how many
    /// messages they are.
    pub returned: (usize, usize),
}

/// One message on its way to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    pub id: PromptId,
    pub to: AgentPath,
    pub text: String,
    pub when: When,
    pub state: QueuedState,
}

/// What is known of a queued message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedState {
    /// Sent to an idle agent: it will be read at once, and is not shown.
    Sent,
    /// The same, but its agent waits for something itself before it can read it.
    Held,
    /// Waits in the queue.
    Waiting,
    /// The person wants it back.
    TakenBack,
    /// Its agent ended before it read it.
    Orphaned,
}

/// The words on the hint line for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub until: Duration,
    pub cause: NoticeCause,
}

/// What a notice is about: it goes when that is over, also before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeCause {
    /// Something that has happened and stays so.
    Event,
    /// Questions wait, and none is shown.
    Questions,
    /// The prompt is empty, and nothing runs that was typed there.
    EmptyPrompt,
    /// There is no model, and nothing is open where one could be chosen.
    NoModel,
}

/// The person's own command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningShell {
    pub line: String,
    pub since: Duration,
}

/// Times of keys that other keys depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTimes {
    /// The last key that wrote text.
    pub text: Option<Duration>,
    /// Until when Ctrl+C quits on an idle, empty prompt.
    pub quit_by_interrupt: Option<Duration>,
    /// Until when Ctrl+D quits while something works.
    pub quit_by_eof: Option<Duration>,
    /// The key that is deaf, and until when.
    pub deaf: Option<(StepKey, Duration)>,
    /// Until when `/clear` is confirmed by saying it again.
    pub clear_armed: Option<Duration>,
}

/// The two keys that take one step out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKey {
    Interrupt,
    Escape,
}

/// How soon a change has to be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draw {
    #[default]
    Clean,
    /// Text of a pane: ten times a second is enough.
    Lazy,
    /// The next frame.
    Now,
}

/// Cells of the prompt's lines that no text takes: the mark before it, and the cursor behind it.
const PROMPT_MARGIN: usize = 3;

/// How long a notice stands.
pub const NOTICE: Duration = Duration::from_secs(4);

impl Model {
    /// The state before the first event.
    #[must_use]
    pub fn new(
        start: StartInfo,
        settings: TuiSettings,
        keymap: Keymap,
        history: Vec<String>,
    ) -> Self {
        let session = Session {
            id: start.session,
            cwd: start.cwd,
            branch: start.branch,
            model: start.model,
            provider: None,
            mode: start.mode,
            version: start.version,
            scripted: start.scripted,
            context_window: start.context_window,
            cost: Cost::default(),
            prompts: 0,
            first_run: start.first_run,
            resumable: start.resumable,
            notes: start.notes,
            rules: start.rules,
            grants: Vec::new(),
        };
        let mut main = Transcript::default();
        for (level, text) in start.notices {
            main.push(ItemKind::Notice { level, text });
        }
        Self {
            now: Duration::ZERO,
            settings,
            keymap: Arc::new(keymap),
            session,
            main,
            run: Run::default(),
            main_scroll: Scroll::default(),
            agents: Agents::default(),
            jobs: Jobs::default(),
            batch_item: None,
            focus: None,
            zoom: false,
            composer: Composer::new(history),
            queue: Queue { next_id: 1, ..Queue::default() },
            questions: Questions::default(),
            overlay: None,
            notice: None,
            shell: None,
            keys: KeyTimes::default(),
            selection: None,
            metrics: Metrics::default(),
            size: (80, 24),
            closing: false,
            closing_until: None,
            exit_in_turn: false,
            stopped_at: None,
            fold_due: false,
            can_retry: false,
            judged: 0,
            definitions: None,
            commands: None,
            unknown_command: None,
            focused_window: true,
            draw: Draw::Now,
        }
    }

    /// The agent that has the focus.
    #[must_use]
    pub fn focused(&self) -> Option<&Agent> {
        self.agents.get(self.focus.as_ref()?)
    }

    /// The agent that fills the body.
    #[must_use]
    pub fn zoomed(&self) -> Option<&Agent> {
        self.focused().filter(|_| self.zoom)
    }

    /// Whether main's turn runs.
    #[must_use]
    pub fn main_works(&self) -> bool {
        self.run.alive()
    }

    /// Whether anything would be stopped by leaving.
    #[must_use]
    pub fn something_works(&self) -> bool {
        self.main_works() || self.shell.is_some() || self.agents.alive().next().is_some()
    }

    /// The transcript of an agent, or main's.
    #[must_use]
    pub fn transcript(&self, path: &AgentPath) -> &Transcript {
        self.agents.get(path).map_or(&self.main, |agent| &agent.transcript)
    }

    /// Cells of one line of the draft.
    #[must_use]
    pub fn prompt_width(&self) -> usize {
        usize::from(self.size.0).saturating_sub(PROMPT_MARGIN).max(1)
    }

    /// The name of an agent on the screen.
    #[must_use]
    pub fn name(&self, path: &AgentPath) -> &str {
        self.agents.get(path).map_or("main", |agent| &agent.info.name)
    }

    /// Says something on the hint line for a while.
    pub fn say(&mut self, text: impl Into<String>) {
        self.say_while(NoticeCause::Event, text);
    }

    /// Says something on the hint line for a while, at most until its cause is gone.
    pub fn say_while(&mut self, cause: NoticeCause, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), until: self.now + NOTICE, cause });
        self.draw = Draw::Now;
    }

    /// Whether the notice has had its time, or what it is about is over.
    #[must_use]
    pub fn notice_is_over(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| {
            notice.until <= self.now
                || match notice.cause {
                    NoticeCause::Event => false,
                    NoticeCause::Questions => {
                        self.questions.open.is_some() || self.questions.waiting.is_empty()
                    }
                    NoticeCause::EmptyPrompt => !self.composer.is_empty() || self.shell.is_some(),
                    NoticeCause::NoModel => {
                        self.overlay.is_some() || self.session.first_run.is_none()
                    }
                }
        })
    }

    /// What the session and all that runs have cost so far.
    #[must_use]
    pub fn total_cost(&self) -> Cost {
        self.session.cost
    }

    /// Whether something on the screen moves by itself.
    #[must_use]
    pub fn animated(&self) -> bool {
        self.something_works() || self.jobs.alive().next().is_some()
    }

    /// When the screen changes next without an event or a key; `None`: not before one comes.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let step = match self.settings.motion {
            Motion::Full => Duration::from_millis(200),
            Motion::Reduced => Duration::from_secs(10),
        };
        let steps = self.now.as_millis() / step.as_millis() + 1;
        let next = u64::try_from(steps * step.as_millis()).map(Duration::from_millis).ok();
        let animation = next.filter(|_| self.animated());
        let notice = self.notice.as_ref().map(|notice| notice.until);
        let question = self.question_opens_at();
        let armed = [
            self.keys.quit_by_interrupt,
            self.keys.quit_by_eof,
            self.closing_until,
            self.agents.next_leave(self.focus.as_ref()),
            self.jobs.next_leave(),
        ];
        let all =
            [animation, notice, question, self.questions.pause_until, self.questions.notify_at];
        let times = all.into_iter().chain(armed).flatten();
        times.filter(|time| *time > self.now || Some(*time) == question).min()
    }

    /// When a waiting question may open by itself.
    #[must_use]
    pub fn question_opens_at(&self) -> Option<Duration> {
        if self.questions.open.is_some() || self.overlay.is_some() {
            return None;
        }
        self.questions.next()?;
        let quiet = self.keys.text.map_or(Duration::ZERO, |last| last + question::QUIET);
        Some(quiet.max(self.questions.pause_until.unwrap_or_default()))
    }
}

/// What a mode means, for the picker and the notice on a change.
#[must_use]
pub fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "reading is free, everything else is asked",
        Mode::AcceptEdits => "edits run without asking",
        Mode::Plan => "nothing may change: explore and plan",
        Mode::DontAsk => "what no rule allows is denied without asking",
        Mode::BypassPermissions => "everything runs but what a rule denies",
    }
}
