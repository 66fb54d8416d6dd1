//! A source file as the checks see it: without comments, texts and unit tests.

use std::path::{Path, PathBuf};

/// One file under `src/`.
#[derive(Debug)]
pub struct Source {
    /// Relative to `src/`, with slashes.
    pub path: String,
    pub text: String,
    /// The code alone: comments, texts and `#[cfg(test)]` items are blanked out, lines stay lines.
    pub code: String,
}

/// All files under `src/`, without those that are compiled for unit tests alone.
pub fn all() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let read = |file: &PathBuf| {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        Source::new(&path, &std::fs::read_to_string(file).unwrap())
    };
    let all: Vec<Source> = files.iter().map(read).collect();
    let test_files: Vec<String> = all.iter().filter_map(Source::test_file).collect();
    all.into_iter().filter(|source| !test_files.contains(&source.path)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let code = without_tests(&without_comments(text));
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    /// The module at the top: `agent` for `agent/turn.rs`, `app` for `app.rs`.
    pub fn top(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }

    /// The file that holds this module's unit tests, where they are not at its end.
    fn test_file(&self) -> Option<String> {
        let apart = self.text.contains("#[cfg(test)]\nmod tests;");
        let module = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        apart.then(|| format!("{module}/tests.rs"))
    }

    /// The lines of code that have this word, as `path:line: code`.
    pub fn lines_with(&self, word: &str) -> Vec<String> {
        let lines = self.code.lines().enumerate().filter(|(_, line)| has_word(line, word));
        lines.map(|(at, line)| format!("{}:{}: {}", self.path, at + 1, line.trim())).collect()
    }

    /// Lines without the unit tests at the end.
    pub fn line_count(&self) -> usize {
        let tests = self.text.lines().position(|line| line.trim() == "#[cfg(test)]");
        tests.unwrap_or_else(|| self.text.lines().count())
    }
}

/// Whether the word stands in the line on its own, not as part of a longer name.
pub fn has_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

/// Blanks out comments and the inside of texts.
fn without_comments(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => find(&chars, at, |rest| rest[0] == '\n').unwrap_or(chars.len()),
            ('/', Some('*')) => find(&chars, at + 2, |rest| rest.starts_with(&['*', '/']))
                .map_or(chars.len(), |e| e + 2),
            ('r', Some('"' | '#')) if !after_name(&chars, at) => raw_end(&chars, at),
            ('"', _) => quoted_end(&chars, at + 1, '"'),
            ('\'', Some('\\')) => quoted_end(&chars, at + 1, '\''),
            ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => at + 3,
            _ => at,
        };
        if end <= at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

fn after_name(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

fn find(chars: &[char], from: usize, is: impl Fn(&[char]) -> bool) -> Option<usize> {
    (from..chars.len()).find(|at| is(&chars[*at..]))
}

/// Behind the closing quote.
fn quoted_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// Behind a raw text, or `at` when none begins there (`r#name`).
fn raw_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    if chars.get(at + 1 + hashes) != Some(&'"') {
        return at;
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let end = find(chars, at + 2 + hashes, |rest| rest.starts_with(&close));
    end.map_or(chars.len(), |end| end + close.len())
}

/// Blanks out each item behind `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.to_owned();
    while let Some(start) = out.find(MARK) {
        let end = start + MARK.len() + item_length(&out[start + MARK.len()..]);
        let blank: String =
            out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    out
}

/// Up to the item's closing brace, or its semicolon.
fn item_length(code: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_tests_are_not_code() {
        let text = "//! ratatui\nlet a = \"ratatui \\\" x\"; /* ratatui */ let b = 'r';\n\
            let c = r#\"ratatui\"#; fn f<'a>(x: &'a str) {}\n\
            #[cfg(test)]\nmod tests { fn g() { ratatui(); } }\nlet d = reqwest;";
        let source = Source::new("agent/turn.rs", text);
        assert!(!source.code.contains("ratatui"), "{}", source.code);
        assert!(source.code.contains("&'a str"));
        assert_eq!(source.lines_with("reqwest"), ["agent/turn.rs:6: let d = reqwest;"]);
        assert_eq!(source.line_count(), 3);
        assert_eq!(source.top(), "agent");
    }

    #[test]
    fn a_file_of_unit_tests_is_known_by_its_declaration() {
        let with =
            |path: &str| Source::new(path, "//! doc\n#[cfg(test)]\nmod tests;\n").test_file();
        assert_eq!(with("exec/pump.rs").as_deref(), Some("exec/pump/tests.rs"));
        assert_eq!(with("exec/mod.rs").as_deref(), Some("exec/tests.rs"));
        assert_eq!(Source::new("exec/pump.rs", "mod tests;").test_file(), None);
    }

    #[test]
    fn a_word_is_not_part_of_a_longer_one() {
        assert!(has_word("use crate::subagent;", "subagent"));
        assert!(!has_word("let my_subagent = 1;", "subagent"));
        assert!(!has_word("eprintln!()", "println!"));
    }
}
