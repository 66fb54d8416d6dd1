//! Renders one transcript item as lines, except its markdown (`layout/item.rs`) and batches of agents.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::protocol::{NoticeLevel, ToolDetails};
use crate::tui::format::{clock, count};
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::labels::with_detail;
use crate::tui::text::{diff_lines, one_line, sanitize, truncate, width, wrap_hanging, wrap_text};
use crate::tui::theme::Theme;
use crate::tui::transcript::{ItemKind, ToolCallItem, ToolCallResult, TranscriptItem};

/// Lines of a folded diff.
const DIFF_LINES: usize = 20;

/// Lines of folded output, of a failed call and of the user's own command.
const OUTPUT_LINES: usize = 5;

/// Lines of a folded report.
const REPORT_LINES: usize = 3;

/// How to draw an item.
#[derive(Clone, Copy)]
pub struct ItemStyle<'a> {
    pub theme: &'a Theme,
    /// The full width in cells, and that of prose, which is no larger.
    pub width: u16,
    pub prose: u16,
    /// Whether to show everything in full, as the reader does.
    pub full: bool,
    /// For the name of the key that shows the rest.
    pub keymap: &'a Keymap,
}

/// The lines of an item without markdown, which streams and has its own cache.
pub fn lines(item: &TranscriptItem, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    // The reader unfolds everything by default, and `e` folds.
    let open = item.expanded != style.full;
    match &item.kind {
        ItemKind::Prompt { text, task: false } => prompt(text, style),
        ItemKind::Prompt { text, task: true } => {
            let text = if style.full { text.clone() } else { one_line(text) };
            hanging_lines("  task: ", &text, theme.dim, theme.dim, style.prose)
        }
        ItemKind::Thinking { text, took, .. } => thinking(text, *took, open, style),
        ItemKind::Tools(calls) => tools(calls, open, style),
        ItemKind::Shell { line, text, status } => shell(line, text, status.as_deref(), open, style),
        ItemKind::Report { head, text } => report(head, text, open, style),
        ItemKind::Notice { level, text } => notice(*level, text, style),
        ItemKind::Dropped { items } => {
            let words =
                format!("  {} not shown here; see the session file", count(*items, "older item"));
            vec![Line::styled(words, theme.dim)]
        }
        ItemKind::Text { .. } | ItemKind::Batch { .. } | ItemKind::Hidden => Vec::new(),
    }
}

/// Estimates the number of lines without laying the item out. Being off by a few does no harm.
pub fn estimate_height(item: &TranscriptItem, style: &ItemStyle<'_>) -> usize {
    let open = item.expanded != style.full;
    let lines = |text: &str| {
        let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
        1 + breaks + text.len() / usize::from(style.prose.max(1))
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

/// Wraps text behind a mark, and indents further lines by its width.
fn hanging_lines(
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

fn prompt(text: &str, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = format!("{} ", theme.glyphs.prompt);
    hanging_lines(&mark, text.trim_end(), theme.accent, theme.accent, style.prose)
}

fn thinking(
    text: &str,
    took: Option<std::time::Duration>,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let words = match took {
        None => "thinking".to_owned(),
        Some(took) if took.as_secs() >= 60 => format!("thought for {}", clock(took)),
        Some(took) if took.as_secs() > 0 => format!("thought for {} s", took.as_secs()),
        Some(_) => "thought".to_owned(),
    };
    let mut lines = vec![Line::styled(format!("{} {words}", theme.glyphs.tool), theme.dim)];
    if open {
        lines.extend(hanging_lines("  ", text.trim(), theme.dim, theme.dim, style.prose));
    }
    lines
}

/// Calls on one line, then the output of failed calls and the diffs of those that changed a file.
fn tools(calls: &[ToolCallItem], open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    if let [ToolCallItem { denied: Some(words), .. }] = calls {
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
            .take_while(|other| other.name == call.name && succeeded(other))
            .count();
        if same > 1 {
            spans.push(Span::raw(format!("{} {}", call.name, repeat_label(&call.name, same))));
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
        lines.extend(result_lines(call, open, style));
    }
    lines
}

/// `✗ Bash  curl … | sh   denied by you` on one line; the command is truncated first.
fn denied(
    call: &ToolCallItem,
    words: &str,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
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

fn succeeded(call: &ToolCallItem) -> bool {
    call.result.as_ref().is_some_and(|result| !result.is_error)
}

fn repeat_label(tool: &str, number: usize) -> String {
    match tool {
        "Read" => count(number, "file"),
        "Grep" | "Glob" => format!("{number} searches"),
        _ => format!("{number} times"),
    }
}

fn call_spans(call: &ToolCallItem, theme: &Theme) -> Vec<Span<'static>> {
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
        Some(ToolCallResult { is_error: true, summary, .. }) => {
            let words = if summary.is_empty() { "failed" } else { summary };
            spans.push(Span::styled(
                format!(" {} {}", theme.glyphs.failed, one_line(words)),
                theme.bad,
            ));
        }
        Some(ToolCallResult { summary, .. }) if !summary.is_empty() => {
            spans.push(Span::styled(format!(" {}", one_line(summary)), theme.dim));
        }
        _ => {}
    }
    spans
}

/// The lines below a call's line.
fn result_lines(call: &ToolCallItem, open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
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

fn todos(items: &[crate::protocol::Todo], style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    use crate::protocol::TodoStatus;
    let theme = style.theme;
    items
        .iter()
        .map(|item| {
            let (mark, colour) = match item.status {
                TodoStatus::Completed => (theme.glyphs.task_done, theme.dim),
                TodoStatus::InProgress => (theme.glyphs.task_open, theme.accent),
                TodoStatus::Pending => (theme.glyphs.task_open, theme.text),
            };
            Line::styled(format!("{mark} {}", one_line(&item.content)), colour)
        })
        .collect()
}

/// The last `kept` lines of output, dim.
fn output(text: &str, kept: usize, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
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

/// Indents a line by two cells.
pub fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}

fn shell(
    line: &str,
    text: &str,
    status: Option<&str>,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mut head = hanging_lines("! ", line, theme.accent, theme.text, style.prose);
    head.extend(output(text, if open { usize::MAX } else { OUTPUT_LINES * 4 }, style));
    if let Some(status) = status.filter(|status| !status.is_empty()) {
        head.push(Line::styled(format!("  {}", one_line(status)), theme.dim));
    }
    head
}

/// `▪ explore-1 reports`, and the report.
fn report(head: &str, text: &str, open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), theme.dim);
    let mut lines = vec![Line::from(vec![mark, Span::raw(one_line(head))])];
    if text.trim().is_empty() {
        return lines;
    }
    let mut body = hanging_lines("  ", text.trim(), theme.dim, theme.dim, style.prose);
    if !open {
        body.retain(|line| line.spans.iter().any(|span| !span.content.trim().is_empty()));
    }
    let hidden = body.len().saturating_sub(REPORT_LINES);
    if !open && hidden > 0 {
        body.truncate(REPORT_LINES);
        let key = style.keymap.label(KeyContext::Prompt, Action::Reader);
        let more = with_detail(&format!("  {}", count(hidden, "more line")), key);
        body.push(Line::styled(more, theme.dim));
    }
    lines.extend(body);
    lines
}

fn notice(level: NoticeLevel, text: &str, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let (mark, colour) = match level {
        NoticeLevel::Info => ("  ".to_owned(), theme.dim),
        NoticeLevel::Warning => ("! ".to_owned(), theme.question),
        NoticeLevel::Error => (format!("{} ", theme.glyphs.failed), theme.bad),
    };
    hanging_lines(&mark, text, colour, colour, style.prose)
}
