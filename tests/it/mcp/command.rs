//! `caliban mcp`, and what `caliban doctor` says of servers.

use super::{noted, server, stub};
use crate::support::pty::Screen;
use crate::support::run::Finished;
use crate::support::scene::Scene;
use crate::support::script::text;

const CONFIG: &str = "config.toml";

async fn mcp(scene: &Scene, args: &[&str]) -> Finished {
    scene.world.run(["mcp"]).args(args.iter().copied()).finish().await
}

/// The same, which is to succeed, and what it said.
async fn said(scene: &Scene, args: &[&str]) -> String {
    let run = mcp(scene, args).await;
    run.assert_code(0);
    assert_eq!(run.stderr, "", "{run}");
    run.stdout
}

/// The same, which is to be refused as bad usage, and why.
async fn refused(scene: &Scene, args: &[&str]) -> String {
    let run = mcp(scene, args).await;
    run.assert_code(2);
    assert_eq!(run.stdout, "", "{run}");
    run.stderr
}

/// The line of a table that begins with this word, its blanks made one.
fn row(text: &str, first: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rows = text.lines().map(words);
    rows.find(|row| row.split(' ').next() == Some(first)).unwrap_or_else(|| panic!("{text}"))
}

fn own(scene: &Scene) -> String {
    std::fs::read_to_string(scene.world.settings_dir().join(CONFIG)).unwrap()
}

#[tokio::test]
async fn a_server_is_added_listed_shown_and_removed_and_the_file_keeps_its_comments() {
    let scene = Scene::new();
    let stub = stub().display().to_string();
    let before = "# all mine\n\n[model]\nname = \"m\" # best\n";
    scene.world.config(before);
    let before = own(&scene);
    let key = "KEY=sk-literal-77";
    let told = said(&scene, &["add", "stub", "-e", key, "bash", "--", &stub, "--fast"]).await;
    assert!(told.starts_with("Added MCP server stub to ") && told.contains(CONFIG), "{told}");
    assert!(own(&scene).starts_with(before.trim_end()), "{}", own(&scene));

    let list = said(&scene, &[]).await;
    assert_eq!(list, said(&scene, &["list"]).await);
    let listed = row(&list, "stub");
    assert!(listed.starts_with("stub connected 1 ") && listed.contains(CONFIG), "{list}");
    let shown = said(&scene, &["get", "stub"]).await;
    assert_eq!(row(&shown, "runs:"), format!("runs: bash {stub} --fast"));
    assert_eq!(row(&shown, "env:"), "env: KEY=***");
    assert_eq!(row(&shown, "state:"), "state: connected");
    assert_eq!(row(&shown, "mcp__stub__echo"), "mcp__stub__echo Says it again.");
    assert!(!format!("{list}{shown}").contains("sk-literal-77"));

    let again = refused(&scene, &["add", "stub", "other"]).await;
    assert!(again.contains("already has an MCP server stub: use another name, or first run `caliban mcp remove stub --scope user`"), "{again}");
    said(&scene, &["remove", "stub"]).await;
    assert_eq!(own(&scene).trim_end(), before.trim_end());
    let gone = refused(&scene, &["remove", "stub"]).await;
    assert!(gone.contains("there is no MCP server stub: none is defined"), "{gone}");
}

#[tokio::test]
async fn what_the_person_adds_to_a_project_is_trusted_and_what_the_project_brings_is_never_started()
{
    let scene = Scene::new();
    let (stub, mine) = (stub().display().to_string(), scene.world.project_dir().join("mine.log"));
    let foreign = r#"{"zeta": 1, "mcpServers": {"theirs": {"command": "touch", "args": ["ran.txt"], "env": {"A": "sk-theirs-77"}, "odd": 1}}}"#;
    scene.world.write(".mcp.json", foreign);
    let log = format!("STUB_LOG={}", mine.display());
    let add = ["add", "--scope", "project", "-e", &log, "mine", "bash", "--", &stub];
    assert_eq!(said(&scene, &add).await, "Added MCP server mine to .mcp.json.\n");
    let written = scene.world.read(".mcp.json");
    let at = |key: &str| written.find(&format!("\"{key}\"")).unwrap_or_else(|| panic!("{written}"));
    assert!(at("zeta") < at("theirs") && at("odd") < at("mine"), "{written}");

    let list = said(&scene, &["list"]).await;
    assert!(row(&list, "mine").starts_with("mine connected 1 .mcp.json:"), "{list}");
    assert!(
        row(&list, "theirs").starts_with("theirs not trusted: caliban trust - .mcp.json:"),
        "{list}"
    );
    let shown = said(&scene, &["get", "theirs"]).await;
    assert_eq!(row(&shown, "state:"), "state: not trusted: caliban trust");
    assert_eq!(row(&shown, "env:"), "env: A=***");
    scene.server.offer(&["claude-sonnet-5"]);
    let doctor = scene.world.run(["doctor"]).finish().await;
    assert!(doctor.stdout.contains("mcp       mine: connected, 1 tool\n"), "{doctor}");
    assert!(doctor.stdout.contains("): not trusted: caliban trust\n"), "{doctor}");
    assert!(!scene.world.exists("ran.txt"), "it was started");
    let starts = noted(&scene, "mine").iter().filter(|line| line.starts_with("started")).count();
    assert_eq!(starts, 2, "once for the list, once for the doctor");

    said(&scene, &["remove", "mine"]).await;
    assert!(!scene.world.read(".mcp.json").contains("mine"));
}

#[tokio::test]
async fn one_that_stands_in_two_files_is_removed_from_the_one_that_is_said() {
    let scene = Scene::new();
    said(&scene, &["add", "web", "http://127.0.0.1:1/mcp"]).await;
    let told = said(&scene, &["add", "-s", "project", "web", "http://127.0.0.1:1/other"]).await;
    assert!(told.contains("It takes precedence over the one in "), "{told}");
    let both = refused(&scene, &["remove", "web"]).await;
    assert!(both.contains("is defined in .mcp.json (project) and "), "{both}");
    assert!(both.contains("(user): choose one with --scope"), "{both}");
    said(&scene, &["remove", "web", "--scope", "project"]).await;
    assert!(own(&scene).contains("[mcp_servers.web]"));
    let shown = said(&scene, &["get", "web"]).await;
    assert_eq!(row(&shown, "url:"), "url: http://127.0.0.1:1/mcp");
}

#[tokio::test]
async fn a_server_that_fails_costs_no_other_and_the_doctor_says_why() {
    let scene = Scene::new();
    let bad = server(&scene, "bad", &[("STUB_MODE", "die")]);
    scene.world.config(&format!("{bad}{}", server(&scene, "good", &[])));
    let list = said(&scene, &["list"]).await;
    assert!(row(&list, "good").starts_with("good connected 1 "), "{list}");
    let row = row(&list, "bad");
    assert!(row.starts_with("bad failed - "), "{list}");
    assert!(row.ends_with("it ended with exit code 3; it said: no licence found"), "{list}");
    scene.server.offer(&["claude-sonnet-5"]);
    let doctor = scene.world.run(["doctor"]).finish().await;
    doctor.assert_code(1);
    let wrong = doctor.stdout.lines().find(|line| line.starts_with("WRONG  mcp       bad ("));
    assert!(wrong.is_some_and(|line| line.ends_with("no licence found")), "{doctor}");
}

#[tokio::test]
async fn the_first_line_that_is_not_mcp_is_named_of_a_server_that_never_answers() {
    let scene = Scene::new();
    let talk = "echo 'hello I am a server!'; while read -r line; do echo nonsense; done";
    scene
        .world
        .config(&format!("[mcp_servers.garb]\ncommand = \"bash\"\nargs = [\"-c\", \"{talk}\"]\n"));
    scene.server.offer(&["claude-sonnet-5"]);
    scene.server.when("HELLO-1").reply(text("done"));
    let (doctor, run) = tokio::join!(
        scene.world.run(["doctor"]).finish(),
        scene.world.run(["-p", "HELLO-1"]).finish()
    );
    let why = "it printed text that is not MCP: \"hello I am a server!\"";
    assert!(doctor.stdout.contains(&format!("no answer: {why}")), "{doctor}");
    assert!(run.stderr.contains(&format!("not ready: garb ({why})")), "{run}");
    scene.server.finish();
}

#[tokio::test]
async fn a_broken_file_of_servers_is_named_everywhere_and_is_no_success() {
    let scene = Scene::new();
    scene.world.write(".mcp.json", "{\"mcpServers\": ");
    let problem = ".mcp.json:1: not valid JSON";
    let list = mcp(&scene, &[]).await;
    list.assert_code(1);
    assert!(list.stdout.starts_with(&format!("problem: {problem}")), "{list}");
    assert!(!list.stdout.contains("No MCP servers yet"), "{list}");
    scene.server.offer(&["claude-sonnet-5"]);
    let doctor = scene.world.run(["doctor"]).finish().await;
    doctor.assert_code(1);
    let told: Vec<_> = doctor.stdout.lines().filter(|line| line.contains(problem)).collect();
    assert!(told.len() == 1 && told[0].starts_with("WRONG  mcp "), "{doctor}");
    let screen = Screen::start(&scene.world, [], 120, 30);
    screen.wait_for("? keys");
    screen.keys("/mcp\r");
    screen.wait_until("the page names it", |shown| {
        shown.contains("╭ mcp") && shown.contains(problem) && !shown.contains("caliban mcp add")
    });
}

#[tokio::test]
async fn the_screen_lists_servers_that_are_not_trusted() {
    let scene = Scene::new();
    scene.world.write(".mcp.json", r#"{"mcpServers": {"theirs": {"command": "touch"}}}"#);
    let screen = Screen::start(&scene.world, [], 120, 30);
    screen.wait_for("1  trust this");
    screen.keys("2");
    screen.wait_for("? keys");
    screen.keys("/mcp\r");
    screen.wait_for("theirs  not trusted: caliban trust  touch");
}

#[tokio::test]
async fn what_cannot_be_a_server_is_refused_and_nothing_is_written() {
    let mut scene = Scene::new();
    scene.world.config("# mine\n");
    let before = own(&scene);
    for (args, why) in [
        (&["add", "a b", "x"][..], "letters, digits, - and _"),
        (&["add", "-t", "http", "x", "prog"], "http:// or https://"),
        (&["add", "x", "http://h/mcp", "-e", "A=b"], "those are for programs"),
        (&["add", "x", "http://"], "not a valid URL"),
        (&["add", "x", "prog", "-H", "A: sk-literal-77"], "headers are for HTTP servers"),
        (&["add", "x", "prog", "-e", "sk-literal-77"], "--env takes KEY=VALUE"),
        (&["add", "x", "prog", "-y"], "'-- -y'"),
        (&["get", "nope"], "there is no MCP server nope"),
    ] {
        let told = refused(&scene, args).await;
        assert!(told.contains(why) && !told.contains("sk-literal-77"), "{args:?}: {told}");
    }
    scene.world.write(".mcp.json", "{\"mcpServers\": ");
    let told = refused(&scene, &["add", "-s", "project", "x", "prog"]).await;
    assert!(told.contains(".mcp.json: not valid JSON") && told.contains("fix it first"), "{told}");
    assert_eq!(scene.world.read(".mcp.json"), "{\"mcpServers\": ");
    scene.world.env("CALIBAN_DEPTH", "1");
    let told = refused(&scene, &["add", "x", "prog"]).await;
    assert!(told.contains("only you can add servers"), "{told}");
    assert_eq!(own(&scene), before);
}
