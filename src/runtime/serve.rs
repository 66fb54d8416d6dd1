//! Commands in, events out: owns the main agent of a session and serves one front end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::main_agent::{MainAgent, main_agent};
use super::model_choice::{ModelChoice, ResolvedModel};
use super::parts::RuntimeParts;
use super::project_context::{LoadedCommands, ProjectContext};
use super::session::{OpenRequest, RuntimeSession, SessionBlock};
use super::shell::UserShell;
use super::start_hooks::SessionStartHooks;
use super::subagent_tools::{SubagentTools, with_skills};
use crate::agent::{Agent, Inbox, PromptContext};
use crate::hook::SessionEndReason;
use crate::protocol::{
    AgentPath, Answer, Command, CompactionState, EventKind, EventSink, Failure, ModelCause,
    NoticeLevel, PermissionMode, QuestionId, QueuedPrompt, RunEnd, RunOutcome, SessionId, ShellId,
};
use crate::provider::ModelSlot;
use crate::subagent::AgentTree;

/// How long to wait for the end of a run when the program exits.
pub(super) const RUN_END_WAIT: Duration = Duration::from_secs(4);

/// How long a command's output is gathered before the user sees it.
const SHELL_READ_GAP: Duration = Duration::from_millis(100);

/// The backend of one front end.
pub struct Runtime {
    pub(super) parts: Arc<RuntimeParts>,
    pub(super) events: EventSink,
    pub(super) tree: AgentTree,
    pub(super) model: Option<ModelSlot>,
    pub(super) session: RuntimeSession,
    /// The main agent between its runs; built at the first prompt.
    pub(super) main: Option<Box<Agent>>,
    /// The tools that start its sub-agents; absent if sub-agents are off.
    pub(super) subagent_tools: Option<SubagentTools>,
    /// The instructions and skills of main; absent as long as main is.
    pub(super) project: Option<ProjectContext>,
    /// Output of the `SessionStart` hooks; absent before a session is open.
    pub(super) start_hooks: Option<SessionStartHooks>,
    pub(super) inbox: Inbox,
    pub(super) run: Option<MainRun>,
    /// Prompts for the run after the one that is stopping, or after what holds prompts up.
    pub(super) next: Vec<QueuedPrompt>,
    /// Commands that can only run between runs, received during one.
    deferred: VecDeque<Command>,
    /// The effort that the user chose in this run of the program, `None` within for the default.
    effort: Option<Option<String>>,
    /// Whether a background failure has halted main: only a prompt makes it continue.
    pub(super) halted: bool,
    /// Whether main may start sub-agents in its present run.
    pub(super) sub_agents: bool,
    pub(super) shell: UserShell,
    /// Notices for the user, shown as soon as a session is open.
    pub(super) notices: Vec<String>,
    /// The model that the user chose last, until it is in use.
    pub(super) choice: ModelChoice,
    /// Waits for new output of the background command that the user looks at.
    shell_reader: Option<AbortOnDropHandle<()>>,
}

/// Whether a command makes agents or the shell work in the session.
fn is_work(command: &Command) -> bool {
    matches!(
        command,
        Command::Prompt { .. }
            | Command::Retry
            | Command::ResumeAgent(_)
            | Command::Shell { .. }
            | Command::Compact { .. }
    )
}

/// The main agent at work.
pub(super) struct MainRun {
    pub(super) task: JoinHandle<EndedRun>,
    pub(super) cancel: CancellationToken,
}

/// The main agent after a run.
pub(super) struct EndedRun {
    pub agent: Box<Agent>,
    /// The context of a prompt that hooks rejected, kept for the next prompt.
    pub unread: Option<PromptContext>,
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
            project: None,
            start_hooks: None,
            inbox,
            run: None,
            next: Vec::new(),
            deferred: VecDeque::new(),
            effort: None,
            halted: false,
            sub_agents: true,
            shell,
            notices,
            choice: ModelChoice::default(),
            shell_reader: None,
        }
    }

    /// Serves commands until `Shutdown`, or until the front end is gone. Nothing is left running
    /// when this returns.
    pub async fn serve(mut self, mut commands: mpsc::Receiver<Command>) {
        let reason = loop {
            if self.run.is_none()
                && !self.choice.is_pending()
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
                () = self.shell.wait() => self.shell_ended().await,
                resolved = self.choice.wait() => self.model_resolved(resolved).await,
            }
        };
        self.stop().await;
        self.run_end_hooks(reason).await;
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
            tracing::error!("cannot sync the session to disk: its task failed");
        }
    }

    async fn handle(&mut self, command: Command) {
        if let Some(block) = self.session.block.filter(|_| is_work(&command)) {
            return self.refuse(command, block);
        }
        match command {
            Command::Prompt { to, prompt } => self.receive(to, prompt).await,
            // They are for the model that the user has just chosen.
            Command::Retry | Command::Compact { .. } if self.choice.is_pending() => {
                self.deferred.push_back(command);
            }
            Command::Retry => self.retry().await,
            Command::TakeBack { to, id } => self.take_back(&to, id),
            Command::Requeue { to, id, when } => self.requeue(&to, id, when),
            Command::Cancel(id) => self.tree.cancel_for_user(id),
            Command::Background(id) => {
                self.tree.detach(id);
            }
            Command::ResumeAgent(id) => self.resume_agent(id).await,
            Command::ReadTranscript(id) => self.read_transcript(id).await,
            Command::KillShell(id) => self.kill_shell(&id),
            Command::ReadShell { id, seen } => self.read_shell(id, seen),
            Command::CancelTurn => self.cancel_turn(),
            Command::Answer { id, answer } => self.answer(id, answer),
            Command::SetMode { mode, answers } => self.set_mode(mode, answers),
            Command::SetModel { provider, model } => {
                self.choice.start(self.parts.agents.models.clone(), provider, model);
            }
            Command::SetEffort { effort } => self.set_effort(effort),
            // A front end sends these when main reports that it is done, which is just before the run is over.
            Command::Compact { .. } | Command::Clear | Command::Fork | Command::Resume(_)
                if self.run.is_some() =>
            {
                self.deferred.push_back(command);
            }
            Command::Fork => self.copy_session().await,
            Command::Note { text } => {
                if let Err(error) = self.session.journal.note(&text).await {
                    self.events.notice(NoticeLevel::Warning, error.to_string());
                }
            }
            Command::Shell { line } => self.shell.start(line, &self.events),
            Command::CancelShell => self.shell.cancel(),
            Command::Compact { instructions } => self.compact(instructions).await,
            Command::Clear => self.change_session(OpenRequest::New(SessionId::generate())).await,
            Command::Resume(id) => self.change_session(OpenRequest::Stored(id)).await,
            Command::Quit | Command::Shutdown => {}
        }
    }

    /// Refuses a command in a session in which nothing can be done.
    fn refuse(&self, command: Command, block: SessionBlock) {
        match command {
            Command::Prompt { to, prompt: QueuedPrompt { id, text, .. } } => {
                let (events, why) = (self.parts.events.sink_at(to), block.message().to_owned());
                events.emit(EventKind::PromptRefused { id, text, why });
            }
            _ => self.events.notice(NoticeLevel::Error, block.message()),
        }
    }

    /// Stops the run, and a retry or compaction that has not started.
    fn cancel_turn(&mut self) {
        if let Some(run) = &self.run {
            self.tree.cancel_main_run(&run.cancel);
        }
        self.deferred.retain(|command| !matches!(command, Command::Retry));
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
            EndedRun { agent, unread: None }
        });
        self.run = Some(MainRun { task, cancel });
    }

    /// Takes main, with the current files, or builds it. `commands` were just read for its prompt.
    pub(super) async fn take_main(
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

    /// Checks the files of definitions, skills and instructions, except `commands` that were just
    /// read, and rebuilds main's tools if any has changed.
    async fn refresh_main(&mut self, agent: &mut Agent, commands: Option<LoadedCommands>) {
        let (mut agents, mut project) = (self.subagent_tools.take(), self.project.take());
        let events = self.events.clone();
        let refresh = move || {
            let new_skills =
                project.as_mut().is_some_and(|project| project.refresh(commands, &events));
            let shared = project.as_ref().map(ProjectContext::for_agents).unwrap_or_default();
            let refresh = |agents: &mut SubagentTools| agents.refresh(shared, new_skills, &events);
            let new_agents = agents.as_mut().is_some_and(refresh);
            (new_agents, new_skills, agents, project)
        };
        // The closure only fails by panicking; propagate that.
        let (new_agents, new_skills) = match tokio::task::spawn_blocking(refresh).await {
            Ok((new_agents, new_skills, agents, project)) => {
                (self.subagent_tools, self.project) = (agents, project);
                (new_agents, new_skills)
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        match &self.subagent_tools {
            Some(agents) if new_agents => agent.set_tools(agents.tools()),
            None if new_skills => {
                let skill = self.project.as_ref().and_then(|project| project.for_agents().skill);
                let tools = with_skills(agent.tools(), skill);
                agent.set_tools(tools.withholding(|name| self.parts.agents.gate.denies_tool(name)));
            }
            _ => {}
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
        let build = move || main_agent(&parts, session, model, inbox, commands, &events);
        // The closure only fails by panicking; propagate that.
        match tokio::task::spawn_blocking(build).await {
            Ok(MainAgent { agent, subagent_tools, project }) => {
                (self.subagent_tools, self.project) = (subagent_tools, Some(project));
                agent
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Changes the permission mode, also for open questions if `answers`.
    fn set_mode(&self, mode: PermissionMode, answers: bool) {
        let gate = &self.parts.agents.gate;
        let changed = if answers { gate.set_mode(mode) } else { gate.set_mode_for_new_calls(mode) };
        match changed {
            Ok(()) => self.events.emit(EventKind::ModeChanged { mode }),
            Err(why) => self.events.notice(NoticeLevel::Warning, why.to_string()),
        }
    }

    /// Applies the model that the user chose, then runs the commands that waited for it.
    async fn model_resolved(&mut self, resolved: ResolvedModel) {
        self.use_resolved_model(resolved);
        self.record_model().await;
        if self.run.is_none() {
            self.start_waiting().await;
        }
    }

    fn use_resolved_model(&mut self, resolved: ResolvedModel) {
        let model = match resolved {
            Ok(model) => model,
            Err(error) => {
                self.events.notice(NoticeLevel::Error, error.to_string());
                return;
            }
        };
        // An effort that the user chose in this session stays, if the model has it.
        let chosen = self.effort.clone().and_then(|effort| model.with_effort(effort).ok());
        let model = chosen.unwrap_or(model);
        let notices = model.notices();
        let changed = model.changed_event(ModelCause::Model);
        match &self.model {
            Some(slot) => {
                slot.update(|_| {
                    self.events.emit(changed);
                    Some(model)
                });
            }
            None => {
                self.events.emit(changed);
                self.model = Some(ModelSlot::new(model));
            }
        }
        for notice in notices {
            self.events.notice(NoticeLevel::Warning, notice);
        }
    }

    fn set_effort(&mut self, effort: Option<String>) {
        let Some(slot) = &self.model else {
            return self.events.notice(NoticeLevel::Error, "No model yet: choose one first.");
        };
        let is_chosen = slot.update(|model| match model.with_effort(effort.clone()) {
            Ok(model) => {
                self.events.emit(model.changed_event(ModelCause::Effort));
                Some(model)
            }
            Err(why) => {
                self.events.notice(NoticeLevel::Error, why);
                None
            }
        });
        if is_chosen {
            self.effort = Some(effort);
        }
    }

    /// Takes the agent back and continues with the prompts that were queued.
    async fn run_ended(&mut self, ended: Option<EndedRun>) {
        let run = self.run.take();
        // The answer is already out.
        drop(self.sync());
        let stopped = run.is_some_and(|run| run.cancel.is_cancelled());
        let Some(EndedRun { agent, unread }) = ended else {
            // Only a bug gets here. The agent is rebuilt from the transcript, if there is one.
            let crashed = crashed(self.session.journal.is_kept());
            self.events.emit(EventKind::Finished(Box::new(crashed)));
            self.reload().await;
            let waiting = std::mem::take(&mut self.next);
            self.return_prompts(waiting);
            self.return_prompts(self.inbox.take_typed());
            return;
        };
        self.halted |= agent.ended_fatally();
        unread.into_iter().for_each(|context| self.put_back(context));
        self.main = Some(agent);
        if stopped && (self.next.is_empty() || self.holds_prompts()) {
            // Don't start another run. Messages of other agents are read with the next prompt. The
            // user's queued prompts are returned here, in case the run ended before it could.
            self.return_prompts(self.inbox.take_typed());
            self.inbox.clear_wakeup();
            return;
        }
        // An agent that did not complete has returned its queue: these prompts were sent later.
        self.start_waiting().await;
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

    /// Reports what a background command has printed, once there is something new. No more often than a
    /// screen can show it, and only to the last one who asked.
    fn read_shell(&mut self, id: ShellId, seen: u64) {
        let Some(shell) = self.parts.agents.builtin.shells.find(&id) else { return };
        let (events, redactor) = (self.events.clone(), self.parts.agents.redactor.clone());
        let read = async move {
            if seen > 0 {
                tokio::time::sleep(SHELL_READ_GAP).await;
            }
            let recent = shell.recent_after(seen).await;
            let total = recent.total;
            let text = recent.masked(|text| redactor.without_keys(text));
            events.emit(EventKind::BackgroundShellOutput { id, text, total });
        };
        self.shell_reader = Some(AbortOnDropHandle::new(tokio::spawn(read)));
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
pub(super) async fn end_background(parts: &RuntimeParts) {
    parts.agents.builtin.shells.end_all(&AgentPath::root()).await;
}

/// Waits for the end of the run; forever if there is none. Returns `None` if it panicked.
async fn wait_for_run(run: &mut Option<MainRun>) -> Option<EndedRun> {
    match run {
        Some(run) => (&mut run.task).await.ok(),
        None => std::future::pending().await,
    }
}

/// Returns the outcome of a run that panicked. `is_kept` says whether the session is stored.
fn crashed(is_kept: bool) -> RunOutcome {
    let message = match is_kept {
        true => "The agent crashed: this is a bug. See the log; your session is saved.",
        false => {
            "The agent crashed: this is a bug. See the log. This session is not stored, so the agent no longer knows the conversation."
        }
    };
    RunOutcome::without_work(RunEnd::Failed {
        failure: Failure::Internal,
        message: message.to_owned(),
    })
}
