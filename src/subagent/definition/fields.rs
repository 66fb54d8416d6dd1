//! A definition, the types of its fields, and what comes with it when it is read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::budget::BudgetSpec;
use super::source::{DefinitionError, DefinitionSource, NamedServer};
use crate::config::{HookConfig, ProjectStart, Trust, UntrustedItem};
use crate::protocol::{McpSelection, PermissionMode, Secret};

/// A sub-agent that can be started by name.
#[derive(Clone, PartialEq)]
pub struct Definition {
    /// Lower-case letters, digits, hyphens and underscores; in files of other programs also
    /// capitals and dots.
    pub name: String,
    /// The text by which models choose the agent.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The tools it gets; `None` is all that its parent may pass on.
    pub tools: Option<Vec<String>>,
    /// Tools that it never gets.
    pub disallowed_tools: Vec<String>,
    /// An alias, `inherit` or a full name; `None` is left to the configuration.
    pub model: Option<String>,
    /// A provider's name or `inherit`; `None` is left to the configuration.
    pub provider: Option<String>,
    /// The same as `budget.max_turns`.
    pub max_turns: Option<u32>,
    pub budget: BudgetSpec,
    /// How freely its tools act. It narrows the mode of the session.
    pub permission_mode: Option<PermissionMode>,
    /// Whether that mode may also widen rights, if the configuration lets modes of definitions
    /// apply alone.
    pub own_mode: bool,
    /// `None`: the call decides.
    pub memory: Option<MemoryScope>,
    pub color: Option<String>,
    /// Whether a call does not wait for it.
    pub background: bool,
    pub isolation: Isolation,
    /// Its own variables for the commands it runs. May hold keys.
    pub env: Secret<BTreeMap<String, String>>,
    pub returns: ReturnMode,
    /// Hooks for this agent alone.
    pub hooks: Vec<HookConfig>,
    /// The MCP servers that it gets; `None` is all of the session's.
    pub mcp_servers: Option<Vec<McpSelection>>,
    pub source: DefinitionSource,
}

impl Definition {
    /// The definition for a fork, which has what the original has: nothing here narrows or replaces
    /// it.
    pub fn for_fork(&self) -> Self {
        Self {
            tools: None,
            disallowed_tools: Vec::new(),
            max_turns: None,
            budget: BudgetSpec::default(),
            permission_mode: None,
            isolation: Isolation::None,
            env: Secret::default(),
            hooks: Vec::new(),
            returns: ReturnMode::default(),
            mcp_servers: None,
            ..self.clone()
        }
    }
}

/// The instructions that the agent reads besides its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryScope {
    /// Those of the project and the user.
    #[default]
    Project,
    None,
}

/// Where the agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Where its parent works.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
}

/// The use of the agent's final text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReturnMode {
    /// Its parent gets it and reports on it.
    #[default]
    Summary,
    /// It is also shown unchanged.
    Verbatim,
}

/// How strictly a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionFormat {
    /// Written for us: an unknown key is an error.
    Own,
    /// Written for other tools: unknown keys are skipped with a warning.
    Foreign,
}

/// A definition with its warnings and advice.
#[derive(Debug)]
pub struct ParsedDefinition {
    pub definition: Definition,
    /// Parts of it that are ignored.
    pub warnings: Vec<DefinitionError>,
    /// Parts that apply and could be better.
    pub advice: Vec<DefinitionError>,
    /// Parts that are ignored until the user accepts them.
    pub untrusted: Vec<UntrustedItem>,
    /// Hooks and servers of the user's own definition that start in an empty folder until the user
    /// accepts that they start in the project.
    pub starts: Vec<ProjectStart>,
    /// The servers of the session that it names.
    pub servers: Vec<NamedServer>,
}

/// The user's acceptance of the definitions that a project brings.
#[derive(Clone, Debug)]
pub struct DefinitionTrust {
    pub trust: Trust,
    /// Whether the configuration lets modes of definitions apply alone, so that they may widen
    /// rights.
    pub own_modes: bool,
    /// The provider for an agent whose definition names none.
    pub provider: Option<String>,
}

impl fmt::Debug for Definition {
    /// Omits the prompt and the commands, which may hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
