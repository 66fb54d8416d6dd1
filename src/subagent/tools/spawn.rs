//! `agent_spawn`: starts a background sub-agent that knows only its prompt.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::AccessInput;
use super::target;
use crate::config::AgentToolset;
use crate::protocol::{Access, AgentId};
use crate::subagent::Spawner;
use crate::subagent::comms::SEND_TOOL;
use crate::subagent::definition::BudgetSpec;
use crate::subagent::spawn_request::{DEFAULT_AGENT, SpawnRequest};
use crate::subagent::spawner::AgentRef;
use crate::subagent::tree::AgentStatus;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Starts a sub-agent in the background with a fresh context, and returns at once. Use it for independent work beside your own; not for what a few calls do, nor when you need the result next. Its result comes to you as a message: never poll, never start an agent to watch another.";

/// The field that exists only if agents can exchange messages.
const HOST_MODE: &str = "host_mode";

/// The tool that starts a sub-agent in the background.
pub(super) struct SpawnTool {
    spawner: Spawner,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnInput {
    /// The whole task.
    prompt: String,
    /// Default general-purpose.
    agent: Option<String>,
    provider: Option<String>,
    /// Default: your own.
    model: Option<String>,
    /// Which of your tools it gets; default all.
    tool_access: Option<AccessInput>,
    /// Limits; they can only lower those that apply anyway.
    budget: Option<BudgetSpec>,
    /// Replaces the agent's own system prompt.
    system_prompt: Option<String>,
    /// It stays after its first answer and works again on each message; agent_cancel ends it.
    host_mode: Option<bool>,
}

/// The answer of spawn and fork.
#[derive(Debug, Serialize)]
pub(super) struct SpawnOutput {
    agent_id: AgentId,
    name: String,
    state: AgentStatus,
    /// The tool to send it messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_with: Option<&'static str>,
}

impl SpawnOutput {
    /// The answer for an agent that was started.
    pub fn outcome(executor: &Spawner, started: &AgentRef) -> ToolOutcome {
        let agent = executor.factory().tree.look_up(started.id);
        let state = agent.map_or(AgentStatus::Running, |agent| agent.status());
        let name = started.name.clone();
        let message_with = executor.factory().settings.comms.then_some(SEND_TOOL);
        let answer = Self { agent_id: started.id, name, state, message_with };
        target::json_outcome(&answer, "in the background", false)
    }
}

impl SpawnTool {
    pub fn new(executor: Spawner) -> Self {
        let settings = &executor.factory().settings;
        // The list of agents is long: include it only once.
        let description = match settings.offers(AgentToolset::Agent) {
            true => format!("{DESCRIPTION} The agents are those of {}.", settings.tool_name),
            false => executor.with_agents(DESCRIPTION),
        };
        let spec =
            ToolSpec::new::<SpawnInput>("agent_spawn", &description).with_bare_field("budget");
        let spec = match executor.models_text() {
            Some(text) => spec.with_field_text("model", &text),
            None => spec,
        };
        let comms = executor.factory().settings.comms;
        let spec = if comms { spec } else { spec.without_field(HOST_MODE) };
        Self { spawner: executor, spec }
    }

    fn order(input: &SpawnInput) -> SpawnRequest {
        let tools = input.tool_access.as_ref().map(AccessInput::access).unwrap_or_default();
        SpawnRequest {
            prompt: input.prompt.clone(),
            agent: input.agent.clone(),
            provider: input.provider.clone(),
            model: input.model.clone(),
            tools,
            tools_field: "`tool_access`",
            budget: input.budget.unwrap_or_default(),
            system_prompt: input.system_prompt.clone(),
            background: true,
            host: input.host_mode == Some(true),
            default_budget: true,
            memory: Some(false),
            ..SpawnRequest::default()
        }
    }
}

#[async_trait]
impl TypedTool for SpawnTool {
    type Input = SpawnInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &SpawnInput) -> String {
        Self::order(input).title()
    }

    fn access(&self, input: &SpawnInput, _cwd: &Path) -> Access {
        Access::Agent { name: input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()) }
    }

    fn check(&self, input: &SpawnInput) -> Result<(), InvalidInput> {
        if input.system_prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(InvalidInput("`system_prompt` must not be blank.".to_owned()));
        }
        if input.host_mode.is_some() && !self.spawner.factory().settings.comms {
            return Err(InvalidInput(format!(
                "`{HOST_MODE}` needs messages between agents, which are off."
            )));
        }
        self.spawner.check(&Self::order(input))
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: SpawnInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let started = Box::pin(self.spawner.start(Self::order(&input), &cx)).await?;
        Ok(SpawnOutput::outcome(&self.spawner, &started))
    }
}
