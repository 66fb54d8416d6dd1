//! Hooks as an agent runs them: real commands and callbacks, what they are told, and what their answers come to.

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
    AgentEvent, EnvOverlay, EventKind, EventQueue, Peer, PeerError, PeerRequest, Redactor,
    ResultBlock, SharedPeer, StartDir, ToolUseId,
};

/// A project folder with hooks, and a session that has them.
struct Bench {
    folder: tempfile::TempDir,
    /// Where private folders are.
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
        unheard: false,
        timeout: Duration::from_secs(20),
        origin: Origin::Flag { name: "--settings" },
        asks_project: false,
        // A bench puts its own folder here.
        start: StartDir::project(Path::new("/")),
    }
}

impl Bench {
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
        let (queue, cancel) = (EventQueue::unhurried(), CancellationToken::new());
        Self { folder, elsewhere, set, queue, cancel }
    }

    fn one(event: HookEvent, command: &str) -> Self {
        Self::new(vec![config(event, "", command)])
    }

    fn hooks(&self) -> Hooks {
        let transcript = PathBuf::from("/data/sessions/s/transcript.jsonl");
        Hooks::new(self.set.clone(), SessionFacts { id: None, transcript })
    }

    async fn run(&self, moment: &Moment<'_>) -> Said {
        self.run_as(&self.hooks(), moment).await
    }

    async fn run_as(&self, hooks: &Hooks, moment: &Moment<'_>) -> Said {
        let events = self.queue.sink();
        let here = Here { cwd: Path::new("/work"), mode: Mode::Plan, events: &events };
        hooks.run(moment, here, &self.cancel).await
    }

    /// What the person has been told.
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
async fn with_call<T>(tool: &str, then: impl AsyncFnOnce(ToolCall<'_>) -> T) -> T {
    let (id, input) = (ToolUseId::new("toolu_1"), json!({ "command": "ls" }));
    then(ToolCall { id: &id, tool, input: &input, file: None }).await
}

async fn before_bash(bench: &Bench) -> Said {
    with_call("Bash", async |call| bench.run(&Moment::PreToolUse(call)).await).await
}

#[tokio::test]
async fn a_command_runs_in_the_project_without_keys_and_reads_what_happened() {
    let line =
        "cat >told; pwd >where; env >env; echo \"$CLAUDE_PROJECT_DIR|$CALIBAN_PROJECT_DIR\" >dirs";
    let bench = Bench::one(HookEvent::PreToolUse, line);
    assert_eq!(before_bash(&bench).await, Said::default());
    assert_eq!(bench.lines(), [""; 0]);
    let project = bench.folder.path().canonicalize().unwrap().display().to_string();
    assert_eq!(bench.file("where").trim(), project);
    assert_eq!(bench.file("dirs").trim(), format!("{project}|{project}"));
    assert!(!bench.file("env").contains("sk-secret"));
    let told: Value = serde_json::from_str(&bench.file("told")).unwrap();
    let expected = json!({
        "session_id": "", "transcript_path": "/data/sessions/s/transcript.jsonl", "cwd": "/work",
        "permission_mode": "plan", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "ls" }, "tool_use_id": "toolu_1",
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_command_of_the_users_own_starts_in_an_empty_folder_each_time_and_knows_the_project() {
    let line =
        "ls -A >\"$CALIBAN_PROJECT_DIR/seen\"; pwd -P >>\"$CLAUDE_PROJECT_DIR/places\"; touch left";
    let own = HookConfig { start: StartDir::Private, ..config(HookEvent::PreToolUse, "", line) };
    let bench = Bench::new(vec![own]);
    for _ in 0..2 {
        assert_eq!(before_bash(&bench).await, Said::default());
        assert_eq!(bench.lines(), [""; 0]);
        assert_eq!(bench.file("seen"), "", "empty at each start");
    }
    let places = bench.file("places");
    let places: Vec<&str> = places.lines().collect();
    let elsewhere = bench.elsewhere.path().canonicalize().unwrap();
    assert!(places.iter().all(|place| Path::new(place).starts_with(&elsewhere)), "{places:?}");
    assert_ne!(places[0], places[1]);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing stays");
}

#[tokio::test]
async fn one_that_fails_in_an_empty_folder_says_how_to_start_it_in_the_project() {
    let fails = |asks_project| HookConfig {
        start: StartDir::Private,
        asks_project,
        ..config(HookEvent::PreToolUse, "", "./check.sh")
    };
    let add = "add `cwd = \"project\"` to its entry to start it in the project";
    for (asks, hint) in [(false, add), (true, "`caliban trust`")] {
        let bench = Bench::new(vec![fails(asks)]);
        std::fs::write(bench.folder.path().join("check.sh"), "touch ran").unwrap();
        assert_eq!(before_bash(&bench).await, Said::default());
        let lines = bench.lines();
        assert!(lines.len() == 1 && lines[0].contains("exit 127: "), "{lines:?}");
        assert!(lines[0].contains("it started in an empty folder") && lines[0].contains(hint));
    }
}

#[tokio::test]
async fn the_same_line_in_the_project_and_in_an_empty_folder_are_two_hooks() {
    let line = "pwd >>\"$CALIBAN_PROJECT_DIR/places\"";
    let here = config(HookEvent::PreToolUse, "", line);
    let own = HookConfig { start: StartDir::Private, ..here.clone() };
    let bench = Bench::new(vec![own.clone(), here.clone(), own, here]);
    before_bash(&bench).await;
    assert_eq!(bench.file("places").lines().count(), 2);
}

#[tokio::test]
async fn the_same_line_in_the_same_place_is_one_hook_wherever_it_is_written() {
    let line = "echo ran >>\"$CALIBAN_PROJECT_DIR/ran\"; exit 2";
    let own = HookConfig { start: StartDir::Private, ..config(HookEvent::PreToolUse, "", line) };
    let asking = HookConfig { asks_project: true, ..own.clone() };
    let beside = HookConfig { unheard: true, ..own.clone() };
    for hooks in [[&own, &asking], [&asking, &own], [&beside, &asking], [&own, &beside]] {
        let bench = Bench::new(hooks.map(Clone::clone).to_vec());
        let said = before_bash(&bench).await;
        assert!(matches!(said.opinion, Some(Opinion::Deny { .. })), "{said:?}");
        assert_eq!(bench.file("ran"), "ran\n");
    }
}

#[tokio::test]
async fn a_call_whose_hook_cannot_be_started_is_denied_and_all_else_goes_on() {
    let own = |event| HookConfig { start: StartDir::Private, ..config(event, "", "true") };
    let mut bench = Bench::new(Vec::new());
    let all = bench.elsewhere.path().to_owned();
    let hooks = [HookEvent::PreToolUse, HookEvent::UserPromptSubmit].map(own).to_vec();
    let project: Arc<Path> = bench.folder.path().into();
    let starts = StartDirs::new(StartSettings {
        project: project.to_path_buf(),
        working: vec![project.to_path_buf(), all.clone()],
        state: all,
        ..StartSettings::default()
    });
    let env = EnvOverlay::default();
    let (secrets, redactor) = Default::default();
    bench.set = HookSet::new(HookSettings { hooks, starts, env, secrets, redactor });
    let advice = "set TMPDIR to a folder outside of the project";
    let Some(Opinion::Deny { why }) = before_bash(&bench).await.opinion else {
        panic!("it is let through")
    };
    assert!(why.contains("hook PreToolUse: true could not be started: "), "{why}");
    assert!(why.contains(advice), "{why}");
    assert_eq!(bench.run(&Moment::UserPromptSubmit { prompt: "go" }).await, Said::default());
    let lines = bench.lines();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains(advice)), "{lines:?}");

    let bench = Bench::one(HookEvent::PreToolUse, "true");
    std::fs::remove_dir(bench.folder.path()).unwrap();
    let said = before_bash(&bench).await;
    assert!(matches!(said.opinion, Some(Opinion::Deny { .. })), "{said:?}");
}

#[tokio::test]
async fn each_event_has_the_fields_that_scripts_read() {
    let blocks = [ResultBlock::text("a"), ResultBlock::text("b")];
    let took = Duration::from_millis(7);
    let id = ToolUseId::new("t");
    let (edit, other) = (json!({ "file_path": "/x" }), json!({}));
    let call = |tool, input| ToolCall { id: &id, tool, input, file: None };
    let after = |call| Moment::PostToolUse { call, response: &blocks[..1], took };
    let stdout = json!({ "stdout": "a\nb", "stderr": "", "interrupted": false, "isImage": false });
    let table = [
        (
            Moment::PostToolUse { call: call("Bash", &other), response: &blocks, took },
            json!({ "tool_name": "Bash", "tool_response": stdout, "duration_ms": 7 }),
        ),
        (
            after(call("Edit", &edit)),
            json!({ "tool_response": { "filePath": "/x", "success": true, "content": "a" } }),
        ),
        (
            after(call("Read", &edit)),
            json!({ "tool_response": { "content": [{ "type": "text", "text": "a" }] } }),
        ),
        (Moment::PreToolUse(call("AgentTool", &other)), json!({ "tool_name": "Agent" })),
        (Moment::PreToolUse(call("Task", &other)), json!({ "tool_name": "Task" })),
        (Moment::UserPromptSubmit { prompt: "do" }, json!({ "prompt": "do" })),
        (
            Moment::Stop { again: true, last: "done" },
            json!({ "stop_hook_active": true, "last_assistant_message": "done" }),
        ),
        (
            Moment::SessionStart { opening: Opening::Resume, model: Some("m") },
            json!({ "source": "resume", "model": "m" }),
        ),
        (Moment::SessionEnd(Leaving::PromptInputExit), json!({ "reason": "prompt_input_exit" })),
        (
            Moment::PreCompact { by_hand: true, instructions: Some("keep x") },
            json!({ "trigger": "manual", "custom_instructions": "keep x" }),
        ),
        (
            Moment::PreCompact { by_hand: false, instructions: None },
            json!({ "trigger": "auto", "custom_instructions": "" }),
        ),
        (
            Moment::Notification(Need::Permission { tool: "Bash" }),
            json!({
                "message": "caliban needs your permission to use Bash",
                "title": "Permission needed", "notification_type": "permission_prompt",
            }),
        ),
    ];
    for (moment, expected) in table {
        let event = moment.event(false);
        let bench = Bench::one(event, "cat >told");
        bench.run(&moment).await;
        let told: Value = serde_json::from_str(&bench.file("told")).unwrap();
        assert_eq!(told["hook_event_name"], event.name());
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(told[key], *value, "{moment:?}: {key}");
        }
        assert_eq!(told.get("agent_id"), None);
    }
}

#[tokio::test]
async fn a_sub_agents_hooks_know_who_it_is_and_its_own_run_for_it_alone() {
    let bench = Bench::one(HookEvent::SubagentStop, "cat >told");
    let id = AgentId::generate();
    let own = config(HookEvent::SubagentStop, "explore", "touch own");
    let own = Hook::command(&own.in_folder(bench.folder.path()));
    let hooks = bench.hooks().of_agent(id, "explore", vec![Arc::new(own)]);
    let stop = Moment::Stop { again: false, last: "x" };
    bench.run(&stop).await;
    assert!(!bench.folder.path().join("told").exists(), "main's end has another name");
    bench.run_as(&bench.hooks().of_agent(id, "other", Vec::new()), &stop).await;
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
    let call = |tool| Moment::PreToolUse(ToolCall { id: &id, tool, input: &input, file: None });
    let start = |opening| Moment::SessionStart { opening, model: None };
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
        ("startup|resume", start(Opening::Resume), true),
        ("startup", start(Opening::Clear), false),
        ("clear", Moment::SessionEnd(Leaving::Clear), true),
        ("manual", Moment::PreCompact { by_hand: false, instructions: None }, false),
        ("idle_prompt", Moment::Notification(Need::Idle), true),
        ("Bash", Moment::UserPromptSubmit { prompt: "x" }, true),
        ("Bash", Moment::Stop { again: false, last: "" }, true),
    ];
    for (matcher, moment, expected) in table {
        let bench = Bench::new(vec![config(moment.event(false), matcher, "touch ran")]);
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
    let bench = Bench::new(hooks.to_vec());
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Each waits for the other: one after the other, neither would end before its time is over.
    assert_eq!(before_bash(&bench).await, Said::default());
    assert_eq!(bench.lines(), [""; 0]);
    let log = bench.file("log");
    let mut log: Vec<&str> = log.lines().collect();
    log.sort_unstable();
    assert_eq!(log, ["one", "two"]);
}

#[tokio::test]
async fn exit_codes_mean_go_on_block_and_tell() {
    let deny = |why: &str| Said {
        opinion: Some(Opinion::Deny { why: why.to_owned() }),
        ..Said::default()
    };
    let block = |why: &str| Said { block: Some(why.to_owned()), ..Said::default() };
    let context = |text: &str| Said { context: vec![text.to_owned()], ..Said::default() };
    let (none, no_line) = (Said::default, "");
    let prompt = Moment::UserPromptSubmit { prompt: "x" };
    let stop = Moment::Stop { again: false, last: "" };
    let start = Moment::SessionStart { opening: Opening::Startup, model: None };
    let compact = Moment::PreCompact { by_hand: true, instructions: None };
    let note = Moment::Notification(Need::Idle);
    let (id, input) = (ToolUseId::new("t"), json!({}));
    let call = ToolCall { id: &id, tool: "Bash", input: &input, file: None };
    let (before, after) = (
        Moment::PreToolUse(call),
        Moment::PostToolUse { call, response: &[], took: Duration::ZERO },
    );
    let loud = "echo seen; echo 'not so' >&2; echo more >&2; exit 2";
    let why = "not so\nmore";
    let table = [
        (before, "echo seen", none(), no_line),
        (before, loud, deny(why), no_line),
        (before, "exit 2", deny("it gave no reason"), no_line),
        (before, "echo oops >&2; echo x >&2; exit 1", none(), ": exit 1: oops"),
        (before, "no-such-program-here", none(), ": exit 127: bash: line 1: no-such-program-here"),
        (before, "kill -KILL $$", none(), ": SIGKILL"),
        (after, "echo seen", none(), no_line),
        (after, loud, block(why), no_line),
        (prompt, "echo seen", context("seen"), no_line),
        (prompt, loud, block(why), no_line),
        (stop, "echo seen", none(), no_line),
        (stop, loud, block(why), no_line),
        (compact, loud, block(why), no_line),
        (start, "echo seen; echo too", context("seen\ntoo"), no_line),
        (start, "echo '{not json'", context("{not json"), no_line),
        (start, loud, none(), ": not so"),
        (note, loud, none(), ": not so"),
    ];
    for (moment, line, expected, told) in table {
        let bench = Bench::one(moment.event(false), line);
        assert_eq!(bench.run(&moment).await, expected, "{moment:?}: {line}");
        let lines = bench.lines();
        assert_eq!(lines.len(), usize::from(!told.is_empty()), "{line}: {lines:?}");
        let start = format!("hook {}: ", moment.event(false).name());
        let fits = |said: &String| said.starts_with(&start) && said.contains(told);
        assert!(lines.iter().all(fits), "{line}: {lines:?}");
    }
}

#[tokio::test]
async fn json_says_each_thing_that_is_documented() {
    let specific = |event: &str, more: Value| {
        let mut specific = json!({ "hookEventName": event });
        specific.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "hookSpecificOutput": specific })
    };
    let decide = |decision: &str| {
        let why = json!({ "permissionDecision": decision, "permissionDecisionReason": "why" });
        specific("PreToolUse", why)
    };
    let because = || "why".to_owned();
    let opinion = |opinion| Said { opinion: Some(opinion), ..Said::default() };
    let pre = HookEvent::PreToolUse;
    let table = [
        (pre, json!({}), Said::default()),
        (pre, json!({ "suppressOutput": true, "other": 1 }), Said::default()),
        (pre, decide("allow"), opinion(Opinion::Allow)),
        (pre, decide("ask"), opinion(Opinion::Ask { why: because() })),
        (pre, decide("deny"), opinion(Opinion::Deny { why: because() })),
        (pre, decide("defer"), Said::default()),
        (pre, json!({ "decision": "approve" }), opinion(Opinion::Allow)),
        (
            pre,
            json!({ "decision": "block", "reason": "why" }),
            opinion(Opinion::Deny { why: because() }),
        ),
        (
            pre,
            specific("PreToolUse", json!({ "updatedInput": { "command": "true" } })),
            Said { input: Some(json!({ "command": "true" })), ..Said::default() },
        ),
        (
            pre,
            json!({ "continue": false, "stopReason": "enough" }),
            Said { stop: Some("enough".to_owned()), ..Said::default() },
        ),
        (
            HookEvent::PostToolUse,
            specific("PostToolUse", json!({ "additionalContext": "know" })),
            Said { context: vec!["know".to_owned()], ..Said::default() },
        ),
        (
            HookEvent::UserPromptSubmit,
            json!({ "decision": "block", "reason": "why" }),
            Said { block: Some(because()), ..Said::default() },
        ),
        (
            HookEvent::Stop,
            json!({ "decision": "block", "reason": "why" }),
            Said { block: Some(because()), ..Said::default() },
        ),
        (
            HookEvent::Stop,
            specific("Stop", json!({ "additionalContext": "look again" })),
            Said { block: Some("look again".to_owned()), ..Said::default() },
        ),
        (HookEvent::SessionEnd, json!({ "decision": "block", "reason": "why" }), Said::default()),
    ];
    for (event, json, expected) in table {
        let answer = answer::of_json(event, json.clone()).unwrap();
        assert_eq!((answer.said, answer.lines), (expected, vec![]), "{event:?} {json}");
    }
    let told = answer::of_json(pre, json!({ "systemMessage": "careful\nmore" })).unwrap();
    assert_eq!((told.said, told.lines), (Said::default(), vec!["careful".to_owned()]));
}

#[tokio::test]
async fn json_that_means_nothing_is_named_in_one_line() {
    let table = [
        (
            r#"{"hookSpecificOutput": {"permissionDecision": "Deny"}}"#,
            "hookSpecificOutput.permissionDecision: unknown variant `Deny`, expected one of `allow`, `ask`, `deny`, `defer`",
        ),
        (r#"{"continue": "no"}"#, "continue: invalid type: string \"no\", expected a boolean"),
        (
            r#"{"hookSpecificOutput": {"hookEventName": "Stop"}}"#,
            "hookEventName is Stop, not PreToolUse",
        ),
    ];
    for (json, expected) in table {
        let bench = Bench::one(HookEvent::PreToolUse, &format!("echo '{json}'"));
        assert_eq!(before_bash(&bench).await, Said::default(), "{json}");
        let lines = bench.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let end = format!(": its answer is not understood: {expected}");
        assert!(lines[0].ends_with(&end), "{lines:?}");
    }
    let bench = Bench::one(HookEvent::PreToolUse, r#"echo '{"decision": "block",}'"#);
    assert_eq!(before_bash(&bench).await, Said::default());
    let lines = bench.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(": its answer is not valid JSON: "), "{lines:?}");
}

#[tokio::test]
async fn of_several_hooks_the_strictest_counts_and_nothing_else_is_lost() {
    let say = |decision: &str, more: &str| {
        let line = format!(
            r#"echo '{{"hookSpecificOutput": {{"hookEventName": "PreToolUse", "permissionDecision": "{decision}", "permissionDecisionReason": "{decision}{more}", "additionalContext": "c{more}"}}}}'"#
        );
        config(HookEvent::PreToolUse, "", &line)
    };
    let (allow, ask, deny) = (|| say("allow", "1"), || say("ask", "2"), || say("deny", "3"));
    let table = [
        (vec![allow(), ask()], Opinion::Ask { why: "ask2".to_owned() }),
        (vec![ask(), allow()], Opinion::Ask { why: "ask2".to_owned() }),
        (vec![allow(), deny(), ask()], Opinion::Deny { why: "deny3".to_owned() }),
        (vec![deny(), say("deny", "4")], Opinion::Deny { why: "deny3\ndeny4".to_owned() }),
        (vec![allow()], Opinion::Allow),
    ];
    for (hooks, expected) in table {
        let count = hooks.len();
        let said = before_bash(&Bench::new(hooks)).await;
        assert_eq!((said.opinion, said.context.len()), (Some(expected), count));
    }
}

#[tokio::test]
async fn a_hook_that_prints_without_end_is_read_in_part_and_still_has_its_say() {
    let flood = "head -c 5000000 /dev/zero | tr '\\0' x";
    let bench = Bench::one(HookEvent::PreToolUse, &format!("{flood}; echo no >&2; exit 2"));
    let said = before_bash(&bench).await;
    assert_eq!(said.opinion, Some(Opinion::Deny { why: "no".to_owned() }));
    let lines = bench.lines();
    assert!(
        lines.len() == 1 && lines[0].ends_with("printed too much: of its stdout 256 KiB were read"),
        "{lines:?}"
    );
    let bench = Bench::one(HookEvent::UserPromptSubmit, flood);
    let said = bench.run(&Moment::UserPromptSubmit { prompt: "x" }).await;
    assert!(said.context[0].len() < 10_100 && said.context[0].ends_with("10000 characters]"));
    assert_eq!(bench.lines().len(), 1);
}

#[tokio::test]
async fn a_hook_that_hangs_forks_and_ignores_term_is_ended_at_its_limit_with_all_it_started() {
    use tokio::io::AsyncReadExt as _;

    let line = "trap '' TERM; exec 9>fifo; printf '!' >&9; (trap '' TERM; sleep 1000) & sleep 1000";
    let hang = HookConfig {
        timeout: Duration::from_secs(1),
        ..config(HookEvent::PreToolUse, "Bash", line)
    };
    let bench = Bench::new(vec![hang]);
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut witness = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
    assert_eq!(before_bash(&bench).await, Said::default());
    let lines = bench.lines();
    assert!(
        lines.len() == 1
            && lines[0].starts_with("hook PreToolUse(Bash): trap")
            && lines[0].ends_with(": took longer than 1s and was ended, with all that it started"),
        "{lines:?}"
    );
    let mut said = String::new();
    let read = witness.read_to_string(&mut said);
    tokio::time::timeout(Duration::from_secs(2), read).await.expect("still there").unwrap();
    assert_eq!(said, "!");
}

#[tokio::test]
async fn a_cancel_ends_what_runs_but_not_what_must_be_heard_to_its_end() {
    let bench = Bench::one(HookEvent::Stop, "echo began >>log; read -r _ <fifo; echo ended >>log");
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let stop = Moment::Stop { again: false, last: "" };
    let events = bench.queue.sink();
    let here = Here { cwd: Path::new("/work"), mode: Mode::Default, events: &events };
    let heard = bench.hooks().ask(&stop, here).unwrap();
    drop(heard);
    let open = tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n"));
    open.await.unwrap().unwrap();
    bench.set.finish(Duration::from_secs(20)).await;
    assert_eq!(bench.file("log"), "began\nended\n");
    bench.cancel.cancel();
    assert_eq!(bench.run(&stop).await, Said::default());
    assert_eq!(bench.lines(), [""; 0], "whoever cancels does not want to hear of it");
}

#[tokio::test]
async fn a_hook_that_nobody_waits_for_runs_beside_the_call_and_has_no_say() {
    let deny = "read -r _ <fifo; echo heard >log; echo no >&2; exit 2";
    let unheard = HookConfig { unheard: true, ..config(HookEvent::PreToolUse, "", deny) };
    let allow = config(HookEvent::PreToolUse, "", r#"echo '{"decision": "approve"}'"#);
    let bench = Bench::new(vec![unheard, allow]);
    let fifo = bench.folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Who cancels the call does not end it either.
    assert_eq!(before_bash(&bench).await.opinion, Some(Opinion::Allow));
    bench.cancel.cancel();
    let open = tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n"));
    open.await.unwrap().unwrap();
    bench.set.finish(Duration::from_secs(20)).await;
    assert_eq!(bench.file("log"), "heard\n");
}

#[tokio::test]
async fn what_is_still_at_it_when_the_program_ends_is_ended() {
    let bench = Bench::one(HookEvent::SessionEnd, "sleep 1000");
    let events = bench.queue.sink();
    let here = Here { cwd: Path::new("/work"), mode: Mode::Default, events: &events };
    bench.hooks().tell(&Moment::SessionEnd(Leaving::Other), here);
    let ended = bench.set.finish(Duration::from_millis(10));
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("it does not end");
}

/// A driving program that answers each callback with the JSON of its id.
struct Driver {
    asked: Mutex<Vec<PeerRequest>>,
    answers: Vec<(&'static str, Result<Value, PeerError>)>,
}

#[async_trait]
impl Peer for Driver {
    async fn ask(&self, request: PeerRequest) -> Result<Value, PeerError> {
        let PeerRequest::HookCallback { callback_id, .. } = &request else { panic!("{request:?}") };
        let answer = self.answers.iter().find(|(id, _)| id == callback_id);
        let answer = answer.map(|(_, answer)| answer.clone());
        self.asked.lock().unwrap().push(request);
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn callbacks_of_the_driving_program_have_the_same_say_as_commands() {
    let driver = Arc::new(Driver {
        asked: Mutex::new(Vec::new()),
        answers: vec![
            ("hook_0", Ok(json!({ "decision": "block", "reason": "no" }))),
            ("hook_1", Err(PeerError::Refused("it raised".to_owned()))),
            ("hook_2", Ok(Value::Null)),
        ],
    });
    let peer: SharedPeer = driver.clone();
    let hook = |matcher: Option<&str>, timeout: Option<Duration>, id: &str| {
        Hook::callback(HookEvent::PreToolUse, matcher, timeout, id.to_owned(), peer.clone())
    };
    let bench = Bench::new(Vec::new());
    let ids = ["hook_0", "hook_1", "hook_2"];
    bench.set.register(ids.map(|id| hook(Some("Bash"), None, id).unwrap()).into());
    let late = hook(None, Some(Duration::from_millis(50)), "hook_9").unwrap();
    bench.set.register(vec![late]);
    let said = before_bash(&bench).await;
    assert_eq!(said.opinion, Some(Opinion::Deny { why: "no".to_owned() }));
    let mut lines = bench.lines();
    lines.sort_unstable();
    let expected = [
        "hook PreToolUse(Bash): hook_1: it raised",
        "hook PreToolUse: hook_9: no answer within 50ms",
    ];
    assert_eq!(lines, expected);
    let asked = driver.asked.lock().unwrap();
    let PeerRequest::HookCallback { input, tool_use_id, .. } = &asked[0] else { panic!() };
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(*tool_use_id, Some(ToolUseId::new("toolu_1")));
    let why = hook(Some("("), None, "x").err().unwrap();
    assert!(why.starts_with("`matcher` must be a name"), "{why}");
}
