//! Commands in the background: started, read, ended, and gone with the one who started them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::process::{self, Fifo};
use crate::support::pty::{CTRL_C, ENTER, ESC, Screen};
use crate::support::record::{Recorded, ToolResult};
use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{Reply, dynamic, text, tool_use};

/// How soon all processes must be gone.
const TWO_SECONDS: Duration = Duration::from_secs(2);

/// One tool call of the scripted model, made again until its result has the text `until`.
struct Step {
    tool: &'static str,
    input: Value,
    until: &'static str,
}

/// A call that is made once.
fn once(tool: &'static str, input: Value) -> Step {
    Step { tool, input, until: "" }
}

fn start(command: &str) -> Step {
    once("Bash", background(command))
}

fn background(command: &str) -> Value {
    json!({ "command": command, "run_in_background": true })
}

fn read(until: &'static str) -> Step {
    Step { tool: "BashOutput", input: json!({ "bash_id": "bash-1" }), until }
}

fn kill() -> Step {
    once("KillShell", json!({ "shell_id": "bash-1" }))
}

/// A model that takes the steps one after the other, answers with `last`, and then with [`DONE`].
fn model(steps: impl IntoIterator<Item = Step>, last: Reply) -> Reply {
    let steps: Vec<_> = steps.into_iter().collect();
    let taken = Mutex::new(None::<usize>);
    dynamic(move |request| {
        let mut taken = taken.lock().unwrap();
        let fits = |step: &Step| request.tool_result().text.contains(step.until);
        let next = taken.map_or(0, |at| at + usize::from(steps.get(at).is_none_or(fits)));
        *taken = Some(next);
        match steps.get(next) {
            Some(step) => tool_use(step.tool, step.input.clone()),
            None if next == steps.len() => last.clone(),
            None => text(DONE),
        }
    })
}

/// The main agent's results of one tool, in order.
fn results_of(scene: &Scene, tool: &str) -> Vec<ToolResult> {
    let requests = scene.server.requests_of(PARENT);
    let of_tool = |request: &&Recorded| {
        let [.., answer, _] = request.messages() else { return false };
        let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
        blocks.iter().any(|block| block["name"] == tool)
    };
    requests.iter().filter(of_tool).map(Recorded::tool_result).collect()
}

/// A command that heeds no polite signal, with nested processes and one in a session of its own.
struct Stubborn {
    /// Held open by all of them.
    held: Fifo,
    /// Written to once they run; what the command prints then is `up`.
    up: Fifo,
    /// All have `marker` among their arguments.
    command: String,
}

impl Stubborn {
    fn new(scene: &Scene, marker: &str) -> Self {
        let fifo = |name: &str| Fifo::new(&scene.world.project_dir().join(name));
        let command = format!(
            "trap '' TERM INT HUP; exec 9> held.fifo; (sleep {marker} & sleep {marker}) & \
             setsid sh -c 'sleep {marker} & echo up; echo up > up.fifo; wait' & sleep {marker}"
        );
        Self { held: fifo("held.fifo"), up: fifo("up.fifo"), command }
    }
}

#[tokio::test]
async fn a_background_command_returns_at_once_and_each_output_is_read_once() {
    let scene = Scene::new();
    let time = process::marked_seconds(71);
    let server = format!("mkfifo go; echo one; read -r line < go; echo two $line; sleep {time}");
    let steps = [
        start(&server),
        read("one"),
        once("Bash", bash("echo 77 > go")),
        read("two 77"),
        read("no new output"),
    ];
    scene.server.when(PARENT).forever(model(steps, text(DONE)));
    scene.go().await;
    let started = &results_of(&scene, "Bash")[0];
    assert!(!started.is_error && started.text.contains(" as bash-1: "), "{started:?}");
    let reads = results_of(&scene, "BashOutput");
    let with = |word: &str| reads.iter().filter(|read| read.text.contains(word)).count();
    assert_eq!((with("one"), with("two 77")), (1, 1), "{reads:?}");
    assert!(reads.iter().all(|read| read.text.ends_with("[bash-1 is running]")), "{reads:?}");
    assert_eq!(process::with_argument(&time), Vec::<u32>::new(), "gone with the program");
    scene.server.finish();
}

#[tokio::test]
async fn a_command_that_ends_by_itself_says_how() {
    let scene = Scene::new();
    let late = json!({ "command": "sleep 71.4417", "run_in_background": true, "timeout": 300 });
    let other = |until| Step { tool: "BashOutput", input: json!({ "bash_id": "bash-2" }), until };
    let steps = [start("echo last; exit 3"), read("ended"), once("Bash", late), other("ended")];
    scene.server.when(PARENT).forever(model(steps, text(DONE)));
    scene.go().await;
    let reads = results_of(&scene, "BashOutput");
    let all: String = reads.iter().map(|read| read.text.as_str()).collect();
    assert!(all.contains("last\n") && all.contains("[bash-1 ended: exit code 3]"), "{all}");
    assert!(all.ends_with("[bash-2 ended: timed out after 0.3 s]"), "{all}");
    scene.server.finish();
}

#[tokio::test]
async fn a_filter_lets_only_its_lines_through_and_the_others_are_gone() {
    let scene = Scene::new();
    // In one write: else the last line may come after the first look.
    scene.world.write("log", "INFO a\nERROR b\nINFO c\n");
    let filtered = json!({ "bash_id": "bash-1", "filter": "^ERROR" });
    let steps = [
        start("cat log; sleep 71.5517"),
        Step { tool: "BashOutput", input: filtered, until: "ERROR" },
        read(""),
        once("BashOutput", json!({ "bash_id": "bash-1", "filter": "(" })),
    ];
    scene.server.when(PARENT).forever(model(steps, text(DONE)));
    scene.go().await;
    let mut reads = results_of(&scene, "BashOutput");
    let wrong = reads.pop().unwrap();
    assert!(wrong.is_error && wrong.text.starts_with("filter is not a regular expression"));
    assert_eq!(reads.pop().unwrap().text, "(no new output)\n[bash-1 is running]");
    assert_eq!(reads.pop().unwrap().text, "ERROR b\n[bash-1 is running]");
    scene.server.finish();
}

#[tokio::test]
async fn a_kill_ends_all_processes_before_it_says_so_and_a_second_one_is_an_error() {
    let scene = Scene::new();
    let time = process::marked_seconds(721);
    let stubborn = Stubborn::new(&scene, &time);
    let steps = [start(&stubborn.command), read("up"), kill()];
    let again = text("x").gate("killed").tool_use("KillShell", kill().input);
    scene.server.when(PARENT).forever(model(steps, again));
    let running = scene.run().start();
    scene.server.reached("killed").await;
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    scene.server.open("killed");
    running.wait().await.assert_code(0);
    let kills = results_of(&scene, "KillShell");
    assert_eq!(kills[0].text, "Killed bash-1 and all its processes.");
    assert_eq!(kills[1].text, "bash-1 has already ended: killed.");
    assert_eq!((kills[0].is_error, kills[1].is_error), (false, true));
    scene.server.finish();
}

#[tokio::test]
async fn an_id_that_is_none_of_its_own_is_told_with_those_that_are() {
    let scene = Scene::new();
    let steps = [
        once("BashOutput", json!({ "bash_id": "bash-1" })),
        start("sleep 71.6617"),
        once("BashOutput", json!({ "bash_id": "bash-9" })),
        once("KillShell", json!({ "shell_id": "bash-9" })),
        once("Bash", background("  ")),
    ];
    scene.server.when(PARENT).forever(model(steps, text(DONE)));
    scene.go().await;
    let unknown = "There is no background command bash-9. Yours are: bash-1.";
    let reads = results_of(&scene, "BashOutput");
    assert!(reads[0].is_error && reads[0].text.ends_with(
        "There is no background command bash-1. You have none. Start one with Bash and run_in_background."
    ));
    assert_eq!((reads[1].text.as_str(), reads[1].is_error), (unknown, true));
    assert_eq!(results_of(&scene, "KillShell")[0].text, unknown);
    let blank = &results_of(&scene, "Bash")[1];
    assert!(blank.is_error && blank.text.starts_with("command is blank"), "{blank:?}");
    scene.server.finish();
}

#[tokio::test]
async fn a_flood_keeps_only_its_end() {
    let scene = Scene::new();
    let through = Fifo::new(&scene.world.project_dir().join("through.fifo"));
    let flood = "yes | head -c 5000000; echo LAST; echo go > through.fifo; sleep 71.7717";
    let later = text("x").gate("through").tool_use("BashOutput", read("").input);
    let script = scene.server.when(PARENT).reply(tool_use("Bash", background(flood)));
    script.then(later).forever(text(DONE));
    let running = scene.run().start();
    through.opened().await;
    scene.server.open("through");
    running.wait().await.assert_code(0);
    let read = &results_of(&scene, "BashOutput")[0].text;
    assert!(read.starts_with("… ") && read.contains(" older characters left out …\n"), "{read}");
    assert!((29_000..31_000).contains(&read.chars().count()), "{}", read.chars().count());
    scene.server.finish();
}

#[tokio::test]
async fn a_background_command_needs_the_same_permission() {
    let scene = Scene::new();
    let denied = tool_use("Bash", background("touch made.txt"));
    scene.server.when("TASK-1").reply(denied).then(text(DONE));
    let run = scene.world.run(["-p", "TASK-1 go", "--output-format", "stream-json"]);
    let run = run.finish().await;
    assert!(scene.server.requests()[1].tool_result().is_error);
    assert_eq!(run.result()["permission_denials"][0]["tool_input"]["command"], "touch made.txt");
    assert!(!scene.world.exists("made.txt"));
    scene.server.finish();
}

#[tokio::test]
async fn background_shells_are_seen_by_the_agent_that_started_them_alone() {
    let scene = Scene::new();
    let look = || tool_use("BashOutput", read("").input);
    let parent = scene.server.when(PARENT).reply(tool_use("Bash", background("sleep 72.2217")));
    let children = ["CHILD-A", "CHILD-B"].map(agent);
    parent.then(calls(children)).then(look()).then(text(DONE));
    let own = tool_use("Bash", background("sleep 72.3317"));
    scene.server.when("CHILD-A").reply(own).then(text("x").gate("A started"));
    let other = text("x").gate("A is alive").tool_use("BashOutput", json!({ "bash_id": "bash-2" }));
    scene.server.when("CHILD-B").reply(other).then(look()).then(text("ended"));
    let running = scene.run().start();
    scene.server.reached("A started").await;
    scene.server.open("A is alive");
    scene.server.wait_for_of("CHILD-B", 3).await;
    scene.server.open("A started");
    running.wait().await.assert_code(0);
    let started = scene.server.requests_of("CHILD-A")[1].tool_result();
    assert!(started.text.contains(" as bash-2: "), "{started:?}");
    let seen = scene.server.requests_of("CHILD-B");
    for (request, id) in seen[1..].iter().zip(["bash-2", "bash-1"]) {
        let result = request.tool_result();
        let none = format!("There is no background command {id}. You have none. ");
        assert!(result.is_error && result.text.starts_with(&none), "{result:?}");
    }
    let own = scene.server.requests_of(PARENT)[3].tool_result();
    assert!(!own.is_error && own.text.ends_with("[bash-1 is running]"), "{own:?}");
    scene.server.finish();
}

#[tokio::test]
async fn background_shells_of_a_child_are_gone_when_the_child_has_ended() {
    let scene = Scene::new();
    let time = process::marked_seconds(722);
    let Stubborn { up, command, .. } = Stubborn::new(&scene, &time);
    let script = scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    script.then(text(DONE).gate("child ended"));
    let script = scene.server.when("CHILD-A").reply(tool_use("Bash", background(&command)));
    script.then(text("child done").gate("up"));
    let running = scene.run().start();
    up.opened().await;
    scene.server.reached("up").await;
    assert_ne!(process::with_argument(&time), Vec::<u32>::new());
    scene.server.open("up");
    scene.server.reached("child ended").await;
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    scene.server.open("child ended");
    running.wait().await.assert_code(0);
    assert_eq!(scene.server.requests_of(PARENT)[1].tool_result().text, "child done");
    scene.server.finish();
}

#[tokio::test]
async fn a_cancel_of_a_child_takes_its_background_along() {
    let scene = Scene::new();
    let time = process::marked_seconds(723);
    let Stubborn { held, up, command } = Stubborn::new(&scene, &time);
    scene.parent_calls([agent("CHILD-A")]);
    let script = scene.server.when("CHILD-A").reply(tool_use("Bash", background(&command)));
    script.then(text("PARTIAL-77").stall());
    let args = ["--dangerously-skip-permissions", "PARENT-1 go"];
    let screen = Screen::start(&scene.world, args, 100, 30);
    up.opened().await;
    screen.wait_for("PARTIAL-77");
    let pressed = Instant::now();
    screen.keys(CTRL_C);
    let took = held.closed().await - pressed;
    assert!(took < TWO_SECONDS, "{took:?}");
    screen.wait_for(DONE);
    scene.server.finish();
}

#[tokio::test]
async fn sigterm_takes_the_background_along() {
    let scene = Scene::new();
    let time = process::marked_seconds(724);
    let Stubborn { held, up, command } = Stubborn::new(&scene, &time);
    let script = scene.server.when(PARENT).reply(tool_use("Bash", background(&command)));
    script.then(text("x").stall());
    let running = scene.run().start();
    up.opened().await;
    scene.server.wait_for(2).await;
    let sent = Instant::now();
    running.signal(Signal::SIGTERM);
    running.wait().await.assert_code(143);
    assert_eq!(process::with_argument(&time), Vec::<u32>::new());
    let took = held.closed().await - sent;
    assert!(took < TWO_SECONDS, "{took:?}");
    scene.server.finish();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn sigkill_takes_the_background_along() {
    let scene = Scene::new();
    let time = process::marked_seconds(725);
    let Stubborn { up, command, .. } = Stubborn::new(&scene, &time);
    let script = scene.server.when(PARENT).reply(tool_use("Bash", background(&command)));
    script.then(text("x").stall());
    let running = scene.run().start();
    up.opened().await;
    scene.server.wait_for(2).await;
    running.signal(Signal::SIGKILL);
    assert_eq!(process::left_after(TWO_SECONDS, &time).await, Vec::<u32>::new());
    scene.server.finish();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn sigkill_takes_a_command_of_a_child_along() {
    let scene = Scene::new();
    let time = process::marked_seconds(726);
    let Stubborn { up, command, .. } = Stubborn::new(&scene, &time);
    scene.server.when(PARENT).reply(calls([agent("CHILD-A")]));
    scene.server.when("CHILD-A").reply(tool_use("Bash", bash(&command)));
    let running = scene.run().start();
    up.opened().await;
    running.signal(Signal::SIGKILL);
    assert_eq!(process::left_after(TWO_SECONDS, &time).await, Vec::<u32>::new());
    scene.server.finish();
}

#[tokio::test]
async fn the_background_outlives_a_turn_and_ends_with_the_session() {
    let scene = Scene::new();
    let held = Fifo::new(&scene.world.project_dir().join("held.fifo"));
    let script = scene.server.when(PARENT);
    let steps = [start("exec 9> held.fifo; echo up; sleep 72.8817"), read("up")];
    script.forever(model(steps, text("FIRST-77").stall()));
    let screen =
        Screen::start(&scene.world, ["--dangerously-skip-permissions", "PARENT-1 go"], 100, 30);
    screen.wait_for("FIRST-77");
    screen.keys(ESC);
    screen.wait_for("Stopped");
    scene.server.when(PARENT).forever(model([read("")], text("SECOND-77")));
    screen.keys("and now?");
    screen.keys(ENTER);
    screen.wait_for("SECOND-77");
    let read = results_of(&scene, "BashOutput").pop().unwrap();
    assert_eq!(read.text, "(no new output)\n[bash-1 is running]");
    // While main works, the command waits for it.
    screen.wait_for("done in");
    screen.keys("/clear");
    screen.keys(ENTER);
    screen.wait_for("1 command is running · /clear again stops it");
    screen.keys("/clear");
    screen.keys(ENTER);
    held.closed().await;
    scene.server.finish();
}
