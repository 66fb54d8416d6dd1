//! The tools of a sub-agent: what its definition, its call, its parent and the rules leave of all.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::child_spec::ChildSpec;
use super::factory::Factory;
use super::parent::ParentContext;
use super::spawn::Spawner;
use super::tool_lists::{ToolLists, ToolSelection};
use super::tools::{self, SEND_TOOL};
use super::workspace::Workspace;
use crate::permission::{AgentGate, entry_tool};
use crate::protocol::{EventSink, NoticeLevel};
use crate::tool::{self, Tool, ToolRegistry};

impl Factory {
    /// Whether a sub-agent gets the tool that sends messages. The configuration decides that, not
    /// tool lists, unless one of them forbids it.
    pub fn may_send(&self, lists: &ToolLists<'_>) -> bool {
        self.parts.settings.config.comms
            && !lists.denies(SEND_TOOL)
            && !self.parts.gate.denies_tool(SEND_TOOL)
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
            let name = &tool.spec().name;
            if spawner.parent().has_tool(name) && self.parts.allows(name) {
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
