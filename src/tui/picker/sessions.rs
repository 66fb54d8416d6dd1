//! The list of stored sessions: which are listed, what a filter finds in them, and the choice of one.

use std::collections::HashMap;

use crate::protocol::{Command, NoticeLevel, SessionId, printable_path, shell_path};
use crate::tui::host::{HostRequest, SessionChoice, SessionEnd, SessionHits};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::picker::rows::PickerChoice;
use crate::tui::picker::{Picker, PickerRows, SessionRows};
use crate::tui::transcript::ItemKind;

/// The most sessions whose ends are read.
const MAX_PREVIEWS: usize = 200;

/// The sessions that are listed first; the rest follows when those are on the screen.
const FIRST_ROWS: usize = 200;

/// Shown below the rows after a search that has not seen all sessions.
const CUT_NOTE: &str = "older sessions were not searched";

impl SessionRows {
    /// Whether the texts of this row's session have the words of the filter.
    pub fn has_hit(&self, choice: &PickerChoice) -> bool {
        matches!(choice, PickerChoice::Session(id) if self.hits.contains(id))
    }
}

/// Returns the title of the list.
pub fn title(everywhere: bool) -> &'static str {
    if everywhere { "resume, all directories" } else { "resume" }
}

/// Requests the newest sessions.
pub fn request(everywhere: bool, effects: &mut Vec<ScreenEffect>) {
    let (most, sessions) = (Some(FIRST_ROWS), Vec::new());
    effects.push(ScreenEffect::Ask(HostRequest::Sessions { everywhere, most, sessions }));
}

/// Lists the sessions of all directories, or only those of this one again.
pub fn toggle_everywhere(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    let PickerRows::Sessions(sessions) = &picker.rows else { return };
    let everywhere = !sessions.everywhere;
    title(everywhere).clone_into(&mut picker.title);
    (picker.rows, picker.selected) = (PickerRows::Loading, 0);
    picker.notes.clear();
    request(everywhere, effects);
}

/// Fills the open list, and requests the ends of the sessions and what the filter finds in them.
/// If these are only the first ones, requests all.
pub fn listed(
    model: &mut TuiModel,
    everywhere: bool,
    most: Option<usize>,
    mut choices: Vec<SessionChoice>,
    effects: &mut Vec<ScreenEffect>,
) {
    let is_cut = most.is_some_and(|most| choices.len() >= most);
    choices.retain(|session| Some(session.id) != model.session.id);
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    if picker.title != title(everywhere) {
        return;
    }
    match &mut picker.rows {
        PickerRows::Loading => {}
        // The rest: what is known of the first ones stays.
        PickerRows::Sessions(sessions) if most.is_none() => {
            let selected = sessions.choices.get(picker.selected).map(|session| session.id);
            let known = std::mem::replace(&mut sessions.choices, choices).into_iter();
            let mut known: HashMap<SessionId, SessionEnd> =
                known.map(|session| (session.id, session.end)).collect();
            for session in &mut sessions.choices {
                session.end = known.remove(&session.id).unwrap_or_default();
            }
            let moved = sessions.choices.iter().position(|session| Some(session.id) == selected);
            if picker.filter.is_empty() {
                picker.selected = moved.unwrap_or(picker.selected);
            }
            return;
        }
        _ => return,
    }
    if is_cut {
        let (most, sessions) = (None, Vec::new());
        effects.push(ScreenEffect::Ask(HostRequest::Sessions { everywhere, most, sessions }));
    }
    let ids: Vec<SessionId> = choices.iter().take(MAX_PREVIEWS).map(|session| session.id).collect();
    let sessions = SessionRows { choices, everywhere, ..SessionRows::default() };
    picker.rows = PickerRows::Sessions(sessions);
    if !ids.is_empty() {
        let previews = Vec::new();
        effects.push(ScreenEffect::Ask(HostRequest::SessionPreviews { ids, previews }));
    }
    filter_changed(picker, effects);
}

/// Adds the ends of sessions to their rows.
pub fn previewed(model: &mut TuiModel, ids: &[SessionId], previews: Vec<SessionEnd>) {
    let Some(sessions) = open_list(model) else { return };
    for (id, end) in ids.iter().zip(previews) {
        if let Some(session) = sessions.choices.iter_mut().find(|session| session.id == *id) {
            session.end = end;
        }
    }
}

/// Searches the texts of sessions for the words of the filter. What an earlier search has found stays
/// until then, as long as it can be right.
pub fn filter_changed(picker: &mut Picker, effects: &mut Vec<ScreenEffect>) {
    let query = picker.filter.text().trim().to_owned();
    let PickerRows::Sessions(sessions) = &mut picker.rows else { return };
    picker.notes.clear();
    if query.is_empty() {
        sessions.hits.clear();
        return;
    }
    let (everywhere, hits) = (sessions.everywhere, SessionHits::default());
    effects.push(ScreenEffect::Ask(HostRequest::SearchSessions { query, everywhere, hits }));
}

/// Adds what a search has found, unless the filter has changed since.
pub fn searched(model: &mut TuiModel, query: &str, everywhere: bool, hits: SessionHits) {
    let Some(Overlay::Picker(picker)) = &mut model.overlay else { return };
    let PickerRows::Sessions(sessions) = &mut picker.rows else { return };
    if picker.filter.text().trim() != query || sessions.everywhere != everywhere {
        return;
    }
    sessions.hits = hits.ids.into_iter().collect();
    picker.notes = hits.cut.then(|| CUT_NOTE.to_owned()).into_iter().collect();
}

/// Resumes a session. One of another directory belongs there: the command that does it is shown and
/// copied.
pub fn choose(model: &mut TuiModel, id: SessionId, effects: &mut Vec<ScreenEffect>) {
    let chosen = open_list(model).and_then(|sessions| {
        sessions.choices.iter().find(|session| session.id == id && session.elsewhere).cloned()
    });
    model.overlay = None;
    let Some(session) = chosen else {
        return effects.push(ScreenEffect::Send(Command::Resume(id)));
    };
    let command = format!("cd {} && caliban --resume {id}", shell_path(&session.folder));
    let text = format!(
        "That session works in {}. To resume it there (copied):\n{command}",
        printable_path(&session.folder)
    );
    model.main.push(ItemKind::Notice { level: NoticeLevel::Info, text });
    effects.push(ScreenEffect::Copy(command));
}

fn open_list(model: &mut TuiModel) -> Option<&mut SessionRows> {
    match &mut model.overlay {
        Some(Overlay::Picker(Picker { rows: PickerRows::Sessions(sessions), .. })) => {
            Some(sessions)
        }
        _ => None,
    }
}
