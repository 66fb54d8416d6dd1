//! One sub-agent as a person defines it: a Markdown file whose front matter says who it is and
//! whose body is its prompt, or the same keys as JSON on the command line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::config::{HookConfig, Inert, ProjectStart, Trust};
use crate::markdown::front_matter;
use crate::protocol::{McpWish, Mode};

mod advice;
mod budget;
mod change;
mod field;
pub(super) mod flag;
mod name;
mod reader;
mod servers;
mod source;

pub(super) use name::tool_name;

pub use budget::{BudgetError, BudgetSpec};
pub use source::{DefinitionError, Source};

/// A sub-agent that can be started by name.
#[derive(Clone, PartialEq)]
pub struct Definition {
    /// Of lower-case letters, digits, hyphens and underscores; in files of other programs also
    /// capitals and dots.
    pub name: String,
    /// What the model picks the agent by.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The tools it gets; `None` is all that its parent may hand on.
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
    pub permission_mode: Option<Mode>,
    /// Whether that mode may also widen, where the configuration lets modes of definitions count alone.
    pub own_mode: bool,
    /// `None`: as the call has it.
    pub memory: Option<Memory>,
    pub color: Option<String>,
    /// Whether a call does not wait for it.
    pub background: bool,
    pub isolation: Isolation,
    /// Variables of its own for the commands that it runs. May hold keys.
    pub env: BTreeMap<String, String>,
    pub returns: Returns,
    /// Hooks for this agent alone.
    pub hooks: Vec<HookConfig>,
    /// The MCP servers that it gets; `None` is all of the session.
    pub mcp_servers: Option<Vec<McpWish>>,
    pub source: Source,
}

impl Definition {
    /// The same for a copy of another agent, which has what that one has: nothing here narrows or
    /// replaces it.
    #[must_use]
    pub fn for_fork(&self) -> Self {
        Self {
            tools: None,
            disallowed_tools: Vec::new(),
            max_turns: None,
            budget: BudgetSpec::default(),
            permission_mode: None,
            isolation: Isolation::None,
            env: BTreeMap::new(),
            hooks: Vec::new(),
            returns: Returns::default(),
            mcp_servers: None,
            ..self.clone()
        }
    }
}

/// Which instructions the agent reads besides its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Those of the project and the person.
    #[default]
    Project,
    None,
}

/// Where the agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Where its parent works.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
}

/// What becomes of the agent's final text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Its parent gets it and tells of it.
    #[default]
    Summary,
    /// It is also shown unchanged.
    Verbatim,
}

impl Memory {
    const WORDS: [(&'static str, Self); 2] = [("project", Self::Project), ("none", Self::None)];
}

impl Isolation {
    const WORDS: [(&'static str, Self); 2] = [("none", Self::None), ("worktree", Self::Worktree)];
}

impl Returns {
    const WORDS: [(&'static str, Self); 2] =
        [("summary", Self::Summary), ("verbatim", Self::Verbatim)];
}

/// How strictly a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Written for us: a key that we do not know is a mistake.
    Own,
    /// Written for other tools: keys that we do not know are skipped with a warning.
    Foreign,
}

/// A definition and what is to be said about it.
#[derive(Debug)]
pub struct Parsed {
    pub definition: Definition,
    /// Parts of it that do not count.
    pub warnings: Vec<DefinitionError>,
    /// What counts and could be better.
    pub advice: Vec<DefinitionError>,
    /// Parts that do nothing until the person accepts them.
    pub inert: Vec<Inert>,
    /// Hooks and servers of the user's own definition that start in an empty folder until the user
    /// accepts that they start in the project.
    pub starts: Vec<ProjectStart>,
}

/// What the person has accepted of the definitions that a project brings.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub trust: Trust,
    /// Whether the configuration lets modes of definitions count alone, so that they may widen rights.
    pub own_modes: bool,
    /// The provider that an agent gets whose definition names none.
    pub provider: Option<String>,
}

impl Definition {
    /// Reads a file's text. Its path is for messages, and gives the name when the front matter has none.
    /// Of a project's file, what widens rights counts as far as the person has `accepted` it.
    pub fn parse(
        text: &str,
        source: &Source,
        dialect: Dialect,
        accepted: Option<&Accepted>,
    ) -> Result<Parsed, DefinitionError> {
        let document =
            front_matter::parse(text, dialect == Dialect::Foreign).map_err(|(line, message)| {
                DefinitionError { place: source.clone(), line: Some(line), message }
            })?;
        let stem = source.path().and_then(Path::file_stem);
        let name = stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = source.project_folder();
        reader::Reader { source, dialect, document: &document, name, accepted, folder }.read()
    }

    /// The name of the tool that delegates to this agent alone.
    #[must_use]
    pub fn tool_name(&self) -> String {
        tool_name(&self.name)
    }
}

impl fmt::Debug for Definition {
    /// Who it is, and no values of variables: they may be keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
