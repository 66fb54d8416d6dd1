//! The parts from which the composition root builds a runtime.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::budget;
use crate::commands::{self, CommandSet, CommandSources};
use crate::config::SettingSources;
use crate::config::models::Catalogue;
use crate::disk::ProjectScope;
use crate::hook::HookSet;
use crate::protocol::EventQueue;
use crate::provider::Model;
use crate::session::SessionStore;
use crate::subagent::registry::{DefinitionSources, Definitions};
use crate::subagent::{AgentParts, tools};
use crate::tool::{BlockingPools, ToolRegistry};

/// The parts of a runtime. Building them touches neither the network nor the project's files.
pub struct RuntimeParts {
    pub agents: Arc<AgentParts>,
    pub events: EventQueue,
    /// The threads for blocking work.
    pub pools: BlockingPools,
    /// Absent until the user has set one up.
    pub model: Option<Model>,
    pub catalogue: Arc<Catalogue>,
    pub hooks: HookSet,
    /// Absent if nothing is stored.
    pub store: Option<SessionStore>,
    pub definitions: DefinitionSources,
    pub custom: CommandSources,
    pub cwd: Arc<Path>,
    /// The day, such as `2026-11-20`.
    pub date: String,
    /// Such as `linux (x86_64)`.
    pub platform: String,
    /// Notices for the user at startup.
    pub notices: Vec<String>,
    /// The folder of the user's own AGENTS.md.
    pub user_dir: PathBuf,
    /// The user's folder for Claude Code.
    pub claude_dir: Option<PathBuf>,
    /// The files that a project's imports and links may read.
    pub scope: ProjectScope,
    /// The sources of such files that are read.
    pub setting_sources: SettingSources,
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// How long main, once done, waits for its background agents; `None` if they wake it instead.
    pub background_wait: Option<Duration>,
    /// Limits of one run of the main agent, including its sub-agents.
    pub per_run: budget::Limits,
    /// Limits of the whole tree.
    pub budget: budget::Limits,
    /// The time limit of a tool call.
    pub max_call: Option<Duration>,
}

impl RuntimeParts {
    /// Returns all tools of a main agent without sub-agents.
    pub(super) fn main_tools(&self, own: &ToolRegistry) -> ToolRegistry {
        self.with_servers(own).withholding(|name| self.agents.gate.denies_tool(name))
    }

    /// Adds the tools that servers offer to main.
    pub(super) fn with_servers(&self, own: &ToolRegistry) -> ToolRegistry {
        let mut tools = own.clone();
        let served = self.agents.mcp.offered().into_iter();
        served
            .filter(|tool| self.agents.allows(&tool.spec().name))
            .for_each(|tool| tools.insert(tool));
        tools
    }

    /// Whether models may start agents: the feature is built in, the configuration enables it, and
    /// the user has not excluded all such tools.
    pub(super) fn offers_subagents(&self) -> bool {
        let lists = |names: &Vec<String>| names.iter().any(|name| tools::is_agent_tool(name));
        cfg!(feature = "sub-agents")
            && self.agents.settings.config.enabled
            && self.agents.tools.as_ref().is_none_or(lists)
    }

    /// Returns the names of the main agent's tools with these definitions and commands, in order.
    pub fn tool_names(&self, definitions: &Definitions, commands: &CommandSet) -> Vec<String> {
        let agents = &self.agents;
        let skill = commands::skill_tool(&self.custom, commands);
        let served = agents.mcp.main().offered().tools;
        let tools = agents.make_tools(&agents.builtin, skill.as_ref(), served);
        let mut names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        if self.offers_subagents() {
            names.extend(tools::tool_names(agents, definitions));
        }
        names.retain(|name| agents.allows(name) && !agents.gate.denies_tool(name));
        names
    }
}
