//! Parses git's settings files as git does: quotes, comments and joined lines determine a value.

use std::iter::Peekable;
use std::str::Chars;

use crate::protocol::Secret;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSetting {
    /// The text between the brackets, in lower case.
    pub section: String,
    /// In lower case.
    pub key: String,
    /// May be or hold a password.
    pub value: Secret<String>,
}

/// Returns the settings in order. One without a value is true, as for git. A line that git would reject is skipped.
pub fn parse(text: &str) -> Vec<GitSetting> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    let mut section = String::new();
    let mut settings = Vec::new();
    while let Some(&c) = rest.peek() {
        if c.is_whitespace() {
            rest.next();
        } else if c == '[' {
            section = header(&mut rest);
        } else {
            let key = key(&mut rest);
            let has_value = !key.is_empty() && rest.next_if_eq(&'=').is_some();
            let value = if has_value {
                value(&mut rest)
            } else {
                skip_line(&mut rest);
                "true".to_owned()
            };
            if !key.is_empty() {
                settings.push(GitSetting { section: section.clone(), key, value: value.into() });
            }
        }
    }
    settings
}

/// Whether git finds the same values in the text as [`parse`]: the only blanks are git's, and nothing ends a value.
pub fn is_plain(text: &str) -> bool {
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let is_mark = |c: char| c == '\u{feff}';
    text.chars().all(|c| is_blank(c) || is_mark(c) || !c.is_whitespace() && !c.is_control())
}

/// Reads the text between the brackets. A bracket in a quoted subsection does not end it.
fn header(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut name = String::new();
    let mut quoted = false;
    rest.next();
    while let Some(c) = rest.next_if(|&c| c != '\n') {
        match c {
            ']' if !quoted => break,
            '"' => quoted = !quoted,
            '\\' if quoted => name.extend(rest.next_if(|&c| c != '\n')),
            _ => name.push(c),
        }
    }
    name.to_lowercase()
}

fn key(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut key = String::new();
    while let Some(c) = rest.next_if(|&c| c.is_ascii_alphanumeric() || c == '-') {
        key.push(c.to_ascii_lowercase());
    }
    while rest.next_if(|&c| c != '\n' && c.is_whitespace()).is_some() {}
    key
}

/// Reads the value to the end of its line, or of the last joined line.
fn value(rest: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut blanks) = (String::new(), String::new());
    let mut quoted = false;
    while let Some(c) = rest.next_if(|&c| c != '\n') {
        if c.is_whitespace() && !quoted {
            blanks.push(c);
            continue;
        }
        if matches!(c, '#' | ';') && !quoted {
            skip_line(rest);
            break;
        }
        // Blanks around the value do not belong to it.
        let between = std::mem::take(&mut blanks);
        if !value.is_empty() {
            value.push_str(&between);
        }
        match c {
            '"' => quoted = !quoted,
            '\\' => match rest.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some('\n') | None => {}
                Some(other) => value.push(other),
            },
            _ => value.push(c),
        }
    }
    value
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|&c| c != '\n').is_some() {}
}
