//! What may run without anybody to ask: rules, modes, and that sub-agents are bound by the same.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::pty::{ENTER, ESC, Screen};
use crate::support::run::Finished;
use crate::support::scene::{DONE, Scene, agent, bash};
use crate::support::script::{Reply, text, tool_use};

/// Asks for `calls` in one message, and ends.
async fn ask(scene: &Scene, calls: Reply, args: &[&str]) -> Finished {
    scene.server.when("TASK-1").reply(calls).then(text("ok"));
    let base = ["-p", "TASK-1 go", "--output-format", "stream-json"];
    let run = scene.world.run(base).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    run
}

fn denials(run: &Finished) -> Vec<Value> {
    run.result()["permission_denials"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_no_rule_allows_is_denied_when_nobody_can_be_asked() {
    let scene = Scene::new();
    let run = ask(&scene, tool_use("Bash", bash("touch made.txt")), &[]).await;
    assert!(!scene.world.exists("made.txt"));
    let result = scene.server.requests()[1].tool_result();
    assert!(result.is_error, "{result:?}");
    let denials = denials(&run);
    assert_eq!(denials.len(), 1, "{run}");
    assert_eq!(denials[0]["tool_name"], "Bash");
    assert_eq!(denials[0]["tool_use_id"], result.id);
    assert_eq!(denials[0]["tool_input"]["command"], "touch made.txt");
    scene.server.finish();
}

#[tokio::test]
async fn an_allow_rule_allows_what_it_says_and_no_more() {
    let scene = Scene::new();
    let calls = tool_use("Bash", bash("touch a.txt"))
        .tool_use("Bash", bash("touch b.txt && mkdir made"))
        .tool_use("Bash", bash("touch c.txt; echo $(mkdir made)"))
        .tool_use("Bash", bash("touch d.txt && touch e.txt"));
    let run = ask(&scene, calls, &["--allowed-tools", "Bash(touch:*)"]).await;
    let made = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "made"].map(|f| scene.world.exists(f));
    assert_eq!(made, [true, false, false, true, true, false]);
    assert_eq!(denials(&run).len(), 2, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_deny_rule_holds_in_every_mode() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Bash(touch:*)\"]\n");
    let calls = tool_use("Bash", bash("touch a.txt")).tool_use("Bash", bash("mkdir made"));
    let run = ask(&scene, calls, &["--permission-mode", "bypassPermissions"]).await;
    assert!(!scene.world.exists("a.txt") && scene.world.exists("made"));
    assert_eq!(denials(&run).len(), 1, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn what_must_not_be_read_is_not_found_by_searches_either() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Read(secret/**)\"]\n");
    scene.world.write("secret/a.txt", "needle\n");
    scene.world.write("b.txt", "needle\n");
    let calls = tool_use("Grep", json!({ "pattern": "needle" }))
        .tool_use("Glob", json!({ "pattern": "**/*.txt" }));
    scene.server.when("CHILD-A").reply(calls.clone()).then(text("looked"));
    ask(&scene, calls.tool_use("AgentTool", agent("CHILD-A")), &[]).await;
    for agent in ["TASK-1", "CHILD-A"] {
        let results = scene.server.requests_of(agent)[1].tool_results();
        let found: Vec<&str> = results[..2].iter().map(|result| result.text.as_str()).collect();
        assert_eq!(found, ["b.txt", "b.txt"], "{agent}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn what_is_asked_about_is_not_found_by_searches_and_not_brought_in_by_memory() {
    let scene = Scene::new();
    scene.world.config("[permissions]\nask = [\"Read(secret/**)\"]\n");
    scene.world.write("secret/a.txt", "needle ASKED-1\n");
    scene.world.write("b.txt", "needle\n");
    scene.world.write("AGENTS.md", "See @secret/a.txt\n");
    let content =
        |path: &str| json!({ "pattern": "needle", "path": path, "output_mode": "content" });
    let calls = tool_use("Grep", content("."))
        .tool_use("Glob", json!({ "pattern": "**/*.txt" }))
        .tool_use("Grep", content("secret"));
    let run = ask(&scene, calls, &["--permission-mode", "dontAsk"]).await;
    let results = scene.server.requests()[1].tool_results();
    let found: Vec<&str> = results[..2].iter().map(|result| result.text.as_str()).collect();
    assert_eq!(found, ["b.txt:1:needle", "b.txt"]);
    assert_eq!(denials(&run).len(), 1, "{run}");
    assert!(!scene.server.requests()[0].system().contains("ASKED-1"));
    assert!(
        run.stdout.contains("@secret/a.txt was not read: a permission rule denies it or asks"),
        "{run}"
    );
    scene.server.finish();
}

#[tokio::test]
async fn no_name_by_way_of_a_process_walks_past_a_rule_about_files() {
    let scene = Scene::new();
    scene.world.config(
        "[permissions]\ndeny = [\"Read(.env)\", \"Edit(secrets/**)\"]\nallow = [\"Bash\"]\n",
    );
    scene.world.write(".env", "HIDDEN-1\n");
    scene.world.write("secrets/a", "old\n");
    let lines = [
        "cat /proc/self/cwd/.env",
        "head -1 /dev/fd/../cwd/.env",
        "echo new > /proc/self/cwd/secrets/a",
        "grep -h . /proc/self/cwd/.env",
    ];
    assert_only_the_first_runs(&scene, "cat /dev/stdin <<< plain", &lines).await;
    assert_eq!(scene.world.read("secrets/a"), "old\n");
    scene.server.finish();
}

#[tokio::test]
async fn no_ordinary_line_walks_past_a_deny_rule_where_every_command_is_allowed() {
    let scene = Scene::new();
    scene.world.config(
        "[permissions]\ndeny = [\"Read(a/b/keep)\", \"Edit(a/b/**)\", \"Bash(touch:*)\"]\n",
    );
    scene.world.write("a/b/keep", "HIDDEN-1\n");
    scene.world.write("plain.txt", "plain\n");
    let lines = [
        "cd a && cd b && cat keep",
        "cd $(echo a/b) && cat keep",
        "env --chdir=a cat b/keep",
        "xargs cat <<< a/b/keep",
        "x=a/b/k; x+=eep; cat $x",
        "a=(a/b/keep); cat ${a[0]}",
        "ln -s a z; cat z/b/keep",
        "mv a z",
        "rm -r a",
        "env -S 'touch\\_made'",
        "echo touch made | setpriv bash",
    ];
    assert_only_the_first_runs(&scene, "cd . && cat plain.txt", &lines).await;
    assert!(scene.world.exists("a/b/keep") && !scene.world.exists("made"));
    scene.server.finish();
}

/// Runs `plain` and then `lines`, in bypass mode: all but the first are denied, and nothing hidden is shown.
async fn assert_only_the_first_runs(scene: &Scene, plain: &str, lines: &[&str]) {
    let mut calls = tool_use("Bash", bash(plain));
    for line in lines {
        calls = calls.tool_use("Bash", bash(line));
    }
    let run = ask(scene, calls, &["--permission-mode", "bypassPermissions"]).await;
    let results = scene.server.requests()[1].tool_results();
    assert!(results.iter().all(|result| !result.text.contains("HIDDEN-1")), "{results:?}");
    assert!(results[0].text.contains("plain"), "{results:?}");
    assert_eq!(denials(&run).len(), lines.len(), "{run}");
}

#[tokio::test]
async fn a_search_below_a_folder_does_not_walk_past_a_rule_about_a_file_in_it() {
    let scene = Scene::new();
    scene.world.config(
        "[permissions]\ndeny = [\"Read(.env)\"]\nallow = [\"Bash(grep:*)\", \"Bash(tar:*)\"]\n",
    );
    scene.world.write(".env", "HIDDEN-1\n");
    scene.world.write("src/a", "plain\n");
    let calls = tool_use("Bash", bash("grep -rh . src"))
        .tool_use("Bash", bash("grep -rh . ."))
        .tool_use("Bash", bash("tar cf - ."));
    let run = ask(&scene, calls, &[]).await;
    let results = scene.server.requests()[1].tool_results();
    assert!(results.iter().all(|result| !result.text.contains("HIDDEN-1")), "{results:?}");
    assert!(results[0].text.contains("plain"), "{results:?}");
    assert_eq!(denials(&run).len(), 2, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_for_an_absolute_path_with_one_slash_is_named() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Read(/etc/**)\", \"Read(/src/**)\"]\n");
    scene.server.when("TASK-1").reply(text("ok"));
    let run = scene.world.run(["-p", "TASK-1"]).finish().await;
    run.assert_code(0);
    assert!(run.stderr.contains("Read(/etc/**) is relative to the project"), "{run}");
    assert!(run.stderr.contains("write Read(//etc/**)"), "{run}");
    assert!(!run.stderr.contains("/src/"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_relative_rule_hides_files_below_every_working_directory_from_searches() {
    let scene = Scene::new();
    let extra = scene.world.root().join("extra");
    std::fs::create_dir_all(extra.join("conf")).unwrap();
    std::fs::write(extra.join("conf/pw.txt"), "needle\n").unwrap();
    std::fs::write(extra.join("b.txt"), "needle\n").unwrap();
    scene.world.config(&format!(
        "[permissions]\ndeny = [\"Read(conf/**)\"]\nadditional_dirs = [{extra:?}]\n"
    ));
    let calls = tool_use("Grep", json!({ "pattern": "needle", "path": extra }))
        .tool_use("Glob", json!({ "pattern": "**/*.txt", "path": extra }));
    ask(&scene, calls, &[]).await;
    for result in scene.server.requests_of("TASK-1")[1].tool_results() {
        assert!(result.text.contains("b.txt") && !result.text.contains("pw.txt"), "{result:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn no_expansion_and_no_document_runs_a_command_unseen() {
    let lines = [
        "cat <<EOF\n`touch made.txt`\nEOF",
        "cat <<EOF\nE$(touch made.txt)\nEOF",
        "cat <<EOF\n $(touch made.txt)\nEOF",
        "x=${PWD%$(touch made.txt)}",
        "echo a; x=${y-`touch made.txt`}",
        "x='a[$(touch made.txt)]'; z=${y:x}",
        "for f in ${PWD#$(touch made.txt)}; do ls; done",
        "case ${PWD%<(touch made.txt)} in a) ls;; esac",
        "TZ=${PWD%$(touch made.txt)} ls",
        "ls <<<${PWD%$(touch made.txt)}",
        "x=\"$\\\n(touch made.txt)\"",
        "[ -f\n./evil ]",
        "if [ ! -e\n./evil ]; then ls; fi",
    ];
    for mode in ["default", "plan", "dontAsk", "acceptEdits"] {
        let scene = Scene::new();
        scene.world.write("evil", "#!/bin/sh\n: >made.txt\n");
        let evil = scene.world.project_dir().join("evil");
        std::fs::set_permissions(evil, PermissionsExt::from_mode(0o755)).unwrap();
        let calls = lines.iter().skip(1).fold(tool_use("Bash", bash(lines[0])), |calls, line| {
            calls.tool_use("Bash", bash(line))
        });
        let run = ask(&scene, calls, &["--permission-mode", mode]).await;
        assert!(!scene.world.exists("made.txt"), "{mode}");
        assert_eq!(denials(&run).len(), lines.len(), "{mode}: {run}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn accept_edits_allows_edits_and_no_commands() {
    let scene = Scene::new();
    let file = scene.world.project_dir().join("new.txt");
    let calls = tool_use("Write", json!({ "file_path": file, "content": "x\n" }))
        .tool_use("Bash", bash("curl --version > made.txt"));
    ask(&scene, calls, &["--permission-mode", "acceptEdits"]).await;
    assert_eq!(scene.world.read("new.txt"), "x\n");
    assert!(!scene.world.exists("made.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn plan_mode_changes_nothing() {
    let scene = Scene::new();
    scene.world.write("a.txt", "old\n");
    let file = scene.world.project_dir().join("a.txt");
    let calls = tool_use("Read", json!({ "file_path": file }))
        .tool_use("Write", json!({ "file_path": file, "content": "new\n" }))
        .tool_use("Bash", bash("touch made.txt"));
    ask(&scene, calls, &["--permission-mode", "plan"]).await;
    assert_eq!(scene.world.read("a.txt"), "old\n");
    assert!(!scene.world.exists("made.txt"));
    let results = scene.server.requests()[1].tool_results();
    let errors: Vec<_> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, true], "{results:?}");
    scene.server.finish();
}

#[tokio::test]
async fn an_edit_outside_the_project_is_not_covered_by_accept_edits() {
    let scene = Scene::new();
    let outside = scene.world.settings_dir().join("outside.txt");
    let link = scene.world.project_dir().join("link");
    std::os::unix::fs::symlink(scene.world.settings_dir(), &link).unwrap();
    let write = |path| json!({ "file_path": path, "content": "x" });
    let calls = tool_use("Write", write(outside.clone()))
        .tool_use("Write", write(scene.world.project_dir().join("../settings/outside.txt")))
        .tool_use("Write", write(link.join("outside.txt")));
    let run = ask(&scene, calls, &["--permission-mode", "acceptEdits"]).await;
    assert!(!outside.exists());
    assert_eq!(denials(&run).len(), 3, "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn an_allowed_agent_tool_runs_without_a_question() {
    let scene = Scene::new();
    scene.server.when("CHILD-A").reply(text("found it"));
    let run =
        ask(&scene, tool_use("AgentTool", agent("CHILD-A")), &["--allowed-tools", "Agent"]).await;
    assert_eq!(denials(&run), Vec::<Value>::new());
    assert_eq!(scene.server.requests_of("TASK-1")[1].tool_result().text, "found it");
    scene.server.finish();
}

#[tokio::test]
async fn in_dont_ask_mode_an_unapproved_agent_call_is_denied() {
    let scene = Scene::new();
    let calls = tool_use("AgentTool", agent("CHILD-A"));
    let run = ask(&scene, calls, &["--permission-mode", "dontAsk"]).await;
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    assert!(scene.server.requests()[1].tool_result().is_error);
    assert_eq!(denials(&run)[0]["tool_name"], "AgentTool");
    scene.server.finish();
}

#[tokio::test]
async fn a_denied_agent_tool_is_denied_under_each_of_its_names() {
    for rule in ["Agent", "Task", "AgentTool"] {
        let scene = Scene::new();
        scene.world.config(&format!("[permissions]\ndeny = [\"{rule}(general-purpose)\"]\n"));
        let calls = tool_use("Task", agent("CHILD-A")).tool_use("AgentTool", agent("CHILD-A"));
        ask(&scene, calls, &["--dangerously-skip-permissions"]).await;
        assert_eq!(scene.server.requests_of("CHILD-A").len(), 0, "{rule}");
        let results = scene.server.requests()[1].tool_results();
        assert!(results.iter().all(|result| result.is_error), "{rule}: {results:?}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_sub_agent_is_bound_by_the_rules_of_its_parent() {
    let scene = Scene::new();
    let calls = tool_use("Bash", bash("touch a.txt")).tool_use("Bash", bash("mkdir made"));
    scene.server.when("CHILD-A").reply(calls).then(text("tried"));
    let args = ["--allowed-tools", "AgentTool,Bash(touch:*)"];
    let run = ask(&scene, tool_use("AgentTool", agent("CHILD-A")), &args).await;
    assert!(scene.world.exists("a.txt") && !scene.world.exists("made"));
    let results = scene.server.requests_of("CHILD-A")[1].tool_results();
    assert_eq!((results[0].is_error, results[1].is_error), (false, true), "{results:?}");
    assert_eq!(denials(&run).len(), 1, "a child's denial stands in the result\n{run}");
    scene.server.finish();
}

#[tokio::test]
async fn an_always_is_written_to_the_projects_rules_and_holds_in_the_next_run() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A")]);
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash("touch a.txt"))).then(text("ok"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("1  Yes");
    screen.keys("3");
    screen.wait_for("config.local.toml");
    assert!(!scene.world.exists(".caliban/config.local.toml"), "nothing is written before Enter");
    screen.keys(ENTER);
    screen.wait_for(DONE);
    assert!(scene.world.exists("a.txt"));
    let rules = scene.world.read(".caliban/config.local.toml");
    assert!(rules.contains("[permissions]") && rules.contains("Bash(touch"), "{rules}");
    // The next run has the rule, and no more than it.
    let calls = tool_use("Bash", bash("touch a.txt")).tool_use("Bash", bash("mkdir made"));
    let run = ask(&scene, calls, &[]).await;
    assert!(!scene.world.exists("made"));
    let denials = denials(&run);
    assert_eq!(denials.len(), 1, "{run}");
    assert_eq!(denials[0]["tool_input"]["command"], "mkdir made");
    scene.server.finish();
}

#[tokio::test]
async fn a_no_with_a_reason_tells_the_model_why() {
    let scene = Scene::new();
    scene.server.when("TASK-1").reply(tool_use("Bash", bash("touch a.txt"))).then(text("I see"));
    let screen = Screen::start(&scene.world, ["TASK-1 go"], 100, 30);
    screen.wait_for("1  Yes");
    screen.keys("4");
    screen.wait_gone("1  Yes");
    screen.keys("use b.txt instead");
    screen.wait_for("use b.txt instead");
    screen.keys(ENTER);
    screen.wait_for("I see");
    let result = scene.server.requests()[1].tool_result();
    assert!(result.is_error && result.text.contains("use b.txt instead"), "{result:?}");
    assert!(!scene.world.exists("a.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn questions_of_several_agents_come_one_after_the_other_each_with_its_asker() {
    let scene = Scene::new();
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    for (word, file) in [("CHILD-A", "a.txt"), ("CHILD-B", "b.txt")] {
        let call = tool_use("Bash", bash(&format!("touch {file}")));
        scene.server.when(word).reply(call).then(text("ok"));
    }
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    let first = screen.wait_for("wants to run a command");
    // Which of the two comes first is open; both are asked, and each answer is for its own.
    let is_first = first.contains("agent 1 wants to run a command");
    let (now, then) = if is_first { ("a", "b") } else { ("b", "a") };
    let asker = |file: &str| match file {
        "a" => "agent 1 wants to run a command",
        _ => "agent 2 wants to run a command",
    };
    assert!(first.contains(asker(now)), "{first}");
    screen.keys("1");
    screen.wait_until("the second question", |shown| {
        shown.contains(asker(then)) && shown.contains(&format!("touch {then}.txt"))
    });
    screen.keys(ESC);
    screen.wait_for(DONE);
    assert!(
        scene.world.exists(&format!("{now}.txt")) && !scene.world.exists(&format!("{then}.txt"))
    );
    scene.server.finish();
}

#[tokio::test]
async fn with_dont_ask_every_tool_that_starts_an_agent_is_denied() {
    for tool in ["agent_spawn", "agent_fork", "delegate_to_explore"] {
        let scene = Scene::new();
        scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n");
        let call = tool_use(tool, json!({ "prompt": "CHILD-A look" }));
        let run = ask(&scene, call, &["--permission-mode", "dontAsk"]).await;
        assert!(scene.server.requests()[1].tool_result().is_error, "{tool}");
        assert_eq!(denials(&run).len(), 1, "{tool} {run}");
        assert_eq!(denials(&run)[0]["tool_name"], tool);
        assert_eq!(scene.server.requests_of("CHILD-A").len(), 0, "{tool}");
        scene.server.finish();
    }
}

#[tokio::test]
async fn permissions_test_names_the_rule_that_decides_a_call_and_asks_nobody() {
    let scene = Scene::new();
    scene.world.config(
        "[permissions]\nallow = [\"Bash(git diff:*)\", \"mcp__db\"]\nask = [\"Bash(git push:*)\"]\ndeny = [\"Read(secret/**)\"]\n",
    );
    scene.world.write(".caliban/config.toml", "[permissions]\nallow = [\"Bash(touch:*)\"]\n");
    let test = async |call: &str, flags: &[&str]| {
        let args = flags.iter().copied().chain(["permissions", "test", call]);
        let run = scene.world.run(args).finish().await;
        run.assert_code(0);
        run.stdout
    };
    for (call, flags, decision, why) in [
        ("Bash(git diff)", &[][..], "allow", "rule Bash(git diff:*) in "),
        ("Bash(git diff && git push)", &[], "ask", "rule Bash(git push:*) in "),
        ("Bash(psql x)", &[], "ask", "no rule allows psql"),
        ("Bash(psql x)", &["--permission-mode", "dontAsk"], "deny", "dontAsk"),
        ("Read(secret/key)", &[], "deny", "rule Read(secret/**) in "),
        ("Read(src/x.rs)", &[], "allow", ""),
        ("Edit(src/x.rs)", &[], "ask", ""),
        ("Edit(src/x.rs)", &["--permission-mode", "acceptEdits"], "allow", ""),
        ("mcp__db__query", &[], "allow", "rule mcp__db in "),
        ("mcp__web__get", &[], "ask", ""),
        (
            "WebFetch(http:\\\\example.org)",
            &["--disallowed-tools", "WebFetch(domain:example.org)"],
            "deny",
            "from --disallowed-tools",
        ),
        (
            "WebFetch(example.org)",
            &["--disallowed-tools", "WebFetch"],
            "deny",
            "from --disallowed-tools",
        ),
        ("Bash(touch x)", &[], "ask", "Ignored until you trust it: allow rule Bash(touch:*)"),
    ] {
        let said = test(call, flags).await;
        assert!(said.starts_with(&format!("{decision}: ")) && said.contains(why), "{call}: {said}");
    }
    let wrong = scene.world.run(["permissions", "test", "Bsh(ls)"]).finish().await;
    wrong.assert_code(2);
    assert!(wrong.stderr.contains("there is no tool \"Bsh\"; write a call such as"), "{wrong}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_rule_for_a_program_does_not_allow_a_file_of_options_or_an_output() {
    let scene = Scene::new();
    let rules = ["nm", "patch", "file", "gcc"].map(|name| format!("Bash({name}:*)")).join(",");
    for (line, decision, why) in [
        ("nm a.o", "allow", "rule Bash(nm:*)"),
        ("nm @options", "ask", "no rule allows nm with @: rule Bash(nm:*)"),
        ("gcc -Wl,@options a.c", "ask", "no rule allows gcc with @"),
        ("patch -p1 -i a.diff", "allow", "rule Bash(patch:*)"),
        ("patch -o made a.c a.diff", "ask", "Bash(patch -o made a.c a.diff) would allow it"),
        ("patch --ed a.c a.diff", "ask", "no rule allows patch with --ed"),
        ("file a.c", "allow", "rule Bash(file:*)"),
        ("file -C -m a", "ask", "no rule allows file with -C"),
    ] {
        let call = format!("Bash({line})");
        let args = ["--allowed-tools", &rules, "permissions", "test", &call];
        let run = scene.world.run(args).finish().await;
        run.assert_code(0);
        let said = &run.stdout;
        assert!(said.starts_with(&format!("{decision}: ")) && said.contains(why), "{line}: {said}");
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[tokio::test]
async fn a_deny_rule_is_not_walked_past_by_options_spelling_or_text_for_a_shell() {
    let scene = Scene::new();
    scene.world.config("[permissions]\ndeny = [\"Bash(touch:*)\", \"Bash(git init:*)\"]\n");
    let lines = [
        "$'touch' a.txt",
        "{touch,a.txt}",
        "to\\\nuch a.txt",
        "t=touch; $t a.txt",
        "env -S 'touch a.txt'",
        "echo 'touch a.txt' | sh",
        "sh <<< 'touch a.txt'",
        "git -c alias.x='!touch a.txt' x",
        "git -C . init made",
        "git --literal-pathspecs -c a.b=c init made",
        "git -c alias.i=init i made",
    ];
    let calls = lines.into_iter().fold(tool_use("Bash", bash("mkdir plain")), |calls, line| {
        calls.tool_use("Bash", bash(line))
    });
    let run = ask(&scene, calls, &["--permission-mode", "bypassPermissions"]).await;
    assert!(scene.world.exists("plain") && !scene.world.exists("a.txt"), "{run}");
    assert!(!scene.world.exists("made"), "{run}");
    assert_eq!(denials(&run).len(), lines.len(), "{run}");
    let results = scene.server.requests()[1].tool_results();
    for (line, result) in lines.iter().zip(&results[1..]) {
        assert!(result.is_error && result.text.contains("rule Bash("), "{line}: {result:?}");
    }
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_does_not_allow_a_dangerous_option_that_it_does_not_name() {
    let scene = Scene::new();
    scene.world.write("a.txt", "a\n");
    let calls = tool_use("Bash", bash("find . -name a.txt"))
        .tool_use("Bash", bash("find . -name a.txt -delete"))
        .tool_use("Bash", bash("sort -o made.txt a.txt"));
    let run = ask(&scene, calls, &["--allowed-tools", "Bash(find:*),Bash(sort:*)"]).await;
    assert!(scene.world.exists("a.txt") && !scene.world.exists("made.txt"), "{run}");
    let results = scene.server.requests()[1].tool_results();
    assert!(!results[0].is_error, "{results:?}");
    assert!(
        results[1].text.contains("Bash(find . -name a.txt -delete) would allow it"),
        "{results:?}"
    );
    assert!(results[2].text.contains("no rule allows sort with -o"), "{results:?}");
    scene.server.finish();
}
