//! Inline documents: the grammar's idea of where one ends is checked against the rule that bash follows.

use tree_sitter::Node;

/// Whether the document is one that both readings end at the same line: a plain delimiter, nothing else of a command
/// on the opening line, and the first line that is exactly the delimiter closes it.
pub fn is_plain(node: Node<'_>, line: &str) -> bool {
    let mut start = None;
    let mut end = None;
    for child in super::children(node) {
        match child.kind() {
            "<<" | "heredoc_body" | "heredoc_content" => {}
            "heredoc_start" => start = Some(child),
            "heredoc_end" => end = Some(child),
            _ => return false,
        }
    }
    let (Some(start), Some(end)) = (start, end) else { return false };
    let written = line.get(start.byte_range()).unwrap_or_default();
    let delimiter = match written.as_bytes() {
        [b'\'', .., b'\''] | [b'"', .., b'"'] if written.len() > 2 => {
            &written[1..written.len() - 1]
        }
        _ => written,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if delimiter.is_empty() || !delimiter.chars().all(plain) {
        return false;
    }
    let after = line.get(start.end_byte()..).unwrap_or_default();
    let Some(opening) = after.find('\n') else { return false };
    if !after[..opening].trim_matches([' ', '\t']).is_empty() {
        return false;
    }
    let mut place = start.end_byte() + opening + 1;
    for text in line.get(place..).unwrap_or_default().split('\n') {
        if text == delimiter {
            return place == end.start_byte() && end.end_byte() == place + delimiter.len();
        }
        // A quoted delimiter takes lines as they are; else a backslash joins two of them.
        if written == delimiter && text.ends_with('\\') {
            return false;
        }
        place += text.len() + 1;
    }
    false
}
