//! What a run without a screen knows of its session before it begins.

use std::fmt;
use std::sync::Arc;

use crate::protocol::Mode;

/// What the first frame says about the session, and what later frames need to know of models.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    pub cwd: String,
    pub model: String,
    pub mode: Mode,
    /// As models see them.
    pub tools: Vec<String>,
    pub agents: Vec<String>,
    /// What can be called as `/name` in a prompt.
    pub slash_commands: Vec<SlashCommand>,
    /// What models can load themselves.
    pub skills: Vec<String>,
    /// Where the key came from, such as `ANTHROPIC_API_KEY`, or `none`.
    pub key_source: String,
    pub limits: LimitsOf,
    /// Whether the tool that starts sub-agents is listed as `Task`. Its calls keep the name that the model used.
    pub task_name: bool,
}

impl SessionInfo {
    /// The name of a tool in lists.
    #[must_use]
    pub fn tool_name<'a>(&self, tool: &'a str) -> &'a str {
        match tool {
            "AgentTool" | "Agent" | "Task" if self.task_name => "Task",
            other => other,
        }
    }
}

/// A command or skill that can be called as `/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    /// What may follow the name, such as `[issue]`; empty when nothing is said.
    pub argument_hint: String,
}

/// What a model can take and give, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    pub context_window: u64,
    pub max_output: u32,
}

/// Finds the limits of a model by its name on the wire.
#[derive(Clone)]
pub struct LimitsOf(Arc<dyn Fn(&str) -> ModelLimits + Send + Sync>);

impl LimitsOf {
    /// Limits as `find` knows them.
    #[must_use]
    pub fn new(find: impl Fn(&str) -> ModelLimits + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The limits of one model.
    #[must_use]
    pub fn get(&self, model: &str) -> ModelLimits {
        (self.0)(model)
    }
}

impl fmt::Debug for LimitsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LimitsOf")
    }
}
