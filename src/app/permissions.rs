//! `caliban permissions`: the gate of a session, asked about a call that nobody makes.

use serde_json::Value;

use super::{AppError, Setup};
use crate::command::Report;
use crate::command::permissions::{TestedCall, tested};
use crate::permission::{Advice, Call};
use crate::protocol::{EventQueue, ToolUseId};

/// What the gate of main would say to the call.
pub(super) fn test(call: &str, setup: &Setup) -> Result<Report, AppError> {
    let home = setup.home();
    let call = TestedCall::parse(call, &setup.cwd, home.as_deref()).map_err(AppError::Usage)?;
    let gate = setup.gate(true, &EventQueue::unhurried())?;
    let judgement = gate.judgement(&Call {
        id: &ToolUseId::new("test"),
        tool: &call.tool,
        input: &Value::Null,
        access: &call.access,
        cwd: &setup.cwd,
        advice: Advice::None,
    });
    Ok(tested(&judgement, setup.trust.notice(&setup.loaded.inert).as_deref()))
}
