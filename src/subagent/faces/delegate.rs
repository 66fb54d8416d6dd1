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
use crate::subagent::Executor;
use crate::subagent::definition::Definition;
use crate::subagent::executor::{Started, Waited};
use crate::subagent::order::Order;
use crate::subagent::report::words;
use crate::subagent::tree::Status;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const HOW: &str = "Starts this sub-agent with a fresh context and waits for its report, a JSON object. The prompt is all it knows. Not for what a few calls of your own do; results come by themselves.";

/// The tool that delegates to one agent.
pub(super) struct Delegate {
    executor: Executor,
    definition: Arc<Definition>,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The whole task.
    prompt: String,
}

impl Delegate {
    pub fn new(executor: Executor, definition: Arc<Definition>) -> Self {
        let description = format!("{}\n{HOW}", definition.description);
        let spec = ToolSpec::of::<Input>(&definition.tool_name(), &description);
        Self { executor, definition, spec }
    }

    fn order(&self, input: &Input) -> Order {
        Order {
            prompt: input.prompt.clone(),
            tools_field: "its definition",
            agent: Some(self.definition.name.clone()),
            ..Order::default()
        }
    }
}

#[async_trait]
impl TypedTool for Delegate {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &Input) -> String {
        self.order(input).title()
    }

    fn access(&self, _input: &Input, _cwd: &Path) -> Access {
        Access::Agent { name: self.definition.name.clone() }
    }

    fn check(&self, input: &Input) -> Result<(), InvalidInput> {
        self.executor.check(&self.order(input))
    }

    /// An agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// A cancelled agent ends as soon as its own tools have ended, and then it reports.
    fn grace(&self) -> Option<Duration> {
        None
    }

    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let order = self.order(&input);
        if self.executor.goes_to_background(&order) {
            let started = Box::pin(self.executor.start(order, &cx)).await?;
            let text = "It works in the background: its result comes to you as a message.";
            return Ok(running(&started, text, "in the background"));
        }
        let ended = match Box::pin(self.executor.delegate(order, &cx)).await? {
            Waited::Ended(ended) => ended,
            Waited::Detached(started) => {
                let text =
                    "The person moved it to the background: its result comes to you as a message.";
                return Ok(running(&started, text, "moved to the background"));
            }
        };
        // A failure that ends the run is an error here too.
        let outcome = ended.outcome()?;
        let report = &ended.report;
        let answer = json!({
            "agent_id": report.agent_id, "name": report.name, "status": Status::of(&report.status),
            "end": words(&report.status), "text": ended.text, "duration_ms": report.duration_ms,
            "turns": report.turns, "tool_calls": report.tool_uses, "usage": report.usage,
            "cost_usd": (!report.cost.incomplete).then_some(report.cost.usd),
        });
        Ok(ToolOutcome {
            details: outcome.details,
            ..target::json(&answer, &outcome.summary, outcome.is_error)
        })
    }
}

/// The report of an agent that nobody waits for.
fn running(started: &Started, text: &str, summary: &str) -> ToolOutcome {
    let answer = json!({
        "agent_id": started.id, "name": started.name, "status": Status::Running, "text": text,
    });
    target::json(&answer, summary, false)
}
