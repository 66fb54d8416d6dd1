//! An agent between its runs: what it is built from, its conversation and its tools.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::concurrency::ConcurrencyLimit;
use super::inbox::Inbox;
use super::size::ReportedSize;
use crate::budget::{Budget, Limits};
use crate::hook::Hooks;
use crate::permission::AgentGate;
use crate::protocol::{EnvOverlay, Journal, Message, Redactor, Span};
use crate::provider::ModelSlot;
use crate::tool::{ToolRegistry, ToolSpec};

/// Everything an agent is built from.
pub struct AgentSetup {
    /// The name in questions and logs, such as `main` or `explore-2`.
    pub name: String,
    pub model: ModelSlot,
    /// The system prompt, without the instructions that come with tools.
    pub system: Arc<str>,
    pub tools: ToolRegistry,
    pub gate: AgentGate,
    pub hooks: Hooks,
    pub journal: Arc<dyn Journal>,
    pub inbox: Inbox,
    /// How long an agent that is done waits for background work that will report to it. `None`: not
    /// at all, because its runner wakes it again.
    pub background_wait: Option<Duration>,
    /// Released while it waits for background work.
    pub slot: Option<Arc<dyn RunSlot>>,
    pub budget: Budget,
    /// Limits of one run, below the agent's account.
    pub per_run: Limits,
    /// The concurrency limits that all agents of the session share.
    pub concurrency: ConcurrencyLimit,
    /// The base directory for relative paths.
    pub cwd: Arc<Path>,
    pub env: EnvOverlay,
    /// The conversation so far; every call in it has its result.
    pub history: Vec<Message>,
    /// The agent's span in the log.
    pub span: Span,
    /// Masks keys in the log, in the transcript and in what the model reads.
    pub redactor: Redactor,
    /// The model whose thinking is in `history`; no other model is sent it.
    pub reasoning_model: Option<String>,
}

/// Resources that an agent releases while it only waits for background work, such as its slot among
/// the running agents.
#[async_trait]
pub trait RunSlot: Send + Sync {
    /// Called when the wait begins.
    fn release(&self);

    /// Called when the wait is over: reacquires what was released. Returns at once when `cancel`
    /// fires.
    async fn reacquire(&self, cancel: &CancellationToken);
}

/// One agent with its conversation.
pub struct Agent {
    pub(super) setup: AgentSetup,
    /// The conversation so far. Running calls may read it.
    pub(super) history: Arc<Vec<Message>>,
    /// The system prompt with the instructions that come with tools.
    pub(super) system: Arc<str>,
    /// The tools offered to the model: all but the withheld ones.
    pub(super) specs: Vec<ToolSpec>,
    /// Names of tools that exist but may not be used now.
    pub(super) withheld: Vec<String>,
    /// Whether the last run was stopped; the next prompt tells the model so.
    pub(super) was_stopped: bool,
    /// Whether the last run ended with an error that a retry cannot fix.
    pub(super) ended_fatally: bool,
    /// How often messages were taken out of the conversation: replaced by a summary, or rejected.
    pub(super) removals: u32,
    /// The messages that the provider rejected in the last run. The conversation no longer has them.
    pub(super) rejected: Option<RejectedMessages>,
    /// Whether hooks have not been notified of the end of the current run yet.
    pub(super) end_unreported: bool,
    /// The size of the conversation as last reported; absent once it was replaced.
    pub(super) measured: Option<ReportedSize>,
}

/// Messages that a provider rejected, as they were.
pub(super) struct RejectedMessages {
    /// Their place in the conversation.
    pub(super) at: usize,
    pub(super) messages: Vec<Message>,
}

impl Agent {
    /// Builds an agent that has done nothing yet.
    pub fn new(mut setup: AgentSetup) -> Self {
        let (specs, system) = (setup.tools.specs(), setup.tools.system_prompt(&setup.system));
        let history = Arc::new(std::mem::take(&mut setup.history));
        Self {
            setup,
            history,
            system,
            specs,
            withheld: Vec::new(),
            was_stopped: false,
            ended_fatally: false,
            end_unreported: false,
            removals: 0,
            rejected: None,
            measured: None,
        }
    }

    /// Withholds exactly the tools that `withhold` matches, from the next run on: they are not
    /// offered, and calling one anyway is a soft error.
    pub fn withhold(&mut self, withhold: impl Fn(&str) -> bool) {
        let (withheld, offered): (Vec<_>, Vec<_>) =
            self.setup.tools.specs().into_iter().partition(|spec| withhold(&spec.name));
        self.specs = offered;
        self.withheld = withheld.into_iter().map(|spec| spec.name).collect();
    }

    /// Replaces all tools from the next run on. Work that calls of the old ones started continues.
    pub fn set_tools(&mut self, tools: ToolRegistry) {
        self.specs = tools.specs();
        self.system = tools.system_prompt(&self.setup.system);
        self.withheld.clear();
        self.setup.tools = tools;
    }

    /// All tools, including those withheld now.
    pub fn tools(&self) -> &ToolRegistry {
        &self.setup.tools
    }

    /// Replaces the system prompt from the next run on. The provider then reads the whole
    /// conversation anew, without its cache.
    pub fn set_system(&mut self, system: impl Into<Arc<str>>) {
        self.setup.system = system.into();
        self.system = self.setup.tools.system_prompt(&self.setup.system);
    }

    /// How often messages were taken out of the conversation since the agent was built.
    pub fn removals(&self) -> u32 {
        self.removals
    }

    /// Whether the last run ended with an error that a retry cannot fix: then only the user resumes
    /// the agent.
    pub fn ended_fatally(&self) -> bool {
        self.ended_fatally
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.setup.name)
            .field("messages", &self.history.len())
            .finish_non_exhaustive()
    }
}
