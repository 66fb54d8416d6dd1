//! What sub-agents may do: rules are shared and live, grants and modes are each agent's own.

use serde_json::{Value, json};

use super::{AGENT_TOOLS, after_calls};
use crate::support::pty::{CTRL_C, ESC, SHIFT_TAB, Screen, TAB};
use crate::support::record::Recorded;
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene, agent, agent_with, bash, calls};
use crate::support::script::{Reply, text, tool_use};

const ASKS: &str = "1  Yes";

fn denials(run: &Finished) -> Vec<Value> {
    run.result()["permission_denials"].as_array().unwrap().clone()
}

/// A headless run of the main agent with these arguments.
async fn headless(scene: &Scene, args: &[&str]) -> Finished {
    let base = ["-p", "PARENT-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(base).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

fn definition(mode: &str) -> String {
    format!(
        "---\nname: free\ndescription: Does what it was told.\npermissionMode: {mode}\n---\nDo.\n"
    )
}

fn touch(file: &str) -> Reply {
    tool_use("Bash", bash(&format!("touch {file}")))
}

#[tokio::test]
async fn a_denied_agent_is_offered_under_no_name_and_a_call_is_denied() {
    for rule in ["AgentTool(explore)", "Agent(explore)", "Task(explore)", "delegate_to_explore"] {
        let scene = Scene::new();
        scene.world.config(&format!(
            "[subagents]\nfaces = [\"agent\", \"delegate\"]\n[permissions]\ndeny = [\"{rule}\"]\n"
        ));
        let call = tool_use("AgentTool", agent_with("CHILD-A", "agent", json!("explore")));
        let call = call.tool_use("delegate_to_explore", json!({ "prompt": "CHILD-A look" }));
        scene.server.when(PARENT).reply(call).then(text(DONE));
        let run = headless(&scene, &["--dangerously-skip-permissions"]).await;
        let first = scene.server.requests_of(PARENT).remove(0);
        let listed = first.tool("AgentTool").unwrap()["description"].to_string();
        assert!(!listed.contains("- explore:") && listed.contains("- plan:"), "{rule}: {listed}");
        assert!(!first.tool_names().contains(&"delegate_to_explore"), "{rule}");
        assert!(first.tool_names().contains(&"delegate_to_plan"), "{rule}");
        let results = after_calls(&scene).tool_results();
        let denied = format!("rule {rule} ");
        assert!(results.iter().all(|r| r.is_error && r.text.contains(&denied)), "{results:?}");
        assert_eq!(denials(&run).len(), 2, "{rule}: {run}");
        assert_eq!(scene.server.requests_of("CHILD-A").len(), 0, "{rule}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_denied_agent_tool_is_not_offered_and_a_call_is_denied() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n");
    scene.parent_calls([agent("CHILD-A")]);
    headless(&scene, &["--dangerously-skip-permissions", "--disallowed-tools", "Task"]).await;
    let first = scene.server.requests_of(PARENT).remove(0);
    let starts = |name: &&&str| {
        ["AgentTool", "agent_spawn", "agent_fork"].contains(name) || name.starts_with("delegate_")
    };
    let names = first.tool_names();
    assert_eq!(names.iter().filter(starts).collect::<Vec<_>>(), Vec::<&&str>::new());
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("rule Task "), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_gets_no_tool_for_agents_that_main_was_not_given() {
    let scene = Scene::new();
    let faces = "faces = [\"agent\", \"lifecycle\", \"delegate\"]";
    scene.world.config(&format!("[subagents]\n{faces}\nmax_depth = 2\n"));
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(text("done"));
    headless(&scene, &["--tools", "Read,AgentTool"]).await;
    for prompt in [PARENT, "CHILD-A"] {
        let first = scene.server.requests_of(prompt).remove(0);
        let mut names = first.tool_names();
        names.sort_unstable();
        assert_eq!(names, ["AgentTool", "Read"], "{prompt}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_disallowed_tool_is_offered_to_nobody_and_a_call_is_denied() {
    let rows = [
        ("--disallowed-tools", "Bash", vec!["Bash"], tool_use("Bash", bash("touch made.txt"))),
        (
            "deny",
            "Read",
            vec!["Read", "Glob", "Grep"],
            tool_use("Read", json!({ "file_path": "a.txt" })),
        ),
    ];
    for (way, rule, absent, call) in rows {
        let scene = Scene::new();
        scene.world.write("a.txt", "CANARY-77\n");
        let mut args = vec!["--dangerously-skip-permissions"];
        match way {
            "--disallowed-tools" => args.extend([way, rule]),
            _ => scene.world.config(&format!("[permissions]\ndeny = [\"{rule}\"]\n")),
        }
        let first = call.clone().tool_use("AgentTool", agent("CHILD-A"));
        scene.server.when(PARENT).reply(first).then(text(DONE));
        scene.server.when("CHILD-A").reply(call).then(text("tried"));
        let run = headless(&scene, &args).await;
        for word in [PARENT, "CHILD-A"] {
            let requests = scene.server.requests_of(word);
            let names = requests[0].tool_names();
            assert!(absent.iter().all(|name| !names.contains(name)), "{word}: {names:?}");
            assert!(names.contains(&"WebFetch"), "{word}: {names:?}");
            let result = requests[1].tool_results().remove(0);
            assert!(
                result.is_error && result.text.contains(&format!("rule {rule} ")),
                "{result:?}"
            );
        }
        assert!(!scene.world.exists("made.txt"));
        assert_eq!(denials(&run).len(), 2, "{run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_is_described_and_what_is_allowed_are_two_gates() {
    for (described, allowed) in [(true, true), (true, false), (false, true), (false, false)] {
        let case = format!("described {described}, allowed {allowed}");
        let scene = Scene::new();
        if described {
            scene.world.agent("free", &definition("default"));
        }
        scene.parent_calls([agent_with("CHILD-A", "agent", json!("free"))]);
        if described && allowed {
            scene.server.when("CHILD-A").reply(text("it ran"));
        }
        let allow = ["--permission-mode", "dontAsk", "--allowed-tools", "AgentTool"];
        let run = headless(&scene, &allow[..if allowed { 4 } else { 2 }]).await;
        let offer = scene.server.requests_of(PARENT)[0].tool("AgentTool").unwrap().to_string();
        assert_eq!(offer.contains("- free: "), described, "{case}: permission changes no list");
        let result = after_calls(&scene).tool_result();
        match (described, allowed) {
            (true, true) => assert_eq!(result.text, "it ran"),
            (true, false) => assert!(result.text.contains("dontAsk"), "{case}: {result:?}"),
            (false, _) => assert!(result.text.contains("no agent free"), "{case}: {result:?}"),
        }
        assert_eq!(result.is_error, !(described && allowed), "{case}");
        assert_eq!(denials(&run).len(), usize::from(described && !allowed), "{case}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_definitions_mode_narrows_and_only_own_lets_it_widen() {
    // Whose definition, its mode, what the configuration says, and whether its command runs where
    // nobody can be asked.
    let rows = [
        ("user", "plan", "ceiling", &["--dangerously-skip-permissions"][..], false),
        ("user", "default", "ceiling", &["--dangerously-skip-permissions"][..], false),
        ("user", "bypassPermissions", "ceiling", &[][..], false),
        ("user", "bypassPermissions", "inherit", &[][..], false),
        ("user", "bypassPermissions", "own", &[][..], true),
        ("project", "bypassPermissions", "own", &[][..], false),
        ("project", "plan", "own", &["--dangerously-skip-permissions"][..], false),
    ];
    for (whose, mode, permissions, more, runs) in rows {
        let case = format!("{whose} {mode} {permissions}");
        let scene = Scene::new();
        scene.world.config(&format!(
            "[subagents]\npermissions = \"{permissions}\"\n[permissions]\ndeny = [\"Bash(mkdir:*)\"]\nallow = [\"AgentTool\"]\n"
        ));
        match whose {
            "user" => scene.world.agent("free", &definition(mode)),
            _ => scene.world.write(".caliban/agents/free.md", &definition(mode)),
        }
        scene.parent_calls([agent_with("CHILD-A", "agent", json!("free"))]);
        let tries = touch("made.txt").tool_use("Bash", bash("mkdir denied"));
        scene.server.when("CHILD-A").reply(tries).then(text("tried"));
        headless(&scene, more).await;
        assert_eq!(scene.world.exists("made.txt"), runs, "{case}");
        assert!(!scene.world.exists("denied"), "{case}: a deny rule binds every mode");
        let results = scene.server.requests_of("CHILD-A")[1].tool_results();
        assert_eq!((results[0].is_error, results[1].is_error), (!runs, true), "{case}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn what_narrows_an_agent_narrows_those_below_it() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 2\n");
    scene.world.agent("free", &definition("plan"));
    let loose = definition("bypassPermissions").replace("name: free", "name: loose");
    scene.world.agent("loose", &loose);
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("free"))]);
    let loose = agent_with("CHILD-B", "agent", json!("loose"));
    scene.server.when("CHILD-A").reply(calls([loose])).then(text("done"));
    scene.server.when("CHILD-B").reply(touch("made.txt")).then(text("tried"));
    headless(&scene, &["--dangerously-skip-permissions"]).await;
    let result = scene.server.requests_of("CHILD-B")[1].tool_result();
    assert!(result.is_error && result.text.contains("plan mode"), "{result:?}");
    assert!(!scene.world.exists("made.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn with_inherit_a_grant_of_the_parent_is_the_childs_too() {
    let scene = Scene::new();
    scene.world.config("[subagents]\npermissions = \"inherit\"\n");
    let parent = scene.server.when(PARENT).reply(touch("granted.txt"));
    parent.then(calls([agent("CHILD-A")])).then(text(DONE));
    scene.server.when("CHILD-A").reply(touch("granted.txt")).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for(ASKS);
    screen.keys("2");
    screen.wait_for(DONE);
    let result = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(!result.is_error && scene.world.exists("granted.txt"), "{result:?}");
    scene.server.finish();
}

#[tokio::test]
async fn plan_mode_counts_for_the_next_call_of_a_running_child() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    let child = scene.server.when("CHILD-A").reply(touch("before.txt"));
    child
        .then(text("AT-WORK").gate("narrowed").tool_use("Bash", bash("touch after.txt")))
        .then(text("ok"));
    let args = ["--allowed-tools", "AgentTool,Bash(touch:*)", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("AT-WORK");
    assert!(scene.world.exists("before.txt"));
    for mode in ["acceptEdits", "plan"] {
        screen.keys(SHIFT_TAB);
        screen.wait_until(&format!("mode {mode}"), |shown| {
            shown.lines().last().is_some_and(|status| status.trim_start().starts_with(mode))
        });
    }
    scene.server.open("narrowed");
    screen.wait_for(DONE);
    assert!(!scene.world.exists("after.txt"));
    let result = scene.server.requests_of("CHILD-A")[2].tool_result();
    assert!(result.is_error && result.text.contains("plan mode"), "{result:?}");
    scene.server.finish();
}

/// Waits until the first agent's question is shown at this place in the queue, or alone.
#[track_caller]
fn wait_for_question(screen: &Screen, place: &str) -> String {
    screen.wait_until(&format!("question {place} to appear"), |contents| {
        let asks = "agent 1 wants to run a command";
        let fits = |line: &str| match place {
            "" => !line.contains(" of "),
            place => line.contains(place),
        };
        contents.lines().any(|line| line.contains(asks) && fits(line))
    })
}

#[tokio::test]
async fn questions_of_two_depths_are_named_and_answered_in_reverse_and_go_with_their_asker() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_depth = 2\n");
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    // Each asks when the one before it has.
    let first = scene.server.when("CHILD-A").reply(touch("a.txt"));
    first.then(text("never read"));
    let second = text("x").gate("the first asks").tool_use("AgentTool", agent("CHILD-C"));
    scene.server.when("CHILD-B").reply(second).then(text("B done"));
    let last = touch("c.txt");
    scene.server.when("CHILD-C").reply(last).then(touch("no.txt")).then(text("C done"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    let shown = wait_for_question(&screen, "");
    assert!(shown.contains("│ in /") && shown.contains("touch a.txt"), "{shown}");
    scene.server.open("the first asks");
    wait_for_question(&screen, "1 of 2");
    screen.keys(TAB);
    let shown = screen.wait_for("agent 3 (depth 2) wants to run a command");
    assert!(shown.contains("│ in /") && shown.contains("touch c.txt"), "{shown}");
    screen.keys("1");
    scene.server.wait_for_of("CHILD-C", 2).await;
    assert!(scene.world.exists("c.txt") && !scene.world.exists("a.txt"));
    // Esc is a no to this one call: its agent goes on, and so does the one that still asks.
    wait_for_question(&screen, "1 of 2");
    screen.keys(TAB);
    screen.wait_for("touch no.txt");
    screen.keys(ESC);
    scene.server.wait_for_of("CHILD-C", 3).await;
    wait_for_question(&screen, "");
    screen.keys(TAB);
    screen.wait_gone(ASKS);
    screen.keys("\x1b1");
    screen.wait_for("▸1");
    screen.keys(CTRL_C);
    screen.wait_for("withdrawn: agent 1 was cancelled");
    screen.wait_for(DONE);
    assert!(!screen.contents().contains("wants to run"), "{}", screen.contents());
    assert!(!scene.world.exists("a.txt") && !scene.world.exists("no.txt"));
    let results = after_calls(&scene).tool_results();
    assert!(results[0].is_error && results[0].text.contains("cancelled"), "{results:?}");
    assert_eq!((results[1].text.as_str(), results[1].is_error), ("B done", false));
    let of_c: Vec<Recorded> = scene.server.requests_of("CHILD-C");
    assert!(!of_c[1].tool_result().is_error && of_c[2].tool_result().is_error);
}

const CHILDREN: [&str; 3] = ["CHILD-A", "CHILD-B", "CHILD-C"];

/// The same agent call under each name of its tool.
fn under_each_name() -> Reply {
    let names = AGENT_TOOLS.iter().zip(CHILDREN);
    names.fold(Reply::stream(), |all, (name, word)| all.tool_use(name, agent(word)))
}

#[tokio::test]
async fn an_allow_rule_under_any_name_lets_a_call_under_any_name_run() {
    for rule in ["AgentTool", "Agent", "Task", "Bash"] {
        let scene = Scene::new();
        scene.server.when(PARENT).reply(under_each_name()).then(text(DONE));
        // A rule for another tool shows that without one the calls would not run.
        let runs = rule != "Bash";
        for word in CHILDREN.into_iter().filter(|_| runs) {
            scene.server.when(word).reply(text("it ran"));
        }
        let args = ["--permission-mode", "dontAsk", "--allowed-tools", rule];
        let run = headless(&scene, &args).await;
        let results = after_calls(&scene).tool_results();
        assert_eq!(results.len(), 3);
        for result in &results {
            assert_eq!((result.text == "it ran", result.is_error), (runs, !runs), "{rule}");
        }
        assert_eq!(denials(&run).len(), if runs { 0 } else { 3 }, "{rule}: {run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn an_ask_rule_under_any_name_asks_of_a_call_under_any_name() {
    for rule in ["AgentTool", "Agent", "Task", "Bash"] {
        let scene = Scene::new();
        let rules = format!("[permissions]\nask = [\"{rule}\"]\n");
        scene.world.config(&rules);
        scene.server.when(PARENT).reply(under_each_name()).then(text(DONE));
        // Nobody can be asked here, so what asks is denied. Without a rule of its own the tool is free.
        let asks = rule != "Bash";
        for word in CHILDREN.into_iter().filter(|_| !asks) {
            scene.server.when(word).reply(text("it ran"));
        }
        let run = headless(&scene, &[]).await;
        let results = after_calls(&scene).tool_results();
        assert!(results.iter().all(|result| result.is_error == asks), "{rule}: {results:?}");
        assert_eq!(denials(&run).len(), if asks { 3 } else { 0 }, "{rule}: {run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_pattern_in_the_tool_lists_of_a_definition_binds_the_agent() {
    let scene = Scene::new();
    let lists = "tools: Bash(touch:*), Read\ndisallowedTools: Bash(touch denied:*)";
    let definition = definition("default").replace("permissionMode: default", lists);
    scene.world.agent("free", &definition);
    scene.parent_calls([agent_with("CHILD-A", "agent", json!("free"))]);
    let tries = touch("made.txt")
        .tool_use("Bash", bash("touch denied"))
        .tool_use("Bash", bash("mkdir folder"));
    scene.server.when("CHILD-A").reply(tries).then(text("tried"));
    headless(&scene, &["--dangerously-skip-permissions"]).await;
    let made = ["made.txt", "denied", "folder"].map(|name| scene.world.exists(name));
    assert_eq!(made, [true, false, false]);
    let requests = scene.server.requests_of("CHILD-A");
    let names = requests[0].tool_names();
    assert!(names.contains(&"Bash") && !names.contains(&"Edit"), "{names:?}");
    let results = requests[1].tool_results();
    assert!(results[1].text.contains("rule Bash(touch denied:*) from the definition of free"));
    assert!(results[2].text.contains("allow Bash only for Bash(touch:*)"), "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_pattern_in_the_tool_list_of_a_call_is_an_error_that_says_what_to_write() {
    let scene = Scene::new();
    scene.parent_calls([agent_with("CHILD-A", "tool_allowlist", json!(["Read", "Bash(git:*)"]))]);
    headless(&scene, &[]).await;
    let result = after_calls(&scene).tool_result();
    assert!(result.is_error && result.text.contains("Bash(git:*) is a rule"), "{result:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    scene.server.finish();
}
