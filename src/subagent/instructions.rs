//! Instructions for a sub-agent on the use of the tools that it has.

use crate::tool::ToolRegistry;

/// The text, starting with a blank line; empty for an agent without tools.
pub fn for_tools(tools: &ToolRegistry) -> String {
    let has = |name: &str| tools.names().any(|tool| tool == name);
    if tools.names().next().is_none() {
        return String::new();
    }
    let mut text =
        "\n\n# Tools\n- Make independent calls in one message: they run at the same time."
            .to_owned();
    let mut add = |line: &str| {
        text.push_str("\n- ");
        text.push_str(line);
    };
    if has("Read") || has("Edit") || has("Write") {
        add("Give paths absolute, or relative to the working directory.");
    }
    if has("Edit") {
        add("Read a file before you edit it.");
    }
    if has("Bash") && (has("Read") || has("Grep")) {
        add("The shell is for building, testing and what no other tool does.");
    }
    add("A denied call is an answer: do not try the same thing another way.");
    add("Results may be cut; the marker says so. Ask for the part you need instead of all of it.");
    text
}
