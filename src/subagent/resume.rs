//! Goes on with a sub-agent that has ended: the same agent, with its transcript, in the background.
//! It keeps its id, its path (and with it its depth), its name, its model, and the terms of the
//! call that once started it.

use std::path::PathBuf;
use std::sync::Arc;

use super::definition::{BudgetSpec, Definition};
use super::executor::{Caller, Executor};
use super::factory::Plan;
use super::life::Child;
use super::order::{Fork, Order, ToolAccess};
use super::report::{Reporter, words};
use super::tree::{Ended, Ending, Joining, OverLimit};
use crate::budget::Budget;
use crate::permission::AgentGate;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, Below, Checkout, ChildMeta, End, EnvOverlay, EventSink, Journal,
    Message, Outcome, Span, Terms, ToolDetails,
};
use crate::provider::{ChildModel, Model, ModelError};

/// An ended agent as it is stored.
pub struct Stored {
    pub meta: ChildMeta,
    /// How its last run ended.
    pub end: End,
    /// Its conversation; every call in it has its result.
    pub messages: Vec<Message>,
    /// The model whose thoughts stand in `messages`.
    pub thinker: Option<String>,
    /// Where it worked last, if that was a worktree of its own.
    pub worktree: Option<Checkout>,
    /// Goes on in the same file.
    pub journal: Arc<dyn Journal>,
    /// The messages of agents that it has started and whose end it has not read of, each with the
    /// agent's id and name.
    pub reports: Vec<(AgentId, String, String)>,
}

/// The conversation that a resumed agent goes on with.
#[derive(Clone, Debug)]
pub struct Resumed {
    pub messages: Vec<Message>,
    pub thinker: Option<String>,
    /// The worktree of its last run.
    pub worktree: Option<Checkout>,
}

/// Why an agent does not go on. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum NotResumed {
    #[error("{name} cannot go on: there is no agent definition {definition} any more")]
    NoDefinition { name: String, definition: String },
    #[error("{name} cannot go on: a deny rule withholds the agent {definition}")]
    Denied { name: String, definition: String },
    #[error("{name} cannot go on: the agent that had started it is not known any more")]
    NoParent { name: String },
    #[error(
        "{name} cannot go on: it was a fork, and an earlier version has stored it without its system prompt; its transcript can be handed to a new agent"
    )]
    Fork { name: String },
    #[error(
        "{name} cannot go on: an earlier version has stored it without the bounds of the agent that had started it; its transcript can be handed to a new agent"
    )]
    NoBounds { name: String },
    #[error(
        "{name} cannot go on: it worked within the git worktree of another agent, {}, and is not let in there without that one; go on with the other, and it can start a new agent there",
        folder.display()
    )]
    Worktree { name: String, folder: PathBuf },
    #[error("{name} cannot go on: {why}")]
    Refused { name: String, why: String },
    #[error("{name} cannot go on now: {over}")]
    OverLimit { name: String, over: OverLimit },
}

/// An agent of an earlier process as the tree keeps it, and the message that tells its parent of
/// its end. `max_chars` bounds what its parent gets; 0 is no limit.
#[must_use]
pub fn restored(
    meta: &ChildMeta,
    outcome: Outcome,
    worktree: Option<&Checkout>,
    max_chars: usize,
) -> (Ended, String) {
    let info = AgentInfo { max_turns: outcome.turns, ..AgentInfo::from(meta) };
    let kept = worktree.filter(|worktree| worktree.path.exists());
    let note = kept.map(|worktree| {
        format!("its worktree is {} on the branch {}", worktree.path.display(), worktree.branch)
    });
    let note = note.as_deref();
    let reporter = Reporter { id: meta.id, name: &meta.name, max_chars, kept: true, note };
    let Ending { outcome, report, text, message, .. } = reporter.ending(outcome);
    (Ended { info, outcome, report, text }, message)
}

/// The result of the call that had started a stored agent and waited for it, when the program ended
/// before the call had its result: the text, whether it is an error, and whose end it is.
#[must_use]
pub fn end_as_result(
    meta: &ChildMeta,
    outcome: &Outcome,
    max_chars: usize,
) -> (String, bool, ToolDetails) {
    let reporter = Reporter { id: meta.id, name: &meta.name, max_chars, kept: true, note: None };
    let (text, report) = reporter.report(outcome);
    let text = match &outcome.end {
        End::Interrupted => format!(
            "interrupted: the program ended before this call finished; the sub-agent {} that it had started was \
             stopped with it, and its transcript is kept\n\n{text}",
            meta.id
        ),
        End::Failed { failure, message } if failure.is_fatal() => {
            format!("{}: {message}", meta.name)
        }
        _ => text,
    };
    (text, outcome.end != End::Completed, ToolDetails::Agent(Box::new(report)))
}

impl Executor {
    /// Goes on with an ended agent in the background, below the account `above`. This executor's
    /// caller, which is main, gets its result. `root` is the main agent's sink.
    ///
    /// # Errors
    /// When it cannot go on; then nothing was started.
    pub async fn resume(
        &self,
        stored: Stored,
        above: &Budget,
        root: &EventSink,
    ) -> Result<(), NotResumed> {
        let path = stored.meta.path.clone();
        let reports = stored.reports.clone();
        let below = bounds(&stored.meta)?;
        let gate = self.gate_above(&stored.meta, root)?;
        let holds = below.map(|below| below.tools.into());
        let (plan, info) = self.decide(stored, above).await?;
        let events = sink_at(root, &path);
        let (name, prompt) = (info.name.clone(), info.prompt.clone());
        let joining = Joining {
            info,
            events: events.clone(),
            report_to: self.caller.inbox.clone(),
            budget: plan.budget.clone(),
            may_queue: false,
        };
        let over = |over| NotResumed::OverLimit { name, over };
        let member = self.factory.tree.join(joining).map_err(over)?;
        for (id, name, message) in reports {
            self.factory.tree.tell(member.inbox(), &name, id, message);
        }
        let child = Child { plan, member, events, above: root.clone(), prompt: Some(prompt) };
        let caller = Caller { gate, holds, ..self.caller.clone() };
        Self::new(self.factory.clone(), caller).live(child);
        Ok(())
    }

    /// Decides everything about the agent, with what holds today and with its terms. Its task is to go on.
    async fn decide(
        &self,
        stored: Stored,
        above: &Budget,
    ) -> Result<(Plan, AgentInfo), NotResumed> {
        let Stored { meta, end, messages, thinker, worktree, journal, reports: _ } = stored;
        let fork = fork(&meta)?;
        let known = self.definition_of(&meta.name, &meta.agent)?;
        let definition = if fork.is_some() { Arc::new(known.for_fork()) } else { known };
        let place = self.place(&definition);
        let model = self.model_of(&meta, &definition, &place.env).await?;
        let order = Order { budget: caps(&meta.terms), ..Order::default() };
        let spec = self.limits(&order, &definition);
        self.may_spend(&model, &spec, above).map_err(|error| NotResumed::Refused {
            name: meta.name.clone(),
            why: error.to_string(),
        })?;
        let max_turns = spec.max_turns.unwrap_or(self.factory.settings.max_turns);
        let info = AgentInfo {
            prompt: go_on(&end, max_turns),
            model: model.name.clone(),
            max_turns,
            color: definition.color.clone(),
            background: true,
            ..AgentInfo::from(&meta)
        };
        let rights = self.rights(&definition);
        let foreign_provider = self.caller.model.get().provider.name() != model.provider.name();
        let plan = Plan {
            name: meta.name,
            definition,
            model,
            access: access(&meta.terms),
            system_prompt: meta.terms.system_prompt,
            fork,
            resumed: Some(Resumed { messages, thinker, worktree }),
            memory: meta.terms.memory,
            max_turns,
            budget: above.child(spec.account()),
            span: Span::root(),
            journal,
            rights,
            place,
            introduction: None,
            foreign_provider,
            served: Vec::new(),
            host: false,
        };
        Ok((plan, info))
    }

    fn definition_of(&self, name: &str, definition: &str) -> Result<Arc<Definition>, NotResumed> {
        let gone = || NotResumed::NoDefinition {
            name: name.to_owned(),
            definition: definition.to_owned(),
        };
        let found = self.factory.definitions.get(definition).cloned().ok_or_else(gone)?;
        if self.factory.gate.withholds_agent(definition) {
            let (name, definition) = (name.to_owned(), definition.to_owned());
            return Err(NotResumed::Denied { name, definition });
        }
        Ok(found)
    }

    /// The agents between main and this one, from the top, with their definitions.
    fn above(&self, meta: &ChildMeta) -> Result<Vec<(AgentPath, Arc<Definition>)>, NotResumed> {
        let mut above = Vec::new();
        let mut path = meta.path.parent();
        while let Some((here, id)) = path.and_then(|path| path.id().map(|id| (path, id))) {
            let known = self.factory.tree.look_up(id);
            let known = known.ok_or_else(|| NotResumed::NoParent { name: meta.name.clone() })?;
            above.push((here.clone(), self.definition_of(&meta.name, &known.info.agent)?));
            path = here.parent();
        }
        above.reverse();
        Ok(above)
    }

    /// The gate of the agent that had started it, so that its rights are bounded as they were.
    fn gate_above(&self, meta: &ChildMeta, root: &EventSink) -> Result<AgentGate, NotResumed> {
        let above = self.above(meta)?;
        Ok(above.into_iter().fold(self.caller.gate.clone(), |gate, (path, definition)| {
            gate.child(definition.name.clone(), sink_at(root, &path), &self.rights(&definition))
        }))
    }

    /// The model that it had.
    async fn model_of(
        &self,
        meta: &ChildMeta,
        definition: &Definition,
        env: &EnvOverlay,
    ) -> Result<Model, NotResumed> {
        let parent = self.caller.model.get();
        let ask = ChildModel {
            parent: &parent,
            provider: meta.terms.provider.as_deref().or(definition.provider.as_deref()),
            model: Some(&meta.model),
            env: (!definition.env.is_empty()).then_some(env),
        };
        self.factory.models.child(ask).await.map_err(|error| {
            let (ModelError::Usage(why) | ModelError::Auth(why)) = error;
            NotResumed::Refused { name: meta.name.clone(), why }
        })
    }
}

/// What a fork goes on under; its conversation is its own by now.
fn fork(meta: &ChildMeta) -> Result<Option<Fork>, NotResumed> {
    if !meta.terms.fork {
        return Ok(None);
    }
    let gone = || NotResumed::Fork { name: meta.name.clone() };
    let system = meta.terms.system.as_deref().ok_or_else(gone)?.into();
    Ok(Some(Fork { system, messages: Vec::new(), closing: Vec::new(), thinker: None }))
}

/// The bounds of the sub-agent that had started it, if one had. Those of a folder cannot be put up
/// again without it.
fn bounds(meta: &ChildMeta) -> Result<Option<Below>, NotResumed> {
    if meta.path.depth() < 2 {
        return Ok(None);
    }
    let name = meta.name.clone();
    let below = meta.terms.below.clone().ok_or(NotResumed::NoBounds { name })?;
    match below.folder {
        Some(folder) => Err(NotResumed::Worktree { name: meta.name.clone(), folder }),
        None => Ok(Some(below)),
    }
}

/// The sink of the agent at `path`.
fn sink_at(root: &EventSink, path: &AgentPath) -> EventSink {
    match (path.parent(), path.id()) {
        (Some(above), Some(id)) => sink_at(root, &above).child(id),
        _ => root.clone(),
    }
}

fn access(terms: &Terms) -> ToolAccess {
    match &terms.allowed_tools {
        Some(list) => ToolAccess::Allow(list.clone()),
        None if terms.denied_tools.is_empty() => ToolAccess::Inherit,
        None => ToolAccess::Deny(terms.denied_tools.clone()),
    }
}

/// What the call and the configuration had granted then. What is stricter now counts.
fn caps(terms: &Terms) -> BudgetSpec {
    let caps = terms.caps;
    BudgetSpec {
        max_usd: caps.usd,
        max_tokens: caps.tokens,
        max_turns: caps.turns,
        max_tool_calls: caps.tool_calls,
        max_wall_s: caps.wall_s,
    }
}

/// What the agent is told.
fn go_on(end: &End, max_turns: u32) -> String {
    let how = words(end);
    format!(
        "[Your last run has ended: {how}. You go on now, with your tools and {max_turns} more turns. Files may have changed meanwhile. Finish your task where you stopped, and give your whole final answer again.]"
    )
}
