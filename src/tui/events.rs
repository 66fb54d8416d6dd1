//! Applies agent events to the model.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{
    AgentEvent, AgentPath, AgentReport, ContentBlock, EventKind, NoticeLevel, PermissionMode,
    PromptId, RunEnd, RunOutcome, Sender, ToolDetails, WorktreeInfo,
};
use crate::tui::agents::list::update as agent_list;
use crate::tui::agents::{
    AgentState, HISTORY_START, RunPhase, TranscriptLocation, update as agents,
};
use crate::tui::background::update as background;
use crate::tui::host::HostRequest;
use crate::tui::model::{DrawUrgency, NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::notify::notify;
use crate::tui::overlay::Overlay;
use crate::tui::question::update as question;
use crate::tui::queue::update as queue;
use crate::tui::session::DEFAULT_EFFORT;
use crate::tui::text::{one_line, truncate};
use crate::tui::transcript::ItemKind;
use crate::tui::transcript::update::transcribe;
use crate::tui::{choices, labels, replay, turn};

/// The end of a turn that took this long causes a notification if the window has no focus.
const LONG_TURN_TIME: Duration = Duration::from_secs(10);

/// Cells of a queued message in the line about its refusal.
const MAX_REFUSED: usize = 60;

/// Applies a batch of events.
pub fn apply_events(
    model: &mut TuiModel,
    events: Vec<AgentEvent>,
    effects: &mut Vec<ScreenEffect>,
) {
    let chosen = agent_list::selected_row(model);
    for event in events {
        let urgency = urgency(model, &event);
        model.draw = model.draw.max(urgency);
        self::apply_event(model, &event.path, event.kind, effects);
    }
    if let Some(chosen) = chosen {
        agent_list::keep_selected(model, &chosen);
    }
}

/// Applies one event.
fn apply_event(
    model: &mut TuiModel,
    path: &AgentPath,
    kind: EventKind,
    effects: &mut Vec<ScreenEffect>,
) {
    match background::job_event(model, path, kind, effects) {
        Some(kind) if path.is_root() => main_event(model, kind, effects),
        Some(kind) => agent_event(model, path, kind),
        None => {}
    }
}

/// Text of an agent that does not fill the body can wait.
fn urgency(model: &TuiModel, event: &AgentEvent) -> DrawUrgency {
    let text = matches!(
        event.kind,
        EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ToolProgress { .. }
    );
    let reading =
        matches!(&model.overlay, Some(Overlay::Reader(reader)) if reader.path == event.path);
    let zoomed = model.zoomed().is_some_and(|agent| agent.path == event.path);
    let in_body = event.path.is_root() && model.zoomed().is_none();
    if !text || zoomed || in_body || reading { DrawUrgency::Now } else { DrawUrgency::Lazy }
}

/// Applies an event that means the same for main and sub-agents. Returns any other event.
fn common_event(model: &mut TuiModel, path: &AgentPath, kind: EventKind) -> Option<EventKind> {
    match kind {
        EventKind::PermissionAsked(asked) => question::add_question(model, *asked),
        EventKind::QuestionClosed { id, allowed } => question::closed(model, id, allowed),
        EventKind::PermissionDenied { id, tool, mut input, denial } => {
            // The user may have changed it before.
            let refused = model.questions.refused_plan.take_if(|(call, _)| *call == id);
            if let Some((_, plan)) = refused {
                input["plan"] = plan;
            }
            return Some(EventKind::PermissionDenied { id, tool, input, denial });
        }
        EventKind::AnswerRefused { id, why } => question::refused(model, id, why),
        EventKind::PromptQueued { id } => queue::mark_waiting(model, id),
        EventKind::PromptReturned { id, .. } => queue::returned(model, path, id),
        EventKind::PromptRefused { id, text, why } => {
            // Far from where it was written, the line says which one.
            let why = match queue::is_waiting(model, id) {
                true => {
                    format!("{:?} was not sent: {why}", truncate(&one_line(&text), MAX_REFUSED))
                }
                false => why,
            };
            queue::refused(model, path, id);
            notice(model, NoticeLevel::Error, why);
        }
        other => return Some(other),
    }
    None
}

fn main_event(model: &mut TuiModel, kind: EventKind, effects: &mut Vec<ScreenEffect>) {
    let about_work = !matches!(
        kind,
        EventKind::Notice { .. }
            | EventKind::AnswerRefused { .. }
            | EventKind::SessionPreview { .. }
            | EventKind::SessionOpened { .. }
            | EventKind::SessionReadOnly
            | EventKind::SessionFailed { .. }
    );
    if about_work {
        model.run.apply(&kind, model.now);
    }
    let Some(kind) = common_event(model, &AgentPath::root(), kind) else { return };
    match kind {
        EventKind::SessionOpened { id, history, forked } => {
            let earlier = if forked { 0 } else { prompts_in(&history) };
            let was = model.session.id.replace(id);
            if was != Some(id) {
                model.session.name = None;
                effects
                    .push(ScreenEffect::Ask(HostRequest::SessionName { session: id, name: None }));
            }
            open_session(model, history, was.is_some_and(|was| was != id));
            if forked {
                replay::forget_spending(model);
            }
            model.session.earlier_prompts = earlier;
            let was_read_only = std::mem::take(&mut model.session.read_only);
            if was_read_only && forked {
                model.say("this is a copy now · the original stays open in the other caliban");
            } else if was_read_only && was == Some(id) {
                model.say("the session goes on here");
            }
        }
        EventKind::SessionReadOnly => {
            model.session.read_only = true;
            if model.session.growth.began.is_some() {
                replay::clear(model);
            }
            model.session.growth.restart();
            model.notice = None;
        }
        EventKind::PromptRead { id, text, from } => main_prompt_read(model, id, text, &from),
        EventKind::SessionPreview { history } => open_session(model, history, false),
        EventKind::Verbatim { name, text } => {
            agents::fold(model);
            let head = format!("{name} answers");
            model.main.push(ItemKind::Report { head, text: String::new(), failed: false });
            model.main.push_text(text);
        }
        EventKind::WaitBegan(_) if model.run.is_idle() => queue::mark_held(model),
        EventKind::TextDelta { text } => {
            main_text_arrived(model, &text);
            model.main.text_delta(&text);
        }
        EventKind::BlockFinished { block: ContentBlock::Text { text, .. }, .. } => {
            main_text_arrived(model, &text);
            model.main.text_finished(text);
        }
        EventKind::TurnFinished { usage, cost, .. } => {
            model.session.cost += cost;
            model.session.main_spent.0 += usage;
            model.session.main_spent.1 += cost;
        }
        EventKind::ModeChanged { mode } => mode_changed(model, mode),
        EventKind::ModelChanged {
            provider,
            model: name,
            context_window,
            effort,
            efforts,
            cause,
        } => {
            let is_new = model.session.effort != effort;
            effort_changed(model, &name, effort, efforts);
            model_changed(model, provider, name, context_window);
            choices::model_changed(model, cause, is_new, effects);
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
                agent_reported(model, report);
            }
            if matches!(kind, EventKind::ImageRead { .. }) {
                model.composer.images.count_read();
            }
            transcribe(&mut model.main, kind, model.now);
        }
    }
}

/// Applies an event of a stored session, which causes no notifications.
pub fn apply_stored(model: &mut TuiModel, path: &AgentPath, kind: EventKind) {
    apply_event(model, path, kind, &mut Vec::new());
}

/// Shows an opened session from its history.
fn open_session(model: &mut TuiModel, history: Vec<AgentEvent>, another: bool) {
    if another || !history.is_empty() {
        // What was typed before the session was open is for this one.
        let mut typed = std::mem::take(&mut model.queue.list);
        replay::clear(model);
        typed.retain(|_| !another);
        model.queue.list = typed;
    }
    let Some(first) = history.first().map(|event| event.at) else {
        if another {
            model.session.prompts = 0;
            model.say("cleared · this is a new session");
        }
        return;
    };
    if another {
        model.session.prompts = 0;
    }
    let now = model.now;
    for AgentEvent { path, at, kind, .. } in history {
        let since = Duration::try_from(at.duration_since(first)).unwrap_or_default();
        model.now = HISTORY_START + since;
        apply_stored(model, &path, kind);
    }
    replay::end_agents(model);
    model.now = now;
    agents::fold(model);
    model.main.finish_growing();
    model.main.close_calls();
    model.run.phase = RunPhase::Idle;
    turn::withdraw_retry(model);
    model.notice = None;
}

/// Counts the user's prompts to main.
pub fn prompts_in(history: &[AgentEvent]) -> usize {
    let is_prompt = |event: &&AgentEvent| {
        event.path.is_root()
            && matches!(event.kind, EventKind::PromptRead { from: Sender::Person, .. })
    };
    history.iter().filter(is_prompt).count()
}

fn agent_event(model: &mut TuiModel, path: &AgentPath, kind: EventKind) {
    let now = model.now;
    let kind = match kind {
        EventKind::Started(info) => return agents::start(model, path, *info),
        EventKind::Reported { info, outcome } => {
            return replay::add_reported(model, path, *info, *outcome);
        }
        EventKind::TranscriptRead { events } => {
            return replay::transcript_read(model, path, events);
        }
        kind => kind,
    };
    // The report of an agent without a file has all of its usage.
    let counted = |agent: &AgentState| {
        agent.location == TranscriptLocation::Missing
            && matches!(kind, EventKind::TurnFinished { .. })
    };
    if let Some(agent) = model.agents.get_mut(path)
        && !counted(agent)
    {
        agent.run.apply(&kind, now);
    }
    let Some(kind) = common_event(model, path, kind) else { return };
    match kind {
        EventKind::PromptRead { id, text, from } => {
            background::agent_prompt_read(model, path, id, text, &from);
        }
        EventKind::MovedToBackground => background::moved(model, path),
        EventKind::WorktreeEntered(worktree) => set_worktree(model, path, Some(worktree)),
        EventKind::WorktreeRemoved => set_worktree(model, path, None),
        EventKind::Finished(outcome) => agent_finished(model, path, *outcome),
        kind => {
            if let EventKind::TurnFinished { cost, .. } = &kind {
                model.session.cost += *cost;
                if let Some(agent) = model.agents.get_mut(path) {
                    agent.paid += *cost;
                }
            }
            // A stored session's results have figures only, until the conversation is read.
            let figures = now >= HISTORY_START && matches!(kind, EventKind::ToolFinished { .. });
            if let Some(agent) = model.agents.get_mut(path).filter(|_| !figures) {
                transcribe(&mut agent.transcript, kind, now);
            }
        }
    }
}

fn set_worktree(model: &mut TuiModel, path: &AgentPath, worktree: Option<Box<WorktreeInfo>>) {
    if let Some(agent) = model.agents.get_mut(path) {
        agent.worktree_dirs.extend(worktree.as_ref().map(|worktree| worktree.path.clone()));
        agent.worktree = worktree;
    }
}

fn agent_finished(model: &mut TuiModel, path: &AgentPath, outcome: RunOutcome) {
    queue::mark_orphaned(model, path);
    let with_main = model.run.cancelling;
    let above = path.parent().and_then(|parent| model.agents.get(&parent));
    let with_parent = above.is_some_and(|parent| {
        let gone = matches!(parent.run.phase, RunPhase::Ended(RunEnd::Cancelled { .. }));
        parent.run.cancelling || gone
    });
    let Some(agent) = model.agents.get_mut(path) else { return };
    agent.transcript.request_stopped();
    agent.outcome = Some(outcome);
    agent.stopped_with_main = with_main && !agent.in_background;
    agent.stopped_with_parent = with_parent;
    model.session.grants.retain(|(of, _)| of != path);
    question::withdraw(model, path);
    agents::redraw_batches(model, path);
    let cancelled =
        |agent: &&AgentState| matches!(agent.run.phase, RunPhase::Ended(RunEnd::Cancelled { .. }));
    if !with_main && model.agents.panel().iter().all(cancelled) {
        agents::fold(model);
    }
}

/// Adds a prompt that main has read, and starts its turn.
fn main_prompt_read(model: &mut TuiModel, id: Option<PromptId>, text: Arc<str>, from: &Sender) {
    if let Some(id) = id {
        queue::mark_read(model, id);
    }
    if model.run.is_idle() {
        agents::begin_turn(model);
        if *from == Sender::Person {
            queue::shelve_orphaned(model);
        }
        model.run.begin(model.now);
        turn::withdraw_retry(model);
    }
    let report = background::report_item(model, &AgentPath::root(), from, &text);
    model.main.push(report.unwrap_or(ItemKind::Prompt { text, task: false }));
}

/// Folds the ended batch when main writes text.
fn main_text_arrived(model: &mut TuiModel, text: &str) {
    if !text.trim().is_empty() {
        agents::fold(model);
    }
}

fn main_finished(model: &mut TuiModel, outcome: &RunOutcome, effects: &mut Vec<ScreenEffect>) {
    model.main.request_stopped();
    question::withdraw(model, &AgentPath::root());
    agents::fold(model);
    let took = model.run.elapsed(model.now).unwrap_or_default();
    let text = match &outcome.end {
        RunEnd::Cancelled { .. } => None,
        RunEnd::Failed { failure, .. } => {
            let words = failure.describe_with(outcome.api_error.as_ref());
            Some(format!("main failed: {words}"))
        }
        _ => Some("main is done".to_owned()),
    };
    if let (Some(text), true) = (&text, model.zoom) {
        // Its last line is not on the screen.
        model.say_while(NoticeCause::Zoom, format!("{text} · Esc goes back"));
    }
    if let Some(text) = text.filter(|_| took >= LONG_TURN_TIME) {
        notify(model, text, effects);
    }
    model.can_retry = matches!(outcome.end, RunEnd::Failed { .. } | RunEnd::Refused);
    model.rejected_by = outcome.rejected.then(|| model.session.model.clone());
    if model.can_retry && model.queue.returned.1 > 0 {
        queue::say_returned(model);
    }
    let finish = turn::finish_item(model, outcome);
    model.main.push(finish);
    agents::move_rows(model);
}

fn mode_changed(model: &mut TuiModel, mode: PermissionMode) {
    if model.keys.mode == Some(mode) {
        model.keys.mode = None;
    }
    if model.session.mode != mode {
        model.session.mode = mode;
        let words = format!("mode: {}, {}", mode.name(), labels::mode_label(mode));
        let waiting = !model.questions.waiting.is_empty();
        model.say(labels::with_detail(&words, waiting.then(|| "open questions stay".to_owned())));
    }
}

/// Notes the model of the next request. The first event is the initial model, unless there was none;
/// opening a session names the same model again.
fn model_changed(
    model: &mut TuiModel,
    provider: String,
    name: String,
    context_window: Option<u64>,
) {
    let session = &mut model.session;
    let same =
        session.model == name && session.provider.as_ref().is_none_or(|known| *known == provider);
    let known = session.provider.is_some() || session.first_run.is_some();
    session.model = name;
    session.provider = Some(provider);
    session.context_window = context_window;
    session.first_run = None;
    if known && !same {
        model.say(format!("model: {}, from the next request on", model.session.model));
    }
}

/// Notes the effort level, and says so if only that has changed.
fn effort_changed(
    model: &mut TuiModel,
    name: &str,
    effort: Option<String>,
    efforts: Option<Vec<String>>,
) {
    let session = &mut model.session;
    let is_known = session.provider.is_some() && session.model == name;
    session.efforts = efforts;
    if std::mem::replace(&mut session.effort, effort) != session.effort && is_known {
        let effort = session.effort.as_deref().unwrap_or(DEFAULT_EFFORT).to_owned();
        model.say(format!("effort: {effort}, from the next request on"));
    }
}

/// Takes over from a call's result whether its agent was cancelled together with main.
fn agent_reported(model: &mut TuiModel, report: &AgentReport) {
    let path = AgentPath::root().child(report.agent_id);
    if let Some(agent) = model.agents.get_mut(&path)
        && agent.stopped_with_main != report.with_parent
    {
        agent.stopped_with_main = report.with_parent;
        agents::redraw_batches(model, &path);
    }
}

/// Shows information on the hint line; warnings and errors stay in the transcript.
fn notice(model: &mut TuiModel, level: NoticeLevel, text: String) {
    if level == NoticeLevel::Info && !text.contains('\n') {
        model.say(text);
        return;
    }
    model.main.push(ItemKind::Notice { level, text });
}
