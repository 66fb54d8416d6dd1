//! The life of a sub-agent: the wait for a slot, its folder, its run, and the cleanup.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::definition::{Isolation, ReturnMode};
use super::factory::{ChildSpec, Factory};
use super::host::HostLoop;
use super::report::Reporter;
use super::spawn_request::Fork;
use super::spawner::ParentContext;
use super::tree::AgentHandle;
use super::workspace::{FolderBound, Workspace};
use super::worktree::{NewWorktree, Worktree, WorktreeError, WorktreeOutcome};
use crate::agent::{Agent, Prompt};
use crate::budget::Budget;
use crate::config::ChildAuth;
use crate::exec::ShellReach;
use crate::protocol::{
    AgentId, EventKind, EventSink, Failure, Journal, JournalError, NoticeLevel, Role, RunEnd,
    RunOutcome, Sender,
};

/// How long an agent that is cancelled or out of time waits for git to inspect or remove its
/// worktree.
const FINISH_WAIT: Duration = Duration::from_secs(2);

/// A sub-agent that has joined the tree and has not started yet.
pub(super) struct ChildAgent {
    pub spec: ChildSpec,
    pub handle: AgentHandle,
    pub events: EventSink,
    /// The sink of its parent.
    pub parent_events: EventSink,
    /// Absent if it continues its stored conversation.
    pub prompt: Option<String>,
}

impl ChildAgent {
    /// Runs it, from the wait for a slot to the end.
    pub async fn run_child(self, factory: Arc<Factory>, caller: ParentContext) {
        let Self { spec: plan, handle: member, events, parent_events: above, prompt } = self;
        let (id, name, kept) = (member.id(), plan.name.clone(), plan.journal.is_kept());
        let returns = plan.definition.returns;
        let foreign = plan.foreign_provider;
        let (mut outcome, mut note) = if member.wait_for_slot().await {
            // The wait for a slot does not count as its own time.
            plan.budget.begin();
            let prompt = prompt.map(|text| {
                let from = Sender::Agent { name: caller.name.clone() };
                Prompt { from, ..Prompt::new(text) }
            });
            let max_chars = factory.settings.result_max_chars;
            let reporter = Reporter { id, name: &name, max_chars, kept, note: None };
            run_in_place(&factory, plan, prompt, &member, &events, &caller, reporter).await
        } else {
            (RunOutcome::without_work(RunEnd::Cancelled { before_start: true }), None)
        };
        if foreign && factory.settings.child_auth == ChildAuth::SoftIfOtherProvider {
            soften_auth(&mut outcome);
        }
        // After a fatal end, the message is all that anyone reads.
        if let RunEnd::Failed { failure, message } = &mut outcome.end
            && failure.is_fatal()
            && let Some(note) = note.take()
        {
            message.push_str(&format!(" ({note})"));
        }
        if returns == ReturnMode::Verbatim && outcome.end == RunEnd::Completed {
            above.emit(EventKind::Verbatim { name: name.clone(), text: outcome.text.clone() });
        }
        let max_chars = factory.settings.result_max_chars;
        let note = note.as_deref();
        let reporter = Reporter { id, name: &name, max_chars, kept, note };
        member.finish(reporter.completion(outcome));
    }
}

/// Builds the agent in its place, runs it, and cleans up. Also returns what became of its worktree.
async fn run_in_place(
    factory: &Arc<Factory>,
    mut plan: ChildSpec,
    prompt: Option<Prompt>,
    member: &AgentHandle,
    events: &EventSink,
    caller: &ParentContext,
    reporter: Reporter<'_>,
) -> (RunOutcome, Option<String>) {
    let worktree = match prepare_worktree(factory, &plan, member).await {
        Ok(worktree) => worktree,
        Err(end) => return (RunOutcome::without_work(end), None),
    };
    if let Some(worktree) = &worktree {
        let checkout = worktree.checkout();
        let before = plan.resumed.as_ref().and_then(|resumed| resumed.worktree.as_ref());
        let is_lost = before.is_some_and(|before| *before != checkout);
        plan.workspace = enter_worktree(worktree, &plan.workspace, events);
        plan.worktree_note = Some(worktree_note(worktree, is_lost));
        plan.journal.works_in(&checkout).await;
    }
    if let Some(fork) = &plan.fork
        && let Err(error) = write_inherited(fork, plan.journal.as_ref()).await
    {
        let end = RunEnd::Failed { failure: Failure::Storage, message: error.to_string() };
        return (RunOutcome::without_work(end), None);
    }
    let results = plan.fork.as_mut().map(|fork| std::mem::take(&mut fork.results));
    let prompt = prompt.map(|prompt| Prompt { results: results.unwrap_or_default(), ..prompt });
    let (host, budget, journal) = (plan.host, plan.budget.clone(), plan.journal.clone());
    plan.server_tools = factory.server_tools(&plan, events, member.cancel(), caller).await;
    let mut agent = factory.build(plan, member, events, caller);
    let context = agent.run_start_hooks(events, member.cancel()).await;
    let prompt = prompt.map(|prompt| prompt.with_note(context));
    let mut outcome = run_once(&mut agent, prompt, events, member).await;
    if host {
        let (agent, budget, journal) = (&mut agent, &budget, journal.as_ref());
        let host = HostLoop { agent, handle: member, events, budget, reporter, journal };
        outcome = host.run(outcome).await;
    }
    factory.tree.end_below(events.path()).await;
    let note = match worktree {
        Some(worktree) => Some(worktree.finish_until(wait_overdue(member, &budget)).await),
        None => None,
    };
    // Don't mention an empty worktree in the report.
    let note = note.filter(|finished| *finished != WorktreeOutcome::Removed);
    (outcome, note.map(|finished| finished.to_string()))
}

/// Runs an agent once; an internal bug ends the run as a failure.
pub(super) async fn run_once(
    agent: &mut Agent,
    prompt: Option<Prompt>,
    events: &EventSink,
    member: &AgentHandle,
) -> RunOutcome {
    let work = AssertUnwindSafe(agent.run_quietly(prompt, events, member.cancel())).catch_unwind();
    match work.await {
        Ok(outcome) => outcome,
        Err(_) => {
            let outcome = crash_outcome();
            agent.clear_up(&outcome, events).await;
            outcome
        }
    }
}

/// Writes the conversation that a fork continues into its own transcript, so that this can be read
/// and resumed by itself.
async fn write_inherited(fork: &Fork, journal: &dyn Journal) -> Result<(), JournalError> {
    for message in &fork.messages {
        // The thinking is the original's, whatever model the fork has.
        let model = fork.reasoning_model.as_deref().filter(|_| message.role == Role::Assistant);
        journal.append(message, model).await?;
    }
    Ok(())
}

/// Makes its worktree if it is to have one; returns the end of the agent if that fails.
///
/// # The states of a worktree that is being made
/// - *waiting*: no thread for git is free yet.
/// - *making*: git runs, in a process group of its own.
/// - *made*: the agent works in it. Its journal names it before the agent's first message.
/// - *failed*: git reported an error. What it made is removed, and the error becomes the agent's
///   end.
/// - *given up*: from either of the first two, when the agent is cancelled or its time is over. Git
///   is ended, and what it made is removed before the agent ends; a removal that takes longer than
///   [`FINISH_WAIT`] continues in the background. The waiting caller gets the end at once: the time
///   limit if the time of this agent or of one above it is over, otherwise that it was cancelled
///   before it began.
async fn prepare_worktree(
    factory: &Factory,
    plan: &ChildSpec,
    member: &AgentHandle,
) -> Result<Option<Worktree>, RunEnd> {
    let stop = CancellationToken::new();
    let mut made = Box::pin(open_worktree(factory, plan, member, &stop));
    let end = tokio::select! {
        biased;
        () = member.cancel().cancelled() => match plan.budget.time_up() {
            // The time of an agent above may be over: that cancels this one at the same moment.
            Some(limit) => RunEnd::TimeLimit { limit },
            None => RunEnd::Cancelled { before_start: true },
        },
        limit = plan.budget.timed_out() => RunEnd::TimeLimit { limit },
        made = &mut made => return made.map_err(|error| worktree_failure(&error)),
    };
    stop.cancel();
    let removal = async {
        // It may have been made at the same moment.
        if let Ok(Some(worktree)) = made.await {
            worktree.finish().await;
        }
    };
    // A longer removal continues without the agent.
    let _ = tokio::time::timeout(FINISH_WAIT, removal).await;
    Err(end)
}

/// Waits until an agent that has ended must not take any longer.
async fn wait_overdue(member: &AgentHandle, budget: &Budget) {
    tokio::select! {
        () = member.cancel().cancelled() => {}
        _ = budget.timed_out() => {}
    }
    tokio::time::sleep(FINISH_WAIT).await;
}

/// Reopens the worktree that the agent had, or creates a new one, if it is to have one.
async fn open_worktree(
    factory: &Factory,
    plan: &ChildSpec,
    member: &AgentHandle,
    stop: &CancellationToken,
) -> Result<Option<Worktree>, WorktreeError> {
    let known = plan.resumed.as_ref().and_then(|resumed| resumed.worktree.clone());
    if plan.definition.isolation == Isolation::None && known.is_none() {
        return Ok(None);
    }
    // A new worktree must not collide with one that the agent left under the same name.
    let id = if plan.resumed.is_some() { AgentId::generate() } else { member.id() };
    let new = NewWorktree {
        cwd: plan.workspace.cwd.to_path_buf(),
        project: factory.project.clone(),
        root: factory.worktrees.clone(),
        name: plan.name.clone(),
        id,
        env: factory.env.clone(),
        secrets: factory.builtin.secret_env.clone(),
        sandbox: factory.sandbox.clone(),
        pool: factory.concurrency.git().clone(),
        stop: stop.clone(),
    };
    if let Some(known) = known
        && let Some(found) = Worktree::reopen(new.clone(), known).await?
    {
        return Ok(Some(found));
    }
    Worktree::create(new).await.map(Some)
}

fn enter_worktree(worktree: &Worktree, before: &Workspace, events: &EventSink) -> Workspace {
    let shell = worktree.shell();
    let (path, branch) = (worktree.path().display(), worktree.branch());
    events.notice(NoticeLevel::Info, format!("works in {path} (branch {branch})"));
    if matches!(shell, ShellReach::Withheld) {
        let why = "this system cannot confine commands, so the agent has no shell";
        events.notice(NoticeLevel::Warning, why);
    }
    let bound = FolderBound { folder: worktree.path().into(), shell };
    Workspace { cwd: worktree.cwd().into(), env: before.env.clone(), bound: Some(bound) }
}

/// Tells an agent about its worktree. `is_lost` says that it is not the one where it worked before.
fn worktree_note(worktree: &Worktree, is_lost: bool) -> String {
    let (path, branch) = (worktree.path().display(), worktree.branch());
    let lost = match is_lost {
        true => {
            " It is a new one: the worktree of your last run is gone, because it was empty or was removed. What your conversation says about its files does not apply here."
        }
        false => "",
    };
    format!(
        "You work in your own git worktree at {path}, on the branch {branch}, made from the last commit: it has no uncommitted work of others. You cannot write anywhere else. Commit to this branch if that helps; other branches, tags and the stash are closed to you. What you leave there is kept and reported.{lost}"
    )
}

/// The end of an agent without a place to work.
fn worktree_failure(error: &WorktreeError) -> RunEnd {
    RunEnd::Failed { failure: Failure::Worktree, message: error.to_string() }
}

/// A key that another provider rejects is for the parent to work around.
fn soften_auth(outcome: &mut RunOutcome) {
    if let RunEnd::Failed { failure, .. } = &mut outcome.end
        && *failure == Failure::Auth
    {
        *failure = Failure::SoftAuth;
    }
}

fn crash_outcome() -> RunOutcome {
    let message = "The agent crashed: this is a bug. See the log.".to_owned();
    RunOutcome::without_work(RunEnd::Failed { failure: Failure::Internal, message })
}
