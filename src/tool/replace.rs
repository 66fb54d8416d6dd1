//! Replaces a passage in a text, whatever the line ends.

use std::path::Path;

/// A changed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub text: String,
    /// Number of replacements.
    pub places: usize,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceError {
    /// The passage does not occur. `near`: the line where it occurs except for white space.
    NotFound { near: Option<usize> },
    /// It occurs more than once, on these lines.
    Many { lines: Vec<usize> },
}

impl ReplaceError {
    /// Returns what happened and what to do about it.
    pub fn message(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::NotFound { near: Some(line) } => format!(
                "old_string is not in {path}, but the passage at line {line} differs only in white space. Copy it exactly."
            ),
            Self::NotFound { near: None } => format!(
                "old_string is not in {path}. Read the file again and copy the passage exactly."
            ),
            Self::Many { lines } => {
                let places: Vec<String> = lines.iter().take(5).map(usize::to_string).collect();
                let more = if lines.len() > 5 { ", …" } else { "" };
                format!(
                    "old_string is in {path} {} times (lines {}{more}). Include more surrounding lines, or set replace_all.",
                    lines.len(),
                    places.join(", ")
                )
            }
        }
    }
}

/// Replaces `old` by `new`: once, or everywhere with `all`. Line feeds in both match the line ends of the file.
pub fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Replacement, ReplaceError> {
    let crlf = 2 * text.matches("\r\n").count() > text.matches('\n').count();
    // A literal match wins; only then the file's own line ends are tried.
    let literal = text.contains(old);
    let old = if literal { old.to_owned() } else { with_crlf(old) };
    let as_crlf = !literal || crlf && (!old.contains('\n') || old.contains("\r\n"));
    let new = if as_crlf { with_crlf(new) } else { new.to_owned() };
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => Err(ReplaceError::NotFound { near: find_near(text, &old) }),
        [_, _, ..] if !all => Err(ReplaceError::Many { lines: line_numbers(text, &places) }),
        _ => Ok(Replacement { text: text.replace(&old, &new), places: places.len() }),
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns the line of each position, in one pass; positions are in order.
fn line_numbers(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let count = |&place: &usize| {
        line += text[from..place].matches('\n').count();
        from = place;
        line
    };
    places.iter().map(count).collect()
}

/// Returns the first line where `old` occurs, ignoring white space at both ends of each line.
fn find_near(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).take(50).collect();
    if wanted.first().is_none_or(|line| line.is_empty()) {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.windows(wanted.len()).position(|window| window == wanted).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(result: Result<Replacement, ReplaceError>) -> String {
        result.unwrap().text
    }

    #[test]
    fn one_exact_passage_is_replaced() {
        assert_eq!(text(replace("a b c", "b", "x", false)), "a x c");
        assert_eq!(text(replace("a\nb\n", "a\nb", "c", false)), "c\n");
        assert_eq!(text(replace("aa", "a", "b", true)), "bb");
    }

    #[test]
    fn line_feeds_match_the_files_own_line_ends() {
        let file = "one\r\ntwo\r\nthree\r\n";
        assert_eq!(text(replace(file, "one\ntwo", "1\n2", false)), "1\r\n2\r\nthree\r\n");
        assert_eq!(text(replace(file, "two", "2\n2", false)), "one\r\n2\r\n2\r\nthree\r\n");
        assert_eq!(text(replace(file, "one\r\ntwo", "x\ny", false)), "x\r\ny\r\nthree\r\n");
        assert_eq!(text(replace("a\nb\nc\r\n", "a\nb", "x\ny", false)), "x\ny\nc\r\n");
    }

    #[test]
    fn a_miss_says_what_to_do() {
        let path = Path::new("f");
        let message = |old| replace("  a\n  b\nb\n", old, "x", false).unwrap_err().message(path);
        assert_eq!(
            message("a\nb"),
            "old_string is not in f, but the passage at line 1 differs only in white space. Copy it exactly."
        );
        assert_eq!(
            message("zzz"),
            "old_string is not in f. Read the file again and copy the passage exactly."
        );
        assert_eq!(
            message("b"),
            "old_string is in f 2 times (lines 2, 3). Include more surrounding lines, or set replace_all."
        );
    }
}
