//! `AgentTool`: starts a sub-agent and blocks its parent's call until the final text is there.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::AgentToolset;
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::definition::BudgetSpec;
use crate::subagent::spawn_request::{DEFAULT_AGENT, SpawnRequest, ToolAccess};
use crate::subagent::spawner::WaitOutcome;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

/// When to delegate, and when not to; the list of agents follows it.
const DESCRIPTION: &str = include_str!("../../../assets/prompts/delegation.md");

/// The tool that starts a sub-agent and waits for it.
pub(super) struct AgentTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentInput {
    prompt: String,
    /// The task in 3-6 words.
    description: Option<String>,
    /// Default general-purpose.
    #[serde(alias = "subagent_type")]
    agent: Option<String>,
    tool_allowlist: Option<Vec<String>>,
    model: Option<String>,
    /// Lowers its limit.
    max_turns: Option<u32>,
    max_cost_usd: Option<f64>,
    /// Do not wait for it.
    run_in_background: Option<bool>,
}

impl AgentInput {
    fn order(&self) -> SpawnRequest {
        SpawnRequest {
            prompt: self.prompt.clone(),
            title: self.description.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            tools_field: "`tool_allowlist`",
            tools: self.tool_allowlist.clone().map_or(ToolAccess::Inherit, ToolAccess::Allow),
            budget: BudgetSpec {
                max_turns: self.max_turns,
                max_usd: self.max_cost_usd,
                ..BudgetSpec::default()
            },
            background: self.run_in_background == Some(true),
            ..SpawnRequest::default()
        }
    }
}

impl AgentTool {
    /// Creates the tool, with the available agents in its description.
    pub fn new(executor: Spawner) -> Self {
        let factory = executor.factory();
        let description = executor.with_agents(DESCRIPTION);
        let mut spec = ToolSpec::new::<AgentInput>(&factory.settings.tool_name, &description);
        if !factory.settings.offers(AgentToolset::Lifecycle) {
            spec = spec.without_field("run_in_background");
        }
        Self { spawner: executor, spec }
    }
}

#[async_trait]
impl TypedTool for AgentTool {
    type Input = AgentInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &AgentInput) -> String {
        input.order().title()
    }

    fn access(&self, input: &AgentInput, _cwd: &Path) -> Access {
        Access::Agent { name: input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()) }
    }

    fn check(&self, input: &AgentInput) -> Result<(), InvalidInput> {
        // `false` requests the default.
        if input.run_in_background == Some(true) && !self.spec.has_field("run_in_background") {
            let why = "`run_in_background` can only be false: agents in the background need the lifecycle tools.";
            return Err(InvalidInput(why.to_owned()));
        }
        if input.max_turns == Some(0) {
            return Err(InvalidInput("`max_turns` must be at least 1.".to_owned()));
        }
        if input.max_cost_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err(InvalidInput("`max_cost_usd` must be above 0.".to_owned()));
        }
        self.spawner.check(&input.order())
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

    async fn run(&self, input: AgentInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        Box::pin(run(&self.spawner, input.order(), &cx)).await
    }
}

/// Runs one order to its end, or starts it in the background if that is requested.
pub(super) async fn run(
    executor: &Spawner,
    order: SpawnRequest,
    cx: &ToolContext,
) -> Result<ToolOutcome, ToolError> {
    if executor.goes_to_background(&order) {
        let started = executor.start(order, cx).await?;
        let text = format!(
            "{} ({}) runs in the background. Its result will come to you as a message: do not wait or ask for it.",
            started.name, started.id
        );
        return Ok(ToolOutcome::text(text, "in the background"));
    }
    match executor.delegate(order, cx).await? {
        WaitOutcome::Ended(ended) => ended.tool_outcome(),
        WaitOutcome::Detached(started) => {
            let text = format!(
                "{} ({}) now runs in the background: the user moved it there. Its result will come to you as a message: do not start it again, and do not wait for it.",
                started.name, started.id
            );
            Ok(ToolOutcome::text(text, "moved to the background"))
        }
    }
}
