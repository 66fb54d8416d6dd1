//! Runs hooks that answer a question in the user's place, and hooks after failed calls and whole
//! batches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Agent;
use super::dispatch::{CallContext, ToolCall, ValidCall};
use super::hooks::hook_call;
use crate::hook::{FinishedCall, HookInput, HookToolCall as HookCall, PermissionDecision};
use crate::permission::PreviewOutcome;
use crate::protocol::{ContentBlock, HookEvent, ResultBlock};
use crate::tool::{SoftKind, Tool, ToolError, ToolOutcome};

impl Agent {
    /// Lets hooks answer a question that is about to open. `None`: they leave it to the user.
    pub(super) async fn before_question(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        at: CallContext<'_>,
    ) -> Option<PreviewOutcome> {
        if !self.setup.hooks.has_hooks_for(HookEvent::PermissionRequest) {
            return None;
        }
        let moment = HookInput::PermissionRequest(hook_call(tool, valid));
        let here = self.call_hook_context(&valid.call, at);
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        if let Some(why) = said.stop {
            at.stop(why);
        }
        match said.decision? {
            PermissionDecision::Allow => {
                Some(said.input.map_or(PreviewOutcome::Allow, PreviewOutcome::Change))
            }
            PermissionDecision::Deny { why } => {
                Some(PreviewOutcome::Deny(format!("denied by a hook: {why}")))
            }
            PermissionDecision::Ask { .. } => None,
        }
    }

    /// Runs the hooks on a call that failed. Their context is read with its error.
    pub(super) async fn after_failure(
        &self,
        tool: &dyn Tool,
        valid: &ValidCall,
        failed: Result<ToolOutcome, ToolError>,
        took: Duration,
        at: CallContext<'_>,
    ) -> Result<ToolOutcome, ToolError> {
        if !self.setup.hooks.has_hooks_for(HookEvent::PostToolUseFailure) {
            return failed;
        }
        let (error, interrupted) = match &failed {
            Ok(outcome) => (joined_text(&outcome.content), false),
            Err(ToolError::Soft { kind, message, .. }) => {
                (message.clone(), *kind == SoftKind::Cancelled)
            }
            Err(ToolError::Fatal { .. }) => return failed,
        };
        let call = hook_call(tool, valid);
        let moment = HookInput::PostToolUseFailure { call, error: &error, interrupted, took };
        let here = self.call_hook_context(&valid.call, at);
        if at.cancel.is_cancelled() {
            // Nothing they say could be read any more.
            self.setup.hooks.notify(&moment, here);
            return failed;
        }
        let said = self.setup.hooks.run(&moment, here, at.cancel).await;
        let context = said.context_text();
        if let Some(why) = said.stop {
            at.stop(why);
        }
        let Some(context) = context else { return failed };
        match failed {
            Ok(mut outcome) => {
                outcome.content.push(ResultBlock::text(context));
                Ok(outcome)
            }
            Err(error) => Err(error.with_context(&context)),
        }
    }

    /// The file that a call opens, if its input is valid.
    fn call_file(&self, call: &ToolCall) -> Option<PathBuf> {
        let tool = self.setup.tools.get(&call.name)?;
        tool.validate(&call.input).ok()?;
        call.clone().with_access(tool.as_ref()).file().map(Path::to_owned)
    }

    /// Runs the hooks on all calls of a message once each has its result. Their context is read
    /// with the last one.
    pub(super) async fn after_batch(
        &self,
        calls: &[ToolCall],
        results: &mut [ContentBlock],
        at: CallContext<'_>,
    ) {
        let files: Vec<_> = calls.iter().map(|call| self.call_file(call)).collect();
        let calls = calls.iter().zip(&files).zip(results.iter());
        let finished = calls.filter_map(|((call, file), result)| {
            let ContentBlock::ToolResult { content, .. } = result else { return None };
            let tool = self.setup.tools.get(&call.name);
            let name = tool.as_ref().map_or(call.name.as_str(), |tool| &tool.spec().name);
            let (id, input, file) = (&call.id, &call.input, file.as_deref());
            let call = HookCall { id, tool: name, input, file };
            Some(FinishedCall { call, response: content })
        });
        let finished: Vec<_> = finished.collect();
        let moment = HookInput::PostToolBatch(&finished);
        let said = self.setup.hooks.run(&moment, self.hook_context(at.run.events), at.cancel).await;
        if let (Some(context), Some(ContentBlock::ToolResult { content, .. })) =
            (said.context_text(), results.last_mut())
        {
            content.push(ResultBlock::text(self.setup.redactor.without_keys(context)));
        }
        if let Some(why) = said.stop {
            at.stop(why);
        }
    }
}

/// All text of a result.
fn joined_text(content: &[ResultBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
