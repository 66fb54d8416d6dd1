//! T19: forks, which go on with the conversation of the one that they are a copy of.
//!
//! A fork's conversation begins with its original's prompt, so one script answers both: it looks
//! whether the fork's own prompt stands in a message of the user.

use serde_json::{Value, json};

use super::{answer, frames_of, ids, log_of};
use crate::support::record::{Recorded, Wire, all_text};
use crate::support::scene::{DONE, PARENT, Scene, agent_with, bash};
use crate::support::script::{Reply, dynamic, text, thinking, tool_use};

const WORDS: [&str; 2] = ["FORK-A", "FORK-B"];

fn scene(more: &str) -> Scene {
    let scene = Scene::new();
    scene.world.config(&format!("[subagents]\nfaces = [\"agent\", \"lifecycle\"]\n{more}\n"));
    scene
}

fn fork(word: &str) -> Value {
    json!({ "prompt": format!("{word} go on") })
}

/// Whether this is a request of the fork of this word.
fn is_of(request: &Recorded, word: &str) -> bool {
    let of_user = request.messages().iter().filter(|message| message["role"] == "user");
    of_user
        .map(|message| all_text(&message["content"]))
        .any(|text| text.contains(&format!("{word} go on")))
}

/// The requests of one fork, or with no word those of its original.
fn requests_of(scene: &Scene, word: Option<&str>) -> Vec<Recorded> {
    let all = scene.server.requests_of(PARENT).into_iter();
    all.filter(|request| match word {
        Some(word) => is_of(request, word),
        None => !WORDS.iter().any(|word| is_of(request, word)),
    })
    .collect()
}

/// Answers to the original and to its forks, each from its own list; the last of a list is for ever.
fn script(scene: &Scene, original: Vec<Reply>, forks: Vec<Reply>) {
    let pick = move |list: &[Reply], turn: usize| list[turn.min(list.len() - 1)].clone();
    let router = dynamic(move |request| {
        // One answer per turn so far, without those that a fork has inherited.
        let answers =
            request.messages().iter().filter(|message| message["role"] == "assistant").count();
        match WORDS.iter().any(|word| is_of(request, word)) {
            true => pick(&forks, answers - 1),
            false => pick(&original, answers),
        }
    });
    scene.server.when(PARENT).forever(router);
}

/// The blocks of a message without the marks for the provider's cache.
fn content(message: &Value) -> Vec<Value> {
    let mut blocks = message["content"].as_array().cloned().unwrap_or_default();
    for block in &mut blocks {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    blocks
}

#[tokio::test]
async fn a_fork_from_the_middle_of_a_turn_closes_every_call_and_keeps_the_prefix() {
    let scene = scene("");
    scene.world.write("seen.txt", "SEEN-77\n");
    let path = scene.world.project_dir().join("seen.txt");
    let batch = thinking("let me split it", "sig-1")
        .text("in three")
        .tool_use("agent_fork", fork("FORK-A"))
        .tool_use("Read", json!({ "file_path": path }))
        .tool_use("agent_fork", fork("FORK-B"));
    script(&scene, vec![batch, text("meanwhile"), text(DONE)], vec![text("from a fork")]);
    scene.go().await;
    let original = requests_of(&scene, None);
    let first = &original[0];
    for (word, own) in [("FORK-A", 0), ("FORK-B", 2)] {
        let forked = requests_of(&scene, Some(word));
        assert_eq!(forked.len(), 1, "{word}");
        let forked = &forked[0];
        assert_eq!(forked.body["system"], first.body["system"], "{word}");
        assert_eq!(
            forked.body["tools"], first.body["tools"],
            "{word}: the tools come before all else"
        );
        assert_eq!(forked.model(), first.model());
        let (messages, after) = (forked.messages(), original[1].messages());
        assert_eq!(messages.len(), 3, "{word}");
        for index in [0, 1] {
            assert_eq!(
                content(&messages[index]),
                content(&after[index]),
                "{word}: message {index}"
            );
        }
        assert_eq!(content(&messages[1])[0]["signature"], "sig-1");
        let results = forked.tool_results();
        let ids: Vec<_> = results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(ids, ["toolu_0001", "toolu_0002", "toolu_0003"], "{word}");
        for (index, result) in results.iter().enumerate() {
            let mine = result.text.contains("You are the fork");
            assert_eq!((mine, result.is_error), (index == own, false), "{word}: {result:?}");
            assert!(!result.text.contains("SEEN-77"), "{word}: the original's read is its own");
        }
        let last = content(&messages[2]).pop().unwrap();
        assert_eq!(last["text"], format!("{word} go on"));
    }
    let results = original[1].tool_results();
    assert!(results[1].text.contains("SEEN-77"), "{results:?}");
    assert_eq!(answer(&results[0])["state"], "running");
    // Its own transcript stands alone: it begins with what was inherited.
    for path in scene.world.child_transcripts() {
        let stored = std::fs::read_to_string(&path).unwrap();
        let count = |kind: &str| stored.matches(&format!("\"type\":\"{kind}\"")).count();
        assert_eq!((count("tool_use"), count("tool_result")), (3, 3), "{stored}");
        let meta = std::fs::read_to_string(path.with_extension("meta.json")).unwrap();
        assert!(meta.contains("\"inherited\":2") || meta.contains("\"inherited\": 2"), "{meta}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_at_the_limit_is_told_of_the_tools_and_cannot_use_them() {
    for (tool, input) in [
        ("agent_fork", fork("FORK-B")),
        ("agent_spawn", json!({ "prompt": "CHILD-B look" })),
        ("AgentTool", json!({ "prompt": "CHILD-B look" })),
    ] {
        let scene = scene("");
        let original =
            vec![tool_use("agent_fork", fork("FORK-A")), text("meanwhile").gate("never")];
        script(&scene, original, vec![tool_use(tool, input)]);
        let run = scene.run().start();
        run.printed("autonomy_boundary", 1).await;
        scene.server.open("never");
        run.wait().await.assert_code(4);
        let forked = requests_of(&scene, Some("FORK-A"));
        assert_eq!(forked.len(), 1, "{tool}");
        assert!(forked[0].tool_names().contains(&tool), "{tool} is listed");
        assert_eq!(requests_of(&scene, Some("FORK-B")).len(), 0, "{tool}");
        assert_eq!(scene.server.requests_of("CHILD-B").len(), 0, "{tool}");
        assert_eq!(log_of(&scene, "autonomy_violation").len(), 1, "{tool}");
    }
}

#[tokio::test]
async fn a_fork_can_be_narrowed() {
    let scene = scene("");
    let mut input = fork("FORK-A");
    input["tool_access"] = json!({ "policy": "allow_list", "tools": ["Read"] });
    let forks = vec![tool_use("Bash", bash("touch evil.txt")), text("from a fork")];
    script(&scene, vec![tool_use("agent_fork", input), text(DONE)], forks);
    scene.go().await;
    let forked = requests_of(&scene, Some("FORK-A"));
    assert_eq!(forked[0].tool_names(), ["Read"]);
    assert!(forked[1].tool_result().is_error && !scene.world.exists("evil.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_with_another_model_gets_no_thoughts_that_the_other_did_not_sign() {
    for (fields, wire, model) in [
        (json!({ "model": "haiku" }), Wire::Anthropic, "claude-haiku-5-5"),
        (json!({ "model": "claude-haiku-4-5" }), Wire::Anthropic, "claude-haiku-4-5"),
        (json!({ "provider": "openai", "model": "gpt-5.4" }), Wire::Chat, "gpt-5.4"),
        (json!({ "provider": "openai" }), Wire::Chat, "gpt-5.5"),
        (json!({ "provider": "inherit", "model": "inherit" }), Wire::Anthropic, "claude-opus-5-5"),
        (json!({ "provider": "anthropic" }), Wire::Anthropic, "claude-opus-5-5"),
    ] {
        let scene = scene("");
        let mut input = fork("FORK-A");
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let first = thinking("let me split it", "sig-1").tool_use("agent_fork", input);
        script(&scene, vec![first, text(DONE)], vec![text("from a fork")]);
        let run = scene.run().args(["--model", "opus"]).finish().await;
        run.assert_code(0);
        let forked = requests_of(&scene, Some("FORK-A"));
        assert_eq!(forked.len(), 1, "{fields}: {run}");
        let forked = &forked[0];
        assert_eq!((forked.wire, forked.model()), (wire, model), "{fields}");
        let is_own = model == "claude-opus-5-5";
        assert_eq!(forked.body.to_string().contains("sig-1"), is_own, "{fields}");
        assert_eq!(forked.body.to_string().contains("let me split it"), is_own, "{fields}");
        assert!(forked.body.to_string().contains("You are the fork"), "{fields}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_copy_of_a_sub_agent_is_no_more_than_that_one() {
    let scene = scene("max_depth = 3");
    scene.world.agent(
        "reader",
        "---\nname: reader\ndescription: Reads what it is told to read, and reports.\ntools: Read, AgentTool, agent_fork\nenv:\n  LEVEL: three\n---\nRead.\n",
    );
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("reader"))]);
    let router = dynamic(|request| match is_of(request, "FORK-A") {
        true => text("from a fork"),
        false if request.messages().len() == 1 => tool_use("agent_fork", fork("FORK-A")),
        false => text("from A"),
    });
    scene.server.when("CHILD-A").forever(router);
    scene.go().await;
    let all = scene.server.requests_of("CHILD-A");
    let forked = all.iter().find(|request| is_of(request, "FORK-A")).unwrap();
    assert_eq!(forked.body["tools"], all[0].body["tools"]);
    assert_eq!(forked.body["system"], all[0].body["system"]);
    assert_eq!(forked.tool_names(), ["Read", "AgentTool", "agent_fork"]);
    scene.server.finish();
}

/// An agent with 10 000 tokens that has used 2000 makes a fork under this policy, which works
/// without end at 1000 tokens a turn: how many requests the fork makes.
async fn forked_under(policy: Option<&str>) -> usize {
    let scene = scene("max_depth = 2\ndefault_budget = 3000");
    let parent = json!({ "prompt": "CHILD-A look", "budget": { "max_tokens": 10_000 } });
    scene.server.when(PARENT).reply(tool_use("agent_spawn", parent)).forever(text(DONE));
    let mut input = fork("FORK-A");
    if let Some(policy) = policy {
        input["budget_policy"] = json!(policy);
    }
    let router = dynamic(move |request| match is_of(request, "FORK-A") {
        true => tool_use("Bash", bash("true")).usage(900, 100),
        false if request.messages().len() == 1 => {
            tool_use("agent_fork", input.clone()).usage(1900, 100)
        }
        false => text("from A").usage(0, 1),
    });
    scene.server.when("CHILD-A").forever(router);
    scene.go().await;
    let all = scene.server.requests_of("CHILD-A");
    all.iter().filter(|request| is_of(request, "FORK-A")).count()
}

#[tokio::test]
async fn the_policies_follow_from_what_the_original_has_left() {
    // The original's own last word costs one token, so of 8000 the eighth request is the last that begins.
    assert_eq!(forked_under(Some("remaining")).await, 8);
    assert_eq!(forked_under(Some("proportional")).await, 4);
    assert_eq!(forked_under(Some("equal")).await, 4);
    assert_eq!(forked_under(Some("fixed:2000")).await, 2);
    assert_eq!(forked_under(None).await, 3, "the default");
}

#[tokio::test]
async fn a_fork_can_be_waited_for_like_any_other() {
    let scene = scene("");
    let router = dynamic(|request| {
        let turn = request.messages().iter().filter(|it| it["role"] == "assistant").count();
        match (is_of(request, "FORK-A"), turn) {
            (true, _) => text("from a fork"),
            (false, 0) => tool_use("agent_fork", fork("FORK-A")),
            (false, 1) => tool_use("agent_wait", json!({ "agent_id": ids(request)[0] })),
            (false, _) => text(DONE),
        }
    });
    scene.server.when(PARENT).forever(router);
    scene.go().await;
    let told = answer(&requests_of(&scene, None)[2].tool_result());
    assert_eq!((&told["state"], &told["output"]), (&json!("completed"), &json!("from a fork")));
    scene.server.finish();
}

#[tokio::test]
async fn a_fork_whose_history_does_not_fit_its_window_is_refused_before_any_request() {
    let small = "[models.small]\ncontext_window = 40_000\nmax_output = 4_000\n";
    for (words, fits) in [(10, true), (130_000, false)] {
        let scene = scene("");
        scene.world.models(small);
        let call = text("x".repeat(words)).tool_use("agent_fork", fork("FORK-A"));
        // What does not fit into a fork is summed up for the original, whose script is found by its word.
        let after = text("PARENT-1 in short");
        script(&scene, vec![call, after], vec![text("from a fork")]);
        let run = scene.run().args(["--model", "small"]).finish().await;
        run.assert_code(0);
        let frames = frames_of(&run, "user");
        // The fork's own prompt may be told before the result of the call that made it.
        let results = frames.iter().map(|frame| &frame["message"]["content"][0]);
        let result = results.into_iter().find(|it| it["tool_use_id"] == "toolu_0001").unwrap();
        assert_eq!(result["is_error"], !fits, "{result}");
        assert_eq!(requests_of(&scene, Some("FORK-A")).len(), usize::from(fits));
        assert_eq!(frames_of(&run, "system/task_started").len(), usize::from(fits));
        assert_eq!(scene.world.child_transcripts().len(), usize::from(fits));
        if !fits {
            let told = result["content"].to_string();
            assert!(told.contains("40000 tokens") && told.contains("agent_spawn"), "{told}");
        }
        scene.server.finish();
    }
}
