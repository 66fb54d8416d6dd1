//! Keys of servers, as they are written and as variables fill them in: shown nowhere, whatever a
//! server gives away.

use serde_json::json;

use super::http::{Web, web};
use super::{last, server, tools};
use crate::support::run::Finished;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

/// In a variable of the agent's environment.
const FILLED: &str = "tok-filled-77";

/// In the configuration itself.
const LITERAL: &str = "sk-literal-77";

/// Neither key is in what a run printed, logged, stored or sent to a model.
fn assert_hidden(scene: &Scene, finished: &Finished) {
    let session = scene.world.session().join("transcript.jsonl");
    let stored = std::fs::read_to_string(session).unwrap();
    let sent: String = scene.server.requests().iter().map(|request| request.text()).collect();
    let all = format!("{finished}{}{stored}{sent}", scene.world.log());
    for key in [FILLED, LITERAL] {
        let found: Vec<_> = all.lines().filter(|line| line.contains(key)).collect();
        assert!(found.is_empty(), "{key}: {found:#?}");
    }
}

/// Calls the two tools of `server` that give its keys away, and looks at what is left of them.
async fn assert_kept(scene: &Scene, server: &str) -> Finished {
    let name = |tool: &str| format!("mcp__{server}__{tool}");
    let both = tool_use(&name("leak"), json!({})).tool_use(&name("tell"), json!({}));
    scene.server.when(PARENT).reply(both).then(text(DONE));
    let finished = scene.go().await;
    let results = last(scene).tool_results();
    assert_eq!(results[0].text, format!("MCP server {server}: refused *** ***"));
    assert_eq!(results[1].text, "told *** ***");
    assert_hidden(scene, &finished);
    finished
}

#[tokio::test]
async fn a_program_gives_no_key_away_in_an_error_a_result_or_its_last_words() {
    let mut scene = Scene::new();
    scene.world.env("STUB_TOKEN", FILLED);
    let list = tools(&["leak", "tell"]);
    let keys =
        [("STUB_TOOLS", list.as_str()), ("AUTH", "Bearer ${STUB_TOKEN}"), ("API_KEY", LITERAL)];
    let talks = r#"echo refused $A ${B#Bearer } $C >&2; exit 3"#;
    let variables = format!(
        r#"A = "${{STUB_TOKEN}}", B = "Bearer ${{STUB_TOKEN}}", C = "${{NOT_SET_77:-{LITERAL}}}""#
    );
    scene.world.config(&format!(
        "{}[mcp_servers.bad]\ncommand = \"bash\"\nargs = [\"-c\", \"{talks}\"]\nenv = {{ {variables} }}\n",
        server(&scene, "stub", &keys)
    ));
    let finished = assert_kept(&scene, "stub").await;
    let said = "it ended with exit code 3; it said: refused *** *** ***";
    assert!(finished.to_string().contains(said), "{finished}");
    scene.server.offer(&["claude-sonnet-5"]);
    for args in [&["mcp", "list"][..], &["mcp", "get", "bad"], &["doctor"]] {
        let told = scene.world.run(args.iter().copied()).finish().await.to_string();
        assert!(told.contains("refused *** *** ***") && !told.contains(FILLED), "{told}");
        assert!(!told.contains(LITERAL), "{told}");
    }
    scene.server.finish();
}

/// A scene with the stub over HTTP, whose keys are in a header each.
async fn over_http(refuses: &str) -> Scene {
    let mut scene = Scene::new();
    let Web { url, .. } = web().await;
    scene.world.env("STUB_TOKEN", FILLED);
    scene.world.config(&format!(
        "[mcp_servers.web]\nurl = \"{url}{refuses}?k=q-literal-77&key=${{STUB_TOKEN}}\"\n\
         headers = {{ Authorization = \"Bearer ${{STUB_TOKEN}}\", X-Key = \"{LITERAL}\" }}\n"
    ));
    scene
}

#[tokio::test]
async fn a_server_over_http_gives_no_key_away_in_an_error_or_a_result() {
    let scene = over_http("").await;
    assert_kept(&scene, "web").await;
    scene.server.finish();
}

#[tokio::test]
async fn a_server_over_http_that_refuses_gives_no_key_away() {
    for (way, said) in [("/401", "401"), ("/rpc", "MCP server web: refused *** ***")] {
        let scene = over_http(way).await;
        scene.server.when(PARENT).reply(text(DONE));
        let finished = scene.go().await;
        assert!(finished.to_string().contains(said), "{finished}");
        assert_hidden(&scene, &finished);
        scene.server.finish();
    }
}

#[tokio::test]
async fn a_key_that_a_server_repeats_in_a_tools_description_is_not_printed() {
    let scene = Scene::new();
    // The key lies across the end of what a line shows.
    let about = format!("{} {LITERAL}", "a".repeat(110));
    let list =
        json!([{ "name": "echo", "description": about, "inputSchema": { "type": "object" } }]);
    let keys = [("STUB_TOOLS", list.to_string()), ("API_KEY", LITERAL.to_owned())];
    let keys = [(keys[0].0, keys[0].1.as_str()), (keys[1].0, keys[1].1.as_str())];
    scene.world.config(&server(&scene, "stub", &keys));
    let shown = scene.world.run(["mcp", "get", "stub"]).finish().await;
    assert!(shown.stdout.contains("aaa ***"), "{shown}");
    assert!(!shown.to_string().contains("sk-lit"), "{shown}");
}

#[tokio::test]
async fn the_query_of_a_servers_address_is_shown_by_no_command() {
    let scene = over_http("").await;
    scene.server.offer(&["claude-sonnet-5"]);
    for args in [&["config", "show"][..], &["mcp", "list"], &["mcp", "get", "web"], &["doctor"]] {
        let shown = scene.world.run(args.iter().copied()).finish().await.to_string();
        assert!(shown.contains("web"), "{shown}");
        assert!(!shown.contains("q-literal-77"), "{shown}");
    }
}
