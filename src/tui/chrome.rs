//! The lines around the body: the first line of a session, the rule above the prompt, the status.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::PermissionMode;
use crate::tui::agents::row::{task, turns};
use crate::tui::agents::{AgentState, RunPhase, RunState};
use crate::tui::first_run::draw as first_run;
use crate::tui::format::{clock, count, join_figures, spent, tokens};
use crate::tui::interrupt;
use crate::tui::labels;
use crate::tui::labels::{OWN_CLOCK_AFTER, StatusLabel};
use crate::tui::layout::ScreenLayout;
use crate::tui::model::TuiModel;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{Painter, two_ends};
use crate::tui::text::{one_line, reveal_line, styled_line, truncate, width};
use crate::tui::theme::{Glyph, Theme};
use crate::tui::turn;

/// Minimum and maximum cells for what an agent does, beside the figures.
const MIN_WORK_WIDTH: usize = 12;
const MAX_WORK_WIDTH: usize = 60;

/// Minimum and maximum cells for the step of a to-do list.
const MIN_STEP_WIDTH: usize = 8;
const MAX_STEP_WIDTH: usize = 40;

/// `─ to main · writing 0:12 ────`: the recipient of the prompt, and its state.
pub fn rule(model: &TuiModel, layout: &ScreenLayout, painter: Painter<'_>) -> Line<'static> {
    let small = layout.small;
    let theme = painter.theme;
    let sign = theme.glyphs.rule;
    let read = match &model.overlay {
        Some(Overlay::Reader(reader)) => Some(&reader.path),
        _ => None,
    };
    let to = if read.is_some() { "reading" } else { "to" };
    let mut left = vec![Span::styled(format!("{sign} {to} "), theme.dim)];
    // The user's own commands are for main, whatever has the focus.
    let runs = read.is_none() && !model.session.read_only && model.composer.is_shell_line();
    let addressee = match read {
        Some(path) => model.agents.get(path),
        None => model.focused().filter(|_| !runs),
    };
    match addressee {
        Some(agent) if read.is_some() => {
            let name = format!("{} {}", agent.number, task(agent));
            left.push(Span::styled(name, painter.agent(agent)));
        }
        None if read.is_some() => left.push(Span::raw("main")),
        Some(agent) => {
            let name = format!("{} {}", agent.number, task(agent));
            left.push(Span::styled(name, painter.agent(agent)));
            // The line about the work and the head say the rest.
            if small || !model.zoom || !agent.alive() {
                left.push(Span::styled(agent_words(model, agent), theme.dim));
            }
        }
        None => {
            left.push(Span::raw("main"));
            let words = labels::main_label(model);
            if small && !words.is_empty() {
                // There is no line about the work then. The words may be cut.
                let step = model.main.current_step();
                let step = step.map(|step| format!("step {} of {} · ", step.number, step.steps));
                let words = format!("{}{words}", step.unwrap_or_default());
                left.push(Span::styled(format!(" · {words}"), theme.dim));
            }
        }
    }
    if model.session.read_only {
        let is_named = addressee.is_some_and(|agent| agent.run.phase == RunPhase::Elsewhere);
        let words = match &*model.session.growth {
            growth if growth.left => ": the other caliban has left the session",
            // The agent's own words say it.
            _ if is_named => "",
            growth if growth.is_at_work() => ": at work in the other caliban",
            _ => ": the session is open in another caliban",
        };
        left.push(Span::styled(format!(" · read-only{words}"), theme.question));
    } else if model.composer.is_shell_line() {
        left.push(Span::styled(
            " · runs in your shell · main sees it with your next prompt",
            theme.question,
        ));
    }
    // Without a status line, this mode is shown all the same.
    let bypass =
        model.session.mode == PermissionMode::BypassPermissions && layout.status.is_empty();
    let right = if bypass {
        vec![Span::styled(PermissionMode::BypassPermissions.name(), theme.alarm)]
    } else {
        Vec::new()
    };
    two_ends(left, right, usize::from(layout.rule.width), Some((sign, theme.dim)))
}

/// Whether the agent in the body works, or the user's own command runs.
pub fn works(model: &TuiModel) -> bool {
    let main = || model.main_is_busy() || model.shell.is_some();
    model.zoomed().map_or_else(main, AgentState::alive)
}

/// `⠹ reading src/session.rs · 0:12 · ↓ 1.2k tokens · Esc stops`: what the agent in the body does.
pub fn work(model: &TuiModel, room: u16, painter: Painter<'_>) -> Line<'static> {
    let own = model.shell.as_ref().filter(|_| model.zoomed().is_none() && !model.main_is_busy());
    if let Some(shell) = own {
        let time = clock(model.now.saturating_sub(shell.since));
        let words = labels::call_label("Bash", &shell.line);
        let state = StatusLabel::new(Glyph::Spinner, truncate(&words, MAX_WORK_WIDTH));
        return work_line(&state, &[time], room, painter);
    }
    let (run, state) = match model.zoomed() {
        Some(agent) => (&agent.run, labels::agent_status(model, agent)),
        None => (&model.run, main_state(model)),
    };
    let waits = model.zoomed().is_none() && !model.awaited_agents().is_empty();
    let tools = run.phase == RunPhase::Tools && run.waits.is_empty() && !run.cancelling && !waits;
    let state = match (state.glyph, run.tools.last().filter(|_| tools)) {
        (Glyph::Spinner, Some(tool)) => {
            let mut words = labels::call_label(&tool.name, &tool.summary);
            let own = model.now.saturating_sub(tool.since);
            if own >= OWN_CLOCK_AFTER && run.elapsed(model.now).is_some_and(|all| all > own) {
                words = format!("{words} ({})", clock(own));
            }
            if run.tools.len() > 1 {
                words = format!("{words} +{}", run.tools.len() - 1);
            }
            StatusLabel::new(Glyph::Spinner, truncate(&words, MAX_WORK_WIDTH))
        }
        _ => state,
    };
    let mut rest = Vec::new();
    rest.extend(run.elapsed(model.now).map(clock));
    rest.extend(work_tokens(model, run));
    rest.extend(run.rate(model.now).map(|rate| format!("{rate} tokens/s")));
    rest.extend(interrupt::stop_hint(model).map(str::to_owned));
    let taken = width(&state.text) + rest.iter().map(|piece| 3 + width(piece)).sum::<usize>();
    rest.splice(0..0, step(model, usize::from(room).saturating_sub(taken + 2)));
    work_line(&state, &rest, room, painter)
}

/// `step 5 of 14: fix the parser`: where the agent in the body is in its to-do list. The name has what
/// is left of `room`.
fn step(model: &TuiModel, room: usize) -> Option<String> {
    let transcript = model.zoomed().map_or(&model.main, |agent| &agent.transcript);
    let step = transcript.current_step()?;
    let count = format!("step {} of {}", step.number, step.steps);
    let room = room.saturating_sub(width(&count) + 5).min(MAX_STEP_WIDTH);
    Some(match room {
        0..MIN_STEP_WIDTH => count,
        _ => format!("{count}: {}", truncate(&one_line(&step.name), room)),
    })
}

fn work_line(
    state: &StatusLabel,
    rest: &[String],
    room: u16,
    painter: Painter<'_>,
) -> Line<'static> {
    let theme = painter.theme;
    let room = usize::from(room).saturating_sub(2);
    let mut rest: String = rest.iter().map(|piece| format!(" · {piece}")).collect();
    if room < width(&rest) + MIN_WORK_WIDTH {
        rest.clear();
    }
    let words = state.fitted(room - width(&rest));
    let glyph = state.glyph;
    Line::from(vec![
        Span::styled(format!("{} ", painter.sign(glyph)), painter.style(glyph)),
        Span::styled(words, theme.text),
        Span::styled(rest, theme.dim),
    ])
}

/// The state of main.
fn main_state(model: &TuiModel) -> StatusLabel {
    let mut questions = model.questions.waiting.iter();
    let agents = labels::awaited_by_main(model);
    if model.run.cancelling {
        StatusLabel::new(Glyph::Spinner, "stopping")
    } else if questions.any(|waiting| waiting.question.path.is_root()) {
        StatusLabel::new(Glyph::Asks, "waiting for you")
    } else if agents > 0 {
        StatusLabel::new(Glyph::Spinner, format!("waiting for {}", count(agents, "agent")))
    } else {
        labels::run_status(&model.run, model.now)
    }
}

/// Tokens of the answers so far, or of the agents that main waits for.
fn work_tokens(model: &TuiModel, run: &RunState) -> Option<String> {
    if model.zoomed().is_none() && !model.awaited_agents().is_empty() {
        let (used, _) = labels::sum_usage(turn::agents(model));
        return (used > 0).then(|| format!("{} tokens", tokens(used)));
    }
    let down = match run.output_tokens() {
        0 => return None,
        some @ 1_000..10_000 => format!("{}.{}k", some / 1000, some / 100 % 10),
        some => tokens(some),
    };
    // In ASCII, the arrow would be a letter.
    let sign = Some("↓ ").filter(|_| !model.settings.glyphs().is_ascii());
    Some(format!("{}{down} tokens", sign.unwrap_or_default()))
}

fn agent_words(model: &TuiModel, agent: &AgentState) -> String {
    let state = labels::agent_status(model, agent);
    let words = match &agent.run.phase {
        RunPhase::Tools if state.glyph == Glyph::Spinner => truncate(state.words(), 36).into(),
        _ => labels::row_label(model, agent, &state, 36),
    };
    let mut parts = vec![words];
    if agent.run.started.is_some() {
        let (used, cost) = labels::agent_usage(&model.agents, agent);
        parts.extend(agent.run.elapsed(model.now).map(clock));
        parts.push(turns(&agent.run));
        parts.push(tokens(used));
        parts.push(spent(cost, agent.info.max_usd));
    }
    format!(" · {}", join_figures(&parts, " · "))
}

/// `default · sonnet-5 · context 17% · $0.03 · shop (main)`.
pub fn status(model: &TuiModel, room: u16, painter: Painter<'_>) -> Line<'static> {
    let theme = painter.theme;
    let session = &model.session;
    let mode = match session.mode {
        PermissionMode::BypassPermissions => Span::styled(session.mode.name(), theme.alarm),
        mode => Span::styled(mode.name(), theme.dim),
    };
    if let Some(own) = &model.status_line.text {
        let mut spans = vec![Span::raw(" ")];
        if session.mode == PermissionMode::BypassPermissions {
            spans.extend([mode, Span::raw(" ")]);
        }
        spans.extend(theme.fitted(styled_line(own)).spans);
        return two_ends(spans, Vec::new(), usize::from(room), None);
    }
    let mut parts = match (session.scripted, session.model.as_str()) {
        (true, "scripted") => Vec::new(),
        _ => vec![session.model.clone()],
    };
    if session.scripted {
        parts.push("scripted model".to_owned());
    }
    if let Some(window) = session.context_window.filter(|window| *window > 0) {
        parts.push(format!("context {}%", model.run.context * 100 / window));
    }
    parts.push(match spent(model.total_cost(), session.max_usd) {
        unknown if unknown.is_empty() => "no price".to_owned(),
        cost => cost,
    });
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
        Some(branch) => reveal_line(&format!("{} ({branch})", model.session.cwd)),
        None => reveal_line(&model.session.cwd),
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

/// The first line of a session, or the ways to begin if there is no model.
pub fn session_header(model: &TuiModel, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let session = &model.session;
    if let Some(first) = &session.first_run {
        return first_run::head(model, first, &location(model), theme, width);
    }
    let mut words = format!(" · {}", location(model));
    for note in &session.notes {
        words.push_str(&format!(" · {note}"));
    }
    let name = theme.accent.add_modifier(Modifier::BOLD);
    let pieces = [Span::raw("  "), Span::styled("caliban", name), Span::styled(words, theme.dim)];
    vec![Line::from_iter(pieces)]
}
