//! How a driven run starts: which options a program may pass, and how it learns what cannot be.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{request, start};
use crate::support::client::{ARGS, Client};
use crate::support::scene::{Scene, bash};
use crate::support::script::{Reply, error, text, tool_use};

#[tokio::test]
async fn what_the_command_line_cannot_ask_for_is_the_answer_to_the_handshake() {
    let rows: [(&[&str], &str); 5] = [
        (&["--frobnicate", "x"], "--frobnicate"),
        (&["--betas=context-1m"], "--betas"),
        (&["--permission-mode", "auto"], "'auto' for '--permission-mode"),
        (&["--settings", "{"], "--settings"),
        (&["--agent", "nobody-77"], "nobody-77"),
    ];
    for (args, named) in rows {
        let scene = Scene::new();
        let mut client = start(&scene, args);
        let why = client.initialize(json!({})).await.unwrap_err();
        assert!(why.contains(named) && !why.contains('\n'), "{args:?}: {why}");
        let run = client.close().await;
        run.assert_code(2);
        assert!(run.stderr.contains(named), "{args:?}: {run}");
        assert_eq!(scene.server.requests().len(), 0, "{args:?}");
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_the_answer_to_the_handshake() {
    let scene = Scene::new();
    scene.world.config("[permissions]\nmode = \"yolo\"\n");
    let mut client = start(&scene, &[]);
    let why = client.initialize(json!({})).await.unwrap_err();
    assert!(why.contains("config.toml") && why.contains("yolo"), "{why}");
    client.close().await.assert_code(2);
}

#[tokio::test]
async fn wrong_options_without_a_handshake_end_the_run_as_ever() {
    let scene = Scene::new();
    let prompt = json!({ "type": "user", "message": { "role": "user", "content": "go" } });
    for stdin in [String::new(), format!("{prompt}\n")] {
        let run = scene.world.run(ARGS).args(["--frobnicate"]).stdin(stdin).finish().await;
        run.assert_code(2);
        assert_eq!(run.stdout, "", "{run}");
        assert!(run.stderr.contains("--frobnicate"), "{run}");
    }
}

#[tokio::test]
async fn the_option_that_allows_bypass_switches_nothing_on() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    scene.server.when("HELLO-1").reply(touch("a.txt")).then(text("one"));
    scene.server.when("HELLO-1").reply(touch("b.txt")).then(text("two"));
    let mut client = start(&scene, &["--allow-dangerously-skip-permissions"]);
    client.initialize(json!({})).await.unwrap();
    let init = client.frame(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["permissionMode"], "default");
    client.turn("HELLO-1").await;
    assert!(!scene.world.exists("a.txt"), "nothing has chosen the mode yet");
    let mode = json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" });
    client.request(mode).await.unwrap();
    client.turn("again").await;
    assert!(scene.world.exists("b.txt"));
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn bypass_cannot_be_chosen_where_the_start_did_not_allow_it() {
    let scene = Scene::new();
    let call = || tool_use("Bash", bash("touch a.txt"));
    scene.server.when("HELLO-1").reply(call()).then(call()).then(text("done"));
    let mut client = start(&scene, &["--permission-prompt-tool", "stdio"]);
    client.initialize(json!({})).await.unwrap();
    let mode = json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" });
    let why = client.request(mode.clone()).await.unwrap_err();
    assert!(why.contains("--allow-dangerously-skip-permissions"), "{why}");
    client.choose_bypass_by_answer("HELLO-1").await;
    client.close().await.assert_code(0);
    // A session that began in that mode can come back to it.
    let mut client = start(&scene, &["--permission-mode", "bypassPermissions"]);
    client.initialize(json!({})).await.unwrap();
    let other = json!({ "subtype": "set_permission_mode", "mode": "default" });
    client.request(other).await.unwrap();
    client.request(mode).await.unwrap();
    client.close().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn prompts_are_repeated_under_their_own_id_where_that_is_asked_for() {
    // A program passes an empty word behind the option.
    for (args, expected) in [(&["--replay-user-messages", ""][..], 2), (&[], 0)] {
        let scene = Scene::new();
        scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
        let mut client = start(&scene, args);
        client.initialize(json!({})).await.unwrap();
        for (id, content) in
            [("u-1", json!("HELLO-1")), ("u-2", json!([{ "type": "text", "text": "again" }]))]
        {
            client.send(&json!({
                "type": "user", "message": { "role": "user", "content": content },
                "parent_tool_use_id": null, "session_id": "", "uuid": id,
            }));
            client.result().await;
        }
        let run = client.close().await;
        run.assert_code(0);
        let frames = run.frames();
        let replays: Vec<_> = frames.iter().filter(|frame| frame["isReplay"] == true).collect();
        assert_eq!(replays.len(), expected, "{run}");
        let told: Vec<_> = replays
            .iter()
            .map(|frame| (&frame["uuid"], &frame["message"]["content"], &frame["type"]))
            .collect();
        if expected > 0 {
            assert_eq!(told[0], (&json!("u-1"), &json!("HELLO-1"), &json!("user")));
            assert_eq!((told[1].0, told[1].1), (&json!("u-2"), &json!("again")));
            let place = |is: &dyn Fn(&Value) -> bool| frames.iter().position(is).unwrap();
            let first = place(&|frame| frame["isReplay"] == true);
            assert!(first < place(&|frame| frame["type"] == "assistant"), "{run}");
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_run_without_persistence_keeps_nothing() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one"));
    let mut client = start(&scene, &["--no-session-persistence"]);
    client.initialize(json!({})).await.unwrap();
    client.turn("HELLO-1").await;
    client.close().await.assert_code(0);
    assert!(scene.world.sessions().is_empty());
    scene.server.finish();
}

#[tokio::test]
async fn nobody_is_asked_where_the_program_says_so() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("touch a.txt"))).then(text("done"));
    let args = ["--permission-prompt-tool", "stdio", "--permission-prompts", "none"];
    let mut client = start(&scene, &args);
    client.initialize(json!({})).await.unwrap();
    let result = client.turn("HELLO-1").await;
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    let run = client.close().await;
    assert!(run.frames().iter().all(|frame| frame["type"] != "control_request"), "{run}");
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn the_main_agent_can_be_one_of_the_handshake() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(tool_use("Bash", bash("true"))).then(text("one"));
    let mut client = start(&scene, &["--agent", "scout", "--dangerously-skip-permissions"]);
    let scout = json!({
        "description": "looks", "prompt": "SCOUT-PROMPT-9", "tools": ["Read", "Grep", "Bash"],
        "disallowedTools": ["Grep"], "permissionMode": "dontAsk",
    });
    let agents = json!({ "agents": { "scout": scout }, "systemPrompt": [""] });
    client.initialize(agents).await.unwrap();
    let init = client.frame(|frame| frame["subtype"] == "init").await;
    assert_eq!(
        (&init["tools"], &init["permissionMode"]),
        (&json!(["Read", "Bash"]), &json!("dontAsk"))
    );
    assert_eq!(client.turn("HELLO-1").await["result"], "one");
    client.close().await.assert_code(0);
    let first = &scene.server.requests()[0];
    assert!(first.system().contains("SCOUT-PROMPT-9"));
    assert_eq!(first.tool_names(), ["Read", "Bash"]);
    scene.server.finish();
}

#[tokio::test]
async fn the_log_goes_to_the_file_that_the_program_names() {
    let scene = Scene::new();
    scene
        .server
        .when("HELLO-1")
        .reply(tool_use("Read", json!({ "file_path": "x" })))
        .then(text("one"));
    let mut client = start(&scene, &["--debug-file=debug.log"]);
    client.initialize(json!({})).await.unwrap();
    client.turn("HELLO-1").await;
    client.close().await.assert_code(0);
    let log = scene.world.read("debug.log");
    assert!(log.contains("\"input\":"), "only at level debug: {log}");
    assert!(!log.contains(crate::support::world::KEY));
    let mode = scene.world.project_dir().join("debug.log").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    scene.server.finish();
    let scene = Scene::new();
    let mut client = start(&scene, &["--debug-file", "none/such.log"]);
    let why = client.initialize(json!({})).await.unwrap_err();
    assert!(why.contains("--debug-file") && why.contains("such.log"), "{why}");
    client.close().await.assert_code(2);
}

#[tokio::test]
async fn a_fallback_answers_once_the_model_stays_overloaded() {
    let scene = Scene::new();
    scene.world.config("[providers.anthropic]\nmax_retries = 0\n");
    let busy = error(529, "overloaded_error", "busy");
    scene.server.when("HELLO-1").reply(busy).then(text("one")).then(text("two"));
    let mut client = start(&scene, &["--fallback-model", "claude-haiku-4-5"]);
    client.initialize(json!({})).await.unwrap();
    assert_eq!(client.turn("HELLO-1").await["result"], "one");
    assert_eq!(client.turn("again").await["result"], "two");
    let run = client.close().await;
    run.assert_code(0);
    let told = run.frames().iter().any(|frame| {
        frame["subtype"] == "api_retry" && frame["error"].to_string().contains("claude-haiku-4-5")
    });
    assert!(told, "{run}");
    let models: Vec<_> =
        scene.server.requests().iter().map(|request| request.model().to_owned()).collect();
    assert_eq!(models, ["claude-sonnet-5", "claude-haiku-4-5", "claude-haiku-4-5"]);
    scene.server.finish();
}

#[tokio::test]
async fn a_fallback_that_is_overloaded_too_ends_the_turn() {
    let scene = Scene::new();
    scene.world.config("[providers.anthropic]\nmax_retries = 0\n");
    let busy = || error(529, "overloaded_error", "busy");
    scene.server.when("HELLO-1").reply(busy()).then(busy());
    let mut client = start(&scene, &["--fallback-model", "claude-haiku-4-5"]);
    client.initialize(json!({})).await.unwrap();
    assert_eq!(client.turn("HELLO-1").await["error_kind"], "overloaded");
    client.close().await;
    scene.server.finish();
}

#[tokio::test]
async fn a_fallback_has_attempts_of_its_own() {
    let scene = Scene::new();
    scene.world.config("[providers.anthropic]\nmax_retries = 1\n");
    let busy = || error(529, "overloaded_error", "busy");
    scene.server.when("HELLO-1").reply(busy()).then(busy()).then(busy()).then(text("one"));
    let mut client = start(&scene, &["--fallback-model", "claude-haiku-4-5"]);
    client.initialize(json!({})).await.unwrap();
    let result = client.turn("HELLO-1").await;
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("one"), &json!(1)));
    client.close().await.assert_code(0);
    let requests = scene.server.requests();
    let models: Vec<_> = requests.iter().map(|request| request.model()).collect();
    let (first, other) = ("claude-sonnet-5", "claude-haiku-4-5");
    assert_eq!(models, [first, first, other, other]);
    scene.server.finish();
}

#[tokio::test]
async fn a_model_chosen_while_another_is_overloaded_is_not_replaced_by_the_fallback() {
    let scene = Scene::new();
    scene.world.config("[providers.anthropic]\nmax_retries = 0\n");
    let busy = Reply::stream().gate("hold").error_event("overloaded_error", "busy");
    scene.server.when("HELLO-1").reply(busy).then(text("one"));
    let mut client = start(&scene, &["--fallback-model", "claude-haiku-4-5"]);
    client.initialize(json!({})).await.unwrap();
    client.prompt("HELLO-1");
    scene.server.reached("hold").await;
    let model = json!({ "subtype": "set_model", "model": "claude-opus-4-8" });
    client.request(model).await.unwrap();
    let usage = || request("get_context_usage");
    while client.request(usage()).await.unwrap()["model"] != "claude-opus-4-8" {}
    scene.server.open("hold");
    assert_eq!(client.result().await["result"], "one");
    let usage = client.request(usage()).await.unwrap();
    assert_eq!(usage["model"], "claude-opus-4-8");
    let run = client.close().await;
    let retry = run.frames().into_iter().find(|frame| frame["subtype"] == "api_retry").unwrap();
    assert!(!retry["error"].to_string().contains("claude-haiku-4-5"), "{retry}");
    assert_eq!(scene.server.requests()[1].model(), "claude-opus-4-8");
    scene.server.finish();
}

#[tokio::test]
async fn thinking_can_be_switched_off_and_limited() {
    let rows: [(&[&str], Value); 5] = [
        (&["--model", "claude-haiku-4-5", "--thinking=disabled"], Value::Null),
        (&["--model", "claude-sonnet-5", "--thinking=disabled"], json!("disabled")),
        (&["--model", "claude-sonnet-5", "--max-thinking-tokens=0"], json!("disabled")),
        (&["--model", "claude-sonnet-5", "--thinking=adaptive"], json!("adaptive")),
        (&["--model", "claude-haiku-4-5", "--max-thinking-tokens=2000"], json!(2000)),
    ];
    for (args, expected) in rows {
        let scene = Scene::new();
        scene.server.when("HELLO-1").reply(text("one"));
        let mut client = Client::start(scene.world.run(ARGS).args(args.iter().copied()));
        client.initialize(json!({})).await.unwrap();
        client.turn("HELLO-1").await;
        client.close().await.assert_code(0);
        let thinking = scene.server.requests()[0].body["thinking"].clone();
        let told = match expected.is_number() {
            true => &thinking["budget_tokens"],
            false => &thinking["type"],
        };
        assert_eq!(*told, expected, "{args:?}: {thinking}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn hooks_for_events_that_never_happen_here_are_named_and_refuse_nothing() {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("one"));
    let mut client = start(&scene, &[]);
    let hooks = json!({
        "TeammateIdle": [{ "hookCallbackIds": ["a"], "contextOnly": true }],
        "MessageDisplay": [{ "hookCallbackIds": ["b"] }],
        "Stop": [{ "hookCallbackIds": ["c"] }],
    });
    client.initialize(json!({ "hooks": hooks })).await.unwrap();
    client.prompt("HELLO-1");
    let question = client.question("hook_callback").await;
    assert_eq!(question.body["callback_id"], "c");
    client.answer(&question, json!({}));
    assert_eq!(client.result().await["result"], "one");
    let run = client.close().await;
    run.assert_code(0);
    let notices = run.frames().into_iter().filter(|frame| frame["subtype"] == "notice");
    let texts: Vec<_> = notices.map(|frame| frame["text"].to_string()).collect();
    let named = texts.iter().filter(|text| text.contains("TeammateIdle, MessageDisplay"));
    assert_eq!(named.count(), 1, "{texts:?}");
    scene.server.finish();
}

#[tokio::test]
async fn parts_of_a_handshake_that_take_rights_away_are_refused_by_name() {
    for (field, value) in [
        ("disallowedTools", json!(["Bash"])),
        ("managedSettings", json!("{}")),
        ("plugins", json!([{ "type": "local", "path": "/x" }])),
        ("settings", json!({ "permissions": { "deny": ["Bash"] } })),
    ] {
        let scene = Scene::new();
        let mut client = start(&scene, &["--await-initialize"]);
        let why = client.initialize(json!({ field: value })).await.unwrap_err();
        assert!(why.contains(&format!("`{field}`")), "{why}");
        client.close().await.assert_code(2);
    }
    let scene = Scene::new();
    let mut client = start(&scene, &[]);
    client.initialize(json!({ "plugins": [], "disallowedTools": [] })).await.unwrap();
    client.request(request("mcp_status")).await.unwrap();
    client.close().await.assert_code(0);
}

#[tokio::test]
async fn hooks_are_frames_where_that_is_asked_for() {
    let hook = json!({ "type": "command", "command": "echo OUT-1; echo ERR-1 >&2; exit 2" });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } });
    let settings = settings.to_string();
    for (more, expected) in [(&["--include-hook-events"][..], 1), (&[], 0)] {
        let scene = Scene::new();
        scene.server.when("HELLO-1").reply(tool_use("Bash", bash("true"))).then(text("one"));
        let mut client = start(&scene, &[&["--settings", settings.as_str()], more].concat());
        client.initialize(json!({})).await.unwrap();
        client.turn("HELLO-1").await;
        let run = client.close().await;
        run.assert_code(0);
        let frames = run.frames();
        let of = |subtype: &str| -> Vec<&Value> {
            frames.iter().filter(|frame| frame["subtype"] == subtype).collect()
        };
        let (started, ended) = (of("hook_started"), of("hook_response"));
        assert_eq!((started.len(), ended.len()), (expected, expected), "{run}");
        if expected > 0 {
            assert_eq!(started[0]["hook_id"], ended[0]["hook_id"]);
            assert_eq!(started[0]["hook_event"], "PreToolUse");
            assert_eq!(
                (&ended[0]["outcome"], &ended[0]["exit_code"]),
                (&json!("success"), &json!(2))
            );
            assert_eq!(
                (&ended[0]["stdout"], &ended[0]["stderr"]),
                (&json!("OUT-1\n"), &json!("ERR-1\n"))
            );
        }
        scene.server.finish();
    }
}
