//! The tools with which models request sub-agents. They only translate: the executor does the work.

use std::sync::Arc;

use crate::config::AgentToolset;
use crate::tool::{Tool, canonical_name};

use super::comms::SEND_TOOL;
use super::registry::Definitions;
use super::{Spawner, SubagentSettings};
use crate::permission::Gate;

mod access;
mod agent_tool;
mod cancel;
mod delegate;
mod depth_limit;
mod fork;
mod list;
mod send;
mod spawn;
mod status;
mod target;
mod wait;

use agent_tool::AgentTool;
use delegate::DelegateTool;
use depth_limit::DepthLimitTool;

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
pub fn tool_names(
    settings: &SubagentSettings,
    definitions: &Definitions,
    gate: &Gate,
) -> Vec<String> {
    let mut names = Vec::new();
    if !settings.may_start(0) {
        return names;
    }
    if settings.offers(AgentToolset::Agent) {
        names.push(settings.tool_name.clone());
    }
    if settings.offers(AgentToolset::Lifecycle) {
        names.extend(
            LIFECYCLE_TOOLS
                .iter()
                .filter(|name| settings.comms || **name != SEND_TOOL)
                .map(ToString::to_string),
        );
    }
    if settings.offers(AgentToolset::Delegate) {
        let offered = definitions.iter().filter(|known| !gate.denies_agent(&known.name));
        names.extend(offered.map(|known| known.tool_name()));
    }
    names
}

/// The tools that the configuration offers to an agent that may start others. The caller withholds
/// those that rules forbid.
pub fn agent_tools(executor: &Spawner) -> Vec<Arc<dyn Tool>> {
    let settings = &executor.factory().settings;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if settings.offers(AgentToolset::Agent) {
        tools.push(Arc::new(AgentTool::new(executor.clone())));
    }
    if settings.offers(AgentToolset::Lifecycle) {
        tools.push(Arc::new(spawn::SpawnTool::new(executor.clone())));
        tools.push(Arc::new(fork::ForkTool::new(executor.clone())));
        tools.push(Arc::new(status::StatusTool::new(executor.clone())));
        tools.push(Arc::new(wait::WaitTool::new(executor.clone())));
        tools.push(Arc::new(cancel::CancelTool::new(executor.clone())));
        tools.push(Arc::new(list::ListTool::new(executor.clone())));
        if settings.comms {
            tools.push(send_tool(executor));
        }
    }
    if settings.offers(AgentToolset::Delegate) {
        for definition in executor.factory().definitions.iter() {
            tools.push(Arc::new(DelegateTool::new(executor.clone(), definition.clone())));
        }
    }
    tools
}

/// The tool with which a parent and its children send each other messages.
pub fn send_tool(executor: &Spawner) -> Arc<dyn Tool> {
    Arc::new(send::SendTool::new(executor.clone()))
}

/// The same tools for a fork that may not start agents: it is offered all of them, because its
/// original is.
pub fn listed_limit_tools(executor: &Spawner) -> Vec<Arc<dyn Tool>> {
    let settings = &executor.factory().settings;
    let closed = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
        match starts_agents(&tool.spec().name) {
            true => Arc::new(DepthLimitTool::listed(tool.spec().clone(), settings.clone())),
            false => tool,
        }
    };
    agent_tools(executor).into_iter().map(closed).collect()
}

/// Whether a face starts sub-agents; the others only act on existing ones.
fn starts_agents(name: &str) -> bool {
    canonical_name(name) == "AgentTool"
        || name == "agent_spawn"
        || name == "agent_fork"
        || name.starts_with(DELEGATE_PREFIX)
}

/// Stand-ins for an agent that may not start agents: they are not offered, and calling one anyway
/// is a violation.
pub fn limit_tools(executor: &Spawner) -> Vec<Arc<dyn Tool>> {
    let factory = executor.factory();
    let mut names = vec!["AgentTool".to_owned(), "agent_spawn".to_owned(), "agent_fork".to_owned()];
    names.extend(factory.definitions.iter().map(|known| known.tool_name()));
    let tools = names.into_iter().map(|name| {
        let tool: Arc<dyn Tool> = Arc::new(DepthLimitTool::new(&name, factory.settings.clone()));
        tool
    });
    tools.collect()
}
