//! What the agents' events do to the model.

use std::time::Duration;

use crate::protocol::{
    AgentEvent, AgentPath, CompactionState, ContentBlock, End, EventKind, NoticeLevel, Outcome,
    ResultBlock, ToolDetails, clock,
};
use crate::tui::model::item::CallResult;
use crate::tui::model::{Draw, ItemKind, Model, Transcript, mode_words};
use crate::tui::msg::Effect;
use crate::tui::words;

use super::{agent_list, background, history, question, queue};

/// A turn that took this long is announced when the window has no focus.
const LONG_TURN: Duration = Duration::from_secs(10);

/// Takes a batch of events.
pub fn follow(model: &mut Model, events: Vec<AgentEvent>, effects: &mut Vec<Effect>) {
    let chosen = agent_list::chosen(model);
    for event in events {
        let urgency = urgency(model, &event);
        model.draw = model.draw.max(urgency);
        self::event(model, &event.path, event.kind, effects);
    }
    if let Some(chosen) = chosen {
        agent_list::keep_chosen(model, &chosen);
    }
}

/// Takes one event.
pub(super) fn event(
    model: &mut Model,
    path: &AgentPath,
    kind: EventKind,
    effects: &mut Vec<Effect>,
) {
    match background::job_event(model, path, kind) {
        Some(kind) if path.is_root() => main_event(model, kind, effects),
        Some(kind) => agent_event(model, path, kind),
        None => {}
    }
}

/// Text of an agent that does not fill the body can wait a little.
fn urgency(model: &Model, event: &AgentEvent) -> Draw {
    let text = matches!(
        event.kind,
        EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ToolProgress { .. }
    );
    let reading = matches!(&model.overlay, Some(crate::tui::model::Overlay::Reader(reader)) if reader.path == event.path);
    let zoomed = model.zoomed().is_some_and(|agent| agent.path == event.path);
    let in_body = event.path.is_root() && model.zoomed().is_none();
    if !text || zoomed || in_body || reading { Draw::Now } else { Draw::Lazy }
}

fn main_event(model: &mut Model, kind: EventKind, effects: &mut Vec<Effect>) {
    let now = model.now;
    let about_work = !matches!(
        kind,
        EventKind::Notice { .. }
            | EventKind::AnswerRefused { .. }
            | EventKind::SessionOpened { .. }
            | EventKind::SessionFailed { .. }
    );
    if about_work {
        model.run.follow(&kind, now);
    }
    match kind {
        EventKind::SessionOpened { id, history, .. } => {
            let was = model.session.id.replace(id);
            history::open_session(model, history, was.is_some_and(|was| was != id));
        }
        EventKind::PromptRead { id, text, from } => {
            if let Some(id) = id {
                queue::read(model, id);
            }
            if model.run.rests() {
                fold(model);
                model.run.begin(now);
                model.can_retry = false;
            }
            let report = background::report(model, &AgentPath::root(), &from, &text);
            model.main.push(report.unwrap_or(ItemKind::Prompt { text, task: false }));
        }
        EventKind::Verbatim { name, text } => {
            main_speaks(model);
            let head = format!("{name} answers");
            model.main.push(ItemKind::Report { head, text: String::new() });
            model.main.push(ItemKind::Text { text, done: true, edition: 0 });
        }
        EventKind::PromptQueued { id } => queue::waits(model, id),
        EventKind::WaitBegan(_) if model.run.rests() => queue::hold(model),
        EventKind::PromptReturned { id, text } => {
            queue::returned(model, &AgentPath::root(), id, &text);
        }
        EventKind::PromptRefused { id, text, why } => {
            queue::refused(model, id, &text);
            notice(model, NoticeLevel::Error, why);
        }
        EventKind::TextDelta { text } => {
            if !text.trim().is_empty() {
                main_speaks(model);
            }
            model.main.text_delta(&text);
        }
        EventKind::BlockFinished { block: ContentBlock::Text { text, .. }, .. } => {
            if !text.trim().is_empty() {
                main_speaks(model);
            }
            model.main.text_finished(&text);
        }
        EventKind::Aside { text } => {
            let text = words::beside(&text);
            model.main.push(ItemKind::Notice { level: NoticeLevel::Info, text });
        }
        EventKind::TurnFinished { cost, .. } => model.session.cost += cost,
        EventKind::PermissionAsked(asked) => question::ask(model, *asked),
        EventKind::QuestionClosed { id, allowed } => question::closed(model, id, allowed),
        EventKind::AnswerRefused { id, why } => question::refused(model, id, why),
        EventKind::ModeChanged { mode } => mode_changed(model, mode),
        EventKind::ModelChanged { provider, model: name, context_window } => {
            // The first one is what the program starts with, unless there was none to start with; a
            // session that is opened later names the same one again.
            let same = model.session.model == name
                && model.session.provider.as_ref().is_none_or(|known| *known == provider);
            let known = model.session.provider.is_some() || model.session.first_run.is_some();
            if known && !same {
                model.say(format!("model: {name}, from the next request on"));
            }
            model.session.model = name;
            model.session.provider = Some(provider);
            model.session.context_window = context_window;
            model.session.first_run = None;
        }
        EventKind::ShellOutput { text } => model.main.shell_output(&text),
        EventKind::ShellFinished { line, text, status } => {
            model.shell = None;
            model.main.shell_finished(line, &text, status);
        }
        EventKind::Notice { level, text } => notice(model, level, text),
        EventKind::SessionFailed { why } => notice(model, NoticeLevel::Error, why),
        EventKind::Finished(outcome) => main_finished(model, &outcome, effects),
        kind => {
            if let EventKind::ToolFinished { details: Some(ToolDetails::Agent(report)), .. } = &kind
            {
                let path = AgentPath::root().child(report.agent_id);
                if let Some(agent) = model.agents.get_mut(&path)
                    && agent.with_main != report.with_parent
                {
                    agent.with_main = report.with_parent;
                    background::redraw_batches(model, &path);
                }
            }
            transcribe(&mut model.main, kind, now);
        }
    }
}

fn agent_event(model: &mut Model, path: &AgentPath, kind: EventKind) {
    let now = model.now;
    if let EventKind::Started(info) = kind {
        return started(model, path, *info);
    }
    if let EventKind::Reported { info, outcome } = kind {
        return history::reported(model, path, *info, *outcome);
    }
    if let EventKind::TranscriptRead { events } = kind {
        return history::transcript_read(model, path, events);
    }
    if let Some(agent) = model.agents.get_mut(path) {
        agent.run.follow(&kind, now);
    }
    match kind {
        EventKind::PermissionAsked(asked) => question::ask(model, *asked),
        EventKind::QuestionClosed { id, allowed } => question::closed(model, id, allowed),
        EventKind::AnswerRefused { id, why } => question::refused(model, id, why),
        EventKind::PromptQueued { id } => queue::waits(model, id),
        EventKind::PromptReturned { id, text } => queue::returned(model, path, id, &text),
        EventKind::PromptRead { id, text, from } => {
            background::agent_reads(model, path, id, text, &from);
        }
        EventKind::MovedToBackground => background::moved(model, path),
        EventKind::Finished(outcome) => agent_finished(model, path, *outcome),
        kind => {
            if let EventKind::TurnFinished { cost, .. } = &kind {
                model.session.cost += *cost;
            }
            if let Some(agent) = model.agents.get_mut(path) {
                transcribe(&mut agent.transcript, kind, now);
            }
        }
    }
}

/// What every agent's events do to its transcript.
pub(super) fn transcribe(transcript: &mut Transcript, kind: EventKind, now: Duration) {
    match kind {
        EventKind::TurnStarted { .. } => transcript.request_started(),
        EventKind::TextDelta { text } => transcript.text_delta(&text),
        EventKind::ThinkingDelta { text } => transcript.thinking_delta(&text, now),
        EventKind::BlockFinished { block, .. } => match block {
            ContentBlock::Text { text, .. } => transcript.text_finished(&text),
            ContentBlock::Thinking { thinking, .. } => transcript.thinking_finished(&thinking, now),
            ContentBlock::ToolUse { id, input, .. } => {
                transcript.call_announced(id, words::call_subject("", &input).trim().to_owned());
            }
            _ => {}
        },
        EventKind::Retrying { .. } => transcript.void_request(),
        EventKind::TurnFinished { .. } => transcript.settle_at(now),
        EventKind::ToolStarted { id, name, summary } => transcript.call_started(id, name, summary),
        EventKind::ToolProgress { id, text } => transcript.call_progress(&id, &text),
        EventKind::ToolFinished { id, name, is_error, summary, content, details, took } => {
            if let Some(ToolDetails::Denied(denial)) = &details {
                transcript.call_denied(&id, &name, words::denied(denial));
            }
            let result = CallResult { is_error, summary, details, took };
            transcript.call_finished(&id, &name, &text_of(&content), result);
        }
        EventKind::PermissionDenied { id, tool, input, denial } => {
            // A hook may have changed what it is called on.
            let subject = words::call_subject("", &input).trim().to_owned();
            transcript.call_announced(id.clone(), subject);
            transcript.call_denied(&id, &tool, words::denied(&denial));
        }
        EventKind::Compaction { by_hand, state } => compaction(transcript, by_hand, state),
        EventKind::Notice { level, text } => {
            transcript.push(ItemKind::Notice { level, text });
        }
        _ => {}
    }
}

/// The line that tells of a compaction. What is stopped with a whole run has that run's line.
fn compaction(transcript: &mut Transcript, by_hand: bool, state: CompactionState) {
    // A repeated request for the summary takes nothing back.
    transcript.request_started();
    let (level, text) = match state {
        CompactionState::Done { before_tokens, after_tokens } => {
            (NoticeLevel::Info, words::compacted(before_tokens, after_tokens))
        }
        CompactionState::Cancelled if by_hand => {
            (NoticeLevel::Info, "not compacted: stopped by you".to_owned())
        }
        CompactionState::Failed { why } => (NoticeLevel::Warning, format!("not compacted: {why}")),
        CompactionState::Started | CompactionState::Cancelled => return,
    };
    transcript.push(ItemKind::Notice { level, text });
}

fn text_of(content: &[ResultBlock]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .map(|block| match block {
            ResultBlock::Text { text } => text.as_str(),
            ResultBlock::Image { .. } => "[image]",
        })
        .collect();
    texts.join("\n")
}

/// A sub-agent exists: it gets a number and a slot, and the line of its batch stands for the call.
pub(super) fn started(model: &mut Model, path: &AgentPath, info: crate::protocol::AgentInfo) {
    let now = model.now;
    if model.agents.get(path).is_some() {
        model.agents.start_again(path, info, now);
        return background::redraw_batches(model, path);
    }
    let call = info.tool_use_id.clone();
    let before = model.agents.batch();
    let agent = model.agents.start(path.clone(), info, now);
    let (batch, aside) = (agent.batch, agent.aside);
    if aside {
        // Its call stands in the transcript with its result, since nothing waits for it.
        return;
    }
    if batch != before {
        model.batch_item = None;
        model.fold_due = false;
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
        if let Some(agent) = model.agents.get_mut(&parent) {
            agent.transcript.touch_call(&call);
        }
        return;
    }
    match model.batch_item {
        Some(item) => {
            model.main.change(item, |item| {
                if let ItemKind::Batch { members, .. } = &mut item.kind {
                    members.push(path.clone());
                }
            });
            model.main.replace_call(&call, ItemKind::Hidden);
        }
        None => {
            let kind = ItemKind::Batch { members: vec![path.clone()], folded: false };
            let replaced = model.main.replace_call(&call, kind.clone());
            model.batch_item = replaced.or_else(|| Some(model.main.push(kind)));
        }
    }
}

fn agent_finished(model: &mut Model, path: &AgentPath, outcome: Outcome) {
    queue::orphan(model, path);
    let with_main = model.run.cancelling;
    let Some(agent) = model.agents.get_mut(path) else { return };
    agent.transcript.settle();
    agent.transcript.close_calls();
    agent.outcome = Some(outcome);
    agent.with_main = with_main && !agent.aside;
    model.session.grants.retain(|(of, _)| of != path);
    question::withdraw(model, path);
    background::redraw_batches(model, path);
}

/// Main says a word: what its agents left folds, unless a pane has the focus.
fn main_speaks(model: &mut Model) {
    if model.batch_item.is_none() {
        return;
    }
    if model.focus.is_some() {
        model.fold_due = true;
    } else {
        fold(model);
    }
}

/// Folds the panel if all agents in it have ended.
pub fn fold(model: &mut Model) {
    model.fold_due = false;
    if model.focus.is_some() || model.batch_item.is_none() || !model.agents.fold() {
        return;
    }
    if let Some(item) = model.batch_item.take() {
        model.main.change(item, |item| {
            if let ItemKind::Batch { folded, .. } = &mut item.kind {
                *folded = true;
            }
        });
    }
}

fn main_finished(model: &mut Model, outcome: &Outcome, effects: &mut Vec<Effect>) {
    model.main.settle();
    model.main.close_calls();
    question::withdraw(model, &AgentPath::root());
    let took = model.run.elapsed(model.now).unwrap_or_default();
    if !model.focused_window && model.settings.notifications && took >= LONG_TURN {
        effects.push(Effect::Notify("main is done".to_owned()));
    }
    let (level, text) = match &outcome.end {
        End::Completed | End::Cancelled { .. } | End::Interrupted => {
            if matches!(outcome.end, End::Cancelled { .. }) {
                stopped_line(model);
            }
            return;
        }
        End::Failed { message, .. } => (NoticeLevel::Error, message.clone()),
        End::MaxTurns { limit } => {
            (NoticeLevel::Warning, format!("turn limit {limit} reached · say go on to continue"))
        }
        End::Budget { what } => (NoticeLevel::Warning, format!("budget {what} spent")),
        End::TimeLimit { limit } => {
            (NoticeLevel::Warning, format!("time limit {} reached", clock(*limit)))
        }
        End::Refused => (NoticeLevel::Error, "refused by the model".to_owned()),
        End::Empty => (NoticeLevel::Warning, "the model ended without a text".to_owned()),
    };
    model.can_retry = level == NoticeLevel::Error;
    model.main.push(ItemKind::Notice { level, text });
}

fn stopped_line(model: &mut Model) {
    let text = "stopped by you".to_owned();
    model.main.push(ItemKind::Notice { level: NoticeLevel::Info, text });
}

fn mode_changed(model: &mut Model, mode: crate::protocol::Mode) {
    if model.session.mode != mode {
        model.session.mode = mode;
        model.say(format!("mode: {}, {}", mode.name(), mode_words(mode)));
    }
}

/// Information goes to the hint line; what went wrong stays in the transcript.
fn notice(model: &mut Model, level: NoticeLevel, text: String) {
    if level == NoticeLevel::Info && !text.contains('\n') {
        model.say(text);
        return;
    }
    model.main.push(ItemKind::Notice { level, text });
}
