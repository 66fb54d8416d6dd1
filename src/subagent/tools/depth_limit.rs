//! Stands in for the tools that start sub-agents where the depth limit withholds them.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::protocol::Access;
use crate::subagent::SubagentSettings;
use crate::tool::{
    InvalidInput, PreparedCall, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
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
        Err(self.0.depth_violation(&cx))
    }
}
