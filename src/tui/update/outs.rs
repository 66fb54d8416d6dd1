//! Takes the step that Ctrl+C or Esc stands for. Which one that is, `model::step` decides.

use crate::protocol::{AgentPath, Answer, Command, QueuedPrompt};
use crate::tui::figures::count;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::overlay::Wish;
use crate::tui::model::question::Stage;
use crate::tui::model::step::{DEAF, QUIT_ARMED};
use crate::tui::model::{Agent, Model, Notice, NoticeCause, Overlay, Step, StepKey};
use crate::tui::msg::Effect;
use crate::tui::text::{one_line, truncate};
use crate::tui::words::{self, joined};

/// One press of Ctrl+C or Esc.
pub fn step_out(model: &mut Model, key: StepKey, effects: &mut Vec<Effect>) {
    let now = model.now;
    if let Some((deaf, until)) = &mut model.keys.deaf
        && *deaf == key
        && now < *until
    {
        *until = now + DEAF;
        return;
    }
    let step = match key {
        StepKey::Interrupt => model.interrupt_step(),
        StepKey::Escape => model.escape_step(),
    };
    let counts = !matches!(
        step,
        Step::ArmQuit
            | Step::AskWhich
            | Step::Quit
            | Step::LeaveNow
            | Step::Nothing
            | Step::HasEnded(_)
            | Step::ClearDraft
    );
    let closes = counts || step == Step::ClearDraft;
    // What goes on in the background comes first for the next Ctrl+C.
    let nothing_else = model.agents.background().next().is_none();
    let arms = step == Step::Stop && key == StepKey::Interrupt && nothing_else;
    take(model, step, effects);
    if arms {
        arm_quit(model);
        if let Some(notice) = &mut model.notice {
            notice.text.push_str(" · Ctrl+C again quits");
        }
    }
    if closes {
        model.keys.deaf = Some((key, now + DEAF));
    }
}

fn take(model: &mut Model, step: Step, effects: &mut Vec<Effect>) {
    match step {
        Step::CloseMenu => model.composer.dismiss_menu(),
        Step::CloseOverlay => step_out_of_overlay(model, effects),
        Step::CancelListed => cancel_listed(model, effects),
        Step::Nobody => choose_nobody(model),
        Step::BackToAnswers => {
            if let Some(open) = &mut model.questions.open {
                open.stage = Stage::Choose;
            }
        }
        Step::Deny => super::question::answer(model, Answer::No { reason: None }, effects),
        Step::TakeKeyboard => {
            if let Some(open) = &mut model.questions.open {
                open.keyboard = true;
            }
        }
        Step::PutBack => put_back(model, effects),
        Step::Cancel(path) => cancel(model, &path, effects),
        Step::AlreadyCancelling(path) => {
            let name = model.name(&path).to_owned();
            model.say(format!("{name} is being cancelled"));
        }
        Step::HasEnded(path) => say_ended(model, &path),
        Step::StepBack => super::focus::step_back(model),
        Step::KillShell => kill_shell(model, effects),
        Step::AskWhich => super::background::ask_which(model, Wish::Cancel),
        Step::ClearDraft => {
            model.composer.take();
            let back = model.keymap.hint(Context::Prompt, Action::Up, "brings it back");
            model.say_while(NoticeCause::EmptyPrompt, joined("draft cleared", back));
        }
        Step::Stop => stop(model, effects),
        Step::ArmQuit => {
            arm_quit(model);
            let until = model.now + QUIT_ARMED;
            let text = "Ctrl+C again quits".to_owned();
            model.notice = Some(Notice { text, until, cause: NoticeCause::Event });
        }
        Step::Quit => super::quit(model, effects),
        Step::LeaveNow => effects.push(Effect::Quit),
        Step::Nothing => {}
    }
}

fn choose_nobody(model: &mut Model) {
    let Some(Overlay::Which(which)) = model.overlay.take() else { return };
    model.say(match which.wish {
        Wish::Cancel => "nobody cancelled",
        Wish::Background => "nobody moves",
    });
}

fn arm_quit(model: &mut Model) {
    model.keys.quit_by_interrupt = Some(model.now + QUIT_ARMED);
}

/// One step out of what covers the body: first the line that is typed in it, then the thing itself.
fn step_out_of_overlay(model: &mut Model, effects: &mut Vec<Effect>) {
    match &mut model.overlay {
        Some(Overlay::Reader(reader)) if reader.typing.is_some() => reader.typing = None,
        Some(Overlay::Agents(list)) if list.filtering => {
            list.filtering = false;
            list.filter.take();
        }
        _ => close_overlay(model, effects),
    }
}

/// Closes what covers the body; the reader gives the mouse back.
pub fn close_overlay(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(Overlay::Reader(_)) = model.overlay.take()
        && model.settings.mouse
    {
        effects.push(Effect::Mouse(true));
    }
}

/// Cancels one agent and those under it.
pub fn cancel(model: &mut Model, path: &AgentPath, effects: &mut Vec<Effect>) {
    let Some(agent) = model.agents.get(path) else { return };
    if !agent.alive() {
        return say_ended(model, path);
    }
    let (id, name, queued) = (agent.id, agent.info.name.clone(), agent.run.queued());
    let partial = words::partial_text(model, agent);
    mark_cancelling(model, |agent| agent.path.is_within(path));
    effects.push(Effect::Send(Command::Cancel(id)));
    model.say(if queued {
        format!("{name} cancelled before it started")
    } else {
        joined(&format!("{name} cancelled"), partial)
    });
}

/// Says that an agent has ended, and how.
pub fn say_ended(model: &mut Model, path: &AgentPath) {
    let Some(agent) = model.agents.get(path) else { return };
    let end = match &agent.run.phase {
        crate::tui::model::Phase::Ended(end) => words::short_end(agent, end),
        _ => return,
    };
    let text = format!("{} has ended ({end}) · Esc back", agent.info.name);
    model.say(text);
}

/// Cancels every agent that "Cancel which?" lists and that is still alive.
pub fn cancel_listed(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(Overlay::Which(which)) = model.overlay.take() else { return };
    cancel_all(model, &which.rows, effects);
}

/// Cancels these agents, and says how many those were.
pub fn cancel_all(model: &mut Model, paths: &[AgentPath], effects: &mut Vec<Effect>) {
    let mut cancelled = 0;
    for path in paths {
        let Some(agent) = model.agents.get(path).filter(|agent| agent.alive()) else { continue };
        effects.push(Effect::Send(Command::Cancel(agent.id)));
        mark_cancelling(model, |agent| agent.path.is_within(path));
        cancelled += 1;
    }
    model.say(format!("{} cancelled", count(cancelled, "agent")));
}

fn mark_cancelling(model: &mut Model, which: impl Fn(&Agent) -> bool) {
    let meant = model.agents.alive().filter(|agent| which(agent));
    let meant: Vec<AgentPath> = meant.map(|agent| agent.path.clone()).collect();
    for path in meant {
        if let Some(agent) = model.agents.get_mut(&path) {
            agent.run.cancelling = true;
        }
    }
}

/// Stops main and all agents that its turn waits for.
pub fn stop(model: &mut Model, effects: &mut Vec<Effect>) {
    let (agents, aside) = (model.agents.foreground().count(), model.agents.background().count());
    effects.push(Effect::Send(Command::CancelTurn));
    mark_cancelling(model, |agent| !agent.aside);
    model.run.cancelling = true;
    model.queue.returned = (0, 0);
    model.stopped_at = Some(model.now);
    let mut text = match agents {
        0 => "Stopped".to_owned(),
        1 => "Stopped: main and 1 agent".to_owned(),
        more => format!("Stopped: main and {more} agents · partial texts kept"),
    };
    match aside {
        0 => {}
        1 => text.push_str(" · 1 background agent goes on"),
        more => text.push_str(&format!(" · {more} background agents go on")),
    }
    model.say(text);
}

fn kill_shell(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(shell) = &model.shell else { return };
    let text = format!("stopped: {}", truncate(&one_line(&shell.line), 40));
    effects.push(Effect::Send(Command::CancelShell));
    model.say(text);
}

/// The message in the prompt goes back to where it was queued.
fn put_back(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(taken) = model.composer.taken.take() else { return };
    let text = model.composer.buffer.text().to_owned();
    model.composer.discard();
    model.session.prompts += usize::from(taken.to.is_root());
    let id = model.queue.enqueue(taken.to.clone(), &text, taken.when, model.now);
    let prompt = QueuedPrompt::typed(id, text, taken.when);
    effects.push(Effect::Send(Command::Prompt { to: taken.to, prompt }));
    model.say("back in the queue");
}
