//! Resolves a request: decides everything about a sub-agent that can be decided before anything
//! happens.

use std::sync::Arc;

use super::child_spec::ChildSpec;
use super::definition::{BudgetSpec, Definition};
use super::spawn::Spawner;
use super::spawn_request::{SpawnRequest, ToolAccess};
use super::tool_lists::{ToolLists, ToolSelection};
use super::workspace::Workspace;
use crate::config::{ChildPermissions, INHERIT};
use crate::permission::{InheritedPermissions, ModePolicy, ToolBounds, entry_tool};
use crate::protocol::{McpState, mcp_name, printable_line};
use crate::provider::{ChildModel, Model, ProviderError};
use crate::tool::InvalidInput;
use crate::tool::mcp::is_of_server;

impl Spawner {
    /// Checks a request and decides everything about its agent. Changes nothing.
    ///
    /// # Errors
    /// Names the wrong field and what is allowed there.
    pub fn resolve(&self, request: SpawnRequest) -> Result<ChildSpec, InvalidInput> {
        if request.prompt.trim().is_empty() {
            return Err(InvalidInput("`prompt` must not be blank.".to_owned()));
        }
        let (name, definitions) = (request.agent(), &self.factory().definitions);
        let Some(definition) = definitions.get(name).cloned() else {
            let known: Vec<_> = definitions.iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            let why = format!("`agent`: there is no agent {name}. The agents are: {known}.");
            return Err(InvalidInput(why));
        };
        let mut spec = self.spec(request, definition);
        self.select_tools(&mut spec)?;
        Ok(spec)
    }

    /// Decides everything about an agent but its tools.
    pub(super) fn spec(&self, request: SpawnRequest, definition: Arc<Definition>) -> ChildSpec {
        let parent = &self.parent().workspace;
        let (definition, workspace) = match request.is_fork {
            true => (Arc::new(definition.for_fork()), parent.clone()),
            // Its definition's variables are over those of the session.
            false => {
                let env = self.factory().parts.env.with(definition.env.iter());
                (definition, Workspace { env, ..parent.clone() })
            }
        };
        ChildSpec {
            workspace,
            rights: self.rights(&definition),
            limits: self.limits(&request, &definition),
            background: request.background || definition.background,
            tools: ToolSelection::default(),
            request,
            definition,
        }
    }

    /// Selects the tools that exist now. Those of a server that is not connected yet are pending.
    pub(super) fn select_tools(&self, spec: &mut ChildSpec) -> Result<(), InvalidInput> {
        let field = spec.request.tools_field;
        if let Some(rule) = spec.request.tools.names().iter().find(|name| name.contains('(')) {
            let tool = entry_tool(rule);
            return Err(InvalidInput(format!(
                "{field}: {rule} is a rule, but this list takes tool names: write {tool}. Rules belong in an agent's definition or under [permissions]."
            )));
        }
        (_, spec.tools) = self.factory().tools_for(&spec.lists(), self.parent());
        let unknown = spec.tools.unknown.join(", ");
        if self.factory().parts.settings.config.strict_tools && !unknown.is_empty() {
            let known = self.known_tools(&spec.definition);
            return Err(InvalidInput(format!(
                "{field}: there are no tools {unknown}, and unknown names are errors here. The tools are: {known}."
            )));
        }
        match spec.tools.nothing_left && spec.tools.pending.is_empty() {
            true => Err(self.no_tools_error(spec)),
            false => Ok(()),
        }
    }

    /// The error of lists that leave no tool.
    pub(super) fn no_tools_error(&self, spec: &ChildSpec) -> InvalidInput {
        let ChildSpec { request, definition, tools, .. } = spec;
        let names = tools.unknown.iter().chain(&tools.pending);
        let names: Vec<_> = names.map(|name| self.why_unknown(name)).collect();
        let unknown = match names.join("; ") {
            names if names.is_empty() => names,
            names => format!(" (unknown: {names})"),
        };
        let name = &definition.name;
        InvalidInput(match request.tools {
            ToolAccess::Inherit => format!("`tools` of the agent {name} leaves no tool{unknown}."),
            _ => {
                let (field, known) = (request.tools_field, self.known_tools(definition));
                format!("{field} leaves no tool{unknown}. The tools of {name} are: {known}.")
            }
        })
    }

    /// Explains a list entry that matches no tool, with the state of its server.
    fn why_unknown(&self, entry: &str) -> String {
        let Some((server, _)) = mcp_name::parts(entry) else { return printable_line(entry) };
        let server = printable_line(server);
        let all = self.factory().parts.mcp.status();
        let status = all.iter().find(|status| is_of_server(&status.name, entry));
        let entry = printable_line(entry);
        let Some(status) = status else {
            return format!("{entry}: there is no MCP server {server}");
        };
        match (status.state, status.error.as_deref().unwrap_or_default()) {
            (McpState::Connected, _) => {
                format!("{entry}: the MCP server {server} offers no such tool here")
            }
            (McpState::Pending, _) => {
                format!("{entry}: the MCP server {server} is not connected yet")
            }
            (McpState::Failed, why) => format!("{entry}: the MCP server {server} failed: {why}"),
        }
    }

    fn known_tools(&self, definition: &Definition) -> String {
        let lists = ToolLists { definition, access: &ToolAccess::Inherit };
        let (tools, _) = self.factory().tools_for(&lists, self.parent());
        tools.names().collect::<Vec<_>>().join(", ")
    }

    /// Its rights. A definition of the project may only narrow them.
    pub(super) fn rights(&self, definition: &Definition) -> InheritedPermissions {
        let permissions = self.factory().parts.settings.config.permissions;
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

    /// Its limits: the strictest of the call, the definition and the configuration. The rest of the
    /// parent's budget applies too, because its account is below the parent's.
    pub(super) fn limits(&self, request: &SpawnRequest, definition: &Definition) -> BudgetSpec {
        let settings = &self.factory().parts.settings.config;
        let mut asked = request.budget.min(definition.budget);
        if request.default_budget {
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

    /// Opens the model named by the call, its definition or the configuration. A command that
    /// prints a key may take a while.
    pub(super) async fn model(&self, spec: &ChildSpec) -> Result<Model, ProviderError> {
        let ChildSpec { request, definition, workspace, .. } = spec;
        let parent = self.parent().model.get();
        let (provider, model) = match request.is_fork {
            true => fork_model(request, &parent),
            false => (
                request.provider.as_deref().or(definition.provider.as_deref()),
                request.model.as_deref().or(definition.model.as_deref()),
            ),
        };
        let env = (!definition.env.is_empty()).then_some(&workspace.env);
        let by_call = request.provider.is_some();
        let choice = ChildModel { parent: &parent, provider, by_call, model, env };
        self.factory().parts.models.child(choice).await
    }
}

/// Returns the provider and the model of a fork: its parent's unless the call names others, since
/// only the model whose thinking it holds continues a conversation unchanged. The parent's model is
/// none of another provider's.
fn fork_model<'a>(
    request: &'a SpawnRequest,
    parent: &'a Model,
) -> (Option<&'a str>, Option<&'a str>) {
    let explicit = |name: &'a Option<String>| name.as_deref().filter(|name| *name != INHERIT);
    let provider = explicit(&request.provider).unwrap_or(parent.provider.name());
    let own = (provider == parent.provider.name()).then_some(parent.name.as_str());
    (Some(provider), explicit(&request.model).or(own))
}
