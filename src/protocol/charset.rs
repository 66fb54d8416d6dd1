//! The characters that a terminal takes, and text without all others.

use std::borrow::Cow;
use std::io::IsTerminal;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::env::EnvOverlay;

/// Stands for each column of a character that the terminal would not read as one.
const UNKNOWN: &str = "?";

/// The characters that a terminal reads as we write them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    #[default]
    Utf8,
    /// ASCII alone. The locale names another encoding: a terminal with 8-bit characters takes the second
    /// byte of many letters for a control character, such as that of `Û` for the start of a sequence.
    Ascii,
}

impl Charset {
    /// Returns the characters of the locale. An unset locale is ignored.
    pub fn from_env(env: &EnvOverlay) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| {
            // A locale that is no text is none that uses UTF-8.
            env.get_os(name).filter(|value| !value.is_empty())
        });
        match locale {
            Some(locale) if !locale.to_str().is_some_and(is_utf8) => Self::Ascii,
            _ => Self::Utf8,
        }
    }

    /// Returns the text without characters that the terminal does not read. What stands for them takes
    /// as many columns.
    pub fn encode(self, text: &str) -> Cow<'_, str> {
        if self == Self::Utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for grapheme in text.graphemes(true) {
            let mut chars = grapheme.chars();
            let ascii = chars.next().and_then(ascii_symbol).filter(|_| chars.next().is_none());
            match (ascii, grapheme.width()) {
                _ if grapheme.is_ascii() => out.push_str(grapheme),
                (Some(ascii), 1) => out.push_str(ascii),
                (_, columns) => out.push_str(&UNKNOWN.repeat(columns)),
            }
        }
        Cow::Owned(out)
    }

    /// Like [`Self::encode`], if the stream is a terminal: a file or another program gets all of it.
    pub fn encode_for<'a>(self, stream: &impl IsTerminal, text: &'a str) -> Cow<'a, str> {
        if stream.is_terminal() { self.encode(text) } else { Cow::Borrowed(text) }
    }
}

/// Whether a locale such as `de_DE.UTF-8@euro` encodes text as UTF-8. macOS sets the encoding alone.
fn is_utf8(locale: &str) -> bool {
    let code = locale.split_once('.').map_or(locale, |(_, code)| code);
    let code = code.split('@').next().unwrap_or_default();
    code.eq_ignore_ascii_case("utf-8") || code.eq_ignore_ascii_case("utf8")
}

/// The ASCII character that looks most like a symbol of one column. Letters have none.
pub fn ascii_symbol(sign: char) -> Option<&'static str> {
    Some(match sign {
        '–' | '—' | '−' | '·' => "-",
        '…' => "~",
        '↑' => "^",
        '←' | '⟨' | '‹' => "<",
        '⟩' => ">",
        // Other arrows, pictures of control characters, frames, blocks, signs, and spinners.
        '\u{2190}'..='\u{21ff}' => ">",
        '\u{2400}'..='\u{243f}' => "^",
        '\u{2500}'..='\u{257f}' => "+",
        '\u{2580}'..='\u{259f}' => "#",
        '\u{2200}'..='\u{22ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2800}'..='\u{28ff}' => "*",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(env: &[(&str, &str)]) -> Charset {
        Charset::from_env(&env.iter().copied().collect())
    }

    #[test]
    fn a_locale_names_its_characters() {
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE@euro"] {
            assert_eq!(charset(&[("LANG", locale)]), Charset::Ascii, "{locale}");
        }
        for locale in ["C.UTF-8", "UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", ""] {
            assert_eq!(charset(&[("LANG", locale)]), Charset::Utf8, "{locale}");
        }
        assert_eq!(charset(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]), Charset::Ascii);
        let unset = [("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")];
        assert_eq!(charset(&unset), Charset::Utf8);
    }

    #[test]
    fn each_column_of_another_character_is_one_of_ascii() {
        for (text, ascii) in [
            ("plain\r\n\t~", "plain\r\n\t~"),
            ("a Û5G\u{9b} … b", "a ?5G? ~ b"),
            ("日本 e\u{301} 👩\u{200d}💻|", "???? ? ??|"),
        ] {
            assert_eq!(Charset::Ascii.encode(text), ascii);
            assert_eq!(Charset::Utf8.encode(text), text);
        }
    }

    #[test]
    fn no_byte_beyond_ascii_is_left() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b");
            let encoded = Charset::Ascii.encode(&text);
            assert!(encoded.is_ascii(), "{}", c.escape_unicode());
            if !c.is_control() {
                assert_eq!(encoded.width(), text.width(), "{}", c.escape_unicode());
            }
        }
    }
}
