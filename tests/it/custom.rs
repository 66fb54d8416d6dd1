//! What people write for agents to be used by name: commands and skills, as they are in a project
//! and at home.

use serde_json::{Value, json};

use crate::support::pty::{ENTER, Screen};
use crate::support::record::Recorded;
use crate::support::run::Running;
use crate::support::scene::{DONE, Scene, agent_with, calls};
use crate::support::script::{text, tool_use};

const FORMATS: [&str; 5] =
    ["-p", "--output-format", "stream-json", "--input-format", "stream-json"];

/// Sends a prompt, and waits for the end of its turn, which is the one of this number.
async fn turn(run: &mut Running, prompt: &str, number: usize) {
    let frame: Value = json!({"type": "user", "message": {"role": "user", "content": prompt}});
    run.send(&frame);
    run.printed("\"type\":\"result\"", number).await;
}

fn skill(description: &str, body: &str) -> String {
    format!("---\nname: pdf\ndescription: {description}\n---\n{body}\n")
}

/// What the model is told of the tool that loads skills.
fn offer(request: &Recorded) -> Option<String> {
    request.tool("Skill").map(|tool| tool["description"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_command_of_the_project_is_its_text_with_the_arguments_in_their_places() {
    let scene = Scene::new();
    let front = "---\ndescription: Mends an issue\nallowed-tools: Bash(rm:*)\n---\n";
    let body = "MEND-1 issue $1 with priority $2, see @src/lib.rs\n";
    scene.world.write(".claude/commands/gh/mend.md", &format!("{front}{body}"));
    scene.world.write("../home/.claude/commands/mine.md", "MINE-2 $ARGUMENTS");
    scene
        .server
        .when("MEND-1")
        .reply(tool_use("Bash", json!({"command": "rm x"})))
        .then(text("mended"));
    scene.server.when("MINE-2").reply(text("done"));
    scene.world.write("x", "");
    let run = scene.world.run(["-p", "/gh:mend 12 'very high'"]).finish().await;
    run.assert_code(0);
    let requests = scene.server.requests_of("MEND-1");
    let prompt = requests[0].first_user_text();
    assert!(prompt.contains("/gh:mend 12 'very high'"), "{prompt}");
    assert!(
        prompt.contains("MEND-1 issue 12 with priority very high, see @src/lib.rs"),
        "{prompt}"
    );
    assert!(!prompt.contains("Mends an issue") && !prompt.contains("allowed-tools"), "{prompt}");
    assert!(requests[1].tool_result().is_error && scene.world.exists("x"), "it grants nothing");
    assert!(run.stderr.contains("/gh:mend: ignored in "), "{run}");
    // The last part of the name is enough.
    scene.world.run(["-p", "/mine all of it"]).finish().await.assert_code(0);
    let prompt = scene.server.requests_of("MINE-2")[0].first_user_text();
    assert!(prompt.contains("MINE-2 all of it"), "{prompt}");
    scene.server.finish();
}

#[tokio::test]
async fn shell_lines_of_a_command_run_only_when_the_model_runs_them_and_rules_allow_it() {
    let scene = Scene::new();
    scene.world.write(".claude/commands/look.md", "LOOK-1\n- state: !`touch ran; git status`\n");
    scene.server.when("LOOK-1").reply(text("seen"));
    let run = scene.world.run(["-p", "/look"]).finish().await;
    run.assert_code(0);
    assert!(!scene.world.exists("ran"));
    let prompt = scene.server.requests()[0].text();
    assert!(prompt.contains("shell commands written as !`…` above were not run"), "{prompt}");
    assert!(run.stderr.contains("/look: its !`…` commands are not run automatically"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_command_is_refused_with_its_line_and_what_is_no_command_is_a_prompt() {
    let scene = Scene::new();
    scene.world.write(".caliban/commands/bad.md", "---\nmodle: x\n---\nBAD-1\n");
    scene.world.write(".claude/commands/clear.md", "TAKEN-1\n");
    let run = scene.world.run(["-p", "/bad now"]).finish().await;
    run.assert_code(2);
    let why =
        ".caliban/commands/bad.md:2: unknown key `modle`; allowed: description, argument-hint";
    assert!(run.stderr.contains(why), "{run}");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = scene.world.run(["-p", "/tmp/HELLO-1 is full"]).finish().await;
    run.assert_code(0);
    assert!(run.stderr.contains(why), "{run}");
    let taken = ".claude/commands/clear.md: /clear is a built-in command";
    assert!(run.stderr.contains(taken), "{run}");
    assert_eq!(run.stderr.lines().count(), 2, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_command_is_in_the_menu_with_what_is_wrong_and_enter_says_it_in_full() {
    let scene = Scene::new();
    scene.world.write(".caliban/commands/ship.md", "---\nmodle: x\n---\nSHIP-1\n");
    scene.world.write(".claude/commands/clear.md", "TAKEN-1\n");
    let screen = Screen::start(&scene.world, [], 120, 30);
    screen.wait_for("? keys");
    screen.keys("/shi");
    let shown = screen.wait_for("/ship");
    assert!(shown.contains("broken, line 2: unknown key `modle`"), "{shown}");
    screen.keys(ENTER);
    let shown = screen.wait_for("Nothing was sent.");
    assert!(shown.contains(".caliban/commands/ship.md:2: unknown key `modle`"), "{shown}");
    assert!(shown.contains("› /ship") && !shown.contains("unknown command"), "{shown}");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn init_asks_for_an_agents_md_and_an_existing_one_is_read_before_it_is_written() {
    let scene = Scene::new();
    scene.world.write("AGENTS.md", "OLD-1\n");
    let write = json!({"file_path": "AGENTS.md", "content": "NEW-1\n"});
    let word = "Write an AGENTS.md for this project";
    scene.server.when(word).reply(tool_use("Write", write)).then(text("done"));
    let args = ["-p", "/init", "--permission-mode", "acceptEdits"];
    scene.world.run(args).finish().await.assert_code(0);
    let requests = scene.server.requests_of(word);
    assert!(requests[1].tool_result().is_error, "it was not read: {}", requests[1].text());
    assert_eq!(scene.world.read("AGENTS.md"), "OLD-1\n");
    scene.server.finish();
}

#[tokio::test]
async fn models_are_told_of_skills_by_name_and_load_the_text_when_they_use_one() {
    let scene = Scene::new();
    let mut run = {
        let hello = scene.server.when("HELLO-1").reply(text("none yet"));
        let load = tool_use("Skill", json!({"skill": "pdf", "args": "a.pdf"}));
        hello
            .then(load)
            .then(text("read"))
            .then(tool_use("Skill", json!({"skill": "pfd"})))
            .then(text("no"));
        scene.world.run(FORMATS).open_stdin().start()
    };
    turn(&mut run, "HELLO-1", 1).await;
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("Reads PDF files", "BODY-1 of $1"));
    turn(&mut run, "read it", 2).await;
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("Reads PDF files", "BODY-2"));
    turn(&mut run, "again", 3).await;
    run.close().await.assert_code(0);
    let requests = scene.server.requests();
    assert_eq!(offer(&requests[0]), None);
    let told = offer(&requests[1]).unwrap();
    assert!(told.ends_with("\n- pdf: Reads PDF files"), "{told}");
    assert!(!requests[1].text().contains("BODY-1"));
    let loaded = requests[2].tool_result();
    let folder = scene.world.project_dir().canonicalize().unwrap().join(".claude/skills/pdf");
    assert!(loaded.text.contains("BODY-1 of a.pdf") && !loaded.is_error, "{loaded:?}");
    assert!(loaded.text.contains(folder.to_str().unwrap()), "{loaded:?}");
    let wrong = requests[4].tool_result();
    assert_eq!(
        (wrong.is_error, wrong.text.as_str()),
        (true, "There is no skill \"pfd\". The skills are: pdf.")
    );
    scene.server.finish();
}

#[tokio::test]
async fn an_edited_skill_counts_at_once_and_a_rule_can_forbid_one() {
    let scene = Scene::new();
    scene.world.write(".caliban/skills/pdf/SKILL.md", &skill("Reads PDF files", "OLD-BODY"));
    scene.world.config("[permissions]\ndeny = [\"Skill(secret)\"]\n");
    let body = format!("---\ndescription: {}\n---\nSECRET-BODY\n", "Not for models at work");
    scene.world.write(".caliban/skills/secret/SKILL.md", &body);
    let edit = "sed -i s/OLD/NEW/ .caliban/skills/pdf/SKILL.md";
    let hello = scene.server.when("HELLO-1").reply(tool_use("Bash", json!({"command": edit})));
    let hello = hello.then(tool_use("Skill", json!({"skill": "pdf"})));
    let names = ["secret", "/secret", " //secret "];
    let calls = names.map(|name| tool_use("Skill", json!({"skill": name})));
    calls.into_iter().fold(hello, |hello, call| hello.then(call)).then(text("read"));
    let args = ["-p", "HELLO-1", "--dangerously-skip-permissions"];
    scene.world.run(args).finish().await.assert_code(0);
    let requests = scene.server.requests();
    assert!(requests[2].tool_result().text.contains("NEW-BODY"));
    for request in &requests[3..6] {
        let denied = request.tool_result();
        assert!(denied.is_error && denied.text.contains("Skill(secret)"), "{denied:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn files_beside_ones_own_skills_may_be_read_and_nothing_else_there() {
    for folder in [".claude", ".agents"] {
        let scene = Scene::new();
        let put = |path: &str, text: &str| scene.world.home(&format!("{folder}/{path}"), text);
        put("skills/pdf/SKILL.md", &skill("Reads PDF files", "BODY-1"));
        put("skills/pdf/steps.md", "STEPS-1\n");
        put("history.md", "PAST-1\n");
        let home = scene.world.project_dir().join("../home").canonicalize().unwrap().join(folder);
        let read =
            |path: &str| tool_use("Read", json!({"file_path": home.join(path).to_str().unwrap()}));
        let hello = scene.server.when("HELLO-1").reply(read("skills/pdf/steps.md"));
        hello.then(read("history.md")).then(text("read"));
        scene.world.run(["-p", "HELLO-1"]).finish().await.assert_code(0);
        let requests = scene.server.requests();
        assert!(requests[1].tool_result().text.contains("STEPS-1"), "{folder}");
        assert!(requests[2].tool_result().is_error, "{folder}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_child_is_told_of_skills_by_name_alone_and_only_if_it_has_the_tool() {
    let scene = Scene::new();
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("Reads PDF files", "BODY-1"));
    scene.parent_calls([
        agent_with("CHILD-A", "agent", json!("general-purpose")),
        agent_with("CHILD-B", "agent", json!("explore")),
    ]);
    scene.server.when("CHILD-A").reply(tool_use("Skill", json!({"skill": "pdf"}))).then(text("a"));
    scene.server.when("CHILD-B").reply(text("b"));
    scene.go().await;
    let child = scene.server.requests_of("CHILD-A");
    assert!(offer(&child[0]).unwrap().contains("pdf: Reads PDF files"));
    assert!(!child[0].system().contains("BODY-1") && !child[0].text().contains("BODY-1"));
    assert!(child[1].tool_result().text.contains("BODY-1"));
    assert_eq!(offer(&scene.server.requests_of("CHILD-B")[0]), None, "its list of tools has none");
    scene.server.finish();
}

#[tokio::test]
async fn the_first_frame_names_commands_and_skills() {
    let scene = Scene::new();
    scene.world.write(".claude/commands/mend.md", "x\n");
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("Reads PDF files", "x"));
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = scene.world.run(["-p", "HELLO-1", "--output-format", "stream-json"]).finish().await;
    run.assert_code(0);
    let init = run.frames().remove(0);
    let own = ["clear", "compact", "context", "cost", "help", "usage"];
    let written = ["init", "mend", "review", "pdf"];
    assert_eq!(init["slash_commands"], json!([&own[..], &written[..]].concat()));
    assert_eq!(init["skills"], json!(["pdf"]));
    let offered = scene.server.requests()[0].tool_names().join(" ");
    let listed: Vec<&str> =
        init["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(offered, listed.join(" "));
    scene.server.finish();
}

#[tokio::test]
async fn the_menu_shows_what_people_have_written_and_sends_it() {
    let scene = Scene::new();
    let front = "---\ndescription: Mends an issue\nargument-hint: [issue]\n---\n";
    scene.world.write(".claude/commands/mend.md", &format!("{front}MEND-1 issue $1\n"));
    scene.world.write(".claude/skills/pdf/SKILL.md", &skill("Reads PDF files", "PDF-2"));
    scene.server.when("MEND-1").reply(text(DONE));
    scene.server.when("PDF-2").reply(text("pdf-77"));
    let screen = Screen::start(&scene.world, [], 100, 30);
    screen.wait_for("? keys");
    screen.keys("/");
    screen.wait_for("/help");
    screen.keys("me");
    screen.wait_for("Mends an issue · [issue]");
    screen.keys("nd 12");
    screen.wait_for("› /mend 12");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    screen.wait_gone("writing");
    let shown = screen.contents();
    assert!(shown.contains("› /mend 12") && !shown.contains("MEND-1"), "{shown}");
    assert!(scene.server.requests()[0].text().contains("MEND-1 issue 12"));
    // All at once: the menu has not been filled when Enter comes.
    screen.keys("/clear\r");
    screen.wait_gone(DONE);
    screen.keys("/pdf\r");
    screen.wait_for("pdf-77");
    screen.wait_gone("writing");
    let word = "Write an AGENTS.md for this project";
    scene.server.when(word).reply(text("drafted-77"));
    screen.keys("/clear\r");
    screen.wait_gone("pdf-77");
    screen.keys("/init\r");
    screen.wait_for("drafted-77");
    screen.wait_gone("writing");
    screen.keys("/nothing\r");
    screen.wait_for("unknown command /nothing · /help lists the commands");
    assert_eq!(scene.server.requests().len(), 3);
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_waits_in_the_queue_is_read_with_its_meaning() {
    let scene = Scene::new();
    scene.world.write(".claude/commands/also.md", "ALSO-1 $1\n");
    let slow = calls([agent_with("CHILD-A", "agent", json!("explore"))]);
    scene.server.when("PARENT-1").reply(slow).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("TEXT-A").gate("rest"));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("TEXT-A");
    screen.keys("/also that");
    screen.wait_for("› /also that");
    screen.keys(ENTER);
    screen.wait_for("↳ main, ");
    scene.server.open("rest");
    screen.wait_for(DONE);
    let request = scene.server.requests_of("PARENT-1").remove(1);
    assert!(request.text().contains("ALSO-1 that"), "{}", request.text());
    scene.server.finish();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_prompt_with_a_command_reads_its_file_once() {
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
    let scene = Scene::new();
    scene.world.write(".caliban/skills/pdf/SKILL.md", &skill("Reads PDF files", "BODY"));
    scene.world.write(".caliban/commands/once.md", "ONCE-1 $1\n");
    let file = scene.world.project_dir().join(".caliban/commands/once.md");
    scene.server.when("ONCE-1 a").reply(text("done"));
    let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    watch.add_watch(&file, AddWatchFlags::IN_OPEN).unwrap();
    scene.world.run(["-p", "/once a"]).finish().await.assert_code(0);
    assert_eq!(watch.read_events().unwrap().len(), 1);
    scene.server.finish();
}
