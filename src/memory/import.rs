//! `@path` in a memory file: which files it imports.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Ends of names that are meant as a file even where there is none: others may be mentions of
/// people or packages.
const TEXTS: [&str; 9] =
    [".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".toml", ".json", ".yaml"];

/// One import as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Counted from 1.
    pub line: usize,
    pub path: String,
}

impl Import {
    /// Whether it surely means a file.
    pub fn means_a_file(&self) -> bool {
        let starts = ["./", "../", "~/", "/"].iter().any(|start| self.path.starts_with(start));
        starts || TEXTS.iter().any(|end| self.path.to_lowercase().ends_with(end))
    }
}

/// The imports of a text, in order: words that begin with `@`, but for those in code, in links and in HTML.
pub(super) fn find(text: &str) -> Vec<Import> {
    let mut spared = spared(text).into_iter().peekable();
    let (mut before, mut line, mut spared_to) = ('\n', 1, 0);
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        // They come in the order in which they begin.
        while let Some(range) = spared.next_if(|range| range.start <= at) {
            spared_to = spared_to.max(range.end);
        }
        let begins = letter == '@' && before.is_whitespace();
        before = letter;
        line += usize::from(letter == '\n');
        if !begins || at < spared_to {
            continue;
        }
        let path = path(&text[at + 1..]);
        if !path.is_empty() {
            found.push(Import { line, path });
        }
    }
    found
}

/// Whether a text says nothing but what it imports.
pub(super) fn is_all(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.all(|word| word.starts_with('@')) && !find(text).is_empty()
}

/// The places where an `@` means nothing.
fn spared(text: &str) -> Vec<Range<usize>> {
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

/// The word that a text begins with: a blank behind a backslash belongs to it, what ends a sentence does not.
fn path(text: &str) -> String {
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
            .map(Import::means_a_file)
            .collect();
        assert_eq!(files, [false, false, true, true, true, true]);
    }

    #[test]
    fn a_text_of_imports_alone_says_nothing_itself() {
        let all: Vec<bool> = ["@AGENTS.md\n", "\n@a.md @b.md\n", "see @a.md", "", "`@a.md`"]
            .iter()
            .map(|text| is_all(text))
            .collect();
        assert_eq!(all, [true, true, false, false, false]);
    }
}
