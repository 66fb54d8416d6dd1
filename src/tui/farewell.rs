//! What the normal screen shows after the screen has gone.

use super::figures::{clock, count, money};
use super::model::{Agent, Agents, Model};
use super::text::sanitize;
use super::words::Glyph;

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
        lines.push("The turn was stopped; resume goes on from its last finished step".to_owned());
    }
    if let Some(id) = session.id {
        lines.push(format!("caliban --resume {id}"));
    }
    lines
}

/// `3 agents · ✓2 ⊘1 · 0:41 · $0.11`.
fn agents_line(model: &Model) -> Option<String> {
    let agents: Vec<&Agent> = model.agents.iter().collect();
    let tally = Agents::tally(agents.iter().copied());
    if tally.all == 0 {
        return None;
    }
    let ascii = model.settings.ascii();
    let stopped = tally.cancelled + tally.running + tally.queued;
    let ends = [
        (Glyph::Done, tally.done),
        (Glyph::Cancelled, stopped),
        (Glyph::Failed, tally.failed),
        (Glyph::Partial, tally.partial),
        (Glyph::Empty, tally.empty),
    ];
    let there = ends.iter().filter(|(_, number)| *number > 0);
    let ends: Vec<String> =
        there.map(|(glyph, number)| format!("{}{number}", glyph.sign(ascii, None))).collect();
    let from = agents.iter().filter_map(|agent| agent.run.started).min().unwrap_or_default();
    let to = agents.iter().filter_map(|agent| agent.run.ended).max().unwrap_or(model.now);
    let mut cost = crate::protocol::Cost::default();
    for agent in &agents {
        cost += agent.run.cost;
    }
    Some(format!(
        "{} · {} · {} · {}",
        count(tally.all, "agent"),
        ends.join(" "),
        clock(to.saturating_sub(from)),
        money(cost)
    ))
}
