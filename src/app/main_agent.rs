//! The main agent from a definition: `--agent`.

use std::sync::Arc;

use super::parts::FrontendOptions;
use super::setup::{AppError, Setup};
use crate::cli::Cli;
use crate::permission::ModePolicy;
use crate::subagent::definition::{Definition, Isolation};
use crate::subagent::registry::Definitions;

/// The value with which a definition leaves a choice to the session.
const INHERIT: &str = "inherit";

impl Setup {
    /// Finds the definition that `--agent` names, and uses its model and mode. The command line
    /// overrides its model; its mode can only restrict the session's, so that a project's file
    /// cannot grant permissions.
    pub(crate) fn main_agent(&mut self, cli: &Cli) -> Result<Option<Arc<Definition>>, AppError> {
        let Some(name) = &cli.model.agent else { return Ok(None) };
        let definitions = Definitions::load(&self.definitions);
        let Some(definition) = definitions.get(name) else {
            let known: Vec<_> = definitions.iter().map(|known| known.name.as_str()).collect();
            return Err(AppError::Usage(format!(
                "--agent: there is no agent {}; there are {}",
                name.escape_debug(),
                known.join(", ")
            )));
        };
        let config = &mut self.loaded.config;
        let meant = |name: &Option<String>| name.clone().filter(|name| name != INHERIT);
        if cli.model.model.is_none() {
            config.model.name = meant(&definition.model).or(config.model.name.take());
        }
        if cli.model.provider.is_none() {
            config.model.provider = meant(&definition.provider).or(config.model.provider.take());
        }
        if let Some(mode) = definition.permission_mode {
            config.permissions.mode = ModePolicy::AtMost(mode).resolve(config.permissions.mode);
        }
        if let Some(turns) = definition.max_turns.or(definition.budget.max_turns) {
            let most = config.budget.max_turns.unwrap_or(turns);
            config.budget.max_turns = Some(turns.min(most));
        }
        Ok(Some(definition.clone()))
    }
}

impl FrontendOptions {
    /// Applies the prompt and the tools of a definition. A prompt on the command line replaces its
    /// prompt, and `--tools` its tools.
    pub fn with_definition(mut self, definition: Option<Arc<Definition>>) -> Self {
        let Some(definition) = definition else { return self };
        let given = self.system_prompt.filter(|prompt| !prompt.trim().is_empty());
        self.system_prompt = Some(given.unwrap_or_else(|| definition.prompt.clone()));
        self.tools = self.tools.or_else(|| definition.tools.clone());
        self.disallowed_tools.extend(definition.disallowed_tools.iter().cloned());
        self.notices.extend(unused_fields(&definition));
        self
    }
}

/// Returns a notice about fields of a definition that the main agent ignores.
fn unused_fields(definition: &Definition) -> Option<String> {
    let parts = [
        ("background", definition.background),
        ("env", !definition.env.is_empty()),
        ("hooks", !definition.hooks.is_empty()),
        ("isolation", definition.isolation != Isolation::None),
        ("mcpServers", definition.mcp_servers.is_some()),
        ("memory", definition.memory.is_some()),
    ];
    let there: Vec<_> =
        parts.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
    let (name, there) = (&definition.name, (!there.is_empty()).then(|| there.join(", "))?);
    Some(format!("--agent {name}: the main agent ignores {there} of this definition"))
}
