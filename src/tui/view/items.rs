//! One item of a transcript as lines.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{NoticeLevel, ToolDetails};
use crate::tui::figures::{clock, count};
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::model::item::{Call, CallResult, Item, ItemKind};
use crate::tui::text::{diff_lines, one_line, sanitize, truncate, width, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;
use crate::tui::words::joined;

/// Lines of a diff that are shown folded.
const DIFF_LINES: usize = 20;

/// Lines of output that are shown folded: of a failed call, and of the person's own command.
const OUTPUT_LINES: usize = 5;

/// Lines of a report that are shown folded.
const REPORT_LINES: usize = 3;

/// What an item is drawn for.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub theme: &'a Theme,
    /// The whole width, and that of prose, in cells.
    pub width: u16,
    pub prose: u16,
    /// Everything is shown in full: the reader.
    pub full: bool,
    /// Names the key that shows what is left out.
    pub keymap: &'a Keymap,
}

/// The lines of an item whose text is not markdown; that one streams, and has a cache of its own.
#[must_use]
pub fn lines(item: &Item, style: &Look<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    // The reader shows all, and `e` folds there.
    let open = item.open != style.full;
    match &item.kind {
        ItemKind::Prompt { text, task: false } => prompt(text, style),
        ItemKind::Prompt { text, task: true } => {
            let text = if style.full { text.clone() } else { one_line(text) };
            hanging("  task: ", &text, theme.dim, theme.dim, style.prose)
        }
        ItemKind::Thinking { text, took, .. } => thinking(text, *took, open, style),
        ItemKind::Tools(calls) => tools(calls, open, style),
        ItemKind::Shell { line, text, status } => shell(line, text, status.as_deref(), open, style),
        ItemKind::Report { head, text } => report(head, text, open, style),
        ItemKind::Notice { level, text } => notice(*level, text, style),
        ItemKind::Dropped { items } => {
            let words = format!(
                "  {} were left out here; the session file has them",
                count(*items, "older item")
            );
            vec![Line::styled(words, theme.dim)]
        }
        ItemKind::Text { .. } | ItemKind::Batch { .. } | ItemKind::Hidden => Vec::new(),
    }
}

/// About how many lines an item has, without laying it out: a few too many or too few do no harm.
#[must_use]
pub fn guess(item: &Item, look: &Look<'_>) -> usize {
    let open = item.open != look.full;
    let lines = |text: &str| {
        let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
        1 + breaks + text.len() / usize::from(look.prose.max(1))
    };
    match &item.kind {
        ItemKind::Prompt { text, .. }
        | ItemKind::Text { text, .. }
        | ItemKind::Notice { text, .. } => lines(text),
        ItemKind::Report { text, .. } => {
            1 + lines(text).min(if open { usize::MAX } else { REPORT_LINES })
        }
        ItemKind::Thinking { text, .. } => 1 + if open { lines(text) } else { 0 },
        ItemKind::Tools(calls) if open => {
            1 + calls.iter().map(|call| lines(&call.output)).sum::<usize>()
        }
        ItemKind::Tools(_) | ItemKind::Dropped { .. } => 1,
        ItemKind::Shell { text, .. } => 1 + lines(text).min(if open { usize::MAX } else { 20 }),
        ItemKind::Batch { members, .. } => 1 + members.len(),
        ItemKind::Hidden => 0,
    }
}

/// A text behind a mark; further lines are indented by as much.
fn hanging(
    mark: &str,
    text: &str,
    mark_style: Style,
    style: Style,
    width: u16,
) -> Vec<Line<'static>> {
    let indent = " ".repeat(crate::tui::text::width(mark));
    let clean = sanitize(text);
    let mut lines = Vec::new();
    for (at, line) in clean.split('\n').enumerate() {
        let first = if at == 0 { mark.to_owned() } else { indent.clone() };
        let first = Line::from(Span::styled(first, mark_style));
        let rest = Line::from(indent.clone());
        let wrapped = wrap_hanging(&Line::styled(line.to_owned(), style), width, &first, &rest);
        if wrapped.is_empty() { lines.push(first) } else { lines.extend(wrapped) }
    }
    lines
}

fn prompt(text: &str, style: &Look<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = format!("{} ", theme.glyphs.prompt);
    hanging(&mark, text.trim_end(), theme.accent, theme.accent, style.prose)
}

fn thinking(
    text: &str,
    took: Option<std::time::Duration>,
    open: bool,
    style: &Look<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let words = match took {
        None => "thinking".to_owned(),
        Some(took) if took.as_secs() > 0 => format!("thought {}", clock(took)),
        Some(_) => "thought".to_owned(),
    };
    let mut lines = vec![Line::styled(format!("{} {words}", theme.glyphs.tool), theme.dim)];
    if open {
        lines.extend(hanging("  ", text.trim(), theme.dim, theme.dim, style.prose));
    }
    lines
}

/// Calls on one line, with the output of one that failed, and the diff of one that changed a file.
fn tools(calls: &[Call], open: bool, style: &Look<'_>) -> Vec<Line<'static>> {
    if let [Call { denied: Some(words), .. }] = calls {
        return denied(&calls[0], words, open, style);
    }
    let theme = style.theme;
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(call) = calls.get(at) {
        if at > 0 {
            spans.push(Span::styled(" · ", theme.dim));
        }
        let same = calls[at..]
            .iter()
            .take_while(|other| other.name == call.name && ended_well(other))
            .count();
        if same > 1 {
            spans.push(Span::raw(format!("{} {}", call.name, things(&call.name, same))));
            at += same;
        } else {
            spans.extend(call_spans(call, theme));
            at += 1;
        }
    }
    let mark = Line::from(Span::styled(format!("{} ", theme.glyphs.tool), theme.dim));
    let mut lines = wrap_hanging(&Line::from(spans), style.prose, &mark, &Line::from("  "));
    if !open {
        lines.truncate(2);
    }
    for call in calls {
        lines.extend(outcome(call, open, style));
    }
    lines
}

/// `✗ Bash  curl … | sh   denied by you`: one line, of which the command gives way first.
fn denied(call: &Call, words: &str, open: bool, style: &Look<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = Span::styled(format!("{} ", theme.glyphs.failed), theme.bad);
    let (mut command, mut words) = (one_line(&call.summary), one_line(words));
    if !open {
        let room = usize::from(style.width).saturating_sub(width(&call.name) + 7);
        words = truncate(&words, room.saturating_sub(width(&command).min(room / 2))).into_owned();
        command = truncate(&command, room.saturating_sub(width(&words))).into_owned();
    }
    let mut spans = vec![Span::raw(call.name.clone())];
    if !command.is_empty() {
        spans.push(Span::raw(format!("  {command}")));
    }
    spans.push(Span::styled(format!("   {words}"), theme.bad));
    let mut lines = wrap_hanging(&Line::from(spans), style.width, &mark.into(), &Line::from("  "));
    if !open {
        lines.truncate(1);
    }
    lines
}

fn ended_well(call: &Call) -> bool {
    call.result.as_ref().is_some_and(|result| !result.is_error)
}

fn things(tool: &str, number: usize) -> String {
    match tool {
        "Read" => count(number, "file"),
        "Grep" | "Glob" => format!("{number} searches"),
        _ => format!("{number} times"),
    }
}

fn call_spans(call: &Call, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw(call.name.clone())];
    if !call.summary.is_empty() {
        spans.push(Span::raw(format!(" {}", one_line(&call.summary))));
    }
    if let Some(words) = &call.denied {
        let words = format!(" {} {}", theme.glyphs.failed, one_line(words));
        spans.push(Span::styled(words, theme.bad));
        return spans;
    }
    match &call.result {
        Some(CallResult { is_error: true, summary, .. }) => {
            let words = if summary.is_empty() { "failed" } else { summary };
            spans.push(Span::styled(
                format!(" {} {}", theme.glyphs.failed, one_line(words)),
                theme.bad,
            ));
        }
        Some(CallResult { summary, .. }) if !summary.is_empty() => {
            spans.push(Span::styled(format!(" {}", one_line(summary)), theme.dim));
        }
        _ => {}
    }
    spans
}

/// What stands below a call's line.
fn outcome(call: &Call, open: bool, style: &Look<'_>) -> Vec<Line<'static>> {
    let details = call.result.as_ref().and_then(|result| result.details.as_ref());
    match details {
        Some(ToolDetails::Diff { diff, .. }) => {
            let width = style.width.saturating_sub(2);
            indent(diff_lines(diff, width, if open { usize::MAX } else { DIFF_LINES }, style.theme))
        }
        Some(ToolDetails::Todos { items }) => indent(todos(items, style)),
        _ => {
            let failed = call.result.as_ref().is_some_and(|result| result.is_error);
            let running = call.result.is_none();
            let kept = match (open, failed || running) {
                (true, _) => usize::MAX,
                (false, true) => OUTPUT_LINES,
                (false, false) => 0,
            };
            output(&call.output, kept, style)
        }
    }
}

fn todos(items: &[crate::protocol::event::Todo], style: &Look<'_>) -> Vec<Line<'static>> {
    use crate::protocol::event::TodoStatus;
    let theme = style.theme;
    items
        .iter()
        .map(|item| {
            let (mark, look) = match item.status {
                TodoStatus::Completed => (theme.glyphs.task_done, theme.dim),
                TodoStatus::InProgress => (theme.glyphs.task_open, theme.accent),
                TodoStatus::Pending => (theme.glyphs.task_open, theme.text),
            };
            Line::styled(format!("{mark} {}", one_line(&item.content)), look)
        })
        .collect()
}

/// The last lines of an output, dim.
fn output(text: &str, kept: usize, style: &Look<'_>) -> Vec<Line<'static>> {
    if kept == 0 || text.trim().is_empty() {
        return Vec::new();
    }
    let width = style.width.saturating_sub(2).max(1);
    let lines = if kept == usize::MAX {
        wrap_text(&sanitize(text), width, style.theme.dim)
    } else {
        let text = sanitize(text.trim_end());
        crate::tui::text::tail_lines(&text, width, kept, style.theme.dim)
    };
    indent(lines)
}

fn indent(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    lines.into_iter().map(indented).collect()
}

/// The line two cells further right.
#[must_use]
pub fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}

fn shell(
    line: &str,
    text: &str,
    status: Option<&str>,
    open: bool,
    style: &Look<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mut head = hanging("! ", line, theme.accent, theme.text, style.prose);
    head.extend(output(text, if open { usize::MAX } else { OUTPUT_LINES * 4 }, style));
    if let Some(status) = status.filter(|status| !status.is_empty()) {
        head.push(Line::styled(format!("  {}", one_line(status)), theme.dim));
    }
    head
}

/// `▪ explore-1 reports`, and what came.
fn report(head: &str, text: &str, open: bool, style: &Look<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), theme.dim);
    let mut lines = vec![Line::from(vec![mark, Span::raw(one_line(head))])];
    if text.trim().is_empty() {
        return lines;
    }
    let mut body = hanging("  ", text.trim(), theme.dim, theme.dim, style.prose);
    if !open {
        body.retain(|line| line.spans.iter().any(|span| !span.content.trim().is_empty()));
    }
    let hidden = body.len().saturating_sub(REPORT_LINES);
    if !open && hidden > 0 {
        body.truncate(REPORT_LINES);
        let key = style.keymap.label(Context::Prompt, Action::Reader);
        let more = joined(&format!("  {} more", count(hidden, "line")), key);
        body.push(Line::styled(more, theme.dim));
    }
    lines.extend(body);
    lines
}

fn notice(level: NoticeLevel, text: &str, style: &Look<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let (mark, look) = match level {
        NoticeLevel::Info => ("  ".to_owned(), theme.dim),
        NoticeLevel::Warning => ("! ".to_owned(), theme.question),
        NoticeLevel::Error => (format!("{} ", theme.glyphs.failed), theme.bad),
    };
    hanging(&mark, text, look, look, style.prose)
}
