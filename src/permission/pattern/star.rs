//! A word with a `*` in an allow rule, and the words that it covers.

use std::collections::BTreeSet;

/// The most bytes of a word that the pattern covers.
const MAX_BYTES: usize = 1024;

/// Marks that may stand between the names of a word, as in `--file=a` and `HEAD:a`.
const MARKS: &str = "=@:,+%~^#";

/// The forms of a word with a `*`. One of another form covers nothing but itself.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A path: names and slashes.
    Path,
    /// An address of the web whose host the pattern ends, such as `https://example.org/*`.
    Address,
    /// Names and marks without a slash, such as `--grep=*`.
    Name,
}

impl Form {
    fn of(pattern: &str) -> Option<Self> {
        let consists_of = |text: &str, others: &str| {
            text.chars().all(|c| is_part(c) || c == '*' || others.contains(c))
        };
        if let Some(rest) = address(pattern) {
            let (host, path) = rest.split_once('/')?;
            let is_fixed = !host.is_empty() && !host.ends_with('*');
            return (is_fixed && consists_of(host, ":") && consists_of(path, URL_TEXT))
                .then_some(Self::Address);
        }
        if consists_of(pattern, "/") && !pattern.starts_with('-') {
            return Some(Self::Path);
        }
        consists_of(pattern, MARKS).then_some(Self::Name)
    }

    /// Whether the text may stand for a `*` at the end of the word.
    fn ends_with(self, text: &str) -> bool {
        match self {
            Self::Name => text.chars().all(is_part),
            Self::Path => text.chars().all(|c| is_part(c) || c == '/'),
            // The host alone reads what comes after the `?`, unless a shell gets it first.
            Self::Address => {
                let (path, query) = text.split_once('?').unwrap_or((text, ""));
                path.chars().all(|c| is_part(c) || URL_PATH.contains(c))
                    && query.chars().all(|c| is_part(c) || URL_PATH.contains(c) || c == '%')
            }
        }
    }
}

/// Characters of the path of an address besides those of a name. A `%` could write a dot or a slash.
const URL_PATH: &str = "/=+,:@~";

/// Characters that an address in a pattern may have behind its host.
const URL_TEXT: &str = "/=+,:@~?%&";

/// Whether the character is part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// The part of a web address after its scheme.
fn address(word: &str) -> Option<&str> {
    word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"))
}

/// Whether the text is that of the pattern, with a part of a name for each `*`: at the end of a path several
/// names, and at the end of an address any path and query. What stands for a `*` makes no option of the
/// word, and leads neither to another folder nor up from one.
pub fn covers(pattern: &str, text: &str) -> bool {
    let makes_option = pattern.starts_with('*') && text.starts_with('-');
    let leads_up = match pattern.contains("..") {
        true => text.split('/').any(|part| part == ".."),
        false => text.split('?').next().is_some_and(|path| path.contains("..")),
    };
    let form = Form::of(pattern).filter(|_| !makes_option && !leads_up);
    form.is_some_and(|form| fits(form, pattern, text))
}

fn fits(form: Form, pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    // A path that begins with a `*` would be any, below the root too.
    let may_end_open = form != Form::Path || !first.is_empty();
    let Some(rest) = text.strip_prefix(first).filter(|rest| rest.len() <= MAX_BYTES) else {
        return false;
    };
    // Where the pattern may have come to. Bytes in `rest`.
    let mut ends = vec![0];
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if may_end_open && piece.is_empty() && pieces.peek().is_none() {
            return ends.iter().any(|end| form.ends_with(&rest[*end..]));
        }
        let mut reached = BTreeSet::new();
        for end in ends {
            let part = rest[end..].find(|c| !is_part(c)).map_or(rest.len(), |length| end + length);
            let starts = (end..=part).filter(|start| rest.is_char_boundary(*start));
            let fitting = starts.filter(|start| rest[*start..].starts_with(piece));
            reached.extend(fitting.map(|start| start + piece.len()));
        }
        ends = reached.into_iter().collect();
    }
    ends.contains(&rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_a_part_of_a_name_and_more_at_the_end_of_a_path_or_address() {
        for (pattern, text, expected) in [
            ("build/*", "build/a/b", true),
            ("build/*", "build/", true),
            ("build/*", "build/..", false),
            ("/p/build/*", "/p/build/a/b", true),
            ("*.txt", "a.b.txt", true),
            ("*.txt", "a/b.txt", false),
            ("*.txt", "-a.txt", false),
            ("*/x*", "a/xy", true),
            ("*/x*", "a/x/y", false),
            ("a*b*c", "axbybzc", true),
            ("a*b*c", "ab", false),
            ("a*b*", "axb/c", true),
            ("a*b*", "axb?", false),
            ("-C*", "-Ca", true),
            ("-C*", "-C/a", false),
            ("-C*", "-C..", false),
            ("main..*", "main..topic", true),
            ("main..*", "main..topic/x", true),
            ("--output=*", "--output=a.txt", true),
            ("--output=*", "--output=/home/me/f", false),
            ("--output=out/*", "--output=out/a", false),
            ("of=out/*", "of=out/a", false),
            ("of=*", "of=a", true),
            ("test*", "test-unit", true),
            ("test*", "test=$(shell f)", false),
            ("[a*", "[ab", false),
            ("*", "/etc/passwd", false),
            ("é*é", "éüé", true),
        ] {
            assert_eq!(covers(pattern, text), expected, "{pattern} ~ {text}");
        }
    }

    #[test]
    fn a_star_of_an_address_stays_on_its_host_and_below_its_folder() {
        for (pattern, text, expected) in [
            ("https://example.org/*", "https://example.org/x?y=z%20a..b", true),
            ("https://example.org/*", "https://example.org/x/y/", true),
            ("https://example.org/x?y=*", "https://example.org/x?y=z", true),
            ("https://example.org/*", "https://example.org/$(x)", false),
            ("https://example.org/*", "https://example.org/?$(x)", false),
            ("https://example.org/*", "https://example.org/;x", false),
            ("URL=https://example.org/*", "URL=https://example.org/x", false),
            ("https://example.org/x/*", "https://example.org/x/%2e%2e/y", false),
            ("https://example.org/x/*", "https://example.org/x/../y", false),
            ("https://example.org/x/*", "https://example.org/x/{a,b}", false),
            ("https://example.org*", "https://example.org@evil.example/", false),
            ("https://example.org*", "https://example.org.evil.example/", false),
            ("https://*", "https://evil.example/", false),
            ("https://*.example.org/*", "https://api.example.org/x", true),
            ("https://*.example.org/*", "https://evil.example/.example.org/", false),
            ("https://*.example.org/*", "https://evil.example#.example.org/", false),
            ("file:///p/*", "file:///p/x", false),
            ("ssh://example.org/*", "ssh://example.org/x", false),
        ] {
            assert_eq!(covers(pattern, text), expected, "{pattern} ~ {text}");
        }
    }
}
