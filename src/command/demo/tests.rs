//! Runs the demo's script with the scripted provider, and fake tools that really act in the copy.

use std::path::Path;
use std::process::Command;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::config::models::Thinking;
use crate::protocol::{Accumulator, ContentBlock, Message, ResultBlock, StopReason};
use crate::provider::scripted::Scripted;
use crate::provider::{ModelRequest, Provider, ToolChoice};

use super::*;

/// A copy of the project with a model, and the commands, files and agents that the user denies.
struct DemoRun {
    project: DemoProject,
    _above: TempDir,
    model: Scripted,
    denied: &'static [&'static str],
}

impl DemoRun {
    fn new(denied: &'static [&'static str]) -> Self {
        let above = tempfile::tempdir().unwrap();
        let project = unpack(above.path()).unwrap();
        let model = Scripted::from_toml(SCENARIO, Path::new("scenario.toml")).unwrap();
        Self { project, _above: above, model: model.with_speed(0.0), denied }
    }

    /// Changes the copy before the run.
    fn altered(self, file: &str, from: &str, to: &str) -> Self {
        let path = self.project.root().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(&path, text.replace(from, to)).unwrap();
        self
    }

    /// Runs the loop of one agent to its end and returns the final text.
    fn play(&self, prompt: String) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let mut messages = vec![Message::user_text(prompt)];
            for _ in 0..10 {
                let reply = self.ask(&messages).await;
                let text = Message::assistant(reply.content.clone()).text();
                if reply.stop_reason == StopReason::EndTurn {
                    return text;
                }
                let mut results = Vec::new();
                for block in &reply.content {
                    if let ContentBlock::ToolUse { id, name, input, .. } = block {
                        let (text, is_error) = match self.run(name, input).await {
                            Ok(text) => (text, false),
                            Err(text) => (text, true),
                        };
                        let content = vec![ResultBlock::text(text)];
                        let tool_use_id = id.clone();
                        results.push(ContentBlock::result(tool_use_id, content, is_error));
                    }
                }
                messages.push(Message::assistant(reply.content));
                messages.push(Message::user(results));
            }
            panic!("the play does not end");
        })
    }

    async fn ask(&self, messages: &[Message]) -> crate::protocol::Reply {
        let request = ModelRequest {
            model: "scripted",
            system: "",
            messages,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            max_tokens: 1000,
            thinking: Thinking::Off,
            effort: None,
        };
        let mut whole = Accumulator::default();
        let mut events = self.model.stream(&request);
        while let Some(event) = events.next().await {
            whole.push(&event.unwrap());
        }
        assert!(whole.is_whole());
        whole.into_reply()
    }

    async fn run(&self, tool: &str, input: &Value) -> Result<String, String> {
        let field = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        match tool {
            "AgentTool" if self.denied.contains(&field("description").as_str()) => {
                Err("The edit is in.\n[cancelled by the person]".to_owned())
            }
            "AgentTool" => Ok(self.play(field("prompt")).await),
            "Read" => self.shell(&format!("cat -n {}", field("file_path"))),
            "Grep" => {
                let path = if field("path").is_empty() { ".".to_owned() } else { field("path") };
                self.shell(&format!(
                    "grep -HrnE '{}' {path} | sed 's:^./::' | sort",
                    field("pattern")
                ))
            }
            "Edit" if self.denied.contains(&field("file_path").as_str()) => {
                Err("The person said no to this call.".to_owned())
            }
            "Edit" => {
                let path = self.project.root().join(field("file_path"));
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(text.matches(&field("old_string")).count(), 1);
                let text = text.replace(&field("old_string"), &field("new_string"));
                fs::write(&path, text).unwrap();
                Ok("edited".to_owned())
            }
            "Bash" => self.shell(&field("command")),
            other => panic!("no tool {other}"),
        }
    }

    fn shell(&self, line: &str) -> Result<String, String> {
        if self.denied.contains(&line) {
            return Err("The person said no to this call.".to_owned());
        }
        let run = Command::new("bash").args(["-c", line]).current_dir(self.project.root()).output();
        let run = run.unwrap();
        let text = String::from_utf8(run.stdout).unwrap() + &String::from_utf8(run.stderr).unwrap();
        if run.status.success() { Ok(text) } else { Err(text) }
    }

    async fn show(&self) -> String {
        self.play(self.model.prompt().to_owned()).await
    }
}

#[tokio::test]
async fn the_sum_up_is_made_of_what_the_tools_returned() {
    let stage = DemoRun::new(&[]);
    let tests = stage.shell("bash tests/run.sh").unwrap_err();
    assert!(tests.contains("5 passed, 2 failed"), "the sample has its bug: {tests}");

    let text = stage.show().await;
    for part in [
        "**Fixed.**",
        "lib/discount.sh:8: `[ \"$count\" -gt \"$bulk_from\" ]` is now `[ \"$count\" -ge \"$bulk_from\" ]`",
        "before `10 x tea: 40.00`, now `10 x tea: 36.00`",
        "7 passed, 0 failed",
        "bin/price.sh:8, bin/receipt.sh:9",
        "scripted",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(stage.shell("bash tests/run.sh").is_ok());
}

#[tokio::test]
async fn a_changed_sample_changes_the_text() {
    let stage = DemoRun::new(&[])
        .altered("lib/discount.sh", "# Bulk", "#\n# Bulk")
        .altered("lib/discount.sh", "-gt \"$bulk_from\"", "-eq \"$least\"")
        .altered("lib/discount.sh", "bulk_from=10", "least=10")
        .altered("data/prices.txt", "tea 400", "tea 500");
    let text = stage.show().await;
    for part in [
        "lib/discount.sh:9: `[ \"$count\" -eq \"$least\" ]` is now `[ \"$count\" -ge \"$least\" ]`",
        "now `10 x tea: 45.00`",
        "3 passed, 4 failed",
        "**Changed, but tests fail.**",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[tokio::test]
async fn a_sample_without_the_bug_is_not_said_to_be_fixed() {
    let stage = DemoRun::new(&[]).altered("lib/discount.sh", "-gt", "-ge");
    let text = stage.show().await;
    assert!(text.starts_with("**Not fixed:**"), "{text}");
    assert!(text.contains("I changed nothing"), "{text}");
}

#[tokio::test]
async fn a_no_to_the_tests_is_told_by_child_and_parent() {
    let stage = DemoRun::new(&["bash tests/run.sh"]);
    let text = stage.show().await;
    assert!(text.starts_with("**Changed, but not verified.**"), "{text}");
    assert!(text.contains("no result. The person said no to this call."), "{text}");
    assert!(!text.contains("passed"), "{text}");
}

#[tokio::test]
async fn a_no_to_the_edit_leaves_the_bug_and_says_so() {
    let stage = DemoRun::new(&["lib/discount.sh"]);
    let text = stage.show().await;
    assert!(text.starts_with("**Not fixed:** the edit did not happen"), "{text}");
    assert!(text.contains("before `10 x tea: 40.00`, now `10 x tea: 40.00`"), "{text}");
    assert!(stage.shell("bash tests/run.sh").is_err());
}

#[tokio::test]
async fn of_a_stopped_agent_nothing_is_claimed() {
    let stage = DemoRun::new(&["fix the bug, run the tests", "map the price path"]);
    let text = stage.show().await;
    assert!(text.starts_with("**Not finished.**"), "{text}");
    assert!(text.contains("before `10 x tea: 40.00`, now `10 x tea: 40.00`"), "{text}");
}

#[tokio::test]
async fn other_prompts_are_told_that_the_model_is_scripted() {
    let stage = DemoRun::new(&[]);
    let text = stage.play("Write me a poem.".to_owned()).await;
    assert!(text.starts_with("This model is scripted"), "{text}");
}

#[test]
fn the_copy_is_whole_and_goes_with_its_owner() {
    let above = tempfile::tempdir().unwrap();
    let project = unpack(above.path()).unwrap();
    let root = project.root().to_owned();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/project");
    let mut diff = Command::new("diff");
    let diff = diff.arg("-r").args([&source, &root]).output().unwrap();
    assert!(diff.status.success(), "{}", String::from_utf8_lossy(&diff.stdout));
    drop(project);
    assert!(!root.exists());
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_that_cannot_be_written_says_what_to_do() {
    let error = unpack(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(error.contains("/nonexistent") && error.contains("TMPDIR"), "{error}");
}
