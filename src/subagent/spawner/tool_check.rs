//! Checks that a call leaves its agent any tools, counting those of servers that are still
//! connecting.

use std::time::Duration;

use super::{Spawner, cancelled_error};
use crate::permission::entry_tool;
use crate::protocol::{McpState, NoticeLevel, mcp_name};
use crate::subagent::definition::Definition;
use crate::subagent::factory::ToolSelection;
use crate::subagent::spawn_request::{SpawnRequest, ToolAccess};
use crate::tool::mcp::is_of_server;
use crate::tool::{InvalidInput, SoftKind, ToolContext, ToolError};

/// How long a call waits for servers without which its agent would have no tools.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(5);

impl Spawner {
    pub(super) fn check_tools(
        &self,
        order: &SpawnRequest,
        definition: &Definition,
    ) -> Result<(), InvalidInput> {
        if let Some(rule) = order.tools.names().iter().find(|name| name.contains('(')) {
            let tool = entry_tool(rule);
            return Err(InvalidInput(format!(
                "{}: {rule} is a rule, but this list takes tool names: write {tool}. Rules belong in an agent's definition or under [permissions].",
                order.tools_field
            )));
        }
        let selection = self.factory.tools_for(definition, &order.tools, &self.parent);
        let unknown = selection.unknown.join(", ");
        if self.factory.settings.strict_tools && !unknown.is_empty() {
            return Err(InvalidInput(format!(
                "{}: there are no tools {unknown}, and unknown names are errors here. The tools are: {}.",
                order.tools_field,
                self.known_tools(definition)
            )));
        }
        match selection.nothing_left && selection.pending.is_empty() {
            true => Err(self.no_tools_error(order, definition, &selection)),
            false => Ok(()),
        }
    }

    /// Waits, within bounds, for servers without which the agent would have no tools.
    pub(super) async fn await_tools(
        &self,
        order: &SpawnRequest,
        definition: &Definition,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let selected = || self.factory.tools_for(definition, &order.tools, &self.parent);
        let mut selection = selected();
        if selection.nothing_left && !selection.pending.is_empty() {
            let (name, awaited) = (&definition.name, &selection.pending);
            let text = format!("{name} is waiting for its MCP server: {}", awaited.join(", "));
            cx.events.notice(NoticeLevel::Info, text);
            let servers = self.factory.mcp.main();
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(cancelled_error()),
                () = servers.wait_ready_for(awaited, MAX_SERVER_WAIT) => {}
            }
            selection = selected();
        }
        match selection.nothing_left {
            true => {
                let InvalidInput(why) = self.no_tools_error(order, definition, &selection);
                Err(ToolError::soft(SoftKind::InvalidInput, why))
            }
            false => Ok(()),
        }
    }

    fn no_tools_error(
        &self,
        order: &SpawnRequest,
        definition: &Definition,
        selection: &ToolSelection,
    ) -> InvalidInput {
        let names = selection.unknown.iter().chain(&selection.pending);
        let names: Vec<_> = names.map(|name| self.why_unknown(name)).collect();
        let unknown = match names.join("; ") {
            names if names.is_empty() => names,
            names => format!(" (unknown: {names})"),
        };
        let name = &definition.name;
        InvalidInput(match order.tools {
            ToolAccess::Inherit => format!("`tools` of the agent {name} leaves no tool{unknown}."),
            _ => {
                let (field, known) = (order.tools_field, self.known_tools(definition));
                format!("{field} leaves no tool{unknown}. The tools of {name} are: {known}.")
            }
        })
    }

    /// Explains a list entry that matches no tool, with the state of its server.
    fn why_unknown(&self, entry: &str) -> String {
        let Some((server, _)) = mcp_name::parts(entry) else { return entry.to_owned() };
        let all = self.factory.mcp.status();
        let Some(status) = all.iter().find(|status| is_of_server(&status.name, entry)) else {
            return format!("{entry}: there is no MCP server {server}");
        };
        match (status.state, status.error.as_deref().unwrap_or_default()) {
            (McpState::Connected, _) => {
                format!("{entry}: the MCP server {server} offers no such tool here")
            }
            (McpState::Pending, _) => {
                format!("{entry}: the MCP server {server} is not connected yet")
            }
            (McpState::Failed, why) => format!("{entry}: the MCP server {server} failed: {why}"),
        }
    }

    fn known_tools(&self, definition: &Definition) -> String {
        let own = self.factory.tools_for(definition, &ToolAccess::Inherit, &self.parent).tools;
        own.names().collect::<Vec<_>>().join(", ")
    }
}
