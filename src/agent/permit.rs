//! Asks the gate whether a call may run, before the call waits and again after.

use tokio::sync::OwnedMutexGuard;

use super::Agent;
use super::dispatch::{CallContext, ToolCall, ValidCall};
use super::hooks::HookFeedback;
use super::time_limit::cancelled_error;
use crate::permission::{Approval, Call, HookAdvice, PreviewOutcome, Verdict};
use crate::protocol::{Access, Denial, ReadOnly};
use crate::tool::{ContentHash, SoftKind, Tool, ToolError};

/// A call that may run.
pub(super) struct PermittedCall {
    /// The call as judged.
    pub valid: ValidCall,
    /// The question that the user approved; `None` if the call was allowed without one.
    approval: Option<Approval>,
    /// The hash of the content that the question was about.
    pub asked_content: Option<ContentHash>,
}

impl Agent {
    /// Asks whether a valid call may run, and returns it as it may run: whoever allows it can
    /// change its input, but not where it starts. `asked_guard` keeps the next question about the
    /// same file from opening before the call has ended.
    pub(super) async fn permit(
        &self,
        tool: &dyn Tool,
        valid: ValidCall,
        heard: &HookFeedback,
        at: CallContext<'_>,
        asked_guard: &mut Option<OwnedMutexGuard<()>>,
    ) -> Result<PermittedCall, ToolError> {
        let CallContext { run, cancel, .. } = at;
        let ValidCall { call, access } = &valid;
        let advice = heard.advice.clone();
        let request = Call { advice, ..self.gate_call(tool, call, access) };
        let (mut pause, mut asked_content) = (None, None);
        // A preview may have to read the file: the gate awaits it only when the user is about to be
        // asked. The wait does not count as the agent's time.
        let preview = async {
            pause = Some(run.budget.pause());
            if let Some(answer) = self.before_question(tool, &valid, at).await {
                return answer;
            }
            // An earlier question may change this file first.
            if let Access::Write { paths } = access
                && let Some(file) = paths.first()
            {
                *asked_guard = Some(run.asked_files.hold(file).await);
            }
            self.notify_question(tool, run);
            let preview = tool.preview(&call.input, access).await;
            asked_content = preview.content;
            PreviewOutcome::Ask(preview.text)
        };
        let verdict = self.setup.gate.decide_with(&request, preview, cancel).await;
        drop(pause);
        match verdict {
            Verdict::Allowed => Ok(PermittedCall { valid, approval: None, asked_content: None }),
            Verdict::Approved(approval) => {
                Ok(PermittedCall { valid, approval: Some(approval), asked_content })
            }
            Verdict::Changed { input } => {
                let ValidCall { call, access } = valid;
                let changed = self.check_changed(tool, ToolCall { input, ..call })?;
                let asked_content = asked_content.filter(|_| changed.valid.access == access);
                Ok(PermittedCall { asked_content, ..changed })
            }
            Verdict::Cancelled => Err(cancelled_error()),
            Verdict::Denied(denial) => Err(ToolError::denied(denial)),
        }
    }

    /// Checks a call that was allowed with a changed input, like any other.
    fn check_changed(&self, tool: &dyn Tool, call: ToolCall) -> Result<PermittedCall, ToolError> {
        tool.validate(&call.input).map_err(|invalid| {
            let why = format!("It was allowed with a changed input, which is invalid: {invalid}");
            ToolError::soft(SoftKind::InvalidInput, why)
        })?;
        let valid = call.with_access(tool);
        match self.setup.gate.recheck(&self.gate_call(tool, &valid.call, &valid.access)) {
            Err(reason) => Err(ToolError::denied(Denial::new(reason))),
            Ok(approval) => Ok(PermittedCall { valid, approval, asked_content: None }),
        }
    }

    /// Judges a permitted call again after its waits for an answer and for a permit: rules and
    /// links may have changed. Returns the folders of a command that runs because it only reads.
    pub(super) fn confirm_permitted(
        &self,
        tool: &dyn Tool,
        permitted: &PermittedCall,
        heard: &HookFeedback,
    ) -> Result<Option<ReadOnly>, ToolError> {
        let PermittedCall { valid: ValidCall { call, access }, approval, .. } = permitted;
        let now = tool.access(&call.input, &call.directory);
        let advice = heard.advice.clone();
        let request = Call { advice, ..self.gate_call(tool, call, &now) };
        let held = if now == *access {
            self.setup.gate.confirm(&request, approval.as_ref())
        } else {
            let reason = "not run: a link has changed since this call was allowed, so it now leads elsewhere; \
                          repeat it if you still need it"
                .to_owned();
            self.setup.gate.report_denied(&request, Denial::new(reason.clone()));
            Err(reason)
        };
        held.map_err(|reason| ToolError::denied(Denial::new(reason)))
    }

    /// The call as the gate judges it.
    pub(super) fn gate_call<'a>(
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
            advice: HookAdvice::None,
        }
    }
}
