//! `caliban sessions`: loads stored sessions for the command that prints them.

use super::{AppError, Setup};
use crate::cli::{ExportFormat, SessionsAction};
use crate::command::CommandReport;
use crate::command::export::{ExportedAgent, export};
use crate::command::sessions::{SessionLine, TranscriptView, list, not_found, show};
use crate::protocol::{AgentId, ChildMeta, SessionId};
use crate::session::{self, AgentCallResult, AgentSummary, IdMatch, SessionStore};
use crate::subagent::call_result;

/// Returns the report of the action.
pub(super) fn report(action: &SessionsAction, setup: &Setup) -> CommandReport {
    match action {
        SessionsAction::List => list_all(setup),
        SessionsAction::Show { id } => {
            show_one(id, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
        SessionsAction::Export { id, format } => {
            export_session(id, *format, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
        SessionsAction::Rm { id } => {
            remove(id, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
    }
}

fn export_session(
    prefix: &str,
    format: ExportFormat,
    setup: &Setup,
) -> Result<CommandReport, AppError> {
    let store = setup.store();
    let id = store.find(prefix)?;
    let main = store.load(id, &stored_result)?;
    let session = serde_json::to_value(&main.session).unwrap_or_default();
    let mut agents = vec![part(None, main)];
    for agent in store.agents(id) {
        let transcript = store.load_agent(id, agent.meta.id, &stored_result)?;
        agents.push(part(Some(agent.meta), transcript));
    }
    Ok(export(&session, &agents, format))
}

/// Returns one agent's part of an exported session.
fn part(meta: Option<ChildMeta>, transcript: session::Transcript) -> ExportedAgent {
    let past = transcript.past();
    let session::Transcript { usage, cost, end, warnings, .. } = transcript;
    ExportedAgent { meta, past, usage, cost, end, warnings }
}

fn remove(prefix: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let store = setup.store();
    let id = store.find(prefix)?;
    store.remove(id)?;
    Ok(CommandReport::default())
}

fn list_all(setup: &Setup) -> CommandReport {
    let sessions = setup.store().list().into_iter().map(|session| SessionLine {
        id: session.id,
        updated: session.last,
        cwd: session.cwd,
        agents: session.agents,
        title: session.first_prompt,
    });
    list(&sessions.collect::<Vec<_>>())
}

fn show_one(prefix: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let store = setup.store();
    let id = match store.find_any(prefix)? {
        IdMatch::Session(id) => id,
        IdMatch::Agent { session, agent } => return show_agent(&store, session, agent),
    };
    let main = store.load(id, &stored_result)?;
    let agents = store.agents(id);
    let mut children = Vec::new();
    for agent in &agents {
        let transcript = store.load_agent(id, agent.meta.id, &stored_result)?;
        children.push((agent, transcript.past(), transcript.warnings));
    }
    let past = main.past();
    let end = main.end.as_ref().map(|outcome| &outcome.end);
    let mut shown = vec![TranscriptView { meta: None, past: &past, warnings: &main.warnings, end }];
    shown.extend(children.iter().map(|(agent, past, warnings)| TranscriptView {
        meta: Some(&agent.meta),
        past,
        warnings,
        end: agent.end.as_ref().map(|outcome| &outcome.end),
    }));
    Ok(show(&shown))
}

/// Returns the result of a call that is unfinished in its file: its agent's end, untruncated.
fn stored_result(agent: &AgentSummary) -> Option<AgentCallResult> {
    let (text, is_error, details) = call_result(&agent.meta, agent.end.as_ref()?, 0);
    Some(AgentCallResult { text, is_error, details })
}

/// Shows one sub-agent.
fn show_agent(
    store: &SessionStore,
    session: SessionId,
    id: AgentId,
) -> Result<CommandReport, AppError> {
    let transcript = store.load_agent(session, id, &stored_result)?;
    let agents = store.agents(session);
    let summary = agents.iter().find(|agent| agent.meta.id == id);
    let past = transcript.past();
    let end = transcript.end.as_ref().map(|outcome| &outcome.end);
    let meta = summary.map(|agent| &agent.meta);
    Ok(show(&[TranscriptView { meta, past: &past, warnings: &transcript.warnings, end }]))
}
