//! Commands in, events out: owns the main agent of a session and serves one front end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Inbox, Prompt};
use crate::hook::Leaving;
use crate::protocol::{
    AgentPath, Answer, Command, CompactionState, End, EventKind, EventSink, Failure, NoticeLevel,
    Outcome, PromptId, QuestionId, QueuedPrompt, SessionId, ShellId,
};
use crate::provider::ModelSlot;
use crate::subagent::{AgentTree, faces};

mod assemble;
mod brought;
mod called;
mod hooks;
mod mention;
mod model;
mod offer;
mod resume;
mod servers;
mod session;
mod shell;

use assemble::{Main, Session};
pub use assemble::{Parts, SubAgents};
use brought::Brought;
use hooks::Begun;
use model::Resolved;
use offer::Offer;
pub use session::Open;
use shell::OwnShell;

/// How long the end of a run is waited for when the program ends.
const END_WAIT: Duration = Duration::from_secs(4);

/// The backend of one front end.
pub struct Runtime {
    parts: Arc<Parts>,
    events: EventSink,
    tree: AgentTree,
    model: Option<ModelSlot>,
    session: Session,
    /// The main agent between its runs; built at the first prompt.
    main: Option<Box<Agent>>,
    /// Its agents' tools; absent where sub-agents are off.
    offer: Option<Offer>,
    /// What its files tell main; absent as long as main is.
    brought: Option<Brought>,
    /// What hooks have said at the beginning of the session, and whether there is one.
    begun: Option<Begun>,
    inbox: Inbox,
    run: Option<Run>,
    /// Prompts for the run after the one that is being stopped.
    next: Vec<QueuedPrompt>,
    /// What can only be done between runs, and came while one was not over.
    deferred: VecDeque<Command>,
    /// A failure in the background has ended main's work: only a prompt makes it go on.
    halted: bool,
    /// Whether main may start sub-agents in its present run.
    sub_agents: bool,
    shell: OwnShell,
    /// For the person, as soon as a session is open.
    notices: Vec<String>,
    /// Models that were asked for; finding one may take as long as a command of the person takes to
    /// print a key.
    resolved: (mpsc::Sender<Resolved>, mpsc::Receiver<Resolved>),
}

/// The main agent at work.
struct Run {
    task: JoinHandle<Box<Agent>>,
    cancel: CancellationToken,
}

impl Runtime {
    /// A runtime whose session is not open yet.
    #[must_use]
    pub fn new(mut parts: Parts) -> Self {
        let notices = std::mem::take(&mut parts.notices);
        let events = parts.events.sink();
        let tree = AgentTree::new(parts.subagents.slots);
        let inbox = tree.main_inbox();
        parts.builtin.shells = Arc::new(tree.clone());
        let model = parts.model.clone().map(ModelSlot::new);
        let secrets = parts.builtin.secret_env.clone();
        let shell =
            OwnShell::new(parts.cwd.clone(), parts.env.clone(), secrets, parts.redactor.clone());
        let session = Session::empty(SessionId::generate(), parts.budget);
        Self {
            parts: Arc::new(parts),
            events,
            tree,
            model,
            session,
            main: None,
            offer: None,
            brought: None,
            begun: None,
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

    /// Serves commands until `Shutdown`, or until the front end is gone. Nothing runs any more when
    /// this returns.
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
                    None | Some(Command::Shutdown) => break Leaving::Other,
                    Some(Command::Quit) => break Leaving::PromptInputExit,
                    Some(command) => self.handle(command).await,
                },
                ended = ended(&mut self.run) => self.run_ended(ended).await,
                () = self.inbox.changed(), if self.run.is_none() => self.wake().await,
                () = self.shell.ended() => {}
                Some(resolved) = self.resolved.1.recv() => self.model_resolved(resolved),
            }
        };
        self.stop().await;
        self.leave(leaving).await;
    }

    /// Ends everything at once, and waits until it has ended.
    async fn stop(&mut self) {
        self.shell.cancel();
        if let Some(run) = &self.run {
            run.cancel.cancel();
        }
        // What main started ends with it; what works in the background is told here.
        let (tree, run, parts) = (self.tree.clone(), self.run.take(), self.parts.clone());
        let agents = tree.end_all(END_WAIT);
        let (agents_ended, ..) =
            tokio::join!(agents, self.shell.stop(), end_run(run), end_background(&parts));
        self.main = None;
        self.offer = None;
        if !agents_ended {
            tracing::error!("a sub-agent did not end in time");
        }
        // What the run has started while it ended.
        end_background(&self.parts).await;
        // Nobody calls them any more.
        self.parts.mcp.end().await;
        if self.sync().await.is_err() {
            tracing::error!("putting the session onto the disk failed inside");
        }
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Prompt { to, prompt } => {
                let Some(prompt) = self.meant(&to, prompt).await else { return };
                match to.is_root() {
                    true => self.prompt(prompt).await,
                    false => self.steer(&to, prompt),
                }
            }
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
            Command::SetMode(mode) => match self.parts.gate.set_mode(mode) {
                Ok(()) => self.events.emit(EventKind::ModeChanged { mode }),
                Err(why) => self.events.notice(NoticeLevel::Warning, why.to_string()),
            },
            Command::SetModel { provider, model } => self.set_model(provider, model),
            // A front end sends these when it has heard that main is done, which is a moment before
            // the run is over.
            Command::Compact { .. } | Command::Clear | Command::Resume(_) if self.run.is_some() => {
                self.deferred.push_back(command);
            }
            Command::Shell { line } => self.shell.start(line, &self.events),
            Command::CancelShell => self.shell.cancel(),
            Command::Compact { instructions } => self.compact(instructions).await,
            Command::Clear => self.change_session(Open::New(SessionId::generate())).await,
            Command::Resume(id) => self.change_session(Open::Stored(id)).await,
            Command::Quit | Command::Shutdown => {}
        }
    }

    /// Stops the run, and a compaction that has not begun.
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

    /// Reads a prompt at once when the main agent is idle, else queues it.
    async fn prompt(&mut self, prompt: QueuedPrompt) {
        if self.run.is_none() {
            self.start(prompt).await;
            return;
        }
        self.events.emit(EventKind::PromptQueued { id: prompt.id });
        match &self.run {
            // A run that was stopped gives its queue back; what is sent after the stop is not meant for it.
            Some(run) if run.cancel.is_cancelled() => self.next.push(prompt),
            _ => self.inbox.push(prompt),
        }
    }

    fn steer(&self, to: &AgentPath, prompt: QueuedPrompt) {
        let QueuedPrompt { id, .. } = prompt;
        match self.tree.inbox(to) {
            Some(inbox) => {
                inbox.push(prompt);
                self.parts.events.sink_at(to.clone()).emit(EventKind::PromptQueued { id });
            }
            None => {
                let events = self.parts.events.sink_at(to.clone());
                events.emit(EventKind::PromptReturned { id, text: prompt.text });
            }
        }
    }

    fn take_back(&mut self, to: &AgentPath, id: PromptId) {
        let place = self.next.iter().position(|prompt| prompt.id == id);
        let waiting = place.map(|place| self.next.remove(place));
        let queued = || self.tree.inbox(to).and_then(|inbox| inbox.take_back(id));
        if let Some(prompt) = waiting.or_else(queued) {
            let events = self.parts.events.sink_at(to.clone());
            events.emit(EventKind::PromptReturned { id, text: prompt.text });
        }
    }

    async fn start(&mut self, prompt: QueuedPrompt) {
        let Some(model) = self.model.clone() else {
            let QueuedPrompt { id, text, .. } = prompt;
            self.events.emit(EventKind::PromptReturned { id, text });
            let why = "No model yet: your text stays here · /model";
            self.events.notice(NoticeLevel::Error, why);
            return;
        };
        let force = match self.mentioned(&prompt, &model).await {
            Ok(force) => force,
            Err(why) => {
                let QueuedPrompt { id, text, .. } = prompt;
                self.events.emit(EventKind::PromptRefused { id, text, why });
                return;
            }
        };
        let QueuedPrompt { id, text, images, meaning, from, sub_agents, report, .. } = prompt;
        let shell_runs = self.shell.take_ended();
        self.sub_agents = sub_agents;
        let id = Some(id);
        let prompt =
            Prompt { id, images, from, meaning, shell_runs, force, report, ..Prompt::new(text) };
        self.run_main(model, Some(prompt)).await;
    }

    /// Asks once more after a failure, with the conversation as it is.
    async fn retry(&mut self) {
        if self.run.is_none()
            && let Some(model) = self.model.clone()
        {
            self.run_main(model, None).await;
        }
    }

    async fn run_main(&mut self, model: ModelSlot, prompt: Option<Prompt>) {
        self.halted = false;
        let mut agent = self.take_main(model).await;
        let prompt = prompt.map(|prompt| {
            let news = self.brought.as_mut().and_then(|brought| brought.news(&mut agent));
            prompt.with_note(news)
        });
        let (may_start, tools) = (self.sub_agents, self.main_tools());
        let cancel = CancellationToken::new();
        let (token, events) = (cancel.clone(), self.events.clone());
        let begun = self.begun.clone();
        let task = tokio::spawn(async move {
            if let Some(tools) = tools {
                tools.give(&mut agent, &events, &token).await;
            }
            agent.withhold(|name| !may_start && faces::is_face(name));
            hooks::run(&mut agent, prompt, begun, &events, &token).await;
            agent
        });
        self.run = Some(Run { task, cancel });
    }

    /// Replaces the conversation by a summary of it. Only between runs.
    async fn compact(&mut self, instructions: Option<String>) {
        let Some(model) = self.model.clone() else {
            self.events.notice(NoticeLevel::Error, "No model yet · /model");
            return;
        };
        let mut agent = self.take_main(model).await;
        let cancel = CancellationToken::new();
        let (token, events) = (cancel.clone(), self.events.clone());
        let task = tokio::spawn(async move {
            agent.compact(instructions.as_deref(), &events, &token).await;
            agent
        });
        self.run = Some(Run { task, cancel });
    }

    async fn take_main(&mut self, model: ModelSlot) -> Box<Agent> {
        match self.main.take() {
            Some(mut agent) => {
                self.renew(&mut agent).await;
                agent
            }
            None => Box::new(self.build(model).await),
        }
    }

    /// Builds the main agent off the runtime's threads: it reads the project's files.
    async fn build(&mut self, model: ModelSlot) -> Agent {
        let (parts, events) = (self.parts.clone(), self.events.clone());
        let (tree, inbox) = (self.tree.clone(), self.inbox.clone());
        let session =
            Session { history: std::mem::take(&mut self.session.history), ..self.session.clone() };
        let build = move || assemble::main_agent(&parts, session, model, tree, inbox, &events);
        // The closure only fails by panicking, and then there is nothing better than to pass that on.
        match tokio::task::spawn_blocking(build).await {
            Ok(Main { agent, offer, brought }) => {
                (self.offer, self.brought) = (offer, Some(brought));
                agent
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Takes the agent back, and goes on with what was queued for the end.
    async fn run_ended(&mut self, ended: Option<Box<Agent>>) {
        let run = self.run.take();
        // The answer is out by now.
        drop(self.sync());
        let stopped = run.is_some_and(|run| run.cancel.is_cancelled());
        let Some(agent) = ended else {
            // Only a bug gets here. The transcript is the truth: the agent is built anew from it.
            self.events.emit(EventKind::Finished(Box::new(crashed())));
            self.reload().await;
            return;
        };
        self.halted |= agent.ended_fatally();
        self.main = Some(agent);
        let next = std::mem::take(&mut self.next);
        if stopped && next.is_empty() {
            // Stop means stop: what other agents have said is read with the next prompt, and what
            // the person had queued comes back, if the run was over before it could give that back.
            for QueuedPrompt { id, text, .. } in self.inbox.take_typed() {
                self.events.emit(EventKind::PromptReturned { id, text });
            }
            self.inbox.hush();
            return;
        }
        next.into_iter().for_each(|prompt| self.inbox.push(prompt));
        // An agent that did not complete has given its queue back: what is there now was sent after that.
        self.start_next().await;
        self.tell_of_idleness();
    }

    /// What main goes on with. Where it waits for its agents, or a failure in the background has
    /// halted it, it is not woken by anything but a prompt of the user: what else has come is read
    /// with the next one.
    fn next_prompt(&self) -> Option<QueuedPrompt> {
        match self.parts.patience {
            None if !self.halted => self.inbox.take_first(),
            _ => self.inbox.take_first_typed(),
        }
    }

    /// Something has come for main while it was idle.
    async fn wake(&mut self) {
        if let Some((_, message)) = self.inbox.take_failure() {
            // No run of main ends by it, so that it is no end of one.
            self.events.notice(NoticeLevel::Error, message);
            self.halted = true;
        }
        if self.model.is_some() {
            self.start_next().await;
        }
    }

    /// Goes on with what waits. A prompt that is refused does not hold up those behind it.
    async fn start_next(&mut self) {
        while self.run.is_none()
            && let Some(next) = self.next_prompt()
        {
            self.start(next).await;
        }
    }

    /// Kills a background command, whoever owns it. Its end is an event like any other.
    fn kill_shell(&self, id: &ShellId) {
        match self.parts.builtin.shells.find(id) {
            Some(shell) => self.tree.spawn(async move {
                shell.kill().await;
            }),
            None => self.events.notice(NoticeLevel::Error, format!("there is no command {id}")),
        }
    }

    fn answer(&self, id: QuestionId, answer: Answer) {
        if let Answer::Stop { reason } = answer {
            let run = self.run.as_ref();
            return self.parts.gate.refuse(id, reason, || {
                run.iter().for_each(|run| run.cancel.cancel());
            });
        }
        // A program's yes holds although its rules cannot be kept: its question is closed then.
        let closes = matches!(answer, Answer::Allowed(_));
        if let Err(error) = self.parts.gate.answer(id, answer) {
            let why = error.to_string();
            match closes {
                true => self.events.notice(NoticeLevel::Error, why),
                false => self.events.emit(EventKind::AnswerRefused { id, why }),
            }
        }
    }
}

/// Waits for the end of a cancelled run, within bounds.
async fn end_run(run: Option<Run>) {
    let Some(mut run) = run else { return };
    if tokio::time::timeout(END_WAIT, &mut run.task).await.is_err() {
        tracing::error!("a run did not end in time");
        run.task.abort();
    }
}

/// Ends the commands in the background of all agents, and waits until they are gone.
async fn end_background(parts: &Parts) {
    parts.builtin.shells.end_all(&AgentPath::root()).await;
}

/// Waits for the end of the run, for ever when there is none. `None` when it panicked.
async fn ended(run: &mut Option<Run>) -> Option<Box<Agent>> {
    match run {
        Some(run) => (&mut run.task).await.ok(),
        None => std::future::pending().await,
    }
}

fn crashed() -> Outcome {
    let message =
        "The agent failed inside: this is a bug. The log says more; your session is kept.";
    Outcome::without_work(End::Failed { failure: Failure::Internal, message: message.to_owned() })
}
