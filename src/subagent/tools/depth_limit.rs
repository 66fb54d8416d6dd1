//! Stands in for the tools that start sub-agents where the depth limit withholds them.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::protocol::Access;
use crate::subagent::factory::AgentParts;
use crate::tool::{
    InvalidInput, PreparedCall, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec,
};

/// A tool that is not offered, or only listed. A call made anyway breaks the limit, which is for
/// the operator to know, not for the model to retry.
pub(super) struct DepthLimitTool {
    spec: ToolSpec,
    parts: Arc<AgentParts>,
}

impl DepthLimitTool {
    pub fn new(name: &str, parts: Arc<AgentParts>) -> Self {
        Self { spec: ToolSpec::new::<Value>(name, "beyond the depth limit"), parts }
    }

    /// Creates it with the spec of the tool it stands in for.
    pub fn listed(spec: ToolSpec, parts: Arc<AgentParts>) -> Self {
        Self { spec, parts }
    }
}

impl Tool for DepthLimitTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(self: Arc<Self>, _input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        Ok(Box::new(DepthLimitCall(self.parts.clone())))
    }
}

/// A call with any input.
struct DepthLimitCall(Arc<AgentParts>);

#[async_trait]
impl PreparedCall for DepthLimitCall {
    fn summary(&self) -> String {
        "beyond the depth limit".to_owned()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        Err(self.0.settings.depth_violation(&cx))
    }
}
