//! Facts about the session that the screen shows.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::protocol::{AgentPath, Cost, PermissionMode, RuleFile, SessionId, Usage};

use super::agents::RunPhase;
use super::first_run::FirstRun;

/// The word for the effort that a model has by itself.
pub const DEFAULT_EFFORT: &str = "default";

/// Facts about the session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScreenSession {
    pub id: Option<SessionId>,
    /// The user's name for it.
    pub name: Option<String>,
    /// The working directory as a short label.
    pub cwd: String,
    /// The working directory.
    pub folder: PathBuf,
    /// The other folders that tools may work in.
    pub more_folders: Vec<PathBuf>,
    /// The git branch; the host is asked if it is not known at the start.
    pub branch: Option<String>,
    /// The model as a short label.
    pub model: String,
    pub provider: Option<String>,
    /// The effort level of the model, unless it is the default.
    pub effort: Option<String>,
    /// The effort levels that the model takes, lowest first; `None` if unknown.
    pub efforts: Option<Vec<String>>,
    pub mode: PermissionMode,
    pub version: String,
    /// Whether the built-in scripted model is used.
    pub scripted: bool,
    pub context_window: Option<u64>,
    /// Cost of all finished requests of the session, including sub-agents.
    pub cost: Cost,
    /// Usage and cost of main's finished requests.
    pub main_spent: (Usage, Cost),
    /// US dollars that the session may cost.
    pub max_usd: Option<f64>,
    /// Prompts sent since the session was opened.
    pub prompts: usize,
    /// Prompts of its history.
    pub earlier_prompts: usize,
    /// Set when there is no model to talk to.
    pub first_run: Option<FirstRun>,
    /// Whether another program writes to the session, which can only be read here.
    pub read_only: bool,
    /// How far that program's events are shown.
    pub growth: Box<SessionGrowth>,
    /// Whether the session is stored and can be resumed.
    pub resumable: bool,
    /// Notes after the name on the first line, such as `AGENTS.md read`.
    pub notes: Vec<String>,
    /// Permission rules in force.
    pub rules: Vec<ScreenRule>,
    /// Rules allowed until an agent ends, each with that agent.
    pub grants: Vec<(AgentPath, String)>,
}

/// How far a session that another program writes to is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionGrowth {
    /// Whether the host looks for more.
    pub is_awaited: bool,
    /// Whether that program has left it.
    pub left: bool,
    /// The size of its files, and the number of events of each agent's that are shown.
    pub size: u64,
    pub events: HashMap<AgentPath, usize>,
    /// The time of the first one.
    pub began: Option<Timestamp>,
    /// The current phase there of main and of each agent that has not ended.
    pub phases: HashMap<AgentPath, RunPhase>,
}

impl SessionGrowth {
    /// Whether an agent works there.
    pub fn is_at_work(&self) -> bool {
        let works = |phase: &RunPhase| !matches!(phase, RunPhase::Idle | RunPhase::Ended(_));
        !self.left && self.phases.values().any(works)
    }

    /// Begins with the first event again. A request that has not been answered still counts.
    pub fn restart(&mut self) {
        *self = Self { is_awaited: self.is_awaited, ..Self::default() };
    }
}

/// A permission rule in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenRule {
    /// `allow`, `ask` or `deny`.
    pub list: String,
    pub rule: String,
    /// The file and line, or how long it applies.
    pub origin: String,
}

impl ScreenRule {
    /// A rule that an answer has written into a file.
    pub fn always(rule: &str, file: RuleFile) -> Self {
        let origin = match file {
            RuleFile::Local => ".caliban/config.local.toml",
            RuleFile::Shared => ".caliban/config.toml",
        };
        Self { list: "allow".to_owned(), rule: rule.to_owned(), origin: origin.to_owned() }
    }
}
