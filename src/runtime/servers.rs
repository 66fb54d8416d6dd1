//! Main's tools of MCP servers, as available when it starts to work.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::parts::RuntimeParts;
use super::subagent_tools::SubagentTools;
use crate::agent::Agent;
use crate::protocol::{EventSink, MCP_PREFIX, NoticeLevel, WaitKind, report_wait};

/// Builds main's tools when it starts to work.
pub(super) struct MainTools {
    pub parts: Arc<RuntimeParts>,
    pub subagent_tools: Option<SubagentTools>,
}

impl MainTools {
    /// Gives `agent` the available tools. Waits for starting servers, up to a limit, and reports
    /// those that are still missing in one line.
    pub async fn give_to(self, agent: &mut Agent, events: &EventSink, cancel: &CancellationToken) {
        let servers = self.parts.agents.mcp.main();
        let names = || WaitKind::Servers { names: servers.still_starting() };
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = report_wait(events, names, servers.wait_ready()) => {}
        }
        let missing = self.parts.agents.mcp.still_starting().join(", ");
        if !missing.is_empty() {
            let text = format!(
                "MCP servers not ready: {missing}. Their tools are added with the next prompt after they are."
            );
            events.notice(NoticeLevel::Warning, text);
        }
        let (_, problems) = self.parts.agents.mcp.refresh_tools();
        for problem in problems {
            events.notice(NoticeLevel::Warning, problem);
        }
        agent.set_tools(match &self.subagent_tools {
            Some(subagent_tools) => subagent_tools.tools(),
            None => {
                let own = agent.tools().filtered(|name| !name.starts_with(MCP_PREFIX));
                self.parts.main_tools(&own)
            }
        });
    }
}
