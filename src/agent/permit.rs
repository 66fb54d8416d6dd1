//! Whether a call may run: asked of the gate before its waits, and again after them.

use tokio::sync::OwnedMutexGuard;

use super::Agent;
use super::dispatch::{Station, ToolCall, ValidCall};
use super::hooks::Heard;
use super::time_limit::cancelled;
use crate::permission::{Advice, Approval, BeforeQuestion, Call, Verdict};
use crate::protocol::{Access, Denial, ReadOnly};
use crate::tool::{ContentHash, SoftKind, Tool, ToolError};

/// A call that may run.
pub(super) struct Permitted {
    /// The call as it was judged.
    pub valid: ValidCall,
    /// The question that the user answered with yes; `None` if the call was allowed without one.
    approval: Option<Approval>,
    /// The hash of the content that the question was about.
    pub asked_content: Option<ContentHash>,
}

impl Agent {
    /// Asks whether a valid call may run, and answers with the call as it may: whoever allows it
    /// can change its input, but not where it starts. `asked_guard` keeps the next question about
    /// the same file from opening before the call has ended.
    pub(super) async fn permit(
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
        // A preview may cost a read of the file: the gate awaits it only when the user is about to
        // be asked. How long that one takes is not the agent's time.
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
            Verdict::Denied(denial) => Err(ToolError::denied(denial)),
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
            Err(reason) => Err(ToolError::denied(Denial::new(reason))),
            Ok(approval) => Ok(Permitted { valid, approval, asked_content: None }),
        }
    }

    /// Judges a permitted call again, when its waits for an answer and for a place are over: rules
    /// and links may have changed. Returns the folders of a command that runs because it only
    /// reads.
    pub(super) fn still_permitted(
        &self,
        tool: &dyn Tool,
        permitted: &Permitted,
        heard: &Heard,
    ) -> Result<Option<ReadOnly>, ToolError> {
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
            self.setup.gate.denied(&request, Denial::new(reason.clone()));
            Err(reason)
        };
        held.map_err(|reason| ToolError::denied(Denial::new(reason)))
    }

    /// The call as the gate judges it.
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
