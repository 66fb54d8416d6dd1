//! What main is offered of MCP servers: what is there when it begins to work.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::assemble::Parts;
use super::offer::Offer;
use super::{Runtime, assemble};
use crate::agent::Agent;
use crate::protocol::{EventSink, MCP_PREFIX, NoticeLevel, Wait, tell_wait};

/// Makes main's tools at the moment when it begins to work.
pub(super) struct MainTools {
    parts: Arc<Parts>,
    offer: Option<Offer>,
}

impl Runtime {
    /// What makes main's tools; `None` without servers, where they stay as they are.
    pub(super) fn main_tools(&self) -> Option<MainTools> {
        let tools = || MainTools { parts: self.parts.clone(), offer: self.offer.clone() };
        (!self.parts.mcp.is_empty()).then(tools)
    }

    /// Starts the session's servers. They are not waited for.
    pub(super) fn start_servers(&self) {
        let events = self.events.clone();
        self.parts.mcp.start(move |line| events.notice(NoticeLevel::Warning, line));
    }
}

impl MainTools {
    /// Gives `agent` the tools that are there. Servers that were just started are waited for,
    /// within bounds; of those that are missing then, one line tells.
    pub async fn give(self, agent: &mut Agent, events: &EventSink, cancel: &CancellationToken) {
        let fleet = self.parts.mcp.main();
        let names = || Wait::Servers { names: fleet.missing() };
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = tell_wait(events, names, fleet.settled()) => {}
        }
        let missing = self.parts.mcp.missing().join(", ");
        if !missing.is_empty() {
            let text = format!(
                "MCP servers not there yet: {missing}. Their tools come with the next prompt once they are."
            );
            events.notice(NoticeLevel::Warning, text);
        }
        let (_, problems) = self.parts.mcp.renew();
        for problem in problems {
            events.notice(NoticeLevel::Warning, problem);
        }
        agent.set_tools(match &self.offer {
            Some(offer) => offer.tools(),
            None => {
                let own = agent.tools().filtered(|name| !name.starts_with(MCP_PREFIX));
                assemble::main_tools(&self.parts, &own)
            }
        });
    }
}
