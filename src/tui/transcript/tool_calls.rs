//! Draws tool calls: each with its result, and the lines below it.

use std::time::Duration;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::{
    ASK_USER_TOOL, EXIT_PLAN_TOOL, NO_PLAN_MODE, NO_SUCH_TOOL, Todo, TodoStatus, ToolDetails,
};
use crate::tui::format::{clock, count, tool_label};
use crate::tui::labels::with_detail;
use crate::tui::paint::{cut_spans, cut_with_more};
use crate::tui::text::{
    DiffFile, DiffLimit, MarkdownStream, Widths, diff_lines, marked_line, one_line, truncate,
    width, wrap_hanging,
};
use crate::tui::theme::Theme;
use crate::tui::transcript::item_lines::{
    ItemStyle, LongLines, UNBROKEN, branched, hanging_lines, indent, join_pieces, output,
    without_exit_code, without_unbroken,
};
use crate::tui::transcript::{GROUPED_TOOLS, TODO_TOOL, ToolCallItem};

/// Lines of a folded diff.
pub(super) const DIFF_LINES: usize = 20;

/// Lines of a call's folded output: if it went well, and if it failed or still runs.
const OUTPUT_LINES: usize = 3;
const FAILED_LINES: usize = 8;

/// Lines of a denial's reason below the call.
const DENIAL_LINES: usize = 2;

/// The result of a cancelled call.
pub(super) const CANCELLED: &str = "cancelled";

/// The whole output of a call that was cancelled before it had any.
const CANCEL_NOTES: [&str; 2] = ["This call was cancelled.", "Cancelled."];

/// Lines of a folded plan.
const PLAN_LINES: usize = 8;

/// A call that took this long says so.
const SLOW_CALL: Duration = Duration::from_secs(2);

/// Lines of folded calls, without their output.
const FOLDED_CALL_LINES: usize = 2;

/// Maximum pieces of a group that two lines could hold.
const MAX_PIECES: usize = 24;

/// Cells of the mark before a call.
const MARK_CELLS: usize = 2;

/// Cells that two lines of a call lose to their mark and to wrapping.
const WRAP_LOSS: usize = 16;

/// Maximum cells of a result that is never broken.
const UNBROKEN_CELLS: usize = 24;

pub(super) fn is_unfinished(call: &ToolCallItem) -> bool {
    call.result.is_none() && call.denied.is_none()
}

/// Calls on one line, then the output of each, or the diff of one that changed a file.
pub(super) fn tools(
    calls: &[ToolCallItem],
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    if let [call @ ToolCallItem { denied: Some(words), .. }] = calls {
        return match is_refused_plan(call) {
            true => refused_plan(call, words, open, style),
            false => denied(call, words, open, style),
        };
    }
    let calls = match calls {
        // The list stays until the next one is there.
        [list, next] if next.name == TODO_TOOL && is_unfinished(next) => std::slice::from_ref(list),
        calls => calls,
    };
    if open && calls.len() > 1 {
        // Each output below its own call.
        return calls.chunks(1).flat_map(|call| tools(call, open, style)).collect();
    }
    let mark = sign(calls, style.theme);
    let mut lines = match calls {
        [call] if open => join_pieces(vec![call_spans(call, usize::MAX, style.theme)], mark, style),
        [call] => call_lines(call, &mark, style),
        calls => group_lines(calls, &mark, style),
    };
    for call in calls {
        lines.extend(result_lines(call, open, style));
    }
    lines
}

/// The sign before calls, in the colour of their state.
fn sign(calls: &[ToolCallItem], theme: &Theme) -> Span<'static> {
    let colour = if calls.iter().any(is_unfinished) {
        theme.accent
    } else if calls.iter().all(succeeded) {
        theme.good
    } else {
        theme.bad
    };
    Span::styled(format!("{} ", theme.glyphs.tool), colour)
}

/// A finished call on one line, which stands for its lines up to `line`. It ends in `…` if some of these
/// are output.
pub(super) fn one_line_call(
    call: &ToolCallItem,
    line: usize,
    style: &ItemStyle<'_>,
) -> Line<'static> {
    let mark = sign(std::slice::from_ref(call), style.theme);
    let more = line >= call_lines(call, &mark, style).len();
    let whole = usize::from(style.width);
    let room = whole.saturating_sub(if more { 2 } else { 0 });
    let result = width(&call_result(call, style.theme).0);
    let taken = MARK_CELLS + width(&tool_label(&call.name)) + 4 + result;
    let mut spans = vec![mark];
    spans.extend(call_spans(call, room.saturating_sub(taken).max(room / 4), style.theme));
    match more {
        true => cut_with_more(&mut spans, whole, style.theme.dim),
        false => cut_spans(&mut spans, whole),
    }
    without_unbroken(Line::from(spans))
}

/// A folded call with its result, on at most two lines. The subject is cut first, so that the result
/// stays.
fn call_lines(
    call: &ToolCallItem,
    mark: &Span<'static>,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let prose = usize::from(style.prose);
    let name = width(&tool_label(&call.name)) + 1;
    let result = width(&call_result(call, style.theme).0);
    let both = (2 * prose).saturating_sub(name + result + WRAP_LOSS).max(prose / 2);
    // A long word of the subject may leave much of the first line blank. A short result stays on it.
    let beside = if result <= UNBROKEN_CELLS { 3 + result } else { 0 };
    let first = prose.saturating_sub(MARK_CELLS + name + beside);
    let lines = |room| join_pieces(vec![call_spans(call, room, style.theme)], mark.clone(), style);
    let leaves_result = |lines: &[Line<'_>]| match lines {
        [_, last] => last.width() <= MARK_CELLS + result,
        _ => false,
    };
    let mut lines = Some(lines(both))
        .filter(|lines| lines.len() <= FOLDED_CALL_LINES && !leaves_result(lines))
        .unwrap_or_else(|| lines(first));
    if lines.len() > FOLDED_CALL_LINES {
        lines.truncate(FOLDED_CALL_LINES);
        if let Some(last) = lines.last_mut() {
            last.push_span(Span::raw(" …"));
            cut_spans(&mut last.spans, prose);
        }
    }
    lines
}

/// Folded calls beside each other, on at most two lines; those that do not fit are counted. Those that failed
/// come first, so that they are not among these.
fn group_lines(
    calls: &[ToolCallItem],
    mark: &Span<'static>,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let failed = |call: &&ToolCallItem| !is_unfinished(call) && !succeeded(call);
    let (mut calls, others): (Vec<&ToolCallItem>, Vec<_>) = calls.iter().partition(failed);
    calls.extend(others);
    let prose = usize::from(style.prose);
    // The spans of a piece, and the number of calls up to its end.
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&call) = calls.get(at).filter(|_| pieces.len() <= MAX_PIECES) {
        let same = calls[at..]
            .iter()
            .take_while(|other| other.name == call.name && succeeded(other))
            .count();
        if same > 1 {
            let number = repeat_label(&call.name, same).replace(' ', UNBROKEN);
            at += same;
            pieces.push((vec![verb(&call.name), Span::raw(format!(" {number}"))], at));
        } else {
            let taken = MARK_CELLS
                + width(&tool_label(&call.name))
                + 4
                + width(&call_result(call, theme).0);
            at += 1;
            pieces.push((call_spans(call, prose.saturating_sub(taken).max(prose / 4), theme), at));
        }
    }
    let mut shown = pieces.len();
    loop {
        let mut row: Vec<_> = pieces[..shown].iter().map(|(spans, _)| spans.clone()).collect();
        let counted = shown.checked_sub(1).map_or(0, |last| pieces[last].1);
        if counted < calls.len() {
            let more = format!("+{}{UNBROKEN}more", calls.len() - counted);
            row.push(vec![Span::styled(more, theme.dim)]);
        }
        let mut lines = join_pieces(row, mark.clone(), style);
        if lines.len() <= FOLDED_CALL_LINES || shown <= 1 {
            lines.truncate(FOLDED_CALL_LINES);
            return lines;
        }
        shown -= 1;
    }
}

/// The name of a tool, as the verb of its line.
fn verb(tool: &str) -> Span<'static> {
    Span::styled(one_line(&tool_label(tool)), Style::new().add_modifier(Modifier::BOLD))
}

/// `● Bash curl … | sh   denied by you` on one line. A reason that is too long for it stands below.
fn denied(
    call: &ToolCallItem,
    words: &str,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let theme = style.theme;
    let mark = Span::styled(format!("{} ", theme.glyphs.tool), theme.bad);
    let (mut command, words) = (one_line(&call.summary), marked_line(words));
    let room = usize::from(style.width).saturating_sub(width(&tool_label(&call.name)) + 6);
    let is_long = width(&words) > room.saturating_sub(width(&command).min(room / 2));
    if !open {
        let cells = if is_long { 0 } else { width(&words) };
        command = truncate(&command, room.saturating_sub(cells)).into_owned();
    }
    let mut spans = vec![verb(&call.name)];
    if !command.is_empty() {
        spans.push(Span::raw(format!(" {command}")));
    }
    if !is_long {
        spans.push(Span::styled(format!("   {words}"), theme.bad));
    }
    let mut lines = wrap_hanging(&Line::from(spans), style.width, &mark.into(), &Line::from("  "));
    if !open {
        lines.truncate(1);
    }
    if is_long {
        let first = Span::styled(format!("  {} ", theme.glyphs.last_branch), theme.dim);
        let words = Line::styled(words, theme.bad);
        let mut below = wrap_hanging(&words, style.width, &first.into(), &Line::from("    "));
        let hidden = below.len().saturating_sub(DENIAL_LINES);
        if !open && hidden > 0 {
            below.truncate(DENIAL_LINES);
            below.extend(indent(vec![style.rest_line(hidden)]));
        }
        lines.extend(below);
    }
    lines
}

fn is_refused_plan(call: &ToolCallItem) -> bool {
    call.denied.is_some() && call.name == EXIT_PLAN_TOOL && !call.output.is_empty()
}

/// A plan that the user has refused, with the reason below it.
fn refused_plan(
    call: &ToolCallItem,
    words: &str,
    open: bool,
    style: &ItemStyle<'_>,
) -> Vec<Line<'static>> {
    let (words, reason) = words.split_once(": ").unwrap_or((words, ""));
    let mut lines = denied(call, words, open, style);
    lines.extend(plan(&call.output, preview_lines(call, open), style));
    if !reason.is_empty() {
        let reason = Line::styled(marked_line(reason), style.theme.bad);
        let width = style.prose.saturating_sub(4);
        let reason = wrap_hanging(&reason, width, &Line::default(), &Line::default());
        lines.extend(branched(reason, style.theme));
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

/// `Grep "session"   14 hits`: three blanks keep the call and its result apart without colours. The
/// subject is truncated to `room`.
fn call_spans(call: &ToolCallItem, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let (result, result_style) = call_result(call, theme);
    // The list below names them all.
    let details = call.result.as_ref().and_then(|result| result.details.as_ref());
    let subject = match details {
        Some(ToolDetails::Todos { .. }) => String::new(),
        _ => truncate(&one_line(&call.summary), room).into_owned(),
    };
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
fn call_result(call: &ToolCallItem, theme: &Theme) -> (String, Style) {
    let failed = |words: &str| format!("{} {}", theme.glyphs.failed, marked_line(words));
    if let Some(words) = &call.denied {
        return (failed(words), theme.bad);
    }
    let Some(result) = &call.result else { return (String::new(), theme.dim) };
    let mut words = match result.is_error {
        // The words are for the model, which writes the list anew.
        true if call.name == TODO_TOOL => failed("not updated"),
        true if is_needless_plan(call) => failed("plan mode is off"),
        true if result.summary.is_empty() => failed("failed"),
        true => failed(&result.summary),
        false if preview_lines(call, false) > 0 && counts_lines(&result.summary).is_some() => {
            String::new()
        }
        // The user's own words.
        false if call.name == ASK_USER_TOOL => marked_line(&result.summary),
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
        _ if call.output.trim().is_empty() || quiet => 0,
        _ if call.denied.is_some() && !is_refused_plan(call) => 0,
        true => usize::MAX,
        false if call.name == TODO_TOOL => 0,
        // The words are for the model, which carries out the plan.
        false if is_needless_plan(call) => 0,
        // So is the list of the tools that there are.
        false if is_unknown_tool(call) => 0,
        false if is_refused_plan(call) => PLAN_LINES,
        false if !ended_well => FAILED_LINES,
        // What they read is for the model; the user has the file.
        false if GROUPED_TOOLS.contains(&call.name.as_str()) => 0,
        // The call's own line has the answers.
        false if call.name == ASK_USER_TOOL => 0,
        false if is_plan(call) => PLAN_LINES,
        false => OUTPUT_LINES,
    }
}

/// The lines below a call's line.
fn result_lines(call: &ToolCallItem, open: bool, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let result = call.result.as_ref();
    match result.and_then(|result| result.details.as_ref()) {
        Some(ToolDetails::Diff { path, diff, .. }) => {
            let file = DiffFile { path, highlighter: style.highlighter };
            let key = style.rest_key();
            let rows = if open { usize::MAX } else { DIFF_LINES };
            let limit = DiffLimit { rows, key: key.as_deref() };
            let width = style.width.saturating_sub(2);
            indent(diff_lines(diff, Some(file), width, limit, style.theme))
        }
        Some(ToolDetails::Todos { items }) => branched(todos(items, style), style.theme),
        Some(ToolDetails::Plan { .. }) => plan(&call.output, preview_lines(call, open), style),
        details => {
            let code = match details {
                Some(ToolDetails::Command { exit_code, .. }) => *exit_code,
                _ => None,
            };
            let text = without_exit_code(call.output.trim_end(), code);
            let is_cancelled = result.is_some_and(|result| result.summary == CANCELLED);
            let text = if is_cancelled { without_cancel_note(text) } else { text };
            let total = result.and_then(|result| counts_lines(&result.summary)).unwrap_or_default();
            let kept = preview_lines(call, open);
            let long = match succeeded(call) {
                true => LongLines::Cut,
                false if is_unfinished(call) => LongLines::WrapEnd,
                false => LongLines::WrapStart,
            };
            output(text, kept, total, long, style)
        }
    }
}

/// Whether a plan needed no approval, since plan mode is off.
fn is_needless_plan(call: &ToolCallItem) -> bool {
    call.name == EXIT_PLAN_TOOL && call.output.starts_with(NO_PLAN_MODE)
}

/// Whether there is no tool of this name, as the call's own line says.
fn is_unknown_tool(call: &ToolCallItem) -> bool {
    let result = call.result.as_ref();
    result.is_some_and(|result| result.is_error && result.summary == NO_SUCH_TOOL)
}

fn is_plan(call: &ToolCallItem) -> bool {
    let details = call.result.as_ref().and_then(|result| result.details.as_ref());
    matches!(details, Some(ToolDetails::Plan { .. }))
}

/// The first `kept` lines of a plan, and the number of those left out.
fn plan(text: &str, kept: usize, style: &ItemStyle<'_>) -> Vec<Line<'static>> {
    let inner = |cells: u16| cells.saturating_sub(2).max(1);
    let widths = Widths { prose: inner(style.prose), wide: inner(style.width) };
    let mut markdown = MarkdownStream::whole(text.trim(), style.highlighter);
    let mut lines = indent(markdown.lines(widths, style.theme).to_vec());
    let hidden = lines.len().saturating_sub(kept);
    // One line takes no more room than the words that it is missing.
    if hidden > 1 {
        lines.truncate(kept);
        let more = with_detail(&format!("  … +{}", count(hidden, "line")), style.rest_key());
        lines.push(Line::styled(more, style.theme.dim));
    }
    lines
}

/// Output without the line at its end about a cancel, which the call's own line tells.
pub(super) fn without_cancel_note(text: &str) -> &str {
    let at = text.rfind('\n').map_or(0, |end| end + 1);
    let is_note = text[at..].starts_with("[cancelled") || CANCEL_NOTES.contains(&&text[at..]);
    if is_note { text[..at].trim_end() } else { text }
}

fn todos(items: &[Todo], style: &ItemStyle<'_>) -> Vec<Line<'static>> {
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
