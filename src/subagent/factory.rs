//! The parts that sub-agents are built from: those of the process, and those of the session.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::definition::Definition;
use super::registry::Definitions;
use super::settings::SubagentSettings;
use super::tree::AgentTree;
use crate::agent::ConcurrencyLimit;
use crate::agent::system_prompt::EnvironmentInfo;
use crate::disk::ProjectFolders;
use crate::exec::Sandbox;
use crate::hook::Hooks;
use crate::permission::Gate;
use crate::protocol::{EnvOverlay, Redactor};
use crate::provider::ModelSource;
use crate::tool::mcp::Mcp;
use crate::tool::{BuiltinSettings, Tool, builtin, entry_denies, entry_matches};

/// The parts that all agents of this process share.
pub struct AgentParts {
    pub settings: SubagentSettings,
    pub tree: AgentTree,
    pub gate: Gate,
    pub models: Arc<dyn ModelSource>,
    pub builtin: BuiltinSettings,
    /// If present, only these tools are offered; by any of their names.
    pub tools: Option<Vec<String>>,
    /// Tools that are not offered; by any of their names.
    pub disallowed_tools: Vec<String>,
    /// The servers of the session.
    pub mcp: Mcp,
    /// The session's variables.
    pub env: EnvOverlay,
    /// The folders of the session, whose programs are not the user's.
    pub project: ProjectFolders,
    /// The folder for worktrees of sub-agents.
    pub worktrees: PathBuf,
    /// Absent if the system cannot confine commands.
    pub sandbox: Option<Sandbox>,
    pub redactor: Redactor,
}

impl AgentParts {
    /// Whether the user allows this session to have the tool.
    pub fn allows(&self, tool: &str) -> bool {
        let lists = |names: &[String]| names.iter().any(|name| entry_matches(name, tool));
        self.tools.as_deref().is_none_or(lists)
            && !self.disallowed_tools.iter().any(|entry| entry_denies(entry, tool))
    }

    /// Makes a fresh set of the tools that agents may have, except those that start agents. Those
    /// of servers come last.
    pub fn make_tools(
        &self,
        settings: &BuiltinSettings,
        skill: Option<&Arc<dyn Tool>>,
        served: Vec<Arc<dyn Tool>>,
    ) -> Vec<Arc<dyn Tool>> {
        let mut tools = builtin(settings);
        tools.extend(skill.cloned());
        #[cfg(debug_assertions)]
        tools.extend(crate::tool::fault::from_env(&self.env));
        tools.extend(served);
        tools.retain(|tool| self.allows(&tool.spec().name));
        tools
    }
}

/// The context from files of the project and the user that every agent of a session gets.
#[derive(Clone, Default)]
pub struct SharedContext {
    /// For system prompts.
    pub memory: String,
    /// The tool that loads skills; absent if there are none, or if the user excluded it.
    pub skill: Option<Arc<dyn Tool>>,
}

/// Builds sub-agents. One per session, rebuilt when definitions change.
#[derive(Clone)]
pub struct Factory {
    pub parts: Arc<AgentParts>,
    pub shared: SharedContext,
    pub definitions: Definitions,
    /// The session's hooks.
    pub hooks: Hooks,
    pub environment: EnvironmentInfo,
    /// The concurrency limits that all agents of the session share.
    pub concurrency: ConcurrencyLimit,
}

impl Factory {
    /// The definitions that no deny rule withholds.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.iter().filter(|known| !self.parts.gate.denies_agent(&known.name))
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.parts.settings).finish_non_exhaustive()
    }
}
