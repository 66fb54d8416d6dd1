//! Builds a sub-agent: a definition, a model, and a fresh set of tools make a fresh agent.

use std::sync::Arc;
use std::time::Duration;

use super::child::ChildAgent;
use super::child_spec::ChildSpec;
use super::definition::MemoryScope;
use super::factory::Factory;
use super::messages;
use super::parent::ParentContext;
use super::tools;
use super::tree::AgentSlot;
use crate::agent::system_prompt::{EnvironmentInfo, SystemPrompt};
use crate::agent::{Agent, AgentSetup};
use crate::budget::Limits;
use crate::hook::Hook;
use crate::tool::{Tool, ToolRegistry};

/// The instructions for every sub-agent, after its definition's prompt.
const SUBAGENT_PROMPT: &str = include_str!("../../assets/prompts/subagent.md");

/// How long a sub-agent that is done waits for its own background work.
const BACKGROUND_WAIT: Duration = Duration::from_secs(600);

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
        let agent_tools = tools::tool_names(&self.parts, &self.definitions);
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
            slot: Some(Arc::new(AgentSlot::new(&self.parts.tree, &child.events))),
            budget: child.budget.clone(),
            cwd: workspace.cwd,
            env: workspace.env,
            per_run: Limits { turns: Some(child.max_turns), ..Limits::default() },
            concurrency: self.concurrency.clone(),
            history,
            span: child.span,
            redactor: self.parts.redactor.clone(),
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
        if self.parts.settings.config.inherit_tool_instructions {
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
            memory: if reads_memory { &self.shared.memory } else { "" },
        };
        system.assemble().into()
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
