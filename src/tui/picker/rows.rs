//! The rows of a picker that match its filter.

use crate::protocol::{PermissionMode, SessionId};
use crate::tui::host::ModelChoice;
use crate::tui::labels::mode_label;
use crate::tui::picker::{Picker, PickerRows};

/// The value of a chosen row.
#[derive(Clone, Debug, PartialEq)]
pub enum PickerChoice {
    Session(SessionId),
    Model(ModelChoice),
    Mode(PermissionMode),
    Theme(String),
}

/// One row of a picker: its text and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct PickerRow {
    pub label: String,
    pub detail: String,
    pub choice: PickerChoice,
}

impl Picker {
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

    /// The theme to preview: the selected one, if this is a list of themes.
    pub fn theme(&self) -> Option<String> {
        let PickerRows::Themes(_) = &self.rows else { return None };
        match self.matching().into_iter().nth(self.selected)?.choice {
            PickerChoice::Theme(name) => Some(name),
            _ => None,
        }
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
                    detail: mode_label(*mode).to_owned(),
                    choice: PickerChoice::Mode(*mode),
                })
                .collect(),
            PickerRows::Themes(themes) => themes
                .iter()
                .map(|theme| PickerRow {
                    label: theme.name.clone(),
                    detail: theme.about.clone(),
                    choice: PickerChoice::Theme(theme.name.clone()),
                })
                .collect(),
        }
    }
}
