//! The action of Ctrl+C and Esc in the current state: one function each, and the first case that
//! applies wins.
//!
//! `update` performs the action and the hint line describes it, so the two cannot disagree.

pub mod stop;
pub mod update;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::protocol::AgentPath;
use crate::tui::agents::picker::AgentAction;
use crate::tui::keymap::{Action, KeyContext, fixed_hint};
use crate::tui::layout;
use crate::tui::model::{InterruptKey, TuiModel};
use crate::tui::overlay::Overlay;
use crate::tui::question::QuestionStage;
use crate::tui::question::form::AnswerForm;

/// The action of Ctrl+C or Esc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterruptAction {
    CloseMenu,
    CloseOverlay,
    /// "Cancel which?": cancels all of them.
    CancelListed,
    /// "Cancel which?" or "Background which?": closes it without an action.
    ClosePicker,
    /// Goes from the reason or the rule back to the answers.
    BackToAnswers,
    /// Denies the shown call.
    Deny,
    /// Gives the keyboard to the shown question.
    TakeKeyboard,
    /// Ends the selection in the draft.
    EndSelection,
    /// Puts the message in the prompt back into the queue.
    Requeue,
    /// Cancels this agent and those below it.
    Cancel(AgentPath),
    /// The agent is being cancelled already.
    AlreadyCancelling(AgentPath),
    /// The focused agent has ended: nothing to cancel.
    HasEnded(AgentPath),
    /// Goes from the zoom to the panes, or from the panes to the prompt.
    StepBack,
    KillShell,
    PickAgent,
    ClearDraft,
    /// Stops main and all agents that its turn waits for.
    Stop,
    ArmQuit,
    Quit,
    /// Quits without waiting for what is being stopped.
    LeaveNow,
    Nothing,
}

/// How long a key is ignored after it acted.
pub const KEY_MUTE_TIME: Duration = Duration::from_millis(250);

/// The same after it denied a call: the next press would stop main and all its agents.
pub const DENIED_MUTE_TIME: Duration = Duration::from_secs(1);

/// Time within which a second press quits.
pub const QUIT_CONFIRM_TIME: Duration = Duration::from_secs(2);

/// Ctrl+C or Esc, if the key is one of them.
pub fn interrupt_key(key: KeyEvent) -> Option<InterruptKey> {
    match key.code {
        KeyCode::Esc => Some(InterruptKey::Escape),
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Some(InterruptKey::Interrupt)
        }
        _ => None,
    }
}

impl TuiModel {
    /// The action of Ctrl+C now.
    pub fn interrupt_action(&self) -> InterruptAction {
        if self.closing {
            return InterruptAction::LeaveNow;
        }
        if let Some(step) = self.open_action(InterruptKey::Interrupt) {
            return step;
        }
        if let Some(agent) = self.focused() {
            let path = agent.path.clone();
            return match (agent.alive(), agent.run.cancelling) {
                (false, _) => InterruptAction::HasEnded(path),
                (true, true) => InterruptAction::AlreadyCancelling(path),
                (true, false) => InterruptAction::Cancel(path),
            };
        }
        if self.shell.is_some() {
            return InterruptAction::KillShell;
        }
        if let Some(step) = self.agents_action() {
            return step;
        }
        if !self.composer.is_empty() {
            return InterruptAction::ClearDraft;
        }
        if self.main_is_busy() && !self.run.cancelling {
            return InterruptAction::Stop;
        }
        if let Some(step) = self.background_action() {
            return step;
        }
        if self.keys.quit_by_interrupt.is_some_and(|until| self.now <= until) {
            return InterruptAction::Quit;
        }
        InterruptAction::ArmQuit
    }

    /// The action of Esc now.
    pub fn escape_action(&self) -> InterruptAction {
        if let Some(step) = self.open_action(InterruptKey::Escape) {
            return step;
        }
        if self.composer.buffer.selection().is_some() {
            return InterruptAction::EndSelection;
        }
        if self.recalled_is_awaited() {
            return InterruptAction::Requeue;
        }
        if self.focused().is_some() {
            return InterruptAction::StepBack;
        }
        if self.shell.is_some() {
            return InterruptAction::KillShell;
        }
        if self.main_is_busy() && !self.run.cancelling {
            return InterruptAction::Stop;
        }
        InterruptAction::Nothing
    }

    /// Whether the prompt holds a message taken back from the queue of an agent that still works. Once it
    /// has stopped, a message put back would be sent at once, so the message is a draft like any other.
    pub fn recalled_is_awaited(&self) -> bool {
        let recalled = self.composer.recalled.as_ref().map(|recalled| &recalled.to);
        recalled.is_some_and(|to| match self.agents.get(to) {
            Some(agent) => agent.alive(),
            None => to.is_root() && self.main_is_busy(),
        })
    }

    /// The action on an overlay, a question or a menu, if one is open.
    fn open_action(&self, key: InterruptKey) -> Option<InterruptAction> {
        match &self.overlay {
            Some(Overlay::AgentPicker(which)) => {
                return Some(match (key, which.action) {
                    (InterruptKey::Interrupt, AgentAction::Cancel) if which.is_unread(self.now) => {
                        InterruptAction::Nothing
                    }
                    (InterruptKey::Interrupt, AgentAction::Cancel) => InterruptAction::CancelListed,
                    _ => InterruptAction::ClosePicker,
                });
            }
            Some(_) => return Some(InterruptAction::CloseOverlay),
            None => {}
        }
        let question = self.questions.current().map(|(open, _)| open);
        if let Some(open) = question.filter(|open| open.keyboard) {
            let typing = self.questions.form().is_some_and(AnswerForm::is_typing);
            return Some(match open.stage {
                QuestionStage::Choose if typing => InterruptAction::BackToAnswers,
                QuestionStage::Choose => InterruptAction::Deny,
                QuestionStage::Reason(_) | QuestionStage::Rule(_) => InterruptAction::BackToAnswers,
            });
        }
        if self.composer.menu.is_some() {
            return Some(match key {
                InterruptKey::Interrupt => InterruptAction::ClearDraft,
                InterruptKey::Escape => InterruptAction::CloseMenu,
            });
        }
        question.map(|_| InterruptAction::TakeKeyboard)
    }

    /// The action while the turn waits for agents and none has the focus.
    fn agents_action(&self) -> Option<InterruptAction> {
        let waited_for = self.awaited_agents();
        let open: Vec<_> = waited_for.iter().filter(|agent| !agent.run.cancelling).collect();
        let mut running = open.iter().filter(|agent| agent.running());
        match (running.next(), running.next()) {
            (Some(only), None) => Some(InterruptAction::Cancel(only.path.clone())),
            _ if !open.is_empty() => Some(InterruptAction::PickAgent),
            _ => waited_for
                .first()
                .map(|agent| InterruptAction::AlreadyCancelling(agent.path.clone())),
        }
    }

    /// The action when the turn is over and agents still run in the background.
    fn background_action(&self) -> Option<InterruptAction> {
        if self.main_is_busy() {
            return None;
        }
        let mut open = self.agents.background().filter(|agent| !agent.run.cancelling);
        match (open.next(), open.next()) {
            (Some(only), None) => Some(InterruptAction::Cancel(only.path.clone())),
            (Some(_), Some(_)) => Some(InterruptAction::PickAgent),
            (None, _) => {
                let first = self.agents.background().next();
                first.map(|agent| InterruptAction::AlreadyCancelling(agent.path.clone()))
            }
        }
    }
}

/// The hint for Esc, if it stops something now.
pub fn stop_hint(model: &TuiModel) -> Option<&'static str> {
    let has_agents = model.agents.foreground().next().is_some();
    let hint = if has_agents { "Esc stops all" } else { "Esc stops" };
    (model.escape_action() == InterruptAction::Stop).then_some(hint)
}

/// Hints for Ctrl+C and Esc on the prompt; `None` if they do nothing notable.
pub fn hint(model: &TuiModel) -> Option<Vec<String>> {
    let (interrupt, escape) = (model.interrupt_action(), model.escape_action());
    // The line about the work says it too, where there is one.
    let (width, height) = model.size;
    let stops = stop_hint(model).map(str::to_owned);
    let stops = stops.filter(|_| layout::is_small(width, height));
    // With a question waiting, the key shows that.
    let agents = model.keymap.hint(KeyContext::Prompt, Action::Next, "agents");
    let agents = agents.filter(|_| model.questions.waiting.is_empty());
    let pieces = match (&interrupt, &escape) {
        (InterruptAction::Stop, InterruptAction::Stop) => vec![stops],
        (InterruptAction::ClearDraft, InterruptAction::Stop) => {
            vec![stops, fixed_hint("Ctrl+C clears the draft")]
        }
        (InterruptAction::ClearDraft, InterruptAction::Requeue) => {
            vec![fixed_hint("Esc puts it back in the queue")]
        }
        (InterruptAction::Cancel(path), _) => {
            vec![Some(format!("Ctrl+C cancels {}", model.label(path))), stops, agents]
        }
        (InterruptAction::PickAgent, _) => {
            vec![fixed_hint("Ctrl+C asks which to cancel"), stops, agents]
        }
        (InterruptAction::AlreadyCancelling(path), _) => {
            vec![Some(format!("{} is being cancelled", model.label(path))), stops]
        }
        (InterruptAction::KillShell, _) => {
            let waiting = model.queue.awaiting_shell(model.prompt_waits_for_shell()).count();
            let back = match waiting {
                0 => "",
                1 => " and gives your message back",
                _ => " and gives your messages back",
            };
            vec![Some(format!("Esc or Ctrl+C kills the command{back}"))]
        }
        _ => return None,
    };
    Some(pieces.into_iter().flatten().collect())
}
