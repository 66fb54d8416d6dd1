//! Options: each one changes what the model is asked, or what may be done.

use serde_json::json;

use crate::support::record::Recorded;
use crate::support::scene::{Scene, agent, bash};
use crate::support::script::{text, tool_use};
use crate::support::skip;

/// The first request of a run with these options.
async fn first_request(args: &[&str]) -> Recorded {
    let scene = Scene::new();
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = scene.world.run(["-p", "HELLO-1"]).args(args.iter().copied()).finish().await;
    run.assert_code(0);
    scene.server.requests().remove(0)
}

#[tokio::test]
async fn the_system_prompt_can_be_replaced_and_added_to() {
    let plain = first_request(&[]).await.system();
    let replaced = first_request(&["--system-prompt", "PROMPT-77"]).await.system();
    assert!(replaced.contains("PROMPT-77") && replaced.len() < plain.len(), "{replaced}");
    let added = first_request(&["--append-system-prompt", "PROMPT-88"]).await.system();
    assert!(added.contains("PROMPT-88") && added.len() > plain.len(), "{added}");
}

#[tokio::test]
async fn the_system_prompt_can_come_from_a_file_and_must_be_there() {
    let scene = Scene::new();
    scene.world.write("prompt.md", "PROMPT-99 from a file");
    scene.server.when("HELLO-1").reply(text("hi"));
    let run = async |path: &str| {
        scene.world.run(["-p", "HELLO-1", "--system-prompt-file", path]).finish().await
    };
    run("prompt.md").await.assert_code(0);
    assert!(scene.server.requests()[0].system().contains("PROMPT-99 from a file"));
    let missing = run("none.md").await;
    assert!(missing.assert_code(2).stderr.contains("none.md"), "{missing}");
}

#[tokio::test]
async fn the_effort_is_asked_for() {
    let request = first_request(&["--model", "claude-sonnet-5", "--effort", "high"]).await;
    assert_eq!(request.body["output_config"]["effort"], "high", "{}", request.body);
}

#[tokio::test]
async fn the_tools_on_offer_can_be_chosen() {
    let names = async |args: &[&str]| {
        let request = first_request(args).await;
        request.tool_names().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--tools", "Read,Grep"]).await, ["Read", "Grep"]);
    assert_eq!(names(&["--tools", ""]).await, Vec::<String>::new());
    let all = names(&[]).await;
    let without = names(&["--no-sub-agent"]).await;
    assert!(all.contains(&"AgentTool".to_owned()) && !without.contains(&"AgentTool".to_owned()));
    assert_eq!(all.len(), without.len() + 1);
}

#[tokio::test]
async fn a_disallowed_call_never_runs_for_main_or_a_child() {
    let scene = Scene::new();
    let touch = |file: &str| tool_use("Bash", bash(&format!("touch {file}")));
    let first = touch("main.txt").tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when("PARENT-1").reply(first).then(text("ok"));
    scene.server.when("CHILD-A").reply(touch("child.txt")).then(text("ok"));
    let run = scene.run().args(["--disallowedTools", "Bash(touch:*)"]).finish().await;
    run.assert_code(0);
    assert!(!scene.world.exists("main.txt") && !scene.world.exists("child.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn another_directory_can_be_worked_in_and_one_added() {
    let scene = Scene::new();
    let (there, more) =
        (scene.world.settings_dir().join("there"), scene.world.settings_dir().join("more"));
    for folder in [&there, &more] {
        std::fs::create_dir(folder).unwrap();
    }
    let write = |path: std::path::PathBuf| json!({ "file_path": path, "content": "x\n" });
    let calls = tool_use("Write", write("relative.txt".into()))
        .tool_use("Write", write(more.join("added.txt")))
        .tool_use("Write", write(scene.world.project_dir().join("outside.txt")));
    scene.server.when("TASK-1").reply(calls).then(text("ok"));
    let args = ["-p", "TASK-1", "--permission-mode", "acceptEdits"];
    let dirs = ["-C", there.to_str().unwrap(), "--add-dir", more.to_str().unwrap()];
    scene.world.run(args).args(dirs).finish().await.assert_code(0);
    assert!(there.join("relative.txt").exists(), "paths are relative to the directory given");
    assert!(more.join("added.txt").exists());
    assert!(!scene.world.exists("outside.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn a_misspelled_directory_or_tool_is_named() {
    let scene = Scene::new();
    let run = scene.world.run(["-p", "TASK-1", "--add-dir", "nowhere"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("--add-dir: nowhere is not a directory"), "{run}");
    scene.server.when("TASK-1").reply(text("ok"));
    let run = scene.world.run(["-p", "TASK-1", "--tools", "Read,Frob,mcp__x"]).finish().await;
    run.assert_code(0);
    let named: Vec<&str> = run.stderr.lines().filter(|line| line.contains("--tools")).collect();
    let [tool, server] = named[..] else { panic!("{run}") };
    assert!(tool.contains("unknown tool Frob"), "{run}");
    assert!(server.contains("--tools: no MCP server is named x; check its spelling"), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_rule_of_an_option_for_a_server_that_is_not_defined_is_named() {
    let scene = Scene::new();
    scene.world.config("[mcp_servers.shop]\nurl = \"http://127.0.0.1:1/\"\n");
    scene.server.when("TASK-1").reply(text("ok"));
    let rules = "mcp__shpo__find,mcp__shop__find,mcp__shop";
    let run = scene.world.run(["-p", "TASK-1", "--allowed-tools", rules]).finish().await;
    run.assert_code(0);
    let named: Vec<&str> =
        run.stderr.lines().filter(|line| line.contains("no MCP server")).collect();
    assert!(
        matches!(named[..], [line] if line.contains("--allowed-tools: no MCP server is named shpo")),
        "{run}"
    );
    scene.server.finish();
}

#[tokio::test]
async fn a_word_behind_resume_that_looks_like_the_prompt_is_named() {
    let scene = Scene::new();
    let run = scene.world.run(["-p", "-r", "hi"]).finish().await;
    run.assert_code(2);
    assert!(
        run.stderr
            .contains("the prompt is blank: hi is the session to resume; write the prompt first"),
        "{run}"
    );
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_to_be_looked_at() {
    let scene = Scene::new();
    scene.world.config("[providers.local]\nkind = \"openai_chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmax_retries = 0\n");
    let run = scene.world.run(["-p", "HELLO-1", "--provider", "local"]).finish().await;
    run.assert_code(2);
    assert!(run.stderr.contains("check that it runs, or name one with --model"), "{run}");
}

#[tokio::test]
async fn the_model_is_told_where_it_is_and_what_the_project_asks_for() {
    let scene = Scene::new();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(args).current_dir(scene.world.project_dir()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.output().is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q", "-b", "branch-77"]) {
        skip("the_model_is_told_where_it_is_and_what_the_project_asks_for", "there is no git");
        return;
    }
    scene.world.write("CLAUDE.md", "MEMORY-77\n");
    scene.world.write("sub/AGENTS.md", "MEMORY-88\n");
    scene.server.when("HELLO-1").reply(text("hi"));
    scene.world.run(["-p", "HELLO-1", "-C", "sub"]).finish().await.assert_code(0);
    let request = scene.server.requests().remove(0);
    let cwd = std::fs::canonicalize(scene.world.project_dir().join("sub")).unwrap();
    for part in [cwd.to_str().unwrap(), "branch-77", "linux", "MEMORY-77", "MEMORY-88"] {
        assert!(request.text().contains(part), "{part}: {}", request.system());
    }
    scene.server.finish();
}

#[tokio::test]
async fn verbose_says_on_stderr_what_is_done_and_leaves_stdout_alone() {
    let scene = Scene::new();
    scene.server.when("TASK-1").reply(tool_use("Bash", bash("echo one"))).then(text("done-77"));
    let args = ["-p", "TASK-1", "--verbose", "--dangerously-skip-permissions"];
    let run = scene.world.run(args).finish().await;
    run.assert_code(0);
    assert_eq!(run.stdout, "done-77\n");
    assert!(run.stderr.contains("Bash echo one"), "{run}");
    scene.server.finish();
}
