//! S3: the tools that look at sub-agents in the background, wait for them and end them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::json;

use super::{LIFECYCLE, answer, ids, request, spawns};
use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::record::{Recorded, StreamEnd};
use crate::support::scene::{DONE, PARENT, Scene, bash};
use crate::support::script::{Reply, dynamic, error, text, tool_use};

/// A scene with the lifecycle tools.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.config(LIFECYCLE);
    scene
}

/// A call of `tool` for the first agent that there is.
fn for_first(tool: &'static str) -> Reply {
    dynamic(move |request| tool_use(tool, json!({ "agent_id": ids(request)[0] })))
}

#[tokio::test]
async fn the_status_before_and_after_the_end() {
    let scene = scene();
    let script =
        scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(for_first("agent_status"));
    script.then(text("meanwhile")).then(for_first("agent_status")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A").gate("held").usage(300, 40));
    let running = scene.run().start();
    scene.server.wait_for_of(PARENT, 3).await;
    scene.server.ended(PARENT).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    let before = answer(&request(&scene, PARENT, 2).tool_result());
    let id = ids(&request(&scene, PARENT, 2))[0].clone();
    assert_eq!((&before["state"], &before["is_final"]), (&json!("running"), &json!(false)));
    assert!(before.get("output").is_none() && before.get("error").is_none(), "{before}");
    let after = answer(&request(&scene, PARENT, 4).tool_result());
    assert_eq!(after["agent_id"], id);
    assert_eq!((&after["state"], &after["is_final"]), (&json!("completed"), &json!(true)));
    assert_eq!((&after["output"], &after["tokens"]), (&json!("from A"), &json!(340)));
    assert!(after["duration_ms"].is_u64() && after.get("error").is_none(), "{after}");
    scene.server.finish();
}

#[tokio::test]
async fn a_long_output_can_be_read_on_without_gap_or_overlap() {
    let scene = Scene::new();
    scene.world.config(&format!("{LIFECYCLE}result_max_chars = 300\n"));
    let whole: String = (0..700_u32).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let page = dynamic(|request: &Recorded| {
        let last = answer(&request.tool_result());
        match last["next_offset"].as_u64() {
            Some(offset) => {
                tool_use("agent_status", json!({ "agent_id": ids(request)[0], "offset": offset }))
            }
            None => text(DONE),
        }
    });
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(for_first("agent_wait"));
    script.forever(page);
    scene.server.when("CHILD-A").reply(text(whole.clone()));
    scene.go().await;
    let requests = scene.server.requests_of(PARENT);
    let pages: Vec<_> =
        requests[2..].iter().map(|request| answer(&request.tool_result())).collect();
    assert!(pages.iter().all(|page| page["total_chars"] == 700), "{pages:?}");
    let mut read = String::new();
    for page in &pages {
        let part = page["output"].as_str().unwrap();
        assert!(part.chars().count() <= 300, "{part}");
        read += part.split("\n\n[").next().unwrap();
    }
    assert_eq!(read, whole);
    scene.server.finish();
}

#[tokio::test]
async fn an_id_that_is_none_and_one_of_nobody_are_told_apart() {
    let scene = scene();
    let nobody = "019a0000-0000-7000-8000-000000000000";
    let mut batch = Reply::stream();
    for tool in ["agent_status", "agent_wait", "agent_cancel"] {
        batch = batch.tool_use(tool, json!({ "agent_id": "the first one" }));
        batch = batch.tool_use(tool, json!({ "agent_id": nobody }));
    }
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    scene.go().await;
    for pair in request(&scene, PARENT, 1).tool_results().chunks(2) {
        assert!(pair.iter().all(|result| result.is_error && result.text.contains("`agent_id`")));
        assert!(
            pair[0].text.contains("UUID") && pair[0].text.contains("the first one"),
            "{pair:?}"
        );
        assert!(pair[1].text.contains("no agent") && pair[1].text.contains(nobody), "{pair:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn each_state_and_the_counts_of_the_list() {
    let scene = scene();
    let words = ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"];
    let cancel = dynamic(|request: &Recorded| {
        let input = json!({ "agent_id": ids(request)[2] });
        Reply::stream().gate("two ended").tool_use("agent_cancel", input)
    });
    let look = dynamic(|request: &Recorded| {
        let list = tool_use("agent_list", json!({}));
        let ids = ids(request);
        ids.iter().fold(list, |all, id| all.tool_use("agent_status", json!({ "agent_id": id })))
    });
    let script = scene.server.when(PARENT).reply(spawns(words)).then(cancel).then(look);
    script.then(text("meanwhile").gate("looked")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A"));
    scene.server.when("CHILD-B").reply(error(400, "invalid_request_error", "NO-77"));
    scene.server.when("CHILD-C").reply(text("from C").stall());
    scene.server.when("CHILD-D").reply(text("from D").gate("held"));
    let running = scene.run().start();
    running.printed("task_notification", 2).await;
    scene.server.reached("held").await;
    scene.server.wait_for_of("CHILD-C", 1).await;
    scene.server.open("two ended");
    scene.server.reached("looked").await;
    scene.server.open("held");
    running.printed("task_notification", 4).await;
    scene.server.open("looked");
    running.wait().await.assert_code(0);
    let mut results = request(&scene, PARENT, 3).tool_results();
    let list = answer(&results.remove(0));
    let counts = ["running", "completed", "failed", "cancelled", "queued", "total"]
        .map(|name| list[format!("{name}_count")].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1, 1, 0, 4], "c21: {list}");
    let states = ["completed", "failed", "cancelled", "running"];
    let listed: Vec<_> = list["agents"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(listed, states);
    let statuses: Vec<_> = results.iter().map(answer).collect();
    for (status, state) in statuses.iter().zip(states) {
        assert_eq!(
            (&status["state"], &status["is_final"]),
            (&json!(state), &json!(state != "running"))
        );
    }
    assert!(statuses[1]["error"].as_str().unwrap().contains("failed"), "{}", statuses[1]);
    assert!(statuses[2]["error"].as_str().unwrap().contains("cancelled"), "{}", statuses[2]);
    scene.server.finish();
}

#[tokio::test]
async fn a_wait_wakes_at_the_end_and_what_it_told_is_not_pushed() {
    let scene = scene();
    let rounds = ["CHILD-A", "CHILD-B", "CHILD-C"];
    for (round, word) in rounds.into_iter().enumerate() {
        let wait = dynamic(move |request| {
            tool_use("agent_wait", json!({ "agent_id": ids(request)[round] }))
        });
        scene.server.when(PARENT).reply(spawns([word])).then(wait);
        scene.server.when(word).reply(text(format!("from {word}")).gate(word));
    }
    scene.server.when(PARENT).reply(text(DONE));
    let running = scene.run().start();
    let mut woke = Vec::new();
    for (round, word) in rounds.into_iter().enumerate() {
        scene.server.reached(word).await;
        running.printed("\"name\":\"agent_wait\"", round + 1).await;
        scene.server.open(word);
        let next = scene.server.wait_for_of(PARENT, 2 * round + 3).await.pop().unwrap();
        woke.push(next.arrived - scene.server.ended(word).await.1);
        let told = answer(&next.tool_result());
        assert_eq!(
            (&told["state"], &told["output"]),
            (&json!("completed"), &json!(format!("from {word}")))
        );
    }
    let run = running.wait().await;
    run.assert_code(0);
    // The quickest counts: other work on this machine may hold one up.
    assert!(woke.iter().min().unwrap() < &Duration::from_millis(100), "{woke:?}");
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests.len(), 7);
    assert!(!requests[6].text().contains("has ended:"), "told once");
    scene.server.finish();
}

#[tokio::test]
async fn what_ended_before_the_wait_or_the_look_is_told_there_and_nowhere_else() {
    for tool in ["agent_wait", "agent_status"] {
        let scene = Scene::new();
        let one_at_a_time = "max_concurrent_agents = 1\non_limit = \"queue\"\n";
        scene.world.config(&format!("{LIFECYCLE}{one_at_a_time}"));
        let late = dynamic(move |request| {
            let input = json!({ "agent_id": ids(request)[0] });
            Reply::stream().gate("ended").tool_use(tool, input)
        });
        let script = scene.server.when(PARENT).reply(spawns(["CHILD-A", "CHILD-B"])).then(late);
        script.then(text("meanwhile")).then(text(DONE));
        scene.server.when("CHILD-A").reply(text("from A").gate("held"));
        scene.server.when("CHILD-B").reply(text("from B").gate("next"));
        let running = scene.run().start();
        scene.server.reached("ended").await;
        scene.server.open("held");
        // It has the slot of the first, whose end is therefore told to everyone.
        scene.server.reached("next").await;
        scene.server.open("ended");
        let third = scene.server.wait_for_of(PARENT, 3).await.remove(2);
        assert_eq!(answer(&third.tool_result())["output"], "from A", "{tool}");
        scene.server.ended(PARENT).await;
        scene.server.open("next");
        running.wait().await.assert_code(0);
        let last = request(&scene, PARENT, 3).text();
        assert_eq!(last.matches("has ended:").count(), 1, "{tool}: only the second: {last}");
        assert_eq!(last.matches("from A").count(), 1, "{tool}: told once");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_wait_that_gives_up_leaves_the_agent_at_work() {
    let scene = scene();
    let wait = dynamic(|request| {
        tool_use("agent_wait", json!({ "agent_id": ids(request)[0], "timeout_s": 1 }))
    });
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(wait);
    script.then(text("meanwhile")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A").gate("held"));
    let running = scene.run().start();
    let third = scene.server.wait_for_of(PARENT, 3).await.remove(2);
    let result = third.tool_result();
    assert!(!result.is_error, "{result:?}");
    assert_eq!(
        (&answer(&result)["state"], &answer(&result)["is_final"]),
        (&json!("running"), &json!(false))
    );
    assert_eq!(request(&scene, "CHILD-A", 0).end, None, "it goes on");
    scene.server.ended(PARENT).await;
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert!(request(&scene, PARENT, 3).text().contains("has ended: done"));
    scene.server.finish();
}

#[tokio::test]
async fn a_wait_that_is_stopped_leaves_the_agent_at_work() {
    let scene = scene();
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(for_first("agent_wait"));
    script.then(text(DONE));
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("held").more(" END-A"));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    scene.server.wait_for_of(PARENT, 2).await;
    screen.wait_for("agent_wait");
    screen.keys(ESC);
    screen.wait_for("stopped");
    assert_eq!(request(&scene, "CHILD-A", 0).end, None, "it goes on");
    scene.server.open("held");
    screen.wait_for(DONE);
    let told = request(&scene, PARENT, 2);
    assert!(told.text().contains("TEXT-A END-A"), "{}", told.text());
    scene.server.finish();
}

#[tokio::test]
async fn a_wait_for_a_failed_agent_is_an_error_with_the_reason() {
    let scene = scene();
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(for_first("agent_wait"));
    script.forever(text(DONE));
    scene.server.when("CHILD-A").reply(error(400, "invalid_request_error", "NO-77"));
    scene.go().await;
    let result = request(&scene, PARENT, 2).tool_result();
    assert!(result.is_error, "{result:?}");
    assert_eq!(answer(&result)["state"], "failed");
    assert!(answer(&result)["error"].as_str().unwrap().starts_with("failed"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_cancel_ends_the_work_itself_and_a_second_finds_nothing() {
    let scene = scene();
    let twice = dynamic(|request: &Recorded| {
        let input = json!({ "agent_id": ids(request)[0] });
        Reply::stream().gate("at work").tool_use("agent_cancel", input)
    });
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(twice);
    script.then(for_first("agent_cancel")).then(text(DONE));
    let effect = text("half").tool_use("Bash", bash("touch evil.txt")).stall();
    scene.server.when("CHILD-A").reply(effect);
    let running = scene.run().start();
    running.printed("task_started", 1).await;
    scene.server.wait_for_of("CHILD-A", 1).await;
    scene.server.open("at work");
    running.wait().await.assert_code(0);
    let first = answer(&request(&scene, PARENT, 2).tool_result());
    assert_eq!((&first["success"], &first["previous_state"]), (&json!(true), &json!("running")));
    assert!(first["message"].as_str().unwrap().contains("general-purpose-1"), "{first}");
    let second = answer(&request(&scene, PARENT, 3).tool_result());
    assert_eq!(
        (&second["success"], &second["previous_state"]),
        (&json!(false), &json!("cancelled"))
    );
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    assert!(!scene.world.exists("evil.txt"));
    assert!(
        !request(&scene, PARENT, 3).text().contains("has ended:"),
        "what was cancelled reports nothing"
    );
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_of_somebody_else_cannot_be_cancelled_or_looked_at() {
    let scene = Scene::new();
    scene.world.config(&format!("{LIFECYCLE}max_depth = 2\n"));
    let second = dynamic(|request| {
        let prompt = format!("CHILD-B end the agent <{}>", ids(request)[0]);
        tool_use("agent_spawn", json!({ "prompt": prompt }))
    });
    let stranger = dynamic(|request| {
        let prompt = request.first_user_text();
        let id = prompt.split(['<', '>']).nth(1).unwrap();
        let tools = ["agent_cancel", "agent_status", "agent_wait"];
        let calls = tools
            .iter()
            .fold(Reply::stream(), |all, tool| all.tool_use(tool, json!({ "agent_id": id })));
        calls.tool_use("agent_list", json!({}))
    });
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(second).forever(text(DONE));
    scene.server.when("CHILD-A").reply(text("from A").gate("held"));
    scene.server.when("CHILD-B").reply(stranger).then(text("from B"));
    let running = scene.run().start();
    let results = scene.server.wait_for_of("CHILD-B", 2).await.remove(1).tool_results();
    for result in &results[..3] {
        assert!(result.is_error && result.text.contains("not an agent of yours"), "{result:?}");
    }
    assert_eq!(answer(&results[3])["total_count"], 0, "its own only");
    assert_eq!(request(&scene, "CHILD-A", 0).end, None);
    scene.server.open("held");
    running.wait().await.assert_code(0);
    assert_eq!(request(&scene, "CHILD-A", 0).end.unwrap().0, StreamEnd::Whole);
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_is_none_of_its_own() {
    let scene = Scene::new();
    scene.world.config(&format!("{LIFECYCLE}max_depth = 2\n"));
    let known = Arc::new(OnceLock::<String>::new());
    let own = Arc::clone(&known);
    let looks = dynamic(move |_| {
        let id = json!({ "agent_id": own.get() });
        tool_use("agent_wait", id.clone()).tool_use("agent_cancel", id)
    });
    scene.server.when(PARENT).reply(spawns(["CHILD-A"])).forever(text(DONE));
    let child = scene.server.when("CHILD-A");
    child
        .reply(text("x").gate("known").tool_use("Bash", bash("true")))
        .then(looks)
        .then(text("ok"));
    let running = scene.run().start();
    let id = ids(&scene.server.wait_for_of(PARENT, 2).await[1])[0].clone();
    known.set(id).unwrap();
    scene.server.open("known");
    running.wait().await.assert_code(0);
    let results = request(&scene, "CHILD-A", 2).tool_results();
    for result in &results {
        assert!(result.is_error && result.text.contains("not an agent of yours"), "{result:?}");
    }
    assert_eq!(results.len(), 2);
    scene.server.finish();
}

#[tokio::test]
async fn a_wait_wakes_when_the_person_cancels_its_agent_and_nothing_is_pushed_afterwards() {
    let scene = scene();
    let script = scene.server.when(PARENT).reply(spawns(["CHILD-A"])).then(for_first("agent_wait"));
    script.then(text("WOKEN-77")).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("TEXT-A").stall());
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    scene.server.wait_for_of(PARENT, 2).await;
    screen.wait_for("agent_wait");
    screen.keys("/agents");
    screen.wait_for("/agents");
    screen.keys(ENTER);
    screen.wait_for("x cancel");
    screen.keys("x");
    assert_eq!(scene.server.ended("CHILD-A").await.0, StreamEnd::ClosedByClient);
    screen.keys(ESC);
    screen.wait_for("WOKEN-77");
    screen.wait_gone("writing");
    let woken = request(&scene, PARENT, 2).tool_result();
    let told = answer(&woken);
    assert_eq!((&told["state"], &told["is_final"]), (&json!("cancelled"), &json!(true)), "{told}");
    screen.keys("and now?");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(requests.len(), 4, "nothing woke main");
    assert!(!requests[3].text().contains("has ended:"), "{}", requests[3].text());
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 1);
    scene.server.finish();
}
