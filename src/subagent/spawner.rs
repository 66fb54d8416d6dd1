//! Starts sub-agents for all faces. Everything is checked before there is any effect.

mod resources;
mod tool_check;

use std::sync::Arc;

use super::child::ChildAgent;
use super::definition::{BudgetSpec, Definition};
use super::factory::{ChildSpec, Factory};
use super::report::end_text;
use super::spawn_request::{Fork, SpawnRequest, ToolAccess};
use super::tree::{AgentResult, LimitError, NewAgent};
use super::workspace::Workspace;
use crate::agent::Inbox;
use crate::config::OnLimit;
use crate::markdown::format_listing;
use crate::permission::AgentGate;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, ChildMeta, EventSink, Failure, Journal, NoticeLevel,
    ParentBounds, Redactor, ResultBlock, RunEnd, SpawnLimits, SpawnTerms, SpendingJournal,
    ToolDetails,
};
use crate::provider::{Model, ModelSlot};
use crate::tool::{InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, canonical_name};

/// Lengths to which agent descriptions are cut, tried in order until the list fits. Characters.
const DESCRIPTION_CHARS: [usize; 4] = [usize::MAX, 300, 150, 80];

/// The size limit of the agent list, which is part of every request. Bytes.
const MAX_AGENT_LIST_BYTES: usize = 24 * 1024;

/// The agent that starts others.
#[derive(Clone)]
pub struct ParentContext {
    /// Its name on the screen.
    pub name: String,
    /// Its model, the default for sub-agents.
    pub model: ModelSlot,
    /// Its journal; theirs are opened beside it.
    pub journal: Arc<dyn Journal>,
    /// Its queue, for results that no call waits for.
    pub inbox: Inbox,
    /// Its rights, which bound theirs.
    pub gate: AgentGate,
    /// Where it works.
    pub workspace: Workspace,
    /// The names of its tools, which bound theirs; `None` for the main agent, which has all tools.
    pub tools: Option<Arc<[String]>>,
}

impl ParentContext {
    /// Whether it may pass on a tool: an agent cannot give what it was not given.
    pub fn has_tool(&self, tool: &str) -> bool {
        let same = |own: &String| canonical_name(own) == canonical_name(tool);
        self.tools.as_ref().is_none_or(|own| own.iter().any(same))
    }
}

/// Starts the sub-agents of one caller.
#[derive(Clone)]
pub struct Spawner {
    pub(super) factory: Arc<Factory>,
    pub(super) parent: ParentContext,
}

/// A sub-agent that was started.
#[derive(Clone, Debug)]
pub struct AgentRef {
    pub id: AgentId,
    pub name: String,
}

/// What became of a sub-agent, for the call that started it.
#[derive(Clone, Debug)]
pub enum SpawnOutcome {
    Ended(Arc<AgentResult>),
    /// It was started in the background.
    InBackground(AgentRef),
    /// The user moved it to the background.
    Detached(AgentRef),
}

impl Spawner {
    /// Creates the executor of `caller`.
    pub fn new(factory: Arc<Factory>, caller: ParentContext) -> Self {
        Self { factory, parent: caller }
    }

    /// The factory that builds sub-agents.
    pub fn factory(&self) -> &Arc<Factory> {
        &self.factory
    }

    /// The name of the agent that starts them.
    pub fn name(&self) -> &str {
        &self.parent.name
    }

    /// The agent whose sub-agents it starts.
    pub fn parent(&self) -> &ParentContext {
        &self.parent
    }

    /// Checks everything that needs no waiting. Changes nothing.
    ///
    /// # Errors
    /// Names the wrong field and what is allowed there.
    pub fn check(&self, order: &SpawnRequest) -> Result<(), InvalidInput> {
        if order.prompt.trim().is_empty() {
            return Err(InvalidInput("`prompt` must not be blank.".to_owned()));
        }
        let definition = self.definition(order)?;
        self.check_tools(order, &definition)
    }

    fn definition(&self, order: &SpawnRequest) -> Result<Arc<Definition>, InvalidInput> {
        let name = order.agent();
        let definitions = &self.factory.definitions;
        let known = definitions.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = definitions.iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            InvalidInput(format!("`agent`: there is no agent {name}. The agents are: {known}."))
        })?;
        Ok(if order.is_fork { Arc::new(known.for_fork()) } else { known })
    }

    /// Appends the list of agents to a tool's description.
    pub fn with_agents(&self, description: &str) -> String {
        let mut text = description.trim().to_owned();
        let agents: Vec<_> = self.factory.offered().collect();
        let lines = agents.iter().map(|agent| (agent.name.as_str(), agent.description.as_str()));
        text.push_str(&format_listing(lines, &DESCRIPTION_CHARS, MAX_AGENT_LIST_BYTES));
        text
    }

    /// Lists the allowed models if the configuration limits them, or else some of the catalogue.
    pub fn models_text(&self) -> Option<String> {
        let allowed = self.factory.models.allowed();
        let lists: Vec<_> = allowed
            .iter()
            .map(|(provider, models)| format!("{provider}: {}", models.join(", ")))
            .collect();
        if !lists.is_empty() {
            return Some(format!("Default: your own. Allowed: {}.", lists.join("; ")));
        }
        let own = self.parent.model.get();
        let (provider, models) = self.factory.models.examples(own.provider.name())?;
        Some(format!("Default: your own. Of {provider}, for example: {}.", models.join(", ")))
    }

    /// Starts a sub-agent, and waits for its end unless it runs in the background or moves there.
    /// The caller's slot is free for others meanwhile.
    ///
    /// # Errors
    /// A soft error for bad input, a used-up budget or a reached limit: then nothing was started.
    pub async fn run(
        &self,
        mut order: SpawnRequest,
        cx: &ToolContext,
    ) -> Result<SpawnOutcome, ToolError> {
        if order.is_fork {
            order.fork = Some(Fork::from_conversation(&cx.conversation, &cx.tool_use_id));
        }
        if let Some(policy) = order.budget_policy {
            let live = self.factory.tree.list(cx.events.path());
            let live = live.iter().filter(|agent| !agent.status().is_final()).count();
            order.budget = order.budget.min(policy.share(&cx.budget, live));
        }
        let definition = self.factory.definitions.get(order.agent());
        if order.background || definition.is_some_and(|definition| definition.background) {
            let child = self.join(SpawnRequest { background: true, ..order }, cx).await?;
            let started = AgentRef { id: child.handle.id(), name: child.spec.name.clone() };
            self.spawn_child(child);
            return Ok(SpawnOutcome::InBackground(started));
        }
        let slot = self.factory.tree.release_slot(cx.events.path());
        let outcome = self.start_and_wait(order, cx).await;
        slot.reacquire(&cx.events, &cx.cancel).await;
        outcome
    }

    async fn start_and_wait(
        &self,
        order: SpawnRequest,
        cx: &ToolContext,
    ) -> Result<SpawnOutcome, ToolError> {
        let child = self.join(order, cx).await?;
        let started = AgentRef { id: child.handle.id(), name: child.spec.name.clone() };
        let (id, detached) = (started.id, child.handle.detached().clone());
        let tree = self.factory.tree.clone();
        let leash = CancelOnDrop { spawner: self, id, armed: true };
        self.spawn_child(child);
        let ended = tree.ended(id);
        tokio::pin!(ended);
        let ended = tokio::select! {
            biased;
            () = detached.cancelled() => {
                leash.disarm();
                return Ok(SpawnOutcome::Detached(started));
            }
            ended = &mut ended => ended,
            () = cx.cancel.cancelled() => {
                if !tree.cancel_waited(id, cx.overdue.get().copied()) {
                    leash.disarm();
                    return Ok(SpawnOutcome::Detached(started));
                }
                ended.await
            }
        };
        leash.disarm();
        let gone = || ToolError::fatal(Failure::Internal, "A sub-agent was lost: this is a bug.");
        Ok(SpawnOutcome::Ended(ended.ok_or_else(gone)?))
    }

    /// Decides everything and takes the agent into the tree.
    async fn join(&self, order: SpawnRequest, cx: &ToolContext) -> Result<ChildAgent, ToolError> {
        let invalid = |error: InvalidInput| ToolError::soft(SoftKind::InvalidInput, error.0);
        let definition = self.definition(&order).map_err(invalid)?;
        self.await_tools(&order, &definition, cx).await?;
        let place = match order.is_fork {
            true => self.parent.workspace.clone(),
            false => self.place(&definition),
        };
        let model = tokio::select! {
            biased;
            // A command that prints a key may take a while.
            () = cx.cancel.cancelled() => return Err(cancelled_error()),
            model = self.model(&order, &definition, &place) => model?,
        };
        let spec = self.limits(&order, &definition);
        self.check_budget(&model, &spec, &cx.budget)?;
        self.check_fit(&order, &model)?;
        let background = order.background || definition.background;
        let (factory, id) = (&self.factory, AgentId::generate());
        let events = cx.events.child(id);
        // Background work is not bound by the time of one run.
        let above = if background { cx.budget.agent_account() } else { &cx.budget };
        let budget = above.child(spec.account());
        let max_turns = spec.max_turns.unwrap_or(factory.settings.max_turns);
        let info = AgentInfo {
            name: factory.tree.next_name(&definition.name),
            agent: definition.name.clone(),
            description: order.title(),
            prompt: order.prompt.clone(),
            model: model.name.clone(),
            tool_use_id: cx.tool_use_id.clone(),
            max_turns,
            color: definition.color.clone(),
            background,
        };
        let joining = NewAgent {
            info: info.clone(),
            events: events.clone(),
            report_to: self.parent.inbox.clone(),
            budget: budget.clone(),
            may_queue: self.may_queue(background),
        };
        if cx.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        let member = factory.tree.join(joining).map_err(|error| limit_error(&error))?;
        let selection = factory.tools_for(&definition, &order.tools, &self.parent);
        let terms = SpawnTerms {
            below: self.below(),
            ..stored_terms(&order, &model, &spec, &factory.redactor)
        };
        let inherited = order.fork.as_ref().map_or(0, |fork| fork.messages.len());
        let journal = self.journal(&info, events.path(), id, (terms, inherited));
        warn_of_unknown(&selection.unknown, &events);
        if !factory.settings.may_start(events.path().depth()) {
            self.warn_of_withheld(&selection.agent_tools, &events);
        }
        let rights = self.rights(&definition);
        let own = self.parent.model.get();
        let foreign_provider = own.provider.name() != model.provider.name();
        let plan = ChildSpec {
            name: info.name.clone(),
            definition,
            model,
            access: order.tools,
            system_prompt: order.system_prompt,
            fork: order.fork,
            resumed: None,
            memory: order.memory,
            host: order.host,
            max_turns,
            budget,
            span: cx.span,
            journal,
            rights,
            workspace: place,
            worktree_note: None,
            foreign_provider,
            server_tools: Vec::new(),
        };
        let above = cx.events.clone();
        Ok(ChildAgent {
            spec: plan,
            handle: member,
            events,
            parent_events: above,
            prompt: Some(order.prompt),
        })
    }

    /// Warns about listed tools that start agents: listing them lifts no limit.
    fn warn_of_withheld(&self, faces: &[String], events: &EventSink) {
        if !faces.is_empty() {
            let (names, limit) = (faces.join(", "), self.factory.settings.max_depth);
            tracing::warn!(agent = %events.path(), names, limit, "tools that start agents are not passed on");
            let text = format!("{names} not passed on: the depth limit is {limit} (max_depth)");
            events.notice(NoticeLevel::Warning, text);
        }
    }

    fn may_queue(&self, background: bool) -> bool {
        match self.factory.settings.on_limit {
            OnLimit::Auto => !background,
            OnLimit::Queue => true,
            OnLimit::Error => false,
        }
    }

    /// Opens its journal. Nothing is written before its first message.
    fn journal(
        &self,
        info: &AgentInfo,
        path: &AgentPath,
        id: AgentId,
        (terms, inherited): (SpawnTerms, usize),
    ) -> Arc<dyn Journal> {
        if !self.factory.settings.persist {
            let (above, path) = (self.parent.journal.clone(), path.clone());
            return Arc::new(SpendingJournal { above, path });
        }
        self.parent.journal.child(ChildMeta {
            id,
            path: path.clone(),
            agent: info.agent.clone(),
            name: info.name.clone(),
            description: info.description.clone(),
            tool_use_id: info.tool_use_id.clone(),
            model: info.model.clone(),
            max_turns: Some(info.max_turns),
            color: info.color.clone(),
            background: Some(info.background),
            depth: self.factory.settings.base_depth + path.depth(),
            terms,
            inherited,
        })
    }

    /// The bounds of sub-agents that this caller starts.
    fn below(&self) -> Option<ParentBounds> {
        let tools = self.parent.tools.as_ref()?.to_vec();
        let folder = self.parent.workspace.bound.as_ref().map(|bound| bound.folder.to_path_buf());
        Some(ParentBounds { tools, folder })
    }

    /// Runs the agent as a task.
    pub(super) fn spawn_child(&self, child: ChildAgent) {
        let (factory, caller) = (self.factory.clone(), self.parent.clone());
        self.factory.tree.spawn(async move { child.run_child(factory, caller).await });
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
            let _ = self.spawner.factory.tree.cancel_waited(self.id, None);
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

/// The stored terms of an order, for resuming the agent later.
fn stored_terms(
    order: &SpawnRequest,
    model: &Model,
    limits: &BudgetSpec,
    redactor: &Redactor,
) -> SpawnTerms {
    let (allowed_tools, denied_tools) = match &order.tools {
        ToolAccess::Inherit => (None, Vec::new()),
        ToolAccess::Allow(list) => (Some(list.clone()), Vec::new()),
        ToolAccess::Deny(list) => (None, list.clone()),
    };
    SpawnTerms {
        provider: Some(model.provider.name().to_owned()),
        allowed_tools,
        denied_tools,
        system_prompt: order.system_prompt.clone(),
        memory: order.memory,
        fork: order.fork.is_some(),
        system: order.fork.as_ref().map(|fork| redactor.mask_keys(&fork.system).into_owned()),
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

fn cancelled_error() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, "This call was cancelled before it started an agent.")
}

fn limit_error(error: &LimitError) -> ToolError {
    ToolError::soft(SoftKind::Failed, error.to_string())
}

fn warn_of_unknown(unknown: &[String], events: &EventSink) {
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        tracing::warn!(agent = %events.path(), names, "unknown tools in a list were dropped");
        events.notice(NoticeLevel::Warning, format!("ignored unknown tools: {names}"));
    }
}
