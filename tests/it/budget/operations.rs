//! How many requests and tool calls go on at the same time.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;

use crate::support::DEADLINE;
use crate::support::process;
use crate::support::pty::Screen;
use crate::support::run::Running;
use crate::support::scene::{DONE, PARENT, Scene, agent, bash};
use crate::support::script::{Reply, text, tool_use};

/// A pipe that neither side waits to open.
fn pipe(path: &Path) -> File {
    mkfifo(path, Mode::S_IRWXU).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// How long nothing may begin before it counts as held back.
const QUIET: Duration = Duration::from_millis(400);

/// Commands that say that they have begun, and then wait to be let go.
struct Held {
    begun: Receiver<()>,
    go: File,
    dir: PathBuf,
}

impl Held {
    fn new(scene: &Scene) -> Self {
        let dir = scene.world.project_dir();
        let lines = BufReader::new(pipe(&dir.join("begun.fifo"))).lines();
        let (tell, begun) = mpsc::channel();
        // It is left behind, waiting for more, when the test ends.
        std::thread::spawn(move || lines.map_while(Result::ok).all(|_| tell.send(()).is_ok()));
        Self { begun, go: pipe(&dir.join("go.fifo")), dir }
    }

    fn command(&self) -> Value {
        let dir = self.dir.display();
        bash(&format!("echo begun > {dir}/begun.fifo; read -r line < {dir}/go.fifo"))
    }

    /// Waits until so many more have begun, and then sees that it stays at that.
    #[track_caller]
    fn have_begun(&self, count: usize) {
        for number in 1..=count {
            let waited = self.begun.recv_timeout(DEADLINE);
            assert!(waited.is_ok(), "waited in vain for the command number {number}");
        }
        self.nothing_begins();
    }

    #[track_caller]
    fn nothing_begins(&self) {
        assert!(self.begun.recv_timeout(QUIET).is_err(), "one command too many began");
    }

    fn let_go(&mut self, count: usize) {
        self.go.write_all("go\n".repeat(count).as_bytes()).unwrap();
    }
}

/// How many commands and how many requests there are: each command at work is a child of the program.
fn seen(running: &Running, scene: &Scene) -> (usize, usize) {
    (process::children(running.pid()).len(), scene.server.requests().len())
}

#[tokio::test]
async fn a_mixed_batch_never_has_more_than_two_at_work() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_concurrent_ops = 2\n");
    let mut held = Held::new(&scene);
    let words = ["CHILD-A", "CHILD-B", "CHILD-C"];
    let commands = tool_use("Bash", held.command()).tool_use("Bash", held.command());
    let batch =
        words.into_iter().fold(commands, |reply, word| reply.tool_use("AgentTool", agent(word)));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    for word in words {
        let child = text("half").gate("held").tool_use("Bash", held.command());
        scene.server.when(word).reply(child).then(text("ok"));
    }
    let running = scene.run().start();
    held.have_begun(2);
    assert_eq!(seen(&running, &scene), (2, 1), "two commands, and the children wait");
    held.let_go(2);
    scene.server.reached_by("held", 2).await;
    held.nothing_begins();
    assert_eq!(seen(&running, &scene), (0, 3), "two requests, and the third child waits");
    scene.server.open("held");
    held.have_begun(2);
    assert_eq!(seen(&running, &scene), (2, 4), "two commands, and that of the third child waits");
    held.let_go(3);
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn of_forty_mixed_operations_thirty_two_go_on_at_a_time() {
    let scene = Scene::new();
    let mut held = Held::new(&scene);
    let commands = (0..36).fold(Reply::stream(), |reply, _| reply.tool_use("Bash", held.command()));
    let words = ["CHILD-A", "CHILD-B", "CHILD-C", "CHILD-D"];
    let batch =
        words.into_iter().fold(commands, |reply, word| reply.tool_use("AgentTool", agent(word)));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    for word in words {
        scene.server.when(word).reply(text("ok"));
    }
    let running = scene.run().start();
    held.have_begun(32);
    assert_eq!(seen(&running, &scene), (32, 1), "the children wait for a place");
    held.let_go(36);
    running.wait().await.assert_code(0);
    scene.server.finish();
}

#[tokio::test]
async fn an_agent_that_waits_for_its_child_holds_no_place() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_concurrent_ops = 1\n");
    scene.parent_calls([agent("CHILD-A"), agent("CHILD-B")]);
    for word in ["CHILD-A", "CHILD-B"] {
        scene.server.when(word).reply(tool_use("Bash", bash("true"))).then(text("ok"));
    }
    assert_eq!(scene.go().await.result()["result"], DONE);
    scene.server.finish();
}

#[tokio::test]
async fn a_call_that_is_asked_about_holds_no_place() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nmax_concurrent_ops = 1\n");
    let batch = tool_use("Bash", bash("touch a.txt")).tool_use("AgentTool", agent("CHILD-A"));
    scene.server.when(PARENT).reply(batch).then(text(DONE));
    scene.server.when("CHILD-A").reply(text("half").gate("held"));
    let args = ["--allowed-tools", "AgentTool", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 120, 40);
    screen.wait_for("1  Yes");
    scene.server.reached("held").await;
    assert!(!scene.world.exists("a.txt"), "the question is open while the child has the one place");
    scene.server.open("held");
    screen.keys("1");
    screen.wait_for(DONE);
    assert!(scene.world.exists("a.txt"));
    scene.server.finish();
}
