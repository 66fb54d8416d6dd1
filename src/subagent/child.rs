//! The life of a sub-agent: the wait for a slot, its folder, its runs, and the cleanup.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::child_spec::ChildSpec;
use super::definition::{Isolation, ReturnMode};
use super::factory::Factory;
use super::parent::ParentContext;
use super::report::Reporter;
use super::spawn_request::Fork;
use super::tree::AgentHandle;
use super::workspace::{FolderBound, Workspace};
use super::worktree::{NewWorktree, Worktree, WorktreeError, WorktreeOutcome};
use crate::agent::{Agent, Prompt, PromptContext};
use crate::budget::Budget;
use crate::config::ChildAuth;
use crate::exec::ShellReach;
use crate::protocol::{
    AgentId, EventKind, EventSink, Failure, Journal, JournalError, Message, NoticeLevel, Role,
    RunEnd, RunOutcome, Sender, Span, WorktreeInfo,
};
use crate::provider::ModelSlot;

/// How long an agent that is cancelled or out of time waits for git to inspect or remove its
/// worktree.
const FINISH_WAIT: Duration = Duration::from_secs(2);

/// A sub-agent that has joined the tree and has not started yet.
pub(super) struct ChildAgent {
    pub spec: ChildSpec,
    pub name: String,
    pub model: ModelSlot,
    /// Whether its provider differs from its parent's.
    pub has_foreign_provider: bool,
    /// The conversation that it continues, if it is a fork.
    pub fork: Option<Fork>,
    /// Its own conversation so far, if it is resumed.
    pub resumed: Option<ResumedState>,
    pub max_turns: u32,
    /// Its account.
    pub budget: Budget,
    /// The span of the call that starts it.
    pub span: Span,
    pub journal: Arc<dyn Journal>,
    pub handle: AgentHandle,
    pub events: EventSink,
    /// The sink of its parent.
    pub parent_events: EventSink,
}

/// The conversation that a resumed agent continues.
#[derive(Clone, Debug)]
pub struct ResumedState {
    pub messages: Vec<Message>,
    pub reasoning_model: Option<String>,
    /// The worktree of its last run.
    pub worktree: Option<WorktreeInfo>,
}

impl ChildAgent {
    /// Runs it, from the wait for a slot to its report.
    pub async fn run(mut self, factory: Arc<Factory>, parent: ParentContext) {
        let (mut outcome, mut note) = if self.handle.wait_for_slot().await {
            // The wait for a slot does not count as its own time.
            self.budget.begin();
            self.run_in_place(&factory, &parent).await
        } else {
            (RunOutcome::without_work(RunEnd::Cancelled { before_start: true }), None)
        };
        let soft = factory.parts.settings.config.child_auth == ChildAuth::SoftIfOtherProvider;
        if let RunEnd::Failed { failure, message } = &mut outcome.end {
            // A key that another provider rejects is for the parent to work around.
            if self.has_foreign_provider && soft && *failure == Failure::Auth {
                *failure = Failure::SoftAuth;
            }
            // After a fatal end, the message is all that anyone reads.
            if failure.is_fatal()
                && let Some(note) = note.take()
            {
                message.push_str(&format!(" ({note})"));
            }
        }
        if self.spec.definition.returns == ReturnMode::Verbatim && outcome.end == RunEnd::Completed
        {
            let (name, text) = (self.name.clone(), outcome.text.clone());
            self.parent_events.emit(EventKind::Verbatim { name, text });
        }
        let completion = self.reporter(&factory, note.as_deref()).completion(outcome);
        self.handle.finish(completion);
    }

    fn reporter<'a>(&'a self, factory: &Factory, note: Option<&'a str>) -> Reporter<'a> {
        let max_chars = factory.parts.settings.result_max_chars();
        let kept = self.journal.is_kept();
        let number = self.handle.info().number;
        Reporter { id: self.handle.id(), name: &self.name, number, max_chars, kept, note }
    }

    /// Builds the agent in its place, runs it, and cleans up. Also returns what became of its
    /// worktree.
    async fn run_in_place(
        &mut self,
        factory: &Arc<Factory>,
        parent: &ParentContext,
    ) -> (RunOutcome, Option<String>) {
        let worktree = match self.prepare_worktree(factory).await {
            Ok(worktree) => worktree,
            Err(end) => return (RunOutcome::without_work(end), None),
        };
        let mut worktree_text = None;
        if let Some(worktree) = &worktree {
            let checkout = worktree.checkout();
            let before = self.resumed.as_ref().and_then(|resumed| resumed.worktree.as_ref());
            let is_lost = before.is_some_and(|before| *before != checkout);
            self.spec.workspace = enter_worktree(worktree, &self.spec.workspace, &self.events);
            worktree_text = Some(worktree_note(worktree, is_lost));
            self.events.emit(EventKind::WorktreeEntered(Box::new(checkout.clone())));
            self.journal.works_in(&checkout).await;
        }
        if let Some(fork) = &self.fork
            && let Err(error) = write_inherited(fork, self.journal.as_ref()).await
        {
            let end = RunEnd::Failed { failure: Failure::Storage, message: error.to_string() };
            return (RunOutcome::without_work(end), None);
        }
        let results = self.fork.as_mut().map(|fork| std::mem::take(&mut fork.results));
        let mut prompt = Prompt {
            from: Sender::Agent { name: parent.name.clone() },
            context: PromptContext {
                results: results.unwrap_or_default(),
                ..PromptContext::default()
            },
            ..Prompt::new(std::mem::take(&mut self.spec.request.prompt))
        };
        let cancel = self.handle.cancel().clone();
        let server_tools = factory.server_tools(&self.spec, &self.events, &cancel, parent).await;
        let mut agent = factory.build(self, &server_tools, worktree_text.as_deref(), parent);
        prompt.context.hooks.extend(agent.run_start_hooks(&self.events, &cancel).await);
        let mut outcome = self.run_once(&mut agent, prompt).await;
        if self.spec.request.host {
            outcome = self.stay(&mut agent, outcome, factory).await;
        }
        factory.parts.tree.end_below(self.events.path()).await;
        let note = match worktree {
            Some(worktree) => Some(worktree.finish_until(self.wait_overdue()).await),
            None => None,
        };
        // Don't mention an empty worktree in the report.
        if note == Some(WorktreeOutcome::Removed) {
            self.events.emit(EventKind::WorktreeRemoved);
        }
        let note = note.filter(|finished| *finished != WorktreeOutcome::Removed);
        (outcome, note.map(|finished| finished.to_string()))
    }

    /// Runs the agent once; an internal bug ends the run as a failure.
    async fn run_once(&self, agent: &mut Agent, prompt: Prompt) -> RunOutcome {
        let run = agent.run_quietly(Some(prompt), &self.events, self.handle.cancel());
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => {
                let message = "The agent crashed: this is a bug. See the log.".to_owned();
                let end = RunEnd::Failed { failure: Failure::Internal, message };
                let outcome = RunOutcome::without_work(end);
                agent.clear_up(&outcome, &self.events).await;
                outcome
            }
        }
    }

    /// Host mode: lets the agent stay after its first run, and work again on each message, until a
    /// run does not complete, its time is over, or it is cancelled. Returns all of its runs as one,
    /// with the text of the last.
    async fn stay(&self, agent: &mut Agent, first: RunOutcome, factory: &Factory) -> RunOutcome {
        let answer = |run: &RunOutcome| {
            let (text, _) = self.reporter(factory, None).report(run);
            let (name, id) = (&self.name, self.handle.id());
            format!("[{name} ({id}) has answered, and stays for messages. Its answer:]\n\n{text}")
        };
        let mut unread = Some(answer(&first));
        let mut total = first;
        while total.end == RunEnd::Completed {
            self.handle.idle(unread.take());
            let end = tokio::select! {
                biased;
                limit = self.budget.timed_out() => Some(RunEnd::TimeLimit { limit }),
                woken = self.handle.wait_for_wake() => {
                    (!woken).then_some(RunEnd::Cancelled { before_start: false })
                }
            };
            if let Some(end) = end {
                total.end = end;
                break;
            }
            // The message may have been taken back.
            let Some(next) = self.handle.inbox().take_first() else { continue };
            let run = self.run_once(agent, next.into()).await;
            unread = Some(answer(&run));
            total = add_runs(&total, run);
        }
        // The last end written is the one that counts; each run has written its own.
        if let Err(error) = self.journal.finish(&total).await {
            tracing::warn!(%error, "cannot write the end of an agent");
        }
        total
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
    async fn prepare_worktree(&self, factory: &Factory) -> Result<Option<Worktree>, RunEnd> {
        let stop = CancellationToken::new();
        let mut made = Box::pin(self.open_worktree(factory, &stop));
        let end = tokio::select! {
            biased;
            () = self.handle.cancel().cancelled() => match self.budget.time_up() {
                // The time of an agent above may be over: that cancels this one at the same moment.
                Some(limit) => RunEnd::TimeLimit { limit },
                None => RunEnd::Cancelled { before_start: true },
            },
            limit = self.budget.timed_out() => RunEnd::TimeLimit { limit },
            made = &mut made => {
                return made.map_err(|error| RunEnd::Failed {
                    failure: Failure::Worktree,
                    message: error.to_string(),
                });
            },
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

    /// Reopens the worktree that the agent had, or creates a new one, if it is to have one.
    async fn open_worktree(
        &self,
        factory: &Factory,
        stop: &CancellationToken,
    ) -> Result<Option<Worktree>, WorktreeError> {
        let known = self.resumed.as_ref().and_then(|resumed| resumed.worktree.clone());
        if self.spec.definition.isolation == Isolation::None && known.is_none() {
            return Ok(None);
        }
        // A new worktree must not collide with one that the agent left under the same name.
        let id = if self.resumed.is_some() { AgentId::generate() } else { self.handle.id() };
        let new = NewWorktree {
            cwd: self.spec.workspace.cwd.to_path_buf(),
            project: factory.parts.project.clone(),
            root: factory.parts.worktrees.clone(),
            name: self.name.clone(),
            id,
            env: factory.parts.env.clone(),
            secrets: factory.parts.builtin.secret_env.clone(),
            sandbox: factory.parts.sandbox.clone(),
            pool: factory.concurrency.pools().git.clone(),
            stop: stop.clone(),
        };
        if let Some(known) = known.clone()
            && let Some(found) = Worktree::reopen(new.clone(), known).await?
        {
            return Ok(Some(found));
        }
        Worktree::create_after(new, known).await.map(Some)
    }

    /// Waits until an agent that has ended must not take any longer.
    async fn wait_overdue(&self) {
        tokio::select! {
            () = self.handle.cancel().cancelled() => {}
            _ = self.budget.timed_out() => {}
        }
        tokio::time::sleep(FINISH_WAIT).await;
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
        true if worktree.has_merged_work() => {
            " It is a new one: the user has merged the work of your last run, and this one begins with the commit that holds it, without what others have done since."
        }
        true => {
            " It is a new one: the worktree of your last run is gone, because it was empty or was removed. What your conversation says about its files does not apply here."
        }
        false => "",
    };
    format!(
        "You work in your own git worktree at {path}, on the branch {branch}, made from the last commit: it has no uncommitted work of others. You cannot write anywhere else. Commit to this branch if that helps; other branches, tags and the stash are closed to you. What you leave there is kept and reported.{lost}"
    )
}

/// Adds up two successive runs.
fn add_runs(before: &RunOutcome, run: RunOutcome) -> RunOutcome {
    let mut total = RunOutcome {
        turns: before.turns + run.turns,
        tool_uses: before.tool_uses + run.tool_uses,
        took: before.took + run.took,
        ..run
    };
    total.usage += before.usage;
    total.cost += before.cost;
    total
}
