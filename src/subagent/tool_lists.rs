//! The lists that narrow a sub-agent's tools, and what they select.

use super::definition::Definition;
use super::spawn_request::ToolAccess;
use super::tools::names::is_agent_tool;
use crate::permission::entry_tool;
use crate::protocol::{MCP_PREFIX, McpSelection};
use crate::tool;
use crate::tool::mcp;

/// The lists that narrow a sub-agent's tools: its definition's, and the call's.
pub struct ToolLists<'a> {
    pub definition: &'a Definition,
    pub access: &'a ToolAccess,
}

impl ToolLists<'_> {
    /// Whether a list forbids a tool by its name.
    pub fn denies(&self, name: &str) -> bool {
        let by_call = matches!(self.access, ToolAccess::Deny(_)) && !self.access.allows(name);
        let forbids = |entry: &String| tool::entry_denies(entry, name);
        by_call || self.definition.disallowed_tools.iter().any(forbids)
    }

    /// Whether it belongs to a server that the definition brings along.
    pub fn is_own_server_tool(&self, name: &str) -> bool {
        let servers = self.definition.mcp_servers.iter().flatten();
        let own = servers.filter(|server| matches!(server, McpSelection::Own(_)));
        own.map(McpSelection::name).any(|server| mcp::is_of_server(server, name))
    }

    /// Whether it belongs to one of these session servers and the definition allows it.
    pub fn is_pending(&self, name: &str, servers: &[String]) -> bool {
        servers.iter().any(|server| mcp::is_of_server(server, name)) && self.allows_server(name)
    }

    /// Whether the definition allows it, if it belongs to a server.
    pub fn allows_server(&self, name: &str) -> bool {
        let Some(servers) = &self.definition.mcp_servers else { return true };
        !name.starts_with(MCP_PREFIX)
            || servers.iter().any(|server| mcp::is_of_server(server.name(), name))
    }

    /// Whether both lists allow it.
    pub fn allows(&self, name: &str) -> bool {
        // An entry with a pattern is also a rule, which the gate enforces: here it only adds the
        // tool.
        let listed = |entry: &String| tool::entry_matches(entry_tool(entry), name);
        let forbids = |entry: &String| tool::entry_denies(entry, name);
        self.definition.tools.as_deref().is_none_or(|list| list.iter().any(listed))
            && !self.definition.disallowed_tools.iter().any(forbids)
            && self.access.allows(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        let own = self.definition.tools.iter().flatten();
        own.chain(&self.definition.disallowed_tools).chain(self.access.names())
    }

    /// A list that names only deliberately withheld tools is not empty by mistake.
    pub fn expects_tools(&self) -> bool {
        let names_tools = |list: &[String]| {
            !list.is_empty() && !list.iter().all(|name| is_agent_tool(entry_tool(name)))
        };
        let allowed = match self.access {
            // A call with an empty list has most likely lost it.
            ToolAccess::Allow(list) => list.is_empty() || names_tools(list),
            ToolAccess::Deny(_) => true,
            ToolAccess::Inherit => false,
        };
        allowed || self.definition.tools.as_deref().is_some_and(names_tools)
    }
}

/// The tools that the lists of an agent select.
#[derive(Clone, Debug, Default)]
pub struct ToolSelection {
    /// Names that are no tool's.
    pub unknown: Vec<String>,
    /// Names that belong to servers still being started.
    pub pending: Vec<String>,
    /// Names of tools that start or steer agents.
    pub agent_tools: Vec<String>,
    /// The lists have no existing tool in common: running without any would be a mistake.
    pub nothing_left: bool,
}
