//! Hooks around a session: its beginning, its prompts, its end.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assemble::Session;
use super::{Open, Runtime};
use crate::agent::{Agent, Prompt};
use crate::hook::{Here, Leaving, Moment, Need, Opening, Said};
use crate::protocol::{EventSink, HookEvent, Wait, tell_wait};

/// How long hooks are waited for when the program ends.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// How much of that is kept for those of the session's end, when others do not come to their end before.
const END_WAIT: Duration = Duration::from_secs(1);

/// Output of the `SessionStart` hooks, which goes with the first prompt that is accepted.
#[derive(Clone)]
pub(super) struct Begun(Arc<Mutex<Option<Beginning>>>);

enum Beginning {
    /// They are still at it.
    Running(oneshot::Receiver<Said>),
    /// Their context for the model, kept because a hook refused the prompt that carried it.
    Said(String),
}

impl Begun {
    fn new(said: Option<oneshot::Receiver<Said>>) -> Self {
        Self(Arc::new(Mutex::new(said.map(Beginning::Running))))
    }

    fn take(&self) -> Option<Beginning> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put_back(&self, beginning: Beginning) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(beginning);
    }

    /// The hooks, if they are still at it.
    fn running(&self) -> Option<oneshot::Receiver<Said>> {
        match self.take()? {
            Beginning::Running(said) => Some(said),
            Beginning::Said(_) => None,
        }
    }

    /// Waits for what the model is to know. It is heard once, unless it is put back.
    async fn heard(&self, events: &EventSink, cancel: &CancellationToken) -> Option<String> {
        let mut said = match self.take()? {
            Beginning::Running(said) => said,
            Beginning::Said(context) => return Some(context),
        };
        let wait = Wait::Hooks { event: HookEvent::SessionStart };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.put_back(Beginning::Running(said));
                None
            }
            said = tell_wait(events, || wait, &mut said) => said.unwrap_or_default().context_text(),
        }
    }
}

/// One run of main, with what hooks have to say to its prompt. Those of the session's beginning
/// come to their end before those of its first prompt start.
pub(super) async fn run(
    agent: &mut Agent,
    prompt: Option<Prompt>,
    begun: Option<Begun>,
    events: &EventSink,
    cancel: &CancellationToken,
) {
    let prompt = match (prompt, begun) {
        (Some(prompt), Some(begun)) => {
            let context = begun.heard(events, cancel).await;
            let noted = prompt.with_note(context.clone());
            let Some(prompt) = agent.let_in(noted, events, cancel).await else {
                if let Some(context) = context {
                    begun.put_back(Beginning::Said(context));
                }
                return;
            };
            Some(prompt)
        }
        (Some(prompt), None) => match agent.let_in(prompt, events, cancel).await {
            Some(prompt) => Some(prompt),
            None => return,
        },
        (None, _) => None,
    };
    let run = AssertUnwindSafe(agent.run(prompt, events, cancel)).catch_unwind();
    if let Err(panic) = Box::pin(run).await {
        // Whatever ends a run, its hooks hear of it.
        agent.tell_end("", events);
        std::panic::resume_unwind(panic);
    }
}

impl Runtime {
    /// Tells hooks that a session is open, and that the one before it, if there was one, is left.
    pub(super) fn session_begins(&mut self, open: Open, before: &Session) {
        let (leaving, opening) = match open {
            Open::Stored(_) | Open::Fork { .. } => (Leaving::Resume, Opening::Resume),
            Open::New(_) if self.begun.is_none() => (Leaving::Other, Opening::Startup),
            Open::New(_) => (Leaving::Clear, Opening::Clear),
        };
        let here = self.here();
        // In the order in which things happen: its beginning, its end, the beginning of the next.
        let left = self.begun.as_ref().and_then(|begun| {
            before.hooks.ask_after(begun.running(), &Moment::SessionEnd(leaving), here)
        });
        let model = self.model.as_ref().map(|model| model.get().name.clone());
        let moment = Moment::SessionStart { opening, model: model.as_deref() };
        let said = self.session.hooks.ask_after(left, &moment, here);
        self.begun = Some(Begun::new(said));
    }

    /// Tells hooks that main is done, and that nobody but the person can make it go on.
    pub(super) fn tell_of_idleness(&self) {
        if self.run.is_none() && self.parts.patience.is_none() {
            self.session.hooks.tell(&Moment::Notification(Need::Idle), self.here());
        }
    }

    /// Tells hooks that the session ends with the program, and waits for all that are still at it,
    /// within bounds. In the order in which things happen: those that are still at something else
    /// first, as far as there is time.
    pub(super) async fn leave(&self, leaving: Leaving) {
        let end = Instant::now() + LAST_WAIT;
        let hooks = &self.parts.hooks;
        hooks.settle(LAST_WAIT - END_WAIT).await;
        if self.begun.is_some() {
            self.session.hooks.tell(&Moment::SessionEnd(leaving), self.here());
        }
        hooks.finish(end.saturating_duration_since(Instant::now())).await;
    }

    fn here(&self) -> Here<'_> {
        Here { cwd: &self.parts.cwd, mode: self.parts.gate.mode(), events: &self.events }
    }
}
