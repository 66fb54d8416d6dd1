//! Runs prompts one after the other and writes events, until stdin is done. Handles control lines meanwhile.

use std::io;

use tokio::sync::mpsc;

use super::control::permission::PermissionAnswer;
use super::control::{ControlHandler, PeerClient};
use super::input::PromptInput;
use super::input_queue::{InputQueue, NextInput};
use super::output::OutputWriter;
use super::questions::PendingQuestions;
use super::shutdown::{FinalResult, ShutdownState};
use super::slash::{self, LocalCommand};
use super::{StopTokens, exit_code};
use crate::protocol::{
    AgentEvent, AgentId, AgentPath, Command, CompactionState, EventKind, EventQueue, Failure,
    NoticeLevel, PromptId, PromptTiming, QuestionId, QueuedPrompt, RunEnd, RunOutcome,
};

/// The number of events to write before checking stdin again.
const EVENT_BATCH: usize = 64;

/// The exit code of a prompt that could not be read.
const BAD_INPUT_EXIT_CODE: u8 = 2;

/// One headless run.
pub(super) struct HeadlessRun {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub output: OutputWriter,
    pub queue: InputQueue,
    pub client: PeerClient,
    pub questions: PendingQuestions,
    pub handler: ControlHandler,
    pub tracker: PromptTracker,
    /// Whether the program has sent a handshake, and so reads every result.
    pub driven: bool,
    /// The state in the last `session_state_changed` frame.
    pub state: SessionState,
    /// The reader of these frames. `None` writes none.
    pub state_reader: Option<StateReader>,
    /// Whether to repeat each prompt as a frame when the agent reads it.
    pub replays: bool,
    pub shutdown: ShutdownState,
}

/// The state of a run, for a program that must know when it may close stdin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionState {
    /// Nothing is queued or running.
    #[default]
    Idle,
    Running,
    /// A permission question is open.
    Asking,
}

impl SessionState {
    /// Returns the name on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Asking => "requires_action",
        }
    }
}

/// The reader of `session_state_changed` frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateReader {
    /// The SDK, which does not forward them.
    Sdk,
    /// The program that uses the SDK.
    Program,
}

/// Tracks the prompt that was sent and the exit code.
#[derive(Default)]
pub(super) struct PromptTracker {
    sent: Option<SentPrompt>,
    next_id: u64,
    code: u8,
    /// Whether the exit code is that of the last prompt rather than the first failed one: a program
    /// that reads every result has already handled earlier ones.
    last_wins: bool,
}

impl PromptTracker {
    /// Starts with no prompt sent.
    pub fn new(last_counts: bool) -> Self {
        Self { last_wins: last_counts, ..Self::default() }
    }

    fn set_exit_code(&mut self, code: u8) {
        if self.code == 0 || self.last_wins {
            self.code = code;
        }
    }
}

/// The last prompt sent, not answered yet.
struct SentPrompt {
    id: PromptId,
    asked: PromptInput,
    /// Whether it waits, or may wait, behind a run that something else started: the end of that run
    /// is not its own.
    queued: bool,
    work: PromptWork,
}

/// The kind of work for a prompt, which decides how it ends. Each ends with one result:
///
/// | work | begins with | ends with |
/// |---|---|---|
/// | `Run` | `Command::Prompt` | `Finished`, `PromptRefused`; `PromptReturned` puts it back into the queue |
/// | `Clear` | `Command::Clear` | `SessionOpened`, `SessionFailed` |
/// | `Compact` | `Command::Compact` | `Compaction` by hand that is over: done, failed or cancelled |
/// | `Answer` | nothing | its own text, at once |
///
/// `Finished` also ends a `Compact` that has started, because an internal error emits nothing else.
/// The runtime carries out `Clear` and `Compact` when the previous run is over, so neither can be
/// lost between the end of a run and its last event. Until they start they are `queued`, so that
/// the end of that run, which a background agent may have started, is not theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptWork {
    Run,
    Clear,
    Compact,
    Answer,
}

impl HeadlessRun {
    /// Runs all prompts, or just finishes the current one after `stop`. Returns the exit code.
    pub async fn run(mut self, stop: &StopTokens) -> io::Result<u8> {
        let mut batch = Vec::with_capacity(EVENT_BATCH);
        let backstage = self.handler.backend();
        let mut served = backstage.mcp_inventory();
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
            let idle = self.tracker.sent.is_none() && self.queue.is_over();
            if idle || stop.asked.is_cancelled() {
                let agents = self.shutdown.begin();
                self.cancel(agents).await;
            }
            if idle && self.shutdown.is_over() {
                return self.finish().await;
            }
            tokio::select! {
                served = &mut served, if waits => {
                    self.output.set_inventory(served);
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
                (id, said) = self.questions.next_answer() => self.apply_answer(id, said).await?,
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
        Ok(self.tracker.code)
    }

    /// Writes the result of a prompt whose run does not end.
    async fn give_up(mut self) -> io::Result<u8> {
        if self.tracker.sent.is_some() {
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
            let idle = self.tracker.sent.is_none() && !held;
            let Some(next) = self.queue.next(idle, self.output.is_open()) else { break };
            match next {
                NextInput::Prompt(Ok(asked)) => match LocalCommand::parse(&asked.text) {
                    Some(slash) if asked.images.is_empty() => {
                        held = !self.command(slash, asked).await?;
                    }
                    _ => self.send(asked).await,
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
        let now = match self.tracker.sent {
            None => SessionState::Idle,
            Some(_) if self.questions.has_open() => SessionState::Asking,
            Some(_) => SessionState::Running,
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
    async fn apply_answer(&mut self, id: QuestionId, said: PermissionAnswer) -> io::Result<()> {
        let PermissionAnswer { answer, mode, problem } = said;
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
        let mode = mode.map(Command::SetMode);
        let commands = [mode, Some(Command::Answer { id, answer })];
        for command in commands.into_iter().flatten() {
            // A closed channel means that the runtime is gone; the caller notices that.
            let _ = self.commands.send(command).await;
        }
        Ok(())
    }

    /// Carries out a command. Returns false if it has to wait for the session, which its result names.
    async fn command(&mut self, slash: LocalCommand, asked: PromptInput) -> io::Result<bool> {
        if let LocalCommand::Other(_) = slash
            && self.handler.backend().is_command(&asked.text).await
        {
            self.send(asked).await;
            return Ok(true);
        }
        if !self.output.is_open() {
            self.queue.put_back(asked);
            return Ok(false);
        }
        match slash {
            LocalCommand::Clear => {
                self.send_command(asked, PromptWork::Clear, Command::Clear).await;
            }
            LocalCommand::Compact { instructions } => {
                self.send_command(asked, PromptWork::Compact, Command::Compact { instructions })
                    .await;
            }
            LocalCommand::Context => self.reply(asked, &self.handler.context()).await?,
            LocalCommand::Cost => self.reply(asked, &slash::cost(self.output.totals())).await?,
            LocalCommand::Help => {
                let written = self.handler.backend().commands().await;
                self.reply(asked, &slash::help(written)).await?;
            }
            LocalCommand::Other(name) if self.driven => {
                self.reply(asked, &slash::unknown(&name)).await?;
            }
            LocalCommand::Other(name) => {
                self.output.next_prompt();
                self.output.refuse(&slash::unknown(&name), asked.origin.as_ref()).await?;
                self.tracker.set_exit_code(BAD_INPUT_EXIT_CODE);
            }
        }
        Ok(true)
    }

    /// Answers a prompt without the model.
    async fn reply(&mut self, asked: PromptInput, text: &str) -> io::Result<()> {
        self.begin(asked, PromptWork::Answer);
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
    async fn send_command(&mut self, asked: PromptInput, work: PromptWork, command: Command) {
        self.begin(asked, work);
        // A closed channel means that the runtime is gone; the caller notices that.
        let _ = self.commands.send(command).await;
    }

    fn begin(&mut self, asked: PromptInput, work: PromptWork) -> PromptId {
        let id = PromptId(self.tracker.next_id);
        self.tracker.next_id += 1;
        self.output.next_prompt();
        let queued = matches!(work, PromptWork::Clear | PromptWork::Compact);
        self.tracker.sent = Some(SentPrompt { id, asked, queued, work });
        id
    }

    async fn send(&mut self, asked: PromptInput) {
        let id = self.begin(asked.clone(), PromptWork::Run);
        let prompt = QueuedPrompt {
            sub_agents: asked.sub_agents,
            images: asked.images,
            ..QueuedPrompt::typed(id, asked.text, PromptTiming::Done)
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
            EventKind::PromptQueued { id } => self.mark(*id, true),
            EventKind::PromptRead { id: Some(id), .. } => {
                self.mark(*id, false);
                self.replay(*id).await?;
            }
            EventKind::PromptReturned { id, .. } => self.take_back(*id),
            EventKind::PromptRefused { id, why, .. } => self.refused(*id, why).await?,
            EventKind::Finished(outcome) => self.finished(outcome).await?,
            EventKind::SessionOpened { id, .. } if self.is_working_on(PromptWork::Clear) => {
                self.answer(&format!("The conversation was cleared. New session: {id}")).await?;
            }
            EventKind::SessionFailed { why } if self.is_working_on(PromptWork::Clear) => {
                self.failed(why).await?;
            }
            EventKind::Compaction { by_hand: true, state }
                if self.is_working_on(PromptWork::Compact) =>
            {
                self.compacted(state).await?;
            }
            _ => {}
        }
        Ok(())
    }

    fn is_working_on(&self, work: PromptWork) -> bool {
        self.tracker.sent.as_ref().is_some_and(|sent| sent.work == work)
    }

    async fn compacted(&mut self, state: &CompactionState) -> io::Result<()> {
        match state {
            CompactionState::Started => {
                self.tracker.sent.iter_mut().for_each(|sent| sent.queued = false);
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

    fn mark(&mut self, id: PromptId, queued: bool) {
        if let Some(sent) = self.tracker.sent.as_mut().filter(|sent| sent.id == id) {
            sent.queued = queued;
        }
    }

    /// Repeats a prompt that the agent reads now, if the program requested that.
    async fn replay(&mut self, id: PromptId) -> io::Result<()> {
        match &self.tracker.sent {
            Some(sent) if self.replays && sent.id == id => self.output.replay(&sent.asked).await,
            _ => Ok(()),
        }
    }

    /// Requeues a prompt that a failed run has returned.
    fn take_back(&mut self, id: PromptId) {
        if let Some(sent) = self.tracker.sent.take_if(|sent| sent.id == id) {
            self.queue.put_back(sent.asked);
        }
    }

    async fn refused(&mut self, id: PromptId, why: &str) -> io::Result<()> {
        let sent = self.tracker.sent.take_if(|sent| sent.id == id);
        self.tracker.set_exit_code(BAD_INPUT_EXIT_CODE);
        let origin = sent.and_then(|sent| sent.asked.origin);
        self.output.refuse(why, origin.as_ref()).await
    }

    /// Closes the prompt that the run has read; other runs have no result to write.
    async fn finished(&mut self, outcome: &RunOutcome) -> io::Result<()> {
        if self.tracker.sent.as_ref().is_none_or(|sent| sent.queued) {
            return Ok(());
        }
        self.close(outcome.clone()).await
    }

    /// Writes the result of the current prompt. That of the last one waits for background agents.
    async fn close(&mut self, outcome: RunOutcome) -> io::Result<()> {
        let sent = self.tracker.sent.take();
        let origin = sent.and_then(|sent| sent.asked.origin);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::Value;

    use super::super::control::ControlBackend;
    use super::super::info::{LimitsLookup, ModelLimits, SessionInfo};
    use super::super::questions::PeerAsker;
    use super::super::stdio_transport::StdioTransport;
    use super::*;
    use crate::cli::OutputFormat;
    use crate::protocol::{PermissionMode, Redactor};

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
        let link = StdioTransport::single_prompt("go".to_owned());
        let peer = link.peer();
        let StdioTransport { stdout, client, queue: intake, .. } = link;
        let conversation = HeadlessRun {
            handler: ControlHandler::new(commands.clone(), Arc::new(NoServers), &info()),
            commands,
            events: EventQueue::unbounded(),
            output: OutputWriter::new(
                info(),
                OutputFormat::Text,
                false,
                stdout,
                Redactor::default(),
            ),
            queue: intake,
            client,
            questions: PendingQuestions::new(Arc::new(PeerAsker(peer))),
            tracker: PromptTracker::new(false),
            driven: false,
            state: SessionState::default(),
            state_reader: None,
            replays: false,
            shutdown: ShutdownState::default(),
        };
        let stop = StopTokens::default();
        let signal = async {
            // Nobody works on it.
            assert!(matches!(sent.recv().await, Some(Command::Prompt { .. })));
            stop.asked.cancel();
            stop.overdue.cancel();
        };
        let (code, ()) = tokio::join!(conversation.run(&stop), signal);
        assert_eq!(code.unwrap(), exit_code(&RunEnd::Cancelled { before_start: false }));
    }
}
