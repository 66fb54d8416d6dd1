//! A tool that panics, for tests: shows from outside how a bug in a tool is handled.
//!
//! Compiled only into debug builds, and offered only if `CALIBAN_FAULT=panic` is in the session's
//! environment overlay.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::registry::ToolRegistry;
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{Access, ContentBlock, EnvOverlay};

static SPEC: LazyLock<ToolSpec> =
    LazyLock::new(|| ToolSpec::new::<FaultInput>("Fault", "Fails inside, as a bug would."));

/// The tool.
#[derive(Debug)]
struct FaultTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FaultInput {
    /// Fails in the run itself instead of in the call.
    #[serde(default)]
    outside: bool,
}

/// Returns the tool, if the environment asks for it.
pub fn from_env(env: &EnvOverlay) -> Option<Arc<dyn Tool>> {
    let wanted = env.get("CALIBAN_FAULT") == Some("panic");
    wanted.then(|| -> Arc<dyn Tool> { Arc::new(FaultTool) })
}

/// Panics outside of any tool call, if the tool is there and one of these calls asks for it.
#[expect(clippy::panic, reason = "that is what it is for")]
pub fn panic_if_asked(tools: &ToolRegistry, calls: &[ContentBlock]) {
    let asks = |call: &ContentBlock| match call {
        ContentBlock::ToolUse { name, input, .. } if *name == SPEC.name => {
            FaultInput::deserialize(&**input).is_ok_and(|input| input.outside)
        }
        _ => false,
    };
    if tools.get(&SPEC.name).is_some() && calls.iter().any(asks) {
        panic!("a fault on purpose")
    }
}

impl Tool for FaultTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        Ok(Box::new(SPEC.parse::<FaultInput>(input)?))
    }
}

#[async_trait]
impl PreparedCall for FaultInput {
    fn summary(&self) -> String {
        "fails inside".to_owned()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn run(self: Box<Self>, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        panic!("a fault on purpose")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_only_when_it_is_asked_for_by_its_one_word() {
        let offers = |value| from_env(&EnvOverlay::from_iter([("CALIBAN_FAULT", value)])).is_some();
        assert_eq!([offers("panic"), offers("1"), offers("")], [true, false, false]);
        assert!(from_env(&EnvOverlay::default()).is_none());
    }
}
