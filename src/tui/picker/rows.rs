//! The rows of a picker that match its filter.

use std::path::PathBuf;

use crate::protocol::{PermissionMode, SessionId};
use crate::tui::first_run::{SetupRow, SetupWay};
use crate::tui::format::{count, money};
use crate::tui::host::{MemoryChoice, ModelChoice, SessionChoice};
use crate::tui::labels::mode_label;
use crate::tui::picker::{Picker, PickerRows};
use crate::tui::session::{DEFAULT_EFFORT, ScreenRule};
use crate::tui::text::{TextFilter, one_line};
use crate::tui::themes::ThemeChoice;

/// The heading of the rules.
const RULES: &str = "rules in force";

/// The value of a chosen row.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerChoice {
    Session(SessionId),
    Model(ModelChoice),
    /// An effort level; `None` for the model's default.
    Effort(Option<String>),
    /// A file to edit.
    File(PathBuf),
    Way(SetupWay),
    Mode(PermissionMode),
    /// A rule can only be read; the text says where.
    Rule(String),
    Theme(String),
}

/// One row of a picker: its text and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct PickerRow {
    /// The heading above the first row of its kind.
    pub section: Option<&'static str>,
    /// A short column before the label.
    pub lead: String,
    pub label: String,
    pub detail: String,
    /// Columns at the right end.
    pub figures: Vec<String>,
    pub choice: PickerChoice,
}

impl PickerRow {
    fn new(label: &str, detail: &str, choice: PickerChoice) -> Self {
        Self {
            section: None,
            lead: String::new(),
            label: one_line(label),
            detail: one_line(detail),
            figures: Vec::new(),
            choice,
        }
    }

    /// The text that a filter compares: what may have other letters between, and the rest.
    pub fn filtered(&self) -> (&str, &str) {
        match self.choice {
            // A prompt has nearly all letters.
            PickerChoice::Session(_) => ("", &self.label),
            _ => (&self.label, &self.detail),
        }
    }
}

impl Picker {
    /// The rows that match the filter: the best match first, but each kind together and sessions by
    /// their age.
    pub fn matching(&self) -> Vec<PickerRow> {
        let mut filter = TextFilter::new(self.filter.text());
        let mut rows = match &self.rows {
            PickerRows::Sessions(sessions) => {
                let mut rows = self.all();
                rows.retain(|row| {
                    let (name, rest) = row.filtered();
                    sessions.has_hit(&row.choice) || filter.rank(name, rest).is_some()
                });
                rows
            }
            _ => filter.matching(self.all(), PickerRow::filtered),
        };
        rows.sort_by_key(|row| row.section.is_some());
        rows
    }

    /// Whether any row matches the filter.
    pub fn has_match(&self) -> bool {
        let mut filter = TextFilter::new(self.filter.text());
        match &self.rows {
            PickerRows::Sessions(sessions) => sessions.choices.iter().any(|session| {
                sessions.hits.contains(&session.id) || filter.rank("", &session.title).is_some()
            }),
            _ => !self.matching().is_empty(),
        }
    }

    /// The theme to preview: the selected one, if this is a list of themes.
    pub fn theme(&self) -> Option<String> {
        let PickerRows::Themes(_) = &self.rows else { return None };
        match self.matching().into_iter().nth(self.selected)?.choice {
            PickerChoice::Theme(name) => Some(name),
            _ => None,
        }
    }

    /// Whether a row is the one that is in force now. Providers may have models of the same name.
    pub fn is_current(&self, row: &PickerRow) -> bool {
        let provider = match &row.choice {
            PickerChoice::Model(model) => Some(&model.provider),
            _ => None,
        };
        let is_same = |known: &String| provider.is_none_or(|provider| provider == known);
        !self.current.is_empty()
            && row.label == self.current
            && self.provider.as_ref().is_none_or(is_same)
    }

    /// The rows, whatever the filter.
    pub fn all(&self) -> Vec<PickerRow> {
        let mut rows: Vec<PickerRow> = match &self.rows {
            PickerRows::Loading => Vec::new(),
            PickerRows::Sessions(sessions) => {
                let everywhere = sessions.everywhere;
                sessions.choices.iter().map(|it| session_row(it, everywhere)).collect()
            }
            PickerRows::Models(models) => {
                let row = |model: &ModelChoice| {
                    PickerRow::new(&model.name, &model.detail, PickerChoice::Model(model.clone()))
                };
                models.iter().map(row).collect()
            }
            PickerRows::Efforts(efforts) => {
                let default = PickerRow::new(
                    DEFAULT_EFFORT,
                    "what the model does by itself",
                    PickerChoice::Effort(None),
                );
                let row = |effort: &String| {
                    PickerRow::new(effort, "", PickerChoice::Effort(Some(effort.clone())))
                };
                std::iter::once(default).chain(efforts.iter().map(row)).collect()
            }
            PickerRows::Memory(files) => {
                let row = |file: &MemoryChoice| {
                    PickerRow::new(&file.name, &file.about, PickerChoice::File(file.path.clone()))
                };
                files.iter().map(row).collect()
            }
            PickerRows::Ways(ways) => {
                let row = |way: &SetupRow| {
                    PickerRow::new(way.label, &way.detail, PickerChoice::Way(way.way))
                };
                ways.iter().map(row).collect()
            }
            PickerRows::Permissions { modes, rules } => {
                let mode = |mode: &PermissionMode| {
                    PickerRow::new(mode.name(), mode_label(*mode), PickerChoice::Mode(*mode))
                };
                modes.iter().map(mode).chain(rules.iter().map(rule_row)).collect()
            }
            PickerRows::Themes(themes) => {
                let row = |theme: &ThemeChoice| {
                    let choice = PickerChoice::Theme(theme.name.clone());
                    PickerRow::new(&theme.name, &theme.about, choice)
                };
                themes.iter().map(row).collect()
            }
        };
        for row in rows.iter_mut().filter(|row| row.section.is_none()) {
            if self.is_current(row) {
                row.figures.push("in use".to_owned());
            }
        }
        rows
    }
}

fn session_row(session: &SessionChoice, everywhere: bool) -> PickerRow {
    let agents = match session.agents {
        0 => String::new(),
        agents => count(agents, "agent"),
    };
    let open = if session.open { "open" } else { "" };
    let cost = session.end.cost.map(money).unwrap_or_default();
    let folder = session.folder.file_name().unwrap_or(session.folder.as_os_str());
    let lead = match everywhere {
        true => format!("{:<9}  {}", session.age, one_line(&folder.to_string_lossy())),
        false => session.age.clone(),
    };
    let branch = session.branch.as_deref().unwrap_or_default();
    let choice = PickerChoice::Session(session.id);
    PickerRow {
        lead,
        figures: vec![open.to_owned(), agents, cost],
        ..PickerRow::new(&session.title, branch, choice)
    }
}

fn rule_row(rule: &ScreenRule) -> PickerRow {
    let choice = PickerChoice::Rule(rule.origin.clone());
    PickerRow {
        section: Some(RULES),
        lead: rule.list.clone(),
        ..PickerRow::new(&rule.rule, &rule.origin, choice)
    }
}
