//! The facts about a session that frames repeat.

use std::fmt;
use std::sync::Arc;

use crate::protocol::PermissionMode;

/// The session's fields in the first frame, and the model limits for later ones.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    pub cwd: String,
    pub model: String,
    pub mode: PermissionMode,
    /// As models see them.
    pub tools: Vec<String>,
    pub agents: Vec<String>,
    /// Commands and skills that can be called as `/name`.
    pub slash_commands: Vec<SlashCommand>,
    /// Skills that models can load.
    pub skills: Vec<String>,
    /// The source of the key, such as `ANTHROPIC_API_KEY`, or `none`.
    pub key_source: String,
    pub limits: LimitsLookup,
    /// The name of the tool that starts sub-agents, as offered to models.
    pub agent_tool: String,
    /// Whether that tool is listed as `Task`. Its calls keep the offered name.
    pub task_name: bool,
    /// The name of the output style, for programs that expect it.
    pub output_style: String,
    /// Whether frames include the text and thinking of sub-agents, not just their calls.
    pub subagent_text: bool,
}

impl SessionInfo {
    /// Returns the name of a tool in lists.
    pub fn tool_name<'a>(&self, tool: &'a str) -> &'a str {
        match tool {
            "AgentTool" | "Agent" | "Task" if self.task_name => "Task",
            other => other,
        }
    }

    /// Returns the name of a tool in frames of its calls. Models may use any name of the tool that
    /// starts sub-agents.
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
    /// A hint for the arguments, such as `[issue]`; may be empty.
    pub argument_hint: String,
}

/// The limits of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    pub context_window: u64,
    pub max_output: u32,
}

/// Finds the limits of a model by its name on the wire.
#[derive(Clone)]
pub struct LimitsLookup(Arc<dyn Fn(&str) -> ModelLimits + Send + Sync>);

impl LimitsLookup {
    /// Wraps a lookup function.
    pub fn new(find: impl Fn(&str) -> ModelLimits + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Returns the limits of one model.
    pub fn get(&self, model: &str) -> ModelLimits {
        (self.0)(model)
    }
}

impl fmt::Debug for LimitsLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LimitsLookup")
    }
}

/// The state of a run, for a program that must know when it may close stdin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionState {
    /// Nothing is queued or running.
    #[default]
    Idle,
    Running,
    /// A permission question is open.
    RequiresAction,
}

/// The reader of `session_state_changed` frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateReader {
    /// The SDK, which does not forward them.
    Sdk,
    /// The program that uses the SDK.
    Program,
}
