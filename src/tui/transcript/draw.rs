//! Renders one transcript item as lines, except its markdown (`layout/item.rs`) and batches of agents.

use std::time::Duration;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::{NoticeLevel, ToolDetails};
use crate::tui::format::{clock, count};
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::labels::with_detail;
use crate::tui::paint::spans_width;
use crate::tui::text::{
    DiffFile, DiffLimit, Highlighter, diff_lines, one_line, sanitize, tail_lines, truncate, width,
    wrap_hanging, wrap_text,
};
use crate::tui::theme::Theme;
use crate::tui::transcript::{GROUPED_TOOLS, ItemKind, ToolCallItem, TranscriptItem};

/// Lines of a folded diff.
pub(super) const DIFF_LINES: usize = 20;

/// Lines of a call's folded output: if it went well, and if it failed or still runs.
const OUTPUT_LINES: usize = 3;
const FAILED_LINES: usize = 8;

/// Lines of the folded output of the user's own command.
pub(super) const SHELL_LINES: usize = 20;

/// A call that took this long says so.
const SLOW_CALL: Duration = Duration::from_secs(2);

/// Cells that two lines of a call lose to their mark and to wrapping.
const WRAP_LOSS: usize = 16;

/// Stands for a blank where a line must not break, such as between a number and its unit.
const UNBROKEN: &str = "\u{a0}";

/// Maximum cells of a result that is never broken.
const UNBROKEN_CELLS: usize = 24;

/// Lines of a folded report.
pub(super) const REPORT_LINES: usize = 3;

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
    /// For the colours of code in diffs.
    pub highlighter: &'a Highlighter,
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
        ItemKind::Finish { cancelled, facts } => finish(*cancelled, facts, style),
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
        ItemKind::Tools(calls) => {
            let folded = |call: &ToolCallItem| lines(&call.output).min(preview_lines(call, false));
            1 + calls.iter().map(folded).sum::<usize>()
        }
        ItemKind::Dropped { .. } | ItemKind::Finish { .. } => 1,
        ItemKind::Shell { text, .. } => {
            1 + lines(text).min(if open { usize::MAX } else { SHELL_LINES })
        }
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

/// A prompt on a band across the full width.
fn prompt(text: &str, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = format!("{} ", theme.glyphs.prompt);
    let lines = hanging_lines(&mark, text.trim_end(), theme.accent, theme.text, style.prose);
    on_band(lines, style)
}

/// Fills lines up to the full width, on the ground of what the user wrote.
fn on_band(lines: Vec<Line<'static>>, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let band = style.theme.band;
    let fill = |mut line: Line<'static>| {
        let rest = usize::from(style.width).saturating_sub(line.width());
        line.spans.push(Span::raw(" ".repeat(rest)));
        for span in &mut line.spans {
            span.style = band.patch(span.style);
        }
        line
    };
    lines.into_iter().map(fill).collect()
}

fn thinking(
    text: &str,
    took: Option<Duration>,
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

/// Whether a spinner takes the place of the sign before an item.
pub fn is_running(item: &TranscriptItem) -> bool {
    match &item.kind {
        ItemKind::Tools(calls) => calls.iter().any(is_unfinished),
        ItemKind::Thinking { took, .. } => took.is_none(),
        _ => false,
    }
}

fn is_unfinished(call: &ToolCallItem) -> bool {
    call.result.is_none() && call.denied.is_none()
}

/// Calls on one line, then the output of each, or the diff of one that changed a file.
fn tools(calls: &[ToolCallItem], open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    if let [ToolCallItem { denied: Some(words), .. }] = calls {
        return denied(&calls[0], words, open, style);
    }
    let theme = style.theme;
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(call) = calls.get(at) {
        let same = calls[at..]
            .iter()
            .take_while(|other| other.name == call.name && succeeded(other))
            .count();
        if same > 1 {
            let number = repeat_label(&call.name, same).replace(' ', UNBROKEN);
            pieces.push(vec![verb(&call.name), Span::raw(format!(" {number}"))]);
            at += same;
        } else {
            let room = (!open && calls.len() == 1).then(|| usize::from(style.prose));
            pieces.push(call_spans(call, room, open, theme));
            at += 1;
        }
    }
    let colour = if calls.iter().any(is_unfinished) {
        theme.accent
    } else if calls.iter().all(succeeded) {
        theme.good
    } else {
        theme.bad
    };
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), colour);
    let mut lines = join_pieces(pieces, mark, style);
    if !open {
        lines.truncate(2);
    }
    for call in calls {
        lines.extend(result_lines(call, open, style));
    }
    lines
}

/// Puts pieces beside each other as far as they fit, so that no line begins or ends with a dot.
fn join_pieces(
    pieces: Vec<Vec<Span<'static>>>,
    mark: Span<'static>,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let mut rows: Vec<Vec<Span<'static>>> = Vec::new();
    let room = usize::from(style.prose).saturating_sub(2);
    for piece in pieces {
        match rows.last_mut() {
            Some(row) if spans_width(row) + 3 + spans_width(&piece) <= room => {
                row.push(Span::styled(" · ", style.theme.dim));
                row.extend(piece);
            }
            _ => rows.push(piece),
        }
    }
    let mut mark = Line::from(mark);
    let mut lines = Vec::new();
    for row in rows {
        lines.extend(wrap_hanging(&Line::from(row), style.prose, &mark, &Line::from("  ")));
        mark = Line::from("  ");
    }
    for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
        if span.content.contains(UNBROKEN) {
            span.content = span.content.replace(UNBROKEN, " ").into();
        }
    }
    lines
}

/// The name of a tool, as the verb of its line.
fn verb(tool: &str) -> Span<'static> {
    let name = if tool == "TodoWrite" { "To-do" } else { tool };
    Span::styled(one_line(name), Style::new().add_modifier(Modifier::BOLD))
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
    let mut spans = vec![verb(&call.name)];
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
    call.denied.is_none() && call.result.as_ref().is_some_and(|result| !result.is_error)
}

fn repeat_label(tool: &str, number: usize) -> String {
    match tool {
        "Read" => count(number, "file"),
        "Grep" | "Glob" => format!("{number} searches"),
        _ => format!("{number} times"),
    }
}

/// `Grep "session"   14 hits`: three blanks keep the call and its result apart without colours. With
/// `room`, the call is truncated to two lines of this width.
fn call_spans(
    call: &ToolCallItem,
    room: Option<usize>,
    open: bool,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let (result, result_style) = call_result(call, open, theme);
    // The list below names them all.
    let details = call.result.as_ref().and_then(|result| result.details.as_ref());
    let mut subject = match details {
        Some(ToolDetails::Todos { .. }) => String::new(),
        _ => one_line(&call.summary),
    };
    if let Some(room) = room {
        let taken = width(&call.name) + width(&result) + WRAP_LOSS;
        subject = truncate(&subject, (2 * room).saturating_sub(taken).max(room / 2)).into_owned();
    }
    let mut spans = vec![verb(&call.name)];
    if !subject.is_empty() {
        spans.push(Span::raw(format!(" {subject}")));
    }
    if !result.is_empty() {
        let result = match width(&result) {
            0..=UNBROKEN_CELLS => result.replace(' ', UNBROKEN),
            _ => result,
        };
        spans.push(Span::styled(format!("   {result}"), result_style));
    }
    spans
}

/// The words about the result at the end of a call's line. A command whose output is below needs none
/// for its number of lines.
fn call_result(call: &ToolCallItem, open: bool, theme: &Theme) -> (String, Style) {
    let failed = |words: &str| format!("{} {}", theme.glyphs.failed, one_line(words));
    if let Some(words) = &call.denied {
        return (failed(words), theme.bad);
    }
    let Some(result) = &call.result else { return (String::new(), theme.dim) };
    let mut words = match result.is_error {
        true if result.summary.is_empty() => failed("failed"),
        true => failed(&result.summary),
        false if preview_lines(call, open) > 0 && counts_lines(&result.summary).is_some() => {
            String::new()
        }
        false => one_line(&result.summary),
    };
    let is_change =
        matches!(result.details, Some(ToolDetails::Diff { .. } | ToolDetails::Todos { .. }));
    if result.took >= SLOW_CALL && !is_change {
        let gap = if words.is_empty() { "" } else { "   " };
        words = format!("{words}{gap}{}", call_time(result.took));
    }
    (words, if result.is_error { theme.bad } else { theme.dim })
}

/// The number in `14 lines`.
fn counts_lines(summary: &str) -> Option<usize> {
    let number = summary.strip_suffix(" lines").or_else(|| summary.strip_suffix(" line"))?;
    number.replace(',', "").parse().ok()
}

/// `4.2 s`, `1:10`.
fn call_time(took: Duration) -> String {
    match took.as_secs() {
        0..60 => format!("{:.1} s", took.as_secs_f32()),
        _ => clock(took),
    }
}

/// Number of lines of a call's output to show.
pub(super) fn preview_lines(call: &ToolCallItem, open: bool) -> usize {
    let ended_well = succeeded(call);
    let quiet = call.result.as_ref().is_some_and(|result| result.summary == "no output");
    match open {
        _ if call.denied.is_some() || call.output.trim().is_empty() || quiet => 0,
        true => usize::MAX,
        false if !ended_well => FAILED_LINES,
        // What they read is for the model; the user has the file.
        false if GROUPED_TOOLS.contains(&call.name.as_str()) => 0,
        false => OUTPUT_LINES,
    }
}

/// The lines below a call's line.
fn result_lines(call: &ToolCallItem, open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let result = call.result.as_ref();
    match result.and_then(|result| result.details.as_ref()) {
        Some(ToolDetails::Diff { path, diff, .. }) => {
            let file = DiffFile { path, highlighter: style.highlighter };
            let key = style.keymap.label(KeyContext::Prompt, Action::Reader);
            let rows = if open { usize::MAX } else { DIFF_LINES };
            let limit = DiffLimit { rows, key: key.as_deref() };
            let width = style.width.saturating_sub(2);
            indent(diff_lines(diff, Some(file), width, limit, style.theme))
        }
        Some(ToolDetails::Todos { items }) => branched(todos(items, style), style.theme),
        details => {
            let mut text = call.output.trim_end();
            if let Some(ToolDetails::Command { exit_code: Some(code @ 1..), .. }) = details {
                // The line above says so already.
                let told = text.strip_suffix(&format!("exit code {code}"));
                text = told.filter(|rest| rest.is_empty() || rest.ends_with('\n')).unwrap_or(text);
            }
            let total = result.and_then(|result| counts_lines(&result.summary)).unwrap_or_default();
            let kept = preview_lines(call, open);
            output(text.trim_end(), kept, total, !succeeded(call), style)
        }
    }
}

fn todos(items: &[crate::protocol::Todo], style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    use crate::protocol::TodoStatus;
    let (theme, glyphs) = (style.theme, style.theme.glyphs);
    let mut lines = Vec::new();
    for item in items {
        let (mark, mark_style, text_style) = match item.status {
            TodoStatus::Completed => (glyphs.task_done, theme.good, theme.dim),
            TodoStatus::InProgress => {
                (glyphs.focus, theme.accent, theme.text.add_modifier(Modifier::BOLD))
            }
            TodoStatus::Pending => (glyphs.task_open, theme.dim, theme.text),
        };
        let width = style.prose.saturating_sub(4);
        let text = one_line(&item.content);
        lines.extend(hanging_lines(&format!("{mark} "), &text, mark_style, text_style, width));
    }
    lines
}

/// The last `kept` lines of output under a branch, after the number of those left out. `total` is the
/// number of all lines, if more than the text still has. Trouble is wrapped, other lines are cut.
fn output(
    text: &str,
    kept: usize,
    total: usize,
    trouble: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    if kept == 0 || text.trim().is_empty() {
        return Vec::new();
    }
    let theme = style.theme;
    let width = style.width.saturating_sub(4).max(1);
    let colour = if trouble { theme.text } else { theme.dim };
    if kept == usize::MAX {
        return branched(wrap_text(&sanitize(text), width, colour), theme);
    }
    let (mut groups, mut have, mut shown) = (Vec::new(), 0, 0);
    let lines = text.lines().count();
    for line in text.lines().rev() {
        // One line takes no more room than the words that it is missing.
        if have >= kept && !(lines.max(total) == shown + 1 && have == kept) {
            break;
        }
        let clean = sanitize(line);
        let rows = match trouble {
            true => tail_lines(&clean, width, kept.saturating_sub(have).max(1), colour),
            false => vec![Line::styled(truncate(&clean, width.into()).into_owned(), colour)],
        };
        // An empty line wraps to no line, but takes one.
        let rows = if rows.is_empty() { vec![Line::default()] } else { rows };
        have += rows.len();
        shown += 1;
        groups.push(rows);
    }
    let hidden = lines.max(total) - shown;
    let mut out = Vec::with_capacity(have + 1);
    if hidden > 0 {
        let key = style.keymap.label(KeyContext::Prompt, Action::Reader);
        out.push(Line::styled(
            with_detail(&format!("… +{}", count(hidden, "line")), key),
            theme.dim,
        ));
    }
    out.extend(groups.into_iter().rev().flatten());
    branched(out, theme)
}

/// Hangs lines under a call: `└` before the first.
fn branched(lines: Vec<Line<'static>>, theme: &Theme) -> Vec<Line<'static>> {
    let branch = |(at, mut line): (usize, Line<'static>)| {
        let mark = if at == 0 { format!("  {} ", theme.glyphs.last_branch) } else { "    ".into() };
        line.spans.insert(0, Span::styled(mark, theme.dim));
        line
    };
    lines.into_iter().enumerate().map(branch).collect()
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
    let head = hanging_lines("! ", line, theme.accent, theme.text, style.prose);
    let mut head = on_band(head, style);
    let kept = if open { usize::MAX } else { SHELL_LINES };
    head.extend(output(text.trim_end(), kept, 0, false, style));
    if let Some(status) = status.filter(|status| !status.is_empty()) {
        head.push(Line::styled(format!("  {}", one_line(status)), theme.dim));
    }
    head
}

/// `● explore-1 reports`, and the report.
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

/// `✓ done in 2:10 · 4 agents ✓3 ✗1 · 3 files +41 −12`.
fn finish(cancelled: bool, facts: &[String], style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let (theme, glyphs) = (style.theme, style.theme.glyphs);
    let (sign, colour) = match cancelled {
        true => (glyphs.cancelled, theme.cancelled),
        false => (glyphs.done, theme.good),
    };
    let mut word_style = theme.text;
    let mut pieces = Vec::new();
    for fact in facts {
        let mut piece = Vec::new();
        for (at, word) in fact.split(' ').enumerate() {
            let gap = if at == 0 { "" } else { UNBROKEN };
            let starts = |sign: &str| word.starts_with(sign);
            let style = match word {
                _ if starts("+") || starts(glyphs.done) => theme.good,
                _ if starts("−") || starts(glyphs.failed) => theme.bad,
                _ => word_style,
            };
            piece.push(Span::styled(format!("{gap}{word}"), style));
        }
        pieces.push(piece);
        word_style = theme.dim;
    }
    join_pieces(pieces, Span::styled(format!("{sign} "), colour), style)
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
