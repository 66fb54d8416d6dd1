//! One session: its journal and its history, new or from the store.

use std::sync::Arc;

use super::parts::RuntimeParts;
use crate::budget::{self, Budget};
use crate::disk::branch;
use crate::hook::{HookSession, Hooks};
use crate::protocol::{AgentEvent, Journal, Message, NoJournal, SessionId};
use crate::session::{
    AgentCallResult, AgentSummary, LostReport, NewSession, OpenSession, Transcript,
};
use crate::subagent::call_result;

/// The session to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenRequest {
    New(SessionId),
    /// A stored session, which is resumed.
    Stored(SessionId),
    /// A new session that starts with the history of a stored one, which is left unchanged.
    Fork {
        from: SessionId,
        to: SessionId,
    },
}

/// One conversation: its journal and its history.
#[derive(Clone)]
pub(super) struct RuntimeSession {
    pub id: SessionId,
    pub journal: Arc<dyn Journal>,
    /// Taken when the main agent is built.
    pub history: Vec<Message>,
    /// The model of the last answer in `history`.
    pub model: Option<String>,
    /// The budget of the whole tree: one account per session.
    pub budget: Budget,
    pub hooks: Hooks,
    /// The reason why nothing can happen in it, if there is one.
    pub block: Option<SessionBlock>,
}

/// The reason why nothing can happen in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionBlock {
    /// Another process writes to it.
    InUse,
    /// It could not be read again after a crash.
    Unreadable,
}

impl SessionBlock {
    /// Explains it to the user.
    pub fn message(self) -> &'static str {
        match self {
            Self::InUse => {
                "The session is open in another caliban, so it can only be read here: Enter continues in a copy."
            }
            Self::Unreadable => {
                "The session could not be read again after the crash: /resume opens it once that is fixed, /clear begins a new one."
            }
        }
    }
}

/// A session that was opened but not entered yet.
pub(super) struct OpenedSession {
    pub session: RuntimeSession,
    pub past: SessionPast,
}

/// The past of an opened session, for the front end and the tree of agents.
#[derive(Default)]
pub(super) struct SessionPast {
    /// The events of all its agents.
    pub events: Vec<AgentEvent>,
    /// Its sub-agents, all ended. For a fork, those of the original session whose end main has not
    /// read.
    pub agents: Vec<AgentSummary>,
    /// The agents whose end main has not read.
    pub lost_reports: Vec<LostReport>,
    /// Problems that were found and repaired while it was read.
    pub notices: Vec<String>,
}

impl RuntimeSession {
    /// Creates a session that is not stored.
    pub fn empty(id: SessionId, limits: budget::Limits) -> Self {
        Self {
            id,
            journal: Arc::new(NoJournal),
            history: Vec::new(),
            model: None,
            budget: Budget::new(limits),
            hooks: Hooks::default(),
            block: None,
        }
    }

    /// Continues a stored transcript.
    fn continuing(self, transcript: Transcript, past: SessionPast) -> OpenedSession {
        let Transcript { model, messages, warnings, .. } = transcript;
        let session = Self { model, history: messages, ..self };
        OpenedSession { session, past: SessionPast { notices: warnings, ..past } }
    }

    /// Starts without a past.
    fn opened(self) -> OpenedSession {
        OpenedSession { session: self, past: SessionPast::default() }
    }
}

/// Opens a new session or a stored one. The error is one line for the user.
pub(super) async fn open_session(
    parts: &RuntimeParts,
    open: OpenRequest,
) -> Result<OpenedSession, String> {
    let (OpenRequest::New(id) | OpenRequest::Stored(id) | OpenRequest::Fork { to: id, .. }) = open;
    let mut session = RuntimeSession::empty(id, parts.budget);
    let folder = parts.store.as_ref().map(|store| store.dir(id));
    let transcript = folder.map(|folder| folder.join("transcript.jsonl")).unwrap_or_default();
    session.hooks = Hooks::new(parts.hooks.clone(), HookSession { id: Some(id), transcript });
    let Some(store) = parts.store.clone() else {
        return match open {
            OpenRequest::Fork { .. } => {
                Err("this session is not stored: it has no copy".to_owned())
            }
            OpenRequest::New(_) | OpenRequest::Stored(_) => Ok(session.opened()),
        };
    };
    let stored_result = stored_result(parts.agents.settings.result_max_chars());
    match open {
        OpenRequest::New(id) => {
            let journal = store.create(new_session(parts, id).await);
            session.journal = journal.map_err(|error| error.to_string())?;
            Ok(session.opened())
        }
        OpenRequest::Fork { from, to } => {
            let new = new_session(parts, to).await;
            let forked =
                tokio::task::spawn_blocking(move || store.fork(from, new, &stored_result)).await;
            let forked = forked.map_err(|error| error.to_string())?;
            let OpenSession { journal, transcript, history, agents, lost_reports, .. } =
                forked.map_err(|error| error.to_string())?;
            session.journal = journal;
            let past =
                SessionPast { events: history, agents, lost_reports, ..SessionPast::default() };
            Ok(session.continuing(transcript, past))
        }
        OpenRequest::Stored(id) => {
            let opened = tokio::task::spawn_blocking(move || store.open(id, &stored_result)).await;
            let opened = opened.map_err(|error| error.to_string())?;
            let OpenSession { journal, transcript, history, agents, spent_by_agents, lost_reports } =
                opened.map_err(|error| error.to_string())?;
            session.journal = journal;
            session.budget.charge(transcript.usage, transcript.cost);
            let (usage, cost) = spent_by_agents;
            session.budget.charge(usage, cost);
            let past =
                SessionPast { events: history, agents, lost_reports, ..SessionPast::default() };
            Ok(session.continuing(transcript, past))
        }
    }
}

/// Opens a session that another process writes to. The front end follows its files by itself. The error
/// is one line for the user.
pub(super) async fn view_session(
    parts: &RuntimeParts,
    id: SessionId,
) -> Result<OpenedSession, String> {
    let mut session = RuntimeSession::empty(id, parts.budget);
    session.block = Some(SessionBlock::InUse);
    let Some(store) = parts.store.clone() else { return Ok(session.opened()) };
    let header = tokio::task::spawn_blocking(move || store.header(id)).await;
    let header = header.map_err(|error| error.to_string())?;
    header.map_err(|error| format!("cannot read the session {id}: {error}"))?;
    Ok(session.opened())
}

async fn new_session(parts: &RuntimeParts, id: SessionId) -> NewSession {
    let cwd = parts.cwd.clone();
    let branch = tokio::task::spawn_blocking(move || branch(&cwd)).await.ok().flatten();
    let model = parts.model.as_ref();
    NewSession {
        id,
        cwd: parts.cwd.to_path_buf(),
        model: model.map(|model| model.name.clone()).unwrap_or_default(),
        provider: model.map(|model| model.provider.name().to_owned()).unwrap_or_default(),
        branch,
        agent_tool: Some(parts.agents.settings.config.tool_name.name().to_owned()),
    }
}

/// Returns the result of a call that started an agent, for `SessionStore`.
pub(super) fn stored_result(max_chars: usize) -> impl Fn(&AgentSummary) -> Option<AgentCallResult> {
    move |agent| {
        let outcome = agent.end.as_ref()?;
        let (text, is_error, details) = call_result(&agent.meta, outcome, max_chars);
        Some(AgentCallResult { text, is_error, details })
    }
}
