//! Callbacks of the program that drives this one.

use pretty_assertions::assert_eq;

use super::*;

/// A driving program that answers each callback with the JSON of its id.
struct DrivingProgram {
    asked: Mutex<Vec<PeerRequest>>,
    answers: Vec<(&'static str, Result<Value, PeerError>)>,
}

#[async_trait]
impl Peer for DrivingProgram {
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
    let driver = Arc::new(DrivingProgram {
        asked: Mutex::new(Vec::new()),
        answers: vec![
            ("hook_0", Ok(json!({ "decision": "block", "reason": "no" }))),
            ("hook_1", Err(PeerError::Refused("it raised".to_owned()))),
            ("hook_2", Ok(Value::Null)),
        ],
    });
    let unread = DrivingProgram {
        asked: Mutex::new(Vec::new()),
        answers: vec![("hook_0", Err(PeerError::Unread("not JSON".to_owned())))],
    };
    let unread_hook = Hook::callback(
        HookEvent::PreToolUse,
        None,
        None,
        "hook_0".to_owned(),
        Arc::new(unread) as SharedPeer,
    );
    let bench = HookBench::new(Vec::new());
    bench.set.register(vec![unread_hook.unwrap()]);
    let denied = PermissionDecision::Deny { why: "not JSON".to_owned() };
    assert_eq!(before_bash(&bench).await.decision, Some(denied), "it may be a denial");
    let peer: SharedPeer = driver.clone();
    let hook = |matcher: Option<&str>, timeout: Option<Duration>, id: &str| {
        Hook::callback(HookEvent::PreToolUse, matcher, timeout, id.to_owned(), peer.clone())
    };
    let bench = HookBench::new(Vec::new());
    let ids = ["hook_0", "hook_1", "hook_2"];
    bench.set.register(ids.map(|id| hook(Some("Bash"), None, id).unwrap()).into());
    let late = hook(None, Some(Duration::from_millis(50)), "hook_9").unwrap();
    bench.set.register(vec![late]);
    let said = before_bash(&bench).await;
    assert_eq!(said.decision, Some(PermissionDecision::Deny { why: "no".to_owned() }));
    let mut lines = bench.lines();
    lines.sort_unstable();
    let expected = [
        "hook PreToolUse(Bash): hook_1: it raised",
        "hook PreToolUse: hook_9: no answer within 0.05 s",
    ];
    assert_eq!(lines, expected);
    let asked = driver.asked.lock().unwrap();
    let PeerRequest::HookCallback { input, tool_use_id, .. } = &asked[0] else { panic!() };
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(*tool_use_id, Some(ToolUseId::new("toolu_1")));
    let why = hook(Some("("), None, "x").err().unwrap();
    assert!(why.starts_with("`matcher` must be a name"), "{why}");
}
