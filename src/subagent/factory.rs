//! Builds sub-agents: a definition, the parent's model, and a fresh set of tools make a fresh agent.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::definition::Definition;
use super::registry::Definitions;
use super::tree::{AgentTree, Membership};
use crate::agent::prompt::{Facts, SystemPrompt};
use crate::agent::{Agent, AgentSetup, Operations};
use crate::budget::{Budget, Limits};
use crate::config::models::Catalogue;
use crate::permission::Gate;
use crate::protocol::{EnvOverlay, EventSink, Journal, Redactor, Span};
use crate::provider::{Model, ModelSlot};
use crate::tool::{Tool, ToolRegistry, canonical_name};

/// What every sub-agent is told after its definition's own prompt.
const INSTRUCTIONS: &str = include_str!("../../assets/prompts/subagent.md");

/// What the configuration says about sub-agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name under which the tool is offered: `AgentTool`, `Agent` or `Task`.
    pub tool_name: String,
    /// The most requests that one run may make; calls and definitions can only lower it.
    pub max_turns: u32,
    /// The most characters of a final text that its parent gets; 0 is no limit.
    pub result_max_chars: usize,
    /// Whether an unknown name in a tool list refuses the call instead of being dropped with a warning.
    pub strict_tools: bool,
    /// Whether transcripts of sub-agents are stored.
    pub persist: bool,
}

/// What sub-agents are built from. One per session.
pub struct Factory {
    pub settings: Settings,
    pub tree: AgentTree,
    pub definitions: Definitions,
    pub gate: Gate,
    pub catalogue: Arc<Catalogue>,
    /// Makes a fresh set of tools, without the one that starts sub-agents.
    pub tools: Box<dyn Fn() -> Vec<Arc<dyn Tool>> + Send + Sync>,
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    pub facts: Facts,
    /// The places at work that all agents of the session share.
    pub operations: Operations,
    /// The project's instructions for agents.
    pub memory: String,
    pub redactor: Redactor,
}

/// One sub-agent, decided but not built.
pub struct Plan<'a> {
    pub name: &'a str,
    pub definition: &'a Definition,
    pub model: Model,
    pub tools: ToolRegistry,
    pub max_turns: u32,
    /// Of the call that starts it.
    pub span: Span,
}

impl Factory {
    /// The agent of a plan, as fresh as if there had never been another.
    #[must_use]
    pub fn build(
        &self,
        plan: Plan<'_>,
        member: &Membership,
        journal: Arc<dyn Journal>,
        budget: &Budget,
        events: &EventSink,
    ) -> Agent {
        let system = SystemPrompt {
            base: &plan.definition.prompt,
            append: Some(INSTRUCTIONS),
            facts: &self.facts,
            memory: &self.memory,
        };
        Agent::new(AgentSetup {
            name: plan.name.to_owned(),
            model: ModelSlot::new(plan.model),
            system: system.assemble().into(),
            tools: plan.tools,
            gate: self.gate.for_agent(plan.name.to_owned(), events.clone()),
            journal,
            inbox: member.inbox().clone(),
            budget: budget.child(Limits::default()),
            per_run: Limits { turns: Some(plan.max_turns), ..Limits::default() },
            operations: self.operations.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            history: Vec::new(),
            span: plan.span,
            redactor: self.redactor.clone(),
            thinker: None,
        })
    }

    /// The tools of one sub-agent: a fresh set, narrowed by its definition and by the call. Also says which names
    /// of the lists exist nowhere. The tool that starts sub-agents is never among them.
    #[must_use]
    pub fn tools_for(&self, definition: &Definition, allowlist: Option<&[String]>) -> Selection {
        let all = ToolRegistry::new((self.tools)());
        let lists = [definition.tools.as_deref(), allowlist];
        let denied = definition.disallowed_tools.as_slice();
        let known = |name: &str| all.get(name).is_some() || canonical_name(name) == "AgentTool";
        let mut unknown: Vec<String> = Vec::new();
        for name in lists.iter().flatten().flat_map(|list| list.iter()).chain(denied) {
            if !known(name) && !unknown.contains(name) {
                unknown.push(name.clone());
            }
        }
        let listed =
            |list: &[String], name: &str| list.iter().any(|entry| canonical_name(entry) == name);
        let tools = all.filtered(|name| {
            let name = canonical_name(name);
            lists.iter().flatten().all(|list| listed(list, name)) && !listed(denied, name)
        });
        // A list that names the agent tool alone is not empty by mistake: that tool is withheld on purpose.
        let meant = |list: &&[String]| {
            !list.is_empty() && !list.iter().all(|name| canonical_name(name) == "AgentTool")
        };
        let nothing_left = tools.names().next().is_none() && lists.iter().flatten().any(meant);
        Selection { tools, unknown, nothing_left }
    }
}

/// The result of narrowing a set of tools.
#[derive(Debug)]
pub struct Selection {
    pub tools: ToolRegistry,
    /// Names that are no tool's.
    pub unknown: Vec<String>,
    /// The lists have no tool in common that exists: running without any would not be what was meant.
    pub nothing_left: bool,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}
