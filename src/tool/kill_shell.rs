//! `KillShell`: kills a background command.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::bash_output::{find, words};
use super::shells::ShellRegister;
use super::spec::{InvalidInput, ToolSpec};
use crate::exec::ShellState;
use crate::protocol::{Access, ToolDetails};

static SPEC: LazyLock<ToolSpec> =
    LazyLock::new(|| ToolSpec::new::<KillShellInput>("KillShell", "Kills a background command."));

/// The tool.
#[derive(Debug)]
pub struct KillShell {
    shells: Arc<dyn ShellRegister>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KillShellInput {
    shell_id: String,
}

impl KillShell {
    /// Kills commands in `shells`.
    pub fn new(shells: Arc<dyn ShellRegister>) -> Self {
        Self { shells }
    }
}

impl Tool for KillShell {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: KillShellInput = SPEC.parse(input)?;
        Ok(Box::new(KillShellCall { tool: self, input }))
    }
}

/// A call with a valid input.
struct KillShellCall {
    tool: Arc<KillShell>,
    input: KillShellInput,
}

#[async_trait]
impl PreparedCall for KillShellCall {
    fn summary(&self) -> String {
        self.input.shell_id.trim().to_owned()
    }

    /// An agent kills only commands that it was permitted to start.
    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let shells = &self.tool.shells;
        let (id, shell) = find(shells.as_ref(), cx.events.path(), &self.input.shell_id)?;
        let before = shell.state();
        if before != ShellState::Running {
            let how = words(before);
            shells.mark_end_read(&id);
            return Err(ToolError::failed(format!("{id} has already ended: {how}.")));
        }
        match shell.kill().await {
            ShellState::Killed => {
                let text = format!("Killed {id} and all its processes.");
                Ok(ToolOutcome::text(text, "killed").with_details(ToolDetails::ForModel))
            }
            // It ended by itself first.
            end => {
                shells.mark_end_read(&id);
                let text = format!("{id} ended: {}.", words(end));
                Ok(ToolOutcome::text(text, words(end)).with_details(ToolDetails::ForModel))
            }
        }
    }
}
