//! Recognizes blocks by the start of a line. Lines are sanitised, so they contain no tabs.

/// Number of leading spaces.
pub(super) fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// The line without its first `columns` spaces, if it has them.
pub(super) fn unindent(line: &str, columns: usize) -> Option<&str> {
    (indent(line) >= columns).then(|| &line[columns..])
}

/// The line without an indent of up to three spaces; more would be code.
fn flush_left(line: &str) -> Option<&str> {
    let columns = indent(line);
    (columns < 4).then(|| &line[columns..])
}

/// The rest of the line after a quote mark.
pub(super) fn quote(line: &str) -> Option<&str> {
    let rest = flush_left(line)?.strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// The start of a list item.
#[derive(Debug, PartialEq)]
pub(super) struct ListItem<'a> {
    /// Columns from the start of the line to the content.
    pub(super) indent: usize,
    pub(super) number: Option<u64>,
    /// Items with different delimiters belong to different lists.
    pub(super) delimiter: u8,
    /// Whether the task's box is ticked, if it has one.
    pub(super) task: Option<bool>,
    pub(super) rest: &'a str,
}

impl ListItem<'_> {
    /// Whether it may follow a paragraph directly: only if it is clearly meant as an item.
    pub(super) fn may_interrupt(&self) -> bool {
        !self.rest.trim().is_empty() && self.number.is_none_or(|number| number == 1)
    }
}

/// The list item that the line starts.
pub(super) fn item(line: &str) -> Option<ListItem<'_>> {
    let text = flush_left(line)?;
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let delimiter = *text.as_bytes().get(digits)?;
    let number = match (digits, delimiter) {
        (0, b'-' | b'+' | b'*') => None,
        (1..=9, b'.' | b')') => Some(text[..digits].parse().ok()?),
        _ => return None,
    };
    let rest = &text[digits + 1..];
    let spaces = indent(rest);
    let blank = spaces == rest.len();
    if spaces == 0 && !blank {
        return None;
    }
    let gap = if blank || spaces > 4 { 1 } else { spaces };
    let rest = rest.get(gap..).unwrap_or("");
    let (task, rest) = task(rest);
    let indent = indent(line) + digits + 1 + gap;
    Some(ListItem { indent, number, delimiter, task, rest })
}

fn task(rest: &str) -> (Option<bool>, &str) {
    let boxes = [("[ ] ", false), ("[x] ", true), ("[X] ", true)];
    for (sign, done) in boxes {
        if let Some(rest) = rest.strip_prefix(sign) {
            return (Some(done), rest);
        }
    }
    (None, rest)
}

/// The level and the text of a heading such as `## Text ##`. Takes a line without indent.
pub(super) fn heading(text: &str) -> Option<(usize, &str)> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    let title = if bare.is_empty() || bare.ends_with(' ') { bare.trim_end() } else { title };
    Some((level, title))
}

/// The heading level that this line, as an underline, gives to the paragraph before it.
pub(super) fn underline(line: &str) -> Option<usize> {
    let text = flush_left(line)?.trim_end();
    match text.bytes().next()? {
        b'=' if text.bytes().all(|byte| byte == b'=') => Some(1),
        b'-' if text.bytes().all(|byte| byte == b'-') => Some(2),
        _ => None,
    }
}

/// Whether the line is a thematic break.
pub(super) fn is_rule(line: &str) -> bool {
    let Some(text) = flush_left(line) else { return false };
    let Some(sign @ (b'-' | b'*' | b'_')) = text.bytes().next() else { return false };
    text.bytes().all(|byte| byte == sign || byte == b' ')
        && text.bytes().filter(|byte| *byte == sign).count() >= 3
}

/// Whether the line starts a block other than a paragraph.
pub(super) fn starts_block(line: &str) -> bool {
    let Some(text) = flush_left(line) else { return false };
    quote(line).is_some()
        || item(line).is_some()
        || heading(text).is_some()
        || is_rule(line)
        || Fence::open(line).is_some()
}

/// The opening line of a code block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fence {
    sign: u8,
    length: usize,
    indent: usize,
    info: String,
}

impl Fence {
    pub(super) fn open(line: &str) -> Option<Self> {
        let text = flush_left(line)?;
        let sign = text.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = text.bytes().take_while(|byte| *byte == sign).count();
        let info = text[length..].trim();
        if length < 3 || (sign == b'`' && info.contains('`')) {
            return None;
        }
        Some(Self { sign, length, indent: indent(line), info: info.to_owned() })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let Some(text) = flush_left(line) else { return false };
        let text = text.trim_end();
        text.len() >= self.length && text.bytes().all(|byte| byte == self.sign)
    }

    /// A line of code, without the indent of the fence.
    pub(super) fn content<'a>(&self, line: &'a str) -> &'a str {
        &line[indent(line).min(self.indent)..]
    }

    /// The language that the fence names.
    pub(super) fn language(&self) -> Option<&str> {
        let word = self.info.split([' ', ',', '{', ':']).find(|word| !word.is_empty())?;
        Some(word.trim_matches(['.', '}']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_tell_their_indent_number_and_box() {
        let bullet = item("  - [x] done").unwrap();
        assert_eq!((bullet.indent, bullet.number, bullet.task), (4, None, Some(true)));
        let number = item("12) twelve").unwrap();
        assert_eq!((number.indent, number.number, number.rest), (4, Some(12), "twelve"));
        assert_eq!(item("-").unwrap().rest, "");
        for text in ["-x", "1.x", "1234567890. x", "    - code", "--", ""] {
            assert_eq!(item(text), None, "{text}");
        }
    }

    #[test]
    fn headings_drop_their_signs() {
        assert_eq!(heading("## a b ##"), Some((2, "a b")));
        assert_eq!(heading("# c#"), Some((1, "c#")));
        assert_eq!(heading("#"), Some((1, "")));
        assert_eq!(heading("#x"), None);
        assert_eq!(heading("####### x"), None);
    }

    #[test]
    fn rules_and_underlines() {
        assert!(is_rule("* * *") && is_rule("---") && !is_rule("--") && !is_rule("--- a"));
        assert_eq!(underline("==="), Some(1));
        assert_eq!(underline("--"), Some(2));
        assert_eq!(underline("- -"), None);
    }

    #[test]
    fn fences_name_their_language_and_know_their_end() {
        let fence = Fence::open("  ````rust,ignore").unwrap();
        assert_eq!(fence.language(), Some("rust"));
        assert!(fence.is_closed_by("`````") && !fence.is_closed_by("```"));
        assert_eq!(fence.content("    x"), "  x");
        assert_eq!(fence.content(" x"), "x");
        assert_eq!(Fence::open("``` a`b"), None);
        assert_eq!(Fence::open("~~~").unwrap().language(), None);
    }
}
