//! The names of the tools for sub-agents.

use crate::config::AgentToolset;
use crate::subagent::factory::AgentParts;
use crate::subagent::registry::Definitions;
use crate::tool::canonical_name;

/// The name of the tool that sends messages between a parent and its children.
pub const SEND_TOOL: &str = "agent_send";

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
