//! Builds sub-agents: a definition, a model, and a fresh set of tools make a fresh agent.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::ParentContext;
use super::child::ChildAgent;
use super::definition::{Definition, MemoryScope};
use super::messages;
use super::registry::Definitions;
use super::resolve::ChildSpec;
use super::tools;
use super::tree::{AgentSlot, AgentTree};
use crate::agent::system_prompt::{EnvironmentInfo, SystemPrompt};
use crate::agent::{Agent, AgentSetup, ConcurrencyLimit};
use crate::budget::Limits;
use crate::config::{AgentToolset, ChildAuth, ChildPermissions, OnLimit, OnViolation};
use crate::disk::ProjectFolders;
use crate::exec::Sandbox;
use crate::hook::{Hook, Hooks};
use crate::permission::Gate;
use crate::protocol::{EnvOverlay, Redactor};
use crate::provider::ModelSource;
use crate::tool::mcp::Mcp;
use crate::tool::{BuiltinSettings, Tool, ToolRegistry};

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

impl Factory {
    /// Builds the agent itself, fresh and independent of all others.
    pub(super) fn build(
        self: &Arc<Self>,
        child: &mut ChildAgent,
        server_tools: &[Arc<dyn Tool>],
        worktree_note: Option<&str>,
        parent: &ParentContext,
    ) -> Agent {
        let (spec, handle) = (&child.spec, &child.handle);
        let workspace = spec.workspace.clone();
        let gate = parent.gate.child(child.name.clone(), child.events.clone(), &spec.rights);
        let gate = workspace.gate(gate);
        let lists = spec.lists();
        let (tools, _) = self.narrow_tools(&lists, (&workspace, &gate), server_tools, parent);
        let system = self.system_prompt(child, &tools, worktree_note, &parent.name);
        let agent_tools = tools::tool_names(&self.settings, &self.definitions, &self.gate);
        let agent_tools = agent_tools.into_iter();
        let agent_tools = agent_tools.filter(|name| parent.has_tool(name) && lists.allows(name));
        let own = ParentContext {
            name: child.name.clone(),
            model: child.model.clone(),
            journal: child.journal.clone(),
            inbox: handle.inbox().clone(),
            gate: gate.clone(),
            workspace: workspace.clone(),
            tools: Some(tools.names().map(str::to_owned).chain(agent_tools).collect()),
        };
        let tools = self.with_agent_tools(tools, own, spec, child.events.path().depth());
        let hooks = spec.definition.hooks.iter().map(Hook::command).map(Arc::new).collect();
        let hooks = self.hooks.for_agent(handle.id(), &spec.definition.name, hooks);
        let resumed = child.resumed.take().map(|own| (own.messages, own.reasoning_model));
        let inherited = child.fork.take().map(|fork| (fork.messages, fork.reasoning_model));
        let (history, reasoning_model) = resumed.or(inherited).unwrap_or_default();
        Agent::new(AgentSetup {
            gate,
            hooks,
            name: child.name.clone(),
            model: child.model.clone(),
            system,
            tools,
            journal: child.journal.clone(),
            inbox: handle.inbox().clone(),
            background_wait: Some(BACKGROUND_WAIT),
            slot: Some(Arc::new(AgentSlot::new(&self.tree, &child.events))),
            budget: child.budget.clone(),
            cwd: workspace.cwd,
            env: workspace.env,
            per_run: Limits { turns: Some(child.max_turns), ..Limits::default() },
            concurrency: self.concurrency.clone(),
            history,
            span: child.span,
            redactor: self.redactor.clone(),
            reasoning_model,
        })
    }

    /// A fork keeps its parent's system prompt; every other agent has its own.
    fn system_prompt(
        &self,
        child: &ChildAgent,
        tools: &ToolRegistry,
        worktree_note: Option<&str>,
        parent: &str,
    ) -> Arc<str> {
        if let Some(fork) = &child.fork {
            return fork.system.clone();
        }
        let ChildSpec { request, definition, workspace, .. } = &child.spec;
        let memory = definition.memory.map(|memory| memory == MemoryScope::Project);
        let reads_memory = memory.or(request.memory).unwrap_or(true);
        let mut more = SUBAGENT_PROMPT.trim().to_owned();
        if self.settings.inherit_tool_instructions {
            more.push_str(&tool_instructions(tools));
        }
        if self.may_send(&child.spec.lists()) {
            more.push_str(&messages::instructions(parent));
        }
        if let Some(note) = worktree_note {
            more.push_str("\n\n");
            more.push_str(note);
        }
        let cwd = workspace.cwd.display().to_string();
        let environment = EnvironmentInfo { cwd, ..self.environment.clone() };
        let system = SystemPrompt {
            base: request.system_prompt.as_deref().unwrap_or(&definition.prompt),
            append: Some(&more),
            environment: &environment,
            memory: if reads_memory { &self.memory } else { "" },
        };
        system.assemble().into()
    }

    /// The definitions that no deny rule withholds.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.iter().filter(|known| !self.gate.denies_agent(&known.name))
    }
}

/// The instructions on the use of these tools, after a blank line; empty without any.
fn tool_instructions(tools: &ToolRegistry) -> String {
    let has = |name: &str| tools.names().any(|tool| tool == name);
    if tools.names().next().is_none() {
        return String::new();
    }
    let mut text =
        "\n\n# Tools\n- Make independent calls in one message: they run at the same time."
            .to_owned();
    let mut add = |line: &str| {
        text.push_str("\n- ");
        text.push_str(line);
    };
    if has("Read") || has("Edit") || has("Write") {
        add("Give paths absolute, or relative to the working directory.");
    }
    if has("Edit") {
        add("Read a file before you edit it.");
    }
    if has("Bash") && (has("Read") || has("Grep")) {
        add("The shell is for building, testing and what no other tool does.");
    }
    add("A denied call is an answer: do not try the same thing another way.");
    add("Results may be cut; the marker says so. Ask for the part you need instead of all of it.");
    text
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}
