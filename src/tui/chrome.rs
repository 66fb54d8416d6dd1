//! The lines around the body: the first line of a session, the rule above the prompt, the status.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::PermissionMode;
use crate::tui::agents::AgentState;
use crate::tui::agents::row::turns;
use crate::tui::format::{clock, count, money, tokens};
use crate::tui::host::LocalServer;
use crate::tui::labels;
use crate::tui::model::TuiModel;
use crate::tui::paint::{Painter, two_ends};
use crate::tui::session::FirstRun;
use crate::tui::text::{one_line, truncate, wrap_hanging};
use crate::tui::theme::Theme;

/// `─ to main · writing 0:12 ────`: the recipient of the prompt, and its state.
pub fn rule(model: &TuiModel, room: u16, small: bool, painter: Painter<'_>) -> Line<'static> {
    let theme = painter.theme;
    let sign = theme.glyphs.rule;
    let mut left = vec![Span::styled(format!("{sign} to "), theme.dim)];
    match model.focused() {
        Some(agent) => {
            left.push(Span::styled(agent.info.name.clone(), painter.agent(agent)));
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

/// `default · sonnet-5 · context 17% · $0.03 · shop (main)`.
pub fn status(model: &TuiModel, room: u16, painter: Painter<'_>) -> Line<'static> {
    let theme = painter.theme;
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

/// The first line of a session, and the setup hints if there is no model.
pub fn session_header(model: &TuiModel, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let session = &model.session;
    let mut words = format!("  caliban · {}", location(model));
    for note in &session.notes {
        words.push_str(&format!(" · {note}"));
    }
    let mut lines = vec![Line::styled(words, theme.dim)];
    if let Some(first) = &session.first_run {
        lines.extend(first_run_lines(first, theme.text, width));
    }
    lines
}

/// Ways to get a model, with the local servers found so far.
fn first_run_lines(first: &FirstRun, style: Style, width: u16) -> Vec<Line<'static>> {
    let mut words = vec![
        "No model yet. One of these is enough:".to_owned(),
        "  export ANTHROPIC_API_KEY=…   (or OPENAI_API_KEY, GEMINI_API_KEY), then start again"
            .to_owned(),
    ];
    match &first.found {
        None => words.push("  a local server: looking for one".to_owned()),
        Some(found) if found.is_empty() => words.push(
            "  a local server: none on 127.0.0.1:11434 (Ollama), :8080 (llama.cpp), :8000 (vLLM)"
                .to_owned(),
        ),
        Some(found) => words.extend(found.iter().map(server_line)),
    }
    words.push("  caliban demo: three agents on a sample project, no key, no network".to_owned());
    let (first, rest) = (Line::raw("  "), Line::raw("      "));
    let wrapped = words
        .into_iter()
        .flat_map(|words| wrap_hanging(&Line::styled(words, style), width, &first, &rest));
    wrapped.collect()
}

/// The line for a server that answered.
fn server_line(server: &LocalServer) -> String {
    let name = one_line(&server.name);
    match server.models.len() {
        0 => format!("  found {name} without a model: pull one, then /model"),
        many => format!("  found {name} with {}: /model picks one", count(many, "model")),
    }
}
