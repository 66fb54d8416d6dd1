//! The lines around the prompt: queued messages, the rule, the hint, the status.

use ratatui::text::{Line, Span};

use crate::protocol::{Mode, When};
use crate::tui::figures::{clock, count, money, tokens};
use crate::tui::model::overlay::{Overlay, Wish};
use crate::tui::model::question::Stage;
use crate::tui::model::{Agent, Model, Phase, Queued, QueuedState, Step};
use crate::tui::text::{one_line, truncate, width};
use crate::tui::words;

use super::paint::{Pen, two_ends};
use super::panes::turns;

/// `─ to main · writing 0:12 ────`: whom Enter addresses, and what that one does.
#[must_use]
pub fn rule(model: &Model, room: u16, small: bool, pen: Pen<'_>) -> Line<'static> {
    let theme = pen.theme;
    let sign = theme.glyphs.rule;
    let mut left = vec![Span::styled(format!("{sign} to "), theme.dim)];
    match model.focused() {
        Some(agent) => {
            let colour = theme.agent(agent.info.color.as_deref(), agent.colour);
            left.push(Span::styled(agent.info.name.clone(), colour));
            left.push(Span::styled(agent_words(model, agent), theme.dim));
        }
        None => {
            left.push(Span::raw("main"));
            let words = words::main_words(model);
            if !words.is_empty() {
                left.push(Span::styled(format!(" · {words}"), theme.dim));
            }
        }
    }
    if model.composer.text().starts_with('!') {
        left.push(Span::styled(
            " · runs as you, no agent reads it before your next prompt",
            theme.question,
        ));
    }
    // A small screen has no status line, and this mode is spelt out always.
    let bypass = model.session.mode == Mode::BypassPermissions && small;
    let right = if bypass {
        vec![Span::styled(Mode::BypassPermissions.name(), theme.alarm)]
    } else {
        Vec::new()
    };
    two_ends(left, right, usize::from(room), Some((sign, theme.dim)))
}

fn agent_words(model: &Model, agent: &Agent) -> String {
    let state = words::agent_state(model, agent);
    let mut parts = vec![truncate(&words::row_words(model, agent, &state), 36).into_owned()];
    if let Some(elapsed) = agent.run.elapsed(model.now) {
        parts[0] = format!("{} {}", parts[0], clock(elapsed));
        let (used, cost) = words::spent(&model.agents, &agent.path);
        parts.push(turns(&agent.run));
        parts.push(tokens(used));
        parts.push(money(cost));
    }
    format!(" · {}", parts.join(" · "))
}

/// Queued messages, the newest last.
#[must_use]
pub fn queue(model: &Model, rows: usize, room: u16, pen: Pen<'_>) -> Vec<Line<'static>> {
    let shown: Vec<&Queued> = model.queue.shown().collect();
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

/// Where the message goes, when it is read, and which keys act on it. The message itself takes what room is left.
fn queued_words(model: &Model, queued: &Queued, newest: bool, room: usize) -> String {
    let name = model.name(&queued.to);
    let text = one_line(&queued.text);
    let (before, keys) = match (queued.state, queued.when) {
        (QueuedState::Orphaned, _) => {
            (format!("{name} ended before it read this · Up takes it back"), "")
        }
        (_, When::Done) => (
            format!("queued for {name} · read when {name} is done"),
            " · Enter: at the next step instead · Up: edit",
        ),
        (_, When::NextStep) => (
            format!("queued for {name} · {}", next_step(model, queued)),
            " · Enter: at the end instead · Up: edit",
        ),
    };
    let left = |keys: &str| room.saturating_sub(width(&before) + width(keys) + 4);
    let keys = match newest {
        true if left(keys) >= 12 => keys,
        true if left(" · Up: edit") >= 12 && !keys.is_empty() => " · Up: edit",
        _ => "",
    };
    let text = truncate(&text, left(keys).min(40));
    truncate(&format!("{before}: \"{text}\"{keys}"), room).into_owned()
}

/// When an agent's next step comes.
fn next_step(model: &Model, queued: &Queued) -> String {
    let run = model.agents.get(&queued.to).map_or(&model.run, |agent| &agent.run);
    if queued.to.is_root() && model.agents.foreground().next().is_some() {
        return "read with the agents' results".to_owned();
    }
    match (&run.phase, run.tools.last()) {
        (Phase::Tools, Some(tool)) => format!("read after {}", tool.name),
        (Phase::Queued { .. }, _) => "read when it starts".to_owned(),
        _ => "read at its next step".to_owned(),
    }
}

/// The notice that stands now, else what the keys would do.
#[must_use]
pub fn hint(model: &Model, room: u16, pen: Pen<'_>) -> Line<'static> {
    let theme = pen.theme;
    let room = usize::from(room);
    let (text, style) = match &model.notice {
        _ if model.closing => (closing_words(model), theme.question),
        Some(notice) => (notice.text.clone(), theme.accent),
        None => (fitting(hint_words(model), room), theme.dim),
    };
    Line::styled(truncate(&format!(" {text}"), room).into_owned(), style)
}

/// As many of the pieces as fit, the first ones first.
fn fitting(pieces: Vec<String>, room: usize) -> String {
    let mut text = String::new();
    for piece in pieces {
        let longer = if text.is_empty() { piece } else { format!("{text} · {piece}") };
        if crate::tui::text::width(&longer) + 2 > room && !text.is_empty() {
            break;
        }
        text = longer;
    }
    text
}

fn closing_words(model: &Model) -> String {
    let commands = model.run.tools.len()
        + usize::from(model.shell.is_some())
        + model.jobs.alive().count()
        + model.agents.alive().map(|agent| agent.run.tools.len()).sum::<usize>();
    if commands == 0 {
        return "closing · Ctrl+C at once".to_owned();
    }
    let verb = if commands == 1 { "is" } else { "are" };
    format!("closing: {} {verb} being ended · Ctrl+C at once", count(commands, "command"))
}

/// What Ctrl+C and Esc would do now, and what else is at hand; the most telling first.
fn hint_words(model: &Model) -> Vec<String> {
    let pieces: &[&str] = match &model.overlay {
        Some(Overlay::Which(which)) => match which.wish {
            Wish::Cancel => &["1–9 or ↑↓ Enter cancels one", "a or Ctrl+C all", "Esc nobody"],
            Wish::Background => &["1–9 or ↑↓ Enter moves one", "a all", "Esc nobody"],
        },
        Some(Overlay::Agents(list)) => {
            return list.keys(model).into_iter().map(str::to_owned).collect();
        }
        Some(Overlay::Picker(_)) => &["type to filter", "↑↓", "Enter take", "Esc closes"],
        Some(Overlay::History(_)) => {
            &["type to search", "↑↓ or Ctrl+R", "Enter take", "Esc closes"]
        }
        Some(Overlay::Help { .. } | Overlay::Page { .. }) => &["↑↓ scroll", "Esc closes"],
        Some(Overlay::Reader(reader)) if reader.typing.is_some() => {
            &["Enter searches", "Esc closes"]
        }
        Some(Overlay::Reader(_)) => &[
            "j k, space b, g G",
            "/ search, n N",
            "[ ] jump",
            "e expand",
            "y copy",
            "Tab next agent",
            "Esc back",
        ],
        None => return prompt_hint(model),
    };
    pieces.iter().map(|piece| (*piece).to_owned()).collect()
}

fn prompt_hint(model: &Model) -> Vec<String> {
    if let Some(words) = question_hint(model) {
        return words.iter().map(|piece| (*piece).to_owned()).collect();
    }
    if model.composer.menu.is_some() {
        return ["↑↓ choose", "Enter take", "Tab complete", "Esc closes"]
            .map(str::to_owned)
            .to_vec();
    }
    let waiting = !model.questions.waiting.is_empty() && model.questions.open.is_none();
    let later = waiting.then(|| format!("{} · Tab", words::waiting(model)));
    let interrupt = model.interrupt_step();
    let escape = model.escape_step();
    if let Some(agent) = model.focused() {
        return focus_hint(model, agent, &interrupt);
    }
    let draft = !model.composer.is_empty();
    let enter = if draft { "Enter queues it" } else { "Enter queues a message" };
    let stops = (escape == Step::Stop).then_some(if model.agents.foreground().next().is_some() {
        "Esc stops all"
    } else {
        "Esc stops main"
    });
    let mut words: Vec<String> = later.into_iter().collect();
    match (&interrupt, &escape) {
        (Step::Stop, Step::Stop) => words.push("Esc or Ctrl+C stop main".to_owned()),
        (Step::ClearDraft, Step::Stop) => {
            words.push("Esc stops main".to_owned());
            words.push("Ctrl+C clears the draft".to_owned());
        }
        (Step::ClearDraft, Step::PutBack) => words.push("Esc puts it back".to_owned()),
        (Step::Cancel(path), _) => {
            words.push(format!("Ctrl+C cancel {}", model.name(path)));
            words.extend(stops.map(str::to_owned));
            words.push("Tab agents".to_owned());
        }
        (Step::AskWhich, _) => {
            words.push("Ctrl+C asks which to cancel".to_owned());
            words.extend(stops.map(str::to_owned));
            words.push("Tab agents".to_owned());
        }
        (Step::AlreadyCancelling(path), _) => {
            words.push(format!("{} is being cancelled", model.name(path)));
            words.extend(stops.map(str::to_owned));
        }
        (Step::KillShell, _) => words.push("Esc or Ctrl+C kill the command".to_owned()),
        _ if model.main_works() => words.push("stopping".to_owned()),
        _ if draft => {
            words.push("Enter sends".to_owned());
            words.push("Ctrl+C clears the draft".to_owned());
            words.push("Ctrl+J new line".to_owned());
        }
        _ => {
            return ["? keys", "Shift+Tab mode", "Ctrl+D quits"].map(str::to_owned).to_vec();
        }
    }
    if model.main_works() {
        words.push(enter.to_owned());
    } else if !draft {
        words.push("? keys".to_owned());
    }
    words
}

fn focus_hint(model: &Model, agent: &Agent, interrupt: &Step) -> Vec<String> {
    let cancel = match interrupt {
        Step::Cancel(_) => format!("Ctrl+C cancel {}", agent.info.name),
        Step::AlreadyCancelling(_) => format!("{} is being cancelled", agent.info.name),
        _ => format!("{} has ended", agent.info.name),
    };
    let several = model.agents.visible().len() > 1;
    let next = several.then(|| "Tab next".to_owned());
    if model.zoom {
        let mut words = vec!["Esc all agents".to_owned()];
        words.extend(next);
        words.push(cancel);
        words.push("Ctrl+O read and search".to_owned());
        return words;
    }
    let enter = match (model.composer.is_empty(), agent.alive()) {
        (true, _) => "Enter zoom",
        (false, true) => "Enter sends it there",
        (false, false) => "Esc, then Enter sends it to main",
    };
    let mut words = vec![cancel, enter.to_owned()];
    // The way back stays when there is little room.
    if model.size.0 >= 80 {
        words.extend(next);
    }
    words.push("Esc back".to_owned());
    words
}

fn question_hint(model: &Model) -> Option<&'static [&'static str]> {
    let (open, _) = model.questions.shown()?;
    Some(match (&open.stage, open.keyboard) {
        (_, false) => &["Tab, Esc or Ctrl+C: answer the question", "Enter sends the draft"],
        (Stage::Choose, true) => &["1–5 answer", "typing leaves the question waiting"],
        (Stage::Reason(_), true) => &["Enter says no with this reason", "Esc back"],
        (Stage::Rule(_), true) => &["Enter writes the rule", "Esc back"],
    })
}

/// `default · sonnet-5 · context 17% · $0.03 · shop (main)`.
#[must_use]
pub fn status(model: &Model, room: u16, pen: Pen<'_>) -> Line<'static> {
    let theme = pen.theme;
    let session = &model.session;
    let mode = match session.mode {
        Mode::BypassPermissions => Span::styled(session.mode.name(), theme.alarm),
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
    parts.push(place(model));
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
#[must_use]
pub fn place(model: &Model) -> String {
    match &model.session.branch {
        Some(branch) => format!("{} ({branch})", model.session.cwd),
        None => model.session.cwd.clone(),
    }
}

/// The terminal's title.
#[must_use]
pub fn title(model: &Model) -> String {
    if !model.questions.waiting.is_empty() {
        return "caliban: question".to_owned();
    }
    match model.agents.alive().count() {
        0 => format!("caliban: {}", model.session.cwd),
        agents => format!("caliban: {}", count(agents, "agent")),
    }
}
