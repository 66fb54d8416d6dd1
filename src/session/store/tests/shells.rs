//! Commands of sub-agents in the background.

use super::sub_agents::agent_in_a_call;
use super::*;

#[tokio::test]
async fn commands_of_a_sub_agent_in_the_background_end_at_the_latest_with_it() {
    let bench = StoreFixture::new();
    let (id, agent, journal, own) = agent_in_a_call(&bench).await;
    own.append(&result("d1", "seen", false), None).await.unwrap();
    let used = |id: &str, name: &str, input: serde_json::Value| {
        let (id, name, input) = (ToolUseId::new(id), name.to_owned(), Box::new(input));
        Message::assistant(vec![ContentBlock::ToolUse { id, name, input, malformed: None }])
    };
    for (call, number) in [("e1", 3), ("e2", 4)] {
        let input = json!({"command": format!("run {number}"), "run_in_background": true});
        own.append(&used(call, "Bash", input), Some("m")).await.unwrap();
        let mut started = result(call, "runs in the background", false);
        if let ContentBlock::ToolResult { details, .. } = &mut started.content[0] {
            let id = ShellId::from_number(number);
            *details = Some(Box::new(ToolDetails::Background { id, cwd: "/".into() }));
        }
        own.append(&started, None).await.unwrap();
    }
    own.append(&used("e3", "BashOutput", json!({"bash_id": "bash-3"})), Some("m")).await.unwrap();
    own.append(&result("e3", "out\n[bash-3 ended: exit code 4]", false), None).await.unwrap();
    own.append(&said("done"), Some("m")).await.unwrap();
    own.finish(&outcome()).await.unwrap();
    drop((own, journal));
    let history = bench.open(id).history;
    let about = |event: &AgentEvent| {
        Some(match &event.kind {
            EventKind::BackgroundShellStarted { id, command } => format!("{id} {command}"),
            EventKind::BackgroundShellEnded { id, end } => format!("{id} {end}"),
            EventKind::Finished(_) => "end".to_owned(),
            EventKind::TurnFinished { .. } => "paid".to_owned(),
            EventKind::TurnStarted { .. } | EventKind::Started(_) => return None,
            other => format!("{other:?}"),
        })
    };
    let of_agent = history.iter().filter(|event| event.path.id() == Some(agent));
    let expected =
        ["paid", "bash-3 run 3", "bash-4 run 4", "bash-3 exit code 4", "bash-4 killed", "end"];
    assert_eq!(of_agent.filter_map(about).collect::<Vec<_>>(), expected);
    // Its own page says so, too.
    let (_, events) = bench.store.replay_agent(id, agent, &worded).unwrap();
    let words = events.into_iter().filter_map(|kind| match kind {
        EventKind::ToolFinished { name, summary, .. } if name == "Bash" => Some(summary),
        _ => None,
    });
    let expected =
        ["ran in the background as bash-3", "ran in the background as bash-4 until it was killed"];
    assert_eq!(words.collect::<Vec<_>>(), expected);
}
