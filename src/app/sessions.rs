//! `caliban sessions`: what the store has, handed to the command that prints it.

use super::{AppError, Setup};
use crate::cli::{ExportFormat, SessionsAction};
use crate::command::Report;
use crate::command::export::{Exported, export};
use crate::command::sessions::{SessionLine, Transcript, list, not_found, show};
use crate::protocol::{AgentId, ChildMeta, SessionId};
use crate::session::{self, AgentSummary, CallResult, Found, SessionStore};
use crate::subagent::end_as_result;

/// The report of the action.
pub(super) fn report(action: &SessionsAction, setup: &Setup) -> Report {
    match action {
        SessionsAction::List => all(setup),
        SessionsAction::Show { id } => {
            one(id, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
        SessionsAction::Export { id, format } => {
            exported(id, *format, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
        SessionsAction::Rm { id } => {
            removed(id, setup).unwrap_or_else(|error| not_found(&error.to_string()))
        }
    }
}

fn exported(prefix: &str, format: ExportFormat, setup: &Setup) -> Result<Report, AppError> {
    let store = setup.store();
    let id = store.find(prefix)?;
    let main = store.load(id, &as_stored)?;
    let session = serde_json::to_value(&main.session).unwrap_or_default();
    let mut agents = vec![part(None, main)];
    for agent in store.agents(id) {
        let transcript = store.load_agent(id, agent.meta.id, &as_stored)?;
        agents.push(part(Some(agent.meta), transcript));
    }
    Ok(export(&session, &agents, format))
}

/// One agent's part of an exported session.
fn part(meta: Option<ChildMeta>, transcript: session::Transcript) -> Exported {
    let past = transcript.past();
    let session::Transcript { usage, cost, end, warnings, .. } = transcript;
    Exported { meta, past, usage, cost, end, warnings }
}

fn removed(prefix: &str, setup: &Setup) -> Result<Report, AppError> {
    let store = setup.store();
    let id = store.find(prefix)?;
    store.remove(id)?;
    Ok(Report::default())
}

fn all(setup: &Setup) -> Report {
    let sessions = setup.store().list().into_iter().map(|session| SessionLine {
        id: session.id,
        updated: session.last,
        cwd: session.cwd,
        agents: session.agents,
        title: session.first_prompt,
    });
    list(&sessions.collect::<Vec<_>>())
}

fn one(prefix: &str, setup: &Setup) -> Result<Report, AppError> {
    let store = setup.store();
    let id = match store.find_any(prefix)? {
        Found::Session(id) => id,
        Found::Agent { session, agent } => return child(&store, session, agent),
    };
    let main = store.load(id, &as_stored)?;
    let agents = store.agents(id);
    let mut children = Vec::new();
    for agent in &agents {
        let transcript = store.load_agent(id, agent.meta.id, &as_stored)?;
        children.push((agent, transcript.past(), transcript.warnings));
    }
    let past = main.past();
    let end = main.end.as_ref().map(|outcome| &outcome.end);
    let mut shown = vec![Transcript { meta: None, past: &past, warnings: &main.warnings, end }];
    shown.extend(children.iter().map(|(agent, past, warnings)| Transcript {
        meta: Some(&agent.meta),
        past,
        warnings,
        end: agent.end.as_ref().map(|outcome| &outcome.end),
    }));
    Ok(show(&shown))
}

/// The result of a call that is open in its file: its agent's end, whole.
fn as_stored(agent: &AgentSummary) -> Option<CallResult> {
    let (text, is_error, details) = end_as_result(&agent.meta, agent.end.as_ref()?, 0);
    Some(CallResult { text, is_error, details })
}

/// One sub-agent alone.
fn child(store: &SessionStore, session: SessionId, id: AgentId) -> Result<Report, AppError> {
    let transcript = store.load_agent(session, id, &as_stored)?;
    let agents = store.agents(session);
    let summary = agents.iter().find(|agent| agent.meta.id == id);
    let past = transcript.past();
    let end = transcript.end.as_ref().map(|outcome| &outcome.end);
    let meta = summary.map(|agent| &agent.meta);
    Ok(show(&[Transcript { meta, past: &past, warnings: &transcript.warnings, end }]))
}
