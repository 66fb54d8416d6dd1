//! The expansions whose text the judge can tell. Any other form may assign, evaluate or run
//! something, or compute a text in a way that depends on the locale, so a line with one is unclear.

/// Whether the text is `${name}` or `${#name}`.
pub fn is_plain(raw: &str) -> bool {
    let inner = raw.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(is_plain_inside)
}

/// Whether an expansion in braces in the text is of any other form.
pub fn has_other_expansion(raw: &str) -> bool {
    let inner = |rest: &str| rest.split('}').next().is_some_and(is_plain_inside);
    !raw.split("${").skip(1).all(inner)
}

/// The named variables in a text, after a `$`.
pub fn variables(raw: &str) -> impl Iterator<Item = String> {
    raw.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let rest = rest.strip_prefix('#').unwrap_or(rest);
        let name = &rest[..name_length(rest)];
        (!name.is_empty()).then(|| name.to_owned())
    })
}

fn is_plain_inside(inner: &str) -> bool {
    is_name(inner.strip_prefix('#').unwrap_or(inner))
}

/// Whether the text of an unquoted document is the same however bash reads it: a dollar sign only
/// precedes a name, a plain `{…}` or a blank, and there are no backquotes.
pub fn is_plain_document(text: &str) -> bool {
    let mut rest = text;
    while let Some(place) = rest.find(['$', '`']) {
        if rest[place..].starts_with('`') {
            return false;
        }
        let after = &rest[place + 1..];
        let end = match after.strip_prefix('{') {
            Some(inner) => match inner.find('}') {
                Some(close) if is_plain_inside(&inner[..close]) => close + 2,
                _ => return false,
            },
            None if after.is_empty() || after.starts_with([' ', '\t', '\n']) => 0,
            None => match name_length(after) {
                0 => return false,
                length => length,
            },
        };
        rest = &after[end..];
    }
    true
}

/// Whether the text is a number with plain operators, in the double parentheses of an arithmetic
/// expansion. A name in there is evaluated, and so is its value.
pub fn is_plain_arithmetic(raw: &str) -> bool {
    let inner = raw.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| inner.chars().all(|c| c.is_ascii_digit() || " +-*/%()".contains(c)))
}

/// The length of the variable's name, or of the number of a positional parameter, at the start of the text. Bytes.
fn name_length(text: &str) -> usize {
    text.find(|c: char| !is_name_letter(c)).unwrap_or(text.len())
}

fn is_name(text: &str) -> bool {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    !text.is_empty()
        && text.chars().all(is_name_letter)
        && (is_number || !text.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_name_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_that_give_text_are_plain() {
        for plain in ["${x}", "${1}", "${#x}", "${X_1}"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "${x%.*}",
            "${x%%=*}",
            "${x#a}",
            "${x##*/}",
            "${x-}",
            "${x:-a-b}",
            "${X_1+set}",
            "${x:+a}",
            "${PWD%$(a)}",
            "${x-`a`}",
            "${y:x}",
            "${x:=a}",
            "${x=a}",
            "${x?a}",
            "${x:?a}",
            "${!x}",
            "${x@P}",
            "${x[0]}",
            "${x/a/b}",
            "${x^}",
            "${x:0:1}",
            "${x-<(a)}",
            "${x-'a'}",
            "${x-\"a\"}",
            "${x-\\a}",
            "${x-${y}}",
            "${x-$y}",
            "${}",
            "${1x}",
            "${#}",
            "${#x-a}",
            "${x- }",
            "$x",
            "${x",
            "${x-}}",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }

    #[test]
    fn the_variables_of_a_text_are_found() {
        let named = variables("a$b${c%d}${#e}$$$(f)$?").collect::<Vec<_>>();
        assert_eq!(named, ["b", "c", "e"]);
    }

    #[test]
    fn a_document_is_plain_when_nothing_in_it_can_run() {
        for plain in ["", "a b", "$x ${x} ${#x}", "costs 5 $\n", "$", "$x$y", "it's \"so\" \\n"] {
            assert!(is_plain_document(plain), "{plain}");
        }
        for other in [
            "`a`",
            "\\`a\\`",
            "$(a)",
            " $(a)",
            "\\$(a)",
            "$\\\n(a)",
            "${x-$(a)}",
            "${x%.*}",
            "${x-}",
            "${y:x}",
            "${x[0]}",
            "$((1))",
            "$[1]",
            "${",
            "${x",
            "$'a'",
            "$\"a\"",
            "$?",
        ] {
            assert!(!is_plain_document(other), "{other}");
        }
    }

    #[test]
    fn arithmetic_is_plain_without_names() {
        for plain in ["$((1 + 2))", "$((2*(3-1)))", "$(())"] {
            assert!(is_plain_arithmetic(plain), "{plain}");
        }
        for other in ["$((x))", "$(($x))", "$((a[$(b)]))", "$((1,2))", "$((1))0", "$[1]"] {
            assert!(!is_plain_arithmetic(other), "{other}");
        }
    }
}
