//! Asks permission questions through an MCP tool.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::headless::Asker;
use crate::protocol::{Question, ResultBlock, UniqueKeys};
use crate::tool::ToolSpec;
use crate::tool::mcp::Mcp;

/// An MCP tool that answers in place of the user.
pub(super) struct AskTool {
    /// Its name on the wire.
    name: String,
    servers: Mcp,
}

impl AskTool {
    /// Creates an asker for the tool of this name. Its existence is only checked when it is called.
    pub fn named(name: &str, servers: Mcp) -> Arc<dyn Asker> {
        Arc::new(Self { name: name.to_owned(), servers })
    }
}

#[async_trait]
impl Asker for AskTool {
    async fn ask(&self, question: Question) -> Result<Value, String> {
        let input = |spec: &ToolSpec| {
            let mut input = json!({
                "tool_name": question.tool, "input": question.input,
                "tool_use_id": question.tool_use_id,
            });
            let more = [
                ("cwd", json!(question.cwd.to_string_lossy())),
                ("blocked_path", json!(question.place().map(Path::to_string_lossy))),
                ("decision_reason", json!(question.explanation())),
            ];
            // A tool written for another program may reject unknown fields.
            for (name, value) in more.into_iter().filter(|(name, _)| spec.has_field(name)) {
                input[name] = value;
            }
            input
        };
        // Dropping this future cancels the call at the server.
        let outcome = self.servers.call(&self.name, input, &CancellationToken::new()).await;
        let outcome = outcome.map_err(|error| error.to_string())?;
        let text = ResultBlock::joined_text(&outcome.content);
        if outcome.is_error {
            return Err(text);
        }
        serde_json::from_str(&text)
            .map(|UniqueKeys(answer)| answer)
            .map_err(|error| format!("{} must answer with JSON: {error}", self.name))
    }

    fn who(&self) -> String {
        format!("the permission tool {}", self.name)
    }
}
