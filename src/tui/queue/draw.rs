//! The lines of the queued messages.

use ratatui::text::Line;

use crate::protocol::PromptTiming;
use crate::tui::agents::RunPhase;
use crate::tui::agents::row::task;
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::TuiModel;
use crate::tui::paint::Painter;
use crate::tui::queue::{MessageState, QueuedMessage};
use crate::tui::text::{one_line, truncate, width};

/// Cells of a message that its keys leave free.
const MIN_TEXT: usize = 12;

/// Cells of the task of an agent that has ended.
const MAX_TASK: usize = 24;

/// The lines of the queued messages, the newest last.
pub fn draw(model: &TuiModel, rows: usize, room: u16, painter: Painter<'_>) -> Vec<Line<'static>> {
    let all: Vec<&QueuedMessage> = model.queue.visible().collect();
    let skip = all.len().saturating_sub(rows);
    // The keys act on the newest one, and only from the empty prompt for main.
    let acts = model.composer.is_empty() && model.focus.is_none();
    let newest = all.len().checked_sub(1).filter(|_| acts);
    all.iter()
        .enumerate()
        .skip(skip)
        .map(|(at, queued)| {
            let more = if at == skip && skip > 0 { format!("+{skip} · ") } else { String::new() };
            let room = usize::from(room).saturating_sub(1 + width(&more));
            let words = line(model, queued, newest == Some(at), room);
            Line::styled(format!(" {more}{words}"), painter.theme.dim)
        })
        .collect()
}

/// `↳ main, next step   also check the tests    Enter: at end · ↑ edit`: the recipient, when it reads
/// the message, the message, and the keys if they act on it.
fn line(model: &TuiModel, queued: &QueuedMessage, has_keys: bool, room: usize) -> String {
    let (before, toggle) = recipient(model, queued);
    let before = format!("↳ {before}   ");
    let up = model.keymap.labels(KeyContext::Prompt, &[Action::Up]).filter(|_| has_keys);
    let edit = up.map(|key| match queued.state {
        MessageState::Orphaned => format!("{key} recalls it"),
        _ => format!("{key} edit"),
    });
    let edit = edit.filter(|_| queued.state != MessageState::Held);
    let enter = model.keymap.label(KeyContext::Prompt, Action::Submit).filter(|_| has_keys);
    let toggle = enter.zip(toggle).map(|(key, words)| format!("{key}: {words}"));
    let all: Vec<String> = toggle.into_iter().chain(edit.clone()).collect();
    let left = |keys: &str| room.saturating_sub(width(&before) + width(keys));
    let keys = [all.join(" · "), edit.unwrap_or_default()].map(|keys| format!("    {keys}"));
    let keys = keys.iter().find(|keys| left(keys) >= MIN_TEXT).map_or("", |keys| keys.trim_end());
    let text = one_line(&queued.text);
    let text = truncate(&text, left(keys));
    truncate(&format!("{before}{text}{keys}"), room).into_owned()
}

/// Returns the recipient and the time of a message, such as `main, next step`, and the time to which Enter
/// would change it.
pub fn recipient(model: &TuiModel, queued: &QueuedMessage) -> (String, Option<&'static str>) {
    let name = model.label(&queued.to);
    match (queued.state, queued.when) {
        (MessageState::Orphaned, _) => {
            // Another agent may have its number by now.
            let task = model.agents.get(&queued.to).map(task).unwrap_or_default();
            let task = truncate(&task, MAX_TASK);
            (format!("{name}, {task}, ended before reading this"), None)
        }
        (MessageState::Held, _) => (format!("{name} once that is done"), None),
        (MessageState::Waiting, _) if queued.to.is_root() && model.prompt_waits_for_shell() => {
            (format!("{name} waits for the command"), None)
        }
        (_, PromptTiming::Done) => (format!("{name}, at end"), Some("at next step")),
        (_, PromptTiming::NextStep) => {
            (format!("{name}, {}", next_step(model, queued)), Some("at end"))
        }
    }
}

/// Describes when the recipient's next step comes.
fn next_step(model: &TuiModel, queued: &QueuedMessage) -> String {
    let run = model.agents.get(&queued.to).map_or(&model.run, |agent| &agent.run);
    if queued.to.is_root() && model.agents.foreground().next().is_some() {
        return "with the agents' results".to_owned();
    }
    match (&run.phase, run.tools.last()) {
        (RunPhase::Tools, Some(tool)) => format!("after {}", tool.name),
        (RunPhase::Queued { .. }, _) => "when it starts".to_owned(),
        _ => "next step".to_owned(),
    }
}
