//! Here-documents: compares where the grammar ends one with bash's own rule, and checks the text of
//! one with an unquoted delimiter separately, because the grammar misses much of what bash runs in
//! it.

use std::ops::Range;

use tree_sitter::Node;

use super::expansion::is_plain_document;

/// The range of the document's text with its closing line, if both readings end it there and
/// nothing in it runs: a plain delimiter, nothing else of a command on the opening line, and the
/// first line that is exactly the delimiter closes it.
pub fn document(node: Node<'_>, line: &str) -> Option<Range<usize>> {
    let mut start = None;
    let mut end = None;
    for child in super::children(node) {
        match child.kind() {
            "<<" | "heredoc_body" | "heredoc_content" => {}
            "heredoc_start" => start = Some(child),
            "heredoc_end" => end = Some(child),
            _ => return None,
        }
    }
    let (start, end): (Node<'_>, Node<'_>) = (start?, end?);
    let written = line.get(start.byte_range()).unwrap_or_default();
    let delimiter = match written.as_bytes() {
        [b'\'', .., b'\''] | [b'"', .., b'"'] if written.len() > 2 => {
            &written[1..written.len() - 1]
        }
        _ => written,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if delimiter.is_empty() || !delimiter.chars().all(plain) {
        return None;
    }
    let after = line.get(start.end_byte()..).unwrap_or_default();
    let opening = after.find('\n')?;
    if !after[..opening].trim_matches([' ', '\t']).is_empty() {
        return None;
    }
    let is_quoted = written != delimiter;
    let first = start.end_byte() + opening + 1;
    let mut place = first;
    for text in line.get(first..).unwrap_or_default().split('\n') {
        if text == delimiter {
            let closes = place == end.start_byte() && end.end_byte() == place + delimiter.len();
            let runs_nothing = is_quoted || is_plain_document(&line[first..place]);
            return (closes && runs_nothing).then_some(first..end.end_byte());
        }
        // A quoted delimiter leaves lines unchanged; otherwise a backslash joins two of them.
        if !is_quoted && text.ends_with('\\') {
            return None;
        }
        place += text.len() + 1;
    }
    None
}
