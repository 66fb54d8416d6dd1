//! Shows a change of a file: a unified diff for the user, a numbered passage for the model.

use std::fmt::{self, Write};
use std::path::Path;

use crate::protocol::{LineDiff, MAX_SHOWN_BYTES, ToolDetails};

/// Maximum lines of a diff.
const MAX_LINES: usize = 400;
/// Maximum bytes of a diff.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum lines of the passage for the model.
const PASSAGE_LINES: usize = 16;

/// A unified diff with three lines of context, and the numbers of added and removed lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    pub text: String,
    pub added: usize,
    pub removed: usize,
    /// The first changed line of the new text, from 0.
    first: usize,
}

impl FileDiff {
    /// Compares two states of a file.
    pub fn new(old: &str, new: &str) -> Self {
        let diff = LineDiff::new(old, new);
        let added = diff.changes().map(|op| op.new_range().len()).sum();
        let removed = diff.changes().map(|op| op.old_range().len()).sum();
        let first = diff.changes().next().map_or(0, |op| op.new_range().start);
        let mut text = String::new();
        let (mut lines, mut cut) = (0, false);
        for hunk in diff.hunks() {
            let hunk = hunk.to_string();
            let count = hunk.lines().count();
            if lines + count > MAX_LINES || text.len() + hunk.len() > MAX_BYTES {
                push_lines(&mut text, &hunk, MAX_LINES - lines);
                cut = true;
                break;
            }
            text.push_str(&hunk);
            lines += count;
        }
        if cut {
            text.push_str("… the rest of the diff is left out …\n");
        }
        Self { text, added, removed, first }
    }

    /// Returns the whole difference as text, for the user to decide on. One that is too large to be
    /// shown is cut, and the rest is still too large.
    pub fn whole(old: &str, new: &str) -> String {
        let mut head = CappedText(String::new());
        let diff = LineDiff::new(old, new);
        if diff.hunks().try_for_each(|hunk| write!(head, "{hunk}")).is_err() {
            head.0.push_str("\n… the rest of the diff is left out …\n");
        }
        head.0
    }

    /// Returns a short text for the screen: `+3 −1`.
    pub fn summary(&self) -> String {
        format!("+{} −{}", self.added, self.removed)
    }

    /// Returns the changed lines of `new` with two lines around them, numbered; of a long change, its beginning.
    pub fn passage(&self, new: &str, changed: usize) -> String {
        let from = self.first.saturating_sub(2);
        let wanted = self.first + changed + 2 - from;
        let mut passage = String::new();
        for (number, line) in new.lines().enumerate().skip(from).take(wanted.min(PASSAGE_LINES)) {
            let line: String = line.chars().take(200).collect();
            let _ = writeln!(passage, "{:>6}\t{line}", number + 1);
        }
        if wanted > PASSAGE_LINES {
            passage.push_str("…\n");
        }
        passage
    }

    /// Returns the diff for the screen.
    pub fn details(self, path: &Path) -> ToolDetails {
        let Self { text: diff, added, removed, .. } = self;
        ToolDetails::Diff { path: path.to_path_buf(), diff, added, removed }
    }
}

/// The beginning of a text: fails once it is longer than what can be shown.
struct CappedText(String);

impl fmt::Write for CappedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_SHOWN_BYTES - self.0.len();
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

fn push_lines(text: &mut String, hunk: &str, limit: usize) {
    for line in hunk.split_inclusive('\n').take(limit) {
        if text.len() + line.len() > MAX_BYTES {
            return;
        }
        text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_three_lines_of_context_and_counts() {
        let old: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let diff = FileDiff::new(&old, &old.replace('5', "five\nfive"));
        assert_eq!(diff.text, "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+five\n 6\n 7\n 8\n");
        assert_eq!(diff.summary(), "+2 −1");
        let passage = diff.passage(&old.replace('5', "five\nfive"), 2);
        assert_eq!(
            passage,
            "     3\t3\n     4\t4\n     5\tfive\n     6\tfive\n     7\t6\n     8\t7\n"
        );
    }

    #[test]
    fn a_hunk_names_its_lines_as_patch_reads_them() {
        let text = |old: &str, new: &str| FileDiff::new(old, new).text;
        assert_eq!(text("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(text("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(
            text("a\r\nb", "a\r\nc"),
            "@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(text("a\n", "a\n"), "");
    }

    #[test]
    fn a_diff_to_decide_about_is_whole_or_too_large_to_be_shown() {
        let lines = |count: usize| "äöü\n".repeat(count);
        let whole = FileDiff::whole("", &lines(100_000));
        assert_eq!(whole.lines().count(), 100_001, "with the line that says where");
        for new in [lines(1_000_000), "ä".repeat(5_000_000)] {
            let length = FileDiff::whole("", &new).len();
            assert!(length > MAX_SHOWN_BYTES && length < MAX_SHOWN_BYTES + 100, "{length}");
        }
    }

    #[test]
    fn a_long_diff_is_cut_but_counted_whole() {
        let new: String = (0..5000).map(|n| format!("{n}\n")).collect();
        let diff = FileDiff::new("", &new);
        assert_eq!(diff.added, 5000);
        assert_eq!(diff.text.lines().count(), MAX_LINES + 1);
        assert!(diff.text.ends_with("left out …\n"));
        assert!(FileDiff::new("", &"x".repeat(1_000_000)).text.len() < MAX_BYTES + 100);
    }
}
