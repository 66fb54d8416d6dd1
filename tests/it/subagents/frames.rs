//! What a headless run shows of sub-agents: names in lists, limits by model, and words for programs.

use serde_json::{Value, json};

use super::frames_of;
use crate::support::run::Finished;
use crate::support::scene::{Scene, agent, agent_with, bash, calls};
use crate::support::script::{text, tool_use};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

/// A run in which the agent tool is denied.
async fn denied(config: &str) -> Finished {
    let scene = Scene::new();
    scene.world.config(config);
    scene.parent_calls([agent("CHILD-A")]);
    let args = ["-p", "PARENT-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(args).args(["--permission-mode", "dontAsk"]).finish().await;
    run.assert_code(0);
    scene.server.finish();
    run
}

#[tokio::test]
async fn lists_can_call_the_tool_task_while_its_calls_keep_their_name() {
    for (config, listed) in [("", "AgentTool"), ("[subagents]\ncompat_task_name = true\n", "Task")]
    {
        let run = denied(config).await;
        let init = &run.frames()[0];
        let tools = names(&init["tools"]);
        let of_agents: Vec<_> =
            tools.iter().filter(|name| ["AgentTool", "Agent", "Task"].contains(name)).collect();
        assert_eq!(of_agents, [&listed]);
        let denials = &run.result()["permission_denials"];
        assert_eq!(denials[0]["tool_name"], listed);
        let call = &frames_of(&run, "assistant")[0]["message"]["content"][0];
        assert_eq!(call["name"], "AgentTool", "as the model called it");
        assert_eq!(denials[0]["tool_use_id"], call["id"]);
    }
}

#[tokio::test]
async fn only_the_agent_tool_is_renamed() {
    let scene = Scene::new();
    scene.world.config("[subagents]\ncompat_task_name = true\n");
    scene.server.when("PARENT-1").reply(tool_use("Bash", bash("touch a"))).then(text("no"));
    let args = ["-p", "PARENT-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(args).args(["--disallowed-tools", "Bash"]).finish().await;
    assert_eq!(run.result()["permission_denials"][0]["tool_name"], "Bash");
    scene.server.finish();
}

#[tokio::test]
async fn init_and_result_have_their_fields() {
    let run = denied("").await;
    let init = &run.frames()[0];
    for field in ["session_id", "cwd", "model", "permissionMode", "apiKeySource", "uuid"] {
        assert!(init[field].is_string(), "{field}: {init}");
    }
    for field in ["tools", "agents", "mcp_servers", "slash_commands", "skills"] {
        assert!(init[field].is_array(), "{field}: {init}");
    }
    assert!(names(&init["tools"]).contains(&"Read"));
    assert!(names(&init["agents"]).contains(&"general-purpose"));
    let result = run.result();
    for field in ["subtype", "result", "session_id", "uuid"] {
        assert!(result[field].is_string(), "{field}: {result}");
    }
    for field in ["duration_ms", "duration_api_ms", "num_turns"] {
        assert!(result[field].is_u64(), "{field}: {result}");
    }
    assert_eq!((&result["is_error"], &result["errors"]), (&json!(false), &json!([])));
    assert_eq!(result["error_kind"], Value::Null);
    let denials = result["permission_denials"].as_array().unwrap();
    assert_eq!(denials.len(), 1);
    let mut fields: Vec<_> = denials[0].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["tool_input", "tool_name", "tool_use_id"]);
    assert!(denials[0]["tool_input"]["prompt"].as_str().unwrap().contains("CHILD-A"));
}

#[tokio::test]
async fn each_model_is_told_of_with_limits_of_its_own() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "model", json!("claude-haiku-4-5"))]);
    scene.server.when("CHILD-A").reply(text("fine"));
    let run = scene.run().args(["--model", "claude-sonnet-5"]).finish().await;
    run.assert_code(0);
    let models = &run.result()["modelUsage"];
    let limits = |model: &str| {
        (models[model]["contextWindow"].clone(), models[model]["maxOutputTokens"].clone())
    };
    assert_eq!(limits("claude-sonnet-5"), (json!(1_000_000), json!(128_000)));
    assert_eq!(limits("claude-haiku-4-5"), (json!(200_000), json!(64_000)));
    scene.server.finish();
}

#[tokio::test]
async fn a_violation_is_named_in_the_result_for_programs() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(calls([agent("CHILD-B")]));
    let run = scene.run().finish().await;
    run.assert_code(4);
    let result = run.result();
    assert_eq!(result["error_kind"], "autonomy_violation");
    assert_eq!(
        (&result["is_error"], &result["subtype"]),
        (&json!(true), &json!("error_during_execution"))
    );
}
