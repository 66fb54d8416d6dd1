//! The folder and environment that a hook starts with, and its input.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn a_command_runs_in_the_project_without_keys_and_reads_what_happened() {
    let line =
        "cat >told; pwd >where; env >env; echo \"$CLAUDE_PROJECT_DIR|$CALIBAN_PROJECT_DIR\" >dirs";
    let bench = HookBench::one(HookEvent::PreToolUse, line);
    assert_eq!(before_bash(&bench).await, HookOutput::default());
    assert_eq!(bench.lines(), [""; 0]);
    let project = bench.folder.path().canonicalize().unwrap().display().to_string();
    assert_eq!(bench.file("where").trim(), project);
    assert_eq!(bench.file("dirs").trim(), format!("{project}|{project}"));
    assert!(!bench.file("env").contains("sk-secret"));
    let told: Value = serde_json::from_str(&bench.file("told")).unwrap();
    let expected = json!({
        "session_id": "", "transcript_path": "/data/sessions/s/transcript.jsonl", "cwd": "/work",
        "permission_mode": "plan", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "ls" }, "tool_use_id": "toolu_1",
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_command_of_the_users_own_starts_in_an_empty_folder_each_time_and_knows_the_project() {
    let line =
        "ls -A >\"$CALIBAN_PROJECT_DIR/seen\"; pwd -P >>\"$CLAUDE_PROJECT_DIR/places\"; touch left";
    let own = HookConfig { start: StartDir::Private, ..config(HookEvent::PreToolUse, "", line) };
    let bench = HookBench::new(vec![own]);
    for _ in 0..2 {
        assert_eq!(before_bash(&bench).await, HookOutput::default());
        assert_eq!(bench.lines(), [""; 0]);
        assert_eq!(bench.file("seen"), "", "empty at each start");
    }
    let places = bench.file("places");
    let places: Vec<&str> = places.lines().collect();
    let elsewhere = bench.elsewhere.path().canonicalize().unwrap();
    assert!(places.iter().all(|place| Path::new(place).starts_with(&elsewhere)), "{places:?}");
    assert_ne!(places[0], places[1]);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing stays");
}

#[tokio::test]
async fn one_that_fails_in_an_empty_folder_says_how_to_start_it_in_the_project() {
    let fails = |asks_project| HookConfig {
        start: StartDir::Private,
        wants_project_cwd: asks_project,
        ..config(HookEvent::PreToolUse, "", "./check.sh")
    };
    let add = "add `cwd = \"project\"` to its entry to start it in the project";
    for (asks, hint) in [(false, add), (true, "`caliban trust`")] {
        let bench = HookBench::new(vec![fails(asks)]);
        std::fs::write(bench.folder.path().join("check.sh"), "touch ran").unwrap();
        let said = before_bash(&bench).await;
        assert!(matches!(said.decision, Some(PermissionDecision::Deny { .. })), "{said:?}");
        let lines = bench.lines();
        assert!(lines.len() == 1 && lines[0].contains("exit 127: "), "{lines:?}");
        assert!(lines[0].contains("it started in an empty folder") && lines[0].contains(hint));
    }
}

#[tokio::test]
async fn a_failure_that_is_not_about_files_gets_no_advice_about_folders() {
    let fails = |line: &str| HookConfig {
        start: StartDir::Private,
        ..config(HookEvent::PreToolUse, "", line)
    };
    for (line, advised) in
        [("echo oops >&2; exit 1", false), ("cat nope.txt", true), ("GIT_DIR=. git status", true)]
    {
        let bench = HookBench::new(vec![fails(line)]);
        before_bash(&bench).await;
        let lines = bench.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0].contains("it started in an empty folder"), advised, "{lines:?}");
    }
}

#[tokio::test]
async fn what_a_hook_says_comes_after_a_short_name() {
    let line = format!("echo '{{\"systemMessage\": \"careful\"}}' # {}", "x".repeat(200));
    let bench = HookBench::one(HookEvent::PreToolUse, &line);
    before_bash(&bench).await;
    let lines = bench.lines();
    assert!(lines[0].len() < 80 && lines[0].ends_with("…: careful"), "{lines:?}");
}

#[tokio::test]
async fn the_same_line_in_the_project_and_in_an_empty_folder_are_two_hooks() {
    let line = "pwd >>\"$CALIBAN_PROJECT_DIR/places\"";
    let here = config(HookEvent::PreToolUse, "", line);
    let own = HookConfig { start: StartDir::Private, ..here.clone() };
    let bench = HookBench::new(vec![own.clone(), here.clone(), own, here]);
    before_bash(&bench).await;
    assert_eq!(bench.file("places").lines().count(), 2);
}

#[tokio::test]
async fn the_same_line_in_the_same_place_is_one_hook_wherever_it_is_written() {
    let line = "echo ran >>\"$CALIBAN_PROJECT_DIR/ran\"; exit 2";
    let own = HookConfig { start: StartDir::Private, ..config(HookEvent::PreToolUse, "", line) };
    let asking = HookConfig { wants_project_cwd: true, ..own.clone() };
    let beside = HookConfig { is_async: true, ..own.clone() };
    for hooks in [[&own, &asking], [&asking, &own], [&beside, &asking], [&own, &beside]] {
        let bench = HookBench::new(hooks.map(Clone::clone).to_vec());
        let said = before_bash(&bench).await;
        assert!(matches!(said.decision, Some(PermissionDecision::Deny { .. })), "{said:?}");
        assert_eq!(bench.file("ran"), "ran\n");
    }
}

#[tokio::test]
async fn a_call_whose_hook_cannot_be_started_is_denied_and_all_else_goes_on() {
    let own = |event| HookConfig { start: StartDir::Private, ..config(event, "", "true") };
    let mut bench = HookBench::new(Vec::new());
    let all = bench.elsewhere.path().to_owned();
    let hooks = [HookEvent::PreToolUse, HookEvent::UserPromptSubmit].map(own).to_vec();
    let project: Arc<Path> = bench.folder.path().into();
    let starts = StartDirs::new(StartSettings {
        project: project.to_path_buf(),
        working: vec![project.to_path_buf(), all.clone()],
        state: all,
        ..StartSettings::default()
    });
    let env = EnvOverlay::default();
    let (secrets, redactor) = Default::default();
    bench.set = HookSet::new(HookSettings { hooks, starts, env, secrets, redactor });
    let advice = "set TMPDIR to a folder outside of the project";
    let Some(PermissionDecision::Deny { why }) = before_bash(&bench).await.decision else {
        panic!("it is let through")
    };
    assert!(why.contains("hook PreToolUse: true could not be started: "), "{why}");
    assert!(why.contains(advice), "{why}");
    assert_eq!(
        bench.run(&HookInput::UserPromptSubmit { prompt: "go" }).await,
        HookOutput::default()
    );
    let lines = bench.lines();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains(advice)), "{lines:?}");

    let bench = HookBench::one(HookEvent::PreToolUse, "true");
    std::fs::remove_dir(bench.folder.path()).unwrap();
    let said = before_bash(&bench).await;
    assert!(matches!(said.decision, Some(PermissionDecision::Deny { .. })), "{said:?}");
}

#[tokio::test]
async fn each_event_has_the_fields_that_scripts_read() {
    let blocks = [ResultBlock::text("a"), ResultBlock::text("b")];
    let took = Duration::from_millis(7);
    let id = ToolUseId::new("t");
    let (edit, other) = (json!({ "file_path": "/x" }), json!({}));
    let call = |tool, input| HookToolCall { id: &id, tool, input, file: None };
    let after = |call| HookInput::PostToolUse { call, response: &blocks[..1], took };
    let stdout = json!({ "stdout": "a\nb", "stderr": "", "interrupted": false, "isImage": false });
    let table = [
        (
            HookInput::PostToolUse { call: call("Bash", &other), response: &blocks, took },
            json!({ "tool_name": "Bash", "tool_response": stdout, "duration_ms": 7 }),
        ),
        (
            after(call("Edit", &edit)),
            json!({ "tool_response": { "filePath": "/x", "success": true, "content": "a" } }),
        ),
        (
            after(call("Read", &edit)),
            json!({ "tool_response": { "content": [{ "type": "text", "text": "a" }] } }),
        ),
        (HookInput::PreToolUse(call("AgentTool", &other)), json!({ "tool_name": "Agent" })),
        (HookInput::PreToolUse(call("Task", &other)), json!({ "tool_name": "Task" })),
        (HookInput::UserPromptSubmit { prompt: "do" }, json!({ "prompt": "do" })),
        (
            HookInput::Stop { again: true, last: "done" },
            json!({ "stop_hook_active": true, "last_assistant_message": "done" }),
        ),
        (
            HookInput::SessionStart { source: SessionSource::Resume, model: Some("m") },
            json!({ "source": "resume", "model": "m" }),
        ),
        (
            HookInput::SessionEnd(SessionEndReason::PromptInputExit),
            json!({ "reason": "prompt_input_exit" }),
        ),
        (
            HookInput::PreCompact { by_hand: true, instructions: Some("keep x") },
            json!({ "trigger": "manual", "custom_instructions": "keep x" }),
        ),
        (
            HookInput::PreCompact { by_hand: false, instructions: None },
            json!({ "trigger": "auto", "custom_instructions": "" }),
        ),
        (
            HookInput::Notification(NotificationKind::Permission { tool: "Bash" }),
            json!({
                "message": "caliban needs your permission to use Bash",
                "title": "Permission needed", "notification_type": "permission_prompt",
            }),
        ),
    ];
    for (moment, expected) in table {
        let event = moment.event(false);
        let bench = HookBench::one(event, "cat >told");
        bench.run(&moment).await;
        let told: Value = serde_json::from_str(&bench.file("told")).unwrap();
        assert_eq!(told["hook_event_name"], event.name());
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(told[key], *value, "{moment:?}: {key}");
        }
        assert_eq!(told.get("agent_id"), None);
    }
}
