//! The choices that later sessions begin with: which ones the user has made, and what became of them.

use crate::protocol::{ModelCause, NoticeLevel, PermissionMode};
use crate::tui::host::{HostRequest, KeptChoice};
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::session::DEFAULT_EFFORT;
use crate::tui::transcript::ItemKind;

/// Keeps a theme.
pub fn keep_theme(name: &str, effects: &mut Vec<ScreenEffect>) {
    effects.push(keep(KeptChoice::Theme(name.to_owned())));
}

/// Keeps the model and effort in force if that is the user's choice.
pub fn model_changed(model: &TuiModel, cause: ModelCause, effects: &mut Vec<ScreenEffect>) {
    let session = &model.session;
    if let (ModelCause::Model, Some(provider)) = (cause, session.provider.clone()) {
        effects.push(keep(KeptChoice::Model { provider, name: session.model.clone() }));
    }
    if cause != ModelCause::Program {
        effects.push(keep(KeptChoice::Effort(session.effort.clone())));
    }
}

/// Keeps whether the mode is plan mode, if that has changed.
pub fn refresh(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let plan = model.session.mode == PermissionMode::Plan;
    if std::mem::replace(&mut model.was_plan, plan) != plan {
        effects.push(keep(KeptChoice::Plan(plan)));
    }
}

/// Says where a choice does not last, or why it could not be kept.
pub fn kept(model: &mut TuiModel, choice: &KeptChoice, result: Result<Option<String>, String>) {
    let what = match choice {
        KeptChoice::Theme(name) => format!("theme {name}"),
        KeptChoice::Model { name, .. } => format!("model {name}"),
        KeptChoice::Effort(effort) => {
            format!("effort {}", effort.as_deref().unwrap_or(DEFAULT_EFFORT))
        }
        // Whoever leaves plan mode knows that the files set it.
        KeptChoice::Plan(false) => return,
        KeptChoice::Plan(true) => "plan mode".to_owned(),
    };
    let (level, text) = match result {
        Ok(None) => return,
        Ok(Some(place)) => {
            (NoticeLevel::Info, format!("{what} for this session · {place} sets it for later ones"))
        }
        Err(why) => (NoticeLevel::Warning, format!("{what} for this session only: {why}")),
    };
    model.main.push(ItemKind::Notice { level, text });
}

fn keep(choice: KeptChoice) -> ScreenEffect {
    ScreenEffect::Ask(HostRequest::Keep { choice, result: Ok(None) })
}
