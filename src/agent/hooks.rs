//! Runs hooks around calls, before prompts and at the end of a run.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::compact::CompactTrigger;
use super::dispatch::{CallContext, ToolCall, ValidCall};
use super::time_limit::cancelled_error;
use super::{Agent, AgentRun, Prompt};
use crate::hook::{
    HookContext, HookInput, HookOutput, HookToolCall as HookCall, NotificationKind,
    PermissionDecision,
};
use crate::permission::HookAdvice;
use crate::protocol::{
    Denial, EventKind, EventSink, HookEvent, NoticeLevel, ResultBlock, Sender, WaitKind,
    report_wait,
};
use crate::tool::{SoftKind, Tool, ToolError, ToolOutcome};

/// How often hooks can make an agent continue in one run.
const MAX_HOOK_CONTINUATIONS: u32 = 8;

/// The output of hooks on a call that may run.
#[derive(Default)]
pub(super) struct HookFeedback {
    pub advice: HookAdvice,
    /// For the model, after the result.
    context: Option<String>,
}

impl HookFeedback {
    /// Adds the context for the model to the result of the call.
    pub fn apply_to(
        self,
        answer: Result<ToolOutcome, ToolError>,
    ) -> Result<ToolOutcome, ToolError> {
        let Some(context) = self.context else { return answer };
        match answer {
            Ok(mut outcome) => {
                outcome.content.push(ResultBlock::text(context));
                Ok(outcome)
            }
            Err(error) => Err(error.with_context(&context)),
        }
    }
}

impl Agent {
    /// Runs the hooks on a valid call before it is judged. They may forbid it, change its input, or
    /// end the run.
    pub(super) async fn before_call(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        at: CallContext<'_>,
    ) -> Result<(ValidCall, HookFeedback), ToolError> {
        if !self.setup.hooks.has_hooks_for(HookEvent::PreToolUse) {
            return Ok((valid, HookFeedback::default()));
        }
        let moment = HookInput::PreToolUse(hook_call(tool, &valid));
        let here = self.call_hook_context(&valid.call, at);
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        if at.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        let context = said.context_text();
        if let Some(why) = said.stop {
            at.stop(why);
            let why = "This call was not run: a hook ended the turn.";
            return Err(ToolError::denied(Denial::new(why)));
        }
        let advice = match said.decision {
            None => HookAdvice::None,
            Some(PermissionDecision::Allow) => HookAdvice::Allow,
            Some(PermissionDecision::Ask { why }) => HookAdvice::Ask { why },
            Some(PermissionDecision::Deny { why }) => {
                return Err(self.denied(tool, &valid, &why, context));
            }
        };
        let ValidCall { mut call, .. } = valid;
        if let Some(input) = said.input {
            tool.validate(&input).map_err(|invalid| {
                let why = format!("A hook has changed its input, which is now invalid: {invalid}");
                ToolError::soft(SoftKind::InvalidInput, why)
            })?;
            call.input = input;
        }
        // A hook may also have changed links in the call's paths.
        Ok((call.with_access(tool), HookFeedback { advice, context }))
    }

    fn denied(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        why: &str,
        context: Option<String>,
    ) -> ToolError {
        let denial = Denial::new(format!("denied by a hook: {why}"));
        let request = self.gate_call(tool, &valid.call, &valid.access);
        self.setup.gate.report_denied(&request, denial.clone());
        let error = ToolError::denied(denial);
        match context {
            Some(context) => error.with_context(&context),
            None => error,
        }
    }

    /// Runs the hooks on a call that succeeded. Their output is read with its result.
    pub(super) async fn after_call(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        mut outcome: ToolOutcome,
        took: Duration,
        at: CallContext<'_>,
    ) -> ToolOutcome {
        let here = self.call_hook_context(&valid.call, at);
        let (call, response) = (hook_call(tool, valid), outcome.content.as_slice());
        let moment = HookInput::PostToolUse { call, response, took };
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        let context = said.context_text();
        let block = said.block.map(|why| format!("[A user hook objects: {why}]"));
        outcome.content.extend(block.into_iter().chain(context).map(ResultBlock::text));
        if let Some(why) = said.stop {
            at.stop(why);
        }
        outcome
    }

    /// Runs the hooks on the start of a sub-agent. Returns context for it to read before its
    /// prompt.
    pub async fn run_start_hooks(
        &self,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let said = self
            .setup
            .hooks
            .run(&HookInput::SubagentStart, self.hook_context(events), cancel)
            .await;
        said.context_text()
    }

    /// Notifies hooks that a question about a call is about to wait for the user.
    pub(super) fn notify_question(&self, tool: &dyn Tool, run: &AgentRun<'_>) {
        let need = NotificationKind::Permission { tool: &tool.spec().name };
        self.setup.hooks.notify(&HookInput::Notification(need), self.hook_context(run.events));
    }

    /// Runs the hooks on a user's prompt, and adds their context to it. Returns `None` if a hook
    /// rejects the prompt; an event then says so.
    pub async fn run_prompt_hooks(
        &self,
        prompt: Prompt,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<Prompt> {
        if prompt.from != Sender::Person
            || !self.setup.hooks.has_hooks_for(HookEvent::UserPromptSubmit)
        {
            return Some(prompt);
        }
        let moment = HookInput::UserPromptSubmit { prompt: &prompt.text };
        let said = self.setup.hooks.run(&moment, self.hook_context(events), cancel).await;
        let context = said.context_text();
        let HookOutput { block, stop, .. } = said;
        let Some(why) = block.or(stop) else { return Some(prompt.with_note(context)) };
        let why = match why.as_str() {
            "" => "a hook rejected this prompt".to_owned(),
            why => format!("a hook rejected this prompt: {why}"),
        };
        match prompt.id {
            Some(id) => events.emit(EventKind::PromptRefused { id, text: prompt.text, why }),
            None => events.notice(NoticeLevel::Error, why),
        }
        None
    }

    /// Runs the hooks on the coming end of a run. Returns what the agent is to read if they want it
    /// to continue.
    pub(super) async fn run_stop_hooks(&mut self, run: &mut AgentRun<'_>) -> Option<String> {
        let moment = HookInput::Stop { again: run.hook_continuations > 0, last: &run.text };
        let heard = self.setup.hooks.start(&moment, self.hook_context(run.events))?;
        // From here on they run to completion, whatever becomes of this run.
        self.end_unreported = false;
        let event = moment.event(!run.events.path().is_root());
        let said = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return None,
            said = report_wait(run.events, || WaitKind::Hooks { event }, heard) => said.unwrap_or_default(),
        };
        let why = said.block.filter(|_| said.stop.is_none())?;
        if run.hook_continuations == MAX_HOOK_CONTINUATIONS {
            let text =
                format!("hooks made it continue {MAX_HOOK_CONTINUATIONS} times: stopping now");
            run.events.notice(NoticeLevel::Warning, text);
            return None;
        }
        run.hook_continuations += 1;
        self.end_unreported = true;
        let line = why.lines().next().unwrap_or_default();
        run.events.notice(NoticeLevel::Info, format!("a hook makes it continue: {line}"));
        Some(format!("[A user hook wants you to continue: {why}]"))
    }

    /// Notifies hooks of the end of a run, unless they have been. They cannot change it any more.
    pub fn notify_end(&mut self, last: &str, events: &EventSink) {
        if std::mem::take(&mut self.end_unreported) {
            let moment = HookInput::Stop { again: false, last };
            self.setup.hooks.notify(&moment, self.hook_context(events));
        }
    }

    /// Runs the hooks on a coming compaction. Returns why they block it.
    pub(super) async fn run_compact_hooks(
        &self,
        cause: &CompactTrigger<'_>,
        run: &AgentRun<'_>,
    ) -> Option<String> {
        let (by_hand, instructions) = match cause {
            CompactTrigger::Manual(instructions) => (true, *instructions),
            CompactTrigger::NearlyFull | CompactTrigger::Refused => (false, None),
        };
        let moment = HookInput::PreCompact { by_hand, instructions };
        let said = self.setup.hooks.run(&moment, self.hook_context(run.events), run.cancel).await;
        said.block.or(said.stop).map(|why| format!("blocked by a hook: {why}"))
    }

    pub(super) fn hook_context<'a>(&'a self, events: &'a EventSink) -> HookContext<'a> {
        HookContext { cwd: &self.setup.cwd, mode: self.setup.gate.mode(), events }
    }

    /// The context for a call, which may start in another directory.
    pub(super) fn call_hook_context<'a>(
        &self,
        call: &'a ToolCall,
        at: CallContext<'a>,
    ) -> HookContext<'a> {
        HookContext { cwd: &call.directory, mode: self.setup.gate.mode(), events: at.run.events }
    }
}

impl CallContext<'_> {
    /// Ends the run: cancels the other calls now, and stops once all have their results.
    pub(super) fn stop(&self, why: String) {
        let text = match why.as_str() {
            "" => "a hook ended the turn".to_owned(),
            why => format!("a hook ended the turn: {why}"),
        };
        if self.run.stopped.set(why).is_ok() {
            self.run.events.notice(NoticeLevel::Warning, text);
        }
        self.cancel.cancel();
    }
}

/// Describes a call for hooks.
pub(super) fn hook_call<'a>(tool: &'a dyn Tool, valid: &'a ValidCall) -> HookCall<'a> {
    let ToolCall { id, input, .. } = &valid.call;
    HookCall { id, tool: &tool.spec().name, input, file: valid.file() }
}
