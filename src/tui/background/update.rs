//! Background agents and commands: moving them there, resuming ended agents, and showing their
//! results.

use std::sync::Arc;

use crate::protocol::{
    AgentPath, Command, EventKind, PromptId, RunEnd, RunOutcome, Sender, ShellEnd, ShellId,
    ShellNotice,
};
use crate::tui::agents::row::task;
use crate::tui::agents::{AgentState, update as agents};
use crate::tui::background::{Job, JobOutput};
use crate::tui::format::count;
use crate::tui::interrupt::stop;
use crate::tui::labels;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::page::job as job_page;
use crate::tui::queue::update as queue;
use crate::tui::transcript::ItemKind;

/// Moves an agent to the background, if possible.
pub fn send_to_background(model: &mut TuiModel, path: &AgentPath, effects: &mut Vec<ScreenEffect>) {
    let Some(agent) = model.agents.get(path) else { return };
    let name = agent.label();
    if !agent.alive() {
        return stop::say_ended(model, path);
    }
    if agent.in_background {
        return model.reply(format!("{name} is already in the background"));
    }
    if agent.run.queued() {
        return model.reply(format!("{name} has not started · x in /agents cancels it"));
    }
    let text = format!("{name} is in the background now · {}", parent_note(model, path));
    effects.push(ScreenEffect::Send(Command::Background(agent.id)));
    model.say(text);
}

/// Describes what the parent does without the agent: `main waits for 2 agents` or `main continues`.
fn parent_note(model: &TuiModel, path: &AgentPath) -> String {
    let parent = path.parent().unwrap_or_else(AgentPath::root);
    let stay = model.agents.awaited_by(&parent).filter(|agent| !agent.path.is_within(path)).count();
    let name = model.label(&parent);
    match stay {
        0 => format!("{name} continues"),
        more => format!("{name} waits for {}", count(more, "agent")),
    }
}

/// Marks a running agent as moved to the background.
pub fn moved(model: &mut TuiModel, path: &AgentPath) {
    model.agents.move_to_background(path);
    agents::redraw_batches(model, path);
}

/// Resumes an ended agent in the background.
pub fn resume(model: &mut TuiModel, path: &AgentPath, effects: &mut Vec<ScreenEffect>) {
    let Some(agent) = model.agents.get(path).filter(|agent| model.can_resume(agent)) else {
        return;
    };
    let (id, name) = (agent.id, agent.label());
    effects.push(ScreenEffect::Send(Command::ResumeAgent(id)));
    model.say(format!("{name} resumes in the background"));
}

/// Kills a background command.
pub fn kill(model: &mut TuiModel, id: &str, effects: &mut Vec<ScreenEffect>) {
    let Some(job) = model.jobs.get_mut(id) else { return };
    if !job.alive() {
        return model.reply(format!("{id} has ended"));
    }
    if !std::mem::replace(&mut job.killing, true) {
        effects.push(ScreenEffect::Send(Command::KillShell(ShellId::new(id))));
    }
    model.say_while(NoticeCause::Kill, format!("{id} is being killed"));
}

/// The report item for a result or message of an agent or the end of a command; `None` for a prompt of
/// the user.
pub fn report_item(
    model: &mut TuiModel,
    reader: &AgentPath,
    from: &Sender,
    text: &str,
) -> Option<ItemKind> {
    let (head, text) = match from {
        Sender::Person => return None,
        Sender::Agent { name } => {
            model.agents.mark_result_read(reader, name);
            let sender = model.agents.iter().rfind(|agent| agent.info.name == *name);
            match sender.and_then(|agent| Some((agent, agent.outcome.as_ref()?))) {
                Some((agent, outcome)) => report_head(agent, outcome),
                None => (format!("{name} says"), text),
            }
        }
        Sender::Job { name } => {
            model.jobs.mark_result_read(name);
            let known = model.jobs.get(name).and_then(job_end);
            match known.or_else(|| stored_job_end(text)) {
                Some((head, failed)) => {
                    return Some(ItemKind::Report { head, text: String::new(), failed });
                }
                None => (format!("{name} has ended"), text),
            }
        }
    };
    Some(ItemKind::Report { head, text: text.to_owned(), failed: false })
}

/// A line such as `bash-1 failed · exit code 3 · npm run dev`, without the text for the model, and whether
/// the command has failed. `None` while it runs.
fn job_end(job: &Job) -> Option<(String, bool)> {
    let (_, end) = job.ended.as_ref()?;
    let (id, command) = (&job.id, &job.command);
    let head = match (job.failed(), end) {
        (true, end) => format!("{id} failed · {end} · {command}"),
        (false, ShellEnd::Killed) => format!("{id} was killed · {command}"),
        (false, _) => format!("{id} has ended · {command}"),
    };
    Some((head, job.failed()))
}

/// The same for a command of an earlier process, of which only the notice of its end is known.
fn stored_job_end(text: &str) -> Option<(String, bool)> {
    let notice = ShellNotice::parse(text)?;
    let failed = notice.failed();
    let ShellNotice { id, command, end } = notice;
    let head = match failed {
        true => format!("{id} failed · {end} · {command}"),
        false => format!("{id} has ended · {command}"),
    };
    Some((head, failed))
}

/// A line such as `agent 3 reports · check the tests · turn limit, partial`, and the agent's text without
/// the notes added for the model.
fn report_head<'a>(agent: &AgentState, outcome: &'a RunOutcome) -> (String, &'a str) {
    let name = format!("{} reports · {}", agent.label(), task(agent));
    let head = match &outcome.end {
        RunEnd::Completed => name,
        end => format!("{name} · {}", labels::short_end_label(agent, end)),
    };
    (head, &outcome.text)
}

/// Adds a prompt that a sub-agent has read. Its task is already in the transcript.
pub fn agent_prompt_read(
    model: &mut TuiModel,
    path: &AgentPath,
    id: Option<PromptId>,
    text: Arc<str>,
    from: &Sender,
) {
    let is_known = |agent: &AgentState| {
        agent.info.prompt == *text || agent.resume_prompt.as_deref() == Some(&*text)
    };
    if id.is_none() && model.agents.get(path).is_some_and(is_known) {
        return;
    }
    let report = report_item(model, path, from, &text);
    if let Some(id) = id {
        queue::mark_read(model, id);
    } else if report.is_none() {
        return;
    }
    if let Some(agent) = model.agents.get_mut(path) {
        agent.transcript.push(report.unwrap_or(ItemKind::Prompt { text, task: false }));
    }
}

/// Handles events of background commands. Returns any other event.
pub fn job_event(
    model: &mut TuiModel,
    path: &AgentPath,
    kind: EventKind,
    effects: &mut Vec<ScreenEffect>,
) -> Option<EventKind> {
    match kind {
        EventKind::BackgroundShellOutput { id, text, total } => {
            let job = model.jobs.get_mut(&id.to_string());
            let alive = job.is_some_and(|job| {
                // The last output may come before an older one, which was still being masked.
                if total >= job.output.total {
                    job.output = JobOutput { text, total };
                }
                job.alive()
            });
            if alive && job_page::is_open(model, &id.to_string()) {
                effects.push(ScreenEffect::Send(Command::ReadShell { id, seen: total }));
            }
        }
        EventKind::BackgroundShellStarted { id, command } => {
            model.jobs.start(path.clone(), id.to_string(), command, model.now);
        }
        EventKind::BackgroundShellEnded { id, end } => {
            model.jobs.end(&id.to_string(), end, model.now);
        }
        other => return Some(other),
    }
    None
}
