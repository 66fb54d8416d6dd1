//! `agent_list`: all sub-agents of the caller.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target;
use crate::protocol::{Access, AgentId, count};
use crate::subagent::Executor;
use crate::subagent::tree::{Counts, Listed, Status};
use crate::tool::{ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str =
    "Lists your sub-agents, those that have ended too. For an overview; never poll with it.";

/// The tool that lists sub-agents.
pub(super) struct List {
    executor: Executor,
    spec: ToolSpec,
}

/// A call takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

#[derive(Debug, Serialize)]
struct Answer {
    agents: Vec<Line>,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct Line {
    agent_id: AgentId,
    name: String,
    agent: String,
    description: String,
    state: Status,
    is_final: bool,
    background: bool,
    depth: u32,
    duration_ms: u64,
    tokens: u64,
}

impl Line {
    fn of(agent: &Listed) -> Self {
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

impl List {
    pub fn new(executor: Executor) -> Self {
        Self { executor, spec: ToolSpec::of::<Input>("agent_list", DESCRIPTION) }
    }
}

#[async_trait]
impl TypedTool for List {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, _input: &Input) -> String {
        String::new()
    }

    fn access(&self, _input: &Input, _cwd: &Path) -> Access {
        Access::Nothing
    }

    /// No work of its own: it needs no place beside those at work.
    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, _input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let list = self.executor.factory().tree.list(cx.events.path());
        let counts = Counts::of(&list);
        let summary = count(counts.total_count, "agent");
        let answer = Answer { agents: list.iter().map(Line::of).collect(), counts };
        Ok(target::json(&answer, &summary, false))
    }
}
