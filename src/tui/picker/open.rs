//! Opening the lists to choose from.

use crate::protocol::PermissionMode;
use crate::tui::composer::TextBuffer;
use crate::tui::host::{HostRequest, ModelList};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::picker::{Picker, PickerRows, sessions};
use crate::tui::session::DEFAULT_EFFORT;
use crate::tui::text::one_line;

/// The modes that `/permissions` offers.
pub const MODES: [PermissionMode; 5] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

/// Opens the list of models.
pub fn models(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    effects.push(ScreenEffect::Ask(HostRequest::Models(ModelList::default())));
    if model.session.first_run.is_some() {
        effects.push(ScreenEffect::Ask(HostRequest::LocalServers(Vec::new())));
    }
    let (current, provider) = (model.session.model.clone(), model.session.provider.clone());
    let picker = Picker { current, provider, ..Picker::new("model", PickerRows::Loading) };
    model.overlay = Some(Overlay::Picker(picker));
}

/// Opens the list of stored sessions, with those that match the filter.
pub fn sessions(model: &mut TuiModel, filter: &str, effects: &mut Vec<ScreenEffect>) {
    let filter = TextBuffer::from(&*one_line(filter));
    let title = sessions::title(false);
    let picker = Picker { filter, ..Picker::new(title, PickerRows::Loading) };
    model.overlay = Some(Overlay::Picker(picker));
    sessions::request(false, effects);
}

/// Opens the list of effort levels, with the current one selected.
pub fn efforts(model: &mut TuiModel) {
    let session = &model.session;
    let current = session.effort.as_deref().unwrap_or(DEFAULT_EFFORT).to_owned();
    let mut picker =
        Picker::new("effort", PickerRows::Efforts(session.efforts.clone().unwrap_or_default()));
    let name = &session.model;
    picker.notes.extend(match session.efforts.as_deref() {
        None => Some(format!("the effort levels of {name} are not known · /effort WORD sends any")),
        Some([]) => Some(format!("{name} takes no effort level")),
        Some(_) => None,
    });
    picker.selected = picker.all().iter().position(|row| row.label == current).unwrap_or(0);
    model.overlay = Some(Overlay::Picker(Picker { current, ..picker }));
}

/// Opens the list of files with instructions.
pub fn memory(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    effects.push(ScreenEffect::Ask(HostRequest::Memory(Vec::new())));
    model.overlay = Some(Overlay::Picker(Picker::new("memory", PickerRows::Loading)));
}

/// Opens the list of modes, with one selected, and of the rules in force.
pub fn permissions(model: &mut TuiModel, selected: PermissionMode) {
    let rules = model.rules();
    let mut picker =
        Picker::new("permissions", PickerRows::Permissions { modes: MODES.to_vec(), rules });
    model.session.mode.name().clone_into(&mut picker.current);
    picker.selected = MODES.iter().position(|mode| *mode == selected).unwrap_or(0);
    if model.rules().is_empty() {
        picker.notes.push("no rules yet: answer 3 to a question writes one".to_owned());
    }
    model.overlay = Some(Overlay::Picker(picker));
}

/// Opens the list of themes, with the current one selected.
pub fn themes(model: &mut TuiModel) {
    let choices = model.themes.choices.clone();
    let current = match model.settings.theme.as_str() {
        "" => "auto".to_owned(),
        name => name.to_owned(),
    };
    let at = choices.iter().position(|choice| choice.name == current).unwrap_or(0);
    let picker = Picker::new("theme", PickerRows::Themes(choices));
    model.overlay = Some(Overlay::Picker(Picker { selected: at, current, ..picker }));
}
