//! What Ctrl+C and Esc would do now. One function each, read from top to bottom: the first row that fits.
//!
//! `update` takes the step, and the hint line says it in words, so that the two cannot disagree.

use std::time::Duration;

use crate::protocol::AgentPath;

use super::overlay::Wish;
use super::question::Stage;
use super::{Model, Overlay, StepKey};

/// A step out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    CloseMenu,
    CloseOverlay,
    /// "Cancel which?": all of them.
    CancelListed,
    /// "Cancel which?" or "Background which?": nobody.
    Nobody,
    /// From the reason or the rule back to the answers.
    BackToAnswers,
    /// No to the shown call.
    Deny,
    /// The shown question gets the keyboard.
    TakeKeyboard,
    /// The message in the prompt goes back into the queue.
    PutBack,
    /// Cancel this agent and those under it.
    Cancel(AgentPath),
    /// It is being cancelled already.
    AlreadyCancelling(AgentPath),
    /// The focused agent has ended: nothing to cancel.
    HasEnded(AgentPath),
    /// From the zoom to the panes, from the panes to the prompt.
    StepBack,
    KillShell,
    AskWhich,
    ClearDraft,
    /// Stop main and all agents that its turn waits for.
    Stop,
    ArmQuit,
    Quit,
    /// Leave without waiting for what is being ended.
    LeaveNow,
    Nothing,
}

/// How long a key that took a step is deaf.
pub const DEAF: Duration = Duration::from_millis(250);

/// How long a second press quits.
pub const QUIT_ARMED: Duration = Duration::from_secs(2);

impl Model {
    /// What Ctrl+C does now.
    #[must_use]
    pub fn interrupt_step(&self) -> Step {
        if self.closing {
            return Step::LeaveNow;
        }
        if let Some(step) = self.open_step(StepKey::Interrupt) {
            return step;
        }
        if let Some(agent) = self.focused() {
            let path = agent.path.clone();
            return match (agent.alive(), agent.run.cancelling) {
                (false, _) => Step::HasEnded(path),
                (true, true) => Step::AlreadyCancelling(path),
                (true, false) => Step::Cancel(path),
            };
        }
        if self.shell.is_some() {
            return Step::KillShell;
        }
        if let Some(step) = self.unfocused_agents_step() {
            return step;
        }
        if !self.composer.is_empty() {
            return Step::ClearDraft;
        }
        if self.main_works() && !self.run.cancelling {
            return Step::Stop;
        }
        if let Some(step) = self.background_agents_step() {
            return step;
        }
        if self.keys.quit_by_interrupt.is_some_and(|until| self.now <= until) {
            return Step::Quit;
        }
        Step::ArmQuit
    }

    /// What Esc does now.
    #[must_use]
    pub fn escape_step(&self) -> Step {
        if let Some(step) = self.open_step(StepKey::Escape) {
            return step;
        }
        if self.composer.taken.is_some() {
            return Step::PutBack;
        }
        if self.focused().is_some() {
            return Step::StepBack;
        }
        if self.shell.is_some() {
            return Step::KillShell;
        }
        if self.main_works() && !self.run.cancelling {
            return Step::Stop;
        }
        Step::Nothing
    }

    /// The rows that are about something opened or asked.
    fn open_step(&self, key: StepKey) -> Option<Step> {
        match &self.overlay {
            Some(Overlay::Which(which)) => {
                return Some(match (key, which.wish) {
                    (StepKey::Interrupt, Wish::Cancel) => Step::CancelListed,
                    _ => Step::Nobody,
                });
            }
            Some(_) => return Some(Step::CloseOverlay),
            None => {}
        }
        let question = self.questions.shown().map(|(open, _)| open);
        if let Some(open) = question.filter(|open| open.keyboard) {
            return Some(match open.stage {
                Stage::Choose => Step::Deny,
                Stage::Reason(_) | Stage::Rule(_) => Step::BackToAnswers,
            });
        }
        if self.composer.menu.is_some() {
            return Some(Step::CloseMenu);
        }
        question.map(|_| Step::TakeKeyboard)
    }

    /// The turn waits for agents, and none has the focus.
    fn unfocused_agents_step(&self) -> Option<Step> {
        let waited_for = self.waited_for();
        let open: Vec<_> = waited_for.iter().filter(|agent| !agent.run.cancelling).collect();
        let mut running = open.iter().filter(|agent| agent.running());
        match (running.next(), running.next()) {
            (Some(only), None) => Some(Step::Cancel(only.path.clone())),
            _ if !open.is_empty() => Some(Step::AskWhich),
            _ => waited_for.first().map(|agent| Step::AlreadyCancelling(agent.path.clone())),
        }
    }

    /// The turn is over, and agents go on in the background.
    fn background_agents_step(&self) -> Option<Step> {
        if self.main_works() {
            return None;
        }
        let mut open = self.agents.background().filter(|agent| !agent.run.cancelling);
        match (open.next(), open.next()) {
            (Some(only), None) => Some(Step::Cancel(only.path.clone())),
            (Some(_), Some(_)) => Some(Step::AskWhich),
            (None, _) => {
                let first = self.agents.background().next();
                first.map(|agent| Step::AlreadyCancelling(agent.path.clone()))
            }
        }
    }
}
