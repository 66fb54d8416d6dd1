//! `TodoWrite`: the agent's to-do list, shown to the user.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::api::{PreparedCall, Tool, ToolContext, ToolError, ToolOutcome};
use super::spec::{InvalidInput, ToolSpec};
use crate::protocol::{Access, Todo, TodoStatus, ToolDetails};

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<TodoWriteInput>(
        "TodoWrite",
        "Replaces your to-do list, which the user sees. For work of several steps; keep one item in_progress.",
    )
});

/// The tool. The list itself lives in the conversation.
#[derive(Debug)]
pub struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoWriteInput {
    todos: Vec<Todo>,
}

impl TodoWriteInput {
    fn count(&self, status: TodoStatus) -> usize {
        self.todos.iter().filter(|todo| todo.status == status).count()
    }

    fn progress(&self) -> String {
        format!("{} of {} done", self.count(TodoStatus::Completed), self.todos.len())
    }
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: TodoWriteInput = SPEC.parse(input)?;
        match input.todos.iter().position(|todo| todo.content.trim().is_empty()) {
            Some(index) => Err(InvalidInput(format!(
                "todos[{index}].content is blank: describe the task, or leave the item out."
            ))),
            None => Ok(Box::new(input)),
        }
    }
}

#[async_trait]
impl PreparedCall for TodoWriteInput {
    fn summary(&self) -> String {
        let mut todos = self.todos.iter();
        match todos.find(|todo| todo.status == TodoStatus::InProgress) {
            Some(todo) => todo.content.clone(),
            None => self.progress(),
        }
    }

    fn access(&self, _cwd: &Path) -> Access {
        Access::Nothing
    }

    async fn run(self: Box<Self>, _cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let progress = self.progress();
        let text = match self.count(TodoStatus::InProgress) {
            0 | 1 => format!("List saved: {progress}."),
            several => format!(
                "List saved: {progress}. {several} items are in_progress; keep only the one you are working on."
            ),
        };
        let details = ToolDetails::Todos { items: self.todos };
        Ok(ToolOutcome::text(text, progress).with_details(details))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{ToolFixture, text};
    use super::*;

    #[tokio::test]
    async fn the_list_is_shown_and_the_answer_short() {
        let bench = ToolFixture::new();
        let list = json!({"todos": [
            {"content": "look", "status": "completed"},
            {"content": "fix", "status": "in_progress"},
        ]});
        let outcome = bench.call("TodoWrite", list.clone()).await.unwrap();
        assert_eq!(text(&outcome), "List saved: 1 of 2 done.");
        assert_eq!(outcome.summary, "1 of 2 done");
        let Some(ToolDetails::Todos { items }) = outcome.details else { panic!("no list") };
        assert_eq!(items[1].content, "fix");
        assert_eq!(bench.prepare("TodoWrite", &list).summary(), "fix");
    }

    #[tokio::test]
    async fn several_items_in_progress_are_saved_with_a_word() {
        let bench = ToolFixture::new();
        let item = json!({"content": "x", "status": "in_progress"});
        let text = bench.text("TodoWrite", json!({"todos": [item, item]})).await;
        assert!(text.ends_with("2 items are in_progress; keep only the one you are working on."));
        let blank = json!({"todos": [{"content": " ", "status": "pending"}]});
        let error = bench.error("TodoWrite", blank).await;
        assert!(error.starts_with("todos[0].content is blank"), "{error}");
    }
}
