//! `ExitPlanMode`: the plan for the user's approval, with which plan mode ends.
//!
//! The tool only checks the plan and words the approval. Whoever approves the call decides on the
//! mode that follows and can change the plan; the loop changes the mode.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{Access, ContentBlock, EXIT_PLAN_TOOL, PermissionMode, ToolDetails};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<ExitPlanModeInput>(
        EXIT_PLAN_TOOL,
        "Plan mode only: shows the user your finished plan in Markdown and waits for approval, which ends \
         the mode.",
    )
});

/// The most characters of a plan. It should be read as a whole.
const MAX_PLAN_CHARS: usize = 50_000;

/// The tool. It keeps nothing.
#[derive(Debug)]
pub struct ExitPlanMode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitPlanModeInput {
    plan: String,
    /// The mode that follows, chosen by whoever approves.
    #[serde(default)]
    #[schemars(skip)]
    mode: Option<PermissionMode>,
}

impl ExitPlanModeInput {
    fn check(self) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let chars = self.plan.chars().count();
        if self.plan.trim().is_empty() {
            return Err(InvalidInput("plan is blank: write the plan in Markdown.".to_owned()));
        }
        if chars > MAX_PLAN_CHARS {
            return Err(InvalidInput(format!(
                "plan has {chars} characters, and at most {MAX_PLAN_CHARS} are allowed."
            )));
        }
        match self.mode {
            None | Some(PermissionMode::Default | PermissionMode::AcceptEdits) => {
                Ok(Box::new(self))
            }
            Some(mode) => Err(InvalidInput(format!(
                "mode is {}: after a plan it can be default or acceptEdits.",
                mode.name()
            ))),
        }
    }
}

impl Tool for ExitPlanMode {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: ExitPlanModeInput = SPEC.parse(input)?;
        match input.mode {
            None => input.check(),
            Some(_) => {
                Err(InvalidInput("Only the user chooses the mode: leave it out.".to_owned()))
            }
        }
    }

    fn prepare_changed(
        self: Arc<Self>,
        input: &Value,
    ) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        SPEC.parse::<ExitPlanModeInput>(input)?.check()
    }
}

#[async_trait]
impl PreparedCall for ExitPlanModeInput {
    fn summary(&self) -> String {
        let lines = self.plan.lines().map(|line| line.trim_start_matches('#').trim());
        lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::ExitPlan { mode: self.mode }
    }

    fn only_waits(&self) -> bool {
        true
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let (edits, summary) = match self.mode {
            Some(PermissionMode::AcceptEdits) => {
                (" Edits in the working directories run without asking.", "approved · edits run")
            }
            _ => ("", "approved"),
        };
        let text = match written_plan(&cx) {
            Some(plan) if plan != self.plan => format!(
                "The user approved the plan with changes. Plan mode is off.{edits} Carry out this version:\n\n{}",
                self.plan
            ),
            _ => format!("The user approved the plan. Plan mode is off.{edits} Carry it out."),
        };
        let details = ToolDetails::Plan { plan: self.plan };
        Ok(ToolOutcome::text(text, summary).with_details(details))
    }
}

/// The plan as the model wrote it.
fn written_plan(cx: &ToolContext) -> Option<&str> {
    let blocks = cx.conversation.messages.iter().rev().flat_map(|message| &message.content);
    let mut inputs = blocks.filter_map(|block| match block {
        ContentBlock::ToolUse { id, input, .. } if *id == cx.tool_use_id => Some(input),
        _ => None,
    });
    inputs.next()?.get("plan")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{ToolFixture, text};
    use super::*;
    use crate::protocol::{Message, Role, ToolUseId};

    /// The result of an approval with this input.
    async fn approved(input: Value) -> Result<ToolOutcome, ToolError> {
        let fixture = ToolFixture::new();
        let call = Arc::new(ExitPlanMode).prepare_changed(&input);
        let call = call.map_err(|error| ToolError::failed(error.to_string()))?;
        let mut cx = fixture.context(call.access(&fixture.base));
        let written = ContentBlock::ToolUse {
            id: ToolUseId::new("call"),
            name: EXIT_PLAN_TOOL.to_owned(),
            input: Box::new(json!({ "plan": "# Do it" })),
            malformed: None,
        };
        let message = Message { role: Role::Assistant, content: vec![written] };
        cx.conversation.messages = Arc::new(vec![message]);
        call.run(cx).await
    }

    #[tokio::test]
    async fn the_model_reads_the_mode_and_a_changed_plan() {
        let outcome = approved(json!({ "plan": "# Do it" })).await.unwrap();
        assert_eq!(text(&outcome), "The user approved the plan. Plan mode is off. Carry it out.");
        let outcome = approved(json!({ "plan": "# Do it", "mode": "acceptEdits" })).await.unwrap();
        assert!(text(&outcome).contains("Edits in the working directories run without asking."));
        let outcome = approved(json!({ "plan": "# Do less", "mode": "default" })).await.unwrap();
        let changed = "The user approved the plan with changes. Plan mode is off. Carry out this version:\n\n# Do less";
        assert_eq!(text(&outcome), changed);
        for mode in ["plan", "bypassPermissions", "dontAsk"] {
            let error = approved(json!({ "plan": "x", "mode": mode })).await.unwrap_err();
            assert!(error.to_string().contains("it can be default or acceptEdits"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_plan_of_the_wrong_shape_gets_one_clear_error() {
        let fixture = ToolFixture::new();
        for (input, problem) in [
            (json!({ "plan": " \n" }), "plan is blank"),
            (json!({ "plan": "x".repeat(50_001) }), "plan has 50001 characters"),
            (json!({ "plan": "x", "mode": "acceptEdits" }), "Only the user chooses the mode"),
            (json!({}), "missing field `plan`"),
        ] {
            let error = fixture.error(EXIT_PLAN_TOOL, input).await;
            assert!(error.contains(problem), "{problem}: {error}");
        }
        let call = fixture.prepare(EXIT_PLAN_TOOL, &json!({ "plan": "\n## Fix it\n\n1. Look" }));
        assert_eq!(call.summary(), "Fix it");
    }
}
