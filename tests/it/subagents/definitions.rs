//! S2: definitions of sub-agents, from every place, through the program itself.

use std::fs;

use serde_json::{Value, json};

use super::{AGENT_TOOLS, after_calls, frames_of};
use crate::support::pty::Screen;
use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash};
use crate::support::script::{text, tool_use};

const DESCRIPTION: &str = "Looks for one thing and reports where it is.";

/// A definition's file with more lines of front matter.
fn file(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: {DESCRIPTION}\n{more}---\nYou are {name}.\n")
}

/// A definition as JSON with more keys.
fn flag(name: &str, more: &Value) -> String {
    let mut agent = json!({ "description": DESCRIPTION, "prompt": format!("You are {name}.") });
    agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ name: agent }).to_string()
}

/// A call of the agent `name`, scripted under `word`.
fn of(word: &str, name: &str) -> Value {
    agent_with(word, "agent", json!(name))
}

/// A run in which main calls the agent `name` once, with these options; the child's first request.
async fn child_of(scene: &Scene, name: &str, args: &[&str]) -> Recorded {
    scene.parent_calls([of("CHILD-A", name)]);
    scene.server.when("CHILD-A").reply(text("ok"));
    scene.run().args(args.iter().copied()).finish().await.assert_code(0);
    assert_eq!(after_calls(scene).tool_result().text, "ok");
    scene.server.requests_of("CHILD-A").remove(0)
}

/// What the model is told of the agents there are.
fn offered(scene: &Scene) -> String {
    let parent = scene.server.requests_of(PARENT).remove(0);
    parent.tool("AgentTool").unwrap().to_string()
}

async fn check(scene: &Scene, code: i32) -> String {
    let run = scene.world.run(["agents", "check"]).finish().await;
    run.assert_code(code);
    run.stdout
}

/// A run without any call, in which problems are told of.
async fn plain_run(scene: &Scene) -> Finished {
    scene.server.when(PARENT).reply(text(DONE));
    scene.go().await
}

#[tokio::test]
async fn definitions_of_the_command_line_are_listed_and_called() {
    let scene = Scene::new();
    let json = flag("db-scout", &json!({ "tools": ["Read", "Grep"] }));
    let child = child_of(&scene, "db-scout", &["--agents", &json]).await;
    assert!(child.system().contains("You are db-scout."), "{}", child.system());
    assert_eq!(child.tool_names(), ["Read", "Grep"]);
    assert!(offered(&scene).contains(&format!("- db-scout: {DESCRIPTION}")), "{}", offered(&scene));
    scene.server.finish();
}

#[tokio::test]
async fn the_first_frame_and_the_command_list_them() {
    let scene = Scene::new();
    let json = flag("db-scout", &json!({}));
    scene.server.when(PARENT).reply(text(DONE));
    let run = scene.run().args(["--agents", &json]).finish().await;
    run.assert_code(0);
    let listed = frames_of(&run, "system/init")[0]["agents"].clone();
    assert_eq!(listed, json!(["db-scout", "explore", "general-purpose", "plan"]));
    let list = scene.world.run(["--agents", &json, "agents", "list"]).finish().await;
    list.assert_code(0);
    let row = list.stdout.lines().find(|line| line.starts_with("db-scout")).unwrap();
    assert!(row.contains("--agents"), "where it is from: {row}");
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_takes_them_too() {
    let scene = Scene::new();
    let json = flag("db-scout", &json!({}));
    scene.server.when(PARENT).reply(text(DONE));
    let screen = Screen::start(&scene.world, ["--agents", &json, "PARENT-1 go"], 100, 30);
    screen.wait_for(DONE);
    assert!(offered(&scene).contains("- db-scout: "), "{}", offered(&scene));
    screen.keys("@db-sc");
    screen.wait_for(DESCRIPTION);
    scene.server.finish();
}

#[tokio::test]
async fn a_mistake_names_agent_and_key_and_nothing_is_sent() {
    let scene = Scene::new();
    let cases = [
        (flag("scout", &json!({ "maxTurns": 0 })), "--agents: scout: `maxTurns` must be"),
        (flag("scout", &json!({ "tool": "Read" })), "--agents: scout: unknown key `tool`"),
        (flag("scout", &json!({ "budget": { "max_usd": -1 } })), "scout: `budget.max_usd` must be"),
        (flag("scout", &json!({ "prompt": "" })), "--agents: scout: `prompt` must not be empty"),
        ("scout.json".to_owned(), "--agents: not understood: "),
    ];
    for (json, expected) in cases {
        let run = scene.run().args(["--agents", &json]).finish().await;
        run.assert_code(2);
        assert!(run.stderr.contains(expected) && run.stdout.is_empty(), "{json}\n{run}");
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn files_of_each_place_are_listed_and_a_bad_one_is_skipped_with_the_reason() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/one.md", &file("one", ""));
    scene.world.write(".claude/agents/two.md", &file("two", ""));
    scene.world.agent("three", &file("three", ""));
    scene.world.write(".caliban/agents/bad.md", "---\nname: bad\n---\nx\n");
    let run = plain_run(&scene).await;
    for name in ["one", "two", "three"] {
        assert!(offered(&scene).contains(&format!("- {name}: {DESCRIPTION}")), "{name}");
    }
    assert!(!offered(&scene).contains("- bad"));
    let reason = "bad.md:1: `description` is missing";
    let told = frames_of(&run, "system/notice");
    assert!(told.iter().any(|frame| frame["text"].as_str().unwrap().contains(reason)), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn of_one_name_the_highest_source_counts() {
    let scene = Scene::new();
    let from = |place: &str| file("plan", "").replace("You are plan.", &format!("From {place}."));
    let shown = async |args: &[&str]| {
        let run = scene.world.run([args, &["agents", "show", "plan"]].concat()).finish().await;
        run.assert_code(0);
        run.stdout.lines().last().unwrap().to_owned()
    };
    assert!(!shown(&[]).await.starts_with("From"), "built in");
    scene.world.agent("plan", &from("home"));
    assert_eq!(shown(&[]).await, "From home.");
    let trust = async || {
        scene.world.run(["trust"]).finish().await.assert_code(0);
    };
    scene.world.write(".claude/agents/plan.md", &from("claude"));
    assert_eq!(shown(&[]).await, "From home.", "the project is not trusted");
    trust().await;
    assert_eq!(shown(&[]).await, "From claude.");
    scene.world.write(".caliban/agents/plan.md", &from("caliban"));
    trust().await;
    assert_eq!(shown(&[]).await, "From caliban.");
    let json = flag("plan", &json!({ "prompt": "From the flag." }));
    assert_eq!(shown(&["--agents", &json]).await, "From the flag.");
}

#[tokio::test]
async fn general_purpose_works_with_nothing_defined() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("found it"));
    let run = scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert_eq!((result.text.as_str(), result.is_error), ("found it", false));
    assert_eq!(frames_of(&run, "system/task_started")[0]["subagent_type"], "general-purpose");
    scene.server.finish();
}

#[tokio::test]
async fn without_a_description_it_is_refused_by_file_and_key() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/scout.md", "---\nname: scout\nmodel: haiku\n---\nx\n");
    let said = check(&scene, 1).await;
    let line = said.lines().next().unwrap();
    assert!(line.starts_with("error: ") && line.contains("scout.md:1: `description`"), "{said}");
    scene.parent_calls([of("CHILD-A", "scout")]);
    scene.go().await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("there is no agent scout"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn the_body_becomes_the_system_prompt_and_must_be_there() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/empty.md", "---\ndescription: Finds.\n---\n\n");
    scene.world.agent("scout", &file("scout", ""));
    let child = child_of(&scene, "scout", &[]).await;
    assert!(child.system().contains("You are scout."), "{}", child.system());
    assert!(!scene.server.requests_of(PARENT)[0].text().contains("You are scout."));
    let said = check(&scene, 1).await;
    assert!(said.contains("empty.md:4: there is no text after the front matter"), "{said}");
    scene.server.finish();
}

#[tokio::test]
async fn without_tools_it_gets_all_but_the_agent_tool() {
    let scene = Scene::new();
    scene.world.agent("all", &file("all", ""));
    let all = child_of(&scene, "all", &[]).await;
    let parent = scene.server.requests_of(PARENT).remove(0);
    let mut expected = parent.tool_names();
    expected.retain(|name| !AGENT_TOOLS.contains(name));
    assert_eq!(all.tool_names(), expected);
    scene.server.finish();

    let scene = Scene::new();
    scene.world.agent("some", &file("some", "tools: [Read, Grep, Bash]\ndisallowedTools: Bash\n"));
    assert_eq!(child_of(&scene, "some", &[]).await.tool_names(), ["Read", "Grep"]);
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_without_the_tool_for_agents_has_none_that_starts_them() {
    for (lists, starts) in
        [("", true), ("disallowedTools: AgentTool\n", false), ("disallowedTools: task\n", false)]
    {
        let scene = Scene::new();
        let faces = "faces = [\"agent\", \"lifecycle\", \"delegate\"]";
        scene.world.config(&format!("[subagents]\n{faces}\nmax_depth = 2\n"));
        scene.world.agent("some", &file("some", lists));
        let request = child_of(&scene, "some", &[]).await;
        let names = request.tool_names();
        for tool in ["AgentTool", "agent_spawn", "agent_fork", "delegate_to_some"] {
            assert_eq!(names.contains(&tool), starts, "{lists}: {names:?}");
        }
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_a_definition_keeps_an_agent_from_reading_is_hidden_from_its_searches() {
    let scene = Scene::new();
    scene.world.write(".env", "needle\n");
    scene.world.write("b.txt", "needle\n");
    scene.world.agent("blind", &file("blind", "disallowedTools: Read(.env)\n"));
    scene.parent_calls([of("CHILD-A", "blind")]);
    let searches = tool_use("Grep", json!({ "pattern": "needle" }))
        .tool_use("Glob", json!({ "pattern": "*" }));
    scene.server.when("CHILD-A").reply(searches).then(text("ok"));
    scene.run().finish().await.assert_code(0);
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    assert_eq!(results[0].text, "b.txt");
    assert!(!results[1].text.contains(".env"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn the_model_is_an_alias_inherited_or_a_full_name() {
    for (model, expected) in [
        ("model: haiku\n", "claude-haiku-5-5"),
        ("model: inherit\n", "claude-sonnet-5"),
        ("model: claude-opus-4-6\n", "claude-opus-4-6"),
        ("", "claude-sonnet-5"),
    ] {
        let scene = Scene::new();
        scene.world.agent("scout", &file("scout", model));
        let child = child_of(&scene, "scout", &["--model", "claude-sonnet-5"]).await;
        assert_eq!(child.model(), expected, "{model}");
        assert_eq!(scene.server.requests_of(PARENT)[0].model(), "claude-sonnet-5");
        scene.server.finish();
    }
}

#[tokio::test]
async fn max_turns_is_the_childs_own_and_the_smaller_one_counts() {
    let more = "maxTurns: 5\nbudget:\n  max_turns: 2\n";
    for (more, turns) in [("maxTurns: 3\n", 3), (more, 2), ("maxTurns: 99\n", 20)] {
        let scene = Scene::new();
        scene.world.agent("short", &file("short", more));
        scene.parent_calls_in_turn([of("CHILD-A", "short"), agent("CHILD-B"), agent("CHILD-C")]);
        scene.server.when("CHILD-A").forever(text("on").tool_use("Bash", bash("true")));
        for word in ["CHILD-B", "CHILD-C"] {
            scene.server.when(word).reply(tool_use("Bash", bash("true"))).then(text("ok"));
        }
        scene.go().await;
        let requests = scene.server.requests_of("CHILD-A");
        assert_eq!(requests.len(), turns);
        let offered: Vec<_> = requests.iter().map(Recorded::offers_tools).collect();
        assert!(offered.iter().rev().skip(1).all(|offers| *offers), "{offered:?}");
        assert_eq!(offered.last(), Some(&false), "the last turn is the summary turn");
        assert_eq!(scene.server.requests_of(PARENT).len(), 4, "the parent has its own count");
        scene.server.finish();
    }
}

#[tokio::test]
async fn the_model_sees_each_name_with_its_description() {
    let scene = Scene::new();
    scene.world.agent("scout", &file("scout", ""));
    scene.world.write(".claude/agents/second.md", &file("second_one", ""));
    plain_run(&scene).await;
    let tool = offered(&scene);
    for part in ["- scout: Looks for", "- second_one: Looks for", "- explore: ", "- plan: "] {
        assert!(tool.contains(part), "{part}: {tool}");
    }
    assert!(!tool.contains("You are scout."), "the prompt is not for it: {tool}");
    scene.server.finish();
}

#[tokio::test]
async fn a_vague_description_is_flagged_but_counts() {
    let scene = Scene::new();
    let vague = file("vague", "").replace(DESCRIPTION, "A general helper agent that does stuff.");
    scene.world.agent("vague", &vague);
    scene.world.agent("clear", &file("clear", ""));
    let said = check(&scene, 0).await;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("warning: ") && lines[0].contains("vague.md:3: `description`"));
    assert!(lines[0].contains("write what the agent does and when to use it"), "{said}");
    assert_eq!(lines[1..], ["5 agents; errors: 0, warnings: 1"]);
    let run = plain_run(&scene).await;
    assert!(offered(&scene).contains("- vague: "));
    assert_eq!(frames_of(&run, "system/notice"), Vec::<Value>::new(), "a run is not bothered");
    scene.server.finish();
}

#[tokio::test]
async fn skills_are_refused_in_our_files_and_passed_over_in_those_of_others() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/own.md", &file("own", "skills: [deploy]\n"));
    let others = "skills: [deploy]\nhooks:\n  TaskCreated: []\neffort: high\nmemory: user\n";
    scene.world.write(".claude/agents/others.md", &file("others", others));
    let child = child_of(&scene, "others", &[]).await;
    assert!(child.system().contains("You are others.") && !child.text().contains("deploy"));
    assert!(!offered(&scene).contains("- own: "));
    let said = check(&scene, 1).await;
    for part in [
        "own.md:4: `skills` is not supported yet: remove it",
        "others.md:4: `skills` is not supported yet and ignored",
        "others.md:5: hooks skipped: TaskCreated (line 6)",
        "others.md:7: unknown key `effort`",
        "others.md:8: `memory` must be one of: project, none; ignored",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn listing_the_agent_tool_lifts_nothing_and_check_says_so() {
    let scene = Scene::new();
    scene.world.agent("boss", &file("boss", "tools: Read, Task\n"));
    assert_eq!(child_of(&scene, "boss", &[]).await.tool_names(), ["Read"]);
    let said = check(&scene, 0).await;
    assert!(said.contains("boss.md:4: `tools` lists Task: that alone does not let"), "{said}");
    scene.server.finish();
}

#[tokio::test]
async fn two_names_that_make_one_tool_do_not_both_count() {
    let scene = Scene::new();
    scene.world.write(".caliban/agents/a.md", &file("db-scout", ""));
    scene.world.write(".caliban/agents/b.md", &file("db_scout", ""));
    let run = plain_run(&scene).await;
    assert!(offered(&scene).contains("- db-scout: ") && !offered(&scene).contains("- db_scout: "));
    let told = frames_of(&run, "system/notice");
    assert_eq!(told.len(), 1, "{run}");
    let reason = told[0]["text"].as_str().unwrap();
    for part in ["b.md: ", "\"db_scout\"", "a.md", "delegate_to_db_scout", "choose another"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert!(check(&scene, 1).await.contains(reason));
    scene.server.finish();
}

#[tokio::test]
async fn names_of_tools_and_names_that_are_too_long_are_refused() {
    let scene = Scene::new();
    let long = "a".repeat(53);
    for name in ["read", "bash", "agenttool", "task", "agent", "agent_list", &long] {
        scene.world.agent(name, &file(name, ""));
    }
    scene.world.agent("fits", &file(&long[1..], ""));
    plain_run(&scene).await;
    let tool = offered(&scene);
    assert!(tool.contains(&format!("- {}: ", &long[1..])) && !tool.contains("- bash: "), "{tool}");
    let said = check(&scene, 1).await;
    assert_eq!(said.matches(" is that of the tool ").count(), 6, "{said}");
    assert!(said.contains("at most 52"), "{said}");
    scene.server.finish();
}

#[tokio::test]
async fn marks_line_ends_loops_and_doubles_do_no_harm() {
    let scene = Scene::new();
    let windows = format!("\u{feff}{}", file("scout", "tools: Read\n").replace('\n', "\r\n"));
    scene.world.agent("scout", &windows);
    scene.world.agent("twin", &file("scout", ""));
    let folder = scene.world.settings_dir().join("agents");
    std::os::unix::fs::symlink("loop.md", folder.join("loop.md")).unwrap();
    std::os::unix::fs::symlink(".", folder.join("here.md")).unwrap();
    fs::write(folder.join("huge.md"), vec![b'-'; 1 << 20]).unwrap();
    let child = child_of(&scene, "scout", &[]).await;
    assert!(child.system().contains("You are scout."));
    assert_eq!(child.tool_names(), ["Read"]);
    let said = check(&scene, 1).await;
    for part in [
        "twin.md: the name \"scout\" is taken by ",
        "loop.md: cannot be read",
        "huge.md: cannot be read: it is longer",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(said.ends_with("4 agents; errors: 3, warnings: 0\n"), "{said}");
    scene.server.finish();
}

#[tokio::test]
async fn an_edit_during_a_call_changes_nothing_of_that_call() {
    let scene = Scene::new();
    scene.world.agent("scout", &file("scout", ""));
    scene.parent_calls([of("CHILD-A", "scout")]);
    let first = text("x").gate("edited").tool_use("Bash", bash("true"));
    scene.server.when("CHILD-A").reply(first).then(text("ok"));
    let running = scene.run().start();
    scene.server.reached("edited").await;
    scene.world.agent("scout", &file("scout", "tools: Read\n").replace("You are", "EDITED"));
    scene.server.open("edited");
    running.wait().await.assert_code(0);
    let requests = scene.server.requests_of("CHILD-A");
    assert_eq!(requests[1].system(), requests[0].system());
    assert_eq!(requests[1].tool_names(), requests[0].tool_names());
    scene.server.finish();
}

#[tokio::test]
async fn a_projects_definition_sets_no_variables_before_it_is_trusted_and_no_value_is_shown() {
    let scene = Scene::new();
    let env = "env:\n  TOKEN_77: sk-secret-77\n";
    scene.world.write(".caliban/agents/theirs.md", &file("theirs", env));
    scene.world.agent("mine", &file("mine", env));
    let said = check(&scene, 0).await;
    assert!(said.contains("theirs.md:4: agent theirs env is ignored until you trust it"), "{said}");
    assert!(said.ends_with("5 agents; errors: 0, warnings: 1\n"), "{said}");
    for (name, listed) in [("theirs", false), ("mine", true)] {
        let run = scene.world.run(["agents", "show", name]).finish().await;
        run.assert_code(0);
        assert_eq!(run.stdout.contains("TOKEN_77"), listed, "{run}");
        assert!(!run.stdout.contains("sk-secret-77"), "{run}");
    }
}

#[tokio::test]
async fn the_documented_keys_are_those_that_the_program_takes() {
    let scene = Scene::new();
    scene.world.agent("scout", &file("scout", "no_such_key: x\n"));
    let said = check(&scene, 1).await;
    let (_, allowed) = said.lines().next().unwrap().split_once("allowed: ").unwrap();
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/subagents.md");
    let document = fs::read_to_string(document).unwrap();
    let rows = document.lines().skip_while(|line| *line != "| key | means |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    assert_eq!(names.collect::<Vec<_>>(), allowed.split(", ").collect::<Vec<_>>());
}

#[tokio::test]
async fn the_users_claude_folder_and_sub_folders_of_both_hold_agents() {
    let scene = Scene::new();
    scene.world.home(".claude/agents/01-core/deep/scout.md", &file("scout", ""));
    scene.world.home(".claude/agents/01-core/README.md", "# Core agents\n");
    scene.world.write(".claude/agents/team/api.md", &file("api", ""));
    scene.world.agent("own/mine", &file("mine", ""));
    let child = child_of(&scene, "scout", &[]).await;
    assert!(child.system().contains("You are scout."));
    let offered = offered(&scene);
    for name in ["scout", "api", "mine"] {
        assert!(offered.contains(&format!("- {name}: ")), "{offered}");
    }
    assert!(check(&scene, 0).await.ends_with("6 agents; errors: 0, warnings: 0\n"));
    let left_out = scene.world.run(["--setting-sources", "", "agents", "list"]).finish().await;
    assert!(left_out.stdout.contains("mine") && !left_out.stdout.contains("scout"));
    scene.world.home(".claude/agents/01-core/broken.md", "---\nname: broken\n---\nx\n");
    assert!(check(&scene, 1).await.contains(".claude/agents/01-core/broken.md:1: `description`"));
    scene.server.offer(&["claude-sonnet-5"]);
    let doctor = scene.world.run(["doctor"]).finish().await;
    assert!(doctor.stdout.contains("01-core/broken.md:1: `description`"), "{}", doctor.stdout);
    scene.server.finish();
}

#[tokio::test]
async fn a_collection_of_hundreds_stays_short_in_requests_and_in_notices() {
    let scene = Scene::new();
    for number in 0..400 {
        let text = format!(
            "---\nname: a{number}\ndescription: {}\nskills: x\n---\nWork.\n",
            "Looks. ".repeat(60)
        );
        scene.world.home(&format!(".claude/agents/team/a{number}.md"), &text);
    }
    let run = plain_run(&scene).await;
    run.assert_code(0);
    let offered = offered(&scene);
    assert!(offered.contains("- a399") && offered.len() < 30_000, "{}", offered.len());
    let told: Vec<String> = frames_of(&run, "system/notice")
        .iter()
        .map(|frame| frame["text"].as_str().unwrap().to_owned())
        .filter(|text| text.contains("agents"))
        .collect();
    assert_eq!(told.len(), 9, "{run}");
    assert_eq!(told[8], "agents: 392 more problems; `caliban agents check` lists them");
    scene.server.finish();
}

#[tokio::test]
async fn names_and_texts_of_other_programs_definitions_are_taken_as_they_stand() {
    let scene = Scene::new();
    let write = |file: &str, front: &str, name: &str| {
        let text = format!("---\n{front}\n---\nYou are {name}.\n");
        scene.world.home(&format!(".claude/agents/{file}.md"), &text);
    };
    write("net", "name: net-4.8-Expert\ndescription: *all* of .NET\ntools: *", "net");
    let front = "name: Api Designer\ndescription: Designs APIs. <example>\nuser: \"x\" he said";
    write("api-designer", front, "api");
    let front = "name: loose\ndescription: *any*\ndisallowedTools:\n  - Bash\n  - *x";
    write("loose", front, "loose");
    let child = child_of(&scene, "net-4.8-Expert", &[]).await;
    assert!(child.system().contains("You are net."));
    let offered = offered(&scene);
    assert!(offered.contains("- net-4.8-Expert: *all* of .NET"), "{offered}");
    assert!(offered.contains("- api-designer: Designs APIs."), "{offered}");
    let said = check(&scene, 1).await;
    assert!(said.contains("loose.md:4: `disallowedTools` must be a list"), "{said}");
    assert!(said.contains("using the file's name instead: api-designer"), "{said}");
    scene.server.finish();
}
