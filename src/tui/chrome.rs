//! The lines around the prompt: queued messages, the rule, the hint, the status.

use ratatui::text::{Line, Span};

use crate::protocol::{PermissionMode, PromptTiming};
use crate::tui::agents::AgentState;
use crate::tui::agents::row::turns;
use crate::tui::agents::run::RunPhase;
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::keymap::{Action, KeyContext};
use crate::tui::model::{MessageState, Metrics, QueuedMessage, TuiModel};
use crate::tui::paint::{Painter, two_ends};
use crate::tui::text::{one_line, truncate, width};
use crate::tui::{hint, labels};

/// Cells between the keys and a notice beside them, including the blanks at the edges.
const NOTICE_GAP: usize = 5;

/// `─ to main · writing 0:12 ────`: the recipient of the prompt, and its state.
pub fn rule(model: &TuiModel, room: u16, small: bool, pen: Painter<'_>) -> Line<'static> {
    let theme = pen.theme;
    let sign = theme.glyphs.rule;
    let mut left = vec![Span::styled(format!("{sign} to "), theme.dim)];
    match model.focused() {
        Some(agent) => {
            left.push(Span::styled(agent.info.name.clone(), pen.agent(agent)));
            left.push(Span::styled(agent_words(model, agent), theme.dim));
        }
        None => {
            left.push(Span::raw("main"));
            let words = labels::main_label(model);
            if !words.is_empty() {
                left.push(Span::styled(format!(" · {words}"), theme.dim));
            }
        }
    }
    if model.composer.text().starts_with('!') {
        left.push(Span::styled(
            " · runs in your shell · the agent sees it with your next prompt",
            theme.question,
        ));
    }
    // A small screen has no status line, but this mode is always shown.
    let bypass = model.session.mode == PermissionMode::BypassPermissions && small;
    let right = if bypass {
        vec![Span::styled(PermissionMode::BypassPermissions.name(), theme.alarm)]
    } else {
        Vec::new()
    };
    two_ends(left, right, usize::from(room), Some((sign, theme.dim)))
}

fn agent_words(model: &TuiModel, agent: &AgentState) -> String {
    let state = labels::agent_status(model, agent);
    let mut parts = vec![truncate(&labels::row_label(model, agent, &state), 36).into_owned()];
    if let Some(elapsed) = agent.run.elapsed(model.now) {
        parts[0] = format!("{} {}", parts[0], clock(elapsed));
        let (used, cost) = labels::tree_usage(&model.agents, &agent.path);
        parts.push(turns(&agent.run));
        parts.push(tokens(used));
        parts.push(money(cost));
    }
    format!(" · {}", parts.join(" · "))
}

/// Queued messages, the newest last.
pub fn queue(model: &TuiModel, rows: usize, room: u16, pen: Painter<'_>) -> Vec<Line<'static>> {
    let shown: Vec<&QueuedMessage> = model.queue.shown().collect();
    let skip = shown.len().saturating_sub(rows);
    let newest = shown.len().saturating_sub(1);
    let visible = shown.iter().enumerate().skip(skip);
    visible
        .map(|(at, queued)| {
            let more = if at == skip && skip > 0 { format!("+{skip} · ") } else { String::new() };
            let room = usize::from(room).saturating_sub(1 + width(&more));
            let words = queued_words(model, queued, at == newest, room);
            Line::styled(format!(" {more}{words}"), pen.theme.dim)
        })
        .collect()
}

/// The recipient, when the message is read, and the keys that act on it. The message itself gets
/// the remaining room.
fn queued_words(model: &TuiModel, queued: &QueuedMessage, newest: bool, room: usize) -> String {
    let name = model.name(&queued.to);
    let text = one_line(&queued.text);
    let hint = |action, words: &str| {
        let key = model.keymap.label(KeyContext::Prompt, action);
        key.map(|key| format!(" · {key}: {words}")).unwrap_or_default()
    };
    let (before, toggle) = match (queued.state, queued.when) {
        (MessageState::Orphaned, _) => {
            let takes = model.keymap.hint(KeyContext::Prompt, Action::Up, "recalls it");
            (labels::with_detail(&format!("{name} ended before reading this"), takes), None)
        }
        (MessageState::Held, _) => (format!("for {name} · read once that is done"), None),
        (_, PromptTiming::Done) => (
            format!("queued for {name} · read when {name} is done"),
            Some("at the next step instead"),
        ),
        (_, PromptTiming::NextStep) => (
            format!("queued for {name} · {}", next_step(model, queued)),
            Some("at the end instead"),
        ),
    };
    let edit = toggle.map_or_else(String::new, |_| hint(Action::Up, "edit"));
    let all = toggle.map_or_else(String::new, |words| hint(Action::Submit, words) + &edit);
    let left = |keys: &str| room.saturating_sub(width(&before) + width(keys) + 4);
    let keys = match newest {
        true if left(&all) >= 12 => all.as_str(),
        true if left(&edit) >= 12 => edit.as_str(),
        _ => "",
    };
    let text = truncate(&text, left(keys).min(40));
    truncate(&format!("{before}: \"{text}\"{keys}"), room).into_owned()
}

/// Describes when the recipient's next step comes.
fn next_step(model: &TuiModel, queued: &QueuedMessage) -> String {
    let run = model.agents.get(&queued.to).map_or(&model.run, |agent| &agent.run);
    if queued.to.is_root() && model.agents.foreground().next().is_some() {
        return "read with the agents' results".to_owned();
    }
    match (&run.phase, run.tools.last()) {
        (RunPhase::Tools, Some(tool)) => format!("read after {}", tool.name),
        (RunPhase::Queued { .. }, _) => "read when it starts".to_owned(),
        _ => "read at its next step".to_owned(),
    }
}

/// The hints for the keys, and the current notice at the right end. If both do not fit, a
/// question's keys take precedence over the notice, and the notice over all other keys.
pub fn hint(model: &TuiModel, metrics: &Metrics, room: u16, pen: Painter<'_>) -> Line<'static> {
    let theme = pen.theme;
    let room = usize::from(room);
    let alone =
        |text: &str, style| Line::styled(truncate(&format!(" {text}"), room).into_owned(), style);
    if model.closing {
        return alone(&closing_words(model), theme.question);
    }
    let pieces = hint::hint_pieces(model, metrics.question.as_ref());
    let Some(notice) = &model.notice else { return alone(&fitting(&pieces, room), theme.dim) };
    let notice = &notice.text;
    let beside = room.saturating_sub(width(notice) + NOTICE_GAP);
    let first = pieces.first().map_or(0, |piece| width(piece) + 2);
    if first == 0 || first > beside {
        let asked = model.overlay.is_none() && model.questions.open.is_some();
        return match asked {
            true => alone(&fitting(&pieces, room), theme.dim),
            false => alone(notice, theme.accent),
        };
    }
    let keys = Span::styled(format!(" {}", fitting(&pieces, beside)), theme.dim);
    let notice = Span::styled(format!("{notice} "), theme.accent);
    two_ends(vec![keys], vec![notice], room, None)
}

/// Joins as many pieces as fit, from the first on.
fn fitting(pieces: &[String], room: usize) -> String {
    let mut text = String::new();
    for piece in pieces {
        let longer = if text.is_empty() { piece.clone() } else { format!("{text} · {piece}") };
        if crate::tui::text::width(&longer) + 2 > room && !text.is_empty() {
            break;
        }
        text = longer;
    }
    text
}

fn closing_words(model: &TuiModel) -> String {
    let commands = model.run.tools.len()
        + usize::from(model.shell.is_some())
        + model.jobs.alive().count()
        + model.agents.alive().map(|agent| agent.run.tools.len()).sum::<usize>();
    if commands == 0 {
        return "closing · Ctrl+C quits now".to_owned();
    }
    let verb = if commands == 1 { "is" } else { "are" };
    format!("closing: {} {verb} still stopping · Ctrl+C quits now", count(commands, "command"))
}

/// `default · sonnet-5 · context 17% · $0.03 · shop (main)`.
pub fn status(model: &TuiModel, room: u16, pen: Painter<'_>) -> Line<'static> {
    let theme = pen.theme;
    let session = &model.session;
    let mode = match session.mode {
        PermissionMode::BypassPermissions => Span::styled(session.mode.name(), theme.alarm),
        mode => Span::styled(mode.name(), theme.dim),
    };
    let mut parts = vec![session.model.clone()];
    if session.scripted {
        parts.push("scripted model".to_owned());
    }
    if let Some(window) = session.context_window.filter(|window| *window > 0) {
        parts.push(format!("context {}%", model.run.context * 100 / window));
    }
    parts.push(money(model.total_cost()));
    parts.push(location(model));
    let rest: String =
        parts.iter().filter(|part| !part.is_empty()).map(|part| format!(" · {part}")).collect();
    two_ends(
        vec![Span::raw(" "), mode, Span::styled(rest, theme.dim)],
        Vec::new(),
        usize::from(room),
        None,
    )
}

/// `shop (main)`.
pub fn location(model: &TuiModel) -> String {
    match &model.session.branch {
        Some(branch) => one_line(&format!("{} ({branch})", model.session.cwd)),
        None => one_line(&model.session.cwd),
    }
}

/// The terminal's title.
pub fn title(model: &TuiModel) -> String {
    if !model.questions.waiting.is_empty() {
        return "caliban: question".to_owned();
    }
    match model.agents.alive().count() {
        0 => format!("caliban: {}", model.session.cwd),
        agents => format!("caliban: {}", count(agents, "agent")),
    }
}
