//! Performs the action of Ctrl+C or Esc, as decided by `interrupt_action` and `escape_action`.

use crate::protocol::{AgentPath, Answer, Command, QueuedPrompt};
use crate::tui::agents::picker::{AgentAction, update as picker};
use crate::tui::composer::as_prompt;
use crate::tui::focus;
use crate::tui::interrupt::{
    DENIED_MUTE_TIME, InterruptAction, KEY_MUTE_TIME, QUIT_CONFIRM_TIME, stop,
};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::labels::with_detail;
use crate::tui::model::{InterruptKey, Notice, NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::update as overlay;
use crate::tui::question::update as question;
use crate::tui::text::{one_line, truncate};

/// Handles a press of Ctrl+C or Esc.
pub fn handle_interrupt(model: &mut TuiModel, key: InterruptKey, effects: &mut Vec<ScreenEffect>) {
    let now = model.now;
    let step = match key {
        InterruptKey::Interrupt => model.interrupt_action(),
        InterruptKey::Escape => model.escape_action(),
    };
    // Leaving a view is harmless, so that is never ignored.
    let leaves = matches!(
        step,
        InterruptAction::CloseMenu
            | InterruptAction::CloseOverlay
            | InterruptAction::BackToAnswers
            | InterruptAction::TakeKeyboard
            | InterruptAction::EndSelection
            | InterruptAction::StepBack
    );
    if let Some((muted, until)) = &mut model.keys.muted
        && !leaves
        && *muted == key
        && now < *until
    {
        *until = (*until).max(now + KEY_MUTE_TIME);
        return;
    }
    if !matches!(step, InterruptAction::ArmQuit | InterruptAction::Quit | InterruptAction::LeaveNow)
    {
        model.disarm_quit();
    }
    let counts = !matches!(
        step,
        InterruptAction::ArmQuit
            | InterruptAction::PickAgent
            | InterruptAction::Quit
            | InterruptAction::LeaveNow
            | InterruptAction::Nothing
            | InterruptAction::HasEnded(_)
            | InterruptAction::ClearDraft
    );
    let mutes = counts || step == InterruptAction::ClearDraft;
    let mute_time = match step {
        InterruptAction::Deny => DENIED_MUTE_TIME,
        _ => KEY_MUTE_TIME,
    };
    perform(model, step, effects);
    if mutes {
        model.keys.muted = Some((key, now + mute_time));
    }
}

fn perform(model: &mut TuiModel, step: InterruptAction, effects: &mut Vec<ScreenEffect>) {
    match step {
        InterruptAction::CloseMenu => model.composer.dismiss_menu(),
        InterruptAction::CloseOverlay => overlay::leave(model, effects),
        InterruptAction::CancelListed => picker::cancel_listed(model, effects),
        InterruptAction::ClosePicker => picker::close(model),
        InterruptAction::BackToAnswers => {
            if let Some(form) = model.questions.form_mut() {
                form.stop_typing();
            }
            question::back_to_answers(model);
        }
        InterruptAction::Deny => {
            question::answer(model, Answer::No { reason: None }, effects);
        }
        InterruptAction::TakeKeyboard => {
            model.composer.buffer.end_selection();
            if let Some(open) = &mut model.questions.open {
                open.keyboard = true;
            }
        }
        InterruptAction::EndSelection => model.composer.buffer.end_selection(),
        InterruptAction::Requeue => requeue_taken(model, effects),
        InterruptAction::Cancel(path) => stop::cancel(model, &path, effects),
        InterruptAction::AlreadyCancelling(path) => {
            let name = model.label(&path);
            model.say(format!("{name} is being cancelled"));
        }
        InterruptAction::HasEnded(path) => stop::say_ended(model, &path),
        InterruptAction::StepBack => focus::step_back(model),
        InterruptAction::KillShell => kill_shell(model, effects),
        InterruptAction::PickAgent => picker::open(model, AgentAction::Cancel),
        InterruptAction::ClearDraft => {
            model.composer.clear();
            let back = model.keymap.hint(KeyContext::Prompt, Action::Up, "brings it back");
            model.say_while(NoticeCause::EmptyPrompt, with_detail("draft cleared", back));
        }
        InterruptAction::Stop => stop::stop(model, effects),
        InterruptAction::ArmQuit => {
            let until = model.now + QUIT_CONFIRM_TIME;
            model.keys.quit_by_interrupt = Some(until);
            let text = quit_words(model);
            model.notice = Some(Notice { text, until, cause: NoticeCause::Quit });
        }
        InterruptAction::Quit => stop::quit(model, effects),
        InterruptAction::LeaveNow => effects.push(ScreenEffect::Quit),
        InterruptAction::Nothing => {}
    }
}

/// `Ctrl+C again quits and ends bash-1`: what runs in the background would end too.
fn quit_words(model: &TuiModel) -> String {
    match stop::running_jobs(model) {
        Some(ended) => format!("Ctrl+C again quits and ends {ended}"),
        None => "Ctrl+C again quits".to_owned(),
    }
}

/// Kills the user's command. What waits for it comes back to the prompt, as where a turn is stopped.
fn kill_shell(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(shell) = &model.shell else { return };
    let text = format!("stopped: {}", truncate(&one_line(&shell.line), 40));
    model.queue.returned = (0, 0);
    let to = AgentPath::root();
    let waiting = model.queue.awaiting_shell(model.prompt_waits_for_shell());
    effects.extend(waiting.map(|id| ScreenEffect::Send(Command::TakeBack { to: to.clone(), id })));
    effects.push(ScreenEffect::Send(Command::CancelShell));
    model.say(text);
}

/// Puts the message in the prompt back into the queue, as it was. What was changed in it is not sent by a
/// way out, but kept in the history.
fn requeue_taken(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(taken) = model.composer.recalled.take() else { return };
    let past = taken.prompt;
    let text = past.text.clone();
    let is_changed = model.composer.buffer.full_text() != as_prompt(&text);
    if is_changed {
        model.composer.take();
    } else {
        model.composer.discard();
    }
    model.session.prompts += usize::from(taken.to.is_root());
    let images = model.composer.buffer.images_of(&past);
    let id = model.queue.enqueue(taken.to.clone(), past, taken.when, model.now);
    let agent_mentions = Some(Vec::new());
    let prompt =
        QueuedPrompt { images, agent_mentions, ..QueuedPrompt::typed(id, text, taken.when) };
    if model.focus.as_ref() == Some(&taken.to) {
        focus::leave(model);
    }
    effects.push(ScreenEffect::Send(Command::Prompt { to: taken.to, prompt }));
    model.say(if is_changed { "back in the queue as it was" } else { "back in the queue" });
}
