//! Assembles a session and its main agent from the parts that the composition root chose.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::OpenRequest;
use super::project_context::{LoadedCommands, ProjectContext};
use super::subagent_tools::SubagentTools;
use crate::agent::system_prompt::EnvironmentInfo;
use crate::agent::{Agent, AgentSetup, ConcurrencyLimit, Inbox};
use crate::budget::{self, Budget};
use crate::commands::{self, CommandSet, CommandSources};
use crate::config::SettingSources;
use crate::config::models::Catalogue;
use crate::disk::ProjectScope;
use crate::hook::{HookSession, HookSet, Hooks};
use crate::protocol::{
    AgentEvent, EventQueue, EventSink, Journal, Message, NoJournal, SessionId, Span,
};
use crate::provider::{Model, ModelSlot};
use crate::session::{
    AgentCallResult, AgentSummary, LostReport, NewSession, OpenSession, SessionStore, Transcript,
};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::subagent::{AgentParts, Factory, ParentContext, Workspace, call_result, tools};
use crate::tool::ToolRegistry;

/// The main agent's built-in system prompt.
pub(super) const MAIN_PROMPT: &str = include_str!("../../assets/prompts/main.md");

/// The parts of a runtime. Building them touches neither the network nor the project's files.
pub struct RuntimeParts {
    pub agents: Arc<AgentParts>,
    pub events: EventQueue,
    /// Absent until the user has set one up.
    pub model: Option<Model>,
    pub catalogue: Arc<Catalogue>,
    pub hooks: HookSet,
    /// Absent if nothing is stored.
    pub store: Option<SessionStore>,
    pub definitions: DefinitionSources,
    pub custom: CommandSources,
    pub cwd: Arc<Path>,
    /// The day, such as `2026-11-20`.
    pub date: String,
    /// Such as `linux (x86_64)`.
    pub platform: String,
    /// Notices for the user at startup.
    pub notices: Vec<String>,
    /// The folder of the user's own AGENTS.md.
    pub user_dir: PathBuf,
    /// The user's folder for Claude Code.
    pub claude_dir: Option<PathBuf>,
    /// The files that a project's imports and links may read.
    pub scope: ProjectScope,
    /// The sources of such files that are read.
    pub setting_sources: SettingSources,
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// How long main, once done, waits for its background agents; `None` if they wake it instead.
    pub background_wait: Option<Duration>,
    /// Limits of one run of the main agent, including its sub-agents.
    pub per_run: budget::Limits,
    /// Limits of the whole tree.
    pub budget: budget::Limits,
    /// The time limit of a tool call.
    pub max_call: Option<Duration>,
}

/// One conversation: its journal and its history.
#[derive(Clone)]
pub(super) struct RuntimeSession {
    pub id: SessionId,
    pub journal: Arc<dyn Journal>,
    pub history: Vec<Message>,
    /// The events of all its agents, for the front end; taken when the session is shown.
    pub events: Vec<AgentEvent>,
    /// The model of the last answer in `history`.
    pub model: Option<String>,
    /// Its sub-agents, all ended; taken when the session is shown. For a fork, those of the
    /// original session whose end main has not read.
    pub agents: Vec<AgentSummary>,
    /// The agents whose end main has not read; taken with `agents`.
    pub lost_reports: Vec<LostReport>,
    /// Problems that were found and repaired while it was read.
    pub notices: Vec<String>,
    /// The budget of the whole tree: one account per session.
    pub budget: Budget,
    pub hooks: Hooks,
}

impl RuntimeSession {
    /// Creates a session that is not stored.
    pub fn empty(id: SessionId, limits: budget::Limits) -> Self {
        Self {
            id,
            journal: Arc::new(NoJournal),
            history: Vec::new(),
            events: Vec::new(),
            model: None,
            agents: Vec::new(),
            lost_reports: Vec::new(),
            notices: Vec::new(),
            budget: Budget::new(limits),
            hooks: Hooks::default(),
        }
    }

    /// Starts from a stored transcript.
    fn read(&mut self, transcript: Transcript, events: Vec<AgentEvent>) {
        self.events = events;
        self.model = transcript.model;
        self.history = transcript.messages;
        self.notices = transcript.warnings;
    }
}

/// Opens a new session or a stored one. The error is one line for the user.
pub(super) async fn open_session(
    parts: &RuntimeParts,
    open: OpenRequest,
) -> Result<RuntimeSession, String> {
    let (OpenRequest::New(id) | OpenRequest::Stored(id) | OpenRequest::Fork { to: id, .. }) = open;
    let mut session = RuntimeSession::empty(id, parts.budget);
    let folder = parts.store.as_ref().map(|store| store.dir(id));
    let transcript = folder.map(|folder| folder.join("transcript.jsonl")).unwrap_or_default();
    session.hooks = Hooks::new(parts.hooks.clone(), HookSession { id: Some(id), transcript });
    let Some(store) = parts.store.clone() else { return Ok(session) };
    let stored_result = stored_result(parts.agents.settings.result_max_chars());
    match open {
        OpenRequest::New(id) => {
            let journal = store.create(new_session(parts, id));
            session.journal = journal.map_err(|error| error.to_string())?;
        }
        OpenRequest::Fork { from, to } => {
            let new = new_session(parts, to);
            let forked =
                tokio::task::spawn_blocking(move || store.fork(from, new, &stored_result)).await;
            let forked = forked.map_err(|error| error.to_string())?;
            let OpenSession { journal, transcript, history, agents, lost_reports, .. } =
                forked.map_err(|error| error.to_string())?;
            session.journal = journal;
            session.agents = agents;
            session.lost_reports = lost_reports;
            session.read(transcript, history);
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
            session.agents = agents;
            session.lost_reports = lost_reports;
            session.read(transcript, history);
        }
    }
    Ok(session)
}

fn new_session(parts: &RuntimeParts, id: SessionId) -> NewSession {
    let model = parts.model.as_ref();
    NewSession {
        id,
        cwd: parts.cwd.to_path_buf(),
        model: model.map(|model| model.name.clone()).unwrap_or_default(),
        provider: model.map(|model| model.provider.name().to_owned()).unwrap_or_default(),
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

/// A main agent, and the state that is kept with it between runs.
pub(super) struct MainAgent {
    pub agent: Agent,
    /// Starts its sub-agents; absent if it may not have any.
    pub subagent_tools: Option<SubagentTools>,
    pub context: ProjectContext,
}

/// Builds the main agent of a session and the tools that start its sub-agents. Reads the project's
/// files, so it may block; do not call it during startup.
pub(super) fn main_agent(
    parts: &Arc<RuntimeParts>,
    session: RuntimeSession,
    model: ModelSlot,
    inbox: Inbox,
    commands: Option<LoadedCommands>,
    events: &EventSink,
) -> MainAgent {
    let agents = &parts.agents;
    let environment = EnvironmentInfo::gather(&parts.cwd, &parts.date, &parts.platform);
    let context = ProjectContext::read(parts, environment.clone(), commands, events);
    let shared = context.for_agents();
    let max_ops = agents.settings.config.max_concurrent_ops;
    let concurrency = ConcurrencyLimit::new(usize::try_from(max_ops).unwrap_or(usize::MAX))
        .with_call_limit(parts.max_call);
    let gate = agents.gate.for_agent("main".to_owned(), events.clone()).with_env(&agents.env);
    let own = agents.make_tools(&agents.builtin, shared.skill.as_ref(), Vec::new());
    let own = ToolRegistry::new(own);
    let subagent_tools = parts.offers_subagents().then(|| {
        let main = ParentContext {
            name: "main".to_owned(),
            model: model.clone(),
            journal: session.journal.clone(),
            inbox: inbox.clone(),
            gate: gate.clone(),
            workspace: Workspace { cwd: parts.cwd.clone(), env: agents.env.clone(), bound: None },
            tools: None,
        };
        let factory = |definitions| Factory {
            parts: agents.clone(),
            context: shared,
            definitions,
            hooks: session.hooks.clone(),
            environment,
            concurrency: concurrency.clone(),
        };
        SubagentTools::new(parts, main, own.clone(), factory, events)
    });
    let tools = match &subagent_tools {
        Some(subagent_tools) => subagent_tools.tools(),
        None => main_tools(parts, &own),
    };
    let agent = Agent::new(AgentSetup {
        name: "main".to_owned(),
        model,
        system: context.system().into(),
        tools,
        gate,
        hooks: session.hooks,
        journal: session.journal,
        inbox,
        background_wait: parts.background_wait,
        slot: None,
        budget: session.budget,
        per_run: parts.per_run,
        concurrency,
        cwd: parts.cwd.clone(),
        env: agents.env.clone(),
        history: session.history,
        span: Span::root(),
        redactor: agents.redactor.clone(),
        reasoning_model: session.model,
    });
    MainAgent { agent, subagent_tools, context }
}

/// Returns all tools of a main agent without sub-agents.
pub(super) fn main_tools(parts: &RuntimeParts, own: &ToolRegistry) -> ToolRegistry {
    parts.with_servers(own).withholding(|name| parts.agents.gate.denies_tool(name))
}

impl RuntimeParts {
    /// Adds the tools that servers offer to main.
    pub(super) fn with_servers(&self, own: &ToolRegistry) -> ToolRegistry {
        let mut tools = own.clone();
        let served = self.agents.mcp.offered().into_iter();
        served
            .filter(|tool| self.agents.allows(&tool.spec().name))
            .for_each(|tool| tools.insert(tool));
        tools
    }

    /// Whether models may start agents: the feature is built in, the configuration enables it, and
    /// the user has not excluded all such tools.
    fn offers_subagents(&self) -> bool {
        let lists = |names: &Vec<String>| names.iter().any(|name| tools::is_agent_tool(name));
        cfg!(feature = "sub-agents")
            && self.agents.settings.config.enabled
            && self.agents.tools.as_ref().is_none_or(lists)
    }

    /// Returns the names of the main agent's tools with these definitions and commands, in order.
    pub fn tool_names(&self, definitions: &Definitions, commands: &CommandSet) -> Vec<String> {
        let agents = &self.agents;
        let skill = commands::skill_tool(&self.custom, commands);
        let served = agents.mcp.main().offered().tools;
        let tools = agents.make_tools(&agents.builtin, skill.as_ref(), served);
        let mut names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        if self.offers_subagents() {
            names.extend(tools::tool_names(agents, definitions));
        }
        names.retain(|name| agents.allows(name) && !agents.gate.denies_tool(name));
        names
    }
}
