//! The text of `$'…'`.

/// Decodes the escapes of bash between `$'` and `'`; `None` if the text is not such a quotation, or
/// has an escape for anything but plain ASCII text, a tab or a line end: what that means depends on
/// the locale and the version.
pub fn decode(raw: &str) -> Option<String> {
    let mut rest = raw.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut text = String::new();
    while let Some((before, behind)) = rest.split_once('\\') {
        text.push_str(before);
        let escape = behind.chars().next()?;
        rest = behind.get(1..)?;
        let (code, after) = match escape {
            'n' => (u32::from('\n'), rest),
            't' => (u32::from('\t'), rest),
            '\\' | '\'' | '"' | '?' => (u32::from(escape), rest),
            '0'..='7' => number(behind, 3, 8)?,
            'x' => number(rest, 2, 16)?,
            'u' => number(rest, 4, 16)?,
            'U' => number(rest, 8, 16)?,
            _ => return None,
        };
        let is_plain = |c: &char| matches!(c, '\n' | '\t' | ' '..='~');
        text.push(char::from_u32(code).filter(is_plain)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// The number at the start of the text, with this maximum of digits, and the rest.
fn number(text: &str, most: usize, radix: u32) -> Option<(u32, &str)> {
    let length = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let (digits, rest) = text.split_at(length);
    Some((u32::from_str_radix(digits, radix).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_as_bash_does() {
        for (raw, text) in [
            ("$'rm'", "rm"),
            (r"$'\x72m'", "rm"),
            (r"$'\162m'", "rm"),
            (r"$'r\u006d'", "rm"),
            (r"$'\U00000072m'", "rm"),
            (r"$'it\'s'", "it's"),
            (r"$'a\tb\\c\n'", "a\tb\\c\n"),
            (r"$'\1012'", "A2"),
            (r"$'\x2eé'", ".é"),
        ] {
            assert_eq!(decode(raw).as_deref(), Some(text), "{raw}");
        }
        let others = r"\ud800 \U110000 \Uffffffff \cA \cä \ca \c? \xff \x7f \x00 \0 \377 \7 \u00e9 \e \E \a \b \f \r \v \x{72} \x{ \xzm \u \q \é \";
        for escape in others.split(' ') {
            let raw = format!("$'rm{escape}'");
            assert_eq!(decode(&raw), None, "{raw}");
        }
        assert_eq!(decode("'rm'"), None);
    }
}
