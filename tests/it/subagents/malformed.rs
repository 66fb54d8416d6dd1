//! T25: what a model gets wrong in a call is told to it by field, before anything has happened.

use serde_json::{Value, json};

use super::frames_of;
use crate::support::record::{Recorded, Wire};
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{Reply, text};

const ALL: &str = "[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n\
                   [subagents.allowed_models]\nanthropic = [\"opus\", \"claude-haiku-4-5\"]\n";

/// A foreign id of the right form.
const NOBODY: &str = "019a0000-0000-7000-8000-000000000000";

/// A call, and what its error must hold.
type Case = (&'static str, Value, &'static [&'static str]);

/// Makes these calls in one message; says what came back. Nothing else may have happened.
async fn refused(inputs: impl IntoIterator<Item = (&'static str, String)>) -> Recorded {
    refused_under(ALL, inputs).await
}

async fn refused_under(
    config: &str,
    inputs: impl IntoIterator<Item = (&'static str, String)>,
) -> Recorded {
    let scene = Scene::new();
    scene.world.config(config);
    let calls = inputs
        .into_iter()
        .fold(Reply::stream(), |all, (tool, input)| all.tool_use_raw(tool, &input));
    scene.server.when(PARENT).reply(calls).then(text(DONE));
    let run = scene.run().args(["--model", "opus"]).finish().await;
    run.assert_code(0);
    assert_eq!(scene.server.requests().len(), 2, "s3_33: no request of a child");
    assert!(frames_of(&run, "system/task_started").is_empty(), "s3_33: nothing was started");
    assert_eq!(scene.world.child_transcripts(), Vec::<std::path::PathBuf>::new());
    let answered = scene.server.requests_of(PARENT)[1].clone();
    scene.server.finish();
    answered
}

async fn hold(cases: Vec<Case>) {
    hold_under(ALL, cases).await;
}

async fn hold_under(config: &str, cases: Vec<Case>) {
    let inputs: Vec<_> = cases.iter().map(|(tool, input, _)| (*tool, input.to_string())).collect();
    let results = refused_under(config, inputs).await.tool_results();
    assert_eq!(results.len(), cases.len());
    for ((tool, input, words), result) in cases.iter().zip(results) {
        assert!(result.is_error, "{tool} {input}: {result:?}");
        for word in *words {
            assert!(
                result.text.contains(word),
                "{tool} {input} does not say {word}: {}",
                result.text
            );
        }
    }
}

/// An input that is right but for these fields.
fn with(fields: Value) -> Value {
    let mut input = json!({ "prompt": "look" });
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    input
}

#[tokio::test]
async fn every_field_of_the_agent_tool() {
    let tool = "AgentTool";
    hold(vec![
        (tool, json!({}), &["`prompt`"]),
        (tool, json!({ "prompt": null }), &["`prompt`", "a string"]),
        (tool, json!({ "prompt": 7 }), &["`prompt`", "a string"]),
        (tool, json!({ "prompt": ["look"] }), &["`prompt`", "a string"]),
        (tool, json!({ "prompt": " \n\t" }), &["`prompt`", "blank"]),
        (tool, with(json!({ "description": 7 })), &["`description`", "a string"]),
        (tool, with(json!({ "agent": ["explore"] })), &["`agent`", "a string"]),
        (
            tool,
            with(json!({ "agent": "exlpore" })),
            &["`agent`", "exlpore", "general-purpose", "explore"],
        ),
        (
            tool,
            with(json!({ "agent": "explore", "subagent_type": "plan" })),
            &["`agent`", "duplicate"],
        ),
        (tool, with(json!({ "tool_allowlist": "Read" })), &["`tool_allowlist`", "a list"]),
        (tool, with(json!({ "tool_allowlist": "[\"Read\"]" })), &["`tool_allowlist`", "a list"]),
        (
            tool,
            with(json!({ "tool_allowlist": { "tools": ["Read"] } })),
            &["`tool_allowlist`", "a list"],
        ),
        (
            tool,
            with(json!({ "tool_allowlist": ["Read", 7] })),
            &["`tool_allowlist[1]`", "a string"],
        ),
        (tool, with(json!({ "model": 7 })), &["`model`", "a string"]),
        (
            tool,
            with(json!({ "model": "claude-sonnet-5" })),
            &["claude-sonnet-5", "Allowed: opus, claude-haiku-4-5"],
        ),
        (tool, with(json!({ "max_turns": 0 })), &["`max_turns`", "at least 1"]),
        (tool, with(json!({ "max_turns": -1 })), &["`max_turns`", "whole number"]),
        (tool, with(json!({ "max_turns": 1.5 })), &["`max_turns`", "whole number"]),
        (tool, with(json!({ "max_turns": "3" })), &["`max_turns`", "whole number"]),
        (tool, with(json!({ "max_turns": 5_000_000_000_u64 })), &["`max_turns`", "whole number"]),
        (tool, with(json!({ "max_cost_usd": 0 })), &["`max_cost_usd`", "above 0"]),
        (tool, with(json!({ "max_cost_usd": "1" })), &["`max_cost_usd`", "a number"]),
        (tool, with(json!({ "run_in_background": "true" })), &["`run_in_background`", "a boolean"]),
        (tool, with(json!({ "tools": ["Read"] })), &["`tools`", "tool_allowlist"]),
    ])
    .await;
}

#[tokio::test]
async fn every_field_of_spawn_and_fork() {
    for tool in ["agent_spawn", "agent_fork"] {
        let access = |value: Value| with(json!({ "tool_access": value }));
        let budget = |value: Value| with(json!({ "budget": value }));
        let policies: &[&str] = &["`tool_access`", "inherit", "allow_list", "deny_list"];
        let whole: &[&str] = &["`budget.max_tokens`", "whole number"];
        let mut cases: Vec<Case> = vec![
            (tool, json!({}), &["`prompt`"]),
            (tool, json!({ "prompt": "  " }), &["`prompt`", "blank"]),
            (tool, json!({ "prompt": { "text": "look" } }), &["`prompt`", "a string"]),
            (tool, access(json!(7)), policies),
            (tool, access(json!("allow_list")), policies),
            (tool, access(json!("{\"policy\": \"allow_list\", \"tools\": [\"Re")), policies),
            (
                tool,
                access(json!(json!({ "policy": "inherit" }).to_string().replace('"', "\\\""))),
                policies,
            ),
            (tool, access(json!({ "policy": "allowlist", "tools": ["Read"] })), policies),
            (tool, access(json!({ "policy": "allow_list" })), policies),
            (tool, access(json!({ "policy": "allow_list", "tools": null })), policies),
            (tool, access(json!({ "policy": "allow_list", "tools": "Read" })), policies),
            (
                tool,
                access(json!({ "policy": "deny_list", "tools": ["Bash"], "more": 1 })),
                policies,
            ),
            (tool, access(json!({ "policy": "inherit", "tools": ["Read"] })), policies),
            (
                tool,
                access(json!({ "policy": "allow_list", "tools": ["Raed"] })),
                &["no tool", "Raed", "Read"],
            ),
            (tool, budget(json!(5000)), &["`budget`", "max_tokens"]),
            (tool, budget(json!("{\"max_tokens\": 1}")), &["`budget`", "max_tokens"]),
            (tool, budget(json!({ "max_tokens": "x" })), whole),
            (tool, budget(json!({ "max_tokens": 0 })), whole),
            (tool, budget(json!({ "max_tokens": -5 })), whole),
            (tool, budget(json!({ "max_tokens": 1.5 })), whole),
            (tool, budget(json!({ "max_tokens": 1e300 })), whole),
            (
                tool,
                budget(json!({ "max_turns": 5_000_000_000_u64 })),
                &["`budget.max_turns`", "whole number"],
            ),
            (
                tool,
                budget(json!({ "max_tool_calls": [] })),
                &["`budget.max_tool_calls`", "whole number"],
            ),
            (tool, budget(json!({ "max_usd": -1 })), &["`budget.max_usd`", "above 0"]),
            (tool, budget(json!({ "max_wall_s": "1m" })), &["`budget.max_wall_s`", "whole number"]),
            (tool, budget(json!({ "tokens": 5 })), &["`budget.tokens`", "max_tokens"]),
            (tool, with(json!({ "host_mode": true })), &["`host_mode`"]),
            (
                tool,
                with(json!({ "tool_allowlist": ["Read"] })),
                &["`tool_allowlist`", "tool_access"],
            ),
        ];
        cases.extend::<Vec<Case>>(vec![
            (tool, with(json!({ "provider": 7 })), &["`provider`", "a string"]),
            (tool, with(json!({ "provider": "nobody" })), &["nobody", "anthropic"]),
            (tool, with(json!({ "model": null, "provider": false })), &["`provider`", "a string"]),
            (
                tool,
                with(json!({ "model": "claude-sonnet-5" })),
                &["claude-sonnet-5", "Allowed: opus, claude-haiku-4-5"],
            ),
        ]);
        match tool {
            "agent_spawn" => cases.extend::<Vec<Case>>(vec![
                (tool, with(json!({ "agent": "exlpore" })), &["`agent`", "exlpore", "explore"]),
                (tool, with(json!({ "system_prompt": " " })), &["`system_prompt`", "blank"]),
                (tool, with(json!({ "system_prompt": 7 })), &["`system_prompt`", "a string"]),
            ]),
            _ => {
                let policy: &[&str] =
                    &["`budget_policy`", "equal", "proportional", "remaining", "fixed:N"];
                for wrong in
                    ["", "half", "fixed", "fixed:", "fixed:0", "fixed:x", "fixed:-1", "Equal"]
                {
                    cases.push((tool, with(json!({ "budget_policy": wrong })), policy));
                }
                cases.push((
                    tool,
                    with(json!({ "budget_policy": 5 })),
                    &["`budget_policy`", "a string"],
                ));
                let both = json!({ "budget_policy": "equal", "budget": { "max_tokens": 5 } });
                cases.push((tool, with(both), &["`budget_policy`", "`budget.max_tokens`"]));
            }
        }
        hold(cases).await;
    }
}

#[tokio::test]
async fn every_field_of_the_tools_that_look() {
    let mut cases: Vec<Case> = vec![
        ("agent_list", json!({ "agent_id": NOBODY }), &["`agent_id`"]),
        (
            "agent_wait",
            json!({ "agent_id": NOBODY, "timeout_s": 0 }),
            &["`timeout_s`", "at least 1"],
        ),
        (
            "agent_wait",
            json!({ "agent_id": NOBODY, "timeout_s": -1 }),
            &["`timeout_s`", "whole number"],
        ),
        (
            "agent_wait",
            json!({ "agent_id": NOBODY, "timeout_s": "1" }),
            &["`timeout_s`", "whole number"],
        ),
        (
            "agent_status",
            json!({ "agent_id": NOBODY, "offset": -1 }),
            &["`offset`", "whole number"],
        ),
        (
            "agent_status",
            json!({ "agent_id": NOBODY, "offset": "0" }),
            &["`offset`", "whole number"],
        ),
        ("delegate_to_explore", json!({}), &["`prompt`"]),
        ("delegate_to_explore", json!({ "prompt": "\n" }), &["`prompt`", "blank"]),
        ("delegate_to_explore", json!({ "prompt": null }), &["`prompt`", "a string"]),
        (
            "delegate_to_explore",
            json!({ "prompt": "look", "agent": "plan" }),
            &["`agent`", "prompt"],
        ),
    ];
    for tool in ["agent_status", "agent_wait", "agent_cancel"] {
        cases.extend::<Vec<Case>>(vec![
            (tool, json!({}), &["`agent_id`"]),
            (tool, json!({ "agent_id": null }), &["`agent_id`", "a string"]),
            (tool, json!({ "agent_id": 7 }), &["`agent_id`", "a string"]),
            (tool, json!({ "agent_id": "" }), &["`agent_id`", "UUID"]),
            (tool, json!({ "agent_id": "general-purpose-1" }), &["`agent_id`", "UUID"]),
            (tool, json!({ "agent_id": NOBODY }), &["`agent_id`", "no agent", "agent_list"]),
            (tool, json!({ "agent_id": NOBODY, "force": true }), &["`force`", "agent_id"]),
        ]);
    }
    hold(cases).await;
}

#[tokio::test]
async fn an_input_that_was_cut_or_is_no_object_starts_nothing() {
    let mut inputs = Vec::new();
    for tool in ["AgentTool", "agent_spawn", "agent_fork", "delegate_to_explore"] {
        for broken in [r#"{"prompt": "look", "tool_acc"#, r#"{"prompt": "lo"#, r#"["look"]"#] {
            inputs.push((tool, broken.to_owned()));
        }
    }
    let results = refused(inputs).await.tool_results();
    assert_eq!(results.len(), 12);
    for result in results {
        assert!(result.is_error && result.text.contains("is not a JSON object"), "{result:?}");
    }
}

/// The bytes of a tool's entry as it is paid for, without the list of agents.
fn size(request: &Recorded, name: &str) -> usize {
    let mut tool = request.tool(name).unwrap().clone();
    tool.as_object_mut().unwrap().remove("cache_control");
    let lines = tool["description"].as_str().unwrap().lines();
    let without: Vec<_> = lines.filter(|line| !line.starts_with("- ")).collect();
    tool["description"] = json!(without.join("\n"));
    tool.to_string().len()
}

#[tokio::test]
async fn the_tools_are_small_on_the_wire() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n");
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await;
    let parent = scene.server.requests_of(PARENT).remove(0);
    let mut too_large = Vec::new();
    for (tool, most) in [
        ("AgentTool", 900),
        ("agent_spawn", 1350),
        ("agent_fork", 1350),
        ("agent_status", 450),
        ("agent_wait", 450),
        ("agent_cancel", 400),
        ("agent_list", 250),
        ("delegate_to_explore", 600),
    ] {
        let bytes = size(&parent, tool);
        if bytes > most {
            too_large.push(format!("{tool}: {bytes} bytes, and {most} are enough"));
        }
    }
    assert_eq!(too_large, Vec::<String>::new());
    scene.server.finish();
}

#[tokio::test]
async fn the_spawn_tool_lists_the_allowed_models_in_the_same_order_every_time() {
    let mut texts = Vec::new();
    for _ in 0..3 {
        let scene = Scene::new();
        scene.world.config(&format!("{ALL}openai = [\"gpt-5.5\"]\n"));
        scene.server.when(PARENT).reply(text(DONE));
        scene.run().args(["--model", "opus"]).finish().await.assert_code(0);
        let parent = scene.server.requests_of(PARENT).remove(0);
        let model = &parent.tool("agent_spawn").unwrap()["input_schema"]["properties"]["model"];
        texts.push(model["description"].as_str().unwrap().to_owned());
        scene.server.finish();
    }
    let expected =
        "Default: your own. Allowed: anthropic: opus, claude-haiku-4-5; openai: gpt-5.5.";
    assert_eq!(texts, [expected; 3]);
}

#[tokio::test]
async fn without_a_list_the_spawn_tool_names_a_few_models_of_the_catalogue() {
    for (wire, config, models) in [
        (Wire::Anthropic, "", "Of anthropic, for example: fable, haiku, opus, sonnet."),
        (
            Wire::Chat,
            "",
            "Of openai, for example: gpt-6.1-terra, gpt-6.1-sol, gpt-6-sol, gpt-6-luna, gpt-6-astra, gpt-5.6-terra.",
        ),
        (
            Wire::Chat,
            "default_provider = \"anthropic\"\n",
            "Of anthropic, for example: fable, haiku, opus, sonnet.",
        ),
    ] {
        let scene = Scene::on(wire);
        scene.world.config(&format!("[subagents]\nfaces = [\"lifecycle\"]\n{config}"));
        scene.server.when(PARENT).reply(text(DONE));
        scene.go().await;
        let parent = scene.server.requests_of(PARENT).remove(0);
        let told = parent.tool("agent_spawn").unwrap().to_string();
        assert!(told.contains(&format!("Default: your own. {models}")), "{told}");
        assert!(size(&parent, "agent_spawn") <= 1350, "{}", size(&parent, "agent_spawn"));
        scene.server.finish();
    }
}

#[tokio::test]
async fn every_field_of_messages_and_of_host_mode() {
    let comms = "[subagents]\nfaces = [\"agent\", \"lifecycle\"]\ncomms = true\n";
    let (spawn, send) = ("agent_spawn", "agent_send");
    let to = |id: Value, message: Value| json!({ "agent_id": id, "message": message });
    hold_under(
        comms,
        vec![
            (spawn, with(json!({ "host_mode": "yes" })), &["`host_mode`", "a boolean"]),
            (spawn, with(json!({ "host_mode": "true" })), &["`host_mode`", "a boolean"]),
            (spawn, with(json!({ "host_mode": 1 })), &["`host_mode`", "a boolean"]),
            (spawn, with(json!({ "host_mode": [] })), &["`host_mode`", "a boolean"]),
            ("agent_fork", with(json!({ "host_mode": true })), &["`host_mode`"]),
            (send, json!({}), &["`agent_id`"]),
            (send, json!({ "agent_id": NOBODY }), &["`message`"]),
            (send, json!({ "message": "hello" }), &["`agent_id`"]),
            (send, to(json!(7), json!("hello")), &["`agent_id`", "a string"]),
            (send, to(json!(null), json!("hello")), &["`agent_id`", "a string"]),
            (send, to(json!(NOBODY), json!(7)), &["`message`", "a string"]),
            (send, to(json!(NOBODY), json!({ "text": "hello" })), &["`message`", "a string"]),
            (send, to(json!(NOBODY), json!(" \n")), &["`message`", "blank"]),
            (send, to(json!("nobody"), json!("hello")), &["nobody"]),
            (send, to(json!(NOBODY), json!("hello")), &[NOBODY]),
            (send, to(json!("parent"), json!("hello")), &["parent"]),
            (
                send,
                json!({ "agent_id": NOBODY, "message": "hello", "urgent": true }),
                &["`urgent`"],
            ),
        ],
    )
    .await;
}
