//! A tool that a server offers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::Server;
use super::content;
use super::listing::ListedTool;
use crate::protocol::Access;
use crate::tool::{InvalidInput, SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec};

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

#[async_trait]
impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.listing.spec
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The server itself knows its input best; but no server accepts anything but an object.
    fn validate(&self, input: &Value) -> Result<(), InvalidInput> {
        match input.is_object() {
            true => Ok(()),
            false => Err(InvalidInput(format!("{} takes an object.", self.listing.spec.name))),
        }
    }

    /// Returns the first text of the input.
    fn summary(&self, input: &Value) -> String {
        let fields = input.as_object().into_iter().flat_map(serde_json::Map::values);
        let text = fields.filter_map(Value::as_str).find(|text| !text.trim().is_empty());
        let line = text.and_then(|text| text.trim().lines().next()).unwrap_or_default();
        line.chars().take(MAX_SUMMARY_CHARS).collect()
    }

    /// A server's hints about its tools' effects grant no permission.
    fn access(&self, _input: &Value, _cwd: &Path) -> Access {
        Access::Other
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(self.server.config().timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    async fn call(&self, input: Value, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Value::Object(input) = input else {
            return Err(ToolError::soft(SoftKind::InvalidInput, "The input must be an object."));
        };
        let result = self.server.call(&self.listing.remote, input, &cx).await?;
        content::outcome(&result, self.soften)
    }
}
