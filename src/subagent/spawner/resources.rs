//! The resources of a sub-agent: its model, its place, its rights and its limits.

use super::Spawner;
use crate::agent::compact;
use crate::budget::Budget;
use crate::config::{ChildPermissions, INHERIT};
use crate::permission::{InheritedPermissions, ModePolicy, ToolBounds};
use crate::provider::{ChildModel, Model};
use crate::subagent::definition::{BudgetSpec, Definition};
use crate::subagent::spawn_request::SpawnRequest;
use crate::subagent::workspace::Workspace;
use crate::tool::{SoftKind, ToolError};

impl Spawner {
    /// The model named by the call, its definition or the configuration.
    pub(super) async fn model(
        &self,
        order: &SpawnRequest,
        definition: &Definition,
        place: &Workspace,
    ) -> Result<Model, ToolError> {
        let parent = self.parent.model.get();
        let (provider, model) = match order.is_fork {
            true => fork_model(order, &parent),
            false => (
                order.provider.as_deref().or(definition.provider.as_deref()),
                order.model.as_deref().or(definition.model.as_deref()),
            ),
        };
        let own_env = !definition.env.is_empty();
        let ask =
            ChildModel { parent: &parent, provider, model, env: own_env.then_some(&place.env) };
        self.factory.models.child(ask).await.map_err(|error| {
            let why = error.message;
            let field = match (&order.provider, &order.model) {
                (Some(_), _) => "`provider`: ",
                (None, Some(_)) if !why.contains('`') => "`model`: ",
                _ => "",
            };
            ToolError::soft(SoftKind::InvalidInput, format!("{field}{why}"))
        })
    }

    /// Its place unless it gets a folder of its own: its parent's, with its definition's variables
    /// over those of the session.
    pub(in crate::subagent) fn place(&self, definition: &Definition) -> Workspace {
        let env = self.factory.env.with(definition.env.iter());
        Workspace { env, ..self.parent.workspace.clone() }
    }

    /// Its rights. A definition of the project may only narrow them.
    pub(in crate::subagent) fn rights(&self, definition: &Definition) -> InheritedPermissions {
        let permissions = self.factory.settings.permissions;
        let own = permissions == ChildPermissions::Own && definition.own_mode;
        InheritedPermissions {
            shares_grants: permissions == ChildPermissions::Inherit,
            mode: match definition.permission_mode {
                None => ModePolicy::Session,
                Some(mode) if own => ModePolicy::Own(mode),
                Some(mode) => ModePolicy::AtMost(mode),
            },
            bounds: ToolBounds::from_lists(
                &definition.name,
                definition.tools.as_deref(),
                &definition.disallowed_tools,
            ),
        }
    }

    /// Rejects a fork whose conversation fills its model's window: it could not answer.
    pub(super) fn check_fit(&self, order: &SpawnRequest, model: &Model) -> Result<(), ToolError> {
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

    /// Its limits: the strictest of the call, the definition and the configuration. The rest of the
    /// caller's budget applies too, because its account is the parent.
    pub(in crate::subagent) fn limits(
        &self,
        order: &SpawnRequest,
        definition: &Definition,
    ) -> BudgetSpec {
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

    /// Checks that there is something left to spend, and that the model's price is known where that
    /// matters.
    pub(in crate::subagent) fn check_budget(
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

/// Returns the provider and the model of a fork: its parent's unless the call names others, since
/// only the model whose thinking it holds continues a conversation unchanged. The parent's model is
/// none of another provider's.
fn fork_model<'a>(
    order: &'a SpawnRequest,
    parent: &'a Model,
) -> (Option<&'a str>, Option<&'a str>) {
    let explicit = |name: &'a Option<String>| name.as_deref().filter(|name| *name != INHERIT);
    let provider = explicit(&order.provider).unwrap_or(parent.provider.name());
    let own = (provider == parent.provider.name()).then_some(parent.name.as_str());
    (Some(provider), explicit(&order.model).or(own))
}
