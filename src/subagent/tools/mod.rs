//! The tools with which models request sub-agents. They only translate: the spawner does the work.

use std::sync::Arc;

use super::spawn::Spawner;
use crate::config::AgentToolset;
use crate::tool::{Tool, starts_agents};

mod access;
mod depth_limit;
mod input;
mod lifecycle;
pub(super) mod names;
mod start;
mod status;

use depth_limit::DepthLimitTool;
use lifecycle::LifecycleTool;
pub use names::{SEND_TOOL, is_agent_tool, tool_names};
use start::StartTool;

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
