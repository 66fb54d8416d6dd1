use std::time::Duration;

use super::super::info::{LimitsLookup, ModelLimits};
use super::*;
use crate::protocol::{AgentId, Denial, ModelCause, PermissionMode, Sender, ViolationKind};

/// Frames of an open session, and a constructor of events.
fn open() -> Frames {
    let limits = LimitsLookup::new(|_| ModelLimits { context_window: 1, max_output: 1 });
    let mut frames = Frames::new(SessionInfo {
        slash_commands: Vec::new(),
        skills: Vec::new(),
        cwd: "/work".to_owned(),
        model: "m".to_owned(),
        mode: PermissionMode::Default,
        tools: vec!["Read".to_owned()],
        agents: Vec::new(),
        key_source: "none".to_owned(),
        limits,
        agent_tool: "AgentTool".to_owned(),
        task_name: false,
        output_style: "default".to_owned(),
        subagent_text: true,
    });
    assert!(!frames.is_open());
    let id = SessionId::generate();
    let opened = EventKind::SessionOpened { id, history: Vec::new(), forked: false };
    assert_eq!(one(&mut frames, &AgentPath::root(), opened)["subtype"], "init");
    assert!(frames.is_open());
    frames
}

fn frames_of(frames: &mut Frames, path: &AgentPath, kind: EventKind) -> Vec<Value> {
    frames.encode(&AgentEvent { path: path.clone(), seq: 0, at: Timestamp::now(), kind })
}

fn one(frames: &mut Frames, path: &AgentPath, kind: EventKind) -> Value {
    let mut made = frames_of(frames, path, kind);
    assert_eq!(made.len(), 1, "{made:?}");
    made.remove(0)
}

fn started(background: bool) -> EventKind {
    EventKind::Started(Box::new(AgentInfo {
        name: "explore-1".to_owned(),
        number: 0,
        agent: "explore".to_owned(),
        description: "look around".to_owned(),
        prompt: "look".to_owned(),
        model: "m".to_owned(),
        tool_use_id: ToolUseId::new("toolu_1"),
        max_turns: 20,
        max_usd: None,
        color: None,
        background,
    }))
}

#[test]
fn the_first_frame_of_a_new_session_has_the_current_model_and_mode() {
    let mut frames = open();
    let root = AgentPath::root();
    let changed = EventKind::ModelChanged {
        provider: "p".to_owned(),
        model: "other".to_owned(),
        context_window: None,
        effort: None,
        efforts: None,
        cause: ModelCause::Model,
    };
    let mode = EventKind::ModeChanged { mode: PermissionMode::Plan };
    for event in [changed, mode] {
        assert_eq!(frames_of(&mut frames, &root, event), Vec::<Value>::new());
    }
    let id = SessionId::generate();
    let opened = EventKind::SessionOpened { id, history: Vec::new(), forked: false };
    let made = frames_of(&mut frames, &root, opened);
    let init = made.last().unwrap();
    assert_eq!((&init["model"], &init["permissionMode"]), (&json!("other"), &json!("plan")));
}

#[test]
fn a_task_says_whether_it_runs_in_the_background_and_when_it_goes_there() {
    for background in [false, true] {
        let mut frames = open();
        let path = AgentPath::root().child(AgentId::generate());
        let start = one(&mut frames, &path, started(background));
        assert_eq!(
            (&start["subtype"], &start["is_backgrounded"]),
            (&json!("task_started"), &json!(background))
        );
        let moved = one(&mut frames, &path, EventKind::MovedToBackground);
        assert_eq!(moved["subtype"], "task_updated");
        assert_eq!(moved["task_id"], start["task_id"]);
        assert_eq!(moved["patch"], json!({"is_backgrounded": true}));
        assert_eq!(moved["parent_tool_use_id"], "toolu_1");
    }
}

#[test]
fn main_is_shown_to_read_what_agents_and_jobs_told_it_and_not_what_was_typed() {
    let mut frames = open();
    let root = AgentPath::root();
    let name = || "explore-1".to_owned();
    let read = |from| EventKind::PromptRead { id: None, text: "done: 3 hits".into(), from };
    assert_eq!(frames_of(&mut frames, &root, read(Sender::Person)), Vec::<Value>::new());
    for from in [Sender::Agent { name: name() }, Sender::Job { name: name() }] {
        let frame = one(&mut frames, &root, read(from));
        assert_eq!(
            (&frame["type"], &frame["message"]["content"]),
            (&json!("user"), &json!("done: 3 hits"))
        );
        assert_eq!(frame["parent_tool_use_id"], Value::Null);
    }
}

#[test]
fn a_verbatim_text_is_a_frame_of_its_own() {
    let (name, text) = ("explore-1".to_owned(), "line 1\n\tline 2 ".to_owned());
    let frame =
        one(&mut open(), &AgentPath::root(), EventKind::Verbatim { name, text: text.clone() });
    assert_eq!((&frame["type"], &frame["subtype"]), (&json!("system"), &json!("agent_text")));
    assert_eq!((&frame["name"], &frame["text"]), (&json!("explore-1"), &json!(text)));
}

#[test]
fn a_violation_is_typed_beside_its_result() {
    let finished = EventKind::ToolFinished {
        id: ToolUseId::new("toolu_2"),
        name: "AgentTool".to_owned(),
        is_error: true,
        summary: "depth".to_owned(),
        content: vec![ResultBlock::text("stopped")],
        details: Some(ToolDetails::Violation {
            violation: ViolationKind::DepthExceeded,
            depth: 1,
            limit: 1,
        }),
        took: Duration::ZERO,
    };
    let frame = one(&mut open(), &AgentPath::root(), finished);
    let boundary = json!({"kind": "depth_exceeded", "depth": 1, "limit": 1});
    assert_eq!(frame["tool_use_result"], json!({"autonomy_boundary": boundary}));
}

#[test]
fn a_denial_is_told_by_the_text_of_its_result_alone() {
    let denial = Denial::new("no");
    let finished = EventKind::ToolFinished {
        id: ToolUseId::new("toolu_2"),
        name: "Bash".to_owned(),
        is_error: true,
        summary: "denied".to_owned(),
        content: vec![ResultBlock::text(denial.to_string())],
        details: Some(ToolDetails::Denied(denial)),
        took: Duration::ZERO,
    };
    let frame = one(&mut open(), &AgentPath::root(), finished);
    assert_eq!(frame["message"]["content"][0]["is_error"], true);
    assert!(frame.get("tool_use_result").is_none(), "{frame}");
}

#[test]
fn an_agent_that_has_ended_is_forgotten_and_one_that_is_resumed_is_known_again() {
    let mut frames = open();
    let path = AgentPath::root().child(AgentId::generate());
    for _ in 0..2 {
        one(&mut frames, &path, started(true));
        let finished = EventKind::Finished(Box::new(RunOutcome::without_work(RunEnd::Completed)));
        let ended = frames_of(&mut frames, &path, finished);
        assert!(ended.iter().all(|frame| frame["parent_tool_use_id"] == "toolu_1"), "{ended:?}");
        assert!(frames.agents.is_empty() && frames.open.is_empty());
    }
}
