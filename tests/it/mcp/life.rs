//! When servers run: started beside everything else, started again, gone with the one who needs them.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use super::{count, last, noted, offered, server, tools};
use crate::support::DEADLINE;
use crate::support::client::Client;
use crate::support::process;
use crate::support::pty::{ESC, Screen};
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{text, tool_use};

#[tokio::test]
async fn the_first_request_waits_a_while_and_the_missing_ones_are_named() {
    let scene = Scene::new();
    let silent = server(&scene, "silent", &[("STUB_MODE", "silent")]);
    scene.world.config(&format!("{silent}{}", server(&scene, "good", &[])));
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.go().await;
    assert_eq!(offered(&last(&scene)), ["mcp__good__echo"]);
    let text =
        "MCP servers not ready: silent. Their tools are added with the next prompt after they are.";
    let frames = finished.frames();
    let said = frames.iter().filter(|frame| frame["text"] == text).count();
    assert_eq!(said, 1, "{finished}");
    assert!(finished.took >= Duration::from_secs(4), "{:?}", finished.took);
    assert_eq!(
        frames[0]["mcp_servers"],
        json!([{"name": "good", "status": "connected"}, {"name": "silent", "status": "pending"}])
    );
    scene.server.finish();
}

#[tokio::test]
async fn the_screen_does_not_wait_for_servers_and_shows_how_they_stand() {
    let scene = Scene::new();
    let silent = server(&scene, "silent", &[("STUB_MODE", "silent")]);
    let dead = server(&scene, "dead", &[("STUB_MODE", "die")]);
    scene.world.config(&format!("{silent}{dead}{}", server(&scene, "good", &[])));
    let screen = Screen::start(&scene.world, [], 120, 30);
    screen.wait_for("it said: no licence");
    process::eventually(|| count(&scene, "good", "list") == 1).await;
    screen.keys("/mcp\r");
    screen.wait_for("good    connected    1 tool");
    screen.wait_for("offers: echo");
    screen.wait_for("silent  pending     0 tools");
    screen.wait_for("dead    failed      0 tools");
    screen.wait_for("last error: it ended with exit code 3; it said: no licence found");
    scene.server.finish();
}

#[tokio::test]
async fn a_prompt_that_waits_for_servers_is_shown_and_can_be_stopped() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "silent", &[("STUB_MODE", "silent")]));
    let screen = Screen::start(&scene.world, ["PARENT-1 go"], 120, 30);
    let shown = screen.wait_for("waiting for MCP servers: silent");
    assert!(shown.contains("↳ main once that is done   PARENT-1 go"), "{shown}");
    screen.keys(ESC);
    screen.wait_for("stopped after");
    assert_eq!(scene.server.requests().len(), 0);
    scene.server.finish();
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_and_the_call_in_flight_gets_an_error() {
    let scene = Scene::new();
    let list = tools(&["die", "echo"]);
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &list)]));
    let dies = tool_use("mcp__stub__die", json!({}));
    let echo = tool_use("mcp__stub__echo", json!({"text": "again"}));
    scene.server.when(PARENT).reply(dies).then(echo).then(text(DONE));
    let finished = scene.go().await;
    let results: Vec<_> = scene.server.requests_of(PARENT)[1..]
        .iter()
        .map(|request| request.tool_result())
        .map(|result| (result.text, result.is_error))
        .collect();
    let gone = "MCP server stub: it ended before it answered";
    assert_eq!(results, [(gone.to_owned(), true), ("again".to_owned(), false)]);
    assert_eq!(count(&scene, "stub", "started"), 2);
    let said = "MCP server stub: ended and is being restarted: it ended with exit code 7";
    assert!(finished.frames().iter().any(|frame| frame["text"] == said), "{finished}");
    scene.server.finish();
}

#[tokio::test]
async fn tools_that_come_later_are_offered_with_the_next_prompt() {
    let scene = Scene::new();
    scene.world.config(&server(&scene, "stub", &[("STUB_TOOLS", &tools(&["grow"]))]));
    let grow = tool_use("mcp__stub__grow", json!({}));
    scene.server.when(PARENT).reply(grow).then(text(DONE)).then(text("second done"));
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let run = scene.world.run(args).args(["--verbose", "--dangerously-skip-permissions"]);
    let mut client = Client::start(run);
    client.turn("PARENT-1 go").await;
    // Nothing tells when the new list was read, but how the server stands does.
    let grown = json!([{ "name": "mcp__stub__echo" }, { "name": "mcp__stub__grown" }]);
    let read = async {
        let status = || json!({ "subtype": "mcp_status" });
        while client.request(status()).await.unwrap()["mcpServers"][0]["tools"] != grown {}
    };
    tokio::time::timeout(DEADLINE, read).await.expect("the new list was never read");
    client.turn("more").await;
    client.close().await.assert_code(0);
    let requests = scene.server.requests_of(PARENT);
    assert_eq!(offered(&requests[1]), ["mcp__stub__grow"], "as it began");
    assert_eq!(offered(&requests[2]), ["mcp__stub__echo", "mcp__stub__grown"]);
    scene.server.finish();
}

/// Runs until so many marked processes are there, ends the run by this signal or in good order, and
/// looks for them again.
async fn assert_gone_after_the_end(
    scene: &Scene,
    marker: &str,
    processes: usize,
    signal: Option<Signal>,
) {
    scene.server.when(PARENT).reply(text("half").gate("held").more("whole"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    process::eventually(|| process::with_argument(marker).len() >= processes).await;
    match signal {
        Some(signal) => running.signal(signal),
        None => scene.server.open("held"),
    }
    let _ = running.wait().await;
    let left = process::left_after(Duration::from_secs(3), marker).await;
    assert_eq!(left, [0; 0], "{signal:?}");
}

#[tokio::test]
async fn no_server_outlives_the_program_however_it_ends() {
    for signal in [
        None,
        Some(Signal::SIGTERM),
        Some(Signal::SIGINT),
        Some(Signal::SIGHUP),
        Some(Signal::SIGKILL),
    ] {
        let scene = Scene::new();
        let marker =
            format!("mcp-marker-{}-{}", std::process::id(), signal.map_or("end", Signal::as_str));
        let config =
            server(&scene, "stub", &[]).replace("stub.sh\"", &format!("stub.sh\", \"{marker}\""));
        // One that never ends by itself, and has started another.
        let stubborn = format!(
            "[mcp_servers.stubborn]\ncommand = \"bash\"\nargs = [\"-c\", \"trap '' TERM; bash -c 'sleep 1000; : {marker}' & bash '{}' {marker}; sleep 1000\"]\n",
            super::stub().display()
        );
        scene.world.config(&format!("{config}{stubborn}"));
        // Two servers, and what the second has started.
        assert_gone_after_the_end(&scene, &marker, 4, signal).await;
    }
}

#[tokio::test]
async fn what_a_server_has_started_in_a_session_of_its_own_goes_with_it_when_we_go() {
    for signal in [None, Some(Signal::SIGTERM)] {
        let scene = Scene::new();
        let name = signal.map_or("end", Signal::as_str);
        let marker = format!("mcp-apart-{}-{name}", std::process::id());
        // The server itself ends as soon as its input does.
        let apart = format!(
            "[mcp_servers.apart]\ncommand = \"bash\"\nargs = [\"-c\", \"setsid bash -c 'sleep 1000; : {marker}' >/dev/null 2>&1 & . '{}'\"]\n",
            super::stub().display()
        );
        scene.world.config(&apart);
        assert_gone_after_the_end(&scene, &marker, 2, signal).await;
    }
}

#[tokio::test]
async fn without_servers_nothing_is_started_and_nothing_said() {
    let scene = Scene::new();
    scene.server.when(PARENT).reply(text(DONE));
    let finished = scene.go().await;
    assert_eq!(finished.frames()[0]["mcp_servers"], json!([]));
    assert!(!finished.stdout.contains("MCP"));
    assert_eq!(noted(&scene, "stub"), [""; 0]);
    scene.server.finish();
}
