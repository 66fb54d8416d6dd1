//! A tool that panics, for the tests of this program: what a bug in a tool comes to can be seen
//! from outside with it.
//!
//! Compiled into debug builds alone, never into a release, and offered only where
//! `CALIBAN_FAULT=panic` is in the session's environment overlay.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Tool, ToolContext, ToolError, ToolOutcome, ToolRegistry, ToolSpec, TypedTool};
use crate::protocol::{Access, ContentBlock, EnvOverlay};

static SPEC: LazyLock<ToolSpec> =
    LazyLock::new(|| ToolSpec::of::<Input>("Fault", "Fails inside, as a bug would."));

/// The tool.
#[derive(Debug)]
struct Fault;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Fails in the run itself rather than in the call.
    #[serde(default)]
    outside: bool,
}

/// The tool, where the environment asks for it.
pub fn offered(env: &EnvOverlay) -> Option<Arc<dyn Tool>> {
    let wanted = env.get("CALIBAN_FAULT") == Some("panic");
    wanted.then(|| -> Arc<dyn Tool> { Arc::new(Fault) })
}

/// Fails where nothing that a tool does is caught, if one of these calls asks for that and the tool is there.
#[expect(clippy::panic, reason = "that is what it is for")]
pub fn strike(tools: &ToolRegistry, calls: &[ContentBlock]) {
    let asks = |call: &ContentBlock| match call {
        ContentBlock::ToolUse { name, input, .. } if *name == SPEC.name => {
            Input::deserialize(input).is_ok_and(|input| input.outside)
        }
        _ => false,
    };
    if tools.get(&SPEC.name).is_some() && calls.iter().any(asks) {
        panic!("a fault on purpose")
    }
}

#[async_trait]
impl TypedTool for Fault {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn summary(&self, _: &Input) -> String {
        "fails inside".to_owned()
    }

    fn access(&self, _: &Input, _cwd: &Path) -> Access {
        Access::Nothing
    }

    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn run(&self, _: Input, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        panic!("a fault on purpose")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_only_when_it_is_asked_for_by_its_one_word() {
        let offers = |value| offered(&EnvOverlay::from_iter([("CALIBAN_FAULT", value)])).is_some();
        assert_eq!([offers("panic"), offers("1"), offers("")], [true, false, false]);
        assert!(offered(&EnvOverlay::default()).is_none());
    }
}
