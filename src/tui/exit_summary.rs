//! The summary printed to the normal screen on exit.

use std::time::Duration;

use super::format::{clock, count, join_figures, money};
use super::labels;
use super::layout::MAX_PROSE_WIDTH;
use super::text::{Highlighter, MarkdownStream, Widths, sanitize};
use super::theme::Theme;
use crate::tui::agents::{AgentSet, AgentState};
use crate::tui::linear::clean_row;
use crate::tui::model::TuiModel;
use crate::tui::queue::QueuedMessage;

/// Narrower screens than this say nothing about the terminal afterwards.
const MIN_WIDTH: u16 = 40;

/// Upper bound on printed lines of the last answer.
const ANSWER_LINES: usize = 200;

/// Upper bound on printed lines of each message that nobody has read, and on the messages.
const UNREAD_LINES: usize = 10;
const UNREAD_MESSAGES: usize = 20;

/// The lines to print. If no prompt was sent, only how to resume a session that has some.
pub fn exit_summary(model: &TuiModel) -> Vec<String> {
    let session = &model.session;
    let resume = session.id.filter(|_| session.resumable);
    let resume = resume.map(|id| format!("caliban --resume {id}"));
    if session.prompts == 0 {
        return resume.filter(|_| session.earlier_prompts > 0).into_iter().collect();
    }
    let mut lines = Vec::new();
    // With a screen reader, it stands on the terminal already.
    if let Some(answer) = model.main.last_text().filter(|_| !model.settings.screen_reader) {
        lines.extend(rendered(model, answer));
        lines.push(String::new());
    }
    if let Some(line) = agents_summary(model) {
        lines.push(line);
    }
    let facts =
        [count(session.earlier_prompts + session.prompts, "prompt"), money(model.total_cost())];
    let between = if model.settings.screen_reader { ", " } else { " · " };
    lines.push(format!("session: {}", join_figures(&facts, between)));
    if model.exit_in_turn {
        let resume =
            if session.resumable { "; resuming continues from its last finished step" } else { "" };
        lines.push(format!("The turn was stopped{resume}"));
    }
    lines.extend(unread_lines(model));
    lines.extend(resume);
    lines
}

/// The messages that no agent has read: those in the queue, and those that have come back from it to the
/// prompt since the user has quit, in the order in which they were sent.
fn unread_lines(model: &TuiModel) -> Vec<String> {
    let mut unread: Vec<&QueuedMessage> =
        model.queue.back.iter().chain(model.queue.visible()).collect();
    unread.sort_by_key(|queued| queued.id.0);
    let number = unread.len();
    if number == 0 {
        return Vec::new();
    }
    let verb = if number == 1 { "was" } else { "were" };
    let (it, stored) = (if number == 1 { "it" } else { "them" }, model.session.resumable);
    let where_now =
        if stored { format!(". Up in the prompt brings {it} back:") } else { ":".to_owned() };
    let head = format!("{} {verb} not read{where_now}", count(number, "message"));
    let shown = unread.iter().take(UNREAD_MESSAGES);
    let texts = shown.flat_map(|queued| message_lines(model, queued));
    let rest = number.saturating_sub(UNREAD_MESSAGES);
    let rest = (rest > 0).then(|| format!("  … +{}", count(rest, "message")));
    std::iter::once(head).chain(texts).chain(rest).collect()
}

/// The first lines of a message, behind the agent that it was for, unless that is main.
fn message_lines(model: &TuiModel, queued: &QueuedMessage) -> Vec<String> {
    let to = match queued.to.is_root() {
        true => String::new(),
        false => format!("to {}: ", model.label(&queued.to)),
    };
    let text = format!("{to}{}", queued.text);
    let mut lines: Vec<String> = text.lines().map(|line| format!("  {}", sanitize(line))).collect();
    let hidden = lines.len().saturating_sub(UNREAD_LINES);
    // One line takes no more room than the words that it is missing.
    if hidden > 1 {
        lines.truncate(UNREAD_LINES);
        lines.push(format!("  … +{}", count(hidden, "line")));
    }
    lines
}

/// The last lines of an answer, rendered for the width of the screen.
fn rendered(model: &TuiModel, answer: &str) -> Vec<String> {
    let mut theme = Theme::no_color();
    theme.glyphs = model.settings.glyphs();
    let mut text = MarkdownStream::whole(answer.trim_end(), &Highlighter::off());
    let width = model.size.0.max(MIN_WIDTH);
    let lines = text.lines(Widths { prose: width.min(MAX_PROSE_WIDTH), wide: width }, &theme);
    let shown = lines.iter().skip(lines.len().saturating_sub(ANSWER_LINES));
    shown.map(|line| line.to_string().trim_end().to_owned()).collect()
}

/// A line such as `3 agents · ✓2 ⊘1 · 0:41 · $0.11`.
fn agents_summary(model: &TuiModel) -> Option<String> {
    let agents: Vec<&AgentState> = model.agents.iter().collect();
    let mut tally = AgentSet::tally(agents.iter().copied());
    if tally.all == 0 {
        return None;
    }
    // Agents that are still running are being stopped.
    tally.cancelled += tally.running + tally.queued + tally.in_background;
    let ends = labels::end_counts(tally, model.settings.glyphs(), "");
    let time = time_at_work(&agents, model.now);
    let (_, cost) = labels::sum_usage(agents.iter().copied());
    let facts = [count(tally.all, "agent"), ends, clock(time), money(cost)];
    let line = join_figures(&facts, " · ");
    Some(if model.settings.screen_reader { clean_row(&line).text } else { line })
}

/// The time during which at least one of the agents was working.
fn time_at_work(agents: &[&AgentState], now: Duration) -> Duration {
    let span = |agent: &&AgentState| Some((agent.run.started?, agent.run.ended.unwrap_or(now)));
    let mut spans: Vec<_> = agents.iter().filter_map(span).collect();
    spans.sort_unstable();
    let mut until = Duration::ZERO;
    spans.into_iter().fold(Duration::ZERO, |sum, (from, to)| {
        let more = to.saturating_sub(from.max(until));
        until = until.max(to);
        sum + more
    })
}
