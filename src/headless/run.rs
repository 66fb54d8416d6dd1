//! Runs prompts one after the other and writes events, until stdin is done. Handles control lines meanwhile.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::control::permission::{Asker, PeerAnswer, PeerAsker, PendingQuestions};
use super::control::{ControlBackend, ControlHandler, PeerClient};
use super::info::{SessionInfo, SessionState, StateReader};
use super::input::PromptInput;
use super::input_queue::{InputQueue, NextInput};
use super::output::OutputWriter;
use super::prompts::{PromptTracker, PromptWork};
use super::shutdown::{FinalResult, ShutdownState};
use super::slash::{self, LocalCommand};
use super::stdio_transport::StdioTransport;
use crate::cli::OutputFormat;
use crate::protocol::{
    AgentEvent, AgentId, AgentPath, Charset, Command, CompactionState, EventKind, EventQueue,
    Failure, NoticeLevel, PromptId, PromptImage, PromptTiming, QuestionId, QueuedPrompt, Redactor,
    RunEnd, RunOutcome,
};

/// The number of events to write before checking stdin again.
const EVENT_BATCH: usize = 64;

/// The exit code of a prompt that could not be read.
const BAD_INPUT_EXIT_CODE: u8 = 2;

/// The parts of a headless run.
pub struct Headless {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    /// Masks keys in the output.
    pub redactor: Redactor,
    pub settings: HeadlessSettings,
}

/// How a headless run reads, writes and answers.
pub struct HeadlessSettings {
    pub info: SessionInfo,
    pub format: OutputFormat,
    /// Whether to report progress on stderr, unless stdout carries frames.
    pub verbose: bool,
    /// The characters of a terminal on stdout or stderr.
    pub charset: Charset,
    /// Handles control requests.
    pub backend: Arc<dyn ControlBackend>,
    /// Answers permission questions; `None` means the program that writes to stdin.
    pub asker: Option<Arc<dyn Asker>>,
    /// The reader of `session_state_changed` frames. `None` writes none.
    pub state_reader: Option<StateReader>,
    /// Whether to repeat each prompt as a frame when the agent reads it.
    pub replays: bool,
}

/// The two steps in which a signal ends a run.
#[derive(Default)]
pub(super) struct StopTokens {
    /// Ends the current run and starts no other.
    pub asked: CancellationToken,
    /// The current run did not end in time: write its result anyway.
    pub overdue: CancellationToken,
}

/// One headless run.
pub(super) struct HeadlessRun {
    commands: mpsc::Sender<Command>,
    events: EventQueue,
    output: OutputWriter,
    queue: InputQueue,
    client: PeerClient,
    questions: PendingQuestions,
    handler: ControlHandler,
    tracker: PromptTracker,
    /// Whether the program has sent a handshake, and so reads every result.
    driven: bool,
    /// The state in the last `session_state_changed` frame.
    state: SessionState,
    /// The reader of these frames. `None` writes none.
    state_reader: Option<StateReader>,
    /// Whether to repeat each prompt as a frame when the agent reads it.
    replays: bool,
    shutdown: ShutdownState,
}

impl HeadlessRun {
    /// Creates a run that has not begun.
    pub fn new(headless: Headless, transport: StdioTransport) -> Self {
        let Headless { commands, events, redactor, settings } = headless;
        let HeadlessSettings {
            info,
            format,
            verbose,
            charset,
            backend,
            asker,
            state_reader,
            replays,
        } = settings;
        let driven = transport.has_handshake();
        let asker = asker.unwrap_or_else(|| Arc::new(PeerAsker(transport.peer())));
        let StdioTransport { stdout, client, queue, .. } = transport;
        Self {
            handler: ControlHandler::new(commands.clone(), backend, &info),
            commands,
            events,
            output: OutputWriter::new(info, format, verbose, charset, stdout, redactor),
            queue,
            client,
            questions: PendingQuestions::new(asker),
            tracker: PromptTracker::new(driven),
            driven,
            state: SessionState::default(),
            state_reader,
            replays,
            shutdown: ShutdownState::default(),
        }
    }

    /// Runs all prompts, or just finishes the current one after `stop`. Returns the exit code.
    pub async fn run(mut self, stop: &StopTokens) -> io::Result<u8> {
        let mut batch = Vec::with_capacity(EVENT_BATCH);
        let backend = self.handler.backend();
        let mut inventory = backend.mcp_inventory();
        // The first frame lists the servers, so read no event before they are known.
        let mut waits = true;
        loop {
            // Check this before the next prompt: the end of a stopped run may arrive at the same moment.
            if stop.asked.is_cancelled() && !self.queue.is_over() {
                self.queue.stop();
                self.client.end();
            }
            self.handle_input().await?;
            self.write_state().await?;
            let idle = self.tracker.is_idle() && self.queue.is_over();
            if idle || stop.asked.is_cancelled() {
                let agents = self.shutdown.begin();
                self.cancel(agents).await;
            }
            if idle && self.shutdown.is_over() {
                return self.finish().await;
            }
            tokio::select! {
                inventory = &mut inventory, if waits => {
                    self.output.set_inventory(inventory);
                    waits = false;
                }
                () = stop.asked.cancelled(), if waits => waits = false,
                () = stop.overdue.cancelled() => return self.give_up().await,
                () = self.events.drain(&mut batch, EVENT_BATCH), if !waits => {
                    for event in batch.drain(..) {
                        self.event(&event).await?;
                    }
                }
                () = self.queue.changed() => {}
                (id, answer) = self.questions.next_answer() => self.apply_answer(id, answer).await?,
                lines = self.client.next_withdrawn() => self.output.control(&lines).await?,
                () = stop.asked.cancelled(), if !self.queue.is_over() => {}
                () = self.shutdown.wait_overdue(), if idle => {}
                error = self.output.failed() => return Err(error),
            }
        }
    }

    /// Writes the held result.
    async fn finish(mut self) -> io::Result<u8> {
        let held = self.shutdown.take_held();
        self.write_result(held).await?;
        self.write_state().await?;
        self.output.finish().await?;
        Ok(self.tracker.exit_code())
    }

    /// Writes the result of a prompt whose run does not end.
    async fn give_up(mut self) -> io::Result<u8> {
        if !self.tracker.is_idle() {
            let end = RunEnd::Cancelled { before_start: false };
            self.close(RunOutcome::without_work(end)).await?;
        }
        self.finish().await
    }

    async fn cancel(&self, agents: impl IntoIterator<Item = AgentId>) {
        for id in agents {
            // A closed channel means that the runtime is gone; the caller notices that.
            let _ = self.commands.send(Command::Cancel(id)).await;
        }
    }

    /// Handles the input that can be handled now, in order. A prompt is sent once the previous one
    /// is answered; a request is answered at once, even before the first frame.
    async fn handle_input(&mut self) -> io::Result<()> {
        let mut held = false;
        loop {
            let idle = self.tracker.is_idle() && !held;
            let Some(next) = self.queue.next(idle, self.output.is_open()) else { break };
            match next {
                NextInput::Prompt(Ok(prompt)) => match LocalCommand::parse(&prompt.text) {
                    Some(slash) if prompt.images.is_empty() => {
                        held = !self.command(slash, prompt).await?;
                    }
                    _ => self.send(prompt).await,
                },
                NextInput::Prompt(Err(why)) => {
                    self.output.next_prompt();
                    self.output.refuse(&why, None).await?;
                    self.tracker.set_exit_code(BAD_INPUT_EXIT_CODE);
                }
                NextInput::Request(request) => {
                    let answer = self.handler.answer(&request).await;
                    self.output.control(&[request.answer(answer)]).await?;
                }
            }
        }
        for remark in self.queue.take_remarks() {
            self.output.warn(&remark)?;
        }
        Ok(())
    }

    /// Writes the state if it has changed and a session is open.
    async fn write_state(&mut self) -> io::Result<()> {
        let now = match self.tracker.is_idle() {
            true => SessionState::Idle,
            false if self.questions.has_open() => SessionState::RequiresAction,
            false => SessionState::Running,
        };
        // The run is not idle until its last result is written.
        let early = self.shutdown.is_holding() || !self.output.is_open();
        let Some(reader) = self.state_reader.filter(|_| !early && self.state != now) else {
            return Ok(());
        };
        self.state = now;
        self.output.state(now, reader).await
    }

    /// Applies the answer to a permission question.
    async fn apply_answer(&mut self, id: QuestionId, answer: PeerAnswer) -> io::Result<()> {
        let PeerAnswer { answer, mode, problem } = answer;
        if let Some(problem) = problem {
            self.output.warn(&problem)?;
        }
        let mode = mode.filter(|mode| match self.handler.backend().check_mode(*mode) {
            Ok(()) => true,
            Err(why) => {
                self.events.sink().notice(NoticeLevel::Warning, format!("mode unchanged: {why}"));
                false
            }
        });
        let mode = mode.map(|mode| Command::SetMode { mode, answers: true });
        let commands = [mode, Some(Command::Answer { id, answer })];
        for command in commands.into_iter().flatten() {
            // A closed channel means that the runtime is gone; the caller notices that.
            let _ = self.commands.send(command).await;
        }
        Ok(())
    }

    /// Carries out a command. Returns false if it has to wait for the session, which its result names.
    async fn command(&mut self, slash: LocalCommand, prompt: PromptInput) -> io::Result<bool> {
        if let LocalCommand::Other(_) = slash
            && self.handler.backend().is_command(&prompt.text).await
        {
            self.send(prompt).await;
            return Ok(true);
        }
        if !self.output.is_open() {
            self.queue.put_back(prompt);
            return Ok(false);
        }
        match slash {
            LocalCommand::Clear => {
                self.send_command(prompt, PromptWork::Clear, Command::Clear).await;
            }
            LocalCommand::Compact { instructions } => {
                self.send_command(prompt, PromptWork::Compact, Command::Compact { instructions })
                    .await;
            }
            LocalCommand::Context => self.reply(prompt, &self.handler.context()).await?,
            LocalCommand::Cost => self.reply(prompt, &slash::cost(self.output.totals())).await?,
            LocalCommand::Help => {
                let written = self.handler.backend().commands().await;
                self.reply(prompt, &slash::help(written)).await?;
            }
            LocalCommand::Other(name) if self.driven => {
                self.reply(prompt, &slash::unknown(&name)).await?;
            }
            LocalCommand::Other(name) => {
                self.output.next_prompt();
                self.output.refuse(&slash::unknown(&name), prompt.origin.as_ref()).await?;
                self.tracker.set_exit_code(BAD_INPUT_EXIT_CODE);
            }
        }
        Ok(true)
    }

    /// Answers a prompt without the model.
    async fn reply(&mut self, prompt: PromptInput, text: &str) -> io::Result<()> {
        self.begin(prompt, PromptWork::Answer);
        self.write_state().await?;
        self.answer(text).await
    }

    /// Writes the answer to the current prompt.
    async fn answer(&mut self, text: &str) -> io::Result<()> {
        self.output.own_answer(text).await?;
        let text = text.to_owned();
        self.close(RunOutcome { text, ..RunOutcome::without_work(RunEnd::Completed) }).await
    }

    /// Sends the runtime the command of a prompt.
    async fn send_command(&mut self, prompt: PromptInput, work: PromptWork, command: Command) {
        self.begin(prompt, work);
        // A closed channel means that the runtime is gone; the caller notices that.
        let _ = self.commands.send(command).await;
    }

    fn begin(&mut self, prompt: PromptInput, work: PromptWork) -> PromptId {
        self.output.next_prompt();
        self.tracker.begin(prompt, work)
    }

    async fn send(&mut self, prompt: PromptInput) {
        let id = self.begin(prompt.clone(), PromptWork::Run);
        let prompt = QueuedPrompt {
            sub_agents: prompt.sub_agents,
            images: prompt.images.into_iter().map(PromptImage::after_text).collect(),
            image_mentions: prompt.image_mentions,
            agent_mentions: prompt.agent_mentions,
            ..QueuedPrompt::typed(id, prompt.text, PromptTiming::Done)
        };
        // A closed channel means that the runtime is gone; the caller notices that.
        let _ = self.commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    }

    async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.output.event(event).await?;
        self.handler.event(event);
        let late = self.shutdown.event(event);
        self.cancel(late).await;
        match &event.kind {
            EventKind::PermissionAsked(question) => self.questions.ask(question),
            EventKind::QuestionClosed { id, .. } => self.questions.close(*id),
            _ => {}
        }
        if !event.path.is_root() {
            return Ok(());
        }
        match &event.kind {
            EventKind::PromptQueued { id } => self.tracker.set_queued(*id, true),
            EventKind::PromptRead { id: Some(id), .. } => {
                self.tracker.set_queued(*id, false);
                if let Some(prompt) = self.tracker.get(*id).filter(|_| self.replays) {
                    self.output.replay(prompt).await?;
                }
            }
            EventKind::PromptReturned { id, .. } => {
                self.tracker.take(*id).into_iter().for_each(|prompt| self.queue.put_back(prompt));
            }
            EventKind::PromptRefused { id, why, .. } => self.refused(*id, why).await?,
            // Other runs have no result to write.
            EventKind::Finished(outcome) if self.tracker.is_running() => {
                self.close((**outcome).clone()).await?;
            }
            EventKind::SessionOpened { id, .. }
                if self.tracker.is_working_on(PromptWork::Clear) =>
            {
                self.answer(&format!("The conversation was cleared. New session: {id}")).await?;
            }
            EventKind::SessionFailed { why } if self.tracker.is_working_on(PromptWork::Clear) => {
                self.failed(why).await?;
            }
            EventKind::Compaction { by_hand: true, state }
                if self.tracker.is_working_on(PromptWork::Compact) =>
            {
                self.compacted(state).await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn compacted(&mut self, state: &CompactionState) -> io::Result<()> {
        match state {
            CompactionState::Started => {
                self.tracker.start();
                Ok(())
            }
            CompactionState::Done { before_tokens, after_tokens } => {
                let text = format!(
                    "The conversation was compacted from about {before_tokens} to {after_tokens} tokens."
                );
                self.answer(&text).await
            }
            CompactionState::Failed { why } => {
                self.answer(&format!("The conversation was not compacted: {why}")).await
            }
            CompactionState::Cancelled => {
                let end = RunEnd::Cancelled { before_start: false };
                self.close(RunOutcome::without_work(end)).await
            }
        }
    }

    /// Ends the current prompt with a failure.
    async fn failed(&mut self, why: &str) -> io::Result<()> {
        let failure = Failure::Storage;
        let end = RunEnd::Failed { failure, message: why.to_owned() };
        self.close(RunOutcome::without_work(end)).await
    }

    async fn refused(&mut self, id: PromptId, why: &str) -> io::Result<()> {
        let origin = self.tracker.take(id).and_then(|prompt| prompt.origin);
        self.tracker.set_exit_code(BAD_INPUT_EXIT_CODE);
        self.output.refuse(why, origin.as_ref()).await
    }

    /// Writes the result of the current prompt. That of the last one waits for background agents.
    async fn close(&mut self, outcome: RunOutcome) -> io::Result<()> {
        let origin = self.tracker.end().and_then(|prompt| prompt.origin);
        self.tracker.set_exit_code(exit_code(&outcome.end));
        let result = FinalResult { outcome, origin };
        let result = match self.queue.is_over() {
            true => self.shutdown.hold(result),
            false => Some(result),
        };
        self.write_result(result).await
    }

    async fn write_result(&mut self, result: Option<FinalResult>) -> io::Result<()> {
        match result {
            Some(FinalResult { outcome, origin }) => {
                self.output.result(&outcome, origin.as_ref()).await
            }
            None => Ok(()),
        }
    }
}

/// Returns the exit code for the end of a run.
fn exit_code(end: &RunEnd) -> u8 {
    match end {
        RunEnd::Completed => 0,
        RunEnd::MaxTurns { .. }
        | RunEnd::Budget { .. }
        | RunEnd::MaxTokens { .. }
        | RunEnd::TimeLimit { .. } => 5,
        RunEnd::Failed { failure: Failure::Auth, .. } => 3,
        RunEnd::Failed { failure: Failure::Autonomy, .. } => 4,
        RunEnd::Cancelled { .. } => 130,
        RunEnd::Interrupted | RunEnd::Failed { .. } | RunEnd::Refused | RunEnd::Empty => 1,
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::Value;

    use super::super::info::{LimitsLookup, ModelLimits};
    use super::*;
    use crate::protocol::PermissionMode;

    struct NoServers;

    #[async_trait]
    impl ControlBackend for NoServers {
        async fn check_model(&self, _: &str) -> Result<(), String> {
            Ok(())
        }

        fn mcp_servers(&self) -> Vec<Value> {
            Vec::new()
        }
    }

    fn info() -> SessionInfo {
        SessionInfo {
            cwd: "/".to_owned(),
            model: "model".to_owned(),
            mode: PermissionMode::Default,
            tools: Vec::new(),
            agents: Vec::new(),
            slash_commands: Vec::new(),
            skills: Vec::new(),
            key_source: "none".to_owned(),
            limits: LimitsLookup::new(|_| ModelLimits { context_window: 1, max_output: 1 }),
            agent_tool: "AgentTool".to_owned(),
            task_name: false,
            output_style: "default".to_owned(),
            subagent_text: true,
        }
    }

    #[tokio::test]
    async fn a_run_that_does_not_end_after_a_signal_has_a_result_all_the_same() {
        let (commands, mut sent) = mpsc::channel(4);
        let settings = HeadlessSettings {
            info: info(),
            format: OutputFormat::Text,
            charset: Charset::default(),
            verbose: false,
            backend: Arc::new(NoServers),
            asker: None,
            state_reader: None,
            replays: false,
        };
        let (events, redactor) = (EventQueue::unbounded(), Redactor::default());
        let headless = Headless { commands, events, redactor, settings };
        let prompt = PromptInput::text("go".to_owned());
        let run = HeadlessRun::new(headless, StdioTransport::single_prompt(prompt));
        let stop = StopTokens::default();
        let signal = async {
            // Nobody works on it.
            assert!(matches!(sent.recv().await, Some(Command::Prompt { .. })));
            stop.asked.cancel();
            stop.overdue.cancel();
        };
        let (code, ()) = tokio::join!(run.run(&stop), signal);
        assert_eq!(code.unwrap(), exit_code(&RunEnd::Cancelled { before_start: false }));
    }
}
