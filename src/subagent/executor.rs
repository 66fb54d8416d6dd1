//! Starts sub-agents: the one way behind all faces. Everything is checked before there is any effect.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::definition::{BudgetSpec, Definition};
use super::factory::{Factory, Plan};
use super::order::{Order, ToolAccess};
use super::report::{Reporter, words};
use super::tree::{Ended, Joining, Membership, OverLimit};
use crate::agent::{Inbox, Prompt};
use crate::budget::Limits;
use crate::config::OnLimit;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, ChildMeta, End, EventKind, EventSink, Failure, Journal,
    NoJournal, NoticeLevel, Outcome, ResultBlock, Sender, ToolDetails,
};
use crate::provider::{Model, ModelSlot};
use crate::tool::{InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome};

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
}

/// Starts the sub-agents of one caller.
#[derive(Clone)]
pub struct Executor {
    factory: Arc<Factory>,
    caller: Caller,
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
        definitions.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = definitions.iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            InvalidInput(format!("`agent`: there is no agent {name}. The agents are: {known}."))
        })
    }

    fn check_tools(&self, order: &Order, definition: &Definition) -> Result<(), InvalidInput> {
        let selection = self.factory.tools_for(definition, &order.tools);
        let unknown = selection.unknown.join(", ");
        if self.factory.settings.strict_tools && !unknown.is_empty() {
            return Err(InvalidInput(format!("the list of tools: there are no tools {unknown}.")));
        }
        if !selection.nothing_left {
            return Ok(());
        }
        let own = self.factory.tools_for(definition, &ToolAccess::Inherit).tools;
        let known: Vec<_> = own.names().collect();
        let unknown = match unknown.as_str() {
            "" => String::new(),
            names => format!(" (unknown: {names})"),
        };
        let (name, known) = (&definition.name, known.join(", "));
        Err(InvalidInput(format!(
            "the list of tools leaves no tool{unknown}. The tools of {name} are: {known}."
        )))
    }

    /// A tool's description with the list of agents after it.
    #[must_use]
    pub fn with_agents(&self, description: &str) -> String {
        let mut text = description.trim().to_owned();
        for definition in self.factory.definitions.iter() {
            text.push_str(&format!("\n- {}: {}", definition.name, definition.description));
        }
        text
    }

    /// Which models may be named, where the configuration says so.
    #[must_use]
    pub fn models_text(&self) -> Option<String> {
        let allowed = &self.factory.settings.allowed_models;
        let lists: Vec<_> = allowed
            .iter()
            .map(|(provider, models)| format!("{provider}: {}", models.join(", ")))
            .collect();
        (!lists.is_empty()).then(|| format!("Default: your own. Allowed: {}.", lists.join("; ")))
    }

    /// Starts a sub-agent and waits for its end, unless it goes to the background before. The caller's slot is free for
    /// others meanwhile.
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
                tree.cancel(id);
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
    /// A soft error for bad input, for a budget that is used up and for a limit that is reached: then nothing was
    /// started.
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
        let model = self.model(&order, &definition);
        self.may_spend(&model, cx)?;
        let (factory, id) = (&self.factory, AgentId::generate());
        let events = cx.events.child(id);
        let spec = self.limits(&order, &definition);
        let budget = cx.budget.child(Limits {
            usd: spec.max_usd,
            tokens: spec.max_tokens,
            turns: None,
            tool_calls: spec.max_tool_calls,
            wall: spec.max_wall_s.map(Duration::from_secs),
        });
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
            background: order.background,
            worktree: None,
        };
        let joining = Joining {
            info: info.clone(),
            events: events.clone(),
            report_to: self.caller.inbox.clone(),
            budget: budget.clone(),
            may_queue: self.may_queue(order.background),
        };
        let member = factory.tree.join(joining).map_err(|error| over(&error))?;
        let unknown = factory.tools_for(&definition, &order.tools).unknown;
        let journal = self.journal(&info, events.path(), id);
        events.emit(EventKind::Started(Box::new(info.clone())));
        warn_of_unknown(&unknown, &events);
        let plan = Plan {
            name: info.name.clone(),
            definition,
            model,
            access: order.tools,
            system_prompt: order.system_prompt,
            fork: order.fork,
            memory: order.memory,
            max_turns,
            budget,
            span: cx.span,
            journal,
        };
        Ok(Child { plan, member, events, prompt: order.prompt })
    }

    fn may_queue(&self, background: bool) -> bool {
        match self.factory.settings.on_limit {
            OnLimit::Auto => !background,
            OnLimit::Queue => true,
            OnLimit::Error => false,
        }
    }

    fn model(&self, order: &Order, definition: &Definition) -> Model {
        let own = self.caller.model.get();
        match order.model(definition) {
            Some(name) => own.sibling(name, &self.factory.catalogue),
            None => (*own).clone(),
        }
    }

    /// What it may use: the least of what the call, the definition and the configuration allow. What the caller has left
    /// counts besides, because its account stands above.
    fn limits(&self, order: &Order, definition: &Definition) -> BudgetSpec {
        let settings = &self.factory.settings;
        let mut asked = order.budget.min(definition.budget);
        if order.default_budget {
            asked.max_tokens = asked.max_tokens.or(Some(settings.default_budget));
        }
        let config = BudgetSpec {
            max_usd: settings.max_usd,
            max_tokens: settings.max_budget_per_agent,
            max_turns: Some(settings.max_turns.min(definition.max_turns.unwrap_or(u32::MAX))),
            max_tool_calls: None,
            max_wall_s: settings.max_wall_s,
        };
        asked.min(config)
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

    /// Where its transcript goes. Nothing is written before its first message.
    fn journal(&self, info: &AgentInfo, path: &AgentPath, id: AgentId) -> Arc<dyn Journal> {
        if !self.factory.settings.persist {
            return Arc::new(NoJournal);
        }
        self.caller.journal.child(ChildMeta {
            id,
            path: path.clone(),
            agent: info.agent.clone(),
            name: info.name.clone(),
            description: info.description.clone(),
            tool_use_id: info.tool_use_id.clone(),
            model: info.model.clone(),
            depth: self.factory.settings.base_depth + path.depth(),
        })
    }

    /// Lets the agent live: a task that ends with it.
    fn live(&self, child: Child) {
        let (factory, caller) = (self.factory.clone(), self.caller.clone());
        self.factory.tree.spawn(async move { child.live(factory, caller).await });
    }
}

/// An agent that has joined the tree and waits to live.
struct Child {
    plan: Plan,
    member: Membership,
    events: EventSink,
    prompt: String,
}

impl Child {
    /// From the wait for a slot to the end.
    async fn live(self, factory: Arc<Factory>, caller: Caller) {
        let Self { mut plan, member, events, prompt } = self;
        let (id, name, kept) = (member.id(), plan.name.clone(), plan.journal.is_kept());
        let max_chars = factory.settings.result_max_chars;
        let outcome = if member.slot().await {
            let results = plan.fork.as_mut().map(|fork| std::mem::take(&mut fork.closing));
            let results = results.unwrap_or_default();
            let mut agent = factory.build(plan, &member, &events);
            let from = Sender::Agent { name: caller.name };
            let prompt = Prompt { from, results, ..Prompt::new(prompt) };
            let work = agent.work(Some(prompt), &events, member.cancel());
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| crashed())
        } else {
            Outcome::without_work(End::Cancelled { before_start: true })
        };
        factory.tree.end_below(events.path()).await;
        // What nobody waits for ends its parent's run by way of the queue.
        if let End::Failed { failure, message } = &outcome.end
            && is_fatal(*failure)
            && factory.tree.look_up(id).is_some_and(|agent| agent.background)
        {
            caller.inbox.fail(*failure, format!("{name}: {message}"));
        }
        let reporter = Reporter { id, name: &name, max_chars, kept, note: None };
        member.finish(reporter.ending(outcome));
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
            self.executor.factory.tree.cancel(self.id);
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
            && is_fatal(*failure)
        {
            return Err(ToolError::fatal(*failure, format!("{}: {message}", self.info.name)));
        }
        Ok(ToolOutcome {
            content: vec![ResultBlock::text(self.text.clone())],
            is_error: self.outcome.end != End::Completed,
            summary: words(&self.outcome.end),
            details: Some(ToolDetails::Agent(Box::new(self.report.clone()))),
        })
    }
}

/// Whether a child's failure ends its parent's run too.
fn is_fatal(failure: Failure) -> bool {
    matches!(failure, Failure::Auth | Failure::Autonomy | Failure::Internal)
}

fn over(error: &OverLimit) -> ToolError {
    ToolError::soft(SoftKind::Failed, error.to_string())
}

fn crashed() -> Outcome {
    let message = "The agent failed inside: this is a bug. The log says more.".to_owned();
    Outcome::without_work(End::Failed { failure: Failure::Internal, message })
}

fn warn_of_unknown(unknown: &[String], events: &EventSink) {
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        tracing::warn!(agent = %events.path(), names, "unknown tools in a list were dropped");
        events.notice(NoticeLevel::Warning, format!("unknown tools left out: {names}"));
    }
}
