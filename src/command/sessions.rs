//! `caliban sessions [list|show ID]`: formats stored conversations as text. The session store reads them.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;

use super::{CommandReport, columns, one_line};
use crate::protocol::{
    ChildMeta, ContentBlock, Message, ResultBlock, Role, RunEnd, SessionId, TranscriptEntry, clock,
    count, printable, printable_path,
};

/// The maximum number of lines shown of a tool's result.
const MAX_RESULT_LINES: usize = 20;

/// A line of the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLine {
    pub id: SessionId,
    /// When it was last written to.
    pub updated: Timestamp,
    pub cwd: PathBuf,
    pub agents: usize,
    /// The first prompt.
    pub title: String,
}

/// One agent's part of a session.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptView<'a> {
    /// Absent for the main agent.
    pub meta: Option<&'a ChildMeta>,
    pub past: &'a [TranscriptEntry],
    /// Problems that were skipped or repaired while it was read.
    pub warnings: &'a [String],
    /// How it ended, if recorded.
    pub end: Option<&'a RunEnd>,
}

/// Lists all sessions in the given order, one per line.
pub fn list(sessions: &[SessionLine]) -> CommandReport {
    if sessions.is_empty() {
        return CommandReport::text("No sessions yet.\n");
    }
    let head = ["ID", "LAST", "AGENTS", "DIRECTORY", "FIRST PROMPT"].map(str::to_owned);
    let rows = sessions.iter().map(|session| {
        [
            session.id.to_string(),
            session.updated.strftime("%Y-%m-%d %H:%MZ").to_string(),
            session.agents.to_string(),
            printable_path(&session.cwd),
            one_line(&session.title, 60),
        ]
    });
    CommandReport::text(columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>()))
}

/// Reports that `show` found nothing; `why` lists the ids or says that several match.
pub fn not_found(why: &str) -> CommandReport {
    CommandReport::error(printable(why))
}

/// Formats the transcripts of the main agent and its sub-agents as text.
pub fn show(transcripts: &[TranscriptView<'_>]) -> CommandReport {
    let mut out = String::new();
    for transcript in transcripts {
        if let Some(meta) = transcript.meta {
            let end = transcript.end.map_or_else(|| "interrupted".to_owned(), describe_end);
            let title = one_line(&meta.description, 60);
            // Writing to a String cannot fail.
            let _ =
                writeln!(out, "== {} · {title} · {end} · {}\n", one_line(&meta.name, 64), meta.id);
        }
        for past in transcript.past {
            show_past(past, &mut out);
        }
        if let (None, Some(end)) =
            (transcript.meta, transcript.end.filter(|end| **end != RunEnd::Completed))
        {
            let _ = writeln!(out, "[{}]\n", describe_end(end));
        }
        for warning in transcript.warnings {
            let _ = writeln!(out, "[{}]\n", printable(warning));
        }
    }
    CommandReport::text(out)
}

fn show_past(past: &TranscriptEntry, out: &mut String) {
    match past {
        TranscriptEntry::Message(Message { role, content }) => {
            for block in content {
                show_block(*role, block, out);
            }
        }
        TranscriptEntry::Compacted { before_tokens, after_tokens } => {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "[compacted: {before_tokens} to {after_tokens} tokens; a summary replaces what is above]\n"
            );
        }
    }
}

fn show_block(role: Role, block: &ContentBlock, out: &mut String) {
    let text = match (block, role) {
        (ContentBlock::Text { text, aside: true, .. }, _) => {
            format!("[aside: {}]", printable(text.trim()))
        }
        (ContentBlock::Text { text, .. }, Role::User) => format!("› {}", printable(text.trim())),
        (ContentBlock::Text { text, .. }, Role::Assistant) => printable(text.trim()),
        (ContentBlock::ToolUse { name, input, malformed, .. }, _) => {
            let input = malformed.clone().unwrap_or_else(|| input.to_string());
            format!("▪ {} {}", one_line(name, 64), one_line(&input, 400))
        }
        (ContentBlock::ToolResult { content, is_error, .. }, _) => result(content, *is_error),
        (ContentBlock::Image { source }, _) => {
            format!("[image, {}]", printable(&source.media_type))
        }
        (ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. }, _) => return,
    };
    if !text.is_empty() {
        out.push_str(&text);
        out.push_str("\n\n");
    }
}

/// Returns the first lines of a result, indented.
fn result(content: &[ResultBlock], is_error: bool) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            ResultBlock::Text { text: piece } => text.push_str(&printable(piece)),
            ResultBlock::Image { source } => {
                text.push_str(&format!("[image, {}]", printable(&source.media_type)));
            }
        }
        text.push('\n');
    }
    let mut lines = text.trim_end().lines();
    let mut shown: Vec<String> =
        lines.by_ref().take(MAX_RESULT_LINES).map(|line| format!("  {line}")).collect();
    if is_error {
        shown.insert(0, "  error:".to_owned());
    }
    match lines.count() {
        0 => {}
        more => shown.push(format!("  … {}", count(more, "more line"))),
    }
    shown.join("\n")
}

/// Describes how an agent ended, as the screen does.
fn describe_end(end: &RunEnd) -> String {
    match end {
        RunEnd::Completed => "done".to_owned(),
        RunEnd::MaxTurns { limit } => format!("turn limit {limit}, partial"),
        RunEnd::Budget { what } => format!("budget {} spent, partial", one_line(what, 40)),
        RunEnd::TimeLimit { limit } => format!("time limit {}, partial", clock(*limit)),
        RunEnd::Cancelled { before_start: true } => "cancelled before it started".to_owned(),
        RunEnd::Cancelled { before_start: false } => "cancelled".to_owned(),
        RunEnd::Interrupted => "interrupted".to_owned(),
        RunEnd::Failed { message, .. } => format!("failed: {}", one_line(message, 200)),
        RunEnd::Refused => "refused by the model".to_owned(),
        RunEnd::Empty => "ended without an answer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::protocol::{AgentId, AgentPath, SpawnTerms, ToolUseId};

    #[test]
    fn the_list_has_one_aligned_line_per_session() {
        let id: SessionId = "01990000-0000-7000-8000-000000000001".parse().unwrap();
        let line = SessionLine {
            id,
            updated: "2026-11-20T09:05:59Z".parse().unwrap(),
            cwd: "/srv/shop".into(),
            agents: 3,
            title: "find out\nwhy login is slow".to_owned(),
        };
        let expected = "\
ID                                    LAST               AGENTS  DIRECTORY  FIRST PROMPT
01990000-0000-7000-8000-000000000001  2026-11-20 09:05Z  3       /srv/shop  find out why login is slow
";
        assert_eq!(list(&[line]).text, expected);
        assert_eq!(list(&[]).text, "No sessions yet.\n");
    }

    #[test]
    fn a_session_is_shown_with_its_calls_and_its_sub_agents() {
        let call = ToolUseId::new("t1");
        let main = [
            Message::user_text("look around"),
            Message::assistant(vec![
                ContentBlock::Thinking { thinking: "hm".to_owned(), signature: String::new() },
                ContentBlock::text("I look."),
                ContentBlock::ToolUse {
                    id: call.clone(),
                    name: "Grep".to_owned(),
                    input: json!({"pattern": "fn\u{1b}"}),
                    malformed: None,
                },
            ]),
            Message::user(vec![ContentBlock::result(
                call.clone(),
                vec![ResultBlock::text("hit\u{1b}[2J\n".repeat(22))],
                true,
            )]),
        ];
        let id = AgentId::generate();
        let meta = ChildMeta {
            id,
            path: AgentPath::root().child(id),
            agent: "explore".to_owned(),
            name: "explore-1".to_owned(),
            description: "map the routes".to_owned(),
            tool_use_id: call,
            model: "m".to_owned(),
            max_turns: None,
            color: None,
            background: None,
            depth: 1,
            terms: SpawnTerms::default(),
            inherited: 0,
        };
        let mut main = main.map(TranscriptEntry::Message).to_vec();
        main.insert(1, TranscriptEntry::Compacted { before_tokens: 9000, after_tokens: 70 });
        let child = [TranscriptEntry::Message(Message::user_text("map"))];
        let end = RunEnd::MaxTurns { limit: 20 };
        let (failed, repaired) = (RunEnd::Interrupted, ["line 3 skipped".to_owned()]);
        let shown = show(&[
            TranscriptView { meta: None, past: &main, warnings: &repaired, end: Some(&failed) },
            TranscriptView { meta: Some(&meta), past: &child, warnings: &[], end: Some(&end) },
        ]);
        let hits = "  hit\\u{1b}[2J\n".repeat(20);
        let expected = format!(
            "› look around\n\n\
             [compacted: 9000 to 70 tokens; a summary replaces what is above]\n\n\
             I look.\n\n▪ Grep {{\"pattern\":\"fn\\u001b\"}}\n\n\
             \x20 error:\n{hits}  … 2 more lines\n\n\
             [interrupted]\n\n[line 3 skipped]\n\n\
             == explore-1 · map the routes · turn limit 20, partial · {id}\n\n› map\n\n"
        );
        assert_eq!(shown.text, expected);
    }
}
