//! The tool calls of one message: checked, permitted and run side by side, answered in call order.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tracing::{Level, enabled};

use super::hooks::Heard;
use super::mask;
use super::record::CallRecord;
use super::{Agent, Run};
use crate::budget::{Budget, UsedUp};
use crate::permission::{Advice, Approval, BeforeQuestion, Call, Verdict};
use crate::protocol::{
    Access, ContentBlock, EventKind, Failure, HookEvent, ResultBlock, Span, ToolUseId, clock,
};
use crate::tool::{
    ContentHash, Conversation, FileGuard, SoftKind, Tool, ToolContext, ToolError, ToolOutcome,
};

/// What the model is told of a call that was stopped and says nothing itself.
const CANCELLED: &str = "This call was cancelled.";

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

/// A call that may run.
struct Permitted {
    /// The call as it was judged.
    valid: ValidCall,
    /// The question that the user answered with yes; `None` if the call was allowed without one.
    approval: Option<Approval>,
    /// The hash of the content that the question was about.
    asked_content: Option<ContentHash>,
}

impl Agent {
    /// Runs all calls at once, as many as the budget has room for. A fatal error in one cancels the others; each still
    /// gets its result.
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
        let answer = match refused {
            Some(used_up) => {
                let why = format!("This call was not run: {used_up}.");
                Err(ToolError::soft(SoftKind::Budget, why))
            }
            // A panic is a bug of ours: it ends the run, not the program.
            None => AssertUnwindSafe(self.answer(call, span, run, batch))
                .catch_unwind()
                .await
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
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
            summary: outcome.summary,
            content: outcome.content.clone(),
            details: outcome.details.clone(),
            took: began.elapsed(),
        };
        let ToolOutcome { content, is_error, details, .. } = outcome;
        let result = ContentBlock::ToolResult { tool_use_id: id, content, is_error, details };
        self.keep_result(&result, running).await;
        run.events.emit(finished);
        (result, fatal)
    }

    /// Writes a result to the journal while other calls of its message, or a hook, still run: what is done must not be
    /// lost when the program is killed before the last of them ends. Otherwise the result of the last one is written
    /// at once, in the message with all of them.
    async fn keep_result(&self, result: &ContentBlock, running: &AtomicUsize) {
        if running.fetch_sub(1, Ordering::Relaxed) > 1
            && let Err(error) = self.setup.journal.result(result).await
        {
            tracing::warn!(%error, "a result could not be written before the others");
        }
    }

    /// Takes one call through its checks and runs it: known, valid, permitted.
    async fn answer(
        &self,
        call: ToolCall,
        span: Span,
        run: &Run<'_>,
        batch: &CancellationToken,
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
            return Err(ToolError::soft(SoftKind::Denied, why));
        }
        tool.validate(&call.input)
            .map_err(|invalid| ToolError::soft(SoftKind::InvalidInput, invalid.to_string()))?;
        let valid = call.with_access(tool.as_ref());
        let at = Station { span, run, cancel: batch };
        let (valid, heard) = self.before_call(tool.as_ref(), valid, at).await?;
        let answer = self.permit_and_run(tool.as_ref(), valid, &heard, at).await;
        heard.told(answer)
    }

    /// Takes a valid call through the gate, and runs it.
    async fn permit_and_run(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        heard: &Heard,
        at: Station<'_>,
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
        // What a write is judged by must not change until it has happened.
        let file_guard = match permitted.valid.access {
            Access::Write { .. } => {
                Some(self.file_guard(cancel, run_longer(limits, &run.budget)).await?)
            }
            _ => None,
        };
        let reads_only = self.still_permitted(tool, &permitted, heard)?;
        let Permitted { valid, asked_content, .. } = permitted;
        let events = [HookEvent::PostToolUse, HookEvent::PostToolUseFailure];
        let listen = events.into_iter().any(|event| self.setup.hooks.listen(event));
        let kept = listen.then(|| valid.clone());
        let ValidCall { call, access } = valid;
        run.events.emit(EventKind::ToolStarted {
            id: call.id.clone(),
            name: tool.spec().name.clone(),
            summary: tool.summary(&call.input),
        });
        let context = ToolContext {
            tool_use_id: call.id.clone(),
            events: run.events.clone(),
            cancel: cancel.child_token(),
            access,
            reads_only,
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
        let outcome = run_tool(tool, call.input, context, run_longer(limits, &run.budget)).await;
        drop((place, asked_guard));
        let (Some(call), took) = (kept, began.elapsed()) else { return outcome };
        match outcome {
            Ok(outcome) if !outcome.is_error => {
                Ok(self.after_call(tool, &call, outcome, took, at).await)
            }
            failed => self.after_failure(tool, &call, failed, took, at).await,
        }
    }

    /// Waits until no other call of the session changes files.
    async fn file_guard(
        &self,
        cancel: &CancellationToken,
        too_long: impl Future<Output = Duration>,
    ) -> Result<FileGuard, ToolError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            guard = self.setup.operations.file_lock().hold() => Ok(guard),
            limit = too_long => Err(ToolError::soft(SoftKind::Timeout, stopped_for(limit))),
        }
    }

    /// Asks whether a valid call may run, and answers with the call as it may: whoever allows it can change its input,
    /// but not where it starts. `asked_guard` keeps the next question about the same file from opening before the call
    /// has ended.
    async fn permit(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        heard: &Heard,
        at: Station<'_>,
        asked_guard: &mut Option<OwnedMutexGuard<()>>,
    ) -> Result<Permitted, ToolError> {
        let Station { run, cancel, .. } = at;
        let ValidCall { call, access } = &valid;
        let advice = heard.advice.clone();
        let request = Call { advice, ..self.asked_call(tool, call, access) };
        let (mut pause, mut asked_content) = (None, None);
        // A preview may cost a read of the file: the gate awaits it only when the user is about to be asked. How long
        // that one takes is not the agent's time.
        let preview = async {
            pause = Some(run.budget.pause());
            if let Some(answer) = self.before_question(tool, &valid, at).await {
                return answer;
            }
            // What the user is asked about before may change this file first.
            if let Access::Write { paths } = access
                && let Some(file) = paths.first()
            {
                *asked_guard = Some(run.asked_files.hold(file).await);
            }
            self.tell_of_question(tool, run);
            let preview = tool.preview(&call.input, access).await;
            asked_content = preview.content;
            BeforeQuestion::Ask(preview.text)
        };
        let verdict = self.setup.gate.decide_with(&request, preview, cancel).await;
        drop(pause);
        match verdict {
            Verdict::Allowed => Ok(Permitted { valid, approval: None, asked_content: None }),
            Verdict::Approved(approval) => {
                Ok(Permitted { valid, approval: Some(approval), asked_content })
            }
            Verdict::Changed { input } => {
                let ValidCall { call, access } = valid;
                let changed = self.changed(tool, ToolCall { input, ..call })?;
                let asked_content = asked_content.filter(|_| changed.valid.access == access);
                Ok(Permitted { asked_content, ..changed })
            }
            Verdict::Cancelled => Err(cancelled()),
            Verdict::Denied { reason } => Err(ToolError::soft(SoftKind::Denied, reason)),
        }
    }

    /// Checks a call that was allowed with another input, like any.
    fn changed(&self, tool: &dyn Tool, call: ToolCall) -> Result<Permitted, ToolError> {
        tool.validate(&call.input).map_err(|invalid| {
            let why = format!("It was allowed with another input, which is wrong: {invalid}");
            ToolError::soft(SoftKind::InvalidInput, why)
        })?;
        let valid = call.with_access(tool);
        match self.setup.gate.recheck(&self.asked_call(tool, &valid.call, &valid.access)) {
            Err(reason) => Err(ToolError::soft(SoftKind::Denied, reason)),
            Ok(approval) => Ok(Permitted { valid, approval, asked_content: None }),
        }
    }

    /// Judges a permitted call again, when its waits for an answer and for a place are over: rules and links may have
    /// changed. Returns the folders of a command that runs because it only reads.
    fn still_permitted(
        &self,
        tool: &dyn Tool,
        permitted: &Permitted,
        heard: &Heard,
    ) -> Result<Option<Arc<[PathBuf]>>, ToolError> {
        let Permitted { valid: ValidCall { call, access }, approval, .. } = permitted;
        let now = tool.access(&call.input, &call.directory);
        let advice = heard.advice.clone();
        let request = Call { advice, ..self.asked_call(tool, call, &now) };
        let held = if now == *access {
            self.setup.gate.confirm(&request, approval.as_ref())
        } else {
            let reason = "this call leads elsewhere now than when it was allowed, because a link has changed; it was \
                          not run; make it again if it is still wanted"
                .to_owned();
            self.setup.gate.denied(&request, reason.clone());
            Err(reason)
        };
        held.map_err(|reason| ToolError::soft(SoftKind::Denied, reason))
    }

    /// What the gate is asked.
    pub(super) fn asked_call<'a>(
        &'a self,
        tool: &'a dyn Tool,
        call: &'a ToolCall,
        access: &'a Access,
    ) -> Call<'a> {
        Call {
            id: &call.id,
            tool: &tool.spec().name,
            input: &call.input,
            access,
            cwd: &self.setup.cwd,
            advice: Advice::None,
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

/// Runs one tool within its time. A cancelled or overdue tool may end by itself within a grace, so that it can tell
/// what it had done; then it is dropped.
async fn run_tool(
    tool: &dyn Tool,
    input: Value,
    cx: ToolContext,
    too_long: impl Future<Output = Duration>,
) -> Result<ToolOutcome, ToolError> {
    let cancel = cx.cancel.clone();
    let mut call = tool.call(input, cx);
    let overdue = tokio::select! {
        biased;
        result = &mut call => return result,
        () = cancel.cancelled() => None,
        limit = too_long => Some(limit),
    };
    cancel.cancel();
    let result = match tool.grace() {
        Some(grace) => tokio::time::timeout(grace, call).await.unwrap_or(Err(cancelled())),
        None => call.await,
    };
    match overdue {
        Some(limit) => stopped_after(limit, result),
        None => result,
    }
}

/// What is told of a call that was stopped for being overdue. The tool only knows that it was stopped; what it had
/// done until then stands behind the reason.
fn stopped_after(
    limit: Duration,
    result: Result<ToolOutcome, ToolError>,
) -> Result<ToolOutcome, ToolError> {
    let why = stopped_for(limit);
    match result {
        Err(ToolError::Soft { kind: SoftKind::Cancelled, message }) if message != CANCELLED => {
            Err(ToolError::soft(SoftKind::Timeout, format!("{why}\n\n{message}")))
        }
        Err(ToolError::Soft { kind: SoftKind::Cancelled, .. }) => {
            Err(ToolError::soft(SoftKind::Timeout, why))
        }
        Ok(mut outcome) if outcome.is_error => {
            outcome.content.insert(0, ResultBlock::text(why));
            Ok(ToolOutcome { summary: SoftKind::Timeout.words().to_owned(), ..outcome })
        }
        result => result,
    }
}

fn stopped_for(limit: Duration) -> String {
    format!("This call took longer than {} s and was stopped.", limit.as_secs())
}

/// Waits until the shortest of the limits is over and answers with it; for ever when there is none.
async fn run_longer(limits: [Option<Duration>; 2], budget: &Budget) -> Duration {
    match limits.into_iter().flatten().min() {
        Some(limit) => {
            budget.passes(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

pub(super) fn cancelled() -> ToolError {
    ToolError::soft(SoftKind::Cancelled, CANCELLED)
}

/// A call that was stopped because the agent's time was over says so.
fn overdue(error: ToolError, limit: Option<Duration>) -> ToolError {
    match (error, limit) {
        (ToolError::Soft { kind: SoftKind::Cancelled, message }, Some(limit)) => {
            let why = format!("{message} The time limit of {} is over.", clock(limit));
            ToolError::soft(SoftKind::Timeout, why)
        }
        (error, _) => error,
    }
}

fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(text, "a tool panicked");
    let message = format!("A tool failed inside: {text}. This is a bug; the log says more.");
    ToolError::fatal(Failure::Internal, message)
}

fn failed(error: ToolError) -> (ToolOutcome, Option<(Failure, String)>) {
    let text = error.to_string();
    let (summary, details, fatal) = match error {
        ToolError::Fatal { failure, message, details } => {
            (failure.words(), details.map(|details| *details), Some((failure, message)))
        }
        ToolError::Soft { kind, .. } => (kind.words(), None, None),
    };
    (ToolOutcome { is_error: true, details, ..ToolOutcome::text(text, summary) }, fatal)
}

fn status(answer: &Result<ToolOutcome, ToolError>) -> &'static str {
    match answer {
        Ok(outcome) if outcome.is_error => "error",
        Ok(_) => "ok",
        Err(ToolError::Soft { kind, .. }) => kind.as_str(),
        Err(ToolError::Fatal { .. }) => "fatal",
    }
}

fn first_text(content: &[ResultBlock]) -> &str {
    let mut texts = content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image { .. } => None,
    });
    texts.next().unwrap_or_default()
}

/// No wire accepts an empty result.
fn filled(content: Vec<ResultBlock>) -> Vec<ResultBlock> {
    let mut content: Vec<_> = content
        .into_iter()
        .filter(|block| !matches!(block, ResultBlock::Text { text } if text.trim().is_empty()))
        .collect();
    if content.is_empty() {
        content.push(ResultBlock::text("(no output)"));
    }
    content
}

fn size(block: &ResultBlock) -> usize {
    match block {
        ResultBlock::Text { text } => text.len(),
        ResultBlock::Image { source } => source.data.len(),
    }
}

/// The beginning of a text, for a message.
fn head(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The result of a call that did not run.
pub(super) fn error_result(id: &ToolUseId, why: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.clone(),
        content: vec![ResultBlock::text(why)],
        is_error: true,
        details: None,
    }
}
