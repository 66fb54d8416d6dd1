//! Agents and commands in the background: sending them there, going on with ended ones, and what
//! their ends bring.

use crate::protocol::{AgentPath, Command, End, EventKind, Outcome, PromptId, Sender, ShellId};
use crate::tui::figures::count;
use crate::tui::model::overlay::{Which, Wish};
use crate::tui::model::{Agent, ItemKind, Model, Overlay};
use crate::tui::msg::Effect;
use crate::tui::words;

use super::{outs, queue};

/// The key on the empty prompt: the focused agent, else the only running one, else asks which.
pub fn press(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(path) = model.focus.clone() {
        return send(model, &path, effects);
    }
    let running: Vec<AgentPath> = movable(model).map(|agent| agent.path.clone()).collect();
    match &running[..] {
        [] => {}
        [only] => send(model, only, effects),
        _ => ask_which(model, Wish::Background),
    }
}

fn movable(model: &Model) -> impl Iterator<Item = &Agent> {
    model.agents.foreground().filter(|agent| agent.running())
}

/// Opens the list from which one is meant. Its rows never shift.
pub fn ask_which(model: &mut Model, wish: Wish) {
    let waited_for = model.waited_for();
    let wanted = |agent: &Agent| match wish {
        Wish::Background => agent.running() && !agent.aside,
        Wish::Cancel if waited_for.is_empty() => agent.alive(),
        Wish::Cancel => waited_for.iter().any(|other| other.path == agent.path),
    };
    let visible = model.agents.visible();
    let rows: Vec<AgentPath> =
        visible.iter().filter(|agent| wanted(agent)).map(|agent| agent.path.clone()).collect();
    model.overlay = Some(Overlay::Which(Which { wish, rows, selected: 0 }));
}

/// Lets one agent go on in the background, if it can.
pub fn send(model: &mut Model, path: &AgentPath, effects: &mut Vec<Effect>) {
    let Some(agent) = model.agents.get(path) else { return };
    let name = agent.info.name.clone();
    if !agent.alive() {
        return outs::say_ended(model, path);
    }
    if agent.aside {
        return model.say(format!("{name} is in the background"));
    }
    if agent.run.queued() {
        return model.say(format!("{name} has not begun · x in /agents takes it out"));
    }
    let text = format!("{name} moves to the background · {}", what_stays(model, path));
    effects.push(Effect::Send(Command::Background(agent.id)));
    model.say(text);
}

/// Lets all that "Background which?" lists go on in the background.
pub fn send_listed(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(Overlay::Which(which)) = model.overlay.take() else { return };
    let agents = which.rows.iter().filter_map(|path| model.agents.get(path));
    let ids: Vec<_> =
        agents.filter(|agent| agent.running() && !agent.aside).map(|agent| agent.id).collect();
    effects.extend(ids.iter().map(|id| Effect::Send(Command::Background(*id))));
    let verb = if ids.len() == 1 { "moves" } else { "move" };
    model.say(format!("{} {verb} to the background", count(ids.len(), "agent")));
}

/// `main waits for 2`, `main goes on`: what its parent does without it.
fn what_stays(model: &Model, path: &AgentPath) -> String {
    let parent = path.parent().unwrap_or_else(AgentPath::root);
    let stay = model.agents.awaited(&parent).filter(|agent| !agent.path.is_within(path)).count();
    let name = model.name(&parent);
    match stay {
        0 => format!("{name} goes on"),
        more => format!("{name} waits for {more}"),
    }
}

/// A running agent is in the background now.
pub fn moved(model: &mut Model, path: &AgentPath) {
    model.agents.move_aside(path);
    redraw_batches(model, path);
}

/// The lines of a batch are drawn anew, since something has become of a member that left it.
pub fn redraw_batches(model: &mut Model, path: &AgentPath) {
    let of_it = |item: &ItemKind| match item {
        ItemKind::Batch { members, .. } => members.iter().any(|member| path.is_within(member)),
        _ => false,
    };
    // An agent is a member of one batch, and of a late one more often than not.
    let mut ids = model.main.ids().rev();
    let found = ids.find(|id| model.main.get(*id).is_some_and(|item| of_it(&item.kind)));
    if let Some(id) = found {
        model.main.change(id, |_| {});
    }
}

/// Goes on with an ended agent.
pub fn resume(model: &mut Model, path: &AgentPath, effects: &mut Vec<Effect>) {
    let Some(agent) = model.agents.get(path).filter(|agent| agent.resumable()) else { return };
    let (id, name) = (agent.id, agent.info.name.clone());
    effects.push(Effect::Send(Command::ResumeAgent(id)));
    model.say(format!("{name} goes on in the background"));
}

/// Kills a background command.
pub fn kill(model: &mut Model, id: &str, effects: &mut Vec<Effect>) {
    let Some(job) = model.jobs.get_mut(id) else { return };
    if !job.alive() {
        return model.say(format!("{id} has ended"));
    }
    if !std::mem::replace(&mut job.killing, true) {
        effects.push(Effect::Send(Command::KillShell(ShellId::new(id))));
    }
    model.say(format!("{id} is being killed"));
}

/// What came without the person: the result or a message of an agent, the end of a command. `None`
/// when it is a prompt of the person.
pub fn report(
    model: &mut Model,
    reader: &AgentPath,
    from: &Sender,
    text: &str,
) -> Option<ItemKind> {
    let (head, text) = match from {
        Sender::Person => return None,
        Sender::Agent { name } => {
            model.agents.result_read(reader, name);
            let sender = model.agents.iter().rfind(|agent| agent.info.name == *name);
            match sender.and_then(|agent| Some((agent, agent.outcome.as_ref()?))) {
                Some((agent, outcome)) => reported(agent, outcome),
                None => (format!("{name} says"), text),
            }
        }
        Sender::Job { name } => {
            model.jobs.result_read(name);
            (format!("{name} has ended"), text)
        }
    };
    Some(ItemKind::Report { head, text: text.to_owned() })
}

/// `explore-1 reports · turn limit, partial`, and the agent's own words without what the model is
/// told about them.
fn reported<'a>(agent: &Agent, outcome: &'a Outcome) -> (String, &'a str) {
    let name = &agent.info.name;
    let head = match &outcome.end {
        End::Completed => format!("{name} reports"),
        end => format!("{name} reports · {}", words::short_end(agent, end)),
    };
    (head, &outcome.text)
}

/// A prompt entered a sub-agent's conversation. Its task stands there already.
pub fn agent_reads(
    model: &mut Model,
    path: &AgentPath,
    id: Option<PromptId>,
    text: String,
    from: &Sender,
) {
    let task = model.agents.get(path).is_some_and(|agent| agent.info.prompt == text);
    if id.is_none() && task {
        return;
    }
    let report = report(model, path, from, &text);
    if let Some(id) = id {
        queue::read(model, id);
    } else if report.is_none() {
        return;
    }
    if let Some(agent) = model.agents.get_mut(path) {
        agent.transcript.push(report.unwrap_or(ItemKind::Prompt { text, task: false }));
    }
}

/// What background commands do, whoever owns them. Answers with any other event.
pub fn job_event(model: &mut Model, path: &AgentPath, kind: EventKind) -> Option<EventKind> {
    match kind {
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
