//! Project memory: which files models read before a prompt, and what they are told when these change.

use crate::support::pty::{ENTER, Screen};
use crate::support::run::PROMPTS;
use crate::support::scene::{DONE, PARENT, Scene, agent, calls};
use crate::support::script::text;

#[tokio::test]
async fn what_people_keep_in_a_project_and_bring_along_is_read_with_its_imports() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "AGENTS-11, see @docs/style.md and @../home/secret.md\n");
    scene.world.write("docs/style.md", "STYLE-22\n");
    scene.world.write("CLAUDE.md", "@AGENTS.md\n");
    scene.world.write("../home/secret.md", "SECRET-33\n");
    scene.world.write("../home/.claude/CLAUDE.md", "HOME-44 @~/own.md\n");
    scene.world.write("../home/own.md", "OWN-55\n");
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = scene.world.run(["-p", "HELLO-1"]).finish().await;
    run.assert_code(0);
    let system = scene.server.requests()[0].system();
    for (part, count) in
        [("AGENTS-11", 1), ("STYLE-22", 1), ("SECRET-33", 0), ("HOME-44", 1), ("OWN-55", 1)]
    {
        assert_eq!(system.matches(part).count(), count, "{part}: {system}");
    }
    let why = "AGENTS.md:1: @../home/secret.md was not read: it lies outside the project";
    assert!(run.stderr.contains(why), "{run}");
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_changed_file_comes_as_a_note_with_the_next_prompt_and_the_system_prompt_stays() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "RULE-OLD\n");
    scene.world.write("CLAUDE.md", "RULE-SAME\n");
    let answers = scene.server.when("HELLO-1").reply(text("one")).then(text("two"));
    answers.then(text("three")).then(calls([agent("CHILD-A")])).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("looked"));
    let mut run = scene.world.run(PROMPTS).open_stdin().start();
    run.turn("HELLO-1", 1).await;
    scene.world.write("AGENTS.md", "RULE-NEWER\n");
    run.turn("go on", 2).await;
    run.turn("and on", 3).await;
    run.turn("ask a child", 4).await;
    run.close().await.assert_code(0);
    let requests = scene.server.requests_of("HELLO-1");
    for request in &requests {
        assert_eq!(request.system(), requests[0].system());
    }
    let last = |at: usize| requests[at].messages().last().unwrap().to_string();
    let note = last(1);
    for (part, there) in [("RULE-NEWER", true), ("RULE-OLD", false), ("RULE-SAME", false)] {
        assert_eq!(note.contains(part), there, "{part}: {note}");
    }
    assert!(note.find("RULE-NEWER") < note.find("go on"), "{note}");
    assert!(!last(2).contains("RULE"), "it is told once: {}", last(2));
    let child = scene.server.requests_of("CHILD-A")[0].system();
    assert!(child.contains("RULE-NEWER") && !child.contains("RULE-OLD"), "{child}");
    scene.server.finish();
}

#[tokio::test]
async fn after_a_summary_the_system_prompt_holds_what_was_told_in_notes() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "RULE-OLD\n");
    let answers = scene
        .server
        .when(PARENT)
        .reply(text("one-77"))
        .then(text(format!("{}two-77", "long ".repeat(8_000))));
    answers.then(text("SUMMARY-77"));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 100, 30);
    let send = |prompt: &str, answer: &str| {
        screen.keys(prompt);
        screen.wait_for(&format!("› {prompt}"));
        screen.keys(ENTER);
        screen.wait_for(answer);
        screen.wait_gone("writing");
    };
    screen.wait_for("one-77");
    screen.wait_gone("writing");
    scene.world.write("AGENTS.md", "RULE-NEWER\n");
    send("go on", "two-77");
    screen.wait_for("reloaded: AGENTS.md");
    send("/compact", "compacted");
    scene.server.when("SUMMARY-77").reply(text("three-77"));
    send("and now", "three-77");
    let request = scene.server.requests().pop().unwrap();
    let system = request.system();
    assert!(system.contains("RULE-NEWER") && !system.contains("RULE-OLD"), "{system}");
    assert_eq!(request.text().matches("RULE-NEWER").count(), 1, "{}", request.text());
    scene.server.finish();
}
