//! What a sub-agent gets to work with: its model, its place, its rights and what it may use up.

use super::Executor;
use crate::agent::compact;
use crate::budget::Budget;
use crate::config::ChildPermissions;
use crate::permission::{Bounds, ModeOf, Rights};
use crate::provider::{ChildModel, Model, ModelError};
use crate::subagent::definition::{BudgetSpec, Definition};
use crate::subagent::order::Order;
use crate::subagent::workplace::Workplace;
use crate::tool::{SoftKind, ToolError};

impl Executor {
    /// The model that the call, its definition or the configuration names.
    pub(super) async fn model(
        &self,
        order: &Order,
        definition: &Definition,
        place: &Workplace,
    ) -> Result<Model, ToolError> {
        let parent = self.caller.model.get();
        // Only the model that has thought it goes on with a conversation as it stands.
        let (own_provider, own_model) = match order.is_fork {
            true => (Some(parent.provider.name()), Some(parent.name.as_str())),
            false => (definition.provider.as_deref(), definition.model.as_deref()),
        };
        let own_env = !definition.env.is_empty();
        let ask = ChildModel {
            parent: &parent,
            provider: order.provider.as_deref().or(own_provider),
            model: order.model.as_deref().or(own_model),
            env: own_env.then_some(&place.env),
        };
        self.factory.models.child(ask).await.map_err(|error| {
            let (ModelError::Usage(why) | ModelError::Auth(why)) = error;
            let field = match (&order.provider, &order.model) {
                (Some(_), _) => "`provider`: ",
                (None, Some(_)) if !why.contains('`') => "`model`: ",
                _ => "",
            };
            ToolError::soft(SoftKind::InvalidInput, format!("{field}{why}"))
        })
    }

    /// Where it works, unless it gets a folder of its own: where its parent does, with its
    /// definition's variables over those of the session.
    pub(in crate::subagent) fn place(&self, definition: &Definition) -> Workplace {
        let env = self.factory.env.with(definition.env.iter());
        Workplace { env, ..self.caller.place.clone() }
    }

    /// Its rights. A definition of the project may only narrow them.
    pub(in crate::subagent) fn rights(&self, definition: &Definition) -> Rights {
        let permissions = self.factory.settings.permissions;
        let own = permissions == ChildPermissions::Own && definition.own_mode;
        Rights {
            shares_grants: permissions == ChildPermissions::Inherit,
            mode: match definition.permission_mode {
                None => ModeOf::Session,
                Some(mode) if own => ModeOf::Own(mode),
                Some(mode) => ModeOf::AtMost(mode),
            },
            bounds: Bounds::from_lists(
                &definition.name,
                definition.tools.as_deref(),
                &definition.disallowed_tools,
            ),
        }
    }

    /// A fork whose conversation fills its model's window could not say a word.
    pub(super) fn must_fit(&self, order: &Order, model: &Model) -> Result<(), ToolError> {
        let Some(fork) = &order.fork else { return Ok(()) };
        if compact::fits(model, &fork.system, &[], &fork.messages) {
            return Ok(());
        }
        let (name, window) = (&model.name, model.info.context_window);
        Err(ToolError::soft(
            SoftKind::InvalidInput,
            format!(
                "This conversation does not fit into the window of {name} ({window} tokens): use agent_spawn and say in the prompt what matters."
            ),
        ))
    }

    /// What it may use: the least of what the call, the definition and the configuration allow.
    /// What the caller has left counts besides, because its account stands above.
    pub(in crate::subagent) fn limits(&self, order: &Order, definition: &Definition) -> BudgetSpec {
        let settings = &self.factory.settings;
        let mut asked = order.budget.min(definition.budget);
        if order.default_budget {
            asked.max_tokens = asked.max_tokens.or(Some(settings.default_budget));
        }
        let config = BudgetSpec {
            max_usd: settings.max_usd,
            max_tokens: settings.max_budget_per_agent,
            max_turns: Some(settings.max_turns.min(definition.max_turns.unwrap_or(u32::MAX))),
            max_tool_calls: None,
            max_wall_s: settings.max_wall_s,
        };
        asked.min(config)
    }

    /// Whether there is something left to spend, and the model's price is known where that matters.
    pub(in crate::subagent) fn may_spend(
        &self,
        model: &Model,
        limits: &BudgetSpec,
        budget: &Budget,
    ) -> Result<(), ToolError> {
        if let Some(what) = budget.used_up() {
            let why = format!("The budget of {what} is used up: no sub-agent was started.");
            return Err(ToolError::soft(SoftKind::Budget, why));
        }
        let capped = budget.caps_money() || limits.max_usd.is_some();
        if capped && model.info.pricing.is_unknown() {
            let name = &model.name;
            let why =
                format!("`model`: no price is known for {name}, and there is a budget in dollars.");
            return Err(ToolError::soft(SoftKind::InvalidInput, why));
        }
        Ok(())
    }
}
