//! `KillShell`: ends a command in the background.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bash_output::{find, words};
use super::shells::ShellRegister;
use super::{ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};
use crate::exec::ShellState;
use crate::protocol::Access;

static SPEC: LazyLock<ToolSpec> =
    LazyLock::new(|| ToolSpec::of::<Input>("KillShell", "Ends a background command."));

/// The tool.
#[derive(Debug)]
pub struct KillShell {
    shells: Arc<dyn ShellRegister>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    shell_id: String,
}

impl KillShell {
    /// Ends commands in `shells`.
    #[must_use]
    pub fn new(shells: Arc<dyn ShellRegister>) -> Self {
        Self { shells }
    }
}

#[async_trait]
impl TypedTool for KillShell {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn summary(&self, input: &Input) -> String {
        input.shell_id.trim().to_owned()
    }

    /// An agent ends only what it was permitted to start.
    fn access(&self, _: &Input, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let (id, shell) = find(self.shells.as_ref(), cx.events.path(), &input.shell_id)?;
        let before = shell.state();
        if before != ShellState::Running {
            let how = words(before);
            self.shells.end_read(&id);
            return Err(ToolError::failed(format!("{id} has already ended: {how}.")));
        }
        match shell.kill().await {
            ShellState::Killed => {
                let text = format!("{id} was killed, all its processes ended.");
                Ok(ToolOutcome::text(text, "killed"))
            }
            // It was quicker.
            end => {
                self.shells.end_read(&id);
                Ok(ToolOutcome::text(format!("{id} ended: {}.", words(end)), words(end)))
            }
        }
    }
}
