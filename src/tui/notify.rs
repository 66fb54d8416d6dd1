//! Notifies the user while the window has no focus: through the terminal, or by their command.

use crate::protocol::{NoticeLevel, NotificationMethod};
use crate::tui::host::HostRequest;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::transcript::ItemKind;

/// Notifies the user of something, unless they are looking at the screen. While their command runs,
/// there is no other notification.
pub fn notify(model: &mut TuiModel, text: String, effects: &mut Vec<ScreenEffect>) {
    if model.focused_window || model.settings.notifications == NotificationMethod::Off {
        return;
    }
    if !model.settings.notify_command || model.notify_command.failed {
        effects.push(ScreenEffect::Notify(text));
    } else if !model.notify_command.running {
        model.notify_command.running = true;
        effects.push(ScreenEffect::Ask(HostRequest::Notify { text, result: Ok(()) }));
    }
}

/// Takes the result of the command. The first failure is reported and is the last.
pub fn command_ended(
    model: &mut TuiModel,
    text: String,
    result: Result<(), String>,
    effects: &mut Vec<ScreenEffect>,
) {
    model.notify_command.running = false;
    let Err(why) = result else { return };
    model.notify_command.failed = true;
    let text_of_notice = format!("{why}. The terminal notifies you instead");
    model.main.push(ItemKind::Notice { level: NoticeLevel::Warning, text: text_of_notice });
    notify(model, text, effects);
}
