//! Prompts in, one after the other, and events out, until there is nothing left to ask.

use std::io;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::exit_code;
use super::input::Asked;
use super::output::Output;
use super::prompts::Prompts;
use crate::protocol::{
    AgentEvent, AgentPath, Command, EventKind, EventQueue, Outcome, PromptId, QueuedPrompt, When,
};

/// How many events are written between two looks at stdin.
const BATCH: usize = 64;

/// The exit code of a prompt that could not be read.
const BAD_INPUT: u8 = 2;

/// One run without a screen.
pub(super) struct Conversation {
    commands: mpsc::Sender<Command>,
    events: EventQueue,
    output: Output,
    prompts: Prompts,
    sent: Option<Sent>,
    next_id: u64,
    /// Of the first prompt that did not end well.
    code: u8,
}

/// The prompt that was sent last and is not answered yet.
struct Sent {
    id: PromptId,
    asked: Asked,
    /// It waits behind a run that something else had started.
    queued: bool,
}

impl Conversation {
    pub fn new(
        commands: mpsc::Sender<Command>,
        events: EventQueue,
        output: Output,
        prompts: Prompts,
    ) -> Self {
        Self { commands, events, output, prompts, sent: None, next_id: 0, code: 0 }
    }

    /// Runs to the end of all prompts, or to the end of the present one once `stop` has fired. Answers with the exit
    /// code that tells how it ended.
    pub async fn run(mut self, stop: &CancellationToken) -> io::Result<u8> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            self.send_next().await?;
            if self.sent.is_none() && self.prompts.is_over() {
                self.output.finish().await?;
                return Ok(self.code);
            }
            let open = self.output.is_open();
            tokio::select! {
                () = self.events.drain(&mut batch, BATCH) => {
                    for event in batch.drain(..) {
                        self.event(&event).await?;
                    }
                }
                control = self.prompts.read(), if open => {
                    if let Some(control) = control {
                        self.output.refuse_control(&control.id, &control.subtype).await?;
                    }
                }
                () = stop.cancelled(), if !self.prompts.is_over() => self.prompts.stop(),
            }
        }
    }

    /// Sends the next prompt when the one before it has its answer.
    async fn send_next(&mut self) -> io::Result<()> {
        while self.sent.is_none() && self.output.is_open() {
            match self.prompts.take() {
                None => return Ok(()),
                Some(Ok(asked)) => self.send(asked).await,
                Some(Err(why)) => {
                    self.output.next_prompt();
                    self.output.refuse(&why).await?;
                    self.ended_with(BAD_INPUT);
                }
            }
        }
        Ok(())
    }

    async fn send(&mut self, asked: Asked) {
        let id = PromptId(self.next_id);
        self.next_id += 1;
        self.output.next_prompt();
        let prompt = QueuedPrompt {
            sub_agents: asked.sub_agents,
            ..QueuedPrompt::typed(id, asked.text.clone(), When::Done)
        };
        self.sent = Some(Sent { id, asked, queued: false });
        // A closed channel means that the runtime is gone, which the caller watches.
        let _ = self.commands.send(Command::Prompt { to: AgentPath::root(), prompt }).await;
    }

    async fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.output.event(event).await?;
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
        if let Some(sent) = self.sent.as_mut().filter(|sent| sent.id == id) {
            sent.queued = queued;
        }
    }

    /// A run that did not end well gives back what waited behind it: that is sent again.
    fn take_back(&mut self, id: PromptId) {
        if let Some(sent) = self.sent.take_if(|sent| sent.id == id) {
            self.prompts.put_back(sent.asked);
        }
    }

    async fn refused(&mut self, id: PromptId, why: &str) -> io::Result<()> {
        self.sent.take_if(|sent| sent.id == id);
        self.ended_with(BAD_INPUT);
        self.output.refuse(why).await
    }

    async fn finished(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.output.result(outcome).await?;
        self.ended_with(exit_code(&outcome.end));
        self.sent.take_if(|sent| !sent.queued);
        Ok(())
    }

    fn ended_with(&mut self, code: u8) {
        if self.code == 0 {
            self.code = code;
        }
    }
}
