//! Details of a tool call for the user, beyond the text that the model reads.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ids::{AgentId, ShellId};
use super::lossy_path;
use super::outcome::RunEnd;
use super::usage::{Cost, Usage};

/// The summary of a call of a tool that does not exist.
pub const NO_SUCH_TOOL: &str = "no such tool";

/// The details of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolDetails {
    /// A file was changed: a unified diff with three lines of context, capped.
    Diff {
        #[serde(with = "lossy_path")]
        path: PathBuf,
        diff: String,
        added: usize,
        removed: usize,
    },
    /// The current to-do list.
    Todos { items: Vec<Todo> },
    /// The end of a shell command.
    Command {
        exit_code: Option<i32>,
        #[serde(with = "lossy_path")]
        cwd: PathBuf,
    },
    /// The command runs in the background.
    Background {
        id: ShellId,
        #[serde(with = "lossy_path")]
        cwd: PathBuf,
    },
    /// The plan that the user has approved, as it was then.
    Plan { plan: String },
    /// The content is for the model: its summary tells the user everything.
    ForModel,
    /// A sub-agent's report.
    Agent(Box<AgentReport>),
    /// The call reported a sub-agent's end.
    Reported { agent_id: AgentId },
    /// The call was refused, and never ran.
    Denied(Denial),
    /// A boundary of autonomy was crossed.
    Violation { violation: ViolationKind, depth: u32, limit: u32 },
}

impl ToolDetails {
    /// Whether they count in a summary of the agent's work: changed lines, and tests in the output of
    /// commands.
    pub fn has_figures(&self) -> bool {
        matches!(self, Self::Diff { .. } | Self::Command { .. })
    }
}

/// The reason a call was refused. The model reads its display form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Refused by the user, not by a rule, the mode, a hook or a program.
    #[serde(default)]
    pub by_user: bool,
    /// The user left an agent's questions unanswered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// Absent if the user gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Denial {
    /// Creates a denial by a rule, the mode, a hook or a program.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { by_user: false, declined: false, reason: Some(reason.into()) }
    }

    /// Creates a denial by the user, who may have given a reason.
    pub fn by_user(reason: Option<&str>) -> Self {
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        Self { by_user: true, declined: false, reason: reason.map(str::to_owned) }
    }

    /// Creates the denial of a call whose questions the user does not answer.
    pub fn unanswered(reason: Option<&str>) -> Self {
        Self { declined: true, ..Self::by_user(reason) }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no = if self.declined { "the user declined to answer" } else { "the user said no" };
        match (&self.reason, self.by_user) {
            (Some(reason), true) => write!(f, "{no}: {reason}"),
            (Some(reason), false) => f.write_str(reason),
            (None, _) => f.write_str(no),
        }
    }
}

/// A boundary of autonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A sub-agent at `depth` tried to start another, and the limit is `limit`. Hops below the main agent.
    DepthExceeded,
}

/// One entry of a to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The structured part of a sub-agent's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    pub agent_id: AgentId,
    pub name: String,
    /// Its number in the session, as in `AgentInfo`; absent in old files.
    #[serde(default)]
    pub number: usize,
    pub status: RunEnd,
    pub turns: u32,
    pub tool_uses: u32,
    pub usage: Usage,
    pub cost: Cost,
    pub duration_ms: u64,
    /// Number of characters of the final text handed to the parent, and in total.
    pub shown: usize,
    pub total: usize,
    /// Whether it was cancelled because its parent's run was stopped while a call of that run
    /// waited for it. False if only it was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_parent: bool,
}
