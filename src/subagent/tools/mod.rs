//! The tools with which models request sub-agents. They only translate: the spawner does the work.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::config::AgentToolset;
use crate::tool::{Tool, ToolOutcome, canonical_name, starts_agents};

use super::messages::SEND_TOOL;
use super::registry::Definitions;
use super::{AgentParts, Spawner};

mod access;
mod depth_limit;
mod input;
mod lifecycle;
mod start;
mod status;

use depth_limit::DepthLimitTool;
use lifecycle::LifecycleTool;
use start::StartTool;

/// The names of the lifecycle tools.
const LIFECYCLE_TOOLS: [&str; 7] = [
    "agent_spawn",
    "agent_fork",
    "agent_status",
    "agent_wait",
    "agent_cancel",
    "agent_list",
    SEND_TOOL,
];

/// The prefix of delegate tool names.
const DELEGATE_PREFIX: &str = "delegate_to_";

/// Whether a tool of this name belongs to sub-agents.
pub fn is_agent_tool(name: &str) -> bool {
    canonical_name(name) == "AgentTool"
        || LIFECYCLE_TOOLS.contains(&name)
        || name.starts_with(DELEGATE_PREFIX)
}

/// The names of the tools offered to the main agent, in order.
pub fn tool_names(parts: &AgentParts, definitions: &Definitions) -> Vec<String> {
    let settings = &parts.settings;
    let mut names = Vec::new();
    if !settings.may_start(0) {
        return names;
    }
    if settings.offers(AgentToolset::Agent) {
        names.push(settings.config.tool_name.name().to_owned());
    }
    if settings.offers(AgentToolset::Lifecycle) {
        names.extend(
            LIFECYCLE_TOOLS
                .iter()
                .filter(|name| settings.config.comms || **name != SEND_TOOL)
                .map(ToString::to_string),
        );
    }
    if settings.offers(AgentToolset::Delegate) {
        let offered = definitions.iter().filter(|known| !parts.gate.denies_agent(&known.name));
        names.extend(offered.map(|known| known.tool_name()));
    }
    names
}

/// The tools that the configuration offers to an agent that may start others. The caller withholds
/// those that rules forbid.
pub fn agent_tools(spawner: &Spawner) -> Vec<Arc<dyn Tool>> {
    let settings = &spawner.factory().parts.settings;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if settings.offers(AgentToolset::Agent) {
        tools.push(Arc::new(StartTool::agent(spawner)));
    }
    if settings.offers(AgentToolset::Lifecycle) {
        tools.push(Arc::new(StartTool::spawn(spawner)));
        tools.push(Arc::new(StartTool::fork(spawner)));
        tools.extend(LifecycleTool::all(spawner).map(|tool| Arc::new(tool) as Arc<dyn Tool>));
        if settings.config.comms {
            tools.push(send_tool(spawner));
        }
    }
    if settings.offers(AgentToolset::Delegate) {
        for definition in spawner.factory().definitions.iter() {
            tools.push(Arc::new(StartTool::delegate(spawner, definition.clone())));
        }
    }
    tools
}

/// The tool with which a parent and its children send each other messages.
pub fn send_tool(spawner: &Spawner) -> Arc<dyn Tool> {
    Arc::new(LifecycleTool::send(spawner))
}

/// The same tools for a fork that may not start agents: it is offered all of them, because its
/// original is.
pub fn listed_limit_tools(spawner: &Spawner) -> Vec<Arc<dyn Tool>> {
    let parts = &spawner.factory().parts;
    let closed = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
        match starts_agents(&tool.spec().name) {
            true => Arc::new(DepthLimitTool::listed(tool.spec().clone(), parts.clone())),
            false => tool,
        }
    };
    agent_tools(spawner).into_iter().map(closed).collect()
}

/// Stand-ins for an agent that may not start agents: they are not offered, and calling one anyway
/// is a violation.
pub fn limit_tools(spawner: &Spawner) -> Vec<Arc<dyn Tool>> {
    let factory = spawner.factory();
    let mut names = vec!["AgentTool".to_owned(), "agent_spawn".to_owned(), "agent_fork".to_owned()];
    names.extend(factory.definitions.iter().map(|known| known.tool_name()));
    let tools = names.into_iter().map(|name| {
        let tool: Arc<dyn Tool> = Arc::new(DepthLimitTool::new(&name, factory.parts.clone()));
        tool
    });
    tools.collect()
}

/// One JSON object as a call's only text.
fn json_outcome(value: &impl Serialize, summary: &str, is_error: bool) -> ToolOutcome {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    ToolOutcome { is_error, ..ToolOutcome::text(value.to_string(), summary) }
}
