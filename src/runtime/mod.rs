//! Commands in, events out: owns the main agent of a session and serves one front end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Inbox};
use crate::hook::SessionEndReason;
use crate::protocol::{
    AgentPath, Answer, Command, CompactionState, EventKind, EventSink, Failure, NoticeLevel,
    QuestionId, QueuedPrompt, RunEnd, RunOutcome, SessionId, ShellId,
};
use crate::provider::ModelSlot;
use crate::subagent::AgentTree;

mod assemble;
mod hooks;
mod model;
mod project_context;
mod prompt;
mod resume;
mod servers;
mod session;
mod shell;
mod subagent_tools;

pub use assemble::RuntimeParts;
use assemble::{MainAgent, RuntimeSession};
use hooks::SessionStartHooks;
use model::ResolvedModel;
use project_context::{LoadedCommands, ProjectContext};
pub use session::OpenRequest;
use shell::UserShell;
use subagent_tools::SubagentTools;

/// How long to wait for the end of a run when the program exits.
const RUN_END_WAIT: Duration = Duration::from_secs(4);

/// The backend of one front end.
pub struct Runtime {
    parts: Arc<RuntimeParts>,
    events: EventSink,
    tree: AgentTree,
    model: Option<ModelSlot>,
    session: RuntimeSession,
    /// The main agent between its runs; built at the first prompt.
    main: Option<Box<Agent>>,
    /// The tools that start its sub-agents; absent if sub-agents are off.
    subagent_tools: Option<SubagentTools>,
    /// The instructions and skills of main; absent as long as main is.
    context: Option<ProjectContext>,
    /// Output of the `SessionStart` hooks; absent before a session is open.
    start_hooks: Option<SessionStartHooks>,
    inbox: Inbox,
    run: Option<MainRun>,
    /// Prompts for the run after the one that is stopping.
    next: Vec<QueuedPrompt>,
    /// Commands that can only run between runs, received during one.
    deferred: VecDeque<Command>,
    /// Whether a background failure has halted main: only a prompt makes it continue.
    halted: bool,
    /// Whether main may start sub-agents in its present run.
    sub_agents: bool,
    shell: UserShell,
    /// Notices for the user, shown as soon as a session is open.
    notices: Vec<String>,
    /// Resolved models. Resolving may take as long as the user's command that prints a key.
    resolved: (mpsc::Sender<ResolvedModel>, mpsc::Receiver<ResolvedModel>),
}

/// The main agent at work.
struct MainRun {
    task: JoinHandle<Box<Agent>>,
    cancel: CancellationToken,
}

impl Runtime {
    /// A runtime whose session is not open yet.
    pub fn new(mut parts: RuntimeParts) -> Self {
        let notices = std::mem::take(&mut parts.notices);
        let events = parts.events.sink();
        let tree = parts.agents.tree.clone();
        let inbox = tree.main_inbox();
        let model = parts.model.clone().map(ModelSlot::new);
        let secrets = parts.agents.builtin.secret_env.clone();
        let shell = UserShell::new(
            parts.cwd.clone(),
            parts.agents.env.clone(),
            secrets,
            parts.agents.redactor.clone(),
        );
        let session = RuntimeSession::empty(SessionId::generate(), parts.budget);
        Self {
            parts: Arc::new(parts),
            events,
            tree,
            model,
            session,
            main: None,
            subagent_tools: None,
            context: None,
            start_hooks: None,
            inbox,
            run: None,
            next: Vec::new(),
            deferred: VecDeque::new(),
            halted: false,
            sub_agents: true,
            shell,
            notices,
            resolved: mpsc::channel(4),
        }
    }

    /// Serves commands until `Shutdown`, or until the front end is gone. Nothing is left running
    /// when this returns.
    pub async fn serve(mut self, mut commands: mpsc::Receiver<Command>) {
        let leaving = loop {
            if self.run.is_none()
                && let Some(command) = self.deferred.pop_front()
            {
                self.handle(command).await;
                continue;
            }
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    None | Some(Command::Shutdown) => break SessionEndReason::Other,
                    Some(Command::Quit) => break SessionEndReason::PromptInputExit,
                    Some(command) => self.handle(command).await,
                },
                ended = wait_for_run(&mut self.run) => self.run_ended(ended).await,
                () = self.inbox.changed(), if self.run.is_none() => self.wake().await,
                () = self.shell.wait() => {}
                Some(resolved) = self.resolved.1.recv() => self.use_resolved_model(resolved),
            }
        };
        self.stop().await;
        self.run_end_hooks(leaving).await;
    }

    /// Stops everything concurrently and waits until it has ended.
    async fn stop(&mut self) {
        self.shell.cancel();
        if let Some(run) = &self.run {
            run.cancel.cancel();
        }
        // Main's foreground agents end with it; background agents are stopped here.
        let (tree, run, parts) = (self.tree.clone(), self.run.take(), self.parts.clone());
        let agents = tree.end_all(RUN_END_WAIT);
        let (agents_ended, ..) =
            tokio::join!(agents, self.shell.stop(), end_run(run), end_background(&parts));
        self.main = None;
        self.subagent_tools = None;
        if !agents_ended {
            tracing::error!("a sub-agent did not end in time");
        }
        // Started by the run while it was ending.
        end_background(&self.parts).await;
        // No agent is left to call them.
        self.parts.agents.mcp.end().await;
        if self.sync().await.is_err() {
            tracing::error!("putting the session onto the disk failed inside");
        }
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Prompt { to, prompt } => self.receive(to, prompt).await,
            Command::Retry => self.retry().await,
            Command::TakeBack { to, id } => self.take_back(&to, id),
            Command::Requeue { to, id, when } => {
                if let Some(inbox) = self.tree.inbox(&to) {
                    inbox.requeue(id, when);
                }
            }
            Command::Cancel(id) => {
                self.tree.cancel(id);
            }
            Command::Background(id) => {
                self.tree.detach(id);
            }
            Command::ResumeAgent(id) => self.resume_agent(id).await,
            Command::ReadTranscript(id) => self.read_transcript(id).await,
            Command::KillShell(id) => self.kill_shell(&id),
            Command::CancelTurn => self.cancel_turn(),
            Command::Answer { id, answer } => self.answer(id, answer),
            Command::SetMode(mode) => match self.parts.agents.gate.set_mode(mode) {
                Ok(()) => self.events.emit(EventKind::ModeChanged { mode }),
                Err(why) => self.events.notice(NoticeLevel::Warning, why.to_string()),
            },
            Command::SetModel { provider, model } => self.set_model(provider, model),
            // A front end sends these when main reports that it is done, which is just before the run is over.
            Command::Compact { .. } | Command::Clear | Command::Resume(_) if self.run.is_some() => {
                self.deferred.push_back(command);
            }
            Command::Shell { line } => self.shell.start(line, &self.events),
            Command::CancelShell => self.shell.cancel(),
            Command::Compact { instructions } => self.compact(instructions).await,
            Command::Clear => self.change_session(OpenRequest::New(SessionId::generate())).await,
            Command::Resume(id) => self.change_session(OpenRequest::Stored(id)).await,
            Command::Quit | Command::Shutdown => {}
        }
    }

    /// Stops the run, and a compaction that has not started.
    fn cancel_turn(&mut self) {
        if let Some(run) = &self.run {
            run.cancel.cancel();
        }
        let before = self.deferred.len();
        self.deferred.retain(|command| !matches!(command, Command::Compact { .. }));
        for _ in self.deferred.len()..before {
            let state = CompactionState::Cancelled;
            self.events.emit(EventKind::Compaction { by_hand: true, state });
        }
    }

    /// Replaces the conversation with a summary. Only between runs.
    async fn compact(&mut self, instructions: Option<String>) {
        let Some(model) = self.model.clone() else {
            self.events.notice(NoticeLevel::Error, "No model yet · /model");
            return;
        };
        let mut agent = self.take_main(model, None).await;
        let cancel = CancellationToken::new();
        let (token, events) = (cancel.clone(), self.events.clone());
        let task = tokio::spawn(async move {
            agent.compact(instructions.as_deref(), &events, &token).await;
            agent
        });
        self.run = Some(MainRun { task, cancel });
    }

    /// Takes main, with the current files, or builds it. `commands` were just read for its prompt.
    async fn take_main(
        &mut self,
        model: ModelSlot,
        commands: Option<LoadedCommands>,
    ) -> Box<Agent> {
        match self.main.take() {
            Some(mut agent) => {
                self.refresh_main(&mut agent, commands).await;
                agent
            }
            None => Box::new(self.build(model, commands).await),
        }
    }

    /// Builds the main agent on a blocking thread, because it reads the project's files.
    async fn build(&mut self, model: ModelSlot, commands: Option<LoadedCommands>) -> Agent {
        let (parts, events) = (self.parts.clone(), self.events.clone());
        let inbox = self.inbox.clone();
        let session = RuntimeSession {
            history: std::mem::take(&mut self.session.history),
            ..self.session.clone()
        };
        let build = move || assemble::main_agent(&parts, session, model, inbox, commands, &events);
        // The closure only fails by panicking; propagate that.
        match tokio::task::spawn_blocking(build).await {
            Ok(MainAgent { agent, subagent_tools, context }) => {
                (self.subagent_tools, self.context) = (subagent_tools, Some(context));
                agent
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Takes the agent back and continues with the prompts that were queued.
    async fn run_ended(&mut self, ended: Option<Box<Agent>>) {
        let run = self.run.take();
        // The answer is already out.
        drop(self.sync());
        let stopped = run.is_some_and(|run| run.cancel.is_cancelled());
        let Some(agent) = ended else {
            // Only a bug gets here. The agent is rebuilt from the transcript.
            self.events.emit(EventKind::Finished(Box::new(crashed())));
            self.reload().await;
            return;
        };
        self.halted |= agent.ended_fatally();
        self.main = Some(agent);
        let next = std::mem::take(&mut self.next);
        if stopped && next.is_empty() {
            // Don't start another run. Messages of other agents are read with the next prompt. The
            // user's queued prompts are returned here, in case the run ended before it could.
            for QueuedPrompt { id, text, .. } in self.inbox.take_typed() {
                self.events.emit(EventKind::PromptReturned { id, text });
            }
            self.inbox.clear_wakeup();
            return;
        }
        next.into_iter().for_each(|prompt| self.inbox.push(prompt));
        // An agent that did not complete has returned its queue: these prompts were sent later.
        self.start_next().await;
        self.notify_idle();
    }

    /// Handles a message that arrives while main is idle.
    async fn wake(&mut self) {
        if let Some((_, message)) = self.inbox.take_failure() {
            // No run of main is active, so none ends.
            self.events.notice(NoticeLevel::Error, message);
            self.halted = true;
        }
        if self.model.is_some() {
            self.start_next().await;
        }
    }

    /// Kills a background command, whoever owns it. Its end is reported as usual.
    fn kill_shell(&self, id: &ShellId) {
        match self.parts.agents.builtin.shells.find(id) {
            Some(shell) => self.tree.spawn(async move {
                shell.kill().await;
            }),
            None => self.events.notice(NoticeLevel::Error, format!("there is no command {id}")),
        }
    }

    fn answer(&self, id: QuestionId, answer: Answer) {
        if let Answer::Stop { reason } = answer {
            let run = self.run.as_ref();
            return self.parts.agents.gate.refuse(id, reason, || {
                run.iter().for_each(|run| run.cancel.cancel());
            });
        }
        // A program's approval holds even if its rules cannot be saved: the question is then closed.
        let closes = matches!(answer, Answer::Allowed(_));
        if let Err(error) = self.parts.agents.gate.answer(id, answer) {
            let why = error.to_string();
            match closes {
                true => self.events.notice(NoticeLevel::Error, why),
                false => self.events.emit(EventKind::AnswerRefused { id, why }),
            }
        }
    }
}

/// Waits for the end of a cancelled run, up to a limit.
async fn end_run(run: Option<MainRun>) {
    let Some(mut run) = run else { return };
    if tokio::time::timeout(RUN_END_WAIT, &mut run.task).await.is_err() {
        tracing::error!("a run did not end in time");
        run.task.abort();
    }
}

/// Kills the background commands of all agents and waits until they are gone.
async fn end_background(parts: &RuntimeParts) {
    parts.agents.builtin.shells.end_all(&AgentPath::root()).await;
}

/// Waits for the end of the run; forever if there is none. Returns `None` if it panicked.
async fn wait_for_run(run: &mut Option<MainRun>) -> Option<Box<Agent>> {
    match run {
        Some(run) => (&mut run.task).await.ok(),
        None => std::future::pending().await,
    }
}

fn crashed() -> RunOutcome {
    let message = "The agent crashed: this is a bug. See the log; your session is saved.";
    RunOutcome::without_work(RunEnd::Failed {
        failure: Failure::Internal,
        message: message.to_owned(),
    })
}
