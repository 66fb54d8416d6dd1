//! Real servers from npm, where `.ci/run` has installed them; elsewhere these tests say that they skip.

use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use serde_json::{Value, json};

use super::{last, offered};
use crate::support::pty::Screen;
use crate::support::scene::{DONE, PARENT, Scene};
use crate::support::script::{Reply, text, tool_use};
use crate::support::{DEADLINE, process, skip};

const EVERYTHING: &str = "server-everything";
const FILES: &str = "server-filesystem";

/// The script of an installed server; without it or without node the test is skipped aloud.
fn installed(test: &str, server: &str) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/mcp-servers/node_modules/@modelcontextprotocol")
        .join(server)
        .join("dist/index.js");
    if !script.is_file() {
        skip(test, &format!("{server} is not installed, .ci/run does that"));
        return None;
    }
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(test, "there is no node");
        return None;
    }
    Some(script)
}

/// The one server in the person's configuration: node with these arguments.
fn configure(scene: &Scene, name: &str, args: &[&str]) {
    let args = Value::from(args);
    scene.world.config(&format!("[mcp_servers.{name}]\ncommand = \"node\"\nargs = {args}\n"));
}

/// Each result at the end of the last request, block by block: a text as it is, an image as its type.
fn results(scene: &Scene) -> Vec<Vec<String>> {
    let request = last(scene);
    let content = request.messages().last().unwrap()["content"].as_array().unwrap();
    let shown = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "image" => block["source"]["media_type"].as_str().unwrap().to_owned(),
        other => panic!("a block of type {other}"),
    };
    let blocks = |result: &Value| match &result["content"] {
        Value::String(text) => vec![text.clone()],
        content => content.as_array().unwrap().iter().map(shown).collect(),
    };
    content.iter().filter(|block| block["type"] == "tool_result").map(blocks).collect()
}

/// One message that calls a tool of each kind of the reference server.
fn each_kind() -> Reply {
    [
        ("echo", json!({"message": "hello there"})),
        ("get-sum", json!({"a": 2, "b": 3})),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        ("get-tiny-image", json!({})),
        ("get-resource-links", json!({"count": 1})),
        ("trigger-long-running-operation", json!({"duration": 0.2, "steps": 2})),
        ("echo", json!({})),
        ("simulate-research-query", json!({"topic": "tides"})),
    ]
    .into_iter()
    .fold(Reply::stream(), |reply, (tool, input)| {
        reply.tool_use(&format!("mcp__everything__{tool}"), input)
    })
}

/// Fails unless the model has read what those tools answer.
fn assert_each_kind(scene: &Scene) {
    let results = results(scene);
    assert_eq!(results[0], ["Echo: hello there"]);
    assert_eq!(results[1], ["The sum of 2 and 3 is 5."]);
    let weather: Value = serde_json::from_str(&results[2][0]).unwrap();
    assert_eq!(weather["conditions"], "Light rain / drizzle");
    assert_eq!(results[3], ["Error: Operation failed", "image/png"]);
    assert_eq!(results[4][1], "image/png");
    let link = "[resource demo://resource/dynamic/blob/1: Blob Resource 1";
    assert!(results[5].concat().contains(link), "{results:?}");
    let done = "Long running operation completed. Duration: 0.2 seconds, Steps: 2.";
    assert_eq!(results[6], [done]);
    assert!(results[7][0].contains("Input validation error"), "{results:?}");
    assert!(results[8][0].contains("requires task"), "{results:?}");
    let errors: Vec<_> = last(scene).tool_results().iter().map(|it| it.is_error).collect();
    assert_eq!(errors, [false, false, false, false, false, false, false, true, true]);
}

#[tokio::test]
async fn the_reference_server_is_used_over_stdio() {
    let Some(script) = installed("the_reference_server_is_used_over_stdio", EVERYTHING) else {
        return;
    };
    let scene = Scene::new();
    let marker = format!("real-stdio-{}", std::process::id());
    configure(&scene, "everything", &[script.to_str().unwrap(), "stdio", &marker]);
    scene.server.when(PARENT).reply(each_kind()).then(text(DONE).gate("held"));
    let running = scene.run().start();
    scene.server.reached("held").await;
    assert!(!process::with_argument(&marker).is_empty(), "it runs as long as we do");
    scene.server.open("held");
    let finished = running.wait().await;
    finished.assert_code(0);
    assert_each_kind(&scene);
    assert_eq!(process::left_after(Duration::from_secs(3), &marker).await, [0; 0]);
    scene.server.finish();
}

#[tokio::test]
async fn the_reference_servers_progress_is_shown_and_its_call_can_be_stopped() {
    let test = "the_reference_servers_progress_is_shown_and_its_call_can_be_stopped";
    let Some(script) = installed(test, EVERYTHING) else { return };
    let scene = Scene::new();
    let marker = format!("real-screen-{}", std::process::id());
    configure(&scene, "everything", &[script.to_str().unwrap(), "stdio", &marker]);
    let slow = json!({"duration": 600, "steps": 3000});
    let slow = tool_use("mcp__everything__trigger-long-running-operation", slow);
    let echo = tool_use("mcp__everything__echo", json!({"message": "still there"}));
    scene.server.when(PARENT).reply(slow).then(echo).then(text(DONE));
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    screen.wait_for("2/3000");
    screen.keys("\u{3}");
    screen.wait_for("stopped after");
    screen.keys("go on\r");
    screen.wait_for(DONE);
    assert_eq!(results(&scene), [["Echo: still there"]]);
    screen.quit_when_idle();
    screen.exit().assert_restored();
    assert_eq!(process::left_after(Duration::from_secs(3), &marker).await, [0; 0]);
    scene.server.finish();
}

/// The reference server as a web server of its own; ended with this.
struct WebServer {
    child: Child,
    port: u16,
    lines: Receiver<String>,
}

impl WebServer {
    /// Starts it on a free port. Somebody else may take that before the server does: then on another.
    fn start(script: &Path) -> Self {
        let started = (0..5).map(|_| Self::try_start(script));
        let mut up =
            started.filter_map(|mut server| server.printed("listening on port").then_some(server));
        up.next().expect("the server did not start")
    }

    fn try_start(script: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("node");
        command.arg(script).arg("streamableHttp").env("PORT", port.to_string());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        pass_on(child.stdout.take().unwrap(), sender.clone());
        pass_on(child.stderr.take().unwrap(), sender);
        Self { child, port, lines }
    }

    /// Waits until it prints this; false when it ends before.
    fn printed(&mut self, text: &str) -> bool {
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(text) => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {text}"),
            }
        }
    }
}

/// Reads line by line in a thread of its own.
fn pass_on(pipe: impl Read + Send + 'static, lines: Sender<String>) {
    std::thread::spawn(move || {
        // Nobody listens any more when the test has ended.
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
    });
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_reference_server_is_used_over_http_and_its_session_is_closed() {
    let test = "the_reference_server_is_used_over_http_and_its_session_is_closed";
    let Some(script) = installed(test, EVERYTHING) else { return };
    let mut web = WebServer::start(&script);
    let scene = Scene::new();
    let url = format!("http://127.0.0.1:{}/mcp", web.port);
    scene.world.config(&format!("[mcp_servers.everything]\nurl = \"{url}\"\n"));
    scene.server.when(PARENT).reply(each_kind()).then(text(DONE));
    scene.go().await;
    assert_each_kind(&scene);
    assert!(web.printed("Received session termination request"));
    scene.server.finish();
}

#[tokio::test]
async fn the_file_server_reads_and_writes_within_its_folder_and_our_rules() {
    let test = "the_file_server_reads_and_writes_within_its_folder_and_our_rules";
    let Some(script) = installed(test, FILES) else { return };
    let scene = Scene::new();
    let folder = scene.world.project_dir().display().to_string();
    scene.world.write("notes.txt", "NOTE-77");
    configure(&scene, "files", &[script.to_str().unwrap(), &folder]);
    let batch = || {
        let path = |name: &str| json!({"path": format!("{folder}/{name}"), "content": "written"});
        tool_use("mcp__files__read_text_file", json!({"path": format!("{folder}/notes.txt")}))
            .tool_use("mcp__files__list_directory", json!({"path": folder}))
            .tool_use("mcp__files__read_text_file", json!({"path": "/etc/hostname"}))
            .tool_use("mcp__files__write_file", path("new.txt"))
    };
    let reads = "mcp__files__read_text_file,mcp__files__list_directory";
    for (rule, may_write) in [(reads, false), ("mcp__files", true)] {
        scene.server.when(PARENT).reply(batch()).then(text(DONE));
        let run = scene.world.run(["-p", "PARENT-1 go", "--allowed-tools", rule]);
        run.finish().await.assert_code(0);
        let results = last(&scene).tool_results();
        assert_eq!(results[0].text, "NOTE-77");
        assert!(results[1].text.contains("[FILE] notes.txt"), "{results:?}");
        assert!(results[2].text.contains("outside allowed directories"), "{results:?}");
        let errors: Vec<_> = results.iter().map(|it| it.is_error).collect();
        assert_eq!(errors, [false, false, true, !may_write], "{rule}: {results:?}");
        assert_eq!(scene.world.exists("new.txt"), may_write, "{rule}");
    }
    assert_eq!(scene.world.read("new.txt"), "written");
    scene.server.when(PARENT).reply(text(DONE));
    scene
        .run()
        .args(["--disallowed-tools", "mcp__files__write_file"])
        .finish()
        .await
        .assert_code(0);
    let names = offered(&last(&scene));
    assert!(names.contains(&"mcp__files__edit_file".to_owned()), "{names:?}");
    assert!(!names.contains(&"mcp__files__write_file".to_owned()), "{names:?}");
    assert_eq!(process::left_after(Duration::from_secs(3), &folder).await, [0; 0]);
    scene.server.finish();
}
