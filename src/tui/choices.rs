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

/// Keeps the model in force if that is the user's choice, and the effort if that or a chosen model has
/// changed it.
pub fn model_changed(
    model: &TuiModel,
    cause: ModelCause,
    new_effort: bool,
    effects: &mut Vec<ScreenEffect>,
) {
    let session = &model.session;
    if let (ModelCause::Model, Some(provider)) = (cause, session.provider.clone()) {
        effects.push(keep(KeptChoice::Model { provider, name: session.model.clone() }));
    }
    if cause == ModelCause::Effort || (cause == ModelCause::Model && new_effort) {
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

/// Says that a theme is kept, why a choice is only for this session, or why it could not be kept.
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
        Ok(None) => {
            if matches!(choice, KeptChoice::Theme(_)) {
                model.say(format!("{what}, for later sessions too"));
            }
            return;
        }
        Ok(Some(why)) => (NoticeLevel::Info, format!("{what} for this session · {why}")),
        Err(why) => (NoticeLevel::Warning, format!("{what} for this session only: {why}")),
    };
    model.main.push(ItemKind::Notice { level, text });
}

fn keep(choice: KeptChoice) -> ScreenEffect {
    ScreenEffect::Ask(HostRequest::Keep { choice, result: Ok(None) })
}
