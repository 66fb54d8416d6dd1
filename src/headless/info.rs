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
    /// The name under which models are offered the tool that starts sub-agents.
    pub agent_tool: String,
    /// Whether that tool is listed as `Task`. Its calls keep the name under which it is offered.
    pub task_name: bool,
    /// The name of the output style, for programs that look for it.
    pub output_style: String,
    /// Whether frames tell what sub-agents write and think, besides their calls.
    pub subagent_text: bool,
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

    /// The name of a tool in frames of its calls: models use each of its names for the tool that
    /// starts sub-agents.
    #[must_use]
    pub fn call_name<'a>(&'a self, tool: &'a str) -> &'a str {
        match tool {
            "AgentTool" | "Agent" | "Task" => &self.agent_tool,
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
