//! The tool calls of one message: checked, permitted and run side by side, answered in call order.

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

use super::call_result::{failed, filled, first_text, head, panicked, size, status};
use super::hooks::Heard;
use super::mask;
use super::permit::Permitted;
use super::record::CallRecord;
use super::time_limit::{TimeLimit, cancelled, overdue};
use super::{Agent, Run};
use crate::budget::UsedUp;
use crate::protocol::{
    Access, ContentBlock, Denial, EventKind, Failure, HookEvent, Span, ToolUseId,
};
use crate::tool::{Conversation, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};

/// What a message's calls came to.
pub(super) struct Dispatched {
    /// One result per call, in call order.
    pub results: Vec<ContentBlock>,
    /// The first error that the model cannot mend.
    pub fatal: Option<(Failure, String)>,
}

/// Where in a run a call is.
#[derive(Clone, Copy)]
pub(super) struct Station<'a> {
    pub span: Span,
    pub run: &'a Run<'a>,
    /// Ends all calls of the message.
    pub cancel: &'a CancellationToken,
}

/// One call, as the model wrote it.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub id: ToolUseId,
    pub name: String,
    pub input: Value,
    pub malformed: Option<String>,
    /// Where it starts: decided before any call of its message runs, whatever the others do meanwhile.
    pub directory: Arc<Path>,
    /// Its place in the message, from 0.
    pub order: usize,
}

/// A call whose input is valid.
#[derive(Clone)]
pub(super) struct ValidCall {
    pub call: ToolCall,
    /// Everything that the call would touch, by what the links of its paths led to when it was checked.
    pub access: Access,
}

impl Agent {
    /// Runs all calls at once, as many as the budget has room for. A fatal error in one cancels the
    /// others; each still gets its result.
    pub(super) async fn dispatch(&self, calls: Vec<ContentBlock>, run: &Run<'_>) -> Dispatched {
        #[cfg(debug_assertions)]
        crate::tool::fault::strike(&self.setup.tools, &calls);
        let batch = run.cancel.child_token();
        let (fit, short) = run.budget.take_tool_calls(calls.len());
        // All of them, before the first one can run.
        let calls: Vec<ToolCall> = self.started(calls).collect();
        let kept = self.setup.hooks.listen(HookEvent::PostToolBatch).then(|| calls.clone());
        // A hook that hears of the batch takes its time after the last call.
        let running = AtomicUsize::new(calls.len() + usize::from(kept.is_some()));
        let answers = calls.into_iter().map(|call| {
            let refused = short.as_ref().filter(|_| call.order >= fit);
            self.station(call, refused, run, &batch, &running)
        });
        let answers = join_all(answers).await;
        let mut fatal = None;
        let results = answers.into_iter().map(|(result, error)| {
            fatal = fatal.take().or(error);
            result
        });
        let mut results: Vec<_> = results.collect();
        if let Some(calls) = kept.filter(|calls| !calls.is_empty()) {
            let at = Station { span: self.setup.span, run, cancel: &batch };
            self.after_batch(&calls, &mut results, at).await;
        }
        Dispatched { results, fatal }
    }

    /// The calls of a message, each with the directory in which it starts.
    fn started(&self, calls: Vec<ContentBlock>) -> impl Iterator<Item = ToolCall> {
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

    /// One call from its beginning to its result block, with its record in the log. `running` counts what the
    /// message with the results waits for.
    async fn station(
        &self,
        call: ToolCall,
        refused: Option<&UsedUp>,
        run: &Run<'_>,
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
            None => {
                AssertUnwindSafe(self.answer(call, Station { span, run, cancel: batch }, &words))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
            }
        };
        if let Err(ToolError::Fatal { .. }) = answer {
            batch.cancel();
        }
        let answer = answer.map_err(|error| overdue(error, run.budget.time_up()));
        let status = status(&answer);
        let (outcome, fatal) = answer.map_or_else(failed, |outcome| (outcome, None));
        let outcome = ToolOutcome { content: filled(outcome.content), ..outcome };
        let (outcome, fatal) = mask::without_keys(&self.setup.redactor, outcome, fatal);
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
            out_bytes: outcome.content.iter().map(size).sum(),
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

    /// Writes a result to the journal while other calls of its message, or a hook, still run: what
    /// is done must not be lost when the program is killed before the last of them ends. Otherwise
    /// the result of the last one is written at once, in the message with all of them.
    async fn keep_result(&self, result: &ContentBlock, running: &AtomicUsize) {
        if running.fetch_sub(1, Ordering::Relaxed) > 1
            && let Err(error) = self.setup.journal.result(result).await
        {
            tracing::warn!(%error, "a result could not be written before the others");
        }
    }

    /// Takes one call through its checks and runs it: known, valid, permitted. Once it starts, `words`
    /// holds what the screen shows of it.
    async fn answer(
        &self,
        call: ToolCall,
        at: Station<'_>,
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
        heard.told(answer)
    }

    /// Takes a valid call through the gate, and runs it.
    async fn permit_and_run(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        heard: &Heard,
        at: Station<'_>,
        words: &OnceLock<String>,
    ) -> Result<ToolOutcome, ToolError> {
        let mut asked_guard = None;
        let permitted = self.permit(tool, valid, heard, at, &mut asked_guard).await?;
        let Station { span, run, cancel } = at;
        // A tool that only waits for the work of others would keep a place from them.
        let place = match tool.waits() {
            true => None,
            false => Some(self.setup.operations.enter(cancel).await.ok_or_else(cancelled)?),
        };
        let limits = [tool.time_limit(), self.setup.operations.call_limit()];
        let time_limit = TimeLimit::shortest(limits, &run.budget);
        // What a write is judged by must not change until it has happened.
        let file_guard = match &permitted.valid.access {
            access @ Access::Write { .. } => {
                Some(time_limit.lock(self.setup.operations.file_lock(), access, cancel).await?)
            }
            _ => None,
        };
        let read_only = self.still_permitted(tool, &permitted, heard)?;
        let Permitted { valid, asked_content, .. } = permitted;
        let events = [HookEvent::PostToolUse, HookEvent::PostToolUseFailure];
        let listen = events.into_iter().any(|event| self.setup.hooks.listen(event));
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
            asked_content,
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
                thinker: self.setup.thinker.clone(),
            },
            masked: self.setup.redactor.stream(),
            files: self.setup.operations.files().clone(),
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
    /// The call, whose input is valid, with what it would touch now.
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
