//! The words and signs for states. Every state is a sign and a word, so that colour is never needed.

use std::time::Duration;

use crate::protocol::event::ShellEnd;
use crate::protocol::{AgentPath, Cost, Denial, End};

use super::figures::{clock, count, ordinal, tokens};
use super::model::{Agent, Agents, Job, Model, Phase, Run, Tally};
use super::text::{one_line, truncate};
use super::theme::Glyphs;

/// The words, and after a dot more of them, if there are any.
#[must_use]
pub fn joined(words: &str, more: Option<String>) -> String {
    more.map_or_else(|| words.to_owned(), |more| format!("{words} · {more}"))
}

/// After this long a running tool shows its own time, and a silent agent says so.
const OWN_TIME: Duration = Duration::from_secs(5);

/// After this long without a sign an agent says so.
const SILENT: Duration = Duration::from_secs(40);

/// The sign before a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyph {
    Queued,
    Spinner,
    Waits,
    Asks,
    Done,
    Partial,
    Cancelled,
    Failed,
    Empty,
}

impl Glyph {
    /// The sign itself. `frame` counts the spinner's steps; `None` stands still.
    #[must_use]
    pub fn sign(self, glyphs: &Glyphs, frame: Option<usize>) -> &'static str {
        match self {
            Self::Queued => glyphs.queued,
            Self::Spinner => {
                let frames = glyphs.spinner;
                frames.get(frame.unwrap_or(2) % frames.len().max(1)).copied().unwrap_or_default()
            }
            Self::Waits => glyphs.waits,
            Self::Asks => glyphs.asks,
            Self::Done => glyphs.done,
            Self::Partial => glyphs.partial,
            Self::Cancelled => glyphs.cancelled,
            Self::Failed => glyphs.failed,
            Self::Empty => glyphs.empty,
        }
    }
}

/// A state: its sign and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub glyph: Glyph,
    pub words: String,
}

fn state(glyph: Glyph, words: impl Into<String>) -> State {
    State { glyph, words: words.into() }
}

/// What an agent does now, or how it ended.
#[must_use]
pub fn agent_state(model: &Model, agent: &Agent) -> State {
    agent_state_of(model, agent, || model.agents.queued())
}

/// The same where the number of queued agents is known, as it is to a caller that draws many agents.
#[must_use]
pub fn agent_state_of(model: &Model, agent: &Agent, queued: impl FnOnce() -> usize) -> State {
    let run = &agent.run;
    if let Phase::Ended(end) = &run.phase {
        return state(end_glyph(end), agent_end(agent, end));
    }
    if run.cancelling {
        return state(Glyph::Spinner, "cancelling");
    }
    if let Some(asks) = asks(model, &agent.path) {
        return asks;
    }
    if let Phase::Queued { place } = run.phase {
        let all = queued().max(place);
        return state(Glyph::Queued, format!("queued, {} of {all}", ordinal(place)));
    }
    let children = model.agents.awaited(&agent.path).count();
    if children > 0 {
        return state(Glyph::Waits, format!("waits for {}", count(children, "agent")));
    }
    state(Glyph::Spinner, run_words(run, model.now))
}

/// What a run does, without looking at questions and children.
#[must_use]
pub fn run_words(run: &Run, now: Duration) -> String {
    if let Some((wait, since)) = run.waits.last() {
        return format!("{wait} {}", clock(now.saturating_sub(*since)));
    }
    match &run.phase {
        Phase::Retrying { until, attempt, limit, reason } => {
            let wait = until.saturating_sub(now).as_secs_f32().ceil();
            format!("retrying in {wait:.0} s: {reason} ({attempt} of {limit})")
        }
        Phase::Tools => tool_words(run, now),
        // Nothing of a summary is shown while it is written: that it is silent is no news.
        Phase::Compacting => "compacting".to_owned(),
        phase => {
            let silent = now.saturating_sub(run.last_sign);
            if silent >= SILENT {
                return format!("no sign for {} s (stalls at 120 s)", silent.as_secs());
            }
            match phase {
                Phase::Thinking => "thinking".to_owned(),
                Phase::Writing => "writing".to_owned(),
                _ if run.turn > 1 && run.limit == Some(run.turn) => {
                    format!("turn {} of {}, summing up", run.turn, run.turn)
                }
                _ if run.turn > 1 => "thinking".to_owned(),
                _ => "starting".to_owned(),
            }
        }
    }
}

fn tool_words(run: &Run, now: Duration) -> String {
    let Some(tool) = run.tools.last() else { return "working".to_owned() };
    let mut words = one_line(&format!("{} {}", tool.name, tool.summary));
    let own = now.saturating_sub(tool.since);
    if own >= OWN_TIME {
        words = format!("{words} {}", clock(own));
    }
    if run.tools.len() > 1 {
        words = format!("{words} +{}", run.tools.len() - 1);
    }
    words
}

/// The state of an agent that asks, if it does.
fn asks(model: &Model, path: &AgentPath) -> Option<State> {
    let questions = &model.questions.waiting;
    let at = questions.iter().position(|waiting| waiting.question.path == *path)?;
    let waiting = questions.get(at)?;
    let time = model.now.saturating_sub(waiting.since);
    let shown = model.questions.open.as_ref().is_some_and(|open| open.id == waiting.question.id);
    let words = if at == 0 || shown {
        let asks = if time >= OWN_TIME {
            format!("asks you {}", clock(time))
        } else {
            "asks you".to_owned()
        };
        format!("{asks}: {}", call_subject(&waiting.question.tool, &waiting.question.input))
    } else {
        format!("asks you, {} in line", ordinal(at + 1))
    };
    Some(state(Glyph::Asks, words))
}

/// A state in as few words as a row has room for.
#[must_use]
pub fn row_words(model: &Model, agent: &Agent, state: &State) -> String {
    let asked = model.questions.waiting.iter().find(|waiting| waiting.question.path == agent.path);
    match asked {
        Some(waiting) if state.glyph == Glyph::Asks && state.words.contains(':') => {
            format!("asks you: {}", waiting.question.tool)
        }
        _ => state.words.clone(),
    }
}

/// A call in a few words: the tool and its most telling input.
#[must_use]
pub fn call_subject(tool: &str, input: &serde_json::Value) -> String {
    match crate::protocol::call_subject(input) {
        Some(field) => one_line(&format!("{tool} {field}")),
        None => tool.to_owned(),
    }
}

/// Describes a denial, such as `denied by you`.
#[must_use]
pub fn denied(denial: &Denial) -> String {
    let by = if denial.by_user { "denied by you" } else { "denied" };
    match &denial.reason {
        Some(reason) => format!("{by}: {}", one_line(reason)),
        None => by.to_owned(),
    }
}

/// The sign of an end.
#[must_use]
pub fn end_glyph(end: &End) -> Glyph {
    match end {
        End::Completed => Glyph::Done,
        End::MaxTurns { .. } | End::Budget { .. } | End::TimeLimit { .. } => Glyph::Partial,
        End::Cancelled { .. } | End::Interrupted => Glyph::Cancelled,
        End::Failed { .. } | End::Refused => Glyph::Failed,
        End::Empty => Glyph::Empty,
    }
}

/// An end in words.
#[must_use]
pub fn end_words(end: &End) -> String {
    match end {
        End::Completed => "done".to_owned(),
        End::MaxTurns { limit } => format!("turn limit {limit}, partial"),
        End::Budget { what } => format!("budget {what} spent, partial"),
        End::TimeLimit { limit } => format!("time limit {}, partial", clock(*limit)),
        End::Cancelled { before_start: true } => "cancelled before it started".to_owned(),
        End::Cancelled { before_start: false } => "cancelled by you".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Failed { failure, message } => {
            let message = one_line(message);
            if message.is_empty() {
                format!("failed: {}", failure.words())
            } else if message.to_lowercase().starts_with(failure.words()) {
                format!("failed: {message}")
            } else {
                format!("failed: {}: {message}", failure.words())
            }
        }
        End::Refused => "refused by the model".to_owned(),
        End::Empty => "ended without a text".to_owned(),
    }
}

/// How this agent ended, in words.
fn agent_end(agent: &Agent, end: &End) -> String {
    match end {
        End::Cancelled { before_start: false } if agent.with_main => {
            "cancelled with main".to_owned()
        }
        end => end_words(end),
    }
}

/// Who gets the text of an agent that was cancelled alone; `None` where its parent was stopped too,
/// so that nobody does.
#[must_use]
pub fn partial_text(model: &Model, agent: &Agent) -> Option<String> {
    let parent = agent.path.parent()?;
    let stopped = if parent.is_root() {
        agent.with_main || (model.run.cancelling && !agent.aside)
    } else {
        model.agents.get(&parent).is_none_or(|parent| {
            let cancelled = matches!(parent.run.phase, Phase::Ended(End::Cancelled { .. }));
            parent.run.cancelling || parent.with_main || cancelled
        })
    };
    (!stopped).then(|| format!("partial text goes to {}", model.name(&parent)))
}

/// An end in as few words as a folded line has room for.
#[must_use]
pub fn short_end(agent: &Agent, end: &End) -> String {
    match end {
        End::MaxTurns { .. } => "turn limit, partial".to_owned(),
        End::Failed { failure, .. } => format!("failed: {}", failure.words()),
        other => agent_end(agent, other),
    }
}

/// The panel's first line: `3 agents · 2 running · ⚑ 1 asks`. Ends are counted once there are any.
#[must_use]
pub fn tally_words(tally: Tally, asks: usize, glyphs: &Glyphs, done: bool) -> String {
    let mut parts = vec![count(tally.all, "agent")];
    let mut running = tally.running;
    running = running.saturating_sub(asks);
    if running > 0 {
        parts.push(format!("{running} running"));
    }
    if tally.queued > 0 {
        parts.push(format!("{} queued", tally.queued));
    }
    if asks > 0 {
        let sign =
            if done { String::new() } else { format!("{} ", Glyph::Asks.sign(glyphs, None)) };
        let verb = if asks == 1 { "asks" } else { "ask" };
        let whom = if done { " you" } else { "" };
        parts.push(format!("{sign}{asks} {verb}{whom}"));
    }
    parts.extend(aside_words(tally));
    let ends = ends_words(tally, glyphs);
    if !ends.is_empty() {
        parts.push(ends);
    }
    parts.join(" · ")
}

/// How many of them have gone to the background.
#[must_use]
pub fn aside_words(tally: Tally) -> Option<String> {
    (tally.aside > 0).then(|| format!("{} in the background", tally.aside))
}

/// What a background command does, or how it ended.
#[must_use]
pub fn job_state(job: &Job) -> State {
    match &job.ended {
        None if job.killing => state(Glyph::Spinner, "being killed"),
        None => state(Glyph::Spinner, one_line(&job.command)),
        Some((_, end)) => state(job_glyph(end), one_line(&end.to_string())),
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

/// How many ended how: `✓1 ⊘1 ✗1`.
#[must_use]
pub fn ends(tally: Tally, glyphs: &Glyphs) -> String {
    let ended = [
        (Glyph::Done, tally.done),
        (Glyph::Cancelled, tally.cancelled),
        (Glyph::Failed, tally.failed),
        (Glyph::Partial, tally.partial),
        (Glyph::Empty, tally.empty),
    ];
    let there = ended.iter().filter(|(_, number)| *number > 0);
    let parts: Vec<String> =
        there.map(|(glyph, number)| format!("{}{number}", glyph.sign(glyphs, None))).collect();
    parts.join(" ")
}

/// As [`ends`]; failures alone are spelt out while others work.
fn ends_words(tally: Tally, glyphs: &Glyphs) -> String {
    let others = tally.done + tally.cancelled + tally.partial + tally.empty;
    if others == 0 && tally.failed > 0 {
        return format!("{} {} failed", Glyph::Failed.sign(glyphs, None), tally.failed);
    }
    ends(tally, glyphs)
}

/// How many questions wait: `⚑ 2 wait`.
#[must_use]
pub fn waiting(model: &Model) -> String {
    let waiting = model.questions.waiting.len();
    let verb = if waiting == 1 { "waits" } else { "wait" };
    format!("{} {waiting} {verb}", Glyph::Asks.sign(model.settings.glyphs(), None))
}

/// How many of the shown agents ask.
#[must_use]
pub fn asking<'a>(model: &Model, agents: impl Iterator<Item = &'a Agent>) -> usize {
    let asks = |agent: &&Agent| {
        model.questions.waiting.iter().any(|waiting| waiting.question.path == agent.path)
    };
    agents.filter(asks).count()
}

/// What main does, for the rule over the prompt; empty when it is idle.
#[must_use]
pub fn main_words(model: &Model) -> String {
    if !model.main_works() {
        return String::new();
    }
    if model.run.cancelling {
        return "stopping".to_owned();
    }
    if model.questions.waiting.iter().any(|waiting| waiting.question.path.is_root()) {
        return "waits for you".to_owned();
    }
    let agents = model.waited_for().len();
    if agents > 0 {
        return format!("waits for {}", count(agents, "agent"));
    }
    if !model.run.waits.is_empty() {
        return run_words(&model.run, model.now);
    }
    let elapsed = clock(model.now.saturating_sub(model.run.since));
    match &model.run.phase {
        Phase::Tools => match model.run.tools.last() {
            Some(tool) => {
                let own = clock(model.now.saturating_sub(tool.since));
                format!("runs {} {own}", one_line(&format!("{} {}", tool.name, tool.summary)))
            }
            None => "works".to_owned(),
        },
        Phase::Retrying { .. } => run_words(&model.run, model.now),
        _ => format!("{} {elapsed}", run_words(&model.run, model.now)),
    }
}

/// The line where a summary took the place of what is above it.
#[must_use]
pub fn compacted(before: u64, after: u64) -> String {
    let (before, after) = (tokens(before), tokens(after));
    format!("compacted: {before} to {after} tokens · goes on from a summary")
}

/// What the model read beside a stored prompt: its beginning.
#[must_use]
pub fn beside(text: &str) -> String {
    format!("beside it: {}", truncate(&one_line(text), 100))
}

/// Tokens and cost of an agent with all below it.
#[must_use]
pub fn spent(agents: &Agents, path: &AgentPath) -> (u64, Cost) {
    sum(agents.within(path))
}

/// Tokens and cost of some agents, each without those below it.
#[must_use]
pub fn sum<'a>(agents: impl Iterator<Item = &'a Agent>) -> (u64, Cost) {
    agents.fold((0, Cost::default()), |(tokens, mut cost), agent| {
        cost += agent.run.cost;
        (tokens + agent.run.usage.counted(), cost)
    })
}
