//! Counts a line's substitutions by its text alone: a second reading to compare with the grammar's.

use std::collections::HashSet;
use std::ops::Range;

/// Substitutions in the raw text, outside single quotes, comments and documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Substitutions {
    /// `$(`, `<(` and `>(`.
    pub count: usize,
    /// Where two parentheses open with nothing between them: bash may read arithmetic there,
    /// anywhere. Byte offsets in the line.
    pub doubles: Vec<usize>,
    /// Quoted text, with its quotes, and comments. Byte ranges.
    pub quotations: HashSet<Range<usize>>,
    /// Where a `$` begins an expansion of any kind, also in double quotes. Byte offsets in the line.
    pub dollars: Vec<usize>,
    /// Whether there is arithmetic in the old form `$[…]`.
    pub has_brackets: bool,
    /// Whether a brace closes directly before a redirection, which takes `{name}` for a variable.
    pub has_named_redirect: bool,
    /// Whether there is a backquote, which has parsing rules of its own.
    pub has_backquote: bool,
    /// Whether a line continues in the middle of a word or in double quotes: bash joins both sides,
    /// so a `$` at the end and a `(` at the start of the next line form one sign.
    pub has_joint: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum QuoteContext {
    Parentheses,
    /// Starting at this byte.
    DoubleQuotes(usize),
}

/// Reads the line. `documents` are the here-documents in it, in order: their text is judged separately.
pub fn read(line: &str, documents: &[Range<usize>]) -> Substitutions {
    let bytes = line.as_bytes();
    let mut found = Substitutions::default();
    let mut contexts: Vec<QuoteContext> = Vec::new();
    let mut documents = documents.iter().peekable();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(document) = documents.next_if(|document| document.start <= at) {
            at = at.max(document.end);
            continue;
        }
        let quotes = match contexts.last() {
            Some(QuoteContext::DoubleQuotes(start)) => Some(*start),
            _ => None,
        };
        let quoted = quotes.is_some();
        let next = bytes.get(at + 1).copied();
        let mut length = 1;
        if bytes[at] == b'$' && next.is_some_and(begins_expansion) {
            found.dollars.push(at);
        }
        match bytes[at] {
            b'\\' => {
                let is_between_words = !quoted && at > 0 && matches!(bytes[at - 1], b' ' | b'\t');
                found.has_joint |= next == Some(b'\n') && !is_between_words;
                length = 2;
            }
            b'`' => found.has_backquote = true,
            b'$' if next == Some(b'(') => {
                found.count += 1;
                contexts.push(QuoteContext::Parentheses);
                // The parenthesis itself may be the first of two.
                if bytes.get(at + 2) == Some(&b'(') {
                    found.doubles.push(at + 1);
                }
                length = 2;
            }
            b'$' if next == Some(b'[') => found.has_brackets = true,
            b'$' if next == Some(b'$') => length = 2,
            b'"' => match quotes {
                Some(start) => {
                    contexts.pop();
                    found.quotations.insert(start..at + 1);
                }
                None => contexts.push(QuoteContext::DoubleQuotes(at)),
            },
            _ if quoted => {}
            b'<' | b'>' if next == Some(b'(') => {
                found.count += 1;
                contexts.push(QuoteContext::Parentheses);
                if bytes.get(at + 2) == Some(&b'(') {
                    found.doubles.push(at + 1);
                }
                length = 2;
            }
            b'}' if matches!(next, Some(b'<' | b'>')) => found.has_named_redirect = true,
            b'(' => {
                contexts.push(QuoteContext::Parentheses);
                if next == Some(b'(') {
                    found.doubles.push(at);
                }
            }
            b')' => {
                contexts.pop();
            }
            b'$' if next == Some(b'\'') => {
                length = 1 + single_quotes(&bytes[at + 1..], true);
                found.quotations.insert(at..at + length);
            }
            b'\'' => {
                length = single_quotes(&bytes[at..], false);
                found.quotations.insert(at..at + length);
            }
            b'#' if at == 0 || b" \t\n;&|()".contains(&bytes[at - 1]) => {
                length = bytes[at..].iter().take_while(|byte| **byte != b'\n').count();
                found.quotations.insert(at..at + length);
            }
            _ => {}
        }
        at += length;
    }
    found
}

/// Whether a `$` before this byte begins an expansion. Quotes have their own rules.
fn begins_expansion(next: u8) -> bool {
    next.is_ascii_alphanumeric() || b"_@*#?$!-{([".contains(&next)
}

/// The length of the single-quoted text that begins here, including both quotes.
fn single_quotes(bytes: &[u8], has_escapes: bool) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'\'' {
        at += if has_escapes && bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions_are_counted_by_the_text_alone() {
        for (line, count) in [
            ("a b", 0),
            ("a $(b) <(c) >(d)", 3),
            ("a \"$(b \"$(c)\")\"", 2),
            ("a '$(b)' \\$(b) # $(c)\n$(d)", 1),
            ("a \"'$(b)'\"", 1),
            ("a $'\\'$(b)' $(c)", 1),
            ("a \"<(b)\"", 0),
            ("${x%$(a)}", 1),
            ("$((1))", 1),
            ("a#$(b)", 1),
        ] {
            assert_eq!(read(line, &[]).count, count, "{line}");
        }
        assert!(read("a `b`", &[]).has_backquote && read("\"`b`\"", &[]).has_backquote);
        assert!(!read("'`b`' \\`", &[]).has_backquote);
        for line in ["a $\\\n(b)", "a \"b \\\n c\"", "a\\\n b", "\\\na"] {
            assert!(read(line, &[]).has_joint, "{line}");
        }
        assert!(!read("a \\\n b '\\\n'", &[]).has_joint);
        let two_documents = [7..12, 21..26];
        let line = "a << E\n$(b)\nE\n$(c) << E\n$(d)\nE";
        assert_eq!(read(line, &two_documents).count, 1);
        for (line, doubles) in [
            ("((1)); ! ((x))", vec![0, 9]),
            ("$((1)) <((a) >((b)", vec![1, 8, 14]),
            ("\"$((1)) ((\" '((' \\((a) # ((", vec![2]),
            ("( (a) )", vec![]),
        ] {
            assert_eq!(read(line, &[]).doubles, doubles, "{line}");
        }
        for (line, dollars) in [
            ("$a \"$ ${b}\" '$c' \\$d $'$e' # $f", vec![0, 6]),
            ("$$x$(y)", vec![0, 3]),
            ("a$ $1 \"$\" $- $", vec![3, 10]),
        ] {
            assert_eq!(read(line, &[]).dollars, dollars, "{line}");
        }
        assert!(read("\"$ $[x]\"", &[]).has_brackets && !read("'$[x]'", &[]).has_brackets);
        assert!(read("a {b[x]}>&1", &[]).has_named_redirect);
        assert!(!read("a '{b}>c' {d} >e", &[]).has_named_redirect);
    }
}
