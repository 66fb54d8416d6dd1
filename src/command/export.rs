//! `caliban sessions export ID`: writes a conversation with its sub-agents as one self-contained file.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{in_reading_order, note_to_model, one_line};
use crate::cli::ExportFormat;
use crate::protocol::{
    ChildMeta, ContentBlock, Cost, Message, ResultBlock, Role, RunOutcome, TranscriptEntry, Usage,
};
use crate::session::Transcript;

/// The version of the JSON format.
const JSON_VERSION: u32 = 1;

/// The stored conversation of one agent.
#[derive(Clone, Debug, Default)]
pub struct StoredTranscript {
    /// Absent for the main agent.
    pub meta: Option<ChildMeta>,
    pub past: Vec<TranscriptEntry>,
    pub usage: Usage,
    pub cost: Cost,
    /// How its last run ended, if recorded.
    pub end: Option<RunOutcome>,
    /// Problems that were skipped or repaired while it was read.
    pub warnings: Vec<String>,
}

impl StoredTranscript {
    /// Takes what is shown of a transcript.
    pub fn new(meta: Option<ChildMeta>, transcript: Transcript) -> Self {
        let past = transcript.past();
        let Transcript { usage, cost, end, warnings, .. } = transcript;
        Self { meta, past, usage, cost, end, warnings }
    }
}

/// Returns the file. `session` is the session's header; `agents` starts with the main agent.
pub fn export(session: &Value, agents: &[StoredTranscript], format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => to_json(session, agents),
        ExportFormat::Markdown => to_markdown(session, agents),
    }
}

fn to_json(session: &Value, agents: &[StoredTranscript]) -> String {
    let agents: Vec<_> = agents.iter().map(agent).collect();
    let file = json!({"version": JSON_VERSION, "session": session, "agents": agents});
    format!("{file:#}\n")
}

fn agent(agent: &StoredTranscript) -> Value {
    let StoredTranscript { meta, past, usage, cost, end, warnings } = agent;
    let messages: Vec<_> = past
        .iter()
        .map(|past| match past {
            TranscriptEntry::Message(message) => json!(message),
            TranscriptEntry::Compacted { before_tokens, after_tokens } => {
                json!({"compacted": {"before_tokens": before_tokens, "after_tokens": after_tokens}})
            }
        })
        .collect();
    json!({
        "agent": meta, "messages": messages, "usage": usage, "cost": cost, "end": end,
        "warnings": warnings,
    })
}

fn to_markdown(session: &Value, agents: &[StoredTranscript]) -> String {
    let mut out = String::new();
    for agent in agents {
        let title = match &agent.meta {
            None => format!("# Session {}", session["id"].as_str().unwrap_or_default()),
            Some(meta) => {
                let (name, about) = (one_line(&meta.name, 64), one_line(&meta.description, 80));
                format!("# {name}: {about}")
            }
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{title}\n");
        for past in &agent.past {
            match past {
                TranscriptEntry::Message(message) => message_as_markdown(message, &mut out),
                TranscriptEntry::Compacted { before_tokens, after_tokens } => {
                    let _ = writeln!(
                        out,
                        "*Compacted: {before_tokens} to {after_tokens} tokens; a summary replaces what is above.*\n"
                    );
                }
            }
        }
        for warning in &agent.warnings {
            let _ = writeln!(out, "*{warning}*\n");
        }
    }
    out
}

fn message_as_markdown(message: &Message, out: &mut String) {
    let speaker = match message.role {
        Role::User => "User",
        Role::Assistant => "Assistant",
    };
    for block in in_reading_order(&message.joined_content()) {
        // Writing to a String cannot fail.
        let _ = match block {
            ContentBlock::Text { text, shell: Some(run), .. } => {
                let printed = fenced(run.printed(text));
                writeln!(out, "## {speaker}\n\n!{}\n\n{printed}\n", run.line)
            }
            ContentBlock::Text { text, .. } if note_to_model(block).is_some() => {
                writeln!(out, "## Note to the model\n\n{}\n", fenced(text))
            }
            ContentBlock::Text { text, .. } => writeln!(out, "## {speaker}\n\n{}\n", text.trim()),
            ContentBlock::ToolUse { name, input, malformed, .. } => {
                let input = malformed.clone().unwrap_or_else(|| format!("{input:#}"));
                writeln!(out, "## Tool call: {name}\n\n{}\n", fenced(&input))
            }
            ContentBlock::ToolResult { content, is_error, .. } => {
                let kind = if *is_error { "Error" } else { "Result" };
                let texts = content.iter().map(|piece| match piece {
                    ResultBlock::Text { text } => text.clone(),
                    ResultBlock::Image { .. } | ResultBlock::Document { .. } => piece.label(),
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                writeln!(out, "## {kind}\n\n{}\n", fenced(&text))
            }
            ContentBlock::Image { source, label, .. } => {
                writeln!(out, "[{}]\n", source.label_or(label))
            }
            ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. } => Ok(()),
        };
    }
}

/// Returns a code block with a fence longer than any inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolUseId;

    fn main_agent() -> StoredTranscript {
        let id = ToolUseId::new("t1");
        let messages = [
            Message::user(vec![
                ContentBlock::aside("[Git:\n?? a\n?? b]"),
                ContentBlock::text("look"),
            ]),
            Message::assistant(vec![ContentBlock::ToolUse {
                id: id.clone(),
                name: "Read".to_owned(),
                input: Box::new(json!({"file_path": "a.md"})),
                malformed: None,
            }]),
            Message::user(vec![ContentBlock::result(
                id,
                vec![ResultBlock::text("```\ncode\n```\n")],
                false,
            )]),
        ];
        StoredTranscript {
            past: messages.into_iter().map(TranscriptEntry::Message).collect(),
            warnings: vec!["line 3 is left out".to_owned()],
            ..StoredTranscript::default()
        }
    }

    #[test]
    fn json_holds_all_messages_as_they_are() {
        let text = export(&json!({"id": "s"}), &[main_agent()], ExportFormat::Json);
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&file["version"], &file["session"]["id"]), (&json!(1), &json!("s")));
        let messages = &file["agents"][0]["messages"];
        assert_eq!(messages[1]["content"][0]["input"]["file_path"], "a.md");
        assert_eq!(messages[2]["content"][0]["content"][0]["text"], "```\ncode\n```\n");
    }

    #[test]
    fn markdown_keeps_a_result_in_its_fence() {
        let text = export(&json!({"id": "s"}), &[main_agent()], ExportFormat::Markdown);
        let expected = "# Session s\n\n## User\n\nlook\n\n\
                        ## Note to the model\n\n```\n[Git:\n?? a\n?? b]\n```\n\n## Tool call: Read\n\n\
                        ```\n{\n  \"file_path\": \"a.md\"\n}\n```\n\n\
                        ## Result\n\n````\n```\ncode\n```\n````\n\n*line 3 is left out*\n\n";
        assert_eq!(text, expected);
    }
}
