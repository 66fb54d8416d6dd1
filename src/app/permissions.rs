//! `caliban permissions`: asks a session's gate about a hypothetical call.

use serde_json::Value;

use super::{AppError, Setup};
use crate::command::CommandReport;
use crate::command::permissions::{TestedCall, report};
use crate::permission::{Call, HookAdvice};
use crate::protocol::{EventQueue, ToolUseId};

/// Returns the decision of main's gate on the call.
pub(super) fn test(call: &str, setup: &Setup) -> Result<CommandReport, AppError> {
    let home = setup.home();
    let call = TestedCall::parse(call, &setup.cwd, home.as_deref()).map_err(AppError::Usage)?;
    let gate = setup.gate(true, &EventQueue::unbounded())?;
    let judgement = gate.judgement(&Call {
        id: &ToolUseId::new("test"),
        tool: &call.tool,
        input: &Value::Null,
        access: &call.access,
        cwd: &setup.cwd,
        advice: HookAdvice::None,
    });
    Ok(report(&judgement, setup.trust.notice(&setup.loaded.untrusted).as_deref()))
}
