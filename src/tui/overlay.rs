//! Overlays that cover the body: lists, pickers, help, the reader, "Cancel which?" and
//! "Background which?". Only one is open at a time.

use crate::protocol::{AgentPath, PermissionMode, QuestionId, SessionId};
use crate::tui::agents::AgentState;
use crate::tui::agents::list::AgentList;
use crate::tui::composer::TextBuffer;
use crate::tui::host::{ModelChoice, SessionChoice};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::{self, Scroll, SearchDirection, SearchHit, TuiModel};
use crate::tui::transcript::item::ItemId;

/// The overlay that covers the body.
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
    Reader(ReaderOverlay),
    AgentPicker(AgentPicker),
}

/// A list to choose one row from.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub title: String,
    pub filter: TextBuffer,
    pub selected: usize,
    pub rows: PickerRows,
    /// Read-only lines below the rows.
    pub notes: Vec<String>,
}

/// The rows of a picker.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerRows {
    /// The host has not answered yet.
    Loading,
    Sessions(Vec<SessionChoice>),
    Models(Vec<ModelChoice>),
    Modes(Vec<PermissionMode>),
}

/// The value of a chosen row.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerChoice {
    Session(SessionId),
    Model(ModelChoice),
    Mode(PermissionMode),
}

/// One row of a picker: its text and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct PickerRow {
    pub label: String,
    pub detail: String,
    pub choice: PickerChoice,
}

impl Picker {
    pub fn new(title: &str, rows: PickerRows) -> Self {
        let title = title.to_owned();
        Self { title, filter: TextBuffer::default(), selected: 0, rows, notes: Vec::new() }
    }

    /// The rows that match the filter.
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
            PickerRows::Loading => Vec::new(),
            PickerRows::Sessions(sessions) => sessions
                .iter()
                .map(|session| PickerRow {
                    label: session.title.clone(),
                    detail: session.detail.clone(),
                    choice: PickerChoice::Session(session.id),
                })
                .collect(),
            PickerRows::Models(models) => models
                .iter()
                .map(|model| PickerRow {
                    label: model.name.clone(),
                    detail: model.detail.clone(),
                    choice: PickerChoice::Model(model.clone()),
                })
                .collect(),
            PickerRows::Modes(modes) => modes
                .iter()
                .map(|mode| PickerRow {
                    label: mode.name().to_owned(),
                    detail: model::mode_label(*mode).to_owned(),
                    choice: PickerChoice::Mode(*mode),
                })
                .collect(),
        }
    }
}

/// A search in the prompt history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistorySearch {
    pub query: TextBuffer,
    pub selected: usize,
}

/// A whole transcript in one column, with plain keys.
#[derive(Clone, Debug, PartialEq)]
pub struct ReaderOverlay {
    pub path: AgentPath,
    pub scroll: Scroll,
    /// The search text while it is being typed.
    pub typing: Option<TextBuffer>,
    pub query: String,
    /// The item that a key jumped to; reset by scrolling.
    pub at: Option<ItemId>,
    /// Direction of a pending search, until a frame has performed it.
    pub seek: Option<SearchDirection>,
    /// The current match of the search; reset by scrolling.
    pub hit: Option<SearchHit>,
}

/// Asks which agent to act on. Its rows never shift.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPicker {
    pub action: AgentAction,
    pub rows: Vec<AgentPath>,
    pub selected: usize,
}

/// The action for the chosen agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAction {
    Cancel,
    Background,
}

impl AgentAction {
    /// Whether the action applies to this agent now.
    pub fn applies_to(self, agent: &AgentState) -> bool {
        match self {
            Self::Cancel => agent.alive(),
            Self::Background => agent.running() && !agent.in_background,
        }
    }
}

impl AgentPicker {
    /// The keys that pick an agent: `1–3 or ↑↓ Enter picks`. The numbers are those of the panes;
    /// only the first nine have a key.
    pub fn key_hints(&self, model: &TuiModel) -> String {
        let agents = self.rows.iter().filter_map(|path| model.agents.get(path));
        let open = agents.filter(|agent| self.action.applies_to(agent)).map(|agent| agent.number);
        let mut digits: Vec<usize> = open.filter(|number| *number < 10).collect();
        digits.sort_unstable();
        let digits = match digits[..] {
            [first, .., last] if last - first + 1 == digits.len() => {
                Some(format!("{first}–{last}"))
            }
            [] => None,
            _ => Some(digits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        };
        let arrows = model.keymap.labels(KeyContext::List, &[Action::Up, Action::Down]);
        let enter = model.keymap.label(KeyContext::List, Action::Submit);
        let arrows = arrows.into_iter().chain(enter).collect::<Vec<_>>().join(" ");
        let keys = digits.into_iter().chain(Some(arrows).filter(|keys| !keys.is_empty()));
        format!("{} picks", keys.collect::<Vec<_>>().join(" or "))
    }
}
