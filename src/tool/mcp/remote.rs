//! A tool that a server offers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::content;
use super::listing::ListedTool;
use super::server::Server;
use crate::protocol::{Access, ResultBlock};
use crate::tool::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use crate::tool::spec::{InvalidInput, ToolSpec};

/// Default time limit of a call.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum characters of the summary of a call.
const MAX_SUMMARY_CHARS: usize = 120;

/// The tool. Holding it keeps its server running.
pub struct RemoteTool {
    server: Arc<Server>,
    listing: ListedTool,
    instructions: Option<Arc<str>>,
    /// Whether a violation of autonomy is left to the model instead of ending the run.
    soften: bool,
}

impl RemoteTool {
    /// Creates a tool of `server`, which gives `instructions` for all its tools.
    pub fn new(
        server: Arc<Server>,
        listing: ListedTool,
        instructions: Option<Arc<str>>,
        soften: bool,
    ) -> Self {
        Self { server, listing, instructions, soften }
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.listing.spec
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The server itself knows its input best; but no server accepts anything but an object.
    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        match input {
            Value::Object(input) => Ok(Box::new(RemoteCall { input: input.clone(), tool: self })),
            _ => Err(InvalidInput(format!("{} takes an object.", self.listing.spec.name))),
        }
    }
}

/// A call with an input that any server would accept.
struct RemoteCall {
    tool: Arc<RemoteTool>,
    input: Map<String, Value>,
}

#[async_trait]
impl PreparedCall for RemoteCall {
    /// Returns the first text of the input.
    fn summary(&self) -> String {
        let text =
            self.input.values().filter_map(Value::as_str).find(|text| !text.trim().is_empty());
        let line = text.and_then(|text| text.trim().lines().next()).unwrap_or_default();
        line.chars().take(MAX_SUMMARY_CHARS).collect()
    }

    /// A server's hints about its tools' effects grant no permission.
    fn access(&self, _cwd: &Path) -> Access {
        Access::Other
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(self.tool.server.config().timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, input } = *self;
        let result = tool.server.call(&tool.listing.remote, input, &cx).await?;
        let outcome = content::outcome(&result, tool.soften)?;
        if outcome.content.iter().all(|block| !matches!(block, ResultBlock::Image { .. })) {
            return Ok(outcome);
        }
        cx.blocking(|_| Ok(content::with_small_images(outcome))).await
    }
}
