//! `caliban sessions [list|show ID|export ID|rm ID|prune]`: stored conversations.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::export::{StoredTranscript, export};
use super::{CommandReport, columns, in_reading_order, note_to_model, one_line};
use crate::app::setup::AppError;
use crate::cli::{ExportFormat, SessionsAction};
use crate::protocol::{
    AgentId, ContentBlock, ResultBlock, Role, RunEnd, SessionId, TranscriptEntry, byte_size,
    call_subject, count, printable, printable_line, printable_path,
};
use crate::session::{
    AgentCallResult, AgentSummary, IdMatch, PruneMode, PruneReport, SessionStore, SessionSummary,
};
use crate::subagent::call_result;

/// The maximum number of lines shown of a tool's result.
const MAX_RESULT_LINES: usize = 20;

/// Lists, shows, exports or removes sessions.
pub fn sessions(action: &SessionsAction, store: &SessionStore, keep_days: u32) -> CommandReport {
    let report = match action {
        SessionsAction::List => return list(&store.list()),
        SessionsAction::Show { id } => find(id, store).map(|agents| show(&agents)),
        SessionsAction::Export { id, format } => {
            let id = store.find(id).map_err(AppError::from);
            id.and_then(|id| export_session(id, store, *format)).map(CommandReport::text)
        }
        SessionsAction::Rm { id } => remove(id, store),
        SessionsAction::Prune { older_than, dry_run } => {
            let days = older_than.unwrap_or(keep_days);
            let mode = if *dry_run { PruneMode::DryRun } else { PruneMode::All };
            let report = store.prune(days_ago(Timestamp::now(), days), mode);
            return prune_report(&report, days, *dry_run);
        }
    };
    report.unwrap_or_else(|error| CommandReport::error(printable(&error.to_string())))
}

/// Returns a session as one self-contained file.
pub fn export_session(
    id: SessionId,
    store: &SessionStore,
    format: ExportFormat,
) -> Result<String, AppError> {
    let (session, agents) = load(id, store)?;
    Ok(export(&session, &agents, format))
}

fn remove(prefix: &str, store: &SessionStore) -> Result<CommandReport, AppError> {
    let id = store.find(prefix)?;
    store.remove(id)?;
    Ok(CommandReport::text(format!("Removed session {id}.\n")))
}

/// Returns the time so many days before, or the earliest one.
pub(crate) fn days_ago(now: Timestamp, days: u32) -> Timestamp {
    let hours = SignedDuration::from_hours(i64::from(days) * 24);
    now.checked_sub(hours).unwrap_or(Timestamp::MIN)
}

/// Lists what was removed, with sizes, and says what stays.
fn prune_report(report: &PruneReport, days: u32, dry_run: bool) -> CommandReport {
    let rows = report.removed.iter().map(|session| {
        [
            session.id.to_string(),
            session.last.strftime("%Y-%m-%d %H:%MZ").to_string(),
            byte_size(session.bytes),
            one_line(&session.title, 60),
        ]
    });
    let mut text = columns(&rows.collect::<Vec<_>>());
    let bytes = byte_size(report.removed.iter().map(|session| session.bytes).sum());
    let ended = match (report.removed.len(), dry_run) {
        (0, _) => {
            format!("No session was last used more than {} ago.\n", count(days as usize, "day"))
        }
        (many, true) => format!("{} would be removed, {bytes}.\n", count(many, "session")),
        (many, false) => format!("{} removed, {bytes}.\n", count(many, "session")),
    };
    text.push_str(&ended);
    if report.in_use > 0 {
        text.push_str(&format!("{} in use: kept.\n", count(report.in_use, "session")));
    }
    for worktree in report.removed.iter().flat_map(|session| &session.worktrees) {
        let worktree = printable_path(worktree);
        text.push_str(&format!("The worktree {worktree} of an agent stays: it may hold work.\n"));
    }
    report.failed.iter().for_each(|why| text.push_str(&format!("{}\n", printable_line(why))));
    CommandReport { broken: !report.failed.is_empty(), ..CommandReport::text(text) }
}

/// Returns the agents of a session, or the one agent with that id.
fn find(prefix: &str, store: &SessionStore) -> Result<Vec<StoredTranscript>, AppError> {
    match store.find_any(prefix)? {
        IdMatch::Session(id) => Ok(load(id, store)?.1),
        IdMatch::Agent { session, agent } => {
            let agents = store.agents(session);
            let summary = agents.into_iter().find(|it| it.meta.id == agent);
            Ok(vec![load_agent(session, agent, summary, store)?])
        }
    }
}

/// Returns the header of a session, and its agents: first main, then its sub-agents.
fn load(id: SessionId, store: &SessionStore) -> Result<(Value, Vec<StoredTranscript>), AppError> {
    let main = store.load(id, &stored_result)?;
    let session = serde_json::to_value(&main.session).unwrap_or_default();
    let mut agents = vec![StoredTranscript::new(None, main)];
    for agent in store.agents(id) {
        agents.push(load_agent(id, agent.meta.id, Some(agent), store)?);
    }
    Ok((session, agents))
}

fn load_agent(
    session: SessionId,
    id: AgentId,
    summary: Option<AgentSummary>,
    store: &SessionStore,
) -> Result<StoredTranscript, AppError> {
    let transcript = store.load_agent(session, id, &stored_result)?;
    Ok(StoredTranscript::new(summary.map(|agent| agent.meta), transcript))
}

/// Returns the result of a call that is unfinished in its file: its agent's end, untruncated.
fn stored_result(agent: &AgentSummary) -> Option<AgentCallResult> {
    let (text, is_error, details) = call_result(&agent.meta, agent.end.as_ref()?, 0);
    Some(AgentCallResult { text, is_error, details })
}

/// The ends of the groups of an id. The first two hold the time of its creation.
const ID_GROUPS: [usize; 3] = [13, 18, 23];

/// Lists sessions in the given order, one per line. A narrow terminal shows as many groups of the ids as
/// tell them apart.
fn list(sessions: &[SessionSummary]) -> CommandReport {
    if sessions.is_empty() {
        return CommandReport::text("No sessions yet.\n");
    }
    let head = ["ID", "LAST", "AGENTS", "NAME OR FIRST PROMPT", "DIRECTORY"].map(str::to_owned);
    let row = |session: &SessionSummary, id: String| {
        [
            id,
            session.last.strftime("%Y-%m-%d %H:%MZ").to_string(),
            session.agents.to_string(),
            one_line(session.title(), 60),
            printable_path(&session.cwd),
        ]
    };
    let table = |id: &dyn Fn(&SessionSummary) -> String| {
        let rows = sessions.iter().map(|session| row(session, id(session)));
        columns(&std::iter::once(head.clone()).chain(rows).collect::<Vec<_>>())
    };
    let clipped = |end: usize| {
        move |session: &SessionSummary| session.id.to_string().chars().take(end).collect::<String>()
    };
    let is_clear = |end: &usize| {
        let ids: BTreeSet<String> = sessions.iter().map(clipped(*end)).collect();
        ids.len() == sessions.len()
    };
    let narrow = ID_GROUPS.into_iter().find(is_clear).map(|end| table(&clipped(end)));
    let text = table(&|session| session.id.to_string());
    CommandReport { text, is_table: true, narrow, ..CommandReport::default() }
}

/// Formats the transcripts of agents as text.
fn show(agents: &[StoredTranscript]) -> CommandReport {
    let mut out = String::new();
    for agent in agents {
        let end = agent.end.as_ref().map(|outcome| &outcome.end);
        if let Some(meta) = &agent.meta {
            let end = end.map_or_else(|| "interrupted".to_owned(), describe_end);
            let title = one_line(&meta.description, 60);
            // Writing to a String cannot fail.
            let _ =
                writeln!(out, "== {} · {title} · {end} · {}\n", one_line(&meta.name, 64), meta.id);
        }
        for past in &agent.past {
            show_past(past, &mut out);
        }
        if let (None, Some(end)) = (&agent.meta, end.filter(|end| **end != RunEnd::Completed)) {
            let _ = writeln!(out, "[{}]\n", describe_end(end));
        }
        for warning in &agent.warnings {
            let _ = writeln!(out, "[{}]\n", printable(warning));
        }
    }
    CommandReport::text(out)
}

fn show_past(past: &TranscriptEntry, out: &mut String) {
    match past {
        TranscriptEntry::Message(message) => {
            for block in in_reading_order(&message.joined_content()) {
                show_block(message.role, block, out);
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
    let note = note_to_model(block).map(printable);
    let text = match (block, role) {
        (ContentBlock::Text { text, shell: Some(run), .. }, _) => {
            let text = format!("› !{}\n{}", run.line, run.printed(text));
            printable(text.trim_end())
        }
        (ContentBlock::Text { .. }, _) if let Some(note) = note => {
            format!("[note to the model: {note}]")
        }
        (ContentBlock::Text { text, .. }, Role::User) => format!("› {}", printable(text.trim())),
        (ContentBlock::Text { text, .. }, Role::Assistant) => printable(text.trim()),
        (ContentBlock::ToolUse { name, input, malformed, .. }, _) => {
            let subject = malformed.as_deref().or_else(|| subject(input)).unwrap_or_default();
            let line = format!("● {} {}", one_line(name, 64), one_line(subject, 400));
            line.trim_end().to_owned()
        }
        (ContentBlock::ToolResult { content, is_error, .. }, _) => result(content, *is_error),
        (ContentBlock::Image { source, label, .. }, _) => {
            format!("[{}]", printable(&source.label_or(label)))
        }
        (ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. }, _) => return,
    };
    if !text.is_empty() {
        out.push_str(&text);
        out.push_str("\n\n");
    }
}

/// Returns what a call is about, as the screen shows it: a telling field of its input, or the first text.
fn subject(input: &Value) -> Option<&str> {
    let texts = || input.as_object()?.values().filter_map(Value::as_str).find(|it| !it.is_empty());
    call_subject(input).or_else(texts)
}

/// Returns the first lines of a result, indented.
fn result(content: &[ResultBlock], is_error: bool) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            ResultBlock::Text { text: piece } => text.push_str(&printable(piece)),
            ResultBlock::Image { .. } | ResultBlock::Document { .. } => {
                text.push_str(&printable(&block.label()));
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
        RunEnd::Failed { message, .. } => format!("failed: {}", one_line(message, 200)),
        other => one_line(&other.describe(), 200),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::protocol::{ChildMeta, Message, RunOutcome, ShellRun, ToolUseId};

    fn session(id: &str) -> SessionSummary {
        let last = "2026-11-20T09:05:59Z".parse().unwrap();
        SessionSummary {
            id: id.parse().unwrap(),
            cwd: "/srv/shop".into(),
            name: None,
            model: "m".to_owned(),
            branch: None,
            started: last,
            last,
            first_prompt: "find out\nwhy login is slow".to_owned(),
            messages: 9,
            agents: 3,
        }
    }

    #[test]
    fn the_list_has_one_aligned_line_per_session() {
        let session = session("01990000-0000-7000-8000-000000000001");
        let expected = "\
ID                                    LAST               AGENTS  NAME OR FIRST PROMPT        DIRECTORY
01990000-0000-7000-8000-000000000001  2026-11-20 09:05Z  3       find out why login is slow  /srv/shop
";
        assert_eq!(list(std::slice::from_ref(&session)).text, expected);
        let named = SessionSummary { name: Some("slow login".to_owned()), ..session };
        assert!(list(&[named]).text.contains("  slow login "));
        assert_eq!(list(&[]).text, "No sessions yet.\n");
    }

    #[test]
    fn a_narrow_terminal_shows_as_much_of_the_ids_as_tells_them_apart() {
        let mut sessions = vec![
            session("01990000-0000-7000-8000-000000000001"),
            session("01990000-0001-7000-8000-000000000001"),
        ];
        let shown = |sessions: &[SessionSummary], width| {
            let text = list(sessions).fitted(Some(width));
            text.lines().nth(1).unwrap().to_owned()
        };
        let line = "01990000-0000  2026-11-20 09:05Z  3       find out why login is slow…";
        assert_eq!(shown(&sessions, 70), line);
        assert!(shown(&sessions, 120).starts_with("01990000-0000-7000-8000-000000000001  2026"));
        sessions.push(session("01990000-0001-7000-8001-000000000001"));
        assert!(shown(&sessions, 70).starts_with("01990000-0000-7000-8000  2026-11-20"));
    }

    #[test]
    fn a_session_is_shown_with_its_calls_and_its_sub_agents() {
        let call = ToolUseId::new("t1");
        let run = ShellRun { line: "ls".to_owned(), status: String::new(), began: None };
        let main = [
            Message::user(vec![
                ContentBlock::shell_run(run, "one\n"),
                ContentBlock::aside("[Git when the session was opened:\n?? a\u{1b}]"),
                ContentBlock::text("look around"),
                ContentBlock::aside("a hint"),
                ContentBlock::text(
                    "[bash-1 (make) has ended: exit code 3. BashOutput shows what it printed.]",
                ),
            ]),
            Message::assistant(vec![
                ContentBlock::Thinking { thinking: "hm".to_owned(), signature: String::new() },
                ContentBlock::text("I look."),
                ContentBlock::ToolUse {
                    id: call.clone(),
                    name: "Grep".to_owned(),
                    input: Box::new(json!({"pattern": "fn\u{1b}"})),
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
        let meta =
            ChildMeta { description: "map the routes".to_owned(), ..ChildMeta::for_test(id, call) };
        let mut main = main.map(TranscriptEntry::Message).to_vec();
        main.insert(1, TranscriptEntry::Compacted { before_tokens: 9000, after_tokens: 70 });
        let child = vec![TranscriptEntry::Message(Message::user_text("map"))];
        let end = |end| Some(RunOutcome::without_work(end));
        let shown = show(&[
            StoredTranscript {
                past: main,
                warnings: vec!["line 3 skipped".to_owned()],
                end: end(RunEnd::Interrupted),
                ..StoredTranscript::default()
            },
            StoredTranscript {
                meta: Some(meta),
                past: child,
                end: end(RunEnd::MaxTurns { limit: 20 }),
                ..StoredTranscript::default()
            },
        ]);
        let hits = "  hit\\u{1b}[2J\n".repeat(20);
        let expected = format!(
            "› !ls\none\n\n› look around\n\n\
             [note to the model: bash-1 (make) has ended: exit code 3. BashOutput shows what it printed.]\n\n\
             [note to the model: Git when the session was opened:\n?? a\\u{{1b}}]\n\n\
             [note to the model: a hint]\n\n\
             [compacted: 9000 to 70 tokens; a summary replaces what is above]\n\n\
             I look.\n\n● Grep fn\\u{{1b}}\n\n\
             \x20 error:\n{hits}  … 2 more lines\n\n\
             [interrupted]\n\n[line 3 skipped]\n\n\
             == explore-1 · map the routes · turn limit 20, partial · {id}\n\n› map\n\n"
        );
        assert_eq!(shown.text, expected);
    }
}
