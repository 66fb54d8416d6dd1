//! `agent_fork`: starts a background sub-agent that continues the caller's whole conversation.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::access::AccessInput;
use super::spawn::SpawnOutput;
use crate::protocol::Access;
use crate::subagent::Spawner;
use crate::subagent::definition::BudgetSpec;
use crate::subagent::spawn_request::{DEFAULT_AGENT, Fork, SpawnRequest};
use crate::tool::{InvalidInput, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};

const DESCRIPTION: &str = "Starts a copy of you in the background: it knows this whole conversation and works on `prompt`. Use it for a side task that needs this conversation; agent_spawn is cheaper for everything else. Its result comes to you as a message: never poll.";

/// The tool that forks its caller.
pub(super) struct ForkTool {
    spawner: Spawner,
    spec: ToolSpec,
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

/// How a fork's tokens are derived from what its parent has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BudgetPolicy {
    Equal,
    Proportional,
    Remaining,
    Fixed(u64),
}

impl BudgetPolicy {
    /// The fork's share of `left` tokens, beside `live` agents that share them. `None` if the
    /// parent has no limit.
    fn tokens(self, left: Option<u64>, live: u64) -> Option<u64> {
        match self {
            Self::Fixed(tokens) => Some(tokens),
            Self::Remaining => left,
            Self::Proportional => left.map(|left| (left / 2).max(1)),
            Self::Equal => left.map(|left| (left / (live + 2)).max(1)),
        }
    }

    /// The same for US dollars; a fixed number of tokens says nothing about them.
    fn usd(self, left: Option<f64>, live: u64) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::Remaining => left,
            Self::Proportional => left.map(|left| left / 2.0),
            Self::Equal => left.map(|left| left / (live + 2) as f64),
        }
    }
}

impl std::str::FromStr for BudgetPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`budget_policy` must be equal, proportional, remaining or fixed:N with N tokens of at least 1, not {text:?}"
            )
        };
        match text {
            "equal" => Ok(Self::Equal),
            "proportional" => Ok(Self::Proportional),
            "remaining" => Ok(Self::Remaining),
            other => {
                let number = other.strip_prefix("fixed:").and_then(|n| n.trim().parse().ok());
                number.filter(|tokens| *tokens > 0).map(Self::Fixed).ok_or_else(wrong)
            }
        }
    }
}

impl<'de> Deserialize<'de> for BudgetPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for BudgetPolicy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BudgetPolicy".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl ForkTool {
    pub fn new(executor: Spawner) -> Self {
        Self {
            spawner: executor,
            spec: ToolSpec::new::<ForkInput>("agent_fork", DESCRIPTION).with_bare_field("budget"),
        }
    }

    fn order(input: &ForkInput) -> SpawnRequest {
        let tools = input.tool_access.as_ref().map(AccessInput::access).unwrap_or_default();
        SpawnRequest {
            prompt: input.prompt.clone(),
            provider: input.provider.clone(),
            model: input.model.clone(),
            tools,
            tools_field: "`tool_access`",
            budget: input.budget.unwrap_or_default(),
            background: true,
            is_fork: true,
            default_budget: true,
            ..SpawnRequest::default()
        }
    }

    /// The share that the policy grants of what the caller has left, within the limits that the
    /// call names.
    fn share(&self, input: &ForkInput, asked: BudgetSpec, cx: &ToolContext) -> BudgetSpec {
        let Some(policy) = input.budget_policy else { return asked };
        let live = self.spawner.factory().tree.list(cx.events.path());
        let live = live.iter().filter(|agent| !agent.status().is_final()).count();
        let (live, left) = (u64::try_from(live).unwrap_or(u64::MAX), cx.budget.left());
        let granted = BudgetSpec {
            max_tokens: policy.tokens(left.tokens, live),
            max_usd: policy.usd(left.usd, live),
            ..BudgetSpec::default()
        };
        asked.min(granted)
    }
}

#[async_trait]
impl TypedTool for ForkTool {
    type Input = ForkInput;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &ForkInput) -> String {
        Self::order(input).title()
    }

    fn access(&self, _input: &ForkInput, _cwd: &Path) -> Access {
        Access::Agent { name: DEFAULT_AGENT.to_owned() }
    }

    fn check(&self, input: &ForkInput) -> Result<(), InvalidInput> {
        if input.budget_policy.is_some() && input.budget.is_some_and(|it| it.max_tokens.is_some()) {
            let why = "`budget_policy` and `budget.max_tokens` both set the tokens: give only one.";
            return Err(InvalidInput(why.to_owned()));
        }
        self.spawner.check(&Self::order(input))
    }

    /// Does no work of its own, so it needs no permit.
    fn only_waits(&self) -> bool {
        true
    }

    async fn run(&self, input: ForkInput, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let mut order = Self::order(&input);
        order.budget = self.share(&input, order.budget, &cx);
        order.fork = Some(Fork::from_conversation(&cx.conversation, &cx.tool_use_id));
        let started = Box::pin(self.spawner.start(order, &cx)).await?;
        Ok(SpawnOutput::outcome(&self.spawner, &started))
    }
}
