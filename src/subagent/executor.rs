//! Starts sub-agents: the one way behind all faces. Everything is checked before there is any effect.

mod means;
mod tools;

use std::sync::Arc;

use super::definition::{BudgetSpec, Definition};
use super::factory::{Factory, Plan};
use super::life::Child;
use super::order::{Order, ToolAccess};
use super::report::words;
use super::tree::{Ended, Joining, OverLimit};
use super::workplace::Workplace;
use crate::agent::Inbox;
use crate::config::OnLimit;
use crate::markdown::listing;
use crate::permission::AgentGate;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, Below, Caps, ChildMeta, End, EventSink, Failure, Journal,
    NoticeLevel, Redactor, ResultBlock, SpendingJournal, Terms, ToolDetails,
};
use crate::provider::{Model, ModelSlot};
use crate::tool::{InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, canonical_name};

/// How much of each agent's description models read, as far as there is room. Characters.
const AGENT_DESCRIPTIONS: [usize; 4] = [usize::MAX, 300, 150, 80];

/// The list of agents is never longer: it is a part of every request. Bytes.
const AGENT_LIST: usize = 24 * 1024;

/// The agent that starts others.
#[derive(Clone)]
pub struct Caller {
    /// Its name on the screen.
    pub name: String,
    /// Its model, which sub-agents use unless told otherwise.
    pub model: ModelSlot,
    /// Its journal, beside which theirs are opened.
    pub journal: Arc<dyn Journal>,
    /// Its queue, where results come that no call waits for.
    pub inbox: Inbox,
    /// Its rights, which bound theirs.
    pub gate: AgentGate,
    /// Where it works.
    pub place: Workplace,
    /// The names of its tools, which bound theirs; `None` for the main agent, whose tools are all
    /// that there are.
    pub holds: Option<Arc<[String]>>,
}

impl Caller {
    /// Whether it may hand on a tool: what an agent was not given it cannot give.
    #[must_use]
    pub fn holds(&self, tool: &str) -> bool {
        let same = |own: &String| canonical_name(own) == canonical_name(tool);
        self.holds.as_ref().is_none_or(|own| own.iter().any(same))
    }
}

/// Starts the sub-agents of one caller.
#[derive(Clone)]
pub struct Executor {
    pub(super) factory: Arc<Factory>,
    pub(super) caller: Caller,
}

/// A sub-agent that was started.
#[derive(Clone, Debug)]
pub struct Started {
    pub id: AgentId,
    pub name: String,
}

/// How the wait for a foreground agent ended.
#[derive(Clone, Debug)]
pub enum Waited {
    Ended(Arc<Ended>),
    /// It goes on in the background.
    Detached(Started),
}

impl Executor {
    /// The executor of `caller`.
    #[must_use]
    pub fn new(factory: Arc<Factory>, caller: Caller) -> Self {
        Self { factory, caller }
    }

    /// What sub-agents are built from.
    #[must_use]
    pub fn factory(&self) -> &Arc<Factory> {
        &self.factory
    }

    /// The name of the agent that starts them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Whose sub-agents it starts.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Checks what can be checked without asking anyone. Changes nothing.
    ///
    /// # Errors
    /// Names the field that is wrong and what is allowed there.
    pub fn check(&self, order: &Order) -> Result<(), InvalidInput> {
        if order.prompt.trim().is_empty() {
            return Err(InvalidInput("`prompt` must not be blank.".to_owned()));
        }
        let definition = self.definition(order)?;
        self.check_tools(order, &definition)
    }

    fn definition(&self, order: &Order) -> Result<Arc<Definition>, InvalidInput> {
        let name = order.agent();
        let definitions = &self.factory.definitions;
        let known = definitions.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = definitions.iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            InvalidInput(format!("`agent`: there is no agent {name}. The agents are: {known}."))
        })?;
        Ok(if order.is_fork { Arc::new(known.for_fork()) } else { known })
    }

    /// Whether a call does not wait for its agent: because it says so, or the agent's definition.
    #[must_use]
    pub fn goes_to_background(&self, order: &Order) -> bool {
        let definition = self.factory.definitions.get(order.agent());
        order.background || definition.is_some_and(|definition| definition.background)
    }

    /// A tool's description with the list of agents after it.
    #[must_use]
    pub fn with_agents(&self, description: &str) -> String {
        let mut text = description.trim().to_owned();
        let agents: Vec<_> = self.factory.offered().collect();
        let lines = agents.iter().map(|agent| (agent.name.as_str(), agent.description.as_str()));
        text.push_str(&listing(lines, &AGENT_DESCRIPTIONS, AGENT_LIST));
        text
    }

    /// Which models may be named, where the configuration says so.
    #[must_use]
    pub fn models_text(&self) -> Option<String> {
        let allowed = self.factory.models.allowed();
        let lists: Vec<_> = allowed
            .iter()
            .map(|(provider, models)| format!("{provider}: {}", models.join(", ")))
            .collect();
        (!lists.is_empty()).then(|| format!("Default: your own. Allowed: {}.", lists.join("; ")))
    }

    /// Starts a sub-agent and waits for its end, unless it goes to the background before. The
    /// caller's slot is free for others meanwhile.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn delegate(&self, order: Order, cx: &ToolContext) -> Result<Waited, ToolError> {
        let lent = self.factory.tree.lend(cx.events.path());
        let waited = self.start_and_wait(order, cx).await;
        lent.take_back(&cx.events, &cx.cancel).await;
        waited
    }

    async fn start_and_wait(&self, order: Order, cx: &ToolContext) -> Result<Waited, ToolError> {
        let child = self.join(order, cx).await?;
        let started = Started { id: child.member.id(), name: child.plan.name.clone() };
        let (id, detached) = (started.id, child.member.detached().clone());
        let tree = self.factory.tree.clone();
        let leash = Leash { executor: self, id, held: true };
        self.live(child);
        let ended = tree.ended(id);
        tokio::pin!(ended);
        let ended = tokio::select! {
            biased;
            () = detached.cancelled() => {
                leash.release();
                return Ok(Waited::Detached(started));
            }
            ended = &mut ended => ended,
            () = cx.cancel.cancelled() => {
                if !tree.cancel_waited(id, cx.overdue.get().copied()) {
                    leash.release();
                    return Ok(Waited::Detached(started));
                }
                ended.await
            }
        };
        leash.release();
        let gone = || ToolError::fatal(Failure::Internal, "A sub-agent was lost: this is a bug.");
        Ok(Waited::Ended(ended.ok_or_else(gone)?))
    }

    /// Starts a sub-agent in the background.
    ///
    /// # Errors
    /// A soft error for bad input, for a budget that is used up and for a limit that is reached:
    /// then nothing was started.
    pub async fn start(&self, order: Order, cx: &ToolContext) -> Result<Started, ToolError> {
        let child = self.join(Order { background: true, ..order }, cx).await?;
        let started = Started { id: child.member.id(), name: child.plan.name.clone() };
        self.live(child);
        Ok(started)
    }

    /// Decides everything and takes the agent into the tree.
    async fn join(&self, order: Order, cx: &ToolContext) -> Result<Child, ToolError> {
        let invalid = |error: InvalidInput| ToolError::soft(SoftKind::InvalidInput, error.0);
        let definition = self.definition(&order).map_err(invalid)?;
        self.await_tools(&order, &definition, cx).await?;
        let place = match order.is_fork {
            true => self.caller.place.clone(),
            false => self.place(&definition),
        };
        let model = tokio::select! {
            biased;
            // A command that prints a key may take its time.
            () = cx.cancel.cancelled() => return Err(cancelled()),
            model = self.model(&order, &definition, &place) => model?,
        };
        let spec = self.limits(&order, &definition);
        self.may_spend(&model, &spec, &cx.budget)?;
        self.must_fit(&order, &model)?;
        let background = order.background || definition.background;
        let (factory, id) = (&self.factory, AgentId::generate());
        let events = cx.events.child(id);
        // What nobody waits for is not bound by the time of one run.
        let above = if background { cx.budget.of_agent() } else { &cx.budget };
        let budget = above.child(spec.account());
        let max_turns = spec.max_turns.unwrap_or(factory.settings.max_turns);
        let info = AgentInfo {
            name: factory.tree.name(&definition.name),
            agent: definition.name.clone(),
            description: order.title(),
            prompt: order.prompt.clone(),
            model: model.name.clone(),
            tool_use_id: cx.tool_use_id.clone(),
            max_turns,
            color: definition.color.clone(),
            background,
        };
        let joining = Joining {
            info: info.clone(),
            events: events.clone(),
            report_to: self.caller.inbox.clone(),
            budget: budget.clone(),
            may_queue: self.may_queue(background),
        };
        if cx.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let member = factory.tree.join(joining).map_err(|error| over(&error))?;
        let selection = factory.tools_for(&definition, &order.tools, &self.caller);
        let terms =
            Terms { below: self.below(), ..terms(&order, &model, &spec, &factory.redactor) };
        let inherited = order.fork.as_ref().map_or(0, |fork| fork.messages.len());
        let journal = self.journal(&info, events.path(), id, (terms, inherited));
        warn_of_unknown(&selection.unknown, &events);
        if !factory.settings.may_start(events.path().depth()) {
            self.warn_of_withheld(&selection.faces, &events);
        }
        let rights = self.rights(&definition);
        let own = self.caller.model.get();
        let foreign_provider = own.provider.name() != model.provider.name();
        let plan = Plan {
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
            place,
            introduction: None,
            foreign_provider,
            served: Vec::new(),
        };
        let above = cx.events.clone();
        Ok(Child { plan, member, events, above, prompt: Some(order.prompt) })
    }

    /// A list that names a tool which starts agents lifts no limit.
    fn warn_of_withheld(&self, faces: &[String], events: &EventSink) {
        if !faces.is_empty() {
            let (names, limit) = (faces.join(", "), self.factory.settings.max_depth);
            tracing::warn!(agent = %events.path(), names, limit, "tools that start agents are not handed on");
            let text = format!("{names} not handed on: sub-agents go {limit} deep (max_depth)");
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

    /// Where its transcript goes. Nothing is written before its first message.
    fn journal(
        &self,
        info: &AgentInfo,
        path: &AgentPath,
        id: AgentId,
        (terms, inherited): (Terms, usize),
    ) -> Arc<dyn Journal> {
        if !self.factory.settings.persist {
            let (above, path) = (self.caller.journal.clone(), path.clone());
            return Arc::new(SpendingJournal { above, path });
        }
        self.caller.journal.child(ChildMeta {
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

    /// What bounds those that this caller starts.
    fn below(&self) -> Option<Below> {
        let tools = self.caller.holds.as_ref()?.to_vec();
        let folder = self.caller.place.bound.as_ref().map(|bound| bound.folder.to_path_buf());
        Some(Below { tools, folder })
    }

    /// Lets the agent live: a task that ends with it.
    pub(super) fn live(&self, child: Child) {
        let (factory, caller) = (self.factory.clone(), self.caller.clone());
        self.factory.tree.spawn(async move { child.live(factory, caller).await });
    }
}

/// Cancels an agent when the call that waits for it is dropped in the middle.
struct Leash<'a> {
    executor: &'a Executor,
    id: AgentId,
    held: bool,
}

impl Leash<'_> {
    fn release(mut self) {
        self.held = false;
    }
}

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        if self.held {
            // Only the end of its parent's run drops the call. An agent that went to the background
            // has its own report.
            let _ = self.executor.factory.tree.cancel_waited(self.id, None);
        }
    }
}

impl Ended {
    /// What a call returns that has waited for this end.
    ///
    /// # Errors
    /// A fatal one for what the parent cannot mend either: it ends its run as well.
    pub fn outcome(&self) -> Result<ToolOutcome, ToolError> {
        if let End::Failed { failure, message } = &self.outcome.end
            && failure.is_fatal()
        {
            let details = ToolDetails::Agent(Box::new(self.report.clone()));
            let message = format!("{}: {message}", self.info.name);
            return Err(ToolError::fatal(*failure, message).with_details(details));
        }
        Ok(ToolOutcome {
            content: vec![ResultBlock::text(self.text.clone())],
            is_error: self.outcome.end != End::Completed,
            summary: words(&self.outcome.end),
            details: Some(ToolDetails::Agent(Box::new(self.report.clone()))),
        })
    }
}

/// What is written down of an order, for an agent that goes on later.
fn terms(order: &Order, model: &Model, limits: &BudgetSpec, redactor: &Redactor) -> Terms {
    let (allowed_tools, denied_tools) = match &order.tools {
        ToolAccess::Inherit => (None, Vec::new()),
        ToolAccess::Allow(list) => (Some(list.clone()), Vec::new()),
        ToolAccess::Deny(list) => (None, list.clone()),
    };
    Terms {
        provider: Some(model.provider.name().to_owned()),
        allowed_tools,
        denied_tools,
        system_prompt: order.system_prompt.clone(),
        memory: order.memory,
        fork: order.fork.is_some(),
        system: order.fork.as_ref().map(|fork| redactor.mask_keys(&fork.system).into_owned()),
        below: None,
        caps: Caps {
            usd: limits.max_usd,
            tokens: limits.max_tokens,
            turns: limits.max_turns,
            tool_calls: limits.max_tool_calls,
            wall_s: limits.max_wall_s,
        },
    }
}

fn cancelled() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, "This call was cancelled before it started an agent.")
}

fn over(error: &OverLimit) -> ToolError {
    ToolError::soft(SoftKind::Failed, error.to_string())
}

fn warn_of_unknown(unknown: &[String], events: &EventSink) {
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        tracing::warn!(agent = %events.path(), names, "unknown tools in a list were dropped");
        events.notice(NoticeLevel::Warning, format!("unknown tools left out: {names}"));
    }
}
