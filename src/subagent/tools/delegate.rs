//! `delegate_to_<name>`: one tool per definition, for models that choose better between tools than
//! between names.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::target;
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::definition::Definition;
use crate::subagent::report::end_text;
use crate::subagent::spawn_request::SpawnRequest;
use crate::subagent::spawner::{AgentRef, WaitOutcome};
use crate::subagent::tree::AgentStatus;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DELEGATE_HINT: &str = "Starts this sub-agent with a fresh context and waits for its report, a JSON object. The prompt is all it knows. Not for what a few calls of your own can do; results arrive by themselves.";

/// The tool that delegates to one agent.
pub(super) struct DelegateTool {
    spawner: Spawner,
    definition: Arc<Definition>,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelegateInput {
    /// The whole task.
    prompt: String,
}

impl DelegateTool {
    pub fn new(executor: Spawner, definition: Arc<Definition>) -> Self {
        let description = format!("{}\n{DELEGATE_HINT}", definition.description);
        let spec = ToolSpec::new::<DelegateInput>(&definition.tool_name(), &description);
        Self { spawner: executor, definition, spec }
    }

    fn order(&self, input: &DelegateInput) -> SpawnRequest {
        SpawnRequest {
            prompt: input.prompt.clone(),
            tools_field: "its definition",
            agent: Some(self.definition.name.clone()),
            ..SpawnRequest::default()
        }
    }
}

#[async_trait]
impl TypedTool for DelegateTool {
    type Input = DelegateInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &DelegateInput) -> String {
        self.order(input).title()
    }

    fn access(&self, _input: &DelegateInput, _cwd: &Path) -> Access {
        Access::Agent { name: self.definition.name.clone() }
    }

    fn check(&self, input: &DelegateInput) -> Result<(), InvalidInput> {
        self.spawner.check(&self.order(input))
    }

    /// An agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// A cancelled agent ends as soon as its own tools have ended, then reports.
    fn grace(&self) -> Option<Duration> {
        None
    }

    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: DelegateInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let order = self.order(&input);
        if self.spawner.goes_to_background(&order) {
            let started = Box::pin(self.spawner.start(order, &cx)).await?;
            let text = "It runs in the background: its result will come to you as a message.";
            return Ok(running(&started, text, "in the background"));
        }
        let ended = match Box::pin(self.spawner.delegate(order, &cx)).await? {
            WaitOutcome::Ended(ended) => ended,
            WaitOutcome::Detached(started) => {
                let text = "The user moved it to the background: its result will come to you as a message.";
                return Ok(running(&started, text, "moved to the background"));
            }
        };
        // A failure that ends the run is an error here too.
        let outcome = ended.tool_outcome()?;
        let report = &ended.report;
        let answer = json!({
            "agent_id": report.agent_id, "name": report.name, "status": AgentStatus::from_end(&report.status),
            "end": end_text(&report.status), "text": ended.text, "duration_ms": report.duration_ms,
            "turns": report.turns, "tool_calls": report.tool_uses, "usage": report.usage,
            "cost_usd": (!report.cost.incomplete).then_some(report.cost.usd),
        });
        Ok(ToolOutcome {
            details: outcome.details,
            ..target::json_outcome(&answer, &outcome.summary, outcome.is_error)
        })
    }
}

/// The answer for an agent that runs in the background.
fn running(started: &AgentRef, text: &str, summary: &str) -> ToolOutcome {
    let answer = json!({
        "agent_id": started.id, "name": started.name, "status": AgentStatus::Running, "text": text,
    });
    target::json_outcome(&answer, summary, false)
}
