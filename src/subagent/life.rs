//! One sub-agent's life: the wait for a slot, its folder, its run, and what is left to do after it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::definition::{Isolation, Returns};
use super::executor::Caller;
use super::factory::{Factory, Plan};
use super::host::Host;
use super::order::Fork;
use super::report::Reporter;
use super::tree::Membership;
use super::workplace::{Bound, Workplace};
use super::worktree::{Finished, NewWorktree, Worktree, WorktreeError};
use crate::agent::{Agent, Prompt};
use crate::budget::Budget;
use crate::config::ChildAuth;
use crate::exec::ShellReach;
use crate::protocol::{
    AgentId, End, EventKind, EventSink, Failure, Journal, JournalError, NoticeLevel, Outcome, Role,
    Sender,
};

/// How long an agent that is cancelled or whose time is over waits for git to look into or remove
/// its worktree.
const FINISH_WAIT: Duration = Duration::from_secs(2);

/// An agent that has joined the tree and waits to live.
pub(super) struct Child {
    pub plan: Plan,
    pub member: Membership,
    pub events: EventSink,
    /// The sink of the one that started it.
    pub above: EventSink,
    /// Absent when it goes on with what its conversation holds.
    pub prompt: Option<String>,
}

impl Child {
    /// From the wait for a slot to the end.
    pub async fn live(self, factory: Arc<Factory>, caller: Caller) {
        let Self { plan, member, events, above, prompt } = self;
        let (id, name, kept) = (member.id(), plan.name.clone(), plan.journal.is_kept());
        let returns = plan.definition.returns;
        let foreign = plan.foreign_provider;
        let (mut outcome, mut note) = if member.slot().await {
            // The wait for a slot is not its own time.
            plan.budget.begin();
            let prompt = prompt.map(|text| {
                let from = Sender::Agent { name: caller.name.clone() };
                Prompt { from, ..Prompt::new(text) }
            });
            let max_chars = factory.settings.result_max_chars;
            let reporter = Reporter { id, name: &name, max_chars, kept, note: None };
            run(&factory, plan, prompt, &member, &events, &caller, reporter).await
        } else {
            (Outcome::without_work(End::Cancelled { before_start: true }), None)
        };
        if foreign && factory.settings.child_auth == ChildAuth::SoftIfOtherProvider {
            soften(&mut outcome);
        }
        // Of a fatal end, the message is all that anybody gets to read.
        if let End::Failed { failure, message } = &mut outcome.end
            && failure.is_fatal()
            && let Some(note) = note.take()
        {
            message.push_str(&format!(" ({note})"));
        }
        if returns == Returns::Verbatim && outcome.end == End::Completed {
            above.emit(EventKind::Verbatim { name: name.clone(), text: outcome.text.clone() });
        }
        let max_chars = factory.settings.result_max_chars;
        let note = note.as_deref();
        let reporter = Reporter { id, name: &name, max_chars, kept, note };
        member.finish(reporter.ending(outcome));
    }
}

/// Builds the agent in its place, lets it work, and clears up behind it. Also says what became of its folder.
async fn run(
    factory: &Arc<Factory>,
    mut plan: Plan,
    prompt: Option<Prompt>,
    member: &Membership,
    events: &EventSink,
    caller: &Caller,
    reporter: Reporter<'_>,
) -> (Outcome, Option<String>) {
    let worktree = match settle(factory, &plan, member).await {
        Ok(worktree) => worktree,
        Err(end) => return (Outcome::without_work(end), None),
    };
    if let Some(worktree) = &worktree {
        let checkout = worktree.checkout();
        let before = plan.resumed.as_ref().and_then(|resumed| resumed.worktree.as_ref());
        let is_lost = before.is_some_and(|before| *before != checkout);
        plan.place = settle_in(worktree, &plan.place, events);
        plan.introduction = Some(introduction(worktree, is_lost));
        plan.journal.works_in(&checkout).await;
    }
    if let Some(fork) = &plan.fork
        && let Err(error) = inherit(fork, plan.journal.as_ref()).await
    {
        let end = End::Failed { failure: Failure::Storage, message: error.to_string() };
        return (Outcome::without_work(end), None);
    }
    let results = plan.fork.as_mut().map(|fork| std::mem::take(&mut fork.closing));
    let prompt = prompt.map(|prompt| Prompt { results: results.unwrap_or_default(), ..prompt });
    let (host, budget, journal) = (plan.host, plan.budget.clone(), plan.journal.clone());
    plan.served = factory.serve(&plan, events, member.cancel(), caller).await;
    let mut agent = factory.build(plan, member, events, caller);
    let context = agent.begins(events, member.cancel()).await;
    let prompt = prompt.map(|prompt| prompt.with_note(context));
    let mut outcome = work(&mut agent, prompt, events, member).await;
    if host {
        let (agent, budget, journal) = (&mut agent, &budget, journal.as_ref());
        let host = Host { agent, member, events, budget, reporter, journal };
        outcome = host.stay(outcome).await;
    }
    factory.tree.end_below(events.path()).await;
    let note = match worktree {
        Some(worktree) => Some(worktree.finish_until(overdue(member, &budget)).await),
        None => None,
    };
    // Of a folder that held nothing there is nothing to say.
    let note = note.filter(|finished| *finished != Finished::Removed);
    (outcome, note.map(|finished| finished.to_string()))
}

/// One run of an agent, which a bug inside ends as a failure.
pub(super) async fn work(
    agent: &mut Agent,
    prompt: Option<Prompt>,
    events: &EventSink,
    member: &Membership,
) -> Outcome {
    let work = AssertUnwindSafe(agent.work(prompt, events, member.cancel())).catch_unwind();
    match work.await {
        Ok(outcome) => outcome,
        Err(_) => {
            let outcome = crashed();
            agent.clear_up(&outcome, events).await;
            outcome
        }
    }
}

/// Writes what a fork goes on with into its own transcript, so that this can be read and resumed by itself.
async fn inherit(fork: &Fork, journal: &dyn Journal) -> Result<(), JournalError> {
    for message in &fork.messages {
        // Its thoughts are the original's, whatever model the fork has.
        let model = fork.thinker.as_deref().filter(|_| message.role == Role::Assistant);
        journal.append(message, model).await?;
    }
    Ok(())
}

/// Its worktree, if it is to have one; the end of the agent when there is none for it.
///
/// # The states of a worktree that is being made
/// - *waiting*: no thread for git is free yet.
/// - *making*: git runs, in a process group of its own.
/// - *made*: the agent works in it. Its journal names it before the agent's first message.
/// - *failed*: git said why. What it made is removed, and the reason becomes the agent's end.
/// - *given up*: from either of the first two, when the agent is cancelled or its time is over. Git
///   is ended, and what it made is removed before the agent ends; a removal that takes longer than
///   [`FINISH_WAIT`] goes on in the background. The one who waits for the agent gets that end at
///   once: the time limit if the time of this agent or of one above it is over, and else that it
///   was cancelled before it began.
async fn settle(
    factory: &Factory,
    plan: &Plan,
    member: &Membership,
) -> Result<Option<Worktree>, End> {
    let stop = CancellationToken::new();
    let mut made = Box::pin(worktree(factory, plan, member, &stop));
    let end = tokio::select! {
        biased;
        () = member.cancel().cancelled() => match plan.budget.time_up() {
            // The time of an agent above may be over: that cancels this one in the same moment.
            Some(limit) => End::TimeLimit { limit },
            None => End::Cancelled { before_start: true },
        },
        limit = plan.budget.out_of_time() => End::TimeLimit { limit },
        made = &mut made => return made.map_err(|error| unworkable(&error)),
    };
    stop.cancel();
    let removal = async {
        // It may have been made in the same moment.
        if let Ok(Some(worktree)) = made.await {
            worktree.finish().await;
        }
    };
    // What takes longer goes on without the agent.
    let _ = tokio::time::timeout(FINISH_WAIT, removal).await;
    Err(end)
}

/// Waits until an agent that has ended may not take any longer.
async fn overdue(member: &Membership, budget: &Budget) {
    tokio::select! {
        () = member.cancel().cancelled() => {}
        _ = budget.out_of_time() => {}
    }
    tokio::time::sleep(FINISH_WAIT).await;
}

/// The worktree of an agent that is to have one: the one that it had, or else a new one.
async fn worktree(
    factory: &Factory,
    plan: &Plan,
    member: &Membership,
    stop: &CancellationToken,
) -> Result<Option<Worktree>, WorktreeError> {
    let known = plan.resumed.as_ref().and_then(|resumed| resumed.worktree.clone());
    if plan.definition.isolation == Isolation::None && known.is_none() {
        return Ok(None);
    }
    // What an agent has left is not to be met by a new worktree of the same name.
    let id = if plan.resumed.is_some() { AgentId::generate() } else { member.id() };
    let new = NewWorktree {
        cwd: plan.place.cwd.to_path_buf(),
        project: factory.project.clone(),
        root: factory.worktrees.clone(),
        name: plan.name.clone(),
        id,
        env: factory.env.clone(),
        secrets: factory.builtin.secret_env.clone(),
        sandbox: factory.sandbox.clone(),
        pool: factory.operations.git().clone(),
        stop: stop.clone(),
    };
    if let Some(known) = known
        && let Some(found) = Worktree::reopen(new.clone(), known).await?
    {
        return Ok(Some(found));
    }
    Worktree::create(new).await.map(Some)
}

fn settle_in(worktree: &Worktree, before: &Workplace, events: &EventSink) -> Workplace {
    let shell = worktree.shell();
    let (path, branch) = (worktree.path().display(), worktree.branch());
    events.notice(NoticeLevel::Info, format!("works in {path} (branch {branch})"));
    if matches!(shell, ShellReach::Withheld) {
        let why = "commands cannot be confined on this system: it has no shell";
        events.notice(NoticeLevel::Warning, why);
    }
    let bound = Bound { folder: worktree.path().into(), shell };
    Workplace { cwd: worktree.cwd().into(), env: before.env.clone(), bound: Some(bound) }
}

/// What an agent in a worktree must know of it. `is_lost` says that this is not the one where it
/// worked before.
fn introduction(worktree: &Worktree, is_lost: bool) -> String {
    let (path, branch) = (worktree.path().display(), worktree.branch());
    let lost = match is_lost {
        true => {
            " It is a new one: that of your last run is not there any more, because nothing was left in it or because it was removed. What your conversation says of its files does not hold here."
        }
        false => "",
    };
    format!(
        "You work in a git worktree of your own at {path}, on the branch {branch}, made from the last commit: uncommitted work of others is not in it. You can write nowhere else. Commit to this branch if that helps; other branches, tags and the stash are closed to you. What you leave there is kept and reported.{lost}"
    )
}

/// The end of an agent for which there is no place to work.
fn unworkable(error: &WorktreeError) -> End {
    End::Failed { failure: Failure::Worktree, message: error.to_string() }
}

/// A key that another provider rejects is for the parent to work around.
fn soften(outcome: &mut Outcome) {
    if let End::Failed { failure, .. } = &mut outcome.end
        && *failure == Failure::Auth
    {
        *failure = Failure::SoftAuth;
    }
}

fn crashed() -> Outcome {
    let message = "The agent failed inside: this is a bug. The log says more.".to_owned();
    Outcome::without_work(End::Failed { failure: Failure::Internal, message })
}
