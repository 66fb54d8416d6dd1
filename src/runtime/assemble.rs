//! Assembles a session and its main agent from the parts that the composition root chose.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::OpenRequest;
use super::project_context::{LoadedCommands, ProjectContext, SharedContext};
use super::subagent_tools::SubagentTools;
use crate::agent::system_prompt::EnvironmentInfo;
use crate::agent::{Agent, AgentSetup, ConcurrencyLimit, Inbox};
use crate::budget::{self, Budget};
use crate::commands::{self, CommandSet, CommandSources};
use crate::config::SettingSources;
use crate::config::models::Catalogue;
use crate::disk::{ProjectFolders, ProjectScope};
use crate::exec::Sandbox;
use crate::hook::{HookSession, HookSet, Hooks};
use crate::permission::Gate;
use crate::protocol::{
    AgentEvent, EnvOverlay, EventQueue, EventSink, Journal, Message, NoJournal, Redactor,
    SessionId, Span,
};
use crate::provider::{Model, ModelSlot, ModelSource};
use crate::session::{
    AgentCallResult, AgentSummary, LostReport, NewSession, OpenSession, SessionStore, Transcript,
};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::subagent::{
    AgentTree, Factory, ParentContext, SlotLimits, SubagentSettings, Workspace, call_result, tools,
};
use crate::tool::mcp::Mcp;
use crate::tool::{BuiltinSettings, Tool, ToolRegistry, builtin, entry_matches};

/// The main agent's built-in system prompt.
pub(super) const MAIN_PROMPT: &str = include_str!("../../assets/prompts/main.md");

/// The parts of a runtime. Building them touches neither the network nor the project's files.
pub struct RuntimeParts {
    pub events: EventQueue,
    /// Absent until the user has set one up.
    pub model: Option<Model>,
    pub models: Arc<dyn ModelSource>,
    pub catalogue: Arc<Catalogue>,
    pub gate: Gate,
    pub hooks: HookSet,
    /// Absent if nothing is stored.
    pub store: Option<SessionStore>,
    pub definitions: DefinitionSources,
    pub custom: CommandSources,
    pub builtin: BuiltinSettings,
    /// If present, only these tools are offered; by any of their names.
    pub tools: Option<Vec<String>>,
    /// Tools that are not offered; by any of their names.
    pub disallowed_tools: Vec<String>,
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    /// The day, such as `2026-11-20`.
    pub date: String,
    /// Such as `linux (x86_64)`.
    pub platform: String,
    pub redactor: Redactor,
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
    /// The maximum number of concurrent requests and tool calls of all agents.
    pub max_operations: usize,
    /// The time limit of a tool call.
    pub max_call: Option<Duration>,
    pub subagents: SubagentParts,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    /// The folder for worktrees of sub-agents.
    pub worktrees: PathBuf,
    /// Absent where the system cannot confine commands.
    pub sandbox: Option<Sandbox>,
    /// The session's MCP servers.
    pub mcp: Mcp,
}

/// The settings of sub-agents.
#[derive(Clone, Debug)]
pub struct SubagentParts {
    pub enabled: bool,
    pub slots: SlotLimits,
    pub settings: SubagentSettings,
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
    let stored_result = stored_result(parts.subagents.settings.result_max_chars);
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
        agent_tool: Some(parts.subagents.settings.tool_name.clone()),
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
    tree: AgentTree,
    inbox: Inbox,
    commands: Option<LoadedCommands>,
    events: &EventSink,
) -> MainAgent {
    let facts = EnvironmentInfo::gather(&parts.cwd, &parts.date, &parts.platform);
    let brought = ProjectContext::read(parts, facts.clone(), commands, events);
    let told = brought.for_agents();
    let operations = ConcurrencyLimit::new(parts.max_operations).with_call_limit(parts.max_call);
    let gate = parts.gate.for_agent("main".to_owned(), events.clone()).with_env(&parts.env);
    let own = session_tools(parts, &parts.builtin, told.skill.as_ref(), Vec::new());
    let own = ToolRegistry::new(own);
    let offer = parts.offers_subagents().then(|| {
        let caller = ParentContext {
            name: "main".to_owned(),
            model: model.clone(),
            journal: session.journal.clone(),
            inbox: inbox.clone(),
            gate: gate.clone(),
            workspace: Workspace { cwd: parts.cwd.clone(), env: parts.env.clone(), bound: None },
            tools: None,
        };
        let operations = operations.clone();
        let session = SessionShared { tree, operations, hooks: session.hooks.clone() };
        let factory = |definitions| factory(parts, session, facts, told, definitions);
        SubagentTools::new(parts, caller, own.clone(), factory, events)
    });
    let tools = match &offer {
        Some(offer) => offer.tools(),
        None => main_tools(parts, &own),
    };
    let agent = Agent::new(AgentSetup {
        name: "main".to_owned(),
        model,
        system: brought.system().into(),
        tools,
        gate,
        hooks: session.hooks,
        journal: session.journal,
        inbox,
        background_wait: parts.background_wait,
        slot: None,
        budget: session.budget,
        per_run: parts.per_run,
        concurrency: operations,
        cwd: parts.cwd.clone(),
        env: parts.env.clone(),
        history: session.history,
        span: Span::root(),
        redactor: parts.redactor.clone(),
        reasoning_model: session.model,
    });
    MainAgent { agent, subagent_tools: offer, context: brought }
}

/// The state that all agents of a session share.
pub(super) struct SessionShared {
    pub tree: AgentTree,
    pub operations: ConcurrencyLimit,
    pub hooks: Hooks,
}

/// Builds the factory of a session's sub-agents from these definitions.
pub(super) fn factory(
    parts: &Arc<RuntimeParts>,
    session: SessionShared,
    facts: EnvironmentInfo,
    told: SharedContext,
    definitions: Definitions,
) -> Arc<Factory> {
    let tools_of = parts.clone();
    let SharedContext { memory, skill } = told;
    Arc::new(Factory {
        settings: parts.subagents.settings.clone(),
        tree: session.tree,
        definitions,
        gate: parts.gate.clone(),
        hooks: session.hooks,
        models: parts.models.clone(),
        builtin: parts.builtin.clone(),
        tools: Box::new(move |settings, served| {
            session_tools(&tools_of, settings, skill.as_ref(), served)
        }),
        mcp: parts.mcp.clone(),
        project: parts.project.clone(),
        worktrees: parts.worktrees.clone(),
        sandbox: parts.sandbox.clone(),
        env: parts.env.clone(),
        environment: facts,
        memory,
        concurrency: session.operations,
        redactor: parts.redactor.clone(),
    })
}

/// Returns all tools of a main agent without sub-agents.
pub(super) fn main_tools(parts: &RuntimeParts, own: &ToolRegistry) -> ToolRegistry {
    parts.with_servers(own).withholding(|name| parts.gate.denies_tool(name))
}

/// Returns a fresh set of the tools that this session's agents may have, followed by those of servers.
fn session_tools(
    parts: &RuntimeParts,
    settings: &BuiltinSettings,
    skill: Option<&Arc<dyn Tool>>,
    served: Vec<Arc<dyn Tool>>,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin(settings);
    tools.extend(skill.cloned());
    #[cfg(debug_assertions)]
    tools.extend(crate::tool::fault::from_env(&parts.env));
    tools.extend(served);
    tools.retain(|tool| parts.allows(&tool.spec().name));
    tools
}

impl RuntimeParts {
    /// Whether the user allows this session to have the tool.
    pub(super) fn allows(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| entry_matches(name, tool));
        self.tools.as_deref().is_none_or(named) && !named(&self.disallowed_tools)
    }

    /// Adds the tools that servers offer to main.
    pub(super) fn with_servers(&self, own: &ToolRegistry) -> ToolRegistry {
        let mut tools = own.clone();
        let served = self.mcp.offered().into_iter();
        served.filter(|tool| self.allows(&tool.spec().name)).for_each(|tool| tools.insert(tool));
        tools
    }

    /// Whether models may start agents: the feature is built in, the configuration enables it, and
    /// the user has not excluded all such tools.
    fn offers_subagents(&self) -> bool {
        let listed = |names: &Vec<String>| names.iter().any(|name| tools::is_agent_tool(name));
        cfg!(feature = "sub-agents")
            && self.subagents.enabled
            && self.tools.as_ref().is_none_or(listed)
    }

    /// Returns the names of the main agent's tools with these definitions and skills, in order.
    pub fn tool_names(&self, definitions: &Definitions, customs: &CommandSet) -> Vec<String> {
        let skill = commands::skill_tool(&self.custom, customs);
        let tools =
            session_tools(self, &self.builtin, skill.as_ref(), self.mcp.main().offered().tools);
        let mut names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        if self.offers_subagents() {
            names.extend(tools::tool_names(&self.subagents.settings, definitions, &self.gate));
        }
        names.retain(|name| self.allows(name) && !self.gate.denies_tool(name));
        names
    }
}
