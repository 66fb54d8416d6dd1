//! Around a tool call: what hooks can do to it, beside the rules.

use serde_json::{Value, json};

use super::{decide, hooks, lines, say, told};
use crate::support::pty::Screen;
use crate::support::record::ToolResult;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash};
use crate::support::script::{Reply, text, tool_use};

/// Main touches a file. Nothing is allowed beforehand.
async fn touch(scene: &Scene, args: &[&str]) -> (Finished, ToolResult) {
    call(scene, tool_use("Bash", bash("touch made")), args).await
}

async fn call(scene: &Scene, reply: Reply, args: &[&str]) -> (Finished, ToolResult) {
    scene.server.when(PARENT).reply(reply).then(text(DONE));
    let run = scene.world.run(["-p", "PARENT-1 go", "--output-format", "stream-json"]);
    let run = run.args(args.iter().copied()).finish().await;
    run.assert_code(0);
    let result = scene.server.requests_of(PARENT)[1].tool_result();
    (run, result)
}

const BYPASS: &[&str] = &["--dangerously-skip-permissions"];

fn allow() -> String {
    decide("PreToolUse", json!({ "permissionDecision": "allow" }))
}

fn ask() -> String {
    let why = json!({ "permissionDecision": "ask", "permissionDecisionReason": "look first" });
    decide("PreToolUse", why)
}

#[tokio::test]
async fn a_call_that_a_hook_denies_does_not_run_and_the_model_reads_why() {
    let json = decide(
        "PreToolUse",
        json!({ "permissionDecision": "deny", "permissionDecisionReason": "not on Sundays" }),
    );
    let old = say(&json!({ "decision": "block", "reason": "not on Sundays" }));
    for command in ["cat >told; echo 'not on Sundays' >&2; exit 2", &json, &old] {
        let scene = Scene::new();
        hooks(&scene, &[("PreToolUse", "Bash|Edit", command)]);
        let (run, result) = touch(&scene, BYPASS).await;
        assert!(result.is_error && result.text.contains("not on Sundays"), "{result:?}");
        assert!(!scene.world.exists("made"));
        let denials = run.result()["permission_denials"].clone();
        assert_eq!(denials[0]["tool_name"], "Bash", "{denials}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_hook_is_told_of_the_call_and_of_its_result() {
    let scene = Scene::new();
    let write = "cat >>told";
    hooks(&scene, &[("PreToolUse", "", write), ("PostToolUse", "Bash", write)]);
    let (run, _) = call(&scene, tool_use("Bash", bash("echo out")), BYPASS).await;
    let told = told(&scene, "told");
    let (before, after) = (&told[0], &told[1]);
    let project = scene.world.project_dir().canonicalize().unwrap().display().to_string();
    let session = run.result()["session_id"].clone();
    for told in [before, after] {
        assert_eq!(told["session_id"], session);
        assert_eq!(told["cwd"], project);
        assert_eq!(told["permission_mode"], "bypassPermissions");
        assert_eq!((&told["tool_name"], &told["tool_input"]), (&json!("Bash"), &bash("echo out")));
        assert!(told.get("agent_id").is_none());
        let transcript = told["transcript_path"].as_str().unwrap();
        assert!(std::fs::read_to_string(transcript).unwrap().contains("echo out"));
    }
    assert_eq!(before["hook_event_name"], "PreToolUse");
    assert_eq!(after["hook_event_name"], "PostToolUse");
    assert_eq!(before["tool_use_id"], after["tool_use_id"]);
    assert_eq!(after["tool_response"]["stdout"], "out");
    scene.server.finish();
}

#[tokio::test]
async fn a_guard_is_told_the_absolute_path_however_the_model_writes_it() {
    let scene = Scene::new();
    scene.world.write("kept/a.txt", "x\n");
    scene.world.write("other/b.txt", "x\n");
    hooks(&scene, &[("PreToolUse", "", "cat >>told"), ("PostToolUse", "", "cat >>told")]);
    let read = |path: &str| tool_use("Read", json!({ "file_path": path }));
    let search = json!({ "pattern": "x", "path": "other/../kept" });
    let hello = scene.server.when(PARENT).reply(read("other/.././kept/a.txt"));
    hello.then(tool_use("Grep", search)).then(text(DONE));
    scene.world.run(["-p", "PARENT-1 go"]).finish().await.assert_code(0);
    let project = scene.world.project_dir().canonicalize().unwrap();
    let told = told(&scene, "told");
    let paths: Vec<_> = told.iter().map(|told| &told["tool_input"]).collect();
    let (file, folder) = (project.join("kept/a.txt"), project.join("kept"));
    for input in &paths[..2] {
        assert_eq!(input["file_path"], file.to_str().unwrap());
    }
    for input in &paths[2..] {
        assert_eq!(input["path"], folder.to_str().unwrap());
    }
    assert_eq!(paths.len(), 4);
    // A hook that hands the input back changes nothing but its spelling.
    let scene = Scene::new();
    scene.world.write("other/b.txt", "OPEN-9\n");
    let file = scene.world.project_dir().canonicalize().unwrap().join("other/b.txt");
    let back = decide("PreToolUse", json!({ "updatedInput": { "file_path": file } }));
    hooks(&scene, &[("PreToolUse", "Read", &back)]);
    let (_, result) = call(&scene, read("other/b.txt"), &[]).await;
    assert!(result.text.contains("OPEN-9"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_allows_saves_the_question_but_no_rule() {
    // The arguments, and whether the call runs.
    let rows: [(&[&str], bool); 5] = [
        (&[], true),
        (&["--permission-mode", "dontAsk"], true),
        (&["--permission-mode", "plan"], false),
        (&["--disallowed-tools", "Bash(touch:*)"], false),
        (&["--settings", r#"{"permissions": {"ask": ["Bash(touch:*)"]}}"#], false),
    ];
    for (args, runs) in rows {
        let scene = Scene::new();
        hooks(&scene, &[("PreToolUse", "Bash", &allow())]);
        let (_, result) = touch(&scene, args).await;
        assert_eq!((!result.is_error, scene.world.exists("made")), (runs, runs), "{args:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_hook_that_asks_has_the_person_asked_also_for_what_a_rule_allows() {
    for args in [&["--allowed-tools", "Bash(touch:*)"], BYPASS] {
        let scene = Scene::new();
        hooks(&scene, &[("PreToolUse", "Bash", &ask())]);
        let (run, result) = touch(&scene, args).await;
        assert!(result.is_error && !scene.world.exists("made"), "{args:?}");
        let why = "a hook asks: look first, and there is nobody to ask";
        assert!(result.text.ends_with(why), "{result:?}");
        assert_eq!(run.result()["permission_denials"][0]["tool_name"], "Bash", "{args:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_hook_that_asks_has_a_person_asked_who_has_turned_questions_off() {
    let scene = Scene::new();
    hooks(&scene, &[("PreToolUse", "Bash", &ask())]);
    let call = tool_use("Bash", bash("touch made"));
    scene.server.when(PARENT).reply(call).then(text(DONE));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("a hook asks: look first");
    assert!(!scene.world.exists("made"));
    screen.keys("1");
    screen.wait_for(DONE);
    assert!(scene.world.exists("made"));
    scene.server.finish();
}

#[tokio::test]
async fn of_several_hooks_the_strictest_counts() {
    let deny = decide("PreToolUse", json!({ "permissionDecision": "deny" }));
    for (list, runs) in
        [(vec![allow(), deny, ask()], false), (vec![allow(), ask()], false), (vec![allow()], true)]
    {
        let scene = Scene::new();
        let list: Vec<_> = list.iter().map(|it| ("PreToolUse", "", it.as_str())).collect();
        hooks(&scene, &list);
        touch(&scene, &[]).await;
        assert_eq!(scene.world.exists("made"), runs, "{list:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_input_that_a_hook_changes_is_checked_and_judged_like_any() {
    let change = |command: Value| {
        let more = json!({ "updatedInput": { "command": command }, "permissionDecision": "allow" });
        decide("PreToolUse", more)
    };
    let denied: &[&str] = &["--disallowed-tools", "Bash(mkdir:*)"];
    let rows = [
        (change(json!("touch other")), BYPASS, "other", None),
        (change(json!(["touch"])), BYPASS, "", Some("A hook has changed its input")),
        (change(json!("mkdir made")), denied, "", Some("Bash(mkdir:*)")),
    ];
    for (command, args, made, error) in rows {
        let scene = Scene::new();
        hooks(&scene, &[("PreToolUse", "Bash", &command)]);
        let (_, result) = touch(&scene, args).await;
        assert!(!scene.world.exists("made"), "{command}");
        assert!(made.is_empty() || scene.world.exists(made), "{command}");
        assert_eq!(result.is_error, error.is_some(), "{result:?}");
        assert!(error.is_none_or(|error| result.text.contains(error)), "{result:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_hooks_add_and_object_stands_after_the_result() {
    let context = |event: &str, text: &str| decide(event, json!({ "additionalContext": text }));
    let scene = Scene::new();
    hooks(
        &scene,
        &[
            ("PreToolUse", "Bash", &context("PreToolUse", "BEFORE-1")),
            ("PostToolUse", "Bash", &context("PostToolUse", "AFTER-1")),
            ("PostToolUse", "", "echo 'OBJECTION-1' >&2; exit 2"),
            ("PostToolUse", "Edit", "touch wrong-matcher"),
        ],
    );
    let (_, result) = call(&scene, tool_use("Bash", bash("echo OUT-1")), BYPASS).await;
    assert!(!result.is_error);
    let places: Vec<_> = ["OUT-1", "OBJECTION-1", "AFTER-1", "BEFORE-1"]
        .iter()
        .map(|word| result.text.find(word).expect(word))
        .collect();
    assert!(places.is_sorted(), "{result:?}");
    assert!(!scene.world.exists("wrong-matcher"));
    scene.server.finish();
}

#[tokio::test]
async fn after_a_call_that_failed_nothing_runs() {
    let scene = Scene::new();
    hooks(&scene, &[("PostToolUse", "", "touch ran")]);
    let (_, result) = call(&scene, tool_use("Bash", bash("exit 3")), BYPASS).await;
    assert!(result.is_error && !scene.world.exists("ran"));
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_that_says_continue_false_ends_the_turn_and_every_call_has_its_result() {
    for event in ["PreToolUse", "PostToolUse"] {
        let scene = Scene::new();
        let stop = say(&json!({ "continue": false, "stopReason": "enough for today" }));
        hooks(&scene, &[(event, "Read|Bash", &stop)]);
        let two = Reply::stream().tool_use("Bash", bash("true")).tool_use("Bash", bash("true"));
        scene.server.when(PARENT).reply(two);
        let run = scene.run().finish().await;
        assert_eq!(scene.server.requests_of(PARENT).len(), 1, "{event}");
        let notices = super::misbehaviour::notices(&run);
        let told = notices.iter().filter(|line| line.contains("enough for today")).count();
        assert_eq!(told, 1, "{event}: {notices:?}");
        // The server is strict about calls without results.
        scene.server.when(PARENT).reply(text("resumed"));
        let args = ["-c", "-p", "PARENT-1 more", "--settings", "{}"];
        scene.world.home(".claude/settings.json", "{}");
        scene.world.run(args).finish().await.assert_code(0);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_hook_that_is_async_runs_beside_the_work() {
    let scene = Scene::new();
    let gate = scene.world.project_dir().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let command = "[ -e once ] && exit 0; touch once; read -r _ <gate; touch heard; exit 2";
    let hook = json!({ "type": "command", "command": command, "async": true });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } });
    scene.world.home(".claude/settings.json", &settings.to_string());
    scene.world.trust();
    // The second call lets the hook of the first one end.
    let [first, second] = ["touch made", "echo go >gate"].map(|line| tool_use("Bash", bash(line)));
    scene.server.when(PARENT).reply(first).then(second).then(text(DONE));
    scene.go().await;
    assert!(scene.world.exists("made") && scene.world.exists("heard"));
    let requests = scene.server.requests_of(PARENT);
    assert!(requests[1..].iter().all(|request| !request.tool_result().is_error));
    scene.server.finish();
}

#[tokio::test]
async fn a_hook_is_told_of_a_sub_agent_in_the_fields_that_scripts_know_and_may_change_them() {
    let scene = Scene::new();
    let other = json!({ "prompt": "CHILD-B look", "subagent_type": "plan" });
    let change = decide("PreToolUse", json!({ "updatedInput": other }));
    hooks(&scene, &[("PreToolUse", "Task", &format!("cat >>told; {change}"))]);
    scene.parent_calls([agent_with("CHILD-A", "agent", "explore".into())]);
    scene.server.when("CHILD-B").reply(text("ok"));
    scene.go().await;
    let told = told(&scene, "told");
    assert_eq!((told.len(), &told[0]["tool_name"]), (1, &json!("Agent")));
    let input = &told[0]["tool_input"];
    assert_eq!((&input["subagent_type"], input.get("agent")), (&json!("explore"), None));
    let prompt = scene.server.requests_of("CHILD-B")[0].system();
    assert!(prompt.contains("plan"), "{prompt}");
    scene.server.finish();
}

#[tokio::test]
async fn hooks_apply_to_the_childs_calls_as_to_the_parents() {
    let scene = Scene::new();
    let log = "cat >>told";
    let guard = "grep -q forbidden && { echo 'never that' >&2; exit 2; }; exit 0";
    hooks(
        &scene,
        &[
            ("PreToolUse", "Bash", log),
            ("PreToolUse", "Bash", guard),
            ("PreToolUse", "Task", "touch started"),
        ],
    );
    scene.parent_calls([agent("CHILD-A")]);
    scene
        .server
        .when("CHILD-A")
        .reply(tool_use("Bash", bash("touch forbidden")))
        .then(tool_use("Bash", bash("touch fine")))
        .then(text("ok"));
    let run = scene.go().await;
    assert!(scene.world.exists("started"), "the agent tool under one of its other names");
    assert!(!scene.world.exists("forbidden") && scene.world.exists("fine"));
    let result = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(result.is_error && result.text.contains("never that"), "{result:?}");
    let told = told(&scene, "told");
    assert_eq!(told.len(), 2, "each call of the child, and no other: {told:?}");
    for told in &told {
        assert_eq!(told["agent_type"], "general-purpose");
        assert!(told["agent_id"].is_string());
        assert_eq!(told["session_id"], run.result()["session_id"]);
    }
    scene.server.finish();
}

#[tokio::test]
async fn hooks_of_a_definition_run_for_its_agent_alone() {
    let scene = Scene::new();
    let front = "---\nname: careful\ndescription: Works with care on what it is told.\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: echo \"$CALIBAN_PROJECT_DIR\" >>\"$CALIBAN_PROJECT_DIR\"/ran\n---\nYou are careful.\n";
    scene.world.agent("careful", front);
    scene.world.write(
        ".claude/agents/theirs.md",
        &front.replace("careful", "theirs").replace("/ran", "/theirs-ran"),
    );
    let with = |name: &str, word: &str| {
        let mut input = agent(word);
        input["agent"] = name.into();
        input
    };
    scene.parent_calls([with("careful", "CHILD-A"), agent("CHILD-B"), with("theirs", "CHILD-C")]);
    for child in ["CHILD-A", "CHILD-B", "CHILD-C"] {
        scene.server.when(child).reply(tool_use("Bash", bash("true"))).then(text("ok"));
    }
    scene.go().await;
    let project = scene.world.project_dir().canonicalize().unwrap();
    assert_eq!(lines(&scene, "ran"), [project.display().to_string()]);
    assert!(!scene.world.exists("theirs-ran"), "a project's definition brings no commands");
    scene.server.finish();
}

#[tokio::test]
async fn hooks_come_from_every_place_and_a_projects_own_wait_for_trust() {
    let entry = |file: &str| {
        let command = format!("touch \"$CALIBAN_PROJECT_DIR\"/{file}");
        format!("[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = '{command}'\n")
    };
    let settings = |file: &str| {
        let hook = json!({ "type": "command", "command": format!("touch {file}") });
        json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string()
    };
    let scene = Scene::new();
    scene.world.config(&entry("by-config"));
    scene.world.home(".claude/settings.json", &settings("by-home"));
    scene.world.write(".caliban/config.toml", &entry("by-project-config"));
    scene.world.write(".claude/settings.json", &settings("by-project"));
    scene.world.write(".claude/settings.local.json", &settings("by-local"));
    let args = ["--settings", &settings("by-flag"), "--dangerously-skip-permissions"];
    let made = || {
        let names =
            ["by-config", "by-home", "by-flag", "by-project-config", "by-project", "by-local"];
        names.map(|name| scene.world.exists(name))
    };
    touch(&scene, &args).await;
    // That of the home is heard too, but not here.
    assert_eq!(made(), [true, false, true, false, false, false]);
    scene.world.run(["trust"]).finish().await.assert_code(0);
    touch(&scene, &args).await;
    assert_eq!(made(), [true; 6]);
    scene.server.finish();
}
