//! Where quotations, escapes and expansions end.

/// The position after the quotation, escape, expansion or single character that begins here.
pub fn after(text: &[char], at: usize) -> usize {
    let end = match (text[at], text.get(at + 1)) {
        ('\\', _) => at + 2,
        ('\'', _) => find(text, at + 1, '\'') + 1,
        ('"', _) => double_end(text, at + 1) + 1,
        ('`', _) => find(text, at + 1, '`') + 1,
        ('$', Some('\'')) => ansi_end(text, at + 2) + 1,
        ('$', Some('{')) => closing(text, at + 1, '{', '}'),
        ('$' | '<' | '>', Some('(')) => closing(text, at + 1, '(', ')'),
        ('$', Some(c)) if c.is_ascii_alphabetic() || *c == '_' => {
            let rest = text[at + 1..].iter();
            at + 1 + rest.take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count()
        }
        ('$', Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9')) => at + 2,
        _ => at + 1,
    };
    end.min(text.len())
}

/// The next place of the mark, or the end of the text.
pub fn find(text: &[char], from: usize, mark: char) -> usize {
    text.iter().skip(from).position(|c| *c == mark).map_or(text.len(), |place| from + place)
}

/// The position of the double quote that ends a quotation. Recurses as deep as expansions and
/// quotes nest, which [`MAX_WORD`](super::braces::MAX_WORD) bounds.
pub fn double_end(text: &[char], mut at: usize) -> usize {
    while at < text.len() && text[at] != '"' {
        at = match (text[at], text.get(at + 1)) {
            ('\\', _) => at + 2,
            ('$', Some('(')) => closing(text, at + 1, '(', ')'),
            ('$', Some('{')) => closing(text, at + 1, '{', '}'),
            ('`', _) => find(text, at + 1, '`') + 1,
            _ => at + 1,
        };
    }
    at.min(text.len())
}

/// The position of the quote that ends a `$'…'` quotation.
pub fn ansi_end(text: &[char], mut at: usize) -> usize {
    while at < text.len() && text[at] != '\'' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at.min(text.len())
}

/// The position after the bracket that closes the one at `from`.
pub fn closing(text: &[char], from: usize, open: char, close: char) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < text.len() {
        depth += usize::from(text[at] == open);
        depth -= usize::from(text[at] == close);
        if depth == 0 {
            return at + 1;
        }
        // Not with `after`: that would recurse as deep as the text nests.
        at = match text[at] {
            '\\' => at + 2,
            '\'' => find(text, at + 1, '\'') + 1,
            '"' => double_end(text, at + 1) + 1,
            _ => at + 1,
        };
    }
    text.len()
}
