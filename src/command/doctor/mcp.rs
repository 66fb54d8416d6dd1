//! Checks that MCP servers answer.

use super::Finding;
use crate::command::mcp::ServerRow;
use crate::protocol::McpState;

/// The subject of these lines.
pub const ABOUT: &str = "mcp";

/// Returns one line for each server, and for each `broken` definition that is left out.
pub fn servers(servers: &[ServerRow], broken: &[String]) -> Vec<Finding> {
    if servers.is_empty() && broken.is_empty() {
        return vec![Finding::ok(ABOUT, "none")];
    }
    let finding = |standing: &ServerRow| {
        let name = &standing.entry.server.name;
        let (state, origin) = (standing.state(), &standing.entry.origin);
        match &standing.status {
            None => Finding::note(ABOUT, format!("{name} ({origin}): {state}")),
            Some(status) if status.state == McpState::Connected => {
                let tools = if status.tools.len() == 1 { "tool" } else { "tools" };
                Finding::ok(ABOUT, format!("{name}: {state}, {} {tools}", status.tools.len()))
            }
            Some(_) => {
                let error = standing.error();
                let why = if error.is_empty() { String::new() } else { format!(": {error}") };
                Finding::wrong(ABOUT, format!("{name} ({origin}): {state}{why}"))
            }
        }
    };
    let broken = broken.iter().map(|why| Finding::wrong(ABOUT, why.clone()));
    servers.iter().map(finding).chain(broken).collect()
}
