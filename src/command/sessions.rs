//! `caliban sessions [list|show ID]`: stored conversations as text. Reading them is the session
//! store's business.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;

use super::{Report, columns, one_line};
use crate::protocol::{
    ChildMeta, ContentBlock, End, Message, Past, ResultBlock, Role, SessionId, clock, count,
    printable, printable_path,
};

/// Lines of a tool's result that are shown.
const MAX_RESULT_LINES: usize = 20;

/// What the list says about one session.
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
pub struct Transcript<'a> {
    /// Absent for the main agent.
    pub meta: Option<&'a ChildMeta>,
    pub past: &'a [Past],
    /// What was left out or mended while it was read.
    pub warnings: &'a [String],
    /// How it ended, where that was written.
    pub end: Option<&'a End>,
}

/// All sessions in the given order, one a line.
#[must_use]
pub fn list(sessions: &[SessionLine]) -> Report {
    if sessions.is_empty() {
        return Report::text("No sessions yet.\n");
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
    Report::text(columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>()))
}

/// The report when `show` finds nothing; `why` says which ids there are or that several fit.
#[must_use]
pub fn not_found(why: &str) -> Report {
    Report::error(printable(why))
}

/// The main agent's transcript and those of its sub-agents, as text.
#[must_use]
pub fn show(transcripts: &[Transcript<'_>]) -> Report {
    let mut out = String::new();
    for transcript in transcripts {
        if let Some(meta) = transcript.meta {
            let end = transcript.end.map_or_else(|| "interrupted".to_owned(), words);
            let title = one_line(&meta.description, 60);
            // Writing to a String cannot fail.
            let _ =
                writeln!(out, "== {} · {title} · {end} · {}\n", one_line(&meta.name, 64), meta.id);
        }
        for past in transcript.past {
            show_past(past, &mut out);
        }
        if let (None, Some(end)) =
            (transcript.meta, transcript.end.filter(|end| **end != End::Completed))
        {
            let _ = writeln!(out, "[{}]\n", words(end));
        }
        for warning in transcript.warnings {
            let _ = writeln!(out, "[{}]\n", printable(warning));
        }
    }
    Report::text(out)
}

fn show_past(past: &Past, out: &mut String) {
    match past {
        Past::Message(Message { role, content }) => {
            for block in content {
                show_block(*role, block, out);
            }
        }
        Past::Compacted { before_tokens, after_tokens } => {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "[compacted: {before_tokens} to {after_tokens} tokens; a summary stands for what is above]\n"
            );
        }
    }
}

fn show_block(role: Role, block: &ContentBlock, out: &mut String) {
    let text = match (block, role) {
        (ContentBlock::Text { text, aside: true, .. }, _) => {
            format!("[beside it: {}]", printable(text.trim()))
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

/// The first lines of a result, indented.
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

/// How an agent ended, in the words of the screen.
fn words(end: &End) -> String {
    match end {
        End::Completed => "done".to_owned(),
        End::MaxTurns { limit } => format!("turn limit {limit}, partial"),
        End::Budget { what } => format!("budget {} spent, partial", one_line(what, 40)),
        End::TimeLimit { limit } => format!("time limit {}, partial", clock(*limit)),
        End::Cancelled { before_start: true } => "cancelled before it started".to_owned(),
        End::Cancelled { before_start: false } => "cancelled".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Failed { message, .. } => format!("failed: {}", one_line(message, 200)),
        End::Refused => "refused by the model".to_owned(),
        End::Empty => "ended without a text".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::protocol::{AgentId, AgentPath, Terms, ToolUseId};

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
            terms: Terms::default(),
            inherited: 0,
        };
        let mut main = main.map(Past::Message).to_vec();
        main.insert(1, Past::Compacted { before_tokens: 9000, after_tokens: 70 });
        let child = [Past::Message(Message::user_text("map"))];
        let end = End::MaxTurns { limit: 20 };
        let (failed, mended) = (End::Interrupted, ["line 3 is left out".to_owned()]);
        let shown = show(&[
            Transcript { meta: None, past: &main, warnings: &mended, end: Some(&failed) },
            Transcript { meta: Some(&meta), past: &child, warnings: &[], end: Some(&end) },
        ]);
        let hits = "  hit\\u{1b}[2J\n".repeat(20);
        let expected = format!(
            "› look around\n\n\
             [compacted: 9000 to 70 tokens; a summary stands for what is above]\n\n\
             I look.\n\n▪ Grep {{\"pattern\":\"fn\\u001b\"}}\n\n\
             \x20 error:\n{hits}  … 2 more lines\n\n\
             [interrupted]\n\n[line 3 is left out]\n\n\
             == explore-1 · map the routes · turn limit 20, partial · {id}\n\n› map\n\n"
        );
        assert_eq!(shown.text, expected);
    }
}
