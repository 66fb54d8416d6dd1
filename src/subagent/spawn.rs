//! Starts sub-agents for all tools that start them. Everything is decided and checked before there
//! is any effect.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::child::ChildAgent;
use super::child_spec::ChildSpec;
use super::definition::BudgetSpec;
use super::factory::Factory;
use super::parent::ParentContext;
use super::report::end_text;
use super::spawn_request::{Fork, ToolAccess};
use super::tree::{AgentResult, NewAgent};
use crate::agent::compact;
use crate::budget::Budget;
use crate::config::OnLimit;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, ChildMeta, EventSink, Failure, Journal, NoticeLevel,
    ParentBounds, Redactor, ResultBlock, RunEnd, SpawnLimits, SpawnTerms, SpendingJournal,
    ToolDetails,
};
use crate::provider::{Model, ModelSlot, ProviderError};
use crate::tool::{SoftKind, ToolContext, ToolError, ToolOutcome};

/// How long a call waits for servers without which its agent would have no tools.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(5);

/// Starts the sub-agents of one parent.
#[derive(Clone)]
pub struct Spawner {
    factory: Arc<Factory>,
    parent: ParentContext,
}

/// A sub-agent that was started.
#[derive(Clone, Debug)]
pub struct AgentRef {
    pub id: AgentId,
    pub name: String,
    /// Fires when it moves to the background.
    detached: CancellationToken,
}

/// The outcome of a sub-agent for the call that started it.
#[derive(Clone, Debug)]
pub enum SpawnOutcome {
    Ended(Arc<AgentResult>),
    /// It was started in the background.
    InBackground(AgentRef),
    /// The user moved it to the background.
    Detached(AgentRef),
}

impl Spawner {
    /// Creates the spawner of `parent`.
    pub fn new(factory: Arc<Factory>, parent: ParentContext) -> Self {
        Self { factory, parent }
    }

    /// The factory that builds sub-agents.
    pub fn factory(&self) -> &Arc<Factory> {
        &self.factory
    }

    /// The agent whose sub-agents it starts.
    pub fn parent(&self) -> &ParentContext {
        &self.parent
    }

    /// Starts a sub-agent, and waits for its end unless it runs in the background or moves there.
    /// The parent's slot is free for others meanwhile.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub async fn run(&self, spec: ChildSpec, cx: &ToolContext) -> Result<SpawnOutcome, ToolError> {
        if spec.background {
            return self.spawn(spec, cx).await.map(SpawnOutcome::InBackground);
        }
        let slot = self.factory.parts.tree.release_slot(cx.events.path());
        let outcome = match self.spawn(spec, cx).await {
            Ok(agent) => self.wait(agent, cx).await,
            Err(error) => Err(error),
        };
        slot.reacquire(&cx.events, &cx.cancel).await;
        outcome
    }

    /// Waits for the end of an agent, unless it moves to the background first.
    async fn wait(&self, agent: AgentRef, cx: &ToolContext) -> Result<SpawnOutcome, ToolError> {
        let tree = &self.factory.parts.tree;
        let guard = CancelOnDrop { spawner: self, id: agent.id, armed: true };
        let ended = tree.ended(agent.id);
        tokio::pin!(ended);
        let ended = tokio::select! {
            biased;
            () = agent.detached.cancelled() => {
                guard.disarm();
                return Ok(SpawnOutcome::Detached(agent));
            }
            ended = &mut ended => ended,
            () = cx.cancel.cancelled() => {
                if !tree.cancel_waited(agent.id, cx.overdue.get().copied()) {
                    guard.disarm();
                    return Ok(SpawnOutcome::Detached(agent));
                }
                ended.await
            }
        };
        guard.disarm();
        let lost = || ToolError::fatal(Failure::Internal, "A sub-agent was lost: this is a bug.");
        Ok(SpawnOutcome::Ended(ended.ok_or_else(lost)?))
    }

    /// Starts a sub-agent: takes it into the tree, and runs it as a task.
    ///
    /// # Errors
    /// A fatal error beyond the depth limit; a soft one for a model that cannot be used, a used-up
    /// budget or a reached limit. Nothing was started then.
    pub async fn spawn(
        &self,
        mut spec: ChildSpec,
        cx: &ToolContext,
    ) -> Result<AgentRef, ToolError> {
        let factory = &self.factory;
        if !factory.parts.settings.may_start(cx.depth) {
            return Err(factory.parts.settings.depth_violation(cx));
        }
        self.await_tools(&mut spec, cx).await?;
        let model = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(cancelled_error()),
            model = self.model(&spec) => model.map_err(|error| model_error(&spec, error))?,
        };
        let fork = spec.request.is_fork;
        let fork = fork.then(|| Fork::from_conversation(&cx.conversation, &cx.tool_use_id));
        if let Some(policy) = spec.request.budget_policy {
            let live = factory.parts.tree.list(cx.events.path());
            let live = live.iter().filter(|agent| !agent.status().is_final()).count();
            spec.request.budget = spec.request.budget.min(policy.share(&cx.budget, live));
            spec.limits = self.limits(&spec.request, &spec.definition);
        }
        self.check_budget(&model, &spec.limits, &cx.budget)?;
        check_fit(fork.as_ref(), &model)?;
        let (id, background) = (AgentId::generate(), spec.background);
        let events = cx.events.child(id);
        // Background work is not bound by the time of one run.
        let above = if background { cx.budget.agent_account() } else { &cx.budget };
        let budget = above.child(spec.limits.account());
        let max_turns = spec.limits.max_turns.unwrap_or(factory.parts.settings.config.max_turns);
        let info = self.info(&spec, &model, max_turns, cx);
        let new = NewAgent {
            info,
            number: None,
            events: events.clone(),
            report_to: self.parent.inbox.clone(),
            budget: budget.clone(),
            may_queue: self.may_queue(background),
        };
        if cx.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        let handle = factory.parts.tree.join(new);
        let handle = handle.map_err(|error| ToolError::failed(error.to_string()))?;
        let journal = self.journal(handle.info(), &spec, fork.as_ref(), &model, events.path(), id);
        self.warn_of_tools(&spec, &events);
        let (name, detached) = (handle.info().name.clone(), handle.detached().clone());
        let agent = AgentRef { id, name: name.clone(), detached };
        self.start(ChildAgent {
            name,
            has_foreign_provider: self.has_foreign_provider(&model),
            model: ModelSlot::new(model),
            fork,
            resumed: None,
            max_turns,
            budget,
            span: cx.span,
            journal,
            spec,
            handle,
            events,
            parent_events: cx.events.clone(),
        });
        Ok(agent)
    }

    /// Describes a new agent once it has a number.
    fn info<'a>(
        &self,
        spec: &'a ChildSpec,
        model: &'a Model,
        max_turns: u32,
        cx: &'a ToolContext,
    ) -> impl FnOnce(usize) -> AgentInfo + use<'a> {
        let name = self.factory.parts.tree.next_name(&spec.definition.name);
        move |number| AgentInfo {
            name,
            number,
            agent: spec.definition.name.clone(),
            description: spec.request.title(),
            prompt: spec.request.prompt.clone(),
            model: model.name.clone(),
            tool_use_id: cx.tool_use_id.clone(),
            max_turns,
            max_usd: spec.limits.max_usd,
            color: spec.definition.color.clone(),
            background: spec.background,
        }
    }

    /// Runs an agent that has joined the tree as a task.
    pub(super) fn start(&self, child: ChildAgent) {
        let (factory, parent) = (self.factory.clone(), self.parent.clone());
        self.factory.parts.tree.spawn(async move { child.run(factory, parent).await });
    }

    /// Selects the tools again, since servers may have come or gone after the call was prepared. Waits,
    /// within bounds, for servers without which there would be none.
    async fn await_tools(&self, spec: &mut ChildSpec, cx: &ToolContext) -> Result<(), ToolError> {
        let mut selection = self.factory.tools_for(&spec.lists(), &self.parent).1;
        if selection.nothing_left && !selection.pending.is_empty() {
            let (name, awaited) = (&spec.definition.name, &selection.pending);
            let text = format!("{name} is waiting for its MCP server: {}", awaited.join(", "));
            cx.events.notice(NoticeLevel::Info, text);
            let servers = self.factory.parts.mcp.main();
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(cancelled_error()),
                () = servers.wait_ready_for(awaited, MAX_SERVER_WAIT) => {}
            }
            selection = self.factory.tools_for(&spec.lists(), &self.parent).1;
        }
        spec.tools = selection;
        match spec.tools.nothing_left {
            true => Err(ToolError::soft(SoftKind::InvalidInput, self.no_tools_error(spec).0)),
            false => Ok(()),
        }
    }

    /// Whether a model's provider differs from the parent's.
    pub(super) fn has_foreign_provider(&self, model: &Model) -> bool {
        self.parent.model.get().provider.name() != model.provider.name()
    }

    /// Warns about listed tools that it does not get: unknown ones, and those that start agents,
    /// because listing them lifts no limit.
    fn warn_of_tools(&self, spec: &ChildSpec, events: &EventSink) {
        let (unknown, agent_tools) = (&spec.tools.unknown, &spec.tools.agent_tools);
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            tracing::warn!(agent = %events.path(), names, "unknown tools in a list were dropped");
            events.notice(NoticeLevel::Warning, format!("ignored unknown tools: {names}"));
        }
        let settings = &self.factory.parts.settings;
        if !agent_tools.is_empty() && !settings.may_start(events.path().depth()) {
            let (names, limit) = (agent_tools.join(", "), settings.config.max_depth);
            tracing::warn!(agent = %events.path(), names, limit, "tools that start agents are not passed on");
            let text = format!("{names} not passed on: the depth limit is {limit} (max_depth)");
            events.notice(NoticeLevel::Warning, text);
        }
    }

    fn may_queue(&self, background: bool) -> bool {
        match self.factory.parts.settings.config.on_limit {
            OnLimit::Auto => !background,
            OnLimit::Queue => true,
            OnLimit::Error => false,
        }
    }

    /// Opens its journal. Nothing is written before its first message.
    fn journal(
        &self,
        info: &AgentInfo,
        spec: &ChildSpec,
        fork: Option<&Fork>,
        model: &Model,
        path: &AgentPath,
        id: AgentId,
    ) -> Arc<dyn Journal> {
        let parts = &self.factory.parts;
        if !parts.settings.config.persist {
            let (above, path) = (self.parent.journal.clone(), path.clone());
            return Arc::new(SpendingJournal { above, path });
        }
        self.parent.journal.child(ChildMeta {
            id,
            path: path.clone(),
            agent: info.agent.clone(),
            name: info.name.clone(),
            number: info.number,
            description: info.description.clone(),
            tool_use_id: info.tool_use_id.clone(),
            model: info.model.clone(),
            max_turns: Some(info.max_turns),
            color: info.color.clone(),
            background: Some(info.background),
            depth: parts.settings.base_depth + path.depth(),
            terms: SpawnTerms {
                below: self.below(),
                ..stored_terms(spec, fork, model, &parts.redactor)
            },
            inherited: fork.map_or(0, |fork| fork.messages.len()),
        })
    }

    /// The bounds of sub-agents that this parent starts.
    fn below(&self) -> Option<ParentBounds> {
        let tools = self.parent.tools.as_ref()?.to_vec();
        let folder = self.parent.workspace.bound.as_ref().map(|bound| bound.folder.to_path_buf());
        Some(ParentBounds { tools, folder })
    }

    /// Checks that there is something left to spend, and that the model's price is known where that
    /// matters.
    pub(super) fn check_budget(
        &self,
        model: &Model,
        limits: &BudgetSpec,
        budget: &Budget,
    ) -> Result<(), ToolError> {
        if let Some(what) = budget.used_up() {
            let why = format!("The budget of {what} is used up: no sub-agent was started.");
            return Err(ToolError::soft(SoftKind::Budget, why));
        }
        let capped = budget.caps_money() || limits.max_usd.is_some();
        if capped && model.info.pricing.is_unknown() {
            let name = &model.name;
            let why =
                format!("`model`: no price is known for {name}, and there is a budget in dollars.");
            return Err(ToolError::soft(SoftKind::InvalidInput, why));
        }
        Ok(())
    }
}

/// Cancels an agent when the call that waits for it is dropped in the middle.
struct CancelOnDrop<'a> {
    spawner: &'a Spawner,
    id: AgentId,
    armed: bool,
}

impl CancelOnDrop<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            // Only the end of its parent's run drops the call. An agent in the background reports
            // by itself.
            let _ = self.spawner.factory.parts.tree.cancel_waited(self.id, None);
        }
    }
}

impl AgentResult {
    /// The outcome of a call that waited for this end.
    ///
    /// # Errors
    /// A fatal one for what the parent cannot fix either: it ends its run as well.
    pub fn tool_outcome(&self) -> Result<ToolOutcome, ToolError> {
        if let RunEnd::Failed { failure, message } = &self.outcome.end
            && failure.is_fatal()
        {
            let details = ToolDetails::Agent(Box::new(self.report.clone()));
            let message = format!("{}: {message}", self.info.name);
            return Err(ToolError::fatal(*failure, message).with_details(details));
        }
        Ok(ToolOutcome {
            content: vec![ResultBlock::text(self.text.clone())],
            is_error: self.outcome.end != RunEnd::Completed,
            summary: end_text(&self.outcome.end),
            details: Some(ToolDetails::Agent(Box::new(self.report.clone()))),
        })
    }
}

/// The terms of a spec that are stored, for resuming the agent later.
fn stored_terms(
    spec: &ChildSpec,
    fork: Option<&Fork>,
    model: &Model,
    redactor: &Redactor,
) -> SpawnTerms {
    let ChildSpec { request, limits, .. } = spec;
    let (allowed_tools, denied_tools) = match &request.tools {
        ToolAccess::Inherit => (None, Vec::new()),
        ToolAccess::Allow(list) => (Some(list.clone()), Vec::new()),
        ToolAccess::Deny(list) => (None, list.clone()),
    };
    SpawnTerms {
        provider: Some(model.provider.name().to_owned()),
        allowed_tools,
        denied_tools,
        system_prompt: request.system_prompt.clone(),
        memory: request.memory,
        fork: fork.is_some(),
        system: fork.map(|fork| redactor.mask_keys(&fork.system).into_owned()),
        below: None,
        caps: SpawnLimits {
            usd: limits.max_usd,
            tokens: limits.max_tokens,
            turns: limits.max_turns,
            tool_calls: limits.max_tool_calls,
            wall_s: limits.max_wall_s,
        },
    }
}

/// Rejects a fork whose conversation fills its model's window: it could not answer.
fn check_fit(fork: Option<&Fork>, model: &Model) -> Result<(), ToolError> {
    match fork {
        Some(fork) if !compact::fits(model, &fork.system, &[], &fork.messages) => {
            let (name, window) = (&model.name, model.info.context_window);
            Err(ToolError::soft(
                SoftKind::InvalidInput,
                format!(
                    "This conversation does not fit into the window of {name} ({window} tokens): use agent_spawn and say in the prompt what matters."
                ),
            ))
        }
        _ => Ok(()),
    }
}

fn cancelled_error() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, "This call was cancelled before it started an agent.")
}

/// The error of a call whose model cannot be used, with the field that names it.
fn model_error(spec: &ChildSpec, error: ProviderError) -> ToolError {
    let why = error.message;
    let field = match (&spec.request.provider, &spec.request.model) {
        (Some(_), _) => "`provider`: ",
        (None, Some(_)) if !why.contains('`') => "`model`: ",
        _ => "",
    };
    ToolError::soft(SoftKind::InvalidInput, format!("{field}{why}"))
}
