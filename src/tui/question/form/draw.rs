//! The lines of a form: the tabs, and the question, options and answers of the shown one.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::protocol::{UserOption, UserQuestion};
use crate::tui::composer::draw::DraftLayout;
use crate::tui::format::count;
use crate::tui::question::content::plain_lines;
use crate::tui::question::form::{AnswerForm, FormQuestion, FormScroll};
use crate::tui::text::{column_width, padded, reveal_line, truncate, width, wrap_hanging};
use crate::tui::theme::Theme;

/// Cells before a row's text: its digit, the mark of the cursor, a space.
const MARGIN: usize = 3;

/// Cells of the box before an option, if several can be chosen.
const TICK_BOX: usize = 2;

/// Cells between labels and descriptions beside them.
const GAP: usize = 3;

/// Cells that a description needs beside its label.
const MIN_DESCRIPTION: usize = 24;

/// Lines of a preview that stay in view even if the rest of the form must scroll for them.
const MIN_PREVIEW_LINES: usize = 4;

/// Spans of a tab: its sign, a blank, its name, and two blanks.
const TAB_SPANS: usize = 4;

/// Cells of a header in the tabs and in the summary.
const MAX_HEADER: usize = 20;

/// The lines of one tab.
#[derive(Default)]
pub struct FormLines {
    pub lines: Vec<Line<'static>>,
    /// The lines of each row that a digit chooses.
    pub rows: Vec<Range<usize>>,
    /// Line and column of the cursor in the text field.
    pub cursor: Option<(usize, u16)>,
    /// The row of the cursor.
    focus: Option<usize>,
    /// The rows with a preview that is not among the lines.
    without_preview: Vec<usize>,
    /// Lines of the shown preview.
    preview: usize,
}

/// How to draw a form.
#[derive(Clone, Copy)]
pub struct FormStyle<'a> {
    pub theme: &'a Theme,
    pub width: u16,
    /// Whether keys go to the form.
    pub keyboard: bool,
    /// Whether blank lines set its parts apart.
    pub roomy: bool,
    /// Lines that the shown preview may take.
    pub preview: usize,
}

impl FormLines {
    /// Lays out the tab with this number.
    pub fn new(form: &AnswerForm, tab: usize, style: FormStyle<'_>) -> Self {
        let mut lines = Self::default();
        match form.questions.get(tab) {
            Some(question) => lines.push_question(question, style),
            None => lines.push_summary(form, style),
        }
        lines
    }

    /// The number of lines without the preview, which only the shown tab has.
    pub fn without_preview(&self) -> usize {
        self.lines.len() - self.preview
    }

    /// The lines of the tab, with as much of the preview as `height` lines have room for beside the rest.
    pub fn fitted(form: &AnswerForm, tab: usize, style: FormStyle<'_>, height: usize) -> Self {
        let lines = Self::new(form, tab, style);
        let rest = lines.without_preview();
        match lines.lines.len() > height && lines.preview > 0 {
            true => {
                let room = height.saturating_sub(rest).max(MIN_PREVIEW_LINES);
                Self::new(form, tab, FormStyle { preview: room, ..style })
            }
            false => lines,
        }
    }

    /// The first visible line, if `height` lines are visible.
    pub fn top(&self, scroll: FormScroll, height: usize) -> usize {
        let last = self.lines.len().saturating_sub(height);
        match scroll {
            FormScroll::At(line) => line.min(last),
            FormScroll::ToCursor => {
                let row = self.focus.and_then(|row| self.rows.get(row)).cloned().unwrap_or(0..0);
                let top = row.end.saturating_sub(height).min(row.start);
                // An answer may have more lines than there is room for.
                let cursor = self.cursor.map_or(0, |(line, _)| (line + 1).saturating_sub(height));
                top.max(cursor).min(last)
            }
        }
    }

    /// The digits of the rows that are among these lines as a whole, with their previews; the row of the
    /// cursor may have no room for that.
    pub fn visible(&self, shown: &Range<usize>) -> Vec<u8> {
        let is_visible = |at: usize, row: &Range<usize>| match self.focus == Some(at) {
            true => row.start < shown.end && row.end > shown.start,
            false => {
                let is_whole = row.start >= shown.start && row.end <= shown.end;
                !row.is_empty() && is_whole && !self.without_preview.contains(&at)
            }
        };
        let rows = self.rows.iter().enumerate().zip(1..);
        rows.filter(|((at, row), _)| is_visible(*at, row)).map(|(_, digit)| digit).collect()
    }

    fn push_question(&mut self, question: &FormQuestion, style: FormStyle<'_>) {
        let FormStyle { theme, width, roomy, .. } = style;
        let asked = &question.asked;
        let bold = theme.text.add_modifier(Modifier::BOLD);
        self.lines.extend(plain_lines(&asked.question, width, bold, theme));
        if roomy {
            self.lines.push(Line::default());
        }
        let column = label_column(asked, width, theme);
        for (row, option) in asked.options.iter().enumerate() {
            let start = self.lines.len();
            let label = style.label(question, row, &revealed(&option.label, theme));
            let margin = style.margin(question, row);
            self.push_option(option, &label, &margin, column, style);
            let mut preview = preview_lines(option, margin.width(), style);
            if question.row == Some(row) {
                cut_preview(&mut preview, margin.width(), style);
                self.preview = preview.len();
                self.lines.extend(preview);
            } else if !preview.is_empty() {
                self.without_preview.push(row);
            }
            self.rows.push(start..self.lines.len());
        }
        self.push_text_field(question, style);
        self.focus = question.row;
    }

    /// Adds an option, its description beside the label if both have room, else below it.
    fn push_option(
        &mut self,
        option: &UserOption,
        label: &Line<'static>,
        margin: &Line<'static>,
        column: Option<usize>,
        FormStyle { theme, width: room, .. }: FormStyle<'_>,
    ) {
        let indent = margin.width();
        let rest = Line::raw(" ".repeat(indent));
        let description = |cells: usize| {
            let cells = u16::try_from(cells).unwrap_or(u16::MAX).max(1);
            plain_lines(option.description.trim(), cells, theme.dim, theme)
        };
        let room_beside = |column: usize| usize::from(room).saturating_sub(indent + column + GAP);
        match column {
            Some(column) => {
                let mut beside = description(room_beside(column)).into_iter();
                let mut line = margin.clone();
                let pad = (column + GAP).saturating_sub(label.width());
                line.spans.extend(label.spans.iter().cloned());
                if let Some(first) = beside.next() {
                    line.push_span(Span::raw(" ".repeat(pad)));
                    line.spans.extend(first.spans);
                }
                self.lines.push(line);
                let blank = " ".repeat(indent + column + GAP);
                self.lines.extend(beside.map(|line| indented(&blank, line)));
            }
            None => {
                self.lines.extend(wrap_hanging(label, room, margin, &rest));
                let below = description(usize::from(room).saturating_sub(indent));
                let blank = " ".repeat(indent);
                self.lines.extend(below.into_iter().map(|line| indented(&blank, line)));
            }
        }
    }

    fn push_text_field(&mut self, question: &FormQuestion, style: FormStyle<'_>) {
        let row = question.text_row();
        let margin = style.margin(question, row);
        let indent = margin.width();
        let rest = Line::raw(" ".repeat(indent));
        let start = self.lines.len();
        let theme = style.theme;
        if question.is_typing() {
            let mut draft = DraftLayout::default();
            draft.refresh(
                &question.text,
                usize::from(style.width).saturating_sub(indent + 3).max(1),
            );
            let (line, column) = draft.cursor();
            let column = column + u16::try_from(indent).unwrap_or_default();
            self.cursor = Some((start + line, column));
            for (at, line) in draft.lines(&question.text, 0, theme).into_iter().enumerate() {
                let before = if at == 0 { &margin } else { &rest };
                self.lines.push(Line::from([&before.spans[..], &line.spans].concat()));
            }
            if question.text.is_empty()
                && let Some(line) = self.lines.last_mut()
            {
                line.push_span(Span::styled("your own answer", theme.dim));
            }
        } else {
            let typed = question.text.text().trim();
            let words = if typed.is_empty() { "Type your own answer" } else { typed };
            let label = style.label(question, row, &revealed(words, theme));
            self.lines.extend(wrap_hanging(&label, style.width, &margin, &rest));
        }
        self.rows.push(start..self.lines.len());
    }

    /// Adds all answers. The digits go back to the questions.
    fn push_summary(&mut self, form: &AnswerForm, style: FormStyle<'_>) {
        let theme = style.theme;
        let bold = theme.text.add_modifier(Modifier::BOLD);
        self.lines.extend(plain_lines("Send these answers?", style.width, bold, theme));
        if style.roomy {
            self.lines.push(Line::default());
        }
        let headers: Vec<String> =
            form.questions.iter().map(|question| header(&question.asked, theme)).collect();
        let column = column_width(headers.iter().map(String::as_str), MAX_HEADER);
        for ((question, header), digit) in form.questions.iter().zip(&headers).zip(1u8..) {
            let start = self.lines.len();
            let first = Line::from(vec![
                Span::styled(format!("{digit}  "), style.digit()),
                Span::styled(padded(header, column + GAP), theme.dim),
            ]);
            let rest = Line::raw(" ".repeat(first.width()));
            let answer = match question.answer() {
                Some(answer) => Line::styled(revealed(&answer, theme), theme.text),
                None => Line::styled("no answer", theme.question),
            };
            self.lines.extend(wrap_hanging(&answer, style.width, &first, &rest));
            self.rows.push(start..self.lines.len());
        }
    }
}

impl FormStyle<'_> {
    fn digit(&self) -> Style {
        if self.keyboard { self.theme.question } else { self.theme.dim }
    }

    /// The cells before a row: its digit, the mark of the cursor, and its box.
    fn margin(&self, question: &FormQuestion, row: usize) -> Line<'static> {
        let glyphs = self.theme.glyphs;
        let mark = if question.row == Some(row) { glyphs.focus } else { " " };
        let mut margin = Line::from(vec![
            Span::styled((row + 1).to_string(), self.digit()),
            Span::styled(mark, self.theme.accent),
            Span::raw(" "),
        ]);
        if question.asked.multi_select {
            let (tick, style) = match question.is_chosen(row) {
                true => (glyphs.task_done, self.theme.good),
                false => (glyphs.task_open, self.theme.dim),
            };
            margin.push_span(Span::styled(format!("{tick} "), style));
        }
        margin
    }

    /// The text of a row, with a tick if it is the only answer.
    fn label(&self, question: &FormQuestion, row: usize, words: &str) -> Line<'static> {
        let theme = self.theme;
        let style = if question.row == Some(row) { theme.selection } else { theme.text };
        let mut label = Line::from(Span::styled(words.to_owned(), style));
        if question.is_chosen(row) && !question.asked.multi_select {
            label.push_span(Span::styled(format!(" {}", theme.glyphs.done), theme.good));
        }
        label
    }
}

/// The preview of an option, behind a bar.
fn preview_lines(
    option: &UserOption,
    indent: usize,
    FormStyle { theme, width, .. }: FormStyle<'_>,
) -> Vec<Line<'static>> {
    let text = option.preview.as_deref().unwrap_or_default().trim_end();
    let cells = usize::from(width).saturating_sub(indent + 2).max(1);
    let cells = u16::try_from(cells).unwrap_or(u16::MAX);
    let bar = Span::styled(format!("{} ", theme.glyphs.vertical), theme.dim);
    let start = [Span::raw(" ".repeat(indent)), bar];
    // An empty line wraps to none, but is one.
    let wrapped = text.lines().flat_map(|line| match plain_lines(line, cells, theme.code, theme) {
        lines if lines.is_empty() => vec![Line::default()],
        lines => lines,
    });
    wrapped.map(|line| Line::from([&start[..], &line.spans].concat())).collect()
}

/// Cuts a preview to the lines that it may take; the last one counts those left out.
fn cut_preview(preview: &mut Vec<Line<'static>>, indent: usize, style: FormStyle<'_>) {
    if preview.len() <= style.preview {
        return;
    }
    let kept = style.preview.saturating_sub(1);
    let more = format!("{}… +{}", " ".repeat(indent), count(preview.len() - kept, "line"));
    preview.truncate(kept);
    preview.push(Line::styled(more, style.theme.dim));
}

/// The width of the labels if the descriptions take no more lines beside than below them.
fn label_column(asked: &UserQuestion, room: u16, theme: &Theme) -> Option<usize> {
    let margin = MARGIN + if asked.multi_select { TICK_BOX } else { 0 };
    let labels = asked.options.iter().map(|option| width(&revealed(&option.label, theme)));
    // The tick of a chosen one follows it.
    let column = labels.max()? + 2;
    let all = usize::from(room).checked_sub(margin)?;
    let rest = all.checked_sub(column + GAP).filter(|rest| *rest >= MIN_DESCRIPTION)?;
    let described: Vec<_> = asked.options.iter().map(|option| width(&option.description)).collect();
    let beside: usize = described.iter().map(|cells| cells.div_ceil(rest).max(1)).sum();
    let below: usize = described.iter().map(|cells| 1 + cells.div_ceil(all)).sum();
    (beside <= below).then_some(column)
}

fn header(asked: &UserQuestion, theme: &Theme) -> String {
    truncate(&revealed(&asked.header, theme), MAX_HEADER).into_owned()
}

/// A text of an agent in a line, of which nothing can hide.
fn revealed(text: &str, theme: &Theme) -> String {
    reveal_line(&theme.glyphs.number(text))
}

fn indented(blank: &str, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw(blank.to_owned()));
    line
}

/// The tabs in one line, if there are several; for screen readers, the place of the shown one.
pub fn tabs(form: &AnswerForm, style: FormStyle<'_>, reader: bool) -> Option<Line<'static>> {
    if !form.has_summary() {
        return None;
    }
    let theme = style.theme;
    let all = form.questions.len();
    let headers: Vec<String> =
        form.questions.iter().map(|question| header(&question.asked, theme)).collect();
    if reader {
        return Some(Line::raw(match headers.get(form.tab) {
            Some(header) => format!("Question {} of {all}: {header}", form.tab + 1),
            None => format!("All {all} answers"),
        }));
    }
    // A sign and a blank before each name, two blanks behind it.
    let room = usize::from(style.width).saturating_sub(4 * (all + 1) + width("Send")) / all;
    let mut line = Line::default();
    let answered = form.questions.iter().map(|question| question.answer().is_some());
    let names = headers.iter().map(|header| truncate(header, room.max(3)).into_owned());
    let tabs = names.zip(answered).chain([("Send".to_owned(), false)]);
    for (at, (name, answered)) in tabs.enumerate() {
        let shown = form.tab == at;
        let sign = match (shown, answered) {
            (true, _) => Span::styled(theme.glyphs.focus, theme.accent),
            (false, true) => Span::styled(theme.glyphs.done, theme.good),
            (false, false) => Span::raw(" "),
        };
        let look = if shown { theme.selection } else { theme.dim };
        line.spans.extend([sign, Span::raw(" "), Span::styled(name, look), Span::raw("  ")]);
    }
    Some(line)
}

/// Where the tabs of this line are, if it is the first of `area`.
pub fn tab_areas(tabs: &Line<'_>, area: Rect) -> Vec<(Rect, usize)> {
    let mut x = area.x;
    let tabs = tabs.spans.chunks_exact(TAB_SPANS).enumerate().map(|(tab, spans)| {
        let cells = spans.iter().map(Span::width).sum::<usize>();
        let width = u16::try_from(cells).unwrap_or(u16::MAX);
        let tab = (Rect { x, width, height: 1, ..area }.intersection(area), tab);
        x = x.saturating_add(width);
        tab
    });
    tabs.collect()
}
