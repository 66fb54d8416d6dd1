//! Stands in for the tools that start sub-agents where the depth limit withholds them.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::config::OnViolation;
use crate::protocol::{Access, Failure, ToolDetails, ViolationKind};
use crate::subagent::SubagentSettings;
use crate::tool::{
    InvalidInput, PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
};

/// A tool that is not offered, or only listed. A call made anyway breaks the limit, which is for
/// the operator to know, not for the model to retry.
pub(super) struct DepthLimitTool {
    spec: ToolSpec,
    settings: SubagentSettings,
}

impl DepthLimitTool {
    pub fn new(name: &str, settings: SubagentSettings) -> Self {
        Self { spec: ToolSpec::new::<Value>(name, "beyond the depth limit"), settings }
    }

    /// Creates it with the spec of the tool it stands in for.
    pub fn listed(spec: ToolSpec, settings: SubagentSettings) -> Self {
        Self { spec, settings }
    }
}

impl Tool for DepthLimitTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, _input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        Ok(Box::new(DepthLimitCall(self.settings.clone())))
    }
}

/// A call with any input.
struct DepthLimitCall(SubagentSettings);

#[async_trait]
impl PreparedCall for DepthLimitCall {
    fn summary(&self) -> String {
        "beyond the depth limit".to_owned()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let SubagentSettings { max_depth, base_depth, allow_nested_spawn, .. } = self.0;
        let depth = base_depth + cx.depth;
        let limit = if allow_nested_spawn { max_depth } else { max_depth.min(base_depth + 1) };
        let key = if limit == max_depth { "max_depth" } else { "allow_nested_spawn" };
        tracing::error!(
            event = "autonomy_violation", kind = "depth_exceeded", agent = %cx.events.path(), depth, limit,
            "a sub-agent call beyond the depth limit"
        );
        let message = format!(
            "An agent at depth {depth} tried to start a sub-agent, and the depth limit is {limit} (`{key}`): the run was stopped. Ask for the work without a further level."
        );
        Err(match self.0.on_autonomy_violation {
            OnViolation::Abort => {
                let violation = ViolationKind::DepthExceeded;
                ToolError::fatal(Failure::Autonomy, message).with_details(ToolDetails::Violation {
                    violation,
                    depth,
                    limit,
                })
            }
            OnViolation::Report => {
                let message = format!(
                    "The depth limit is {limit} (`{key}`), and this agent is at depth {depth}: it cannot start others. Do the work yourself."
                );
                ToolError::soft(SoftKind::Denied, message)
            }
        })
    }
}
