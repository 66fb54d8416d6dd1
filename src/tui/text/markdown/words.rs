//! Markdown as lines to listen to: no signs for emphasis, names for blocks, tables cell by cell.

use super::block::BlockReader;
use super::row::{Mark, Row, RowBody};
use crate::tui::text::sanitize::sanitize;
use crate::tui::text::styled::{StyledText, TextRole};

/// Reads Markdown line by line, and returns each line in words once it is known what it is.
#[derive(Debug)]
pub struct MarkdownWords {
    reader: BlockReader,
    in_code: bool,
    /// The header of the open table.
    table: Option<Vec<String>>,
}

impl Default for MarkdownWords {
    fn default() -> Self {
        Self { reader: BlockReader::new(), in_code: false, table: None }
    }
}

impl MarkdownWords {
    /// Reads whole lines of text, and returns the words that have become final.
    pub fn read(&mut self, text: &str) -> Vec<String> {
        for line in text.lines() {
            self.reader.line(&sanitize(line));
        }
        self.take()
    }

    /// Ends the text, and returns the rest of its words.
    pub fn finish(&mut self) -> Vec<String> {
        self.reader.finish();
        let mut lines = self.take();
        self.end_code(&mut lines);
        lines
    }

    fn take(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for row in std::mem::take(&mut self.reader.rows) {
            self.row(&row, &mut lines);
        }
        lines
    }

    fn row(&mut self, row: &Row, lines: &mut Vec<String>) {
        let starts = matches!(row.body, RowBody::Code { starts: true, .. });
        if starts || !matches!(row.body, RowBody::Code { .. } | RowBody::Blank) {
            self.end_code(lines);
        }
        if !row.is_table() {
            self.table = None;
        }
        let marks: String = row.marks.first.iter().map(mark_words).collect();
        match &row.body {
            RowBody::Blank | RowBody::Rule | RowBody::TableRule { .. } => {}
            RowBody::Text { text, .. } => {
                let heading = if is_heading(text) { "Heading: " } else { "" };
                lines.push(format!("{marks}{heading}{}", text.text));
            }
            RowBody::Code { text, language, starts } => {
                if *starts {
                    let language = language.as_ref().map(|name| format!(", {name}"));
                    lines.push(format!("{marks}Code{}:", language.unwrap_or_default()));
                    self.in_code = true;
                }
                lines.push(format!("  {}", text.text));
            }
            RowBody::Table { cells, .. } => {
                let cells = cells.iter().map(|cell| cell.text.trim().to_owned());
                match &self.table {
                    None => {
                        let cells: Vec<String> = cells.collect();
                        lines.push(format!("{marks}Table: {}", cells.join(", ")));
                        self.table = Some(cells);
                    }
                    Some(head) => {
                        let cells = cells.zip(head).filter(|(cell, _)| !cell.is_empty());
                        let named = cells.map(|(cell, name)| match name.as_str() {
                            "" => cell,
                            name => format!("{name}: {cell}"),
                        });
                        lines.push(format!("{marks}{}", named.collect::<Vec<_>>().join("; ")));
                    }
                }
            }
        }
    }

    fn end_code(&mut self, lines: &mut Vec<String>) {
        if std::mem::take(&mut self.in_code) {
            lines.push("End of code.".to_owned());
        }
    }
}

fn is_heading(text: &StyledText) -> bool {
    text.runs.first().is_some_and(|(_, face)| face.role == TextRole::Heading)
}

fn mark_words(mark: &Mark) -> String {
    match mark {
        Mark::Quote => "Quote: ".to_owned(),
        Mark::Bullet => "- ".to_owned(),
        Mark::Number(number) => format!("{number}. "),
        Mark::Task { done: true } => "- done: ".to_owned(),
        Mark::Task { done: false } => "- to do: ".to_owned(),
        Mark::Spaces(cells) => " ".repeat(*cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut reader = MarkdownWords::default();
        let mut lines = reader.read(text);
        lines.extend(reader.finish());
        lines
    }

    #[test]
    fn emphasis_has_no_signs_and_a_link_its_address() {
        let text = "## The *fix*\n\nIt is **bold** and `code`, see [docs](http://a.b/c).";
        assert_eq!(
            words(text),
            ["Heading: The fix", "It is bold and code, see docs (http://a.b/c)."]
        );
    }

    #[test]
    fn a_block_of_code_is_named_and_ended() {
        let text = "Run:\n```sh\ncargo test\n\n  **x**\n```\nThen\n\n    indented\n";
        assert_eq!(
            words(text),
            [
                "Run:",
                "Code, sh:",
                "  cargo test",
                "  ",
                "    **x**",
                "End of code.",
                "Then",
                "Code:",
                "  indented",
                "End of code."
            ]
        );
    }

    #[test]
    fn a_table_is_its_rows_with_the_names_of_the_columns() {
        let text = "| file | lines |\n|---|--:|\n| **a.rs** | 12 |\n| b.rs | |\n\nEnd | of it\n";
        assert_eq!(
            words(text),
            ["Table: file, lines", "file: a.rs; lines: 12", "file: b.rs", "End | of it"]
        );
    }

    #[test]
    fn lists_and_quotes_keep_their_nesting() {
        let text = "- [x] one\n- two\n  1. three\n\n> four\n\n---\n";
        assert_eq!(words(text), ["- done: one", "- two", "  1. three", "Quote: four"]);
    }

    #[test]
    fn a_line_is_read_once_the_next_one_says_what_it_is() {
        let mut reader = MarkdownWords::default();
        assert_eq!(reader.read("a **b\n"), [""; 0]);
        assert_eq!(reader.read("c** d\n\n"), ["a b", "c d"]);
        assert_eq!(reader.read("| a | b |\n|---|---|\n| 1 | 2 |\n"), [""; 0]);
        assert_eq!(reader.finish(), ["Table: a, b", "a: 1; b: 2"]);
    }
}
