//! The text of `$'…'`.

/// Decodes the escapes of bash between `$'` and `'`; `None` if the text is not such a quotation, or
/// its meaning depends on the locale.
pub fn decode(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut text = Vec::new();
    let mut rest = inner;
    while let Some(place) = rest.find('\\') {
        text.extend_from_slice(&rest.as_bytes()[..place]);
        let mut chars = rest[place + 1..].chars();
        let escape = chars.next()?;
        rest = chars.as_str();
        match escape {
            'a' => text.push(0x07),
            'b' => text.push(0x08),
            'e' | 'E' => text.push(0x1b),
            'f' => text.push(0x0c),
            'n' => text.push(b'\n'),
            'r' => text.push(b'\r'),
            't' => text.push(b'\t'),
            'v' => text.push(0x0b),
            '\\' | '\'' | '"' | '?' => text.push(escape as u8),
            '0'..='7' => {
                let from = &inner[inner.len() - rest.len() - 1..];
                let (value, after) = number(from, 3, 8);
                text.push((value & 0xff) as u8);
                rest = after;
            }
            // `\x{…}` takes any number of digits, of which the last two count.
            'x' if rest.starts_with('{') => {
                let length = rest[1..].find(|c: char| !c.is_ascii_hexdigit());
                let (digits, after) = rest[1..].split_at(length.unwrap_or(rest.len() - 1));
                let (value, _) = number(&digits[digits.len().saturating_sub(2)..], 2, 16);
                text.push(value as u8);
                rest = after.strip_prefix('}').unwrap_or(after);
            }
            'x' | 'u' | 'U' if !rest.starts_with(|c: char| c.is_ascii_hexdigit()) => {
                text.extend_from_slice(format!("\\{escape}").as_bytes());
            }
            'x' => {
                let (value, after) = number(rest, 2, 16);
                text.push(value as u8);
                rest = after;
            }
            'u' | 'U' => {
                let (value, after) = number(rest, if escape == 'u' { 4 } else { 8 }, 16);
                let letter = char::from_u32(value)?;
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            'c' => {
                let letter = rest.chars().next().filter(char::is_ascii)?;
                rest = &rest[1..];
                if letter == '\\' {
                    rest = rest.strip_prefix('\\').unwrap_or(rest);
                }
                text.push(if letter == '?' { 0x7f } else { letter as u8 & 0x1f });
            }
            other => text.extend_from_slice(format!("\\{other}").as_bytes()),
        }
    }
    text.extend_from_slice(rest.as_bytes());
    // Bash ends the text at a zero byte.
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The number at the start of the text, with this maximum of digits, and the rest.
fn number(text: &str, most: usize, radix: u32) -> (u32, &str) {
    let length = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let (digits, rest) = text.split_at(length);
    (u32::from_str_radix(digits, radix).unwrap_or(0), rest)
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
            (r"$'a\tb\\c\q'", "a\tb\\c\\q"),
            (r"$'rm\0x'", "rm"),
            (r"$'\cA\ca\c?'", "\u{1}\u{1}\u{7f}"),
            (r"$'\c\\rm'", "\u{1c}rm"),
            (r"$'\x{72}m'", "rm"),
            (r"$'\x{72m'", "rm"),
            (r"$'\x{f0072}m'", "rm"),
            (r"$'\x{'", ""),
            (r"$'\xzm'", r"\xzm"),
            (r"$'\u\U m'", r"\u\U m"),
            (r"$'rm\x{}x'", "rm"),
            (r"$'\7'", "\u{7}"),
            (r"$'\1012'", "A2"),
        ] {
            assert_eq!(decode(raw).as_deref(), Some(text), "{raw}");
        }
        for raw in ["'rm'", r"$'rm\ud800'", r"$'\U110000'", r"$'\Uffffffff'", r"$'\cä'"] {
            assert_eq!(decode(raw), None, "{raw}");
        }
    }
}
