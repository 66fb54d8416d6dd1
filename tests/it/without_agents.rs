//! The program as it is built without the feature `sub-agents`.

use crate::support::scene::{DONE, PARENT, Scene, agent, bash, calls};
use crate::support::script::{text, tool_use};

#[tokio::test]
async fn a_build_without_the_feature_has_no_agent_tools_and_works() {
    let scene = Scene::new();
    scene.world.config("[subagents]\nfaces = [\"agent\", \"lifecycle\", \"delegate\"]\n");
    scene
        .server
        .when(PARENT)
        .reply(tool_use("Bash", bash("echo works")))
        .then(calls([agent("CHILD-A")]))
        .then(text(DONE));
    let run = scene.go().await;
    let requests = scene.server.requests_of(PARENT);
    let tools = [
        "Read",
        "Write",
        "Edit",
        "Glob",
        "Grep",
        "Bash",
        "BashOutput",
        "KillShell",
        "WebFetch",
        "TodoWrite",
    ];
    assert_eq!(requests[0].tool_names(), tools);
    assert_eq!(run.frames()[0]["tools"], serde_json::json!(tools));
    assert_eq!(requests[1].tool_result().text, "works");
    let call = requests[2].tool_result();
    assert!(call.is_error && call.text.contains("There is no tool AgentTool"), "{call:?}");
    assert_eq!(scene.server.requests_of("CHILD-A").len(), 0);
    scene.server.finish();
}
