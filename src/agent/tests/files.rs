//! Calls that change files: what was judged and shown is what is written.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::*;
use crate::protocol::{AgentEvent, Question};
use crate::tool::{BuiltinSettings, builtin};

/// A folder that an agent with the built-in tools works in.
struct AgentFolder {
    bench: AgentFixture,
    dir: tempfile::TempDir,
}

impl AgentFolder {
    /// Builds a model that makes these calls in one message, then ends.
    fn new<'a>(mode: PermissionMode, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let mut bench =
            AgentFixture::new(Limits::default(), mode, [calling(calls), answer("done", 0)]);
        let setup = &mut bench.agent.setup;
        setup.tools = ToolRegistry::new(builtin(&BuiltinSettings::new(base.as_path().into())));
        setup.cwd = base.as_path().into();
        Self { bench, dir }.judged_by(gate(mode, vec![base]))
    }

    fn judged_by(mut self, gate: Gate) -> Self {
        let agent_gate = gate.for_agent("main".to_owned(), self.bench.queue.sink());
        self.bench.agent.setup.gate = agent_gate;
        self.bench.gate = gate;
        self
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.dir.path().join(name), content).unwrap();
    }

    fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    /// Runs the agent while `user` watches what it does.
    async fn run(&mut self, user: impl AsyncFnMut(AgentEvent)) {
        let queue = self.bench.queue.clone();
        let mut user = user;
        let watch = async {
            loop {
                let mut events = Vec::new();
                queue.drain(&mut events, 1).await;
                for event in events {
                    user(event).await;
                }
            }
        };
        tokio::select! {
            outcome = self.bench.run() => assert_eq!(outcome.end, RunEnd::Completed),
            () = watch => {}
        }
    }

    /// Returns the results that the model reads.
    fn told(&self) -> String {
        self.bench.asked()[1].1.clone()
    }
}

fn calling<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<StreamEvent> {
    let mut events = answer("calls", 0);
    let end = events.split_off(events.len() - 2);
    for (index, (name, input)) in (1..).zip(calls) {
        let id = ToolUseId::new(format!("call-{index}"));
        let block = BlockStart::ToolUse { id, name: name.to_owned() };
        events.push(StreamEvent::BlockStart { index, block });
        events.push(StreamEvent::BlockDelta { index, delta: Delta::Input(input.to_string()) });
        events.push(StreamEvent::BlockStop { index });
    }
    events.extend(end);
    events
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({"file_path": "f", "old_string": old, "new_string": new}))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": path, "content": content}))
}

#[tokio::test]
async fn each_edit_of_a_file_is_asked_about_with_the_change_that_it_makes() {
    let first = write("f", "# run later\nx\n");
    let mut folder =
        AgentFolder::new(PermissionMode::Default, [first, edit("x", "evil"), edit("later", "now")]);
    let gate = folder.bench.gate.clone();
    let (mut waiting, mut shown, mut busy) = (VecDeque::<Box<Question>>::new(), Vec::new(), false);
    folder
        .run(async |event| {
            match event.kind {
                EventKind::PermissionAsked(question) => waiting.push_back(question),
                EventKind::ToolFinished { .. } => busy = false,
                _ => {}
            }
            if !busy && let Some(question) = waiting.pop_front() {
                busy = true;
                gate.answer(question.id, Answer::Once).unwrap();
                shown.push(question.preview.unwrap_or_default());
            }
        })
        .await;
    let diffs = [
        "@@ -0,0 +1,2 @@\n+# run later\n+x\n",
        "@@ -1,2 +1,2 @@\n # run later\n-x\n+evil\n",
        "@@ -1,2 +1,2 @@\n-# run later\n+# run now\n evil\n",
    ];
    assert_eq!(shown, diffs);
    assert_eq!(folder.content("f"), "# run now\nevil\n");
}

#[tokio::test]
async fn an_edit_of_a_file_that_changes_while_its_question_is_open_does_not_run() {
    let read = ("Read", json!({"file_path": "f"}));
    let mut folder = AgentFolder::new(PermissionMode::Default, [read, edit("x", "evil")]);
    let gate = folder.bench.gate.clone();
    folder.write("f", "# run x later\ntrue\n");
    let path = folder.dir.path().join("f");
    folder
        .run(async |event| {
            if let EventKind::PermissionAsked(question) = event.kind {
                std::fs::write(&path, "# run later\nx\n").unwrap();
                gate.answer(question.id, Answer::Once).unwrap();
            }
        })
        .await;
    assert_eq!(folder.content("f"), "# run later\nx\n");
    let told = folder.told();
    assert!(told.contains("f has changed on disk since"), "{told}");
}

#[tokio::test]
async fn a_write_of_a_file_that_goes_while_its_question_is_open_does_not_run() {
    let read = ("Read", json!({"file_path": "f"}));
    let mut folder = AgentFolder::new(PermissionMode::Default, [read, write("f", "new\n")]);
    let gate = folder.bench.gate.clone();
    folder.write("f", "old\n");
    let path = folder.dir.path().join("f");
    folder
        .run(async |event| {
            if let EventKind::PermissionAsked(question) = event.kind {
                std::fs::remove_file(&path).unwrap();
                gate.answer(question.id, Answer::Once).unwrap();
            }
        })
        .await;
    assert!(!path.exists());
    let told = folder.told();
    assert!(told.contains("f has changed since the user was asked"), "{told}");
}

#[tokio::test]
async fn a_write_is_judged_when_those_before_it_have_happened() {
    let big = write("big.txt", &"line of text\n".repeat(200_000));
    let mut folder =
        AgentFolder::new(PermissionMode::AcceptEdits, [big, write("x/config", "[core]\n")]);
    let gate = folder.bench.gate.clone();
    let (place, mut asked) = (folder.dir.path().join("x"), 0);
    folder
        .run(async |event| match event.kind {
            // The second one waits for the first.
            EventKind::ToolStarted { .. } if !place.exists() => {
                std::fs::create_dir(&place).unwrap();
                std::fs::write(place.join("HEAD"), "ref: refs/heads/m\n").unwrap();
            }
            EventKind::PermissionAsked(question) => {
                asked += 1;
                gate.answer(question.id, Answer::No { reason: None }).unwrap();
            }
            _ => {}
        })
        .await;
    assert_eq!(asked, 1, "the file would complete a repository");
    assert!(!place.join("config").exists());
}

#[tokio::test]
async fn a_write_that_does_not_get_the_lock_in_its_time_says_that_it_waited() {
    let mut folder = AgentFolder::new(PermissionMode::AcceptEdits, [write("f", "x")]);
    let operations = ConcurrencyLimit::new(8, BlockingPools::default())
        .with_call_limit(Some(Duration::from_millis(20)));
    let _guard = operations.file_lock().hold().await;
    folder.bench.agent.setup.concurrency = operations;
    folder.run(async |_| ()).await;
    assert!(!folder.dir.path().join("f").exists());
    let told = folder.told();
    let file = folder.dir.path().canonicalize().unwrap().join("f");
    let waited = format!("it waited 0 s to change {} while other calls", file.display());
    assert!(told.contains(&waited), "{told}");
}
