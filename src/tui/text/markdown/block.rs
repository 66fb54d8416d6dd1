//! Reads the block structure of Markdown line by line, each line once.
//!
//! A line is final as soon as the next one is known, so drawn lines never change. This departs from
//! CommonMark in small ways: reference links stay text, and only a one-line paragraph can become a
//! setext heading.

use super::inline;
use super::line::{self, Fence};
use super::paragraph::{PARAGRAPH_LIMIT, Paragraph};
use super::row::{Language, Mark, Row, RowBody, RowMarks};
use super::table::{MarkdownTable, ShapeChange};
use crate::tui::text::styled::{RoleStyle, StyledText, TextRole};

/// Maximum nesting of quotes and items; further marks are text.
const DEPTH_LIMIT: usize = 12;

/// A block that holds other blocks.
#[derive(Clone, Debug, PartialEq)]
enum Container {
    Quote,
    Item {
        /// Indent of its content, in columns.
        indent: usize,
        mark: Mark,
        /// Whether the mark was emitted.
        has_line: bool,
    },
}

/// The list that an item at one depth would continue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ListState {
    delimiter: u8,
    next: u64,
}

/// The innermost block, which takes the text.
#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    None,
    Paragraph(Paragraph),
    Fence {
        fence: Fence,
        language: Option<Language>,
        starts: bool,
    },
    /// Indented code, with blank lines that belong to it only if more code follows.
    Indented {
        blanks: usize,
    },
    Table(MarkdownTable),
}

/// Turns lines into rows.
#[derive(Clone, Debug)]
pub(super) struct BlockReader {
    containers: Vec<Container>,
    /// By depth.
    lists: Vec<Option<ListState>>,
    leaf: Leaf,
    /// Depth of a blank line since the last row.
    blank: Option<usize>,
    has_rows: bool,
    /// Finished rows, for the owner to take.
    pub(super) rows: Vec<Row>,
    /// Changes of table widths since the owner took the rows.
    pub(super) reshaped: Vec<ShapeChange>,
    /// Bytes processed, to prove that the work is linear.
    #[cfg(test)]
    pub(super) work: usize,
}

impl BlockReader {
    pub(super) fn new() -> Self {
        Self {
            containers: Vec::new(),
            lists: vec![None],
            leaf: Leaf::None,
            blank: None,
            has_rows: false,
            rows: Vec::new(),
            reshaped: Vec::new(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Whether to split lines only when very long: within code and tables.
    pub(super) fn keeps_lines_whole(&self) -> bool {
        matches!(self.leaf, Leaf::Fence { .. } | Leaf::Table(_) | Leaf::Indented { .. })
    }

    /// Reads a sanitised line, or the start of a very long one.
    pub(super) fn line(&mut self, text: &str) {
        self.count(text.len());
        let (matched, rest) = self.match_containers(text);
        let all = matched == self.containers.len();
        if rest.trim().is_empty() {
            self.close_to(matched);
            return self.blank_line();
        }
        if all && self.in_fence(rest) {
            return;
        }
        if !all && self.is_lazy(rest) {
            return self.paragraph_line(rest.trim_start());
        }
        self.close_to(matched);
        let rest = self.open_containers(rest, all);
        self.leaf_line(rest);
    }

    /// Reads more of a very long line.
    pub(super) fn continue_line(&mut self, text: &str) {
        self.count(text.len());
        match &mut self.leaf {
            Leaf::Fence { .. } | Leaf::Indented { .. } => self.code_line(text),
            Leaf::Paragraph(paragraph) => {
                paragraph.has_rows = true;
                self.flush_paragraph();
                let more = Paragraph::continuation(true);
                self.leaf = Leaf::Paragraph(more);
                self.add_text(text);
            }
            _ => {
                self.close_leaf();
                self.leaf = Leaf::Paragraph(Paragraph::continuation(false));
                self.add_text(text);
            }
        }
    }

    /// Closes all blocks at the end of the text.
    pub(super) fn finish(&mut self) {
        self.close_leaf();
        self.close_to(0);
    }

    /// Closes half-written emphasis, to render incomplete text.
    pub(super) fn close_emphasis(&mut self) {
        if let Leaf::Paragraph(paragraph) = &mut self.leaf {
            paragraph.close_emphasis();
        }
    }

    fn count(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.work += _bytes;
        }
    }

    // Containers.

    /// The number of containers that continue with this line, and the rest after their marks.
    fn match_containers<'a>(&self, text: &'a str) -> (usize, &'a str) {
        let mut rest = text;
        for (at, container) in self.containers.iter().enumerate() {
            let inner = match container {
                Container::Quote => line::quote(rest),
                Container::Item { .. } if rest.trim().is_empty() => Some(""),
                Container::Item { indent, .. } => line::unindent(rest, *indent),
            };
            match inner {
                Some(inner) => rest = inner,
                None => return (at, rest),
            }
        }
        (self.containers.len(), rest)
    }

    /// Whether the line continues a paragraph without the marks of its containers.
    fn is_lazy(&self, rest: &str) -> bool {
        matches!(self.leaf, Leaf::Paragraph(_)) && !line::starts_block(rest)
    }

    /// Opens the quotes and items that the line starts; returns the rest after their marks.
    fn open_containers<'a>(&mut self, text: &'a str, all_matched: bool) -> &'a str {
        let mut rest = text;
        let mut in_paragraph = all_matched && matches!(self.leaf, Leaf::Paragraph(_));
        while self.containers.len() < DEPTH_LIMIT {
            if line::indent(rest) >= 4 || line::is_rule(rest) {
                return rest;
            }
            let depth = self.containers.len();
            if let Some(inner) = line::quote(rest) {
                self.open(Container::Quote);
                self.lists[depth] = None;
                rest = inner;
            } else if let Some(item) = line::item(rest)
                && (!in_paragraph || item.may_interrupt())
            {
                self.open_item(&item, depth);
                rest = item.rest;
            } else {
                return rest;
            }
            in_paragraph = false;
        }
        rest
    }

    fn open_item(&mut self, item: &line::ListItem<'_>, depth: usize) {
        self.close_leaf();
        let number = match (self.lists[depth], item.number) {
            (Some(list), Some(_)) if list.delimiter == item.delimiter => list.next,
            (_, number) => number.unwrap_or(0),
        };
        let mark = match (item.task, item.number) {
            (Some(done), _) => Mark::Task { done },
            (None, Some(_)) => Mark::Number(number),
            (None, None) => Mark::Bullet,
        };
        self.open(Container::Item { indent: item.indent, mark, has_line: false });
        let next = number.saturating_add(1);
        self.lists[depth] = Some(ListState { delimiter: item.delimiter, next });
    }

    fn open(&mut self, container: Container) {
        self.close_leaf();
        self.containers.push(container);
        self.lists.push(None);
    }

    /// Closes the containers beyond `depth`, with their content.
    fn close_to(&mut self, depth: usize) {
        if depth == self.containers.len() {
            return;
        }
        self.close_leaf();
        while self.containers.len() > depth {
            if let Some(Container::Item { has_line: false, .. }) = self.containers.last() {
                self.emit(RowBody::Text { text: StyledText::default(), joins: false });
            }
            self.containers.pop();
            self.lists.pop();
        }
        if let Some(kept) = &mut self.blank {
            *kept = (*kept).min(depth);
        }
    }

    // Lines of leaves.

    fn blank_line(&mut self) {
        match &mut self.leaf {
            Leaf::Fence { .. } => return self.code_line(""),
            Leaf::Indented { blanks } => {
                *blanks += 1;
                return;
            }
            _ => self.close_leaf(),
        }
        self.blank = Some(self.containers.len());
    }

    /// Handles the line if it is within a fence.
    fn in_fence(&mut self, rest: &str) -> bool {
        let Leaf::Fence { fence, .. } = &self.leaf else { return false };
        if fence.is_closed_by(rest) {
            self.close_leaf();
        } else {
            let text = fence.content(rest).to_owned();
            self.code_line(&text);
        }
        true
    }

    fn leaf_line(&mut self, rest: &str) {
        let text = rest.trim_start();
        if text.is_empty() {
            return;
        }
        if let Leaf::Indented { .. } = self.leaf
            && line::indent(rest) < 4
        {
            self.close_leaf();
        }
        if let Leaf::Table(_) = self.leaf {
            if !line::starts_block(rest) {
                return self.table_row(text);
            }
            self.close_leaf();
        }
        if let Leaf::Paragraph(_) = self.leaf
            && self.after_paragraph(rest, text)
        {
            return;
        }
        if line::indent(rest) >= 4 && !matches!(self.leaf, Leaf::Paragraph(_)) {
            return self.indented_line(&rest[4..]);
        }
        if line::indent(rest) < 4 && self.single_line_block(text, rest) {
            return;
        }
        self.paragraph_line(text);
    }

    /// Handles lines whose meaning depends on the paragraph before: table delimiters, underlines.
    fn after_paragraph(&mut self, rest: &str, text: &str) -> bool {
        let Leaf::Paragraph(paragraph) = &mut self.leaf else { return false };
        if let Some(table) = MarkdownTable::start(paragraph.last_line(), text) {
            paragraph.drop_last_line();
            self.close_leaf();
            self.leaf = Leaf::Table(table);
            return true;
        }
        if paragraph.is_one_line()
            && let Some(level) = line::underline(rest)
        {
            let source = paragraph.take();
            self.leaf = Leaf::None;
            self.heading(level, &source);
            return true;
        }
        false
    }

    /// Headings, rules and the start of fences.
    fn single_line_block(&mut self, text: &str, rest: &str) -> bool {
        if let Some((level, title)) = line::heading(text) {
            self.close_leaf();
            self.heading(level, title);
            return true;
        }
        if line::is_rule(rest) {
            self.close_leaf();
            self.emit(RowBody::Rule);
            return true;
        }
        if let Some(fence) = Fence::open(rest) {
            self.close_leaf();
            let language = fence.language().map(Language::from);
            self.leaf = Leaf::Fence { fence, language, starts: true };
            return true;
        }
        false
    }

    fn heading(&mut self, level: usize, title: &str) {
        // Separate a heading even if the source has no blank line.
        let first = matches!(self.containers.last(), Some(Container::Item { has_line: false, .. }));
        if !first && self.blank.is_none() {
            self.blank = Some(self.containers.len());
        }
        let mut face = RoleStyle::from(TextRole::Heading);
        if level == 1 {
            face = face.with(ratatui::style::Modifier::UNDERLINED);
        }
        self.count(title.len());
        for text in inline::parse(title, face) {
            self.emit(RowBody::Text { text, joins: false });
        }
    }

    fn paragraph_line(&mut self, text: &str) {
        match &mut self.leaf {
            Leaf::Paragraph(paragraph) => {
                paragraph.end_line();
                if paragraph.is_settled() || paragraph.source.len() + text.len() > PARAGRAPH_LIMIT {
                    self.flush_paragraph();
                    self.leaf = Leaf::Paragraph(Paragraph::continuation(false));
                } else {
                    paragraph.new_line();
                }
            }
            _ => {
                self.close_leaf();
                self.leaf = Leaf::Paragraph(Paragraph::default());
            }
        }
        self.add_text(text);
    }

    fn add_text(&mut self, text: &str) {
        if let Leaf::Paragraph(paragraph) = &mut self.leaf {
            paragraph.add(text);
        }
    }

    fn indented_line(&mut self, text: &str) {
        match self.leaf {
            Leaf::Indented { blanks } => {
                for _ in 0..blanks {
                    self.code_line("");
                }
                self.leaf = Leaf::Indented { blanks: 0 };
                self.code_line(text);
            }
            _ => {
                self.close_leaf();
                self.leaf = Leaf::Indented { blanks: 0 };
                let text = StyledText::plain(text, TextRole::Code);
                self.emit(RowBody::Code { text, language: None, starts: true });
            }
        }
    }

    fn code_line(&mut self, text: &str) {
        let text = StyledText::plain(text, TextRole::Code);
        let (language, starts) = match &mut self.leaf {
            Leaf::Fence { language, starts, .. } => (language.clone(), std::mem::take(starts)),
            _ => (None, false),
        };
        self.emit(RowBody::Code { text, language, starts });
    }

    fn table_row(&mut self, text: &str) {
        self.count(text.len());
        let Leaf::Table(table) = &mut self.leaf else { return };
        let (bodies, reshaped) = table.push(text);
        self.reshaped.extend(reshaped);
        for body in bodies {
            self.emit(body);
        }
    }

    // Rows.

    fn close_leaf(&mut self) {
        match std::mem::replace(&mut self.leaf, Leaf::None) {
            Leaf::Paragraph(paragraph) => {
                self.leaf = Leaf::Paragraph(paragraph);
                self.flush_paragraph();
                self.leaf = Leaf::None;
            }
            Leaf::Table(mut table) => {
                for body in table.finish() {
                    self.emit(body);
                }
            }
            Leaf::Indented { blanks } if blanks > 0 => self.blank = Some(self.containers.len()),
            Leaf::None | Leaf::Fence { .. } | Leaf::Indented { .. } => {}
        }
    }

    /// Emits the open paragraph as rows.
    fn flush_paragraph(&mut self) {
        let Leaf::Paragraph(paragraph) = &mut self.leaf else { return };
        let joins = paragraph.joins;
        let source = paragraph.take();
        if source.is_empty() {
            return;
        }
        self.count(source.len());
        for (at, text) in inline::parse(&source, RoleStyle::default()).into_iter().enumerate() {
            self.emit(RowBody::Text { text, joins: joins && at == 0 });
        }
    }

    fn emit(&mut self, body: RowBody) {
        let depth = self.containers.len();
        if let Some(kept) = self.blank.take()
            && self.has_rows
        {
            let mut marks = self.rest_marks(kept.min(depth));
            while matches!(marks.last(), Some(Mark::Spaces(_))) {
                marks.pop();
            }
            let marks = RowMarks { first: marks.clone(), rest: marks };
            self.rows.push(Row { marks, body: RowBody::Blank });
        }
        self.has_rows = true;
        self.lists[depth] = None;
        let rest = self.rest_marks(depth);
        let first = self.first_marks();
        self.rows.push(Row { marks: RowMarks { first, rest }, body });
    }

    fn rest_marks(&self, depth: usize) -> Vec<Mark> {
        let mark = |container: &Container| match container {
            Container::Quote => Mark::Quote,
            Container::Item { mark, .. } => Mark::Spaces(mark.cells()),
        };
        self.containers[..depth].iter().map(mark).collect()
    }

    /// The marks of the next row. Each item shows its mark only once.
    fn first_marks(&mut self) -> Vec<Mark> {
        let mark = |container: &mut Container| match container {
            Container::Quote => Mark::Quote,
            Container::Item { mark, has_line: true, .. } => Mark::Spaces(mark.cells()),
            Container::Item { mark, has_line, .. } => {
                *has_line = true;
                mark.clone()
            }
        };
        self.containers.iter_mut().map(mark).collect()
    }
}
