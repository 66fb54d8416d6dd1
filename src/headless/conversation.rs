//! Prompts in, one after the other, and events out, until there is nothing left to ask. Control
//! lines go both ways meanwhile.

use std::io;

use tokio::sync::mpsc;

use super::control::permission::Said;
use super::control::{Client, Desk};
use super::ending::{Ending, LastResult};
use super::input::Asked;
use super::intake::{Intake, Next};
use super::output::Output;
use super::questions::Questions;
use super::slash::{self, Slash};
use super::{Stop, exit_code};
use crate::protocol::{
    AgentEvent, AgentId, AgentPath, Command, CompactionState, End, EventKind, EventQueue, Failure,
    NoticeLevel, Outcome, PromptId, QuestionId, QueuedPrompt, When,
};

/// How many events are written between two looks at stdin.
const BATCH: usize = 64;

/// The exit code of a prompt that could not be read.
const BAD_INPUT: u8 = 2;

/// One run without a screen.
pub(super) struct Conversation {
    pub commands: mpsc::Sender<Command>,
    pub events: EventQueue,
    pub output: Output,
    pub intake: Intake,
    pub client: Client,
    pub questions: Questions,
    pub desk: Desk,
    pub tally: Tally,
    /// Whether the program has introduced itself, and so reads every result.
    pub driven: bool,
    /// The state in the last `session_state_changed` frame.
    pub state: State,
    /// The reader of these frames. Without one, none are written.
    pub state_reader: Option<StateReader>,
    /// Whether each prompt is repeated as a frame when the agent reads it.
    pub replays: bool,
    pub ending: Ending,
}

/// What a run does, for a program that must know when stdin may be closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing waits and nothing runs.
    #[default]
    Idle,
    Running,
    /// A question of ours is open.
    Asking,
}

impl State {
    /// The word on the wire.
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
    /// The SDK, which keeps it to itself.
    Sdk,
    /// The program that uses the SDK.
    Program,
}

/// What was sent, and how it ended.
#[derive(Default)]
pub(super) struct Tally {
    sent: Option<Sent>,
    next_id: u64,
    code: u8,
    /// Whether the exit code tells of the last prompt rather than of the first that did not end
    /// well: a program that reads every result has dealt with those before.
    last_counts: bool,
}

impl Tally {
    /// Nothing was sent yet.
    pub fn new(last_counts: bool) -> Self {
        Self { last_counts, ..Self::default() }
    }

    fn ended_with(&mut self, code: u8) {
        if self.code == 0 || self.last_counts {
            self.code = code;
        }
    }
}

/// The prompt that was sent last and is not answered yet.
struct Sent {
    id: PromptId,
    asked: Asked,
    /// It waits behind a run that something else had started, or may do so: the end of that run is
    /// not its own.
    queued: bool,
    work: Work,
}

/// What a prompt came to, which decides by what it ends. Each ends with one result:
///
/// | work | begins with | ends with |
/// |---|---|---|
/// | `Run` | `Command::Prompt` | `Finished`, `PromptRefused`; `PromptReturned` puts it back into the intake |
/// | `Clear` | `Command::Clear` | `SessionOpened`, `SessionFailed` |
/// | `Compact` | `Command::Compact` | `Compaction` by hand that is over: done, failed or cancelled |
/// | `Answer` | nothing | its own text, at once |
///
/// `Finished` also ends a `Compact` that has begun, for it is all that a bug inside leaves. The
/// runtime carries `Clear` and `Compact` out when the run before is over, so neither can be lost
/// between the end of a run and its last event; until they begin they are `queued`, so that the end
/// of that run, which a background agent may have started, is not theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Run,
    Clear,
    Compact,
    Answer,
}

impl Conversation {
    /// Runs to the end of all prompts, or to the end of the present one once that is asked for.
    /// Answers with the exit code that tells how it ended.
    pub async fn run(mut self, stop: &Stop) -> io::Result<u8> {
        let mut batch = Vec::with_capacity(BATCH);
        let backstage = self.desk.backstage();
        let mut served = backstage.served();
        // The first frame names the servers: no event is read before it can.
        let mut waits = true;
        loop {
            // Looked at before the next prompt is: the end of a run that was stopped may have come
            // in the same moment.
            if stop.asked.is_cancelled() && !self.intake.is_over() {
                self.intake.stop();
                self.client.end();
            }
            self.take_in().await?;
            self.tell_state().await?;
            let idle = self.tally.sent.is_none() && self.intake.is_over();
            if idle || stop.asked.is_cancelled() {
                let agents = self.ending.begin();
                self.cancel(agents).await;
            }
            if idle && self.ending.is_over() {
                return self.finish().await;
            }
            tokio::select! {
                served = &mut served, if waits => {
                    self.output.serve(served);
                    waits = false;
                }
                () = stop.asked.cancelled(), if waits => waits = false,
                () = stop.overdue.cancelled() => return self.give_up().await,
                () = self.events.drain(&mut batch, BATCH), if !waits => {
                    for event in batch.drain(..) {
                        self.event(&event).await?;
                    }
                }
                () = self.intake.changed() => {}
                (id, said) = self.questions.answered() => self.answered(id, said).await?,
                lines = self.client.withdrawn() => self.output.control(&lines).await?,
                () = stop.asked.cancelled(), if !self.intake.is_over() => {}
                () = self.ending.overdue(), if idle => {}
                error = self.output.failed() => return Err(error),
            }
        }
    }

    /// Writes what was held for the end.
    async fn finish(mut self) -> io::Result<u8> {
        let held = self.ending.take_held();
        self.write_result(held).await?;
        self.tell_state().await?;
        self.output.finish().await?;
        Ok(self.tally.code)
    }

    /// Writes the result of a prompt whose run does not end.
    async fn give_up(mut self) -> io::Result<u8> {
        if self.tally.sent.is_some() {
            let end = End::Cancelled { before_start: false };
            self.close(Outcome::without_work(end)).await?;
        }
        self.finish().await
    }

    async fn cancel(&self, agents: impl IntoIterator<Item = AgentId>) {
        for id in agents {
            // A closed channel means that the runtime is gone, which the caller watches.
            let _ = self.commands.send(Command::Cancel(id)).await;
        }
    }

    /// Deals with what has come over stdin as far as it can be dealt with now, in order: a prompt
    /// is sent when the one before it has its answer, a request is answered at once, also before
    /// the first frame.
    async fn take_in(&mut self) -> io::Result<()> {
        let mut held = false;
        loop {
            let idle = self.tally.sent.is_none() && !held;
            let Some(next) = self.intake.next(idle, self.output.is_open()) else { break };
            match next {
                Next::Prompt(Ok(asked)) => match Slash::parse(&asked.text) {
                    Some(slash) if asked.images.is_empty() => {
                        held = !self.command(slash, asked).await?;
                    }
                    _ => self.send(asked).await,
                },
                Next::Prompt(Err(why)) => {
                    self.output.next_prompt();
                    self.output.refuse(&why, None).await?;
                    self.tally.ended_with(BAD_INPUT);
                }
                Next::Request(request) => {
                    let answer = self.desk.answer(&request).await;
                    self.output.control(&[request.answer(answer)]).await?;
                }
            }
        }
        for remark in self.intake.take_remarks() {
            self.output.remark_on(&remark)?;
        }
        Ok(())
    }

    /// Tells what the run does now, if that is something else than before, once there is a session to name.
    async fn tell_state(&mut self) -> io::Result<()> {
        let now = match self.tally.sent {
            None => State::Idle,
            Some(_) if self.questions.any() => State::Asking,
            Some(_) => State::Running,
        };
        // The run is not idle before its last result is written.
        let early = self.ending.is_holding() || !self.output.is_open();
        let Some(reader) = self.state_reader.filter(|_| !early && self.state != now) else {
            return Ok(());
        };
        self.state = now;
        self.output.state(now, reader).await
    }

    /// Carries the answer to a question of ours out.
    async fn answered(&mut self, id: QuestionId, said: Said) -> io::Result<()> {
        let Said { answer, mode, problem } = said;
        if let Some(problem) = problem {
            self.output.remark_on(&problem)?;
        }
        let mode = mode.filter(|mode| match self.desk.backstage().check_mode(*mode) {
            Ok(()) => true,
            Err(why) => {
                self.events.sink().notice(NoticeLevel::Warning, format!("the mode stays: {why}"));
                false
            }
        });
        let mode = mode.map(Command::SetMode);
        let commands = [mode, Some(Command::Answer { id, answer })];
        for command in commands.into_iter().flatten() {
            // A closed channel means that the runtime is gone, which the caller watches.
            let _ = self.commands.send(command).await;
        }
        Ok(())
    }

    /// Carries a command out. Answers false where it has to wait: its result names the session,
    /// which is not open yet.
    async fn command(&mut self, slash: Slash, asked: Asked) -> io::Result<bool> {
        if let Slash::Other(_) = slash
            && self.desk.backstage().expands(&asked.text).await
        {
            self.send(asked).await;
            return Ok(true);
        }
        if !self.output.is_open() {
            self.intake.put_back(asked);
            return Ok(false);
        }
        match slash {
            Slash::Clear => self.order(asked, Work::Clear, Command::Clear).await,
            Slash::Compact { instructions } => {
                self.order(asked, Work::Compact, Command::Compact { instructions }).await;
            }
            Slash::Context => self.reply(asked, &self.desk.context()).await?,
            Slash::Cost => self.reply(asked, &slash::cost(self.output.totals())).await?,
            Slash::Help => {
                let written = self.desk.backstage().commands().await;
                self.reply(asked, &slash::help(written)).await?;
            }
            Slash::Other(name) if self.driven => {
                self.reply(asked, &slash::unknown(&name)).await?;
            }
            Slash::Other(name) => {
                self.output.next_prompt();
                self.output.refuse(&slash::unknown(&name), asked.origin.as_ref()).await?;
                self.tally.ended_with(BAD_INPUT);
            }
        }
        Ok(true)
    }

    /// Answers a prompt at once, without the model.
    async fn reply(&mut self, asked: Asked, text: &str) -> io::Result<()> {
        self.begin(asked, Work::Answer);
        self.tell_state().await?;
        self.answer(text).await
    }

    /// Writes the answer to the prompt that was worked on.
    async fn answer(&mut self, text: &str) -> io::Result<()> {
        self.output.own_answer(text).await?;
        let text = text.to_owned();
        self.close(Outcome { text, ..Outcome::without_work(End::Completed) }).await
    }

    /// Has the runtime do what a prompt asks for.
    async fn order(&mut self, asked: Asked, work: Work, command: Command) {
        self.begin(asked, work);
        // A closed channel means that the runtime is gone, which the caller watches.
        let _ = self.commands.send(command).await;
    }

    fn begin(&mut self, asked: Asked, work: Work) -> PromptId {
        let id = PromptId(self.tally.next_id);
        self.tally.next_id += 1;
        self.output.next_prompt();
        let queued = matches!(work, Work::Clear | Work::Compact);
        self.tally.sent = Some(Sent { id, asked, queued, work });
        id
    }

    async fn send(&mut self, asked: Asked) {
        let id = self.begin(asked.clone(), Work::Run);
        let prompt = QueuedPrompt {
            sub_agents: asked.sub_agents,
            images: asked.images,
            ..QueuedPrompt::typed(id, asked.text, When::Done)
        };
        // A closed channel means that the runtime is gone, which the caller watches.
        let _ = self.commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    }

    async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.output.event(event).await?;
        self.desk.event(event);
        let late = self.ending.event(event);
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
            EventKind::SessionOpened { id, .. } if self.works_on(Work::Clear) => {
                self.answer(&format!("The conversation was cleared. New session: {id}")).await?;
            }
            EventKind::SessionFailed { why } if self.works_on(Work::Clear) => {
                self.failed(why).await?;
            }
            EventKind::Compaction { by_hand: true, state } if self.works_on(Work::Compact) => {
                self.compacted(state).await?;
            }
            _ => {}
        }
        Ok(())
    }

    fn works_on(&self, work: Work) -> bool {
        self.tally.sent.as_ref().is_some_and(|sent| sent.work == work)
    }

    async fn compacted(&mut self, state: &CompactionState) -> io::Result<()> {
        match state {
            CompactionState::Started => {
                self.tally.sent.iter_mut().for_each(|sent| sent.queued = false);
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
                let end = End::Cancelled { before_start: false };
                self.close(Outcome::without_work(end)).await
            }
        }
    }

    /// Ends the prompt that was worked on: it could not be carried out.
    async fn failed(&mut self, why: &str) -> io::Result<()> {
        let failure = Failure::Storage;
        let end = End::Failed { failure, message: why.to_owned() };
        self.close(Outcome::without_work(end)).await
    }

    fn mark(&mut self, id: PromptId, queued: bool) {
        if let Some(sent) = self.tally.sent.as_mut().filter(|sent| sent.id == id) {
            sent.queued = queued;
        }
    }

    /// Repeats a prompt that the agent reads now, for a program that asked for that.
    async fn replay(&mut self, id: PromptId) -> io::Result<()> {
        match &self.tally.sent {
            Some(sent) if self.replays && sent.id == id => self.output.replay(&sent.asked).await,
            _ => Ok(()),
        }
    }

    /// A run that did not end well gives back what waited behind it: that is sent again.
    fn take_back(&mut self, id: PromptId) {
        if let Some(sent) = self.tally.sent.take_if(|sent| sent.id == id) {
            self.intake.put_back(sent.asked);
        }
    }

    async fn refused(&mut self, id: PromptId, why: &str) -> io::Result<()> {
        let sent = self.tally.sent.take_if(|sent| sent.id == id);
        self.tally.ended_with(BAD_INPUT);
        let origin = sent.and_then(|sent| sent.asked.origin);
        self.output.refuse(why, origin.as_ref()).await
    }

    /// The end of a run is the result of the prompt that it has read; of any other there is none to give.
    async fn finished(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.tally.sent.as_ref().is_none_or(|sent| sent.queued) {
            return Ok(());
        }
        self.close(outcome.clone()).await
    }

    /// Writes the result of the prompt that was worked on. That of the last one waits for agents in
    /// the background.
    async fn close(&mut self, outcome: Outcome) -> io::Result<()> {
        let sent = self.tally.sent.take();
        let origin = sent.and_then(|sent| sent.asked.origin);
        self.tally.ended_with(exit_code(&outcome.end));
        let result = LastResult { outcome, origin };
        let result = match self.intake.is_over() {
            true => self.ending.hold(result),
            false => Some(result),
        };
        self.write_result(result).await
    }

    async fn write_result(&mut self, result: Option<LastResult>) -> io::Result<()> {
        match result {
            Some(LastResult { outcome, origin }) => {
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

    use super::super::control::Backstage;
    use super::super::info::{LimitsOf, ModelLimits, SessionInfo};
    use super::super::link::Link;
    use super::super::questions::AskPeer;
    use super::*;
    use crate::cli::OutputFormat;
    use crate::protocol::{Mode, Redactor};

    struct NoServers;

    #[async_trait]
    impl Backstage for NoServers {
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
            mode: Mode::Default,
            tools: Vec::new(),
            agents: Vec::new(),
            slash_commands: Vec::new(),
            skills: Vec::new(),
            key_source: "none".to_owned(),
            limits: LimitsOf::new(|_| ModelLimits { context_window: 1, max_output: 1 }),
            agent_tool: "AgentTool".to_owned(),
            task_name: false,
            output_style: "default".to_owned(),
            subagent_text: true,
        }
    }

    #[tokio::test]
    async fn a_run_that_does_not_end_after_a_signal_has_a_result_all_the_same() {
        let (commands, mut sent) = mpsc::channel(4);
        let link = Link::one("go".to_owned());
        let peer = link.peer();
        let Link { stdout, client, intake, .. } = link;
        let conversation = Conversation {
            desk: Desk::new(commands.clone(), Arc::new(NoServers), &info()),
            commands,
            events: EventQueue::unhurried(),
            output: Output::new(info(), OutputFormat::Text, false, stdout, Redactor::default()),
            intake,
            client,
            questions: Questions::to(Arc::new(AskPeer(peer))),
            tally: Tally::new(false),
            driven: false,
            state: State::default(),
            state_reader: None,
            replays: false,
            ending: Ending::default(),
        };
        let stop = Stop::default();
        let signal = async {
            // Nobody works on it.
            assert!(matches!(sent.recv().await, Some(Command::Prompt { .. })));
            stop.asked.cancel();
            stop.overdue.cancel();
        };
        let (code, ()) = tokio::join!(conversation.run(&stop), signal);
        assert_eq!(code.unwrap(), exit_code(&End::Cancelled { before_start: false }));
    }
}
