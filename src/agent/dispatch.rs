//! The tool calls of one message: prepared, permitted and run concurrently, answered in call order.
//!
//! A call is prepared once, and what is prepared is what the gate judges and what runs. If a hook or
//! the user changes the input, the changed call is prepared like a new one.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tracing::{Level, enabled};

use super::call::{CallContext, CallNotes, ToolCall, ValidCall};
use super::call_order::CallOrder;
use super::call_result::{
    block_size, error_outcome, fill_empty, first_text, head, panic_error, status,
};
use super::hooks::HookFeedback;
use super::mask_keys;
use super::record::CallRecord;
use super::run::AgentRun;
use super::state::Agent;
use super::time_limit::{TimeLimit, cancelled_error, with_time_limit};
use crate::budget::BudgetExhausted;
use crate::permission::{Approval, Call, GateDecision, HookAdvice, QuestionDraft, Verdict};
use crate::protocol::{
    Access, ContentBlock, Denial, EventKind, Failure, HookEvent, NO_PLAN_MODE, ReadOnly,
};
use crate::tool::{
    ContentHash, Conversation, Preview, SoftKind, ToolContext, ToolError, ToolOutcome,
};

/// The results of a message's calls.
pub(super) struct BatchResults {
    /// One result per call, in call order.
    pub results: Vec<ContentBlock>,
    /// The first error that the model cannot fix.
    pub fatal: Option<(Failure, String)>,
}

/// The permission of a call.
#[derive(Default)]
struct CallPermission {
    /// The question that was approved; `None` if the call was allowed without one.
    approval: Option<Approval>,
    /// The hash of the content that the question was about.
    asked_content: Option<ContentHash>,
    /// Whether somebody has approved this very call.
    by_answer: bool,
    /// Keeps the next question about the same file from opening before the call has ended.
    asked_guard: Option<OwnedMutexGuard<()>>,
}

/// The answer to a question about a call.
struct AskedAnswer {
    verdict: Verdict,
    /// The hash of the content that the question was about.
    content: Option<ContentHash>,
    /// Keeps the next question about the same file from opening.
    guard: Option<OwnedMutexGuard<()>>,
}

impl Agent {
    /// Runs all calls at once, as many as the budget allows; those that change files keep their
    /// places. A fatal error in one cancels the others; each still gets its result.
    pub(super) async fn dispatch(
        &self,
        calls: Vec<ContentBlock>,
        run: &AgentRun<'_>,
    ) -> BatchResults {
        #[cfg(debug_assertions)]
        crate::tool::fault::panic_if_asked(&self.setup.tools, &calls);
        let batch = run.cancel.child_token();
        let (fit, short) = run.budget.take_tool_calls(calls.len());
        // All of them before the first one can run.
        let calls: Vec<ToolCall> = self.read_calls(calls).collect();
        let kept = self.setup.hooks.has_hooks_for(HookEvent::PostToolBatch).then(|| calls.clone());
        let wants_file = kept.is_some();
        let notes = calls.iter().map(|_| CallNotes { wants_file, ..CallNotes::default() });
        let notes: Vec<CallNotes> = notes.collect();
        // A hook on the batch runs after the last call.
        let running = AtomicUsize::new(calls.len() + usize::from(kept.is_some()));
        let order = CallOrder::default();
        let at = CallContext { span: self.setup.span, run, cancel: &batch, order: &order };
        let answers = calls.into_iter().zip(&notes).map(|(call, notes)| {
            let refused = short.as_ref().filter(|_| call.order >= fit);
            self.run_call(call, refused, at, &running, notes)
        });
        let answers = join_all(answers).await;
        let mut fatal = None;
        let results = answers.into_iter().map(|(result, error)| {
            fatal = fatal.take().or(error);
            result
        });
        let mut results: Vec<_> = results.collect();
        if let Some(calls) = kept.filter(|calls| !calls.is_empty()) {
            self.after_batch(&calls, &notes, &mut results, at).await;
        }
        BatchResults { results, fatal }
    }

    /// The calls of a message, each with the directory in which it starts.
    fn read_calls(&self, calls: Vec<ContentBlock>) -> impl Iterator<Item = ToolCall> {
        let calls = calls.into_iter().filter_map(|block| match block {
            ContentBlock::ToolUse { id, name, input, malformed } => {
                Some((id, name, input, malformed))
            }
            _ => None,
        });
        calls.enumerate().map(|(order, (id, name, input, malformed))| {
            let directory = self.setup.tools.get(&name).and_then(|tool| tool.directory());
            let directory = directory.map_or_else(|| self.setup.cwd.clone(), Arc::from);
            ToolCall { id, name, input: *input, malformed, directory, order }
        })
    }

    /// Runs one call from its start to its result block, and writes its log record. `running`
    /// counts what the message with the results waits for.
    async fn run_call(
        &self,
        call: ToolCall,
        refused: Option<&BudgetExhausted>,
        message: CallContext<'_>,
        running: &AtomicUsize,
        notes: &CallNotes,
    ) -> (ContentBlock, Option<(Failure, String)>) {
        let span = self.setup.span.child();
        let (id, name) = (call.id.clone(), call.name.clone());
        let input = call.input_text();
        let in_bytes = input.len();
        let input = enabled!(Level::DEBUG).then_some(input);
        let began = Instant::now();
        let at = CallContext { span, ..message };
        let CallContext { run, cancel: batch, .. } = at;
        // A panic is a bug of ours: it ends the run, not the program.
        let answer = AssertUnwindSafe(self.check_and_run(call, refused, at, notes)).catch_unwind();
        let answer = answer.await.unwrap_or_else(|panic| Err(panic_error(panic.as_ref())));
        if let Err(ToolError::Fatal { .. }) = answer {
            batch.cancel();
        }
        let answer = answer.map_err(|error| with_time_limit(error, run.budget.time_up()));
        let status = status(&answer);
        let (outcome, fatal) = answer.map_or_else(error_outcome, |outcome| (outcome, None));
        let outcome = ToolOutcome { content: fill_empty(outcome.content), ..outcome };
        let (outcome, fatal) = mask_keys::mask_outcome(&self.setup.redactor, outcome, fatal);
        CallRecord {
            tool: &name,
            agent: run.events.path(),
            span,
            parent: self.setup.span,
            took: began.elapsed(),
            in_bytes,
            input: input.as_deref().map(|input| self.setup.redactor.mask(input)),
            output: enabled!(Level::DEBUG)
                .then(|| self.setup.redactor.mask(first_text(&outcome.content))),
            out_bytes: outcome.content.iter().map(block_size).sum(),
            status,
        }
        .write();
        let finished = EventKind::ToolFinished {
            id: id.clone(),
            name,
            is_error: outcome.is_error,
            summary: outcome.summary.clone(),
            content: outcome.content.clone(),
            details: outcome.details.clone(),
            took: notes.began.get().map(Instant::elapsed).unwrap_or_default(),
        };
        let ToolOutcome { content, is_error, summary, details } = outcome;
        let call = notes.summary.get().cloned().unwrap_or_default();
        let (tool_use_id, details) = (id, details.map(Box::new));
        let result =
            ContentBlock::ToolResult { tool_use_id, content, is_error, call, summary, details };
        self.keep_result(&result, running).await;
        run.events.emit(finished);
        (result, fatal)
    }

    /// Writes a result to the journal while other calls of its message, or a hook, still run, so
    /// that finished work is not lost if the program is killed before the last of them ends. The
    /// last result is written in the message with all of them.
    async fn keep_result(&self, result: &ContentBlock, running: &AtomicUsize) {
        if running.fetch_sub(1, Ordering::Relaxed) > 1
            && let Err(error) = self.setup.journal.result(result).await
        {
            tracing::warn!(%error, "cannot write a result before the others");
        }
    }

    /// Checks one call and runs it: it must be affordable, known, valid and permitted.
    async fn check_and_run(
        &self,
        call: ToolCall,
        refused: Option<&BudgetExhausted>,
        at: CallContext<'_>,
        notes: &CallNotes,
    ) -> Result<ToolOutcome, ToolError> {
        if let Some(used_up) = refused {
            if notes.wants_file
                && let Ok(valid) = self.prepare_call(call)
            {
                notes.keep_file(&valid);
            }
            let why = format!("This call was not run: {used_up}.");
            return Err(ToolError::soft(SoftKind::Budget, why));
        }
        let valid = self.prepare_call(call)?;
        notes.keep_file(&valid);
        let place = at.order.place(&valid.access);
        tokio::select! {
            biased;
            () = at.cancel.cancelled() => return Err(cancelled_error()),
            () = place.turn() => {}
        }
        let (valid, feedback) = self.before_call(valid, at).await?;
        let answer = match self.permit(valid, &feedback, at).await {
            Ok((valid, permission)) => {
                self.run_permitted(valid, permission, &feedback, at, notes).await
            }
            Err(error) => Err(error),
        };
        feedback.apply_to(answer)
    }

    /// Finds the tool of a call, and prepares the call.
    fn prepare_call(&self, call: ToolCall) -> Result<ValidCall, ToolError> {
        if let Some(text) = call.malformed {
            let why = format!("The input of {} is not a JSON object: {}", call.name, head(&text));
            return Err(ToolError::soft(SoftKind::InvalidInput, why));
        }
        let Some(tool) = self.setup.tools.get(&call.name) else {
            let known: Vec<_> = self.setup.tools.names().collect();
            let why =
                format!("There is no tool {}. The tools are: {}.", call.name, known.join(", "));
            return Err(ToolError::soft(SoftKind::UnknownTool, why));
        };
        if self.withheld.contains(&tool.spec().name) {
            let why = format!("{} may not be used for this prompt: do it yourself.", call.name);
            return Err(ToolError::denied(Denial::new(why)));
        }
        call.prepare(tool)
    }

    /// Asks the gate, and the user if needed, whether a call may run, and returns it as it may run:
    /// whoever approves it can change its input, but not where it starts.
    async fn permit(
        &self,
        valid: ValidCall,
        feedback: &HookFeedback,
        at: CallContext<'_>,
    ) -> Result<(ValidCall, CallPermission), ToolError> {
        if at.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        let request = self.gate_call(&valid, &feedback.advice);
        let draft = match self.setup.gate.decide(&request) {
            GateDecision::Allow(_) => return Ok((valid, CallPermission::default())),
            GateDecision::Deny(denial) => return Err(ToolError::denied(denial)),
            GateDecision::Ask(draft) => draft,
        };
        // The wait does not count as the agent's time.
        let pause = at.run.budget.pause();
        let answer = self.ask_about(&valid, &request, &draft, at).await?;
        drop(pause);
        let AskedAnswer { verdict, content: asked_content, guard: asked_guard } = answer;
        let by_answer = true;
        match verdict {
            Verdict::Allowed => {
                Ok((valid, CallPermission { asked_guard, ..CallPermission::default() }))
            }
            Verdict::Approved(approval) => {
                let approval = Some(approval);
                Ok((valid, CallPermission { approval, asked_content, by_answer, asked_guard }))
            }
            Verdict::Changed { input, asked } => {
                let access = valid.access.clone();
                let (valid, approval) = self.accept_changed(valid, input, &asked, feedback)?;
                let asked_content = asked_content.filter(|_| valid.access == access);
                Ok((valid, CallPermission { approval, asked_content, by_answer, asked_guard }))
            }
            Verdict::Cancelled => Err(cancelled_error()),
            Verdict::Denied(denial) => Err(ToolError::denied(denial)),
        }
    }

    /// Has the hooks, or else the user, answer whether a call may run.
    async fn ask_about(
        &self,
        valid: &ValidCall,
        request: &Call<'_>,
        draft: &QuestionDraft,
        at: CallContext<'_>,
    ) -> Result<AskedAnswer, ToolError> {
        let (mut preview, mut guard) = (Preview::default(), None);
        let by_hook = async {
            if let Some(verdict) = self.before_question(valid, draft, at).await {
                return Some(verdict);
            }
            // An earlier question may change this file first.
            if let Access::Write { paths } = &valid.access
                && let Some(file) = paths.first()
            {
                guard = Some(at.run.asked_files.hold(file).await);
            }
            self.notify_question(valid, at.run);
            preview = valid.prepared.preview(&valid.access).await;
            None
        };
        let by_hook = tokio::select! {
            biased;
            () = at.cancel.cancelled() => return Err(cancelled_error()),
            verdict = by_hook => verdict,
        };
        let verdict = match by_hook {
            Some(verdict) => verdict,
            None => self.setup.gate.ask(request, preview.text, at.cancel).await,
        };
        Ok(AskedAnswer { verdict, content: preview.content, guard })
    }

    /// Prepares a call that was allowed with another input, and decides on it: it needs no other
    /// approval than the one that was `asked` for. Returns it with what was approved.
    fn accept_changed(
        &self,
        valid: ValidCall,
        input: Value,
        asked: &Approval,
        feedback: &HookFeedback,
    ) -> Result<(ValidCall, Option<Approval>), ToolError> {
        let why = "It was allowed with a changed input, which is invalid: ";
        let changed = valid.renew(Some(input), why)?;
        let request = self.gate_call(&changed, &feedback.advice);
        let approval = match self.setup.gate.decide(&request) {
            GateDecision::Allow(_) => None,
            GateDecision::Ask(draft) => Some(draft.approval()),
            GateDecision::Deny(denial) => return Err(ToolError::denied(denial)),
        };
        if approval.as_ref().is_some_and(|approval| !asked.agrees_with(approval)) {
            return Err(self.moved(&request));
        }
        Ok((changed, approval))
    }

    /// Decides on a permitted call again after its waits for an answer and for a permit: rules and
    /// links may have changed. Returns the bounds of a command that runs because it only reads.
    fn confirm(
        &self,
        valid: &ValidCall,
        permission: &CallPermission,
        feedback: &HookFeedback,
    ) -> Result<Option<ReadOnly>, ToolError> {
        let now = valid.prepared.access(&valid.call.directory);
        let request = Call { access: &now, ..self.gate_call(valid, &feedback.advice) };
        if now == valid.access {
            let confirmed = self.setup.gate.confirm(&request, permission.approval.as_ref());
            return confirmed.map_err(ToolError::denied);
        }
        Err(self.moved(&request))
    }

    /// The error of a call whose path leads elsewhere by now.
    fn moved(&self, request: &Call<'_>) -> ToolError {
        let denial = Denial::new(
            "not run: a link in its path has changed since it was allowed, and the path now leads elsewhere; repeat \
             the call if you still need it",
        );
        self.setup.gate.report_denied(request, denial.clone());
        ToolError::denied(denial)
    }

    /// The call as the gate judges it.
    pub(super) fn gate_call<'a>(&'a self, valid: &'a ValidCall, advice: &HookAdvice) -> Call<'a> {
        let ValidCall { call: ToolCall { id, name, input, .. }, access, .. } = valid;
        let advice = advice.clone();
        Call { id, tool: name, input, access, cwd: &self.setup.cwd, advice }
    }

    /// Runs a permitted call, once there is room for it.
    async fn run_permitted(
        &self,
        valid: ValidCall,
        permission: CallPermission,
        feedback: &HookFeedback,
        at: CallContext<'_>,
        notes: &CallNotes,
    ) -> Result<ToolOutcome, ToolError> {
        let CallContext { span, run, cancel, .. } = at;
        let concurrency = &self.setup.concurrency;
        // A call that only waits for other work must not keep a permit from it.
        let permit = match valid.prepared.only_waits() {
            true => None,
            false => Some(concurrency.acquire(cancel).await.ok_or_else(cancelled_error)?),
        };
        let limits = [valid.prepared.time_limit(), concurrency.call_limit()];
        let time_limit = TimeLimit::shortest(limits, &run.budget);
        // What a write is judged by must not change before it happens.
        let file_guard = match &valid.access {
            access @ Access::Write { .. } => {
                Some(time_limit.lock(concurrency.file_lock(), access, cancel).await?)
            }
            _ => None,
        };
        let read_only = self.confirm(&valid, &permission, feedback)?;
        if let Access::ExitPlan { mode } = valid.access {
            if !permission.by_answer {
                return Err(ToolError::failed(NO_PLAN_MODE));
            }
            self.setup.gate.leave_plan_mode(mode.unwrap_or_default());
        }
        let file = valid.file().map(Path::to_owned);
        let ValidCall { call, prepared, access, .. } = valid;
        let CallPermission { asked_content, asked_guard, .. } = permission;
        let summary = notes.summary.get_or_init(|| prepared.summary()).clone();
        let (id, name) = (call.id.clone(), call.name.clone());
        run.events.emit(EventKind::ToolStarted { id, name, summary });
        let context = ToolContext {
            tool_use_id: call.id.clone(),
            events: run.events.clone(),
            cancel: cancel.child_token(),
            overdue: Arc::default(),
            access,
            read_only,
            approved_content: asked_content,
            file_guard,
            order: call.order,
            cwd: self.setup.cwd.clone(),
            env: self.setup.env.clone(),
            budget: run.budget.clone(),
            depth: run.events.path().depth(),
            span,
            conversation: Conversation {
                system: self.setup.system.clone(),
                messages: self.history.clone(),
                reasoning_model: self.setup.reasoning_model.clone(),
            },
            masked: self.setup.redactor.stream(),
            files: concurrency.pools().files.clone(),
        };
        let began = *notes.began.get_or_init(Instant::now);
        let outcome = time_limit.run(prepared, context).await;
        drop((permit, asked_guard));
        self.after_call(&call, file.as_deref(), outcome, began.elapsed(), at).await
    }
}
