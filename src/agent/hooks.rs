//! Runs hooks around calls, before prompts and at the end of a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::call::{CallContext, CallNotes, ToolCall, ValidCall};
use super::compact::trigger::CompactTrigger;
use super::prompts::{Prompt, PromptContext};
use super::run::AgentRun;
use super::state::Agent;
use super::time_limit::cancelled_error;
use crate::hook::{
    FinishedCall, HookContext, HookInput, HookOutput, HookToolCall as HookCall, NotificationKind,
    PermissionDecision,
};
use crate::permission::{HookAdvice, QuestionDraft, Verdict};
use crate::protocol::{
    Access, ContentBlock, Denial, EventKind, EventSink, HookEvent, NoticeLevel, ResultBlock,
    Sender, WaitKind, report_wait,
};
use crate::tool::{SoftKind, ToolError, ToolOutcome};

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
        match answer {
            Ok(mut outcome) => {
                outcome.content.extend(self.context.map(ResultBlock::text));
                Ok(outcome)
            }
            Err(error) => Err(with_context(error, self.context.as_deref())),
        }
    }
}

impl Agent {
    /// Runs the hooks on a valid call before it is judged. They may forbid it, change its input, or
    /// end the run.
    pub(super) async fn before_call(
        &self,
        valid: ValidCall,
        at: CallContext<'_>,
    ) -> Result<(ValidCall, HookFeedback), ToolError> {
        if !self.setup.hooks.has_hooks_for(HookEvent::PreToolUse) {
            return Ok((valid, HookFeedback::default()));
        }
        let input = HookInput::PreToolUse(hook_call(&valid.call, valid.file()));
        let here = self.call_hook_context(&valid.call, at);
        let output = self.setup.hooks.run(&input, here, at.cancel).await;
        if at.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        let context = output.context_text();
        if let Some(why) = output.stop {
            at.stop(why);
            let why = "This call was not run: a hook ended the turn.";
            return Err(ToolError::denied(Denial::new(why)));
        }
        let advice = match output.decision {
            None => HookAdvice::None,
            Some(PermissionDecision::Allow) => HookAdvice::Allow,
            Some(PermissionDecision::Ask { why }) => HookAdvice::Ask { why },
            Some(PermissionDecision::Deny { why }) => {
                let error = ToolError::denied(self.deny_by_hook(&valid, &why));
                return Err(with_context(error, context.as_deref()));
            }
        };
        // A hook may also have changed links in the call's paths.
        let why = "A hook has changed its input, which is now invalid: ";
        Ok((valid.renew(output.input, why)?, HookFeedback { advice, context }))
    }

    /// Lets hooks answer a question that is about to open. `None`: they leave it to the user.
    pub(super) async fn before_question(
        &self,
        valid: &ValidCall,
        draft: &QuestionDraft,
        at: CallContext<'_>,
    ) -> Option<Verdict> {
        if !self.setup.hooks.has_hooks_for(HookEvent::PermissionRequest) {
            return None;
        }
        let input = HookInput::PermissionRequest(hook_call(&valid.call, valid.file()));
        let here = self.call_hook_context(&valid.call, at);
        let output = self.setup.hooks.run(&input, here, at.cancel).await;
        if let Some(why) = output.stop {
            at.stop(why);
        }
        match output.decision? {
            // Plan mode ends with an answer to the plan, which has to be read.
            PermissionDecision::Allow if matches!(valid.access, Access::ExitPlan { .. }) => None,
            PermissionDecision::Allow => Some(match output.input {
                None => Verdict::Approved(draft.approval()),
                Some(input) => Verdict::Changed { input, asked: draft.approval() },
            }),
            PermissionDecision::Deny { why } => {
                Some(Verdict::Denied(self.deny_by_hook(valid, &why)))
            }
            PermissionDecision::Ask { .. } => None,
        }
    }

    fn deny_by_hook(&self, valid: &ValidCall, why: &str) -> Denial {
        let denial = Denial::new(format!("denied by a hook: {why}"));
        self.setup.gate.report_denied(&self.gate_call(valid, &HookAdvice::None), denial.clone());
        denial
    }

    /// Runs the hooks on a call that has ended. Their output is read with its result.
    pub(super) async fn after_call(
        &self,
        call: &ToolCall,
        file: Option<&Path>,
        answer: Result<ToolOutcome, ToolError>,
        took: Duration,
        at: CallContext<'_>,
    ) -> Result<ToolOutcome, ToolError> {
        let is_success = answer.as_ref().is_ok_and(|outcome| !outcome.is_error);
        let event = match is_success {
            true => HookEvent::PostToolUse,
            false => HookEvent::PostToolUseFailure,
        };
        if !self.setup.hooks.has_hooks_for(event) {
            return answer;
        }
        let (here, call) = (self.call_hook_context(call, at), hook_call(call, file));
        let error;
        let input = match &answer {
            Ok(outcome) if is_success => {
                HookInput::PostToolUse { call, response: &outcome.content, took }
            }
            Ok(outcome) => {
                error = ResultBlock::joined_text(&outcome.content);
                HookInput::PostToolUseFailure { call, error: &error, interrupted: false, took }
            }
            Err(ToolError::Soft { kind, message, .. }) => {
                let interrupted = *kind == SoftKind::Cancelled;
                HookInput::PostToolUseFailure { call, error: message, interrupted, took }
            }
            Err(ToolError::Fatal { .. }) => return answer,
        };
        if !is_success && at.cancel.is_cancelled() {
            // Nothing they say could be read any more.
            self.setup.hooks.notify(&input, here);
            return answer;
        }
        let output = self.setup.hooks.run(&input, here, at.cancel).await;
        let context = output.context_text();
        if let Some(why) = output.stop {
            at.stop(why);
        }
        let objection = output.block.filter(|_| is_success);
        let objection = objection.map(|why| format!("[A user hook objects: {why}]"));
        match answer {
            Ok(mut outcome) => {
                let texts = objection.into_iter().chain(context);
                outcome.content.extend(texts.map(ResultBlock::text));
                Ok(outcome)
            }
            Err(error) => Err(with_context(error, context.as_deref())),
        }
    }

    /// Runs the hooks on all calls of a message once each has its result. Their context is read
    /// with the last one.
    pub(super) async fn after_batch(
        &self,
        calls: &[ToolCall],
        notes: &[CallNotes],
        results: &mut [ContentBlock],
        at: CallContext<'_>,
    ) {
        // The calls as the model wrote them.
        let calls = calls.iter().zip(notes).zip(results.iter());
        let finished = calls.filter_map(|((call, notes), result)| {
            let ContentBlock::ToolResult { content, .. } = result else { return None };
            let file = notes.file.get().map(PathBuf::as_path);
            let tool = self.setup.tools.get(&call.name);
            let tool = tool.map_or(call.name.as_str(), |tool| &tool.spec().name);
            let call = HookCall { tool, ..hook_call(call, file) };
            Some(FinishedCall { call, response: content })
        });
        let finished: Vec<_> = finished.collect();
        let input = HookInput::PostToolBatch(&finished);
        let output =
            self.setup.hooks.run(&input, self.hook_context(at.run.events), at.cancel).await;
        if let (Some(context), Some(ContentBlock::ToolResult { content, .. })) =
            (output.context_text(), results.last_mut())
        {
            content.push(ResultBlock::text(self.setup.redactor.without_keys(context)));
        }
        if let Some(why) = output.stop {
            at.stop(why);
        }
    }

    /// Runs the hooks on the start of a sub-agent. Returns context for it to read before its
    /// prompt.
    pub async fn run_start_hooks(
        &self,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let output = self
            .setup
            .hooks
            .run(&HookInput::SubagentStart, self.hook_context(events), cancel)
            .await;
        output.context_text()
    }

    /// Notifies hooks that a question about a call is about to wait for the user.
    pub(super) fn notify_question(&self, valid: &ValidCall, run: &AgentRun<'_>) {
        let kind = NotificationKind::Permission { tool: &valid.call.name };
        self.setup.hooks.notify(&HookInput::Notification(kind), self.hook_context(run.events));
    }

    /// Runs the hooks on a user's prompt, and adds their context to it. Returns what was to be read
    /// with the prompt if a hook rejects it; an event then says so.
    pub async fn run_prompt_hooks(
        &self,
        mut prompt: Prompt,
        events: &EventSink,
        cancel: &CancellationToken,
    ) -> Result<Prompt, Box<PromptContext>> {
        if prompt.from != Sender::Person
            || !self.setup.hooks.has_hooks_for(HookEvent::UserPromptSubmit)
        {
            return Ok(prompt);
        }
        let input = HookInput::UserPromptSubmit { prompt: &prompt.text };
        let output = self.setup.hooks.run(&input, self.hook_context(events), cancel).await;
        let context = output.context_text();
        let HookOutput { block, stop, .. } = output;
        let Some(why) = block.or(stop) else {
            prompt.context.hooks.extend(context);
            return Ok(prompt);
        };
        let why = match why.as_str() {
            "" => "a hook rejected this prompt".to_owned(),
            why => format!("a hook rejected this prompt: {why}"),
        };
        match prompt.id {
            Some(id) => events.emit(EventKind::PromptRefused { id, text: prompt.text, why }),
            None => events.notice(NoticeLevel::Error, why),
        }
        Err(Box::new(prompt.context))
    }

    /// Runs the hooks on the coming end of a run. Returns what the agent is to read if they want it
    /// to continue.
    pub(super) async fn run_stop_hooks(&mut self, run: &mut AgentRun<'_>) -> Option<String> {
        let input = HookInput::Stop { again: run.hook_continuations > 0, last: &run.text };
        let running = self.setup.hooks.start(&input, self.hook_context(run.events))?;
        // From here on they run to completion, whatever becomes of this run.
        self.end_unreported = false;
        let event = input.event(!run.events.path().is_root());
        let output = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return None,
            output = report_wait(run.events, || WaitKind::Hooks { event }, running) => output.unwrap_or_default(),
        };
        let why = output.block.filter(|_| output.stop.is_none())?;
        if run.hook_continuations == MAX_HOOK_CONTINUATIONS {
            let text = format!(
                "hooks asked the agent to continue {MAX_HOOK_CONTINUATIONS} times: it stops now"
            );
            run.events.notice(NoticeLevel::Warning, text);
            return None;
        }
        run.hook_continuations += 1;
        self.end_unreported = true;
        let line = why.lines().next().unwrap_or_default();
        let text = format!("a hook asked the agent to continue: {line}");
        run.events.emit(EventKind::Note { text });
        Some(format!("[A user hook wants you to continue: {why}]"))
    }

    /// Notifies hooks of the end of a run, unless they have been. They cannot change it any more.
    pub fn notify_end(&mut self, last: &str, events: &EventSink) {
        if std::mem::take(&mut self.end_unreported) {
            let input = HookInput::Stop { again: false, last };
            self.setup.hooks.notify(&input, self.hook_context(events));
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
        let input = HookInput::PreCompact { by_hand, instructions };
        let output = self.setup.hooks.run(&input, self.hook_context(run.events), run.cancel).await;
        output.block.or(output.stop).map(|why| format!("blocked by a hook: {why}"))
    }

    fn hook_context<'a>(&'a self, events: &'a EventSink) -> HookContext<'a> {
        HookContext { cwd: &self.setup.cwd, mode: self.setup.gate.mode(), events }
    }

    /// The context for a call, which may start in another directory.
    fn call_hook_context<'a>(&self, call: &'a ToolCall, at: CallContext<'a>) -> HookContext<'a> {
        HookContext { cwd: &call.directory, mode: self.setup.gate.mode(), events: at.run.events }
    }
}

impl CallContext<'_> {
    /// Ends the run: cancels the other calls now, and stops once all have their results.
    fn stop(&self, why: String) {
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
fn hook_call<'a>(call: &'a ToolCall, file: Option<&'a Path>) -> HookCall<'a> {
    HookCall { id: &call.id, tool: &call.name, input: &call.input, file }
}

/// Adds a text for the model, if there is one.
fn with_context(error: ToolError, context: Option<&str>) -> ToolError {
    match context {
        Some(context) => error.with_context(context),
        None => error,
    }
}
