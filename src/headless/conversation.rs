//! Prompts in, one after the other, and events out, until there is nothing left to ask. Control lines go both ways
//! meanwhile.

use std::io;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::control::permission::Said;
use super::control::{Client, Desk};
use super::exit_code;
use super::input::Asked;
use super::intake::{Intake, Next};
use super::output::Output;
use super::questions::Questions;
use crate::protocol::{
    AgentEvent, AgentPath, Command, EventKind, EventQueue, Outcome, PromptId, QuestionId,
    QueuedPrompt, When,
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
    /// What was told last of what the run does; absent where nobody asked to be told.
    pub state: Option<State>,
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

/// What was sent, and how it ended.
#[derive(Default)]
pub(super) struct Tally {
    sent: Option<Sent>,
    next_id: u64,
    code: u8,
    /// Whether the exit code tells of the last prompt rather than of the first that did not end well: a program that
    /// reads every result has dealt with those before.
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
    /// It waits behind a run that something else had started.
    queued: bool,
}

impl Conversation {
    /// Runs to the end of all prompts, or to the end of the present one once `stop` has fired. Answers with the exit
    /// code that tells how it ended.
    pub async fn run(mut self, stop: &CancellationToken) -> io::Result<u8> {
        let mut batch = Vec::with_capacity(BATCH);
        let backstage = self.desk.backstage();
        let mut served = backstage.served();
        // The first frame names the servers: no event is read before it can.
        let mut waits = true;
        loop {
            // Looked at before the next prompt is: the end of a run that was stopped may have come in the same moment.
            if stop.is_cancelled() && !self.intake.is_over() {
                self.intake.stop();
                self.client.end();
            }
            self.take_in().await?;
            self.tell_state().await?;
            if self.tally.sent.is_none() && self.intake.is_over() {
                self.output.finish().await?;
                return Ok(self.tally.code);
            }
            tokio::select! {
                served = &mut served, if waits => {
                    self.output.serve(served);
                    waits = false;
                }
                () = stop.cancelled(), if waits => waits = false,
                () = self.events.drain(&mut batch, BATCH), if !waits => {
                    for event in batch.drain(..) {
                        self.event(&event).await?;
                    }
                }
                () = self.intake.changed() => {}
                (id, said) = self.questions.answered() => self.answered(id, said).await?,
                lines = self.client.withdrawn() => self.output.control(&lines).await?,
                () = stop.cancelled(), if !self.intake.is_over() => {}
            }
        }
    }

    /// Deals with what has come over stdin as far as it can be dealt with now, in order: a prompt is sent when the one
    /// before it has its answer, a request is answered at once, also before the first frame.
    async fn take_in(&mut self) -> io::Result<()> {
        while let Some(next) = self.intake.next(self.tally.sent.is_none(), self.output.is_open()) {
            match next {
                Next::Prompt(Ok(asked)) => self.send(asked).await,
                Next::Prompt(Err(why)) => {
                    self.output.next_prompt();
                    self.output.refuse(&why).await?;
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
        if !self.output.is_open() || self.state.is_none_or(|told| told == now) {
            return Ok(());
        }
        self.state = Some(now);
        self.output.state(now).await
    }

    /// Carries the answer to a question of ours out.
    async fn answered(&mut self, id: QuestionId, said: Said) -> io::Result<()> {
        let Said { answer, mode, problem } = said;
        if let Some(problem) = problem {
            self.output.remark_on(&problem)?;
        }
        let mode = mode.map(Command::SetMode);
        let commands = [mode, Some(Command::Answer { id, answer })];
        for command in commands.into_iter().flatten() {
            // A closed channel means that the runtime is gone, which the caller watches.
            let _ = self.commands.send(command).await;
        }
        Ok(())
    }

    async fn send(&mut self, asked: Asked) {
        let id = PromptId(self.tally.next_id);
        self.tally.next_id += 1;
        self.output.next_prompt();
        let prompt = QueuedPrompt {
            sub_agents: asked.sub_agents,
            images: asked.images.clone(),
            ..QueuedPrompt::typed(id, asked.text.clone(), When::Done)
        };
        self.tally.sent = Some(Sent { id, asked, queued: false });
        // A closed channel means that the runtime is gone, which the caller watches.
        let _ = self.commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    }

    async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.output.event(event).await?;
        self.desk.event(event);
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
            EventKind::PromptRead { id: Some(id), .. } => self.mark(*id, false),
            EventKind::PromptReturned { id, .. } => self.take_back(*id),
            EventKind::PromptRefused { id, why, .. } => self.refused(*id, why).await?,
            EventKind::Finished(outcome) => self.finished(outcome).await?,
            _ => {}
        }
        Ok(())
    }

    fn mark(&mut self, id: PromptId, queued: bool) {
        if let Some(sent) = self.tally.sent.as_mut().filter(|sent| sent.id == id) {
            sent.queued = queued;
        }
    }

    /// A run that did not end well gives back what waited behind it: that is sent again.
    fn take_back(&mut self, id: PromptId) {
        if let Some(sent) = self.tally.sent.take_if(|sent| sent.id == id) {
            self.intake.put_back(sent.asked);
        }
    }

    async fn refused(&mut self, id: PromptId, why: &str) -> io::Result<()> {
        self.tally.sent.take_if(|sent| sent.id == id);
        self.tally.ended_with(BAD_INPUT);
        self.output.refuse(why).await
    }

    async fn finished(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.output.result(outcome).await?;
        self.tally.ended_with(exit_code(&outcome.end));
        self.tally.sent.take_if(|sent| !sent.queued);
        Ok(())
    }
}
