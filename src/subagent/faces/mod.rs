//! The tools by which models ask for sub-agents. They only translate: the executor does the work.

use std::sync::Arc;

use crate::config::Face;
use crate::tool::{Tool, canonical_name};

use super::comms::SEND;
use super::registry::Definitions;
use super::{Executor, Settings};
use crate::permission::Gate;

mod access;
mod agent_tool;
mod at_limit;
mod cancel;
mod delegate;
mod fork;
mod list;
mod send;
mod spawn;
mod status;
mod target;
mod wait;

use agent_tool::AgentTool;
use at_limit::AtLimit;
use delegate::Delegate;

/// The names of the lifecycle tools.
const LIFECYCLE: [&str; 7] =
    ["agent_spawn", "agent_fork", "agent_status", "agent_wait", "agent_cancel", "agent_list", SEND];

/// What names of delegate tools begin with.
const DELEGATE: &str = "delegate_to_";

/// Whether a tool of this name belongs to sub-agents.
#[must_use]
pub fn is_face(name: &str) -> bool {
    canonical_name(name) == "AgentTool" || LIFECYCLE.contains(&name) || name.starts_with(DELEGATE)
}

/// The names of the tools that the main agent is offered, in order.
#[must_use]
pub fn names(settings: &Settings, definitions: &Definitions, gate: &Gate) -> Vec<String> {
    let mut names = Vec::new();
    if !settings.may_start(0) {
        return names;
    }
    if settings.has(Face::Agent) {
        names.push(settings.tool_name.clone());
    }
    if settings.has(Face::Lifecycle) {
        names.extend(
            LIFECYCLE
                .iter()
                .filter(|name| settings.comms || **name != SEND)
                .map(ToString::to_string),
        );
    }
    if settings.has(Face::Delegate) {
        let offered = definitions.iter().filter(|known| !gate.withholds_agent(&known.name));
        names.extend(offered.map(|known| known.tool_name()));
    }
    names
}

/// The tools that the configuration offers to an agent that may start others. Which of them rules
/// withhold, the caller says.
#[must_use]
pub fn offered(executor: &Executor) -> Vec<Arc<dyn Tool>> {
    let settings = &executor.factory().settings;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if settings.has(Face::Agent) {
        tools.push(Arc::new(AgentTool::new(executor.clone())));
    }
    if settings.has(Face::Lifecycle) {
        tools.push(Arc::new(spawn::Spawn::new(executor.clone())));
        tools.push(Arc::new(fork::ForkTool::new(executor.clone())));
        tools.push(Arc::new(status::StatusTool::new(executor.clone())));
        tools.push(Arc::new(wait::Wait::new(executor.clone())));
        tools.push(Arc::new(cancel::Cancel::new(executor.clone())));
        tools.push(Arc::new(list::List::new(executor.clone())));
        if settings.comms {
            tools.push(send(executor));
        }
    }
    if settings.has(Face::Delegate) {
        for definition in executor.factory().definitions.iter() {
            tools.push(Arc::new(Delegate::new(executor.clone(), definition.clone())));
        }
    }
    tools
}

/// The tool by which a parent and its children send each other messages.
#[must_use]
pub fn send(executor: &Executor) -> Arc<dyn Tool> {
    Arc::new(send::SendTool::new(executor.clone()))
}

/// The same tools for a copy that may not start others: it is told of all of them, because its original is.
#[must_use]
pub fn listed_at_limit(executor: &Executor) -> Vec<Arc<dyn Tool>> {
    let settings = &executor.factory().settings;
    let closed = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
        match starts_agents(&tool.spec().name) {
            true => Arc::new(AtLimit::listed(tool.spec().clone(), settings.clone())),
            false => tool,
        }
    };
    offered(executor).into_iter().map(closed).collect()
}

/// Whether a face starts sub-agents; the others look at those that there are.
fn starts_agents(name: &str) -> bool {
    canonical_name(name) == "AgentTool"
        || name == "agent_spawn"
        || name == "agent_fork"
        || name.starts_with(DELEGATE)
}

/// The same tools for an agent that may not start others: they are not offered, and a call made
/// anyway is a violation.
#[must_use]
pub fn at_limit(executor: &Executor) -> Vec<Arc<dyn Tool>> {
    let factory = executor.factory();
    let mut names = vec!["AgentTool".to_owned(), "agent_spawn".to_owned(), "agent_fork".to_owned()];
    names.extend(factory.definitions.iter().map(|known| known.tool_name()));
    let tools = names.into_iter().map(|name| {
        let tool: Arc<dyn Tool> = Arc::new(AtLimit::new(&name, factory.settings.clone()));
        tool
    });
    tools.collect()
}
