//! The user's own status line: the first line that their command prints for the state of the session.

use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::{NoticeLevel, RunEnd};
use crate::tui::agents::{AgentState, RunPhase};
use crate::tui::host::HostRequest;
use crate::tui::model::{DrawUrgency, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::transcript::ItemKind;

/// The shortest time between two starts of the command.
const PAUSE: Duration = Duration::from_millis(300);

/// Failures in a row after which the command is not started again.
const MAX_FAILURES: u32 = 3;

/// Starts the command if the session has changed, at most every 300 ms and one at a time.
pub fn refresh(model: &mut TuiModel, changed: bool, effects: &mut Vec<ScreenEffect>) {
    let now = model.now;
    let state = &mut model.status_line;
    if !model.settings.status_line || state.failures >= MAX_FAILURES {
        return;
    }
    state.stale |= changed;
    if state.next_start().is_none_or(|start| start > now) {
        return;
    }
    state.stale = false;
    let input = input(model).to_string();
    let state = &mut model.status_line;
    if state.input == input {
        return;
    }
    state.input.clone_from(&input);
    state.running = true;
    state.next = now + PAUSE;
    effects.push(ScreenEffect::Ask(HostRequest::StatusLine { input, line: Ok(String::new()) }));
}

/// Takes what the command printed. The first failure is reported.
pub fn printed(model: &mut TuiModel, line: Result<String, String>) {
    let state = &mut model.status_line;
    state.running = false;
    let (text, why) = match line {
        Ok(line) => (Some(line).filter(|line| !line.trim().is_empty()), None),
        Err(why) => (None, Some(why)),
    };
    state.failures = if why.is_some() { state.failures + 1 } else { 0 };
    if state.text != text {
        state.text = text;
        model.draw = DrawUrgency::Now;
    }
    if let Some(why) = why
        && !std::mem::replace(&mut model.status_line.reported, true)
    {
        let text = format!("{why}. The usual status line is shown instead");
        model.main.push(ItemKind::Notice { level: NoticeLevel::Warning, text });
        model.draw = DrawUrgency::Now;
    }
}

/// The state of the session, with the names of Claude Code's input where it has the same thing.
fn input(model: &TuiModel) -> Value {
    let session = &model.session;
    let folder = session.folder.to_string_lossy();
    let size = session.context_window.filter(|size| *size > 0);
    let agents: Vec<Value> = model.agents.iter().map(|agent| agent_input(model, agent)).collect();
    json!({
        "session_id": session.id,
        "version": session.version,
        "cwd": folder,
        "workspace": { "current_dir": folder, "project_dir": folder, "git_branch": session.branch },
        "model": { "id": session.model, "display_name": session.model, "provider": session.provider },
        "permission_mode": session.mode.name(),
        "cost": { "total_cost_usd": model.total_cost().usd },
        "context_window": {
            "used_tokens": model.run.context,
            "context_window_size": size,
            "used_percentage": size.map(|size| model.run.context * 100 / size),
        },
        "busy": model.main_is_busy(),
        "questions": model.questions.waiting.len(),
        "agents": agents,
    })
}

fn agent_input(model: &TuiModel, agent: &AgentState) -> Value {
    let asks = model.questions.waiting.iter().any(|asked| asked.question.path == agent.path);
    let state = match &agent.run.phase {
        RunPhase::Ended(RunEnd::Completed) => "done",
        RunPhase::Ended(RunEnd::Failed { .. } | RunEnd::Refused) => "failed",
        RunPhase::Ended(RunEnd::Cancelled { .. } | RunEnd::Interrupted) => "cancelled",
        RunPhase::Ended(_) => "partial",
        _ if asks => "asks",
        RunPhase::Queued { .. } => "queued",
        _ => "running",
    };
    json!({
        "number": agent.number,
        "name": agent.info.name,
        "type": agent.info.agent,
        "task": agent.info.description,
        "background": agent.in_background,
        "state": state,
    })
}
