//! Resumes a sub-agent that has ended: the same agent, with its transcript, in the background. It
//! keeps its id, its path (and with it its depth), its name, its model, and the terms of the call
//! that started it.

use std::path::PathBuf;
use std::sync::Arc;

use super::child::{ChildAgent, ResumedState};
use super::definition::{BudgetSpec, Definition};
use super::parent::ParentContext;
use super::report::{Completion, Reporter, end_text};
use super::spawn::Spawner;
use super::spawn_request::{Fork, SpawnRequest, ToolAccess};
use super::tree::{AgentResult, LimitError, NewAgent};
use crate::budget::Budget;
use crate::permission::AgentGate;
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, ChildMeta, EventSink, Journal, Message, ParentBounds, RunEnd,
    RunOutcome, Span, SpawnTerms, ToolDetails, WorktreeInfo,
};
use crate::provider::ModelSlot;

/// An ended agent as stored.
pub struct StoredAgent {
    pub meta: ChildMeta,
    /// How its last run ended.
    pub end: RunEnd,
    /// Its conversation; every call in it has its result.
    pub messages: Vec<Message>,
    /// The model whose thinking is in `messages`.
    pub reasoning_model: Option<String>,
    /// The worktree of its last run, if it had one.
    pub worktree: Option<WorktreeInfo>,
    /// Appends to the same file.
    pub journal: Arc<dyn Journal>,
    /// The reports of agents that it started and whose end it has not read, each with the agent's
    /// id and name.
    pub reports: Vec<(AgentId, String, String)>,
}

/// Why an agent cannot be resumed. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("cannot resume {name}: the agent definition {definition} no longer exists")]
    NoDefinition { name: String, definition: String },
    #[error("cannot resume {name}: a deny rule withholds the agent {definition}")]
    Denied { name: String, definition: String },
    #[error("cannot resume {name}: the agent that started it is no longer known")]
    NoParent { name: String },
    #[error(
        "cannot resume {name}: it was a fork, and an earlier version stored it without its system prompt; give its transcript to a new agent instead"
    )]
    Fork { name: String },
    #[error(
        "cannot resume {name}: an earlier version stored it without the bounds of the agent that started it; give its transcript to a new agent instead"
    )]
    NoBounds { name: String },
    #[error(
        "cannot resume {name}: it worked in the git worktree of another agent, {}, and cannot enter it alone; resume the other agent, which can start a new one there",
        folder.display()
    )]
    Worktree { name: String, folder: PathBuf },
    #[error("cannot resume {name}: {why}")]
    Refused { name: String, why: String },
    #[error("cannot resume {name} now: {over}")]
    OverLimit { name: String, over: LimitError },
}

/// Restores an ended agent of an earlier process for the tree, with the message that reports its
/// end to its parent. `max_chars` bounds what its parent gets; 0 is no limit.
pub fn restore_agent(
    meta: &ChildMeta,
    outcome: RunOutcome,
    worktree: Option<&WorktreeInfo>,
    max_chars: usize,
) -> (AgentResult, String) {
    let info = AgentInfo { max_turns: outcome.turns, ..AgentInfo::from(meta) };
    let kept = worktree.filter(|worktree| worktree.path.exists());
    let note = kept.map(|worktree| {
        format!("its worktree is {} on the branch {}", worktree.path.display(), worktree.branch)
    });
    let reporter = Reporter { note: note.as_deref(), ..stored_reporter(meta, max_chars) };
    let Completion { outcome, report, text, message, .. } = reporter.completion(outcome);
    (AgentResult { info, outcome, report, text }, message)
}

/// Reports a stored agent.
fn stored_reporter(meta: &ChildMeta, max_chars: usize) -> Reporter<'_> {
    let ChildMeta { id, name, number, .. } = meta;
    Reporter { id: *id, name, number: *number, max_chars, kept: true, note: None }
}

/// The result of the call that started a stored agent and waited for it, if the program ended
/// before the call had its result: the text, whether it is an error, and the agent's report.
pub fn call_result(
    meta: &ChildMeta,
    outcome: &RunOutcome,
    max_chars: usize,
) -> (String, bool, ToolDetails) {
    let (text, report) = stored_reporter(meta, max_chars).report(outcome);
    let text = match &outcome.end {
        RunEnd::Interrupted => format!(
            "interrupted: the program ended before this call finished; the sub-agent {} that it started was \
             stopped with it, and its transcript is kept\n\n{text}",
            meta.id
        ),
        RunEnd::Failed { failure, message } if failure.is_fatal() => {
            format!("{}: {message}", meta.name)
        }
        _ => text,
    };
    (text, outcome.end != RunEnd::Completed, ToolDetails::Agent(Box::new(report)))
}

impl Spawner {
    /// Resumes an ended agent in the background, below the account `above`, from the current
    /// configuration and its terms. This spawner's parent, which is main, gets its result. `root` is
    /// the main agent's sink.
    ///
    /// # Errors
    /// If it cannot be resumed; then nothing was started.
    pub async fn resume(
        &self,
        stored: StoredAgent,
        above: &Budget,
        root: &EventSink,
    ) -> Result<(), ResumeError> {
        let below = parent_bounds(&stored.meta)?;
        let gate = self.gate_above(&stored.meta, root)?;
        let StoredAgent { meta, end, messages, reasoning_model, worktree, journal, reports } =
            stored;
        let fork = resumed_fork(&meta)?;
        let definition = self.definition_of(&meta.name, &meta.agent)?;
        let mut spec = self.spec(stored_request(&meta), definition);
        let refused = |why| ResumeError::Refused { name: meta.name.clone(), why };
        let model = self.model(&spec).await.map_err(|error| refused(error.message))?;
        self.check_budget(&model, &spec.limits, above)
            .map_err(|error| refused(error.to_string()))?;
        let max_turns =
            spec.limits.max_turns.unwrap_or(self.factory().parts.settings.config.max_turns);
        spec.request.prompt = resume_prompt(&end, max_turns);
        let info = AgentInfo {
            prompt: spec.request.prompt.clone(),
            model: model.name.clone(),
            max_turns,
            max_usd: spec.limits.max_usd,
            color: spec.definition.color.clone(),
            background: true,
            ..AgentInfo::from(&meta)
        };
        let (events, tree) = (sink_at(root, &meta.path), &self.factory().parts.tree);
        let budget = above.child(spec.limits.account());
        let new = NewAgent {
            // Old files have no number.
            number: Some(info.number).filter(|number| *number > 0),
            info: |number| AgentInfo { number, ..info },
            events: events.clone(),
            report_to: self.parent().inbox.clone(),
            budget: budget.clone(),
            may_queue: false,
        };
        let over = |over| ResumeError::OverLimit { name: meta.name.clone(), over };
        let handle = tree.join(new).map_err(over)?;
        for (id, name, message) in reports {
            tree.push_report(handle.inbox(), &name, id, message);
        }
        let child = ChildAgent {
            has_foreign_provider: self.has_foreign_provider(&model),
            name: meta.name,
            model: ModelSlot::new(model),
            fork,
            resumed: Some(ResumedState { messages, reasoning_model, worktree }),
            max_turns,
            budget,
            span: Span::root(),
            journal,
            spec,
            handle,
            events,
            parent_events: root.clone(),
        };
        let tools = below.map(|below| below.tools.into());
        let parent = ParentContext { gate, tools, ..self.parent().clone() };
        Self::new(self.factory().clone(), parent).start(child);
        Ok(())
    }

    fn definition_of(&self, name: &str, definition: &str) -> Result<Arc<Definition>, ResumeError> {
        let gone = || ResumeError::NoDefinition {
            name: name.to_owned(),
            definition: definition.to_owned(),
        };
        let found = self.factory().definitions.get(definition).cloned().ok_or_else(gone)?;
        if self.factory().parts.gate.denies_agent(definition) {
            let (name, definition) = (name.to_owned(), definition.to_owned());
            return Err(ResumeError::Denied { name, definition });
        }
        Ok(found)
    }

    /// The agents between main and this one, from the top, with their definitions.
    fn above(&self, meta: &ChildMeta) -> Result<Vec<(AgentPath, Arc<Definition>)>, ResumeError> {
        let mut above = Vec::new();
        let mut path = meta.path.parent();
        while let Some((here, id)) = path.and_then(|path| path.id().map(|id| (path, id))) {
            let known = self.factory().parts.tree.look_up(id);
            let known = known.ok_or_else(|| ResumeError::NoParent { name: meta.name.clone() })?;
            above.push((here.clone(), self.definition_of(&meta.name, &known.info.agent)?));
            path = here.parent();
        }
        above.reverse();
        Ok(above)
    }

    /// The gate of its parent, so that its rights are bounded as they were.
    fn gate_above(&self, meta: &ChildMeta, root: &EventSink) -> Result<AgentGate, ResumeError> {
        let above = self.above(meta)?;
        Ok(above.into_iter().fold(self.parent().gate.clone(), |gate, (path, definition)| {
            gate.child(definition.name.clone(), sink_at(root, &path), &self.rights(&definition))
        }))
    }
}

/// The system prompt that a fork continues with; its conversation is its own by now.
fn resumed_fork(meta: &ChildMeta) -> Result<Option<Fork>, ResumeError> {
    if !meta.terms.fork {
        return Ok(None);
    }
    let gone = || ResumeError::Fork { name: meta.name.clone() };
    let system = meta.terms.system.as_deref().ok_or_else(gone)?.into();
    Ok(Some(Fork { system, messages: Vec::new(), results: Vec::new(), reasoning_model: None }))
}

/// The bounds of the sub-agent that started it, if one did. Those of a folder cannot be restored
/// without it.
fn parent_bounds(meta: &ChildMeta) -> Result<Option<ParentBounds>, ResumeError> {
    if meta.path.depth() < 2 {
        return Ok(None);
    }
    let name = meta.name.clone();
    let below = meta.terms.below.clone().ok_or(ResumeError::NoBounds { name })?;
    match below.folder {
        Some(folder) => Err(ResumeError::Worktree { name: meta.name.clone(), folder }),
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

/// The request that would start it again: the limits that the call and the configuration set then.
/// Stricter current limits still apply.
fn stored_request(meta: &ChildMeta) -> SpawnRequest {
    let SpawnTerms { provider, allowed_tools, denied_tools, system_prompt, memory, caps, .. } =
        meta.terms.clone();
    SpawnRequest {
        agent: Some(meta.agent.clone()),
        provider,
        model: Some(meta.model.clone()),
        tools: match allowed_tools {
            Some(list) => ToolAccess::Allow(list),
            None if denied_tools.is_empty() => ToolAccess::Inherit,
            None => ToolAccess::Deny(denied_tools),
        },
        system_prompt,
        memory,
        budget: BudgetSpec {
            max_usd: caps.usd,
            max_tokens: caps.tokens,
            max_turns: caps.turns,
            max_tool_calls: caps.tool_calls,
            max_wall_s: caps.wall_s,
        },
        background: true,
        is_fork: meta.terms.fork,
        ..SpawnRequest::default()
    }
}

/// The prompt for the resumed agent.
fn resume_prompt(end: &RunEnd, max_turns: u32) -> String {
    let how = end_text(end);
    format!(
        "[Your last run has ended: {how}. You are resumed now, with your tools and {max_turns} more turns. Files may have changed meanwhile. Continue your task where you stopped, and give your complete final answer again.]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolUseId;

    #[test]
    fn the_report_of_a_stored_agent_has_its_number() {
        let id = AgentId::generate();
        let meta = ChildMeta { number: 3, ..ChildMeta::for_test(id, ToolUseId::new("call")) };
        let outcome = RunOutcome::without_work(RunEnd::Completed);
        let (_, _, details) = call_result(&meta, &outcome, 0);
        let ToolDetails::Agent(report) = details else { panic!("{details:?}") };
        assert_eq!(report.number, 3);
        assert_eq!(restore_agent(&meta, outcome, None, 0).0.report.number, 3);
    }
}
