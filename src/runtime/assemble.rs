//! Puts a session and its main agent together from parts that the composition root decided on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Open;
use super::brought::{Brought, Told};
use super::offer::Offer;
use crate::agent::prompt::Facts;
use crate::agent::{Agent, AgentSetup, Inbox, Operations};
use crate::budget::{self, Budget};
use crate::config::SettingSources;
use crate::config::models::Catalogue;
use crate::custom::{self, CustomSources, Customs};
use crate::disk::{ProjectFolders, ProjectScope};
use crate::exec::Sandbox;
use crate::hook::{HookSet, Hooks, SessionFacts};
use crate::permission::Gate;
use crate::protocol::{
    AgentEvent, EnvOverlay, EventQueue, EventSink, Journal, Message, NoJournal, Redactor,
    SessionId, Span,
};
use crate::provider::{Model, ModelSlot, ModelSource};
use crate::session::{
    AgentSummary, CallResult, LostReport, NewSession, Opened, SessionStore, Transcript,
};
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::subagent::{
    AgentTree, Caller, Factory, Settings, Slots, Workplace, end_as_result, faces,
};
use crate::tool::mcp::Mcp;
use crate::tool::{BuiltinSettings, Tool, ToolRegistry, builtin, lists};

/// Who the main agent is and how it works.
pub(super) const MAIN_PROMPT: &str = include_str!("../../assets/prompts/main.md");

/// All that a runtime is made of. Nothing in it has touched the network or the project's files yet.
pub struct Parts {
    pub events: EventQueue,
    /// Absent until the person has set one up.
    pub model: Option<Model>,
    pub models: Arc<dyn ModelSource>,
    pub catalogue: Arc<Catalogue>,
    pub gate: Gate,
    pub hooks: HookSet,
    /// Absent when nothing is to be stored.
    pub store: Option<SessionStore>,
    pub definitions: DefinitionSources,
    pub custom: CustomSources,
    pub builtin: BuiltinSettings,
    /// Only these tools, when given; by any of their names.
    pub tools: Option<Vec<String>>,
    /// None of these tools; by any of their names.
    pub without: Vec<String>,
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    /// The day, such as `2026-11-20`.
    pub date: String,
    /// Such as `linux (x86_64)`.
    pub platform: String,
    pub redactor: Redactor,
    /// What the person should know at the start.
    pub notices: Vec<String>,
    /// Where the person's own AGENTS.md lies.
    pub user_dir: PathBuf,
    /// Where the person keeps the same for another program.
    pub claude_dir: Option<PathBuf>,
    /// The files that a project's imports and links may read.
    pub scope: ProjectScope,
    /// Which of the project's files of that kind are read.
    pub setting_sources: SettingSources,
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// How long main, when it is done, waits for its agents in the background; `None` where it is
    /// woken by them.
    pub patience: Option<Duration>,
    /// For one run of the main agent, with all that it starts.
    pub per_run: budget::Limits,
    /// For the whole tree.
    pub budget: budget::Limits,
    /// How many requests and tool calls of all agents go on at a time.
    pub max_operations: usize,
    /// How long one tool call of any kind may take.
    pub max_call: Option<Duration>,
    pub subagents: SubAgents,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    /// The folder for worktrees of sub-agents.
    pub worktrees: PathBuf,
    /// Absent where the system cannot confine commands.
    pub sandbox: Option<Sandbox>,
    /// The session's MCP servers.
    pub mcp: Mcp,
}

/// The part of sub-agents.
#[derive(Clone, Debug)]
pub struct SubAgents {
    pub enabled: bool,
    pub slots: Slots,
    pub settings: Settings,
}

/// One conversation: where it is written, and what was said so far.
#[derive(Clone)]
pub(super) struct Session {
    pub id: SessionId,
    pub journal: Arc<dyn Journal>,
    pub history: Vec<Message>,
    /// All that its agents did, for the front end; taken when the session is shown.
    pub events: Vec<AgentEvent>,
    /// The model of the last answer in `history`.
    pub model: Option<String>,
    /// Its sub-agents, all ended; taken when the session is shown. Of a fork those of the other
    /// session whose end main has not read of.
    pub agents: Vec<AgentSummary>,
    /// Those whose end main has not read of; taken with `agents`.
    pub lost_reports: Vec<LostReport>,
    /// What was found out and mended while it was read.
    pub notices: Vec<String>,
    /// What the tree may spend: one account per session.
    pub budget: Budget,
    pub hooks: Hooks,
}

impl Session {
    /// A session that is stored nowhere.
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

    /// Begins with what a transcript tells.
    fn read(&mut self, transcript: Transcript, events: Vec<AgentEvent>) {
        self.events = events;
        self.model = transcript.model;
        self.history = transcript.messages;
        self.notices = transcript.warnings;
    }
}

/// Opens a new session or a stored one. The error is one line for the person.
pub(super) async fn open_session(parts: &Parts, open: Open) -> Result<Session, String> {
    let (Open::New(id) | Open::Stored(id) | Open::Fork { to: id, .. }) = open;
    let mut session = Session::empty(id, parts.budget);
    let folder = parts.store.as_ref().map(|store| store.dir(id));
    let transcript = folder.map(|folder| folder.join("transcript.jsonl")).unwrap_or_default();
    session.hooks = Hooks::new(parts.hooks.clone(), SessionFacts { id: Some(id), transcript });
    let Some(store) = parts.store.clone() else { return Ok(session) };
    let stored_result = stored_result(parts.subagents.settings.result_max_chars);
    match open {
        Open::New(id) => {
            let journal = store.create(new_session(parts, id));
            session.journal = journal.map_err(|error| error.to_string())?;
        }
        Open::Fork { from, to } => {
            let new = new_session(parts, to);
            let forked =
                tokio::task::spawn_blocking(move || store.fork(from, new, &stored_result)).await;
            let forked = forked.map_err(|error| error.to_string())?;
            let Opened { journal, transcript, history, agents, lost_reports, .. } =
                forked.map_err(|error| error.to_string())?;
            session.journal = journal;
            session.agents = agents;
            session.lost_reports = lost_reports;
            session.read(transcript, history);
        }
        Open::Stored(id) => {
            let opened = tokio::task::spawn_blocking(move || store.open(id, &stored_result)).await;
            let opened = opened.map_err(|error| error.to_string())?;
            let Opened { journal, transcript, history, agents, spent_by_agents, lost_reports } =
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

fn new_session(parts: &Parts, id: SessionId) -> NewSession {
    let model = parts.model.as_ref();
    NewSession {
        id,
        cwd: parts.cwd.to_path_buf(),
        model: model.map(|model| model.name.clone()).unwrap_or_default(),
        provider: model.map(|model| model.provider.name().to_owned()).unwrap_or_default(),
        agent_tool: Some(parts.subagents.settings.tool_name.clone()),
    }
}

/// The result of a call that had started an agent, for `SessionStore`.
pub(super) fn stored_result(max_chars: usize) -> impl Fn(&AgentSummary) -> Option<CallResult> {
    move |agent| {
        let outcome = agent.end.as_ref()?;
        let (text, is_error, details) = end_as_result(&agent.meta, outcome, max_chars);
        Some(CallResult { text, is_error, details })
    }
}

/// A main agent, and what is kept beside it between its runs.
pub(super) struct Main {
    pub agent: Agent,
    /// What starts its sub-agents, if it may have any.
    pub offer: Option<Offer>,
    pub brought: Brought,
}

/// Builds the main agent of a session, and what starts its sub-agents, if it has any. Reads the
/// project's files: not for the start path, and it may block.
pub(super) fn main_agent(
    parts: &Arc<Parts>,
    session: Session,
    model: ModelSlot,
    tree: AgentTree,
    inbox: Inbox,
    events: &EventSink,
) -> Main {
    let facts = Facts::gather(&parts.cwd, &parts.date, &parts.platform);
    let brought = Brought::read(parts, facts.clone(), events);
    let told = brought.for_agents();
    let operations = Operations::new(parts.max_operations).with_call_limit(parts.max_call);
    let gate = parts.gate.for_agent("main".to_owned(), events.clone()).with_env(&parts.env);
    let own = session_tools(parts, &parts.builtin, told.skill.as_ref(), Vec::new());
    let own = ToolRegistry::new(own);
    let offer = parts.offers_subagents().then(|| {
        let caller = Caller {
            name: "main".to_owned(),
            model: model.clone(),
            journal: session.journal.clone(),
            inbox: inbox.clone(),
            gate: gate.clone(),
            place: Workplace { cwd: parts.cwd.clone(), env: parts.env.clone(), bound: None },
            holds: None,
        };
        let operations = operations.clone();
        let session = Shared { tree, operations, hooks: session.hooks.clone() };
        let factory = |definitions| factory(parts, session, facts, told, definitions);
        Offer::new(parts, caller, own.clone(), factory, events)
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
        patience: parts.patience,
        respite: None,
        budget: session.budget,
        per_run: parts.per_run,
        operations,
        cwd: parts.cwd.clone(),
        env: parts.env.clone(),
        history: session.history,
        span: Span::root(),
        redactor: parts.redactor.clone(),
        thinker: session.model,
    });
    Main { agent, offer, brought }
}

/// What all agents of a session have in common.
pub(super) struct Shared {
    pub tree: AgentTree,
    pub operations: Operations,
    pub hooks: Hooks,
}

/// What sub-agents of a session are built from, with these definitions.
pub(super) fn factory(
    parts: &Arc<Parts>,
    session: Shared,
    facts: Facts,
    told: Told,
    definitions: Definitions,
) -> Arc<Factory> {
    let tools_of = parts.clone();
    let Told { memory, skill } = told;
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
        facts,
        memory,
        operations: session.operations,
        redactor: parts.redactor.clone(),
    })
}

/// All tools of a main agent that has no sub-agents.
pub(super) fn main_tools(parts: &Parts, own: &ToolRegistry) -> ToolRegistry {
    parts.with_servers(own).withholding(|name| parts.gate.withholds(name))
}

/// A fresh set of the tools that this session's agents may have, and those of servers behind them.
fn session_tools(
    parts: &Parts,
    settings: &BuiltinSettings,
    skill: Option<&Arc<dyn Tool>>,
    served: Vec<Arc<dyn Tool>>,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin(settings);
    tools.extend(skill.cloned());
    #[cfg(debug_assertions)]
    tools.extend(crate::tool::fault::offered(&parts.env));
    tools.extend(served);
    tools.retain(|tool| parts.allows(&tool.spec().name));
    tools
}

impl Parts {
    /// Whether the person lets this session have the tool at all.
    pub(super) fn allows(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| lists(name, tool));
        self.tools.as_deref().is_none_or(named) && !named(&self.without)
    }

    /// These tools and those that main is offered of its servers.
    pub(super) fn with_servers(&self, own: &ToolRegistry) -> ToolRegistry {
        let mut tools = own.clone();
        let served = self.mcp.offered().into_iter();
        served.filter(|tool| self.allows(&tool.spec().name)).for_each(|tool| tools.insert(tool));
        tools
    }

    /// Whether models may start agents: this program can, the configuration says so, and not all
    /// such tools are left out by the person.
    fn offers_subagents(&self) -> bool {
        let listed = |names: &Vec<String>| names.iter().any(|name| faces::is_face(name));
        cfg!(feature = "sub-agents")
            && self.subagents.enabled
            && self.tools.as_ref().is_none_or(listed)
    }

    /// The names of the tools that the main agent gets with these definitions and skills, in order.
    #[must_use]
    pub fn tool_names(&self, definitions: &Definitions, customs: &Customs) -> Vec<String> {
        let skill = custom::tool(&self.custom, customs);
        let tools =
            session_tools(self, &self.builtin, skill.as_ref(), self.mcp.main().offered().tools);
        let mut names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        if self.offers_subagents() {
            names.extend(faces::names(&self.subagents.settings, definitions, &self.gate));
        }
        names.retain(|name| self.allows(name) && !self.gate.withholds(name));
        names
    }
}
