//! The tools of a sub-agent: what its definition, its call, its parent and the rules leave of all.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::definition::Definition;
use super::factory::Factory;
use super::messages;
use super::resolve::ChildSpec;
use super::spawn_request::ToolAccess;
use super::tools;
use super::workspace::Workspace;
use super::{ParentContext, Spawner};
use crate::permission::{AgentGate, entry_tool};
use crate::protocol::{EventSink, MCP_PREFIX, McpSelection, NoticeLevel};
use crate::tool::mcp;
use crate::tool::{self, Tool, ToolRegistry};

impl Factory {
    /// Whether a sub-agent gets the tool that sends messages. The configuration decides that, not
    /// tool lists, unless one of them forbids it.
    pub fn may_send(&self, lists: &ToolLists<'_>) -> bool {
        self.parts.settings.config.comms
            && !lists.denies(messages::SEND_TOOL)
            && !self.parts.gate.denies_tool(messages::SEND_TOOL)
    }

    /// The current tools of one sub-agent, except those that start others: a fresh set, narrowed by
    /// its definition and by the call.
    pub fn tools_for(
        &self,
        lists: &ToolLists<'_>,
        parent: &ParentContext,
    ) -> (ToolRegistry, ToolSelection) {
        let main = self.parts.mcp.main();
        // A server that connects in between is in both, so nothing is mistaken for unknown.
        let missing = main.still_starting();
        let offered = main.offered().tools;
        let (tools, mut selection) =
            self.narrow_tools(lists, (&parent.workspace, &parent.gate), &offered, parent);
        // An agent cannot pass on what it was not given, whatever connects later.
        if parent.tools.is_none() {
            let comes = |entry: &String| lists.is_pending(entry, &missing);
            (selection.pending, selection.unknown) =
                selection.unknown.into_iter().partition(|entry| comes(entry));
        }
        (tools, selection)
    }

    /// The tools that servers offer an agent that starts: those its definition asks for, with its
    /// own variables. Waits for the servers, within bounds. A whole copy of main is offered the
    /// same tools as main, whatever has come since.
    pub async fn server_tools(
        &self,
        spec: &ChildSpec,
        events: &EventSink,
        cancel: &CancellationToken,
        parent: &ParentContext,
    ) -> Vec<Arc<dyn Tool>> {
        if spec.is_whole_copy() && parent.tools.is_none() {
            return self.parts.mcp.offered();
        }
        let wanted = spec.definition.mcp_servers.as_deref();
        let (servers, unknown) =
            self.parts.mcp.for_agent(wanted, &spec.workspace.env, events.path().depth());
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            events.notice(NoticeLevel::Warning, format!("there are no MCP servers {names}"));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = servers.wait_ready() => {}
        }
        let missing = servers.still_starting();
        if !missing.is_empty() && !cancel.is_cancelled() {
            let names = missing.join(", ");
            events.notice(
                NoticeLevel::Warning,
                format!("works without the MCP servers {names}: not connected yet"),
            );
        }
        let offered = servers.offered();
        // Problems of the session's own servers were reported to main.
        for problem in offered.problems.into_iter().filter(|_| wanted.is_some()) {
            events.notice(NoticeLevel::Warning, problem);
        }
        offered.tools
    }

    /// All tools of a new agent: those it was given, and the tools for agents if it may start any. A
    /// whole copy of another agent is always offered the same tools as the original, or its
    /// provider would have to read the whole conversation anew; at the depth limit they only report
    /// that it is reached. `own` is the agent itself, as the parent of others.
    pub fn with_agent_tools(
        self: &Arc<Self>,
        mut tools: ToolRegistry,
        own: ParentContext,
        spec: &ChildSpec,
        depth: u32,
    ) -> ToolRegistry {
        let spawner = Spawner::new(self.clone(), own);
        if self.may_send(&spec.lists()) {
            tools.insert(tools::send_tool(&spawner));
        }
        let may_start = self.parts.settings.may_start(depth);
        if !may_start {
            tools = tools.with_hidden(tools::limit_tools(&spawner));
        }
        let offered = match (may_start, spec.is_whole_copy()) {
            (true, _) => tools::agent_tools(&spawner),
            (false, true) => tools::listed_limit_tools(&spawner),
            (false, false) => Vec::new(),
        };
        for tool in offered {
            if spawner.parent().has_tool(&tool.spec().name) {
                tools.insert(tool);
            }
        }
        tools.withholding(|name| self.parts.gate.denies_tool(name))
    }

    /// The tools of an agent in this place with this gate, of those that its parent may pass on.
    pub fn narrow_tools(
        &self,
        lists: &ToolLists<'_>,
        (workspace, gate): (&Workspace, &AgentGate),
        server_tools: &[Arc<dyn Tool>],
        parent: &ParentContext,
    ) -> (ToolRegistry, ToolSelection) {
        let settings = workspace.settings(&self.parts.builtin, gate);
        let skill = self.shared.skill.as_ref();
        let tools = self.parts.make_tools(&settings, skill, server_tools.to_vec());
        let all = ToolRegistry::new(tools);
        let all = all.withholding(|name| gate.shared_gate().denies_tool(name));
        let known = |entry: &str| {
            all.get(entry).is_some()
                || all.names().any(|name| tool::entry_matches(entry, name))
                || lists.is_own_server_tool(entry)
        };
        let (mut unknown, mut agent_tools): (Vec<String>, Vec<String>) = Default::default();
        for name in lists.names() {
            let tool = entry_tool(name);
            let list = if tools::is_agent_tool(tool) { &mut agent_tools } else { &mut unknown };
            if (tools::is_agent_tool(tool) || !known(tool)) && !list.contains(name) {
                list.push(name.clone());
            }
        }
        let may_have = |name: &str| parent.has_tool(name) || lists.is_own_server_tool(name);
        let tools =
            all.filtered(|name| may_have(name) && lists.allows(name) && lists.allows_server(name));
        let promised = lists.names().any(|entry| lists.is_own_server_tool(entry));
        let nothing_left = tools.names().next().is_none() && lists.expects_tools() && !promised;
        (tools, ToolSelection { unknown, pending: Vec::new(), agent_tools, nothing_left })
    }
}

/// The lists that narrow a sub-agent's tools: its definition's, and the call's.
pub struct ToolLists<'a> {
    pub definition: &'a Definition,
    pub access: &'a ToolAccess,
}

impl ToolLists<'_> {
    /// Whether a list forbids a tool by its name.
    fn denies(&self, name: &str) -> bool {
        let by_call = matches!(self.access, ToolAccess::Deny(_)) && !self.access.allows(name);
        by_call || self.definition.disallowed_tools.iter().any(|entry| entry == name)
    }

    /// Whether it belongs to a server that the definition brings along.
    fn is_own_server_tool(&self, name: &str) -> bool {
        let servers = self.definition.mcp_servers.iter().flatten();
        let own = servers.filter(|server| matches!(server, McpSelection::Own(_)));
        own.map(McpSelection::name).any(|server| mcp::is_of_server(server, name))
    }

    /// Whether it belongs to one of these session servers and the definition allows it.
    fn is_pending(&self, name: &str, servers: &[String]) -> bool {
        servers.iter().any(|server| mcp::is_of_server(server, name)) && self.allows_server(name)
    }

    /// Whether the definition allows it, if it belongs to a server.
    fn allows_server(&self, name: &str) -> bool {
        let Some(servers) = &self.definition.mcp_servers else { return true };
        !name.starts_with(MCP_PREFIX)
            || servers.iter().any(|server| mcp::is_of_server(server.name(), name))
    }

    /// Whether both lists allow it.
    pub fn allows(&self, name: &str) -> bool {
        // An entry with a pattern is also a rule, which the gate enforces: here it only adds the
        // tool.
        let listed = |entry: &String| tool::entry_matches(entry_tool(entry), name);
        let forbids = |entry: &String| tool::entry_matches(entry, name);
        self.definition.tools.as_deref().is_none_or(|list| list.iter().any(listed))
            && !self.definition.disallowed_tools.iter().any(forbids)
            && self.access.allows(name)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let own = self.definition.tools.iter().flatten();
        own.chain(&self.definition.disallowed_tools).chain(self.access.names())
    }

    /// A list that names only deliberately withheld tools is not empty by mistake.
    fn expects_tools(&self) -> bool {
        let names_tools = |list: &[String]| {
            !list.is_empty() && !list.iter().all(|name| tools::is_agent_tool(entry_tool(name)))
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
