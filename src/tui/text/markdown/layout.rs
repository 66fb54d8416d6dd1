//! Lays out rows as lines, wrapped to a width and styled by a theme.

use ratatui::text::{Line, Span};

use super::row::{Mark, Row, RowBody, RowMarks};
use crate::tui::text::styled::{StyledText, runs};
use crate::tui::text::width::truncate;
use crate::tui::text::wrap::{Indent, WrapMode};
use crate::tui::theme::Theme;

/// Indent of code relative to the text around it.
const CODE_INDENT: &str = "  ";
/// Minimum cells for the text beside all marks.
const TEXT_ROOM: usize = 4;

/// Maximum line widths in cells: prose is easier to read when not too wide, code and tables use the
/// full width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    pub prose: u16,
    pub wide: u16,
}

impl From<u16> for Widths {
    fn from(width: u16) -> Self {
        Self { prose: width, wide: width }
    }
}

/// The lines of a text at one width and in one theme; grows row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownLayout {
    pub(super) lines: Vec<Line<'static>>,
    /// The last line, if text may continue it.
    open: Option<OpenLine>,
    /// Bytes laid out, to prove that the work is linear.
    #[cfg(test)]
    pub(super) work: usize,
}

#[derive(Clone, Debug)]
struct OpenLine {
    text: StyledText,
    indent: Indent,
    line: Line<'static>,
}

/// A state to return to after rendering incomplete text.
#[derive(Clone, Debug, Default)]
pub(super) struct Savepoint {
    lines: usize,
    open: Option<OpenLine>,
}

impl MarkdownLayout {
    pub(super) fn savepoint(&self) -> Savepoint {
        Savepoint { lines: self.lines.len(), open: self.open.clone() }
    }

    /// Drops all lines since the savepoint.
    pub(super) fn restore(&mut self, point: &Savepoint) {
        self.lines.truncate(point.lines);
        if let (Some(open), Some(last)) = (&point.open, self.lines.last_mut()) {
            // It may be longer now.
            if *last != open.line {
                last.clone_from(&open.line);
            }
        }
        self.open.clone_from(&point.open);
    }

    pub(super) fn push(&mut self, row: &Row, widths: Widths, theme: &Theme) {
        let open = self.open.take();
        let width = match &row.body {
            RowBody::Text { .. } | RowBody::Blank | RowBody::Rule => widths.prose,
            RowBody::Code { .. } | RowBody::Table { .. } | RowBody::TableRule { .. } => widths.wide,
        };
        let width = usize::from(width.max(1));
        let indent = indent(&row.marks, width, theme);
        match &row.body {
            RowBody::Text { text, joins } => match open {
                Some(mut open) if *joins => {
                    self.lines.pop();
                    open.text.append(text);
                    self.push_text(&open.text, &open.indent, width, theme);
                }
                _ => self.push_text(text, &indent, width, theme),
            },
            RowBody::Blank => self.lines.push(Line::from(indent.first)),
            RowBody::Rule => self.push_rule(indent, width, theme),
            RowBody::Code { text, language, starts } => {
                let mut indent = indent;
                if let Some(language) = language.as_ref().filter(|_| *starts) {
                    self.push_label(language, &mut indent, width, theme);
                }
                self.push_code(text, indent, width, theme);
            }
            RowBody::Table { shape, cells } => {
                self.count(cells.iter().map(|cell| cell.text.len()).sum());
                let room = width.saturating_sub(cells_of(&indent.first));
                shape.lay_out(cells, &indent, room, theme, &mut self.lines);
            }
            RowBody::TableRule { shape } => {
                let room = width.saturating_sub(cells_of(&indent.first));
                self.lines.push(shape.rule(&indent, room, theme));
            }
        }
    }

    fn count(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.work += _bytes;
        }
    }

    fn push_text(&mut self, text: &StyledText, indent: &Indent, width: usize, theme: &Theme) {
        self.count(text.text.len());
        let before = self.lines.len();
        let start = indent.wrap(runs(text, theme), width, WrapMode::Words, &mut self.lines);
        let first = if self.lines.len() - before > 1 { &indent.rest } else { &indent.first };
        let indent = Indent { first: first.clone(), rest: indent.rest.clone() };
        let line = self.lines.last().cloned().unwrap_or_default();
        self.open = Some(OpenLine { text: text.tail(start), indent, line });
    }

    fn push_rule(&mut self, indent: Indent, width: usize, theme: &Theme) {
        let mut spans = indent.first;
        let room = width.saturating_sub(cells_of(&spans));
        spans.push(Span::styled(theme.glyphs.rule.repeat(room), theme.dim));
        self.lines.push(Line::from(spans));
    }

    /// The language of a block of code, on a line above it.
    fn push_label(&mut self, language: &str, indent: &mut Indent, width: usize, theme: &Theme) {
        let room = width.saturating_sub(cells_of(&indent.first) + CODE_INDENT.len());
        if room < TEXT_ROOM {
            return;
        }
        let mut spans = std::mem::replace(&mut indent.first, indent.rest.clone());
        spans.push(Span::raw(CODE_INDENT));
        spans.push(Span::styled(truncate(language, room).into_owned(), theme.dim));
        self.lines.push(Line::from(spans));
    }

    fn push_code(&mut self, text: &StyledText, mut indent: Indent, width: usize, theme: &Theme) {
        self.count(text.text.len());
        if text.text.is_empty() {
            return self.lines.push(Line::from(indent.first));
        }
        if cells_of(&indent.rest) + CODE_INDENT.len() + TEXT_ROOM <= width {
            indent.first.push(Span::raw(CODE_INDENT));
            indent.rest.push(Span::styled(format!("{} ", theme.glyphs.continued), theme.dim));
        }
        indent.wrap_written(runs(text, theme), width, theme.dim, &mut self.lines);
    }
}

fn cells_of(spans: &[Span<'static>]) -> usize {
    spans.iter().map(|span| crate::tui::text::width(&span.content)).sum()
}

/// The marks as text. Drops the outermost ones if there is little room.
fn indent(marks: &RowMarks, width: usize, theme: &Theme) -> Indent {
    let mut skip = 0;
    let mut cells: usize = marks.rest.iter().map(Mark::cells).sum();
    while cells > 0 && cells + TEXT_ROOM > width && skip < marks.rest.len() {
        cells -= marks.rest[skip].cells();
        skip += 1;
    }
    let spans = |marks: &[Mark]| marks.iter().skip(skip).map(|mark| span(mark, theme)).collect();
    Indent { first: spans(&marks.first), rest: spans(&marks.rest) }
}

fn span(mark: &Mark, theme: &Theme) -> Span<'static> {
    let glyphs = theme.glyphs;
    match mark {
        Mark::Quote => Span::styled(format!("{} ", glyphs.vertical), theme.quote),
        Mark::Bullet => Span::styled(format!("{} ", glyphs.bullet), theme.dim),
        Mark::Number(number) => Span::styled(format!("{number}. "), theme.dim),
        Mark::Task { done: true } => Span::styled(format!("{} ", glyphs.task_done), theme.good),
        Mark::Task { done: false } => Span::styled(format!("{} ", glyphs.task_open), theme.dim),
        Mark::Spaces(cells) => Span::raw(" ".repeat(*cells)),
    }
}
