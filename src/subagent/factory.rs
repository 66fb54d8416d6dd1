//! Builds sub-agents: a definition, a model, and a fresh set of tools make a fresh agent.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::comms;
use super::definition::{Definition, MemoryScope};
use super::instructions;
use super::registry::Definitions;
use super::resume::ResumedState;
use super::spawn_request::{Fork, ToolAccess};
use super::tools;
use super::tree::{AgentHandle, AgentSlot, AgentTree};
use super::workspace::Workspace;
use super::{ParentContext, Spawner};
use crate::agent::system_prompt::{EnvironmentInfo, SystemPrompt};
use crate::agent::{Agent, AgentSetup, ConcurrencyLimit};
use crate::budget::{Budget, Limits};
use crate::config::{AgentToolset, ChildAuth, ChildPermissions, OnLimit, OnViolation};
use crate::disk::ProjectFolders;
use crate::exec::Sandbox;
use crate::hook::{Hook, Hooks};
use crate::permission::{AgentGate, Gate, InheritedPermissions, entry_tool};
use crate::protocol::{
    EnvOverlay, EventSink, Journal, MCP_PREFIX, McpSelection, NoticeLevel, Redactor, Span,
};
use crate::provider::{Model, ModelSlot, ModelSource};
use crate::tool::mcp::{self, Mcp};
use crate::tool::{self, BuiltinSettings, Tool, ToolRegistry};

/// The instructions for every sub-agent, after its definition's prompt.
const SUBAGENT_PROMPT: &str = include_str!("../../assets/prompts/subagent.md");

/// How long a sub-agent that is done waits for its own background work.
const BACKGROUND_WAIT: Duration = Duration::from_secs(600);

/// The configuration of sub-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentSettings {
    /// The name of the tool: `AgentTool`, `Agent` or `Task`.
    pub tool_name: String,
    /// The sets of tools with which sub-agents are offered.
    pub faces: Vec<AgentToolset>,
    /// How many levels there may be below the main agent of the outermost process.
    pub max_depth: u32,
    /// How deep this process already is.
    pub base_depth: u32,
    pub allow_nested_spawn: bool,
    pub on_limit: OnLimit,
    pub on_autonomy_violation: OnViolation,
    /// The most requests of one run; calls and definitions can only lower it.
    pub max_turns: u32,
    /// The most characters of a final text that its parent gets; 0 is no limit.
    pub result_max_chars: usize,
    /// Whether an unknown name in a tool list refuses the call instead of being dropped with a warning.
    pub strict_tools: bool,
    /// Whether transcripts of sub-agents are stored.
    pub persist: bool,
    /// US dollars that each of them, with those below it, may spend.
    pub max_usd: Option<f64>,
    /// Seconds that each of them may take.
    pub max_wall_s: Option<u64>,
    /// Tokens for calls of the lifecycle tools that name none.
    pub default_budget: u64,
    /// The most tokens that a call may ask for.
    pub max_budget_per_agent: Option<u64>,
    pub permissions: ChildPermissions,
    pub child_auth: ChildAuth,
    /// Whether they and their parents can send each other messages.
    pub comms: bool,
    /// Whether their prompts say how to use their tools.
    pub inherit_tool_instructions: bool,
}

impl SubagentSettings {
    /// Whether an agent at `depth` below the main agent may start others.
    pub fn may_start(&self, depth: u32) -> bool {
        self.base_depth + depth < self.max_depth && (depth == 0 || self.allow_nested_spawn)
    }

    /// Whether a face is offered.
    pub fn offers(&self, face: AgentToolset) -> bool {
        self.faces.contains(&face)
    }
}

/// Makes a fresh set of tools for one agent, with those that servers offer it.
pub type ToolFactory =
    dyn Fn(&BuiltinSettings, Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> + Send + Sync;

/// Builds sub-agents. One per session, rebuilt when definitions change.
pub struct Factory {
    pub settings: SubagentSettings,
    pub tree: AgentTree,
    pub definitions: Definitions,
    pub gate: Gate,
    /// The session's hooks.
    pub hooks: Hooks,
    pub models: Arc<dyn ModelSource>,
    /// The settings of their tools.
    pub builtin: BuiltinSettings,
    /// Makes a fresh set of tools, without those that start sub-agents.
    pub tools: Box<ToolFactory>,
    /// The servers of the session.
    pub mcp: Mcp,
    /// The session's variables.
    pub env: EnvOverlay,
    /// The folders of the session.
    pub project: ProjectFolders,
    /// The folder for their worktrees.
    pub worktrees: PathBuf,
    /// Absent if the system cannot confine commands.
    pub sandbox: Option<Sandbox>,
    pub environment: EnvironmentInfo,
    /// The concurrency limits that all agents of the session share.
    pub concurrency: ConcurrencyLimit,
    /// The project's instructions for agents.
    pub memory: String,
    pub redactor: Redactor,
}

/// One sub-agent, decided but not built.
pub struct ChildSpec {
    pub name: String,
    pub definition: Arc<Definition>,
    pub model: Model,
    /// Which of the tools it gets.
    pub access: ToolAccess,
    /// Replaces the definition's prompt.
    pub system_prompt: Option<String>,
    pub fork: Option<Fork>,
    /// Its own conversation so far.
    pub resumed: Option<ResumedState>,
    /// Whether it reads the project's instructions if its definition does not say; `None`: it does.
    pub memory: Option<bool>,
    /// Whether it stays after its first prompt, for messages.
    pub host: bool,
    pub max_turns: u32,
    /// Its account.
    pub budget: Budget,
    /// The span of the call that starts it.
    pub span: Span,
    pub journal: Arc<dyn Journal>,
    pub rights: InheritedPermissions,
    pub workspace: Workspace,
    /// The note on its worktree.
    pub worktree_note: Option<String>,
    /// Whether its provider differs from its parent's.
    pub foreign_provider: bool,
    /// The tools that servers offer it; determined when it starts.
    pub server_tools: Vec<Arc<dyn Tool>>,
}

impl Factory {
    /// Builds the agent of a plan, fresh and independent of all others.
    pub fn build(
        self: &Arc<Self>,
        plan: ChildSpec,
        member: &AgentHandle,
        events: &EventSink,
        above: &ParentContext,
    ) -> Agent {
        let gate = above.gate.child(plan.name.clone(), events.clone(), &plan.rights);
        let gate = plan.workspace.gate(gate);
        let lists = plan.lists();
        let tools =
            self.narrow_tools(&lists, (&plan.workspace, &gate), &plan.server_tools, above).tools;
        let system = self.system_prompt(&plan, &tools, &above.name);
        let own = tools.names().map(str::to_owned);
        let faces = tools::tool_names(&self.settings, &self.definitions, &self.gate).into_iter();
        let faces: Vec<_> =
            faces.filter(|name| above.has_tool(name) && lists.allows(name)).collect();
        let holds = own.chain(faces).collect();
        let start = AgentToolsConfig {
            depth: events.path().depth(),
            is_whole_copy: plan.is_whole_copy(),
            may_send: self.may_send(&lists),
        };
        let own = plan.definition.hooks.iter().map(Hook::command).map(Arc::new).collect();
        let hooks = self.hooks.for_agent(member.id(), &plan.definition.name, own);
        let ChildSpec {
            name,
            model,
            fork,
            resumed,
            max_turns,
            budget,
            span,
            journal,
            workspace: place,
            ..
        } = plan;
        let model = ModelSlot::new(model);
        let caller = ParentContext {
            name: name.clone(),
            model: model.clone(),
            journal: journal.clone(),
            inbox: member.inbox().clone(),
            gate: gate.clone(),
            workspace: place.clone(),
            tools: Some(holds),
        };
        let tools = self.with_agent_tools(tools, caller, start);
        let own = resumed.map(|resumed| (resumed.messages, resumed.reasoning_model));
        let inherited = fork.map(|fork| (fork.messages, fork.reasoning_model));
        let (history, thinker) = own.or(inherited).unwrap_or_default();
        Agent::new(AgentSetup {
            gate,
            hooks,
            name,
            model,
            system,
            tools,
            journal,
            inbox: member.inbox().clone(),
            background_wait: Some(BACKGROUND_WAIT),
            slot: Some(Arc::new(AgentSlot::new(&self.tree, events))),
            budget,
            cwd: place.cwd,
            env: place.env,
            per_run: Limits { turns: Some(max_turns), ..Limits::default() },
            concurrency: self.concurrency.clone(),
            history,
            span,
            redactor: self.redactor.clone(),
            reasoning_model: thinker,
        })
    }

    /// A fork keeps its parent's system prompt; every other agent has its own.
    fn system_prompt(&self, plan: &ChildSpec, tools: &ToolRegistry, parent: &str) -> Arc<str> {
        if let Some(fork) = &plan.fork {
            return fork.system.clone();
        }
        let said = plan.definition.memory.map(|memory| memory == MemoryScope::Project);
        let reads_memory = said.or(plan.memory).unwrap_or(true);
        let base = plan.system_prompt.as_deref().unwrap_or(&plan.definition.prompt);
        let mut more = SUBAGENT_PROMPT.trim().to_owned();
        if self.settings.inherit_tool_instructions {
            more.push_str(&instructions::for_tools(tools));
        }
        if self.may_send(&plan.lists()) {
            more.push_str(&comms::instructions(parent));
        }
        if let Some(introduction) = &plan.worktree_note {
            more.push_str("\n\n");
            more.push_str(introduction);
        }
        let cwd = plan.workspace.cwd.display().to_string();
        let facts = EnvironmentInfo { cwd, ..self.environment.clone() };
        let system = SystemPrompt {
            base,
            append: Some(&more),
            environment: &facts,
            memory: if reads_memory { &self.memory } else { "" },
        };
        system.assemble().into()
    }

    /// The tools that servers offer an agent that starts: those its definition asks for, with its
    /// own variables. Waits for the servers, within bounds. A whole copy of main is offered the
    /// same tools as main, whatever has come since.
    pub async fn server_tools(
        &self,
        plan: &ChildSpec,
        events: &EventSink,
        cancel: &CancellationToken,
        above: &ParentContext,
    ) -> Vec<Arc<dyn Tool>> {
        if plan.is_whole_copy() && above.tools.is_none() {
            return self.mcp.offered();
        }
        let wishes = plan.definition.mcp_servers.as_deref();
        let (fleet, unknown) =
            self.mcp.for_agent(wishes, &plan.workspace.env, events.path().depth());
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            events.notice(NoticeLevel::Warning, format!("there are no MCP servers {names}"));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = fleet.wait_ready() => {}
        }
        let missing = fleet.still_starting();
        if !missing.is_empty() && !cancel.is_cancelled() {
            let names = missing.join(", ");
            events.notice(
                NoticeLevel::Warning,
                format!("works without the MCP servers {names}: not connected yet"),
            );
        }
        let offered = fleet.offered();
        // Problems of the session's own servers were reported to main.
        for problem in offered.problems.into_iter().filter(|_| wishes.is_some()) {
            events.notice(NoticeLevel::Warning, problem);
        }
        offered.tools
    }

    /// All tools of a new agent at `depth`: those it was given, and the faces if it may start
    /// agents. A whole copy of another agent is always offered the same tools as the original, or
    /// its provider would have to read the whole conversation anew; at the depth limit they only
    /// report that it is reached.
    fn with_agent_tools(
        self: &Arc<Self>,
        mut tools: ToolRegistry,
        caller: ParentContext,
        start: AgentToolsConfig,
    ) -> ToolRegistry {
        let executor = Spawner::new(self.clone(), caller);
        if start.may_send {
            tools.insert(tools::send_tool(&executor));
        }
        let may_start = self.settings.may_start(start.depth);
        if !may_start {
            tools = tools.with_hidden(tools::limit_tools(&executor));
        }
        let offered = match (may_start, start.is_whole_copy) {
            (true, _) => tools::agent_tools(&executor),
            (false, true) => tools::listed_limit_tools(&executor),
            (false, false) => Vec::new(),
        };
        for face in offered {
            if executor.parent().has_tool(&face.spec().name) {
                tools.insert(face);
            }
        }
        tools.withholding(|name| self.gate.denies_tool(name))
    }

    /// Whether a sub-agent gets the tool that sends messages. The configuration decides that, not
    /// tool lists, unless one of them forbids it.
    fn may_send(&self, lists: &ToolLists<'_>) -> bool {
        self.settings.comms
            && !lists.denies(comms::SEND_TOOL)
            && !self.gate.denies_tool(comms::SEND_TOOL)
    }

    /// The current tools of one sub-agent, except those that start others: a fresh set, narrowed by
    /// its definition and by the call. Also returns the listed names that no tool has.
    pub fn tools_for(
        &self,
        definition: &Definition,
        access: &ToolAccess,
        above: &ParentContext,
    ) -> ToolSelection {
        let place = (&above.workspace, &above.gate);
        let served = self.mcp.main();
        // A server that connects in between is in both, so nothing is mistaken for unknown.
        let missing = served.still_starting();
        let (lists, offered) = (ToolLists { definition, access }, served.offered().tools);
        let mut selection = self.narrow_tools(&lists, place, &offered, above);
        // An agent cannot pass on what it was not given, whatever connects later.
        if above.tools.is_none() {
            let comes = |entry: &String| lists.is_pending(entry, &missing);
            (selection.pending, selection.unknown) =
                selection.unknown.into_iter().partition(|entry| comes(entry));
        }
        selection
    }

    /// The definitions that no deny rule withholds.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.iter().filter(|known| !self.gate.denies_agent(&known.name))
    }

    fn narrow_tools(
        &self,
        lists: &ToolLists<'_>,
        (place, gate): (&Workspace, &AgentGate),
        served: &[Arc<dyn Tool>],
        above: &ParentContext,
    ) -> ToolSelection {
        let tools = (self.tools)(&place.settings(&self.builtin, gate), served.to_vec());
        let all = ToolRegistry::new(tools);
        let all = all.withholding(|name| gate.shared_gate().denies_tool(name));
        let known = |entry: &str| {
            all.get(entry).is_some()
                || all.names().any(|name| tool::entry_matches(entry, name))
                || lists.is_own_server_tool(entry)
        };
        let (mut unknown, mut faces): (Vec<String>, Vec<String>) = Default::default();
        for name in lists.names() {
            let tool = entry_tool(name);
            let list = if tools::is_agent_tool(tool) { &mut faces } else { &mut unknown };
            if (tools::is_agent_tool(tool) || !known(tool)) && !list.contains(name) {
                list.push(name.clone());
            }
        }
        let may_have = |name: &str| above.has_tool(name) || lists.is_own_server_tool(name);
        let tools =
            all.filtered(|name| may_have(name) && lists.allows(name) && lists.allows_server(name));
        let promised = lists.names().any(|entry| lists.is_own_server_tool(entry));
        let nothing_left = tools.names().next().is_none() && lists.expects_tools() && !promised;
        ToolSelection { tools, unknown, pending: Vec::new(), agent_tools: faces, nothing_left }
    }
}

/// The lists that narrow a sub-agent's tools: its definition's, and the call's.
struct ToolLists<'a> {
    definition: &'a Definition,
    access: &'a ToolAccess,
}

/// Decides which faces a new agent gets.
#[derive(Clone, Copy)]
struct AgentToolsConfig {
    depth: u32,
    /// Whether it continues with all of another's conversation and tools.
    is_whole_copy: bool,
    may_send: bool,
}

impl ChildSpec {
    /// Whether it continues with all of another's conversation and tools.
    fn is_whole_copy(&self) -> bool {
        self.fork.is_some() && self.access == ToolAccess::Inherit
    }

    fn lists(&self) -> ToolLists<'_> {
        ToolLists { definition: &self.definition, access: &self.access }
    }
}

impl ToolLists<'_> {
    /// Whether a list forbids a tool by its name.
    fn denies(&self, name: &str) -> bool {
        let by_call = matches!(self.access, ToolAccess::Deny(_)) && !self.access.allows(name);
        by_call || self.definition.disallowed_tools.iter().any(|entry| entry == name)
    }

    /// Whether it belongs to a server that the definition brings along.
    fn is_own_server_tool(&self, name: &str) -> bool {
        let wishes = self.definition.mcp_servers.iter().flatten();
        let own = wishes.filter(|wish| matches!(wish, McpSelection::Own(_)));
        own.map(McpSelection::name).any(|server| mcp::is_of_server(server, name))
    }

    /// Whether it belongs to one of these session servers and the definition allows it.
    fn is_pending(&self, name: &str, servers: &[String]) -> bool {
        servers.iter().any(|server| mcp::is_of_server(server, name)) && self.allows_server(name)
    }

    /// Whether the definition allows it, if it belongs to a server.
    fn allows_server(&self, name: &str) -> bool {
        let Some(wishes) = &self.definition.mcp_servers else { return true };
        !name.starts_with(MCP_PREFIX)
            || wishes.iter().any(|wish| mcp::is_of_server(wish.name(), name))
    }

    fn allows(&self, name: &str) -> bool {
        // An entry with a pattern is also a rule, which the gate enforces: here it only adds the
        // tool.
        let listed = |entry: &String| tool::entry_matches(entry_tool(entry), name);
        let forbids = |entry: &String| tool::entry_matches(entry, name);
        self.definition.tools.as_deref().is_none_or(|list| list.iter().any(listed))
            && !self.definition.disallowed_tools.iter().any(forbids)
            && self.access.allows(name)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let own = self.definition.tools.iter().flatten();
        own.chain(&self.definition.disallowed_tools).chain(self.access.names())
    }

    /// A list that names only deliberately withheld tools is not empty by mistake.
    fn expects_tools(&self) -> bool {
        let meant = |list: &[String]| {
            !list.is_empty() && !list.iter().all(|name| tools::is_agent_tool(entry_tool(name)))
        };
        let allowed = match self.access {
            // A call with an empty list has most likely lost it.
            ToolAccess::Allow(list) => list.is_empty() || meant(list),
            ToolAccess::Deny(_) => true,
            ToolAccess::Inherit => false,
        };
        allowed || self.definition.tools.as_deref().is_some_and(meant)
    }
}

/// The result of narrowing a set of tools.
#[derive(Debug)]
pub struct ToolSelection {
    pub tools: ToolRegistry,
    /// Names that are no tool's.
    pub unknown: Vec<String>,
    /// Names that belong to servers still being started.
    pub pending: Vec<String>,
    /// Names of tools that start or steer agents.
    pub agent_tools: Vec<String>,
    /// The lists have no existing tool in common: running without any would be a mistake.
    pub nothing_left: bool,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}
