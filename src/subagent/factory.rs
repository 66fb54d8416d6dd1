//! Builds sub-agents: a definition, a model, and a fresh set of tools make a fresh agent.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::comms;
use super::definition::{Definition, Memory};
use super::faces;
use super::instructions;
use super::order::{Fork, ToolAccess};
use super::registry::Definitions;
use super::resume::Resumed;
use super::tree::{AgentTree, Lender, Membership};
use super::workplace::Workplace;
use super::{Caller, Executor};
use crate::agent::prompt::{Facts, SystemPrompt};
use crate::agent::{Agent, AgentSetup, Operations};
use crate::budget::{Budget, Limits};
use crate::config::{ChildAuth, ChildPermissions, Face, OnLimit, OnViolation};
use crate::disk::ProjectFolders;
use crate::exec::Sandbox;
use crate::hook::{Hook, Hooks};
use crate::permission::{AgentGate, Gate, Rights, tool_of};
use crate::protocol::{
    EnvOverlay, EventSink, Journal, MCP_PREFIX, McpWish, NoticeLevel, Redactor, Span,
};
use crate::provider::{Model, ModelSlot, ModelSource};
use crate::tool::mcp::{self, Mcp};
use crate::tool::{self, BuiltinSettings, Tool, ToolRegistry};

/// What every sub-agent is told after its definition's own prompt.
const INSTRUCTIONS: &str = include_str!("../../assets/prompts/subagent.md");

/// How long a sub-agent that is done waits for its own in the background.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the configuration says about sub-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name under which the tool is offered: `AgentTool`, `Agent` or `Task`.
    pub tool_name: String,
    /// The ways in which sub-agents are offered.
    pub faces: Vec<Face>,
    /// How many levels there may be below the main agent of the outermost process.
    pub max_depth: u32,
    /// How deep this process already is.
    pub base_depth: u32,
    pub allow_nested_spawn: bool,
    pub on_limit: OnLimit,
    pub on_autonomy_violation: OnViolation,
    /// The most requests that one run may make; calls and definitions can only lower it.
    pub max_turns: u32,
    /// The most characters of a final text that its parent gets; 0 is no limit.
    pub result_max_chars: usize,
    /// Whether an unknown name in a tool list refuses the call instead of being dropped with a warning.
    pub strict_tools: bool,
    /// Whether transcripts of sub-agents are stored.
    pub persist: bool,
    /// US dollars that one of them and those below it may spend.
    pub max_usd: Option<f64>,
    /// Seconds that one of them may take.
    pub max_wall_s: Option<u64>,
    /// Tokens for calls of the lifecycle tools that name none.
    pub default_budget: u64,
    /// The most tokens that a call may ask for.
    pub max_budget_per_agent: Option<u64>,
    pub permissions: ChildPermissions,
    pub child_auth: ChildAuth,
    /// Whether they and their parents can send each other messages.
    pub comms: bool,
    /// Whether they are told how to use their tools.
    pub inherit_tool_instructions: bool,
}

impl Settings {
    /// Whether an agent at `depth` below the main agent may start others.
    #[must_use]
    pub fn may_start(&self, depth: u32) -> bool {
        self.base_depth + depth < self.max_depth && (depth == 0 || self.allow_nested_spawn)
    }

    /// Whether a face is offered.
    #[must_use]
    pub fn has(&self, face: Face) -> bool {
        self.faces.contains(&face)
    }
}

/// Makes a fresh set of tools for one agent, with those that servers offer it.
pub type MakeTools =
    dyn Fn(&BuiltinSettings, Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> + Send + Sync;

/// What sub-agents are built from. One per session, and made anew when definitions change.
pub struct Factory {
    pub settings: Settings,
    pub tree: AgentTree,
    pub definitions: Definitions,
    pub gate: Gate,
    /// Those of the session.
    pub hooks: Hooks,
    pub models: Arc<dyn ModelSource>,
    /// What their tools are made from.
    pub builtin: BuiltinSettings,
    /// Makes a fresh set of tools, without those that start sub-agents.
    pub tools: Box<MakeTools>,
    /// The servers of the session.
    pub mcp: Mcp,
    /// The session's variables.
    pub env: EnvOverlay,
    /// The folders of the session.
    pub project: ProjectFolders,
    /// The folder for their worktrees.
    pub worktrees: PathBuf,
    /// Absent where the system cannot confine commands.
    pub sandbox: Option<Sandbox>,
    pub facts: Facts,
    /// The places at work that all agents of the session share.
    pub operations: Operations,
    /// The project's instructions for agents.
    pub memory: String,
    pub redactor: Redactor,
}

/// One sub-agent, decided but not built.
pub struct Plan {
    pub name: String,
    pub definition: Arc<Definition>,
    pub model: Model,
    /// Which of the tools it gets.
    pub access: ToolAccess,
    /// Replaces the definition's prompt.
    pub system_prompt: Option<String>,
    pub fork: Option<Fork>,
    /// Its own conversation so far.
    pub resumed: Option<Resumed>,
    /// Whether it reads the project's instructions when its definition does not say; `None`: it does.
    pub memory: Option<bool>,
    /// Whether it stays after its first prompt, for messages.
    pub host: bool,
    pub max_turns: u32,
    /// Its account.
    pub budget: Budget,
    /// Of the call that starts it.
    pub span: Span,
    pub journal: Arc<dyn Journal>,
    pub rights: Rights,
    pub place: Workplace,
    /// What it must know of its place.
    pub introduction: Option<String>,
    /// Whether its provider is another than its parent's.
    pub foreign_provider: bool,
    /// What servers offer it; found out when it begins to live.
    pub served: Vec<Arc<dyn Tool>>,
}

impl Factory {
    /// The agent of a plan, as fresh as if there had never been another.
    #[must_use]
    pub fn build(
        self: &Arc<Self>,
        plan: Plan,
        member: &Membership,
        events: &EventSink,
        above: &Caller,
    ) -> Agent {
        let gate = above.gate.child(plan.name.clone(), events.clone(), &plan.rights);
        let gate = plan.place.gate(gate);
        let lists = plan.lists();
        let tools = self.narrowed(&lists, (&plan.place, &gate), &plan.served, above).tools;
        let system = self.system(&plan, &tools, &above.name);
        let own = tools.names().map(str::to_owned);
        let faces = faces::names(&self.settings, &self.definitions, &self.gate).into_iter();
        let faces: Vec<_> = faces.filter(|name| above.holds(name) && lists.keep(name)).collect();
        let holds = own.chain(faces).collect();
        let start = Start {
            depth: events.path().depth(),
            is_whole_copy: plan.is_whole_copy(),
            may_send: self.may_send(&lists),
        };
        let own = plan.definition.hooks.iter().map(Hook::command).map(Arc::new).collect();
        let hooks = self.hooks.of_agent(member.id(), &plan.definition.name, own);
        let Plan { name, model, fork, resumed, max_turns, budget, span, journal, place, .. } = plan;
        let model = ModelSlot::new(model);
        let caller = Caller {
            name: name.clone(),
            model: model.clone(),
            journal: journal.clone(),
            inbox: member.inbox().clone(),
            gate: gate.clone(),
            place: place.clone(),
            holds: Some(holds),
        };
        let tools = self.with_faces(tools, caller, start);
        let own = resumed.map(|resumed| (resumed.messages, resumed.thinker));
        let inherited = fork.map(|fork| (fork.messages, fork.thinker));
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
            patience: Some(PATIENCE),
            respite: Some(Arc::new(Lender::new(&self.tree, events))),
            budget,
            cwd: place.cwd,
            env: place.env,
            per_run: Limits { turns: Some(max_turns), ..Limits::default() },
            operations: self.operations.clone(),
            history,
            span,
            redactor: self.redactor.clone(),
            thinker,
        })
    }

    /// A fork goes on under its parent's system prompt; everyone else has one of its own.
    fn system(&self, plan: &Plan, tools: &ToolRegistry, parent: &str) -> Arc<str> {
        if let Some(fork) = &plan.fork {
            return fork.system.clone();
        }
        let said = plan.definition.memory.map(|memory| memory == Memory::Project);
        let reads_memory = said.or(plan.memory).unwrap_or(true);
        let base = plan.system_prompt.as_deref().unwrap_or(&plan.definition.prompt);
        let mut more = INSTRUCTIONS.trim().to_owned();
        if self.settings.inherit_tool_instructions {
            more.push_str(&instructions::for_tools(tools));
        }
        if self.may_send(&plan.lists()) {
            more.push_str(&comms::instructions(parent));
        }
        if let Some(introduction) = &plan.introduction {
            more.push_str("\n\n");
            more.push_str(introduction);
        }
        let cwd = plan.place.cwd.display().to_string();
        let facts = Facts { cwd, ..self.facts.clone() };
        let system = SystemPrompt {
            base,
            append: Some(&more),
            facts: &facts,
            memory: if reads_memory { &self.memory } else { "" },
        };
        system.assemble().into()
    }

    /// What servers offer an agent that begins to live: those that its definition asks for, with
    /// its own variables. Waits for them, within bounds. A whole copy of main is told of the same
    /// tools as main, whatever has come since.
    pub async fn serve(
        &self,
        plan: &Plan,
        events: &EventSink,
        cancel: &CancellationToken,
        above: &Caller,
    ) -> Vec<Arc<dyn Tool>> {
        if plan.is_whole_copy() && above.holds.is_none() {
            return self.mcp.offered();
        }
        let wishes = plan.definition.mcp_servers.as_deref();
        let (fleet, unknown) = self.mcp.for_agent(wishes, &plan.place.env, events.path().depth());
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            events.notice(NoticeLevel::Warning, format!("there are no MCP servers {names}"));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = fleet.settled() => {}
        }
        let missing = fleet.missing();
        if !missing.is_empty() && !cancel.is_cancelled() {
            let names = missing.join(", ");
            events.notice(
                NoticeLevel::Warning,
                format!("works without the MCP servers {names}: not there yet"),
            );
        }
        let offered = fleet.offered();
        // Of the session's own choice main has heard.
        for problem in offered.problems.into_iter().filter(|_| wishes.is_some()) {
            events.notice(NoticeLevel::Warning, problem);
        }
        offered.tools
    }

    /// All tools of a new agent at `depth`: those it was given, and the faces as far as it may
    /// start others. A whole copy of another agent is told of the same tools as that one in any
    /// case, or its provider would have to read the whole conversation anew; at the limit they are
    /// there to say that it is reached.
    fn with_faces(
        self: &Arc<Self>,
        mut tools: ToolRegistry,
        caller: Caller,
        start: Start,
    ) -> ToolRegistry {
        let executor = Executor::new(self.clone(), caller);
        if start.may_send {
            tools.insert(faces::send(&executor));
        }
        let may_start = self.settings.may_start(start.depth);
        if !may_start {
            tools = tools.with_hidden(faces::at_limit(&executor));
        }
        let offered = match (may_start, start.is_whole_copy) {
            (true, _) => faces::offered(&executor),
            (false, true) => faces::listed_at_limit(&executor),
            (false, false) => Vec::new(),
        };
        for face in offered {
            if executor.caller().holds(&face.spec().name) {
                tools.insert(face);
            }
        }
        tools.withholding(|name| self.gate.withholds(name))
    }

    /// Whether a sub-agent gets the tool that sends messages. It goes with the configuration rather
    /// than with lists of tools, unless one of them forbids it.
    fn may_send(&self, lists: &Lists<'_>) -> bool {
        self.settings.comms && !lists.deny(comms::SEND) && !self.gate.withholds(comms::SEND)
    }

    /// The tools of one sub-agent but for those that start others, as they are now: a fresh set,
    /// narrowed by its definition and by the call. Also says which names of the lists exist
    /// nowhere.
    #[must_use]
    pub fn tools_for(
        &self,
        definition: &Definition,
        access: &ToolAccess,
        above: &Caller,
    ) -> Selection {
        let place = (&above.place, &above.gate);
        let served = self.mcp.main();
        // A server that comes up in between is among both, and nothing is taken for unknown.
        let missing = served.missing();
        let (lists, offered) = (Lists { definition, access }, served.offered().tools);
        let mut selection = self.narrowed(&lists, place, &offered, above);
        // What an agent was not given it cannot give, whatever comes later.
        if above.holds.is_none() {
            let comes = |entry: &String| lists.may_come(entry, &missing);
            (selection.awaited, selection.unknown) =
                selection.unknown.into_iter().partition(|entry| comes(entry));
        }
        selection
    }

    /// The definitions that no deny rule withholds.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.iter().filter(|known| !self.gate.withholds_agent(&known.name))
    }

    fn narrowed(
        &self,
        lists: &Lists<'_>,
        (place, gate): (&Workplace, &AgentGate),
        served: &[Arc<dyn Tool>],
        above: &Caller,
    ) -> Selection {
        let tools = (self.tools)(&place.settings(&self.builtin, gate), served.to_vec());
        let all = ToolRegistry::new(tools);
        let all = all.withholding(|name| gate.of_all().withholds(name));
        let known = |entry: &str| {
            all.get(entry).is_some()
                || all.names().any(|name| tool::lists(entry, name))
                || lists.promised(entry)
        };
        let (mut unknown, mut faces): (Vec<String>, Vec<String>) = Default::default();
        for name in lists.names() {
            let tool = tool_of(name);
            let list = if faces::is_face(tool) { &mut faces } else { &mut unknown };
            if (faces::is_face(tool) || !known(tool)) && !list.contains(name) {
                list.push(name.clone());
            }
        }
        let may_have = |name: &str| above.holds(name) || lists.promised(name);
        let tools = all.filtered(|name| may_have(name) && lists.keep(name) && lists.serves(name));
        let promised = lists.names().any(|entry| lists.promised(entry));
        let nothing_left = tools.names().next().is_none() && lists.want_something() && !promised;
        Selection { tools, unknown, awaited: Vec::new(), faces, nothing_left }
    }
}

/// The lists that narrow a sub-agent's tools: its definition's, and the call's.
struct Lists<'a> {
    definition: &'a Definition,
    access: &'a ToolAccess,
}

/// What decides which faces a new agent gets.
#[derive(Clone, Copy)]
struct Start {
    depth: u32,
    /// It goes on with all of another's conversation and tools.
    is_whole_copy: bool,
    may_send: bool,
}

impl Plan {
    /// Whether it goes on with all of another's conversation and tools.
    fn is_whole_copy(&self) -> bool {
        self.fork.is_some() && self.access == ToolAccess::Inherit
    }

    fn lists(&self) -> Lists<'_> {
        Lists { definition: &self.definition, access: &self.access }
    }
}

impl Lists<'_> {
    /// Whether a list forbids a tool by its name.
    fn deny(&self, name: &str) -> bool {
        let by_call = matches!(self.access, ToolAccess::Deny(_)) && !self.access.allows(name);
        by_call || self.definition.disallowed_tools.iter().any(|entry| entry == name)
    }

    /// Whether it is one of a server that the definition brings along.
    fn promised(&self, name: &str) -> bool {
        let wishes = self.definition.mcp_servers.iter().flatten();
        let own = wishes.filter(|wish| matches!(wish, McpWish::Own(_)));
        own.map(McpWish::name).any(|server| mcp::is_of_server(server, name))
    }

    /// Whether it is of one of these servers of the session, and the definition leaves it in.
    fn may_come(&self, name: &str, servers: &[String]) -> bool {
        servers.iter().any(|server| mcp::is_of_server(server, name)) && self.serves(name)
    }

    /// Whether the definition leaves it in, as far as it is a server's.
    fn serves(&self, name: &str) -> bool {
        let Some(wishes) = &self.definition.mcp_servers else { return true };
        !name.starts_with(MCP_PREFIX)
            || wishes.iter().any(|wish| mcp::is_of_server(wish.name(), name))
    }

    fn keep(&self, name: &str) -> bool {
        // An entry with a pattern is a rule besides, which the gate keeps: it gives the tool, and
        // takes none away.
        let listed = |entry: &String| tool::lists(tool_of(entry), name);
        let forbids = |entry: &String| tool::lists(entry, name);
        self.definition.tools.as_deref().is_none_or(|list| list.iter().any(listed))
            && !self.definition.disallowed_tools.iter().any(forbids)
            && self.access.allows(name)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let own = self.definition.tools.iter().flatten();
        own.chain(&self.definition.disallowed_tools).chain(self.access.names())
    }

    /// A list that names only tools which are withheld on purpose is not empty by mistake.
    fn want_something(&self) -> bool {
        let meant = |list: &[String]| {
            !list.is_empty() && !list.iter().all(|name| faces::is_face(tool_of(name)))
        };
        let allowed = match self.access {
            // A call that lists nothing has most likely lost its list.
            ToolAccess::Allow(list) => list.is_empty() || meant(list),
            ToolAccess::Deny(_) => true,
            ToolAccess::Inherit => false,
        };
        allowed || self.definition.tools.as_deref().is_some_and(meant)
    }
}

/// The result of narrowing a set of tools.
#[derive(Debug)]
pub struct Selection {
    pub tools: ToolRegistry,
    /// Names that are no tool's.
    pub unknown: Vec<String>,
    /// The same of servers that are still being started.
    pub awaited: Vec<String>,
    /// Names of tools that start or steer agents.
    pub faces: Vec<String>,
    /// The lists have no tool in common that exists: running without any would not be what was meant.
    pub nothing_left: bool,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}
