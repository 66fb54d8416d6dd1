//! Finds the reply to a conversation: the conversation itself says how far the play has come.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::protocol::{ContentBlock, Message, ResultBlock, Role, ToolUseId};

use super::scenario::{Scenario, ScriptedAgent, ScriptedReply};
use super::template::{ScriptedResult, ScriptedResults};

/// A reply with all its slots filled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledReply {
    /// Seconds before the first word.
    pub pause: f64,
    pub thinking: String,
    pub text: String,
    /// The tool's name and the input.
    pub calls: Vec<(String, Value)>,
}

/// Returns the next reply.
pub fn next_reply(scenario: &Scenario, messages: &[Message]) -> FilledReply {
    let (prompt, played) = split_at_prompt(messages);
    let Some(agent) = scenario.agents.iter().find(|agent| agent.pattern.is_match(&prompt)) else {
        return FilledReply { text: scenario.says.unmatched.clone(), ..FilledReply::default() };
    };
    let mut line = follow(agent, played).unwrap_or_else(|| FilledReply {
        text: scenario.says.stuck.clone(),
        ..FilledReply::default()
    });
    if has_aside(played) {
        line.text = format!("{}\n\n{}", scenario.says.aside, line.text);
    }
    line
}

/// Splits off the text of the prompt that is being answered, and returns it with the messages after
/// it. Text that comes with or right after the results of tools does not start a new prompt.
fn split_at_prompt(messages: &[Message]) -> (String, &[Message]) {
    let opens = |index: usize| {
        let first =
            index.checked_sub(1).is_none_or(|before| messages[before].role == Role::Assistant);
        first && messages[index].role == Role::User && !has_results(&messages[index])
    };
    let start = (0..messages.len()).rev().find(|&index| opens(index)).unwrap_or(0);
    let rest = messages.get(start..).unwrap_or_default();
    let length = rest.iter().take_while(|message| message.role == Role::User).count();
    let (prompt, played) = rest.split_at(length);
    let prompt: Vec<String> = prompt.iter().map(Message::text).collect();
    (prompt.join("\n\n"), played)
}

fn has_results(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
}

/// Whether a message came in after the last answer.
fn has_aside(played: &[Message]) -> bool {
    let latest = played.iter().rev().take_while(|message| message.role == Role::User);
    latest.into_iter().any(|message| !message.text().trim().is_empty())
}

/// Replays the script along the given answers, so that each result gets its name, and takes the next reply.
fn follow(agent: &ScriptedAgent, played: &[Message]) -> Option<FilledReply> {
    let mut replies = agent.replies.iter();
    let mut results = ScriptedResults::new();
    let mut names: BTreeMap<&ToolUseId, &str> = BTreeMap::new();
    for message in played {
        if message.role == Role::Assistant {
            let (reply, _) = next_that_fits(&mut replies, &results)?;
            let calls = reply.calls.iter().map(|call| call.name.as_str());
            names.extend(message.tool_use_ids().zip(calls));
            continue;
        }
        for block in &message.content {
            let ContentBlock::ToolResult { tool_use_id, content, is_error, .. } = block else {
                continue;
            };
            if let Some(name) = names.get(tool_use_id) {
                results.insert(
                    name,
                    ScriptedResult { text: ResultBlock::joined_text(content), failed: *is_error },
                );
            }
        }
    }
    next_that_fits(&mut replies, &results).map(|(_, line)| line)
}

fn next_that_fits<'a>(
    replies: &mut impl Iterator<Item = &'a ScriptedReply>,
    results: &ScriptedResults<'_>,
) -> Option<(&'a ScriptedReply, FilledReply)> {
    replies.find_map(|reply| Some((reply, fill(reply, results)?)))
}

fn fill(reply: &ScriptedReply, results: &ScriptedResults<'_>) -> Option<FilledReply> {
    if !reply.when.holds(results) {
        return None;
    }
    let calls = reply.calls.iter().map(|call| Some((call.tool.clone(), call.input.fill(results)?)));
    Some(FilledReply {
        pause: reply.pause,
        thinking: reply.thinking.fill(results)?,
        text: reply.text.fill(results)?,
        calls: calls.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    const PLAY: &str = r#"
        pace = 0
        says = { unmatched = "only the play", stuck = "lost", aside = "not now" }
        [[agent]]
        match = "^fix it"
        [[agent.reply]]
        text = "I look."
        [[agent.reply.call]]
        tool = "Read"
        as = "source"
        input = { file_path = "a" }
        [[agent.reply]]
        text = "I run it."
        [[agent.reply.call]]
        tool = "Bash"
        as = "run"
        input = { command = "run {{source ~ name (.*)}}" }
        [[agent.reply]]
        when = { failed = ["run"] }
        text = "It did not run: {{run}}"
        [[agent.reply]]
        when = { ok = ["run"] }
        text = "It says {{run}}"
    "#;

    /// Plays a conversation whose user texts begin with `#` or not: `=x` and `!x` are a call's good and bad result.
    fn line_after(turns: &[&str]) -> FilledReply {
        let mut messages = Vec::new();
        for (index, turn) in turns.iter().enumerate() {
            let id = || ToolUseId::new(format!("c{}", index / 2));
            let result = |text: &str, is_error| {
                let (tool_use_id, content) = (
                    ToolUseId::new(format!("c{}", (index - 1) / 2)),
                    vec![ResultBlock::text(text)],
                );
                Message::user(vec![ContentBlock::result(tool_use_id, content, is_error)])
            };
            messages.push(match turn.split_at(1) {
                ("=", text) => result(text, false),
                ("!", text) => result(text, true),
                ("@", tool) => Message::assistant(vec![ContentBlock::ToolUse {
                    id: id(),
                    name: tool.to_owned(),
                    input: Box::new(json!({})),
                    malformed: None,
                }]),
                (".", text) => Message::assistant(vec![ContentBlock::text(text)]),
                _ => Message::user_text(*turn),
            });
        }
        let scenario = Scenario::parse(PLAY, Path::new("play.toml")).unwrap();
        next_reply(&scenario, &messages)
    }

    #[test]
    fn the_conversation_alone_says_which_reply_comes_next() {
        assert_eq!(line_after(&["fix it"]).text, "I look.");
        let second = line_after(&["fix it", "@Read", "=name tests"]);
        assert_eq!(second.calls, [("Bash".to_owned(), json!({"command": "run tests"}))]);
    }

    #[test]
    fn a_failure_takes_the_branch_that_admits_it() {
        let good = line_after(&["fix it", "@Read", "=name tests", "@Bash", "=5 passed"]);
        assert_eq!(good.text, "It says 5 passed");
        let denied = line_after(&["fix it", "@Read", "=name tests", "@Bash", "!denied"]);
        assert_eq!(denied.text, "It did not run: denied");
    }

    #[test]
    fn a_reply_whose_slots_find_nothing_is_not_played() {
        assert_eq!(line_after(&["fix it", "@Read", "=nothing"]).text, "lost");
    }

    #[test]
    fn a_prompt_outside_the_play_is_answered_honestly() {
        assert_eq!(line_after(&["sing"]).text, "only the play");
        let later = ["fix it", "@Read", "=name x", "@Bash", "=ok", ".It says ok", "thanks"];
        assert_eq!(line_after(&later).text, "only the play");
    }

    #[test]
    fn a_message_in_the_middle_is_mentioned_and_the_play_goes_on() {
        let line = line_after(&["fix it", "@Read", "=name x", "also sing"]);
        assert_eq!((line.text.as_str(), line.calls.len()), ("not now\n\nI run it.", 1));
    }
}
