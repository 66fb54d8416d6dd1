//! What covers the body: lists, pickers, help, the reader, "Cancel which?" and "Background which?".
//! At most one at a time.

use crate::protocol::{AgentPath, Mode, QuestionId, SessionId};
use crate::tui::composer::Buffer;
use crate::tui::host::{ModelChoice, SessionChoice};
use crate::tui::keymap::{Action, Context};

use super::agent_list::AgentList;
use super::item::ItemId;
use super::{Agent, Hit, Model, Scroll, Seek};

/// The one thing that covers the body.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// `/agents`.
    Agents(AgentList),
    /// `/resume`, `/model`, `/permissions`.
    Picker(Picker),
    /// `?` and `/help`.
    Help {
        scroll: usize,
    },
    /// `/cost` and the like: a title and lines.
    Page {
        title: String,
        lines: Vec<String>,
        scroll: usize,
    },
    /// Ctrl+O on a question: its content with more room.
    Question {
        id: QuestionId,
        scroll: usize,
    },
    /// Ctrl+R.
    History(HistorySearch),
    /// Ctrl+O.
    Reader(Reader),
    Which(Which),
}

/// A list from which one row is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub title: String,
    pub filter: Buffer,
    pub selected: usize,
    pub rows: Rows,
    /// Lines below the rows, only to be read.
    pub notes: Vec<String>,
}

/// What a picker offers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// The host has not answered yet.
    Loading,
    Sessions(Vec<SessionChoice>),
    Models(Vec<ModelChoice>),
    Modes(Vec<Mode>),
}

/// What taking a row of a picker means.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Session(SessionId),
    Model(ModelChoice),
    Mode(Mode),
}

/// One row of a picker: what is shown, and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct PickerRow {
    pub label: String,
    pub detail: String,
    pub choice: Choice,
}

impl Picker {
    #[must_use]
    pub fn new(title: &str, rows: Rows) -> Self {
        let title = title.to_owned();
        Self { title, filter: Buffer::default(), selected: 0, rows, notes: Vec::new() }
    }

    /// The rows that fit the filter.
    #[must_use]
    pub fn matching(&self) -> Vec<PickerRow> {
        let filter = self.filter.text().to_lowercase();
        let fits = |row: &PickerRow| {
            filter.split_whitespace().all(|word| {
                row.label.to_lowercase().contains(word) || row.detail.to_lowercase().contains(word)
            })
        };
        self.all().into_iter().filter(fits).collect()
    }

    fn all(&self) -> Vec<PickerRow> {
        match &self.rows {
            Rows::Loading => Vec::new(),
            Rows::Sessions(sessions) => sessions
                .iter()
                .map(|session| PickerRow {
                    label: session.title.clone(),
                    detail: session.detail.clone(),
                    choice: Choice::Session(session.id),
                })
                .collect(),
            Rows::Models(models) => models
                .iter()
                .map(|model| PickerRow {
                    label: model.name.clone(),
                    detail: model.detail.clone(),
                    choice: Choice::Model(model.clone()),
                })
                .collect(),
            Rows::Modes(modes) => modes
                .iter()
                .map(|mode| PickerRow {
                    label: mode.name().to_owned(),
                    detail: super::mode_words(*mode).to_owned(),
                    choice: Choice::Mode(*mode),
                })
                .collect(),
        }
    }
}

/// Search in the prompt history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistorySearch {
    pub query: Buffer,
    pub selected: usize,
}

/// A whole transcript in one column, with plain keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Reader {
    pub path: AgentPath,
    pub scroll: Scroll,
    /// `Some` while the search text is typed.
    pub typing: Option<Buffer>,
    pub query: String,
    /// The item that a key went to; scrolling leaves it.
    pub at: Option<ItemId>,
    /// Where the search is to go, until a frame has been there.
    pub seek: Option<Seek>,
    /// The line that the search went to; scrolling leaves it.
    pub hit: Option<Hit>,
}

/// The question which agent is meant. Rows never shift.
#[derive(Clone, Debug, PartialEq)]
pub struct Which {
    pub wish: Wish,
    pub rows: Vec<AgentPath>,
    pub selected: usize,
}

/// What shall happen to the agent that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Cancel,
    Background,
}

impl Wish {
    /// Whether it can happen to this agent now.
    #[must_use]
    pub fn fits(self, agent: &Agent) -> bool {
        match self {
            Self::Cancel => agent.alive(),
            Self::Background => agent.running() && !agent.aside,
        }
    }
}

impl Which {
    /// The keys that pick one: `1–3 or ↑↓ Enter picks`. Numbers are those of the panes, and only
    /// nine have a key.
    #[must_use]
    pub fn keys(&self, model: &Model) -> String {
        let agents = self.rows.iter().filter_map(|path| model.agents.get(path));
        let open = agents.filter(|agent| self.wish.fits(agent)).map(|agent| agent.number);
        let mut digits: Vec<usize> = open.filter(|number| *number < 10).collect();
        digits.sort_unstable();
        let digits = match digits[..] {
            [first, .., last] if last - first + 1 == digits.len() => {
                Some(format!("{first}–{last}"))
            }
            [] => None,
            _ => Some(digits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        };
        let arrows = model.keymap.labels(Context::List, &[Action::Up, Action::Down]);
        let enter = model.keymap.label(Context::List, Action::Submit);
        let arrows = arrows.into_iter().chain(enter).collect::<Vec<_>>().join(" ");
        let keys = digits.into_iter().chain(Some(arrows).filter(|keys| !keys.is_empty()));
        format!("{} picks", keys.collect::<Vec<_>>().join(" or "))
    }
}
