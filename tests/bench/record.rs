//! A stored session of any length.

use std::fmt::Write as _;

use super::workspace::Workspace;

/// The session's id.
pub const SESSION: &str = "01a21a64-663d-705b-8815-7908df38cf9c";

/// The end of the last message.
pub const LAST_WORDS: &str = "¶§¶§";

/// Stores a session of so many messages, 280 bytes each, half of them the user's.
pub fn store(workspace: &Workspace, messages: usize) {
    let folder = workspace.settings().join("sessions").join(SESSION);
    std::fs::create_dir_all(&folder).expect("a folder for the session");
    let cwd = workspace.project().canonicalize().expect("the project");
    let at = "2026-01-01T00:00:00Z";
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":2,\"id\":\"{SESSION}\",\"cwd\":{:?},\"created\":\"{at}\",\
         \"model\":\"claude-sonnet-5\",\"provider\":\"anthropic\",\"agent_tool\":\"AgentTool\"}}\n",
        cwd.display().to_string()
    );
    for number in 1..=messages {
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        let end = if number == messages { LAST_WORDS } else { "one more line of many" };
        let _ = writeln!(
            text,
            "{{\"type\":\"message\",\"at\":\"{at}\",\"n\":{number},\"message\":{{\"role\":\"{role}\",\
             \"content\":[{{\"type\":\"text\",\"text\":\"Message {number} says that the session reads \
             `src/session.rs` twice, in the guard and in the handler: {end}\"}}]}}}}"
        );
    }
    std::fs::write(folder.join("transcript.jsonl"), text).expect("the session");
}
