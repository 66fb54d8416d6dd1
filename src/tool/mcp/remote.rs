//! A tool of a server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::Server;
use super::content;
use super::listing::Listing;
use crate::protocol::Access;
use crate::tool::{InvalidInput, SoftKind, Tool, ToolContext, ToolError, ToolOutcome, ToolSpec};

/// How long a call may take when the configuration does not say.
const TIME: Duration = Duration::from_secs(120);

/// The most characters of the line that says what a call is about.
const SUMMARY: usize = 120;

/// The tool. Holding it keeps its server up.
pub struct Remote {
    server: Arc<Server>,
    listing: Listing,
    instructions: Option<Arc<str>>,
    /// Whether a violation of autonomy is told to the model instead of ending the run.
    soften: bool,
}

impl Remote {
    /// A tool of `server`, which says `instructions` of all its tools.
    pub fn new(
        server: Arc<Server>,
        listing: Listing,
        instructions: Option<Arc<str>>,
        soften: bool,
    ) -> Self {
        Self { server, listing, instructions, soften }
    }
}

#[async_trait]
impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.listing.spec
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The server knows best what it takes; but no server takes anything but an object.
    fn validate(&self, input: &Value) -> Result<(), InvalidInput> {
        match input.is_object() {
            true => Ok(()),
            false => Err(InvalidInput(format!("{} takes an object.", self.listing.spec.name))),
        }
    }

    /// The first text of the input.
    fn summary(&self, input: &Value) -> String {
        let fields = input.as_object().into_iter().flat_map(serde_json::Map::values);
        let text = fields.filter_map(Value::as_str).find(|text| !text.trim().is_empty());
        let line = text.and_then(|text| text.trim().lines().next()).unwrap_or_default();
        line.chars().take(SUMMARY).collect()
    }

    /// What a server says of its tools' effects is a hint that gives no right.
    fn access(&self, _input: &Value, _cwd: &Path) -> Access {
        Access::Other
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(self.server.config().timeout.unwrap_or(TIME))
    }

    async fn call(&self, input: Value, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Value::Object(input) = input else {
            return Err(ToolError::soft(SoftKind::InvalidInput, "The input must be an object."));
        };
        let result = self.server.call(&self.listing.remote, input, &cx).await?;
        content::outcome(&result, self.soften)
    }
}
