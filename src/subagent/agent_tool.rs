//! `AgentTool`: starts a sub-agent and blocks its parent's call until the final text is there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::definition::Definition;
use super::factory::{Factory, Plan};
use super::report::Reporter;
use crate::agent::Prompt;
use crate::protocol::{
    Access, AgentId, AgentInfo, ChildMeta, End, EventKind, EventSink, Failure, Journal, NoJournal,
    NoticeLevel, Outcome, Sender,
};
use crate::provider::{Model, ModelSlot};
use crate::tool::{
    InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool,
};

/// When to delegate, and when not to; the list of agents follows it.
const DESCRIPTION: &str = include_str!("../../assets/prompts/delegation.md");

/// The definition that is used when a call names none.
const DEFAULT_AGENT: &str = "general-purpose";

/// The agent whose tool this is.
#[derive(Clone)]
pub struct Parent {
    /// Its model, which children use unless told otherwise.
    pub model: ModelSlot,
    /// Its journal, beside which theirs are opened.
    pub journal: Arc<dyn Journal>,
}

/// The tool that starts a sub-agent of `parent`.
pub struct AgentTool {
    factory: Arc<Factory>,
    parent: Parent,
    spec: ToolSpec,
}

/// The input of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The whole task. The agent knows nothing of this conversation.
    prompt: String,
    /// The task in 3-6 words.
    description: Option<String>,
    /// Which agent; default general-purpose.
    #[serde(alias = "subagent_type")]
    agent: Option<String>,
    /// Only these tools.
    tool_allowlist: Option<Vec<String>>,
    /// Default: your own.
    model: Option<String>,
    /// Lowers its turn limit.
    max_turns: Option<u32>,
}

impl AgentTool {
    /// The tool, with the agents that there are in its description.
    #[must_use]
    pub fn new(factory: Arc<Factory>, parent: Parent) -> Self {
        let mut description = DESCRIPTION.trim().to_owned();
        for definition in factory.definitions.iter() {
            description.push_str(&format!("\n- {}: {}", definition.name, definition.description));
        }
        let spec = ToolSpec::of::<Input>(&factory.settings.tool_name, &description);
        Self { factory, parent, spec }
    }

    fn definition(&self, input: &Input) -> Result<&Definition, InvalidInput> {
        let name = input.agent.as_deref().unwrap_or(DEFAULT_AGENT);
        self.factory.definitions.get(name).map(Arc::as_ref).ok_or_else(|| {
            let known: Vec<_> =
                self.factory.definitions.iter().map(|known| known.name.as_str()).collect();
            InvalidInput(format!(
                "`agent`: there is no agent {name}. The agents are: {}.",
                known.join(", ")
            ))
        })
    }

    fn model(&self, input: &Input, definition: &Definition) -> Model {
        let own = self.parent.model.get();
        let named = input.model.as_deref().or(definition.model.as_deref());
        match named.filter(|name| *name != "inherit") {
            Some(name) => own.sibling(name, &self.factory.catalogue),
            None => (*own).clone(),
        }
    }

    fn max_turns(&self, input: &Input, definition: &Definition) -> u32 {
        let asked = [input.max_turns, definition.max_turns];
        asked.into_iter().flatten().fold(self.factory.settings.max_turns, u32::min)
    }

    /// Where its transcript goes. Nothing is written before its first message.
    fn journal(&self, info: &AgentInfo, events: &EventSink, id: AgentId) -> Arc<dyn Journal> {
        if !self.factory.settings.persist {
            return Arc::new(NoJournal);
        }
        self.parent.journal.child(ChildMeta {
            id,
            path: events.path().clone(),
            agent: info.agent.clone(),
            name: info.name.clone(),
            description: info.description.clone(),
            tool_use_id: info.tool_use_id.clone(),
            model: info.model.clone(),
            depth: events.path().depth(),
        })
    }

    /// Whether there is something left to spend, and the model's price is known where that matters.
    fn may_spend(&self, model: &Model, cx: &ToolContext) -> Result<(), ToolError> {
        if let Some(what) = cx.budget.used_up() {
            let why = format!("The budget of {what} is used up: no sub-agent was started.");
            return Err(ToolError::soft(SoftKind::Budget, why));
        }
        if cx.budget.caps_money() && model.info.price.is_none() {
            let name = &model.name;
            let why =
                format!("`model`: no price is known for {name}, and there is a budget in dollars.");
            return Err(ToolError::soft(SoftKind::InvalidInput, why));
        }
        Ok(())
    }

    /// Runs one sub-agent from its first event to its last.
    async fn delegate(&self, input: Input, cx: &ToolContext) -> Result<ToolOutcome, ToolError> {
        let definition = self
            .definition(&input)
            .map_err(|invalid| ToolError::soft(SoftKind::InvalidInput, invalid.to_string()))?;
        let model = self.model(&input, definition);
        self.may_spend(&model, cx)?;
        let id = AgentId::generate();
        let name = self.factory.tree.name(&definition.name);
        let max_turns = self.max_turns(&input, definition);
        let info = AgentInfo {
            name: name.clone(),
            agent: definition.name.clone(),
            description: title(&input),
            prompt: input.prompt.clone(),
            model: model.name.clone(),
            tool_use_id: cx.tool_use_id.clone(),
            max_turns,
            color: definition.color.clone(),
            background: false,
            worktree: None,
        };
        let selection = self.factory.tools_for(definition, input.tool_allowlist.as_deref());
        let tools = selection.tools.with_hidden(Arc::new(AtLimit::new(&self.spec)));
        let plan = Plan { name: &name, definition, model, tools, max_turns, span: cx.span };
        let events = cx.events.child(id);
        let journal = self.journal(&info, &events, id);
        let max_chars = self.factory.settings.result_max_chars;
        let reporter = Reporter { id, name: &name, max_chars, kept: journal.is_kept() };
        let mut end = EndGuard { events: &events, ended: false };
        events.emit(EventKind::Started(Box::new(info)));
        warn_of_unknown(&selection.unknown, &events);
        let outcome = self.run_child(plan, input.prompt, journal, &events, cx).await;
        end.ended = true;
        match outcome.end {
            // What the parent cannot mend either ends its run as well.
            End::Failed { failure, ref message } if is_fatal(failure) => {
                Err(ToolError::fatal(failure, format!("{name}: {message}")))
            }
            _ => Ok(reporter.outcome(&outcome)),
        }
    }

    /// Waits for a slot, then builds the agent and runs it.
    async fn run_child(
        &self,
        plan: Plan<'_>,
        prompt: String,
        journal: Arc<dyn Journal>,
        events: &EventSink,
        cx: &ToolContext,
    ) -> Outcome {
        let cancel = cx.cancel.child_token();
        let member = self.factory.tree.join(events, cancel.clone());
        if !member.slot().await {
            return never_started(events);
        }
        let mut child = self.factory.build(plan, &member, journal, &cx.budget, events);
        let prompt = Prompt {
            id: None,
            text: prompt,
            from: Sender::Agent { name: "main".to_owned() },
            note: None,
        };
        child.run(Some(prompt), events, &cancel).await
    }
}

#[async_trait]
impl TypedTool for AgentTool {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, input: &Input) -> String {
        title(input)
    }

    fn access(&self, input: &Input, _cwd: &Path) -> Access {
        Access::Agent { name: input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()) }
    }

    fn check(&self, input: &Input) -> Result<(), InvalidInput> {
        if input.prompt.trim().is_empty() {
            return Err(InvalidInput("`prompt` must not be blank.".to_owned()));
        }
        if input.max_turns == Some(0) {
            return Err(InvalidInput("`max_turns` must be at least 1.".to_owned()));
        }
        let definition = self.definition(input)?;
        let selection = self.factory.tools_for(definition, input.tool_allowlist.as_deref());
        let strict = self.factory.settings.strict_tools;
        if strict && !selection.unknown.is_empty() {
            let unknown = selection.unknown.join(", ");
            return Err(InvalidInput(format!("`tool_allowlist`: there are no tools {unknown}.")));
        }
        if selection.nothing_left {
            let own = self.factory.tools_for(definition, None).tools;
            let known: Vec<_> = own.names().collect();
            let unknown = match selection.unknown.join(", ") {
                names if names.is_empty() => String::new(),
                names => format!(" (unknown: {names})"),
            };
            return Err(InvalidInput(format!(
                "`tool_allowlist` leaves no tool{unknown}. The tools of {} are: {}.",
                definition.name,
                known.join(", ")
            )));
        }
        Ok(())
    }

    /// An agent has its own limits.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// A cancelled agent ends as soon as its own tools have ended, and then it reports.
    fn grace(&self) -> Option<Duration> {
        None
    }

    /// Its requests and tools take places of their own.
    fn waits(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        Box::pin(self.delegate(input, &cx)).await
    }
}

/// Stands in for the agent tool where the depth limit withholds it: a call made anyway breaks the limit, and that is
/// for the operator to know, not for the model to try again.
struct AtLimit(ToolSpec);

impl AtLimit {
    fn new(offered: &ToolSpec) -> Self {
        Self(offered.clone())
    }
}

#[async_trait]
impl TypedTool for AtLimit {
    type Input = serde_json::Value;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, _input: &Self::Input) -> String {
        "beyond the depth limit".to_owned()
    }

    fn access(&self, _input: &Self::Input, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(&self, _input: Self::Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let depth = cx.depth;
        let message = format!(
            "An agent at depth {depth} tried to start a sub-agent, and the depth limit is {depth}: the run was stopped. Ask for the work without a second level."
        );
        Err(ToolError::fatal(Failure::Autonomy, message))
    }
}

/// Whether a child's failure ends its parent's run too.
fn is_fatal(failure: Failure) -> bool {
    matches!(failure, Failure::Auth | Failure::Autonomy | Failure::Internal)
}

/// What the pane is called: the description, or the prompt's beginning.
fn title(input: &Input) -> String {
    let text = input.description.as_deref().unwrap_or(&input.prompt);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(60).collect()
}

fn warn_of_unknown(unknown: &[String], events: &EventSink) {
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        tracing::warn!(agent = %events.path(), names, "unknown tools in a list were dropped");
        events.notice(NoticeLevel::Warning, format!("unknown tools left out: {names}"));
    }
}

/// The end of an agent that was cancelled while it waited for a slot: no request, no file.
fn never_started(events: &EventSink) -> Outcome {
    let outcome = Outcome::without_work(End::Cancelled { before_start: true });
    events.emit(EventKind::Finished(Box::new(outcome.clone())));
    outcome
}

/// Sees to it that an agent's last event is its end, also when it is dropped in the middle because of a bug.
struct EndGuard<'a> {
    events: &'a EventSink,
    ended: bool,
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let message = "The agent failed inside: this is a bug.".to_owned();
            let end = End::Failed { failure: Failure::Internal, message };
            self.events.emit(EventKind::Finished(Box::new(Outcome::without_work(end))));
        }
    }
}
