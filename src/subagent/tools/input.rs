//! The inputs with which models start sub-agents, and the requests that they become. The line on each
//! type is part of its schema, which models read.

use schemars::JsonSchema;
use serde::Deserialize;

use super::access::AccessInput;
use crate::subagent::budget_policy::BudgetPolicy;
use crate::subagent::definition::{BudgetSpec, Definition};
use crate::subagent::spawn_request::{SpawnRequest, ToolAccess};
use crate::tool::InvalidInput;

/// The field that exists only if agents can exchange messages.
pub(super) const HOST_MODE: &str = "host_mode";

/// The field that exists only if there are tools for agents in the background.
pub(super) const IN_BACKGROUND: &str = "run_in_background";

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

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkInput {
    /// The task for the copy.
    prompt: String,
    provider: Option<String>,
    /// Default: your own; any other reads this conversation anew.
    model: Option<String>,
    /// Which of your tools it gets; default all.
    tool_access: Option<AccessInput>,
    /// Limits; they can only lower those that apply anyway.
    budget: Option<BudgetSpec>,
    /// How many of your remaining tokens it may use, when `budget` does not say: equal (your share,
    /// divided by all your running agents and you), proportional (half), remaining (all), fixed:N.
    budget_policy: Option<BudgetPolicy>,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelegateInput {
    /// The whole task.
    prompt: String,
}

impl AgentInput {
    /// Turns it into a request. `has_background`: whether agents may run in the background.
    pub fn request(self, has_background: bool) -> Result<SpawnRequest, InvalidInput> {
        // `false` requests the default.
        let background = self.run_in_background == Some(true);
        if background && !has_background {
            let why = "`run_in_background` can only be false: agents in the background need the lifecycle tools.";
            return Err(InvalidInput(why.to_owned()));
        }
        if self.max_turns == Some(0) {
            return Err(InvalidInput("`max_turns` must be at least 1.".to_owned()));
        }
        if self.max_cost_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err(InvalidInput("`max_cost_usd` must be above 0.".to_owned()));
        }
        Ok(SpawnRequest {
            prompt: self.prompt,
            title: self.description,
            agent: self.agent,
            model: self.model,
            tools_field: "`tool_allowlist`",
            tools: self.tool_allowlist.map_or(ToolAccess::Inherit, ToolAccess::Allow),
            budget: BudgetSpec {
                max_turns: self.max_turns,
                max_usd: self.max_cost_usd,
                ..BudgetSpec::default()
            },
            background,
            ..SpawnRequest::default()
        })
    }
}

impl SpawnInput {
    /// Turns it into a request. `has_messages`: whether agents can exchange messages.
    pub fn request(self, has_messages: bool) -> Result<SpawnRequest, InvalidInput> {
        if self.system_prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(InvalidInput("`system_prompt` must not be blank.".to_owned()));
        }
        if self.host_mode.is_some() && !has_messages {
            return Err(InvalidInput(format!(
                "`{HOST_MODE}` needs messages between agents, which are off."
            )));
        }
        Ok(SpawnRequest {
            prompt: self.prompt,
            agent: self.agent,
            provider: self.provider,
            model: self.model,
            tools: self.tool_access.map(AccessInput::into_access).unwrap_or_default(),
            tools_field: "`tool_access`",
            budget: self.budget.unwrap_or_default(),
            system_prompt: self.system_prompt,
            background: true,
            host: self.host_mode == Some(true),
            default_budget: true,
            memory: Some(false),
            ..SpawnRequest::default()
        })
    }
}

impl ForkInput {
    /// Turns it into a request.
    pub fn request(self) -> Result<SpawnRequest, InvalidInput> {
        if self.budget_policy.is_some() && self.budget.is_some_and(|it| it.max_tokens.is_some()) {
            let why = "`budget_policy` and `budget.max_tokens` both set the tokens: give only one.";
            return Err(InvalidInput(why.to_owned()));
        }
        Ok(SpawnRequest {
            prompt: self.prompt,
            provider: self.provider,
            model: self.model,
            tools: self.tool_access.map(AccessInput::into_access).unwrap_or_default(),
            tools_field: "`tool_access`",
            budget: self.budget.unwrap_or_default(),
            budget_policy: self.budget_policy,
            background: true,
            is_fork: true,
            default_budget: true,
            ..SpawnRequest::default()
        })
    }
}

impl DelegateInput {
    /// Turns it into a request for an agent of this definition.
    pub fn request(self, definition: &Definition) -> SpawnRequest {
        SpawnRequest {
            prompt: self.prompt,
            tools_field: "its definition",
            agent: Some(definition.name.clone()),
            ..SpawnRequest::default()
        }
    }
}
