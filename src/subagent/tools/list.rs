//! `agent_list`: all sub-agents of the caller.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::{Access, AgentId, count};
use crate::subagent::Spawner;
use crate::subagent::tree::{AgentSnapshot, AgentStatus, StatusCounts};
use crate::tool::{ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str =
    "Lists your sub-agents, including ended ones. For an overview; never poll with it.";

/// The tool that lists sub-agents.
pub(super) struct ListTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// A call takes no input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {}

#[derive(Debug, Serialize)]
struct ListOutput {
    agents: Vec<ListRow>,
    #[serde(flatten)]
    counts: StatusCounts,
}

#[derive(Debug, Serialize)]
struct ListRow {
    agent_id: AgentId,
    name: String,
    agent: String,
    description: String,
    state: AgentStatus,
    is_final: bool,
    background: bool,
    depth: u32,
    duration_ms: u64,
    tokens: u64,
}

impl ListRow {
    fn from_snapshot(agent: &AgentSnapshot) -> Self {
        Self {
            agent_id: agent.id,
            name: agent.info.name.clone(),
            agent: agent.info.agent.clone(),
            description: agent.info.description.clone(),
            state: agent.status(),
            is_final: agent.status().is_final(),
            background: agent.background,
            depth: agent.path.depth(),
            duration_ms: u64::try_from(agent.took.as_millis()).unwrap_or(u64::MAX),
            tokens: agent.tokens,
        }
    }
}

impl ListTool {
    pub fn new(executor: Spawner) -> Self {
        Self { spawner: executor, spec: ToolSpec::new::<ListInput>("agent_list", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for ListTool {
    type Input = ListInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, _input: &ListInput) -> String {
        String::new()
    }

    fn access(&self, _input: &ListInput, _cwd: &Path) -> Access {
        Access::Nothing
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, _input: ListInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let list = self.spawner.factory().tree.list(cx.events.path());
        let counts = StatusCounts::count(&list);
        let summary = count(counts.total_count, "agent");
        let answer =
            ListOutput { agents: list.iter().map(ListRow::from_snapshot).collect(), counts };
        Ok(target::json_outcome(&answer, &summary, false))
    }
}
