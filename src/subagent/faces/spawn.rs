//! `agent_spawn`: starts a sub-agent in the background, with nothing but its prompt.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::AccessInput;
use super::target;
use crate::config::Face;
use crate::protocol::{Access, AgentId};
use crate::subagent::Executor;
use crate::subagent::comms::SEND;
use crate::subagent::definition::BudgetSpec;
use crate::subagent::executor::Started;
use crate::subagent::order::{DEFAULT_AGENT, Order};
use crate::subagent::tree::Status;
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Starts a sub-agent in the background with a fresh context, and returns at once. Use it for independent work beside your own; not for what a few calls do, nor when you need the result next. Its result comes to you as a message: never poll, never start an agent to watch another.";

/// The field that is there with messages between agents only.
const HOST_MODE: &str = "host_mode";

/// The tool that starts a sub-agent in the background.
pub(super) struct Spawn {
    executor: Executor,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The whole task.
    prompt: String,
    /// Default general-purpose.
    agent: Option<String>,
    provider: Option<String>,
    /// Default: your own.
    model: Option<String>,
    /// Which of your tools it gets; default all.
    tool_access: Option<AccessInput>,
    /// Limits; they only lower those that hold anyway.
    budget: Option<BudgetSpec>,
    /// Replaces the agent's own system prompt.
    system_prompt: Option<String>,
    /// It stays after its first answer and works again on each message; agent_cancel ends it.
    host_mode: Option<bool>,
}

/// The answer of spawn and fork.
#[derive(Debug, Serialize)]
pub(super) struct StartedAnswer {
    agent_id: AgentId,
    name: String,
    state: Status,
    /// The tool by which it can be sent messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_with: Option<&'static str>,
}

impl StartedAnswer {
    /// The answer for an agent that was started.
    pub fn outcome(executor: &Executor, started: &Started) -> ToolOutcome {
        let agent = executor.factory().tree.look_up(started.id);
        let state = agent.map_or(Status::Running, |agent| agent.status());
        let name = started.name.clone();
        let message_with = executor.factory().settings.comms.then_some(SEND);
        let answer = Self { agent_id: started.id, name, state, message_with };
        target::json(&answer, "in the background", false)
    }
}

impl Spawn {
    pub fn new(executor: Executor) -> Self {
        let settings = &executor.factory().settings;
        // The list of agents is long: it stands in one place only.
        let description = match settings.has(Face::Agent) {
            true => format!("{DESCRIPTION} The agents are those of {}.", settings.tool_name),
            false => executor.with_agents(DESCRIPTION),
        };
        let spec = ToolSpec::of::<Input>("agent_spawn", &description).with_bare_field("budget");
        let spec = match executor.models_text() {
            Some(text) => spec.with_field_text("model", &text),
            None => spec,
        };
        let comms = executor.factory().settings.comms;
        let spec = if comms { spec } else { spec.without_field(HOST_MODE) };
        Self { executor, spec }
    }

    fn order(input: &Input) -> Order {
        let tools = input.tool_access.as_ref().map(AccessInput::access).unwrap_or_default();
        Order {
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
            ..Order::default()
        }
    }
}

#[async_trait]
impl TypedTool for Spawn {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &Input) -> String {
        Self::order(input).title()
    }

    fn access(&self, input: &Input, _cwd: &Path) -> Access {
        Access::Agent { name: input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()) }
    }

    fn check(&self, input: &Input) -> Result<(), InvalidInput> {
        if input.system_prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(InvalidInput("`system_prompt` must not be blank.".to_owned()));
        }
        if input.host_mode.is_some() && !self.executor.factory().settings.comms {
            return Err(InvalidInput(format!(
                "`{HOST_MODE}` needs messages between agents, which are off."
            )));
        }
        self.executor.check(&Self::order(input))
    }

    /// No work of its own: it needs no place beside those at work.
    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let started = Box::pin(self.executor.start(Self::order(&input), &cx)).await?;
        Ok(StartedAnswer::outcome(&self.executor, &started))
    }
}
