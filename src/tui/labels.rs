//! Labels for states. Every state has a glyph and a word, so colour is never needed.

use std::time::Duration;

use crate::protocol::{
    AgentPath, ApiError, Cost, Denial, Failure, PermissionMode, RunEnd, ShellEnd,
};

use unicode_segmentation::UnicodeSegmentation;

use super::format::{clock, count, ordinal, tokens, tool_label};
use super::text::{marked_line, one_line, truncate, width};
use super::theme::{Glyph, Glyphs};
use crate::tui::agents::{AgentSet, AgentState, AgentTally, RunPhase, RunState};
use crate::tui::background::Job;
use crate::tui::model::TuiModel;

/// Appends `more`, if any, after a dot.
pub fn with_detail(words: &str, more: Option<String>) -> String {
    more.map_or_else(|| words.to_owned(), |more| format!("{words} · {more}"))
}

/// A tool that runs longer than this shows its own time; so does a question.
pub const OWN_CLOCK_AFTER: Duration = Duration::from_secs(5);

/// The state of an agent that runs in another program.
pub const ELSEWHERE: &str = "at work in the other caliban";

/// An agent without events for this long is shown as silent.
const SILENT_AFTER: Duration = Duration::from_secs(40);

/// The label of a state: a glyph and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLabel {
    pub glyph: Glyph,
    pub text: String,
    /// Bytes at the end of the text that stay when it is truncated, such as a clock.
    tail: usize,
    /// Stands before the words.
    pub mark: Option<&'static str>,
}

/// Between a cause and what follows from it.
const APART: &str = " · ";

impl StatusLabel {
    /// A state in these words.
    pub fn new(glyph: Glyph, words: impl Into<String>) -> Self {
        Self { glyph, text: words.into(), tail: 0, mark: None }
    }

    /// Puts a mark before the words, also before those that take their place.
    pub fn mark(&mut self, mark: &'static str) {
        self.mark = Some(mark);
    }

    /// Adds words, before what stays when the label is truncated.
    pub fn push_words(&mut self, words: &str) {
        self.text.insert_str(self.words().len(), words);
    }

    /// The words without what follows them, such as a clock.
    pub fn words(&self) -> &str {
        &self.text[..self.text.len().saturating_sub(self.tail)]
    }

    /// The words in at most `room` cells. Truncates what is before the clock or the count at the end.
    pub fn fitted(&self, room: usize) -> String {
        let (text, tail) = self.text.split_at(self.text.len().saturating_sub(self.tail));
        let kept = width(tail);
        if width(&self.text) <= room || kept + 2 > room {
            // What changes says more than what caused it.
            let alone = tail.strip_prefix(APART).filter(|_| width(&self.text) > room);
            return truncate(alone.unwrap_or(&self.text), room).into_owned();
        }
        format!("{}{tail}", truncate(text, room - kept))
    }
}

fn label(glyph: Glyph, words: impl Into<String>) -> StatusLabel {
    StatusLabel::new(glyph, words)
}

/// Describes what an agent is doing or how it ended.
pub fn agent_status(model: &TuiModel, agent: &AgentState) -> StatusLabel {
    let run = &agent.run;
    if let RunPhase::Ended(end) = &run.phase {
        return label(Glyph::of_end(end), agent_end_label(agent, end));
    }
    if run.phase == RunPhase::Elsewhere {
        return label(Glyph::Waits, ELSEWHERE);
    }
    if run.cancelling {
        return label(Glyph::Spinner, "cancelling");
    }
    if let Some(asks) = question_status(model, &agent.path) {
        return asks;
    }
    if let RunPhase::Queued { place } = run.phase {
        return label(Glyph::Queued, queue_label(place));
    }
    let awaited = model.agents.awaited_by(&agent.path);
    let children = awaited.filter(|child| is_child(child, &agent.path)).count();
    if children > 0 {
        return label(Glyph::Waits, waiting_words(model, agent, children));
    }
    run_status(run, model.now)
}

/// The place of an agent that waits for a slot, or of its question: `3rd in line`.
pub fn queue_label(place: usize) -> String {
    format!("{} in line", ordinal(place))
}

/// Whether an agent was started by the one at this path, not by another one below it.
fn is_child(agent: &AgentState, path: &AgentPath) -> bool {
    agent.path.depth() == path.depth() + 1
}

/// The number of agents that main waits for, without those that they have started themselves.
pub fn awaited_by_main(model: &TuiModel) -> usize {
    let awaited = model.awaited_agents();
    let root = AgentPath::root();
    match awaited.iter().filter(|agent| is_child(agent, &root)).count() {
        0 => awaited.len(),
        children => children,
    }
}

/// `waiting for 2 agents`, or `waiting, 1 of 2 back` once some have ended.
fn waiting_words(model: &TuiModel, agent: &AgentState, working: usize) -> String {
    let below = model.agents.within(&agent.path);
    let back = below.filter(|child| {
        let direct = is_child(child, &agent.path) && !child.in_background;
        direct && child.run.ended.is_some_and(|at| !child.alive() && at >= agent.run.since)
    });
    match back.count() {
        0 => format!("waiting for {}", count(working, "agent")),
        back => format!("waiting, {back} of {} back", working + back),
    }
}

/// The state of a run, ignoring questions and children.
pub fn run_status(run: &RunState, now: Duration) -> StatusLabel {
    let (text, tail) = run_words(run, now);
    StatusLabel { glyph: Glyph::Spinner, text, tail, mark: None }
}

/// Describes what a run is doing, ignoring questions and children.
pub fn run_label(run: &RunState, now: Duration) -> String {
    run_words(run, now).0
}

/// Whether nothing has come from the model for so long that it may have stalled.
pub fn is_silent(run: &RunState, now: Duration) -> bool {
    now.saturating_sub(run.last_activity) >= SILENT_AFTER
}

/// Describes what a run is doing, with the number of bytes at the end that are never cut off.
fn run_words(run: &RunState, now: Duration) -> (String, usize) {
    let with_tail = |words: String, tail: String| (format!("{words}{tail}"), tail.len());
    if let Some((wait, since)) = run.waits.last() {
        return with_tail(wait.to_string(), format!(" {}", clock(now.saturating_sub(*since))));
    }
    let words = match &run.phase {
        RunPhase::Retrying { until, attempt, limit, cause } => {
            let wait = until.saturating_sub(now).as_secs_f32().ceil();
            let asked = now.saturating_sub(*until);
            let does = if wait > 0.0 {
                format!("retrying in {wait:.0} s")
            } else if asked >= OWN_CLOCK_AFTER {
                format!("trying again for {}", clock(asked))
            } else {
                "trying again".to_owned()
            };
            let tail = format!("{APART}{does} ({attempt} of {limit})");
            return with_tail(cause.to_string(), tail);
        }
        RunPhase::Tools => {
            let (words, tail) = tool_words(run, now);
            return with_tail(words, tail);
        }
        // A summary is not shown while it is written, so its silence means nothing.
        RunPhase::Compacting => "compacting".to_owned(),
        phase => {
            if is_silent(run, now) {
                let silent = now.saturating_sub(run.last_activity);
                return (format!("no data for {} s (stalls at 120 s)", silent.as_secs()), 0);
            }
            match phase {
                RunPhase::Thinking => "thinking".to_owned(),
                RunPhase::Writing => "writing".to_owned(),
                _ if run.turn > 1 && run.limit == Some(run.turn) => {
                    format!("turn {} of {}, summing up", run.turn, run.turn)
                }
                _ if run.turn > 1 => "thinking".to_owned(),
                _ => "starting".to_owned(),
            }
        }
    };
    (words, 0)
}

/// The last call, and what must not be cut off: its time and the number of other calls.
fn tool_words(run: &RunState, now: Duration) -> (String, String) {
    let Some(tool) = run.tools.last() else { return ("working".to_owned(), String::new()) };
    let words = one_line(&format!("{} {}", tool_label(&tool.name), tool.summary));
    let mut tail = String::new();
    let own = now.saturating_sub(tool.since);
    if own >= OWN_CLOCK_AFTER {
        tail.push_str(&format!(" {}", clock(own)));
    }
    if run.tools.len() > 1 {
        tail.push_str(&format!(" +{}", run.tools.len() - 1));
    }
    (words, tail)
}

/// Describes a running call: `reading src/session.rs`.
pub fn call_label(tool: &str, subject: &str) -> String {
    let verb = match tool {
        "Read" => "reading",
        "Edit" => "editing",
        "Write" => "writing",
        "Grep" | "Glob" => "searching for",
        "Bash" => "running",
        "WebFetch" => "fetching",
        "TodoWrite" => "updating the to-do list:",
        other => return one_line(&format!("{} {subject}", tool_label(other))),
    };
    one_line(&format!("{verb} {subject}"))
}

/// The state of an agent with a waiting question, if it has one.
fn question_status(model: &TuiModel, path: &AgentPath) -> Option<StatusLabel> {
    let questions = &model.questions.waiting;
    let at = questions.iter().position(|waiting| waiting.question.path == *path)?;
    let waiting = questions.get(at)?;
    let time = model.now.saturating_sub(waiting.since);
    let asks = match time >= OWN_CLOCK_AFTER {
        true => format!("needs you {}", clock(time)),
        false => "needs you".to_owned(),
    };
    let subject = call_subject(&waiting.question.tool, &waiting.question.input);
    Some(label(Glyph::Asks, format!("{asks}: {subject}")))
}

/// A state in at most `room` cells.
pub fn row_label(model: &TuiModel, agent: &AgentState, state: &StatusLabel, room: usize) -> String {
    let asked = model.questions.waiting.iter().find(|waiting| waiting.question.path == agent.path);
    match asked {
        Some(waiting) if state.glyph == Glyph::Asks && state.text.contains(':') => {
            truncate(&format!("needs you: {}", tool_label(&waiting.question.tool)), room)
                .into_owned()
        }
        _ => state.fitted(room),
    }
}

/// A short description of a call: the tool and its main input.
pub fn call_subject(tool: &str, input: &serde_json::Value) -> String {
    match crate::protocol::call_subject(input) {
        Some(field) => one_line(&format!("{} {field}", tool_label(tool))),
        None => one_line(&tool_label(tool)),
    }
}

/// Describes a denial, such as `denied by you`.
pub fn denial_label(denial: &Denial) -> String {
    let by = match (denial.by_user, denial.declined) {
        (true, true) => "not answered",
        (true, false) => "denied by you",
        (false, _) => "denied",
    };
    match &denial.reason {
        // It says so, and by what.
        Some(reason) if by == "denied" && reason.starts_with("denied ") => one_line(reason),
        Some(reason) => format!("{by}: {}", marked_line(reason)),
        None => by.to_owned(),
    }
}

/// Describes a failure that the provider named so: `failed: timeout`, or `failed: server error (HTTP 500)`.
pub fn failure_label(failure: Failure, error: Option<&ApiError>) -> String {
    format!("failed: {}", failure.describe_with(error))
}

/// The failed request that ended an agent.
fn api_error(agent: &AgentState) -> Option<&ApiError> {
    agent.outcome.as_ref()?.api_error.as_ref()
}

/// Describes an end, of a run whose last request failed so.
fn end_label(end: &RunEnd, error: Option<&ApiError>) -> String {
    match end {
        RunEnd::Cancelled { before_start: false } => "cancelled by you".to_owned(),
        RunEnd::Failed { failure, message } => {
            let message = one_line(message);
            let words = failure.describe_with(error);
            if message.is_empty() {
                failure_label(*failure, error)
            } else if words != failure.describe()
                || message.to_lowercase().starts_with(failure.describe())
            {
                format!("failed: {message}")
            } else {
                format!("failed: {}: {message}", failure.describe())
            }
        }
        other => other.describe(),
    }
}

/// Describes how this agent ended.
pub fn agent_end_label(agent: &AgentState, end: &RunEnd) -> String {
    match end {
        RunEnd::Cancelled { before_start: false } if agent.stopped_with_main => {
            "cancelled with main".to_owned()
        }
        RunEnd::Cancelled { .. } if agent.stopped_with_parent => {
            "cancelled with its parent".to_owned()
        }
        end => end_label(end, api_error(agent)),
    }
}

/// Names the recipient of the text of a cancelled agent; `None` if its parent was stopped too.
pub fn partial_text_note(model: &TuiModel, agent: &AgentState) -> Option<String> {
    let parent = agent.path.parent()?;
    let stopped = if parent.is_root() {
        agent.stopped_with_main || (model.run.cancelling && !agent.in_background)
    } else {
        model.agents.get(&parent).is_none_or(|parent| {
            let cancelled = matches!(parent.run.phase, RunPhase::Ended(RunEnd::Cancelled { .. }));
            parent.run.cancelling || parent.stopped_with_main || cancelled
        })
    };
    if stopped || agent.result_read {
        return None;
    }
    match parent.is_root() && !model.main_is_busy() {
        // The call of one that main has waited for returned the text.
        true if !agent.in_background => None,
        true => Some("partial text goes to main with its next message".to_owned()),
        false => Some(format!("partial text goes to {}", model.label(&parent))),
    }
}

/// Describes an end, shortened for a folded line.
pub fn short_end_label(agent: &AgentState, end: &RunEnd) -> String {
    match end {
        RunEnd::MaxTurns { .. } => "turn limit, partial".to_owned(),
        RunEnd::Failed { failure, .. } => failure_label(*failure, api_error(agent)),
        other => agent_end_label(agent, other),
    }
}

/// The panel's first line in pieces: `3 agents`, `2 running`, `⚑ 1 needs you`, each with the state that
/// it counts. Ends are counted once there are any.
pub fn tally_pieces(
    tally: AgentTally,
    asks: usize,
    glyphs: &Glyphs,
) -> Vec<(String, Option<Glyph>)> {
    let mut parts = vec![(count(tally.all, "agent"), None)];
    let running = tally.running.saturating_sub(asks);
    if running > 0 {
        parts.push((format!("{running} running"), None));
    }
    if tally.queued > 0 {
        parts.push((format!("{} queued", tally.queued), None));
    }
    if tally.elsewhere > 0 {
        parts.push((format!("{} {ELSEWHERE}", tally.elsewhere), None));
    }
    if asks > 0 {
        let verb = if asks == 1 { "needs you" } else { "need you" };
        let sign = Glyph::Asks.sign(glyphs, None);
        parts.push((format!("{sign} {asks} {verb}"), Some(Glyph::Asks)));
    }
    parts.extend(background_label(tally).map(|words| (words, None)));
    let others = tally.done + tally.cancelled + tally.partial + tally.empty;
    let word = if others == 0 { " failed" } else { "" };
    let ended = [
        (Glyph::Done, tally.done, ""),
        (Glyph::Cancelled, tally.cancelled, ""),
        (Glyph::Failed, tally.failed, word),
        (Glyph::Partial, tally.partial, ""),
        (Glyph::Empty, tally.empty, ""),
    ];
    let ended = ended.iter().filter(|(_, number, _)| *number > 0);
    parts.extend(ended.map(|(glyph, number, word)| {
        (format!("{} {number}{word}", glyph.sign(glyphs, None)), Some(*glyph))
    }));
    parts
}

/// The number of agents in the background, if any.
pub fn background_label(tally: AgentTally) -> Option<String> {
    (tally.in_background > 0).then(|| format!("{} in the background", tally.in_background))
}

/// Describes what a background command is doing or how it ended.
pub fn job_status(job: &Job) -> StatusLabel {
    match &job.ended {
        None if job.killing => label(Glyph::Spinner, "being killed"),
        None => label(Glyph::Spinner, "running"),
        Some((_, end)) => label(job_glyph(end), one_line(&end.to_string())),
    }
}

fn job_glyph(end: &ShellEnd) -> Glyph {
    match end {
        ShellEnd::Code { code: 0 } => Glyph::Done,
        ShellEnd::Killed => Glyph::Cancelled,
        ShellEnd::Code { .. } | ShellEnd::Signal { .. } | ShellEnd::TimedOut { .. } => {
            Glyph::Failed
        }
    }
}

/// Counts of ends by kind: `✓1 ⊘1 ✗1`, with `gap` between sign and number.
pub fn end_counts(tally: AgentTally, glyphs: &Glyphs, gap: &str) -> String {
    let ended = [
        (Glyph::Done, tally.done),
        (Glyph::Cancelled, tally.cancelled),
        (Glyph::Failed, tally.failed),
        (Glyph::Partial, tally.partial),
        (Glyph::Empty, tally.empty),
    ];
    let there = ended.iter().filter(|(_, number)| *number > 0);
    let parts: Vec<String> =
        there.map(|(glyph, number)| format!("{}{gap}{number}", glyph.sign(glyphs, None))).collect();
    parts.join(" ")
}

/// How many questions wait: `⚑ 2 questions waiting`.
pub fn waiting_label(model: &TuiModel) -> String {
    let waiting = model.questions.waiting.len();
    let verb = if waiting == 1 { "question waiting" } else { "questions waiting" };
    format!("{} {waiting} {verb}", Glyph::Asks.sign(model.settings.glyphs(), None))
}

/// The number of agents with a waiting question.
pub fn count_asking<'a>(model: &TuiModel, agents: impl Iterator<Item = &'a AgentState>) -> usize {
    let asks = |agent: &&AgentState| {
        model.questions.waiting.iter().any(|waiting| waiting.question.path == agent.path)
    };
    agents.filter(asks).count()
}

/// Describes what main is doing, for the rule above the prompt; empty when idle.
pub fn main_label(model: &TuiModel) -> String {
    if !model.main_is_busy() {
        return String::new();
    }
    if model.run.cancelling {
        return "stopping".to_owned();
    }
    if model.questions.waiting.iter().any(|waiting| waiting.question.path.is_root()) {
        return "waiting for you".to_owned();
    }
    let agents = awaited_by_main(model);
    if agents > 0 {
        return format!("waiting for {}", count(agents, "agent"));
    }
    if !model.run.waits.is_empty() {
        return run_label(&model.run, model.now);
    }
    let elapsed = clock(model.now.saturating_sub(model.run.since));
    match &model.run.phase {
        RunPhase::Tools => match model.run.tools.last() {
            Some(tool) => {
                let own = clock(model.now.saturating_sub(tool.since));
                format!(
                    "running {} {own}",
                    one_line(&format!("{} {}", tool_label(&tool.name), tool.summary))
                )
            }
            None => "working".to_owned(),
        },
        RunPhase::Retrying { .. } => run_label(&model.run, model.now),
        _ => format!("{} {elapsed}", run_label(&model.run, model.now)),
    }
}

/// The line that marks a compaction.
pub fn compaction_label(before: u64, after: u64) -> String {
    let (before, after) = (tokens(before), tokens(after));
    format!("compacted: {before} to {after} tokens · continues from a summary")
}

/// Tokens and cost of an agent, together with all agents below it if it has a limit on money, which
/// they share.
pub fn agent_usage(agents: &AgentSet, agent: &AgentState) -> (u64, Cost) {
    match agent.info.max_usd {
        Some(_) => sum_usage(agents.within(&agent.path)),
        None => sum_usage([agent].into_iter()),
    }
}

/// Tokens and cost of these agents, each without the agents below it.
pub fn sum_usage<'a>(agents: impl Iterator<Item = &'a AgentState>) -> (u64, Cost) {
    agents.fold((0, Cost::default()), |(tokens, mut cost), agent| {
        cost += agent.run.cost;
        (tokens + agent.run.usage.counted(), cost)
    })
}

/// Says how much of the screen was copied.
pub fn copied_label(text: &str) -> String {
    match text.lines().count() {
        _ if text.trim().is_empty() => "nothing to copy there".to_owned(),
        1 => format!("copied {}", count(text.graphemes(true).count(), "character")),
        lines => format!("copied {}", count(lines, "line")),
    }
}

/// Describes a mode, for the picker and the notice on a change.
pub fn mode_label(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "reads freely, asks for everything else",
        PermissionMode::AcceptEdits => "edits run without asking",
        PermissionMode::Plan => "read-only: explore and plan",
        PermissionMode::DontAsk => "denies what no rule allows, without asking",
        PermissionMode::BypassPermissions => "runs everything that no rule denies",
    }
}
