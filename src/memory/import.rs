//! Finds the `@path` imports of a memory file.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Extensions that mark an import as a file even if it does not exist: other words may mention people or packages.
const TEXT_EXTENSIONS: [&str; 9] =
    [".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".toml", ".json", ".yaml"];

/// One import as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Counted from 1.
    pub line: usize,
    pub path: String,
}

impl Import {
    /// Whether it certainly means a file.
    pub fn is_file_path(&self) -> bool {
        let starts = ["./", "../", "~/", "/"].iter().any(|start| self.path.starts_with(start));
        starts || TEXT_EXTENSIONS.iter().any(|end| self.path.to_lowercase().ends_with(end))
    }
}

/// Returns the imports of a text, in order: words that begin with `@`, except in code, links and HTML.
pub(super) fn find(text: &str) -> Vec<Import> {
    let mut spared = ignored_ranges(text).into_iter().peekable();
    let (mut before, mut line, mut spared_to) = ('\n', 1, 0);
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        // They are sorted by their start.
        while let Some(range) = spared.next_if(|range| range.start <= at) {
            spared_to = spared_to.max(range.end);
        }
        let begins = letter == '@' && before.is_whitespace();
        before = letter;
        line += usize::from(letter == '\n');
        if !begins || at < spared_to {
            continue;
        }
        let path = parse_path(&text[at + 1..]);
        if !path.is_empty() {
            found.push(Import { line, path });
        }
    }
    found
}

/// Whether a text consists only of imports.
pub(super) fn is_only_imports(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.all(|word| word.starts_with('@')) && !find(text).is_empty()
}

/// Returns the ranges in which `@` has no meaning.
fn ignored_ranges(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, Options::empty()).into_offset_iter();
    let spared = events.filter(|(event, _)| {
        matches!(
            event,
            Event::Code(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Start(Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. })
        )
    });
    spared.map(|(_, range)| range).collect()
}

/// Returns the first word of a text: a space after a backslash belongs to it, punctuation at its end does not.
fn parse_path(text: &str) -> String {
    let mut path = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => path.extend(letters.next()),
            blank if blank.is_whitespace() => break,
            other => path.push(other),
        }
    }
    let end =
        |c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '"' | '\'' | '*');
    path.trim_end_matches(end).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        find(text).into_iter().map(|import| import.path).collect()
    }

    #[test]
    fn only_words_outside_of_code_links_and_html_import() {
        let text = "See @README and @docs/a_b_c.md, @~/notes/my\\ own.md.\nmail me@example.org `@code.md`\n\n\
                    ```\n@block.md\n```\n\n    @indented.md\n\n<!-- @comment.md -->\n\n[x](@link.md) @ alone\n- @last.md\n";
        assert_eq!(paths(text), ["README", "docs/a_b_c.md", "~/notes/my own.md", "last.md"]);
        let lines: Vec<usize> = find(text).iter().map(|import| import.line).collect();
        assert_eq!(lines, [1, 1, 1, 13]);
    }

    #[test]
    fn people_and_packages_are_no_files() {
        let files: Vec<bool> = find("@alice @types/node @./x @gone.md @~/y @A.TXT")
            .iter()
            .map(Import::is_file_path)
            .collect();
        assert_eq!(files, [false, false, true, true, true, true]);
    }

    #[test]
    fn a_text_of_imports_alone_says_nothing_itself() {
        let all: Vec<bool> = ["@AGENTS.md\n", "\n@a.md @b.md\n", "see @a.md", "", "`@a.md`"]
            .iter()
            .map(|text| is_only_imports(text))
            .collect();
        assert_eq!(all, [true, true, false, false, false]);
    }
}
