//! What the normal screen shows after the screen has gone.

use std::time::Duration;

use super::figures::{clock, count, money};
use super::model::{Agent, Agents, Model};
use super::text::sanitize;
use super::words;

/// Lines of the last answer at most.
const ANSWER_LINES: usize = 200;

/// The lines to print; none when nothing was sent.
#[must_use]
pub fn farewell(model: &Model) -> Vec<String> {
    let session = &model.session;
    if session.prompts == 0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if let Some(answer) = model.main.last_text() {
        let clean = sanitize(answer.trim_end());
        let all = clean.lines().count();
        lines.extend(clean.lines().skip(all.saturating_sub(ANSWER_LINES)).map(str::to_owned));
        lines.push(String::new());
    }
    if let Some(line) = agents_line(model) {
        lines.push(line);
    }
    let prompts = count(session.prompts, "prompt");
    lines.push(format!("session: {prompts} · {}", money(model.total_cost())));
    if model.exit_in_turn {
        let resume =
            if session.resumable { "; resume goes on from its last finished step" } else { "" };
        lines.push(format!("The turn was stopped{resume}"));
    }
    if let Some(id) = session.id.filter(|_| session.resumable) {
        lines.push(format!("caliban --resume {id}"));
    }
    lines
}

/// `3 agents · ✓2 ⊘1 · 0:41 · $0.11`.
fn agents_line(model: &Model) -> Option<String> {
    let agents: Vec<&Agent> = model.agents.iter().collect();
    let mut tally = Agents::tally(agents.iter().copied());
    if tally.all == 0 {
        return None;
    }
    // What still works is being stopped.
    tally.cancelled += tally.running + tally.queued + tally.aside;
    let ends = words::ends(tally, model.settings.glyphs());
    let time = time_at_work(&agents, model.now);
    let (_, cost) = words::sum(agents.iter().copied());
    Some(format!("{} · {ends} · {} · {}", count(tally.all, "agent"), clock(time), money(cost)))
}

/// The time in which at least one of them worked.
fn time_at_work(agents: &[&Agent], now: Duration) -> Duration {
    let span = |agent: &&Agent| Some((agent.run.started?, agent.run.ended.unwrap_or(now)));
    let mut spans: Vec<_> = agents.iter().filter_map(span).collect();
    spans.sort_unstable();
    let mut until = Duration::ZERO;
    spans.into_iter().fold(Duration::ZERO, |sum, (from, to)| {
        let more = to.saturating_sub(from.max(until));
        until = until.max(to);
        sum + more
    })
}
