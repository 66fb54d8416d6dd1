//! The tool calls of one message: checked, permitted and run concurrently, answered in call order.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{Level, enabled};

use super::call_result::{
    block_size, error_outcome, fill_empty, first_text, head, panic_error, status,
};
use super::hooks::HookFeedback;
use super::mask_keys;
use super::permit::PermittedCall;
use super::record::CallRecord;
use super::time_limit::{TimeLimit, cancelled_error, with_time_limit};
use super::{Agent, AgentRun};
use crate::budget::BudgetExhausted;
use crate::protocol::{
    Access, ContentBlock, Denial, EventKind, Failure, HookEvent, Span, ToolUseId,
};
use crate::tool::{Conversation, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};

/// The results of a message's calls.
pub(super) struct BatchResults {
    /// One result per call, in call order.
    pub results: Vec<ContentBlock>,
    /// The first error that the model cannot fix.
    pub fatal: Option<(Failure, String)>,
}

/// The context of a call in a run.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'a> {
    pub span: Span,
    pub run: &'a AgentRun<'a>,
    /// Ends all calls of the message.
    pub cancel: &'a CancellationToken,
}

/// One call as the model wrote it.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub id: ToolUseId,
    pub name: String,
    pub input: Value,
    pub malformed: Option<String>,
    /// Where it starts: decided before any call of its message runs, whatever the others do
    /// meanwhile.
    pub directory: Arc<Path>,
    /// Its index in the message.
    pub order: usize,
}

/// A call whose input is valid.
#[derive(Clone)]
pub(super) struct ValidCall {
    pub call: ToolCall,
    /// Everything that the call would touch, with links resolved as they were when it was checked.
    pub access: Access,
}

impl Agent {
    /// Runs all calls at once, as many as the budget allows. A fatal error in one cancels the
    /// others; each still gets its result.
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
        // A hook on the batch runs after the last call.
        let running = AtomicUsize::new(calls.len() + usize::from(kept.is_some()));
        let answers = calls.into_iter().map(|call| {
            let refused = short.as_ref().filter(|_| call.order >= fit);
            self.run_call(call, refused, run, &batch, &running)
        });
        let answers = join_all(answers).await;
        let mut fatal = None;
        let results = answers.into_iter().map(|(result, error)| {
            fatal = fatal.take().or(error);
            result
        });
        let mut results: Vec<_> = results.collect();
        if let Some(calls) = kept.filter(|calls| !calls.is_empty()) {
            let at = CallContext { span: self.setup.span, run, cancel: &batch };
            self.after_batch(&calls, &mut results, at).await;
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
            ToolCall { id, name, input, malformed, directory, order }
        })
    }

    /// Runs one call from its start to its result block, and writes its log record. `running`
    /// counts what the message with the results waits for.
    async fn run_call(
        &self,
        call: ToolCall,
        refused: Option<&BudgetExhausted>,
        run: &AgentRun<'_>,
        batch: &CancellationToken,
        running: &AtomicUsize,
    ) -> (ContentBlock, Option<(Failure, String)>) {
        let span = self.setup.span.child();
        let (id, name) = (call.id.clone(), call.name.clone());
        let input = call.input_text();
        let in_bytes = input.len();
        let input = enabled!(Level::DEBUG).then_some(input);
        let began = Instant::now();
        let words = OnceLock::new();
        let answer = match refused {
            Some(used_up) => {
                let why = format!("This call was not run: {used_up}.");
                Err(ToolError::soft(SoftKind::Budget, why))
            }
            // A panic is a bug of ours: it ends the run, not the program.
            None => AssertUnwindSafe(self.check_and_run(
                call,
                CallContext { span, run, cancel: batch },
                &words,
            ))
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(panic_error(panic.as_ref()))),
        };
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
            took: began.elapsed(),
        };
        let ToolOutcome { content, is_error, summary, details } = outcome;
        let call = words.into_inner().unwrap_or_default();
        let result =
            ContentBlock::ToolResult { tool_use_id: id, content, is_error, call, summary, details };
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

    /// Checks one call and runs it: it must be known, valid and permitted. Once it starts, `words`
    /// holds its summary for the screen.
    async fn check_and_run(
        &self,
        call: ToolCall,
        at: CallContext<'_>,
        words: &OnceLock<String>,
    ) -> Result<ToolOutcome, ToolError> {
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
        tool.validate(&call.input)
            .map_err(|invalid| ToolError::soft(SoftKind::InvalidInput, invalid.to_string()))?;
        let valid = call.with_access(tool.as_ref());
        let (valid, heard) = self.before_call(tool.as_ref(), valid, at).await?;
        let answer = self.permit_and_run(tool.as_ref(), valid, &heard, at, words).await;
        heard.apply_to(answer)
    }

    /// Takes a valid call through the gate, and runs it.
    async fn permit_and_run(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        heard: &HookFeedback,
        at: CallContext<'_>,
        words: &OnceLock<String>,
    ) -> Result<ToolOutcome, ToolError> {
        let mut asked_guard = None;
        let permitted = self.permit(tool, valid, heard, at, &mut asked_guard).await?;
        let CallContext { span, run, cancel } = at;
        // A tool that only waits for other work must not keep a permit from it.
        let place = match tool.only_waits() {
            true => None,
            false => {
                Some(self.setup.concurrency.acquire(cancel).await.ok_or_else(cancelled_error)?)
            }
        };
        let limits = [tool.time_limit(), self.setup.concurrency.call_limit()];
        let time_limit = TimeLimit::shortest(limits, &run.budget);
        // What a write is judged by must not change before it happens.
        let file_guard = match &permitted.valid.access {
            access @ Access::Write { .. } => {
                Some(time_limit.lock(self.setup.concurrency.file_lock(), access, cancel).await?)
            }
            _ => None,
        };
        let read_only = self.confirm_permitted(tool, &permitted, heard)?;
        let PermittedCall { valid, asked_content, .. } = permitted;
        let events = [HookEvent::PostToolUse, HookEvent::PostToolUseFailure];
        let listen = events.into_iter().any(|event| self.setup.hooks.has_hooks_for(event));
        let kept = listen.then(|| valid.clone());
        let ValidCall { call, access } = valid;
        let summary = words.get_or_init(|| tool.summary(&call.input)).clone();
        let (id, name) = (call.id.clone(), tool.spec().name.clone());
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
            files: self.setup.concurrency.files().clone(),
        };
        let began = Instant::now();
        let outcome = time_limit.run(tool, call.input, context).await;
        drop((place, asked_guard));
        let (Some(call), took) = (kept, began.elapsed()) else { return outcome };
        match outcome {
            Ok(outcome) if !outcome.is_error => {
                Ok(self.after_call(tool, &call, outcome, took, at).await)
            }
            failed => self.after_failure(tool, &call, failed, took, at).await,
        }
    }
}

impl ToolCall {
    /// Resolves what the call, whose input is valid, would touch now.
    pub fn with_access(self, tool: &dyn Tool) -> ValidCall {
        let access = tool.access(&self.input, &self.directory);
        ValidCall { call: self, access }
    }

    /// The input as the model wrote it, for the log.
    fn input_text(&self) -> String {
        self.malformed.clone().unwrap_or_else(|| self.input.to_string())
    }
}

impl ValidCall {
    /// The only file or folder that the tool opens, as the call names it. Hooks read it.
    pub fn file(&self) -> Option<&Path> {
        match &self.access {
            Access::Read { paths } | Access::Write { paths } => match paths.as_slice() {
                [target] => Some(&target.written),
                _ => None,
            },
            _ => None,
        }
    }
}
