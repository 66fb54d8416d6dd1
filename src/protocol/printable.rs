//! Text that others wrote, made safe for a terminal.

/// Text of files and models made safe to print: control characters and changes of the writing direction are shown.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if hidden || (c.is_control() && !matches!(c, '\n' | '\t')) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
