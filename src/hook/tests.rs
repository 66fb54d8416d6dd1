//! Hooks as an agent runs them: real commands and callbacks, their input, and the effect of their answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::{HookConfig, Matcher, Origin};
use crate::exec::{StartDirs, StartSettings};
use crate::protocol::{
    AgentEvent, EnvOverlay, EventKind, EventQueue, Peer, PeerError, PeerRequest, PermissionMode,
    Redactor, ResultBlock, SharedPeer, StartDir, ToolUseId,
};

mod answers;
mod callback;
mod start;

/// A project folder with hooks, and a session that has them.
struct HookBench {
    folder: tempfile::TempDir,
    /// The folder for private folders.
    elsewhere: tempfile::TempDir,
    set: HookSet,
    queue: EventQueue,
    cancel: CancellationToken,
}

fn config(event: HookEvent, matcher: &str, command: &str) -> HookConfig {
    HookConfig {
        event,
        matcher: Matcher::parse(matcher).unwrap(),
        command: command.to_owned(),
        is_async: false,
        timeout: Duration::from_secs(20),
        origin: Origin::Flag { name: "--settings" },
        wants_project_cwd: false,
        // Replaced by the bench's own folder.
        start: StartDir::project(Path::new("/")),
    }
}

impl HookBench {
    fn new(hooks: Vec<HookConfig>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env = EnvOverlay::from_iter([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("ANTHROPIC_API_KEY", "sk-secret"),
            ("WORK_KEY", "sk-secret"),
        ]);
        let project: Arc<Path> = folder.path().canonicalize().unwrap().into();
        let secrets = vec!["WORK_KEY".to_owned()];
        let elsewhere = tempfile::tempdir().unwrap();
        let starts = StartDirs::new(StartSettings {
            project: project.to_path_buf(),
            working: vec![project.to_path_buf()],
            state: elsewhere.path().to_owned(),
            temp: Vec::new(),
            home: None,
            supervisor: None,
        });
        let redactor = Redactor::default();
        let placed = |hook: HookConfig| match hook.start {
            StartDir::Private => hook,
            StartDir::Project(_) => hook.in_folder(&project),
        };
        let hooks = hooks.into_iter().map(placed).collect();
        let set = HookSet::new(HookSettings { hooks, starts, env, secrets, redactor });
        let (queue, cancel) = (EventQueue::unbounded(), CancellationToken::new());
        Self { folder, elsewhere, set, queue, cancel }
    }

    fn one(event: HookEvent, command: &str) -> Self {
        Self::new(vec![config(event, "", command)])
    }

    fn hooks(&self) -> Hooks {
        let transcript = PathBuf::from("/data/sessions/s/transcript.jsonl");
        Hooks::new(self.set.clone(), HookSession { id: None, transcript })
    }

    async fn run(&self, moment: &HookInput<'_>) -> HookOutput {
        self.run_as(&self.hooks(), moment).await
    }

    async fn run_as(&self, hooks: &Hooks, moment: &HookInput<'_>) -> HookOutput {
        let events = self.queue.sink();
        let here =
            HookContext { cwd: Path::new("/work"), mode: PermissionMode::Plan, events: &events };
        hooks.run(moment, here, &self.cancel).await
    }

    /// The notices that the user has received.
    fn lines(&self) -> Vec<String> {
        let mut events: Vec<AgentEvent> = Vec::new();
        self.queue.drain_ready(&mut events, 100);
        let line = |event: AgentEvent| match event.kind {
            EventKind::Notice { text, .. } => Some(text),
            _ => None,
        };
        events.into_iter().filter_map(line).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

/// Runs `then` with a call of Bash.
async fn with_call<T>(tool: &str, then: impl AsyncFnOnce(HookToolCall<'_>) -> T) -> T {
    let (id, input) = (ToolUseId::new("toolu_1"), json!({ "command": "ls" }));
    then(HookToolCall { id: &id, tool, input: &input, file: None }).await
}

async fn before_bash(bench: &HookBench) -> HookOutput {
    with_call("Bash", async |call| bench.run(&HookInput::PreToolUse(call)).await).await
}

#[tokio::test]
async fn a_sub_agents_hooks_know_who_it_is_and_its_own_run_for_it_alone() {
    let bench = HookBench::one(HookEvent::SubagentStop, "cat >told");
    let id = AgentId::generate();
    let own = config(HookEvent::SubagentStop, "explore", "touch own");
    let own = Hook::command(&own.in_folder(bench.folder.path()));
    let hooks = bench.hooks().for_agent(id, "explore", vec![Arc::new(own)]);
    let stop = HookInput::Stop { again: false, last: "x" };
    bench.run(&stop).await;
    assert!(!bench.folder.path().join("told").exists(), "main's end has another name");
    bench.run_as(&bench.hooks().for_agent(id, "other", Vec::new()), &stop).await;
    assert!(!bench.folder.path().join("own").exists());
    bench.run_as(&hooks, &stop).await;
    let told: Value = serde_json::from_str(&bench.file("told")).unwrap();
    assert_eq!(told["hook_event_name"], "SubagentStop");
    assert_eq!(
        (&told["agent_id"], &told["agent_type"]),
        (&json!(id.to_string()), &json!("explore"))
    );
    let transcript = format!("/data/sessions/s/agents/{id}.jsonl");
    assert_eq!(told["agent_transcript_path"], transcript);
    assert_eq!(told["transcript_path"], "/data/sessions/s/transcript.jsonl");
    assert!(bench.folder.path().join("own").exists());
}

#[tokio::test]
async fn matchers_choose_by_tool_agent_or_cause_and_where_they_mean_nothing_all_run() {
    let (id, input) = (ToolUseId::new("t"), json!({}));
    let call =
        |tool| HookInput::PreToolUse(HookToolCall { id: &id, tool, input: &input, file: None });
    let start = |source| HookInput::SessionStart { source, model: None };
    let table = [
        ("Agent", call("AgentTool"), true),
        ("Task", call("AgentTool"), true),
        ("AgentTool|Bash", call("Task"), true),
        ("^Task$", call("AgentTool"), true),
        ("AgentTool", call("agent_fork"), true),
        ("Task", call("delegate_to_explore"), true),
        ("agent_spawn", call("agent_spawn"), true),
        ("AgentTool", call("agent_wait"), false),
        ("Bash", call("BashOutput"), false),
        ("Edit|Write", call("Write"), true),
        ("mcp__.*", call("Bash"), false),
        ("startup|resume", start(SessionSource::Resume), true),
        ("startup", start(SessionSource::Clear), false),
        ("clear", HookInput::SessionEnd(SessionEndReason::Clear), true),
        ("manual", HookInput::PreCompact { by_hand: false, instructions: None }, false),
        ("idle_prompt", HookInput::Notification(NotificationKind::Idle), true),
        ("Bash", HookInput::UserPromptSubmit { prompt: "x" }, true),
        ("Bash", HookInput::Stop { again: false, last: "" }, true),
    ];
    for (matcher, moment, expected) in table {
        let bench = HookBench::new(vec![config(moment.event(false), matcher, "touch ran")]);
        bench.run(&moment).await;
        let ran = bench.folder.path().join("ran").exists();
        assert_eq!(ran, expected, "{matcher}: {moment:?}");
    }
}

#[tokio::test]
async fn hooks_of_one_moment_run_side_by_side_and_the_same_command_once() {
    let first = "echo a >fifo; echo one >>log";
    let second = "read -r _ <fifo; echo two >>log";
    let hooks = [first, second, first, second].map(|line| config(HookEvent::PreToolUse, "", line));
    let bench = HookBench::new(hooks.to_vec());
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Each waits for the other: one after the other, neither would end before its time is over.
    assert_eq!(before_bash(&bench).await, HookOutput::default());
    assert_eq!(bench.lines(), [""; 0]);
    let log = bench.file("log");
    let mut log: Vec<&str> = log.lines().collect();
    log.sort_unstable();
    assert_eq!(log, ["one", "two"]);
}

#[tokio::test]
async fn a_hook_that_hangs_forks_and_ignores_term_is_ended_at_its_limit_with_all_it_started() {
    use tokio::io::AsyncReadExt as _;

    let line = "trap '' TERM; exec 9>fifo; printf '!' >&9; (trap '' TERM; sleep 1000) & sleep 1000";
    let hang = HookConfig {
        timeout: Duration::from_secs(1),
        ..config(HookEvent::PreToolUse, "Bash", line)
    };
    let bench = HookBench::new(vec![hang]);
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut witness = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
    assert_eq!(before_bash(&bench).await, HookOutput::default());
    let lines = bench.lines();
    assert!(
        lines.len() == 1
            && lines[0].starts_with("hook PreToolUse(Bash): trap")
            && lines[0].ends_with(": timed out after 1 s; killed with all its processes"),
        "{lines:?}"
    );
    let mut said = String::new();
    let read = witness.read_to_string(&mut said);
    tokio::time::timeout(Duration::from_secs(2), read).await.expect("still there").unwrap();
    assert_eq!(said, "!");
}

#[tokio::test]
async fn a_cancel_ends_what_runs_but_not_what_must_be_heard_to_its_end() {
    let bench =
        HookBench::one(HookEvent::Stop, "echo began >>log; read -r _ <fifo; echo ended >>log");
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let stop = HookInput::Stop { again: false, last: "" };
    let events = bench.queue.sink();
    let here =
        HookContext { cwd: Path::new("/work"), mode: PermissionMode::Default, events: &events };
    let output = bench.hooks().start(&stop, here).unwrap();
    drop(output);
    let open = tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n"));
    open.await.unwrap().unwrap();
    bench.set.finish(Duration::from_secs(20)).await;
    assert_eq!(bench.file("log"), "began\nended\n");
    bench.cancel.cancel();
    assert_eq!(bench.run(&stop).await, HookOutput::default());
    assert_eq!(bench.lines(), [""; 0], "whoever cancels does not want to hear of it");
}

#[tokio::test]
async fn a_hook_that_nobody_waits_for_runs_beside_the_call_and_has_no_say() {
    let deny = "read -r _ <fifo; echo heard >log; echo no >&2; exit 2";
    let unheard = HookConfig { is_async: true, ..config(HookEvent::PreToolUse, "", deny) };
    let allow = config(HookEvent::PreToolUse, "", r#"echo '{"decision": "approve"}'"#);
    let bench = HookBench::new(vec![unheard, allow]);
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Cancelling the call does not end it either.
    assert_eq!(before_bash(&bench).await.decision, Some(PermissionDecision::Allow));
    bench.cancel.cancel();
    let open = tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n"));
    open.await.unwrap().unwrap();
    bench.set.finish(Duration::from_secs(20)).await;
    assert_eq!(bench.file("log"), "heard\n");
}

#[tokio::test]
async fn what_is_still_at_it_when_the_program_ends_is_ended() {
    let bench = HookBench::one(HookEvent::SessionEnd, "sleep 1000");
    let events = bench.queue.sink();
    let here =
        HookContext { cwd: Path::new("/work"), mode: PermissionMode::Default, events: &events };
    bench.hooks().notify(&HookInput::SessionEnd(SessionEndReason::Other), here);
    let ended = bench.set.finish(Duration::from_millis(10));
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("it does not end");
}
