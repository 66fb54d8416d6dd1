//! Stops agents, the turn, or the program.

use std::time::Duration;

use crate::protocol::{AgentPath, Command};
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::format::count;
use crate::tui::labels::{self, with_detail};
use crate::tui::model::{DrawUrgency, TuiModel};
use crate::tui::msg::ScreenEffect;

/// How long closing waits for what is being stopped.
const CLOSING_LIMIT: Duration = Duration::from_secs(6);

/// The most commands that are named one by one.
const MAX_NAMED_JOBS: usize = 3;

/// Cancels an agent and those below it.
pub fn cancel(model: &mut TuiModel, path: &AgentPath, effects: &mut Vec<ScreenEffect>) {
    let Some(agent) = model.agents.get(path) else { return };
    if !agent.alive() {
        return say_ended(model, path);
    }
    let (id, name, queued) = (agent.id, agent.label(), agent.run.queued());
    let partial = labels::partial_text_note(model, agent);
    mark_cancelling(model, |agent| agent.path.is_within(path));
    effects.push(ScreenEffect::Send(Command::Cancel(id)));
    model.say(if queued {
        format!("{name} cancelled before it started")
    } else {
        with_detail(&format!("{name} cancelled"), partial)
    });
}

/// Shows that an agent has ended, and how.
pub fn say_ended(model: &mut TuiModel, path: &AgentPath) {
    let Some(agent) = model.agents.get(path) else { return };
    let end = match &agent.run.phase {
        RunPhase::Ended(end) => labels::short_end_label(agent, end),
        _ => return,
    };
    let text = format!("{} has ended ({end})", agent.label());
    // In a list, the hint line says what Esc does.
    let back = model.overlay.is_none().then(|| "Esc back".to_owned());
    let text = with_detail(&text, back);
    model.reply(text);
}

/// Cancels these agents and shows how many there were.
pub fn cancel_all(model: &mut TuiModel, paths: &[AgentPath], effects: &mut Vec<ScreenEffect>) {
    let mut cancelled = 0;
    for path in paths {
        let Some(agent) = model.agents.get(path).filter(|agent| agent.alive()) else { continue };
        effects.push(ScreenEffect::Send(Command::Cancel(agent.id)));
        mark_cancelling(model, |agent| agent.path.is_within(path));
        cancelled += 1;
    }
    model.say(format!("{} cancelled", count(cancelled, "agent")));
}

fn mark_cancelling(model: &mut TuiModel, which: impl Fn(&AgentState) -> bool) {
    let meant = model.agents.alive().filter(|agent| which(agent));
    let meant: Vec<AgentPath> = meant.map(|agent| agent.path.clone()).collect();
    for path in meant {
        if let Some(agent) = model.agents.get_mut(&path) {
            agent.run.cancelling = true;
        }
    }
}

/// Stops main and all agents that its turn waits for.
pub fn stop(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let (agents, aside) = (model.agents.foreground().count(), model.agents.background().count());
    effects.push(ScreenEffect::Send(Command::CancelTurn));
    mark_cancelling(model, |agent| !agent.in_background);
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
        1 => text.push_str(" · 1 background agent keeps running"),
        more => text.push_str(&format!(" · {more} background agents keep running")),
    }
    model.say(text);
}

/// Names the commands in the background that still run, `bash-1 and bash-2`, or counts them if they are many.
/// `None` without one.
pub fn running_jobs(model: &TuiModel) -> Option<String> {
    let ids: Vec<&str> = model.jobs.alive().map(|job| job.id.as_str()).collect();
    match ids[..] {
        [] => None,
        [only] => Some(only.to_owned()),
        [ref others @ .., last] if ids.len() <= MAX_NAMED_JOBS => {
            Some(format!("{} and {last}", others.join(", ")))
        }
        _ => Some(count(ids.len(), "background command")),
    }
}

/// Says what works: `1 agent and 2 commands are working`, with the pronoun for it. `jobs` commands
/// count.
pub fn work_label(model: &TuiModel, jobs: usize) -> Option<(String, &'static str)> {
    let agents = model.agents.alive().count();
    let main = model.main_is_busy();
    let text = match (agents, jobs) {
        (0, 0) if !main => return None,
        (0, 0) => "main is working".to_owned(),
        (0, more) if main => {
            let known = running_jobs(model).filter(|_| more == model.jobs.alive().count());
            format!("main and {} are working", known.unwrap_or_else(|| count(more, "command")))
        }
        (0, 1) => "1 command is running".to_owned(),
        (0, more) => format!("{} are running", count(more, "command")),
        (more, 0) if main => format!("main and {} are working", count(more, "agent")),
        (1, 0) => "1 agent is working".to_owned(),
        (more, 0) => format!("{} are working", count(more, "agent")),
        (agents, jobs) => {
            let main = if main { "main, " } else { "" };
            let (agents, jobs) = (count(agents, "agent"), count(jobs, "command"));
            format!("{main}{agents} and {jobs} are working")
        }
    };
    let is_one = agents + jobs + usize::from(main) <= 1;
    Some((text, if is_one { "it" } else { "them" }))
}

/// Says what a change of the session would stop: agents in the background and their commands. The
/// user's own command runs on.
pub fn session_work_label(model: &TuiModel) -> Option<(String, &'static str)> {
    work_label(model, model.jobs.alive().count())
}

/// Says what quitting would stop, and how many messages nobody would read.
pub fn quit_label(model: &TuiModel, jobs: usize) -> Option<(String, &'static str)> {
    let (who, them) = work_label(model, jobs)?;
    let unread = model.queue.visible().count();
    let unread = (unread > 0).then(|| format!("{} unread", count(unread, "message")));
    Some((with_detail(&who, unread), them))
}

/// Quits, at once or when everything has stopped.
pub fn quit(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    model.exit_in_turn = model.main_is_busy();
    model.queue.back.clear();
    model.queue.returned = (0, 0);
    effects.push(ScreenEffect::Send(Command::Quit));
    if model.is_busy() {
        model.closing = true;
        model.closing_until = Some(model.now + CLOSING_LIMIT);
        model.draw = DrawUrgency::Now;
        return;
    }
    effects.push(ScreenEffect::Quit);
}
