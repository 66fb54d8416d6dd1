//! Letters that look like ASCII but are not: a word with one of them is not the word it seems to be.

use crate::protocol::is_seen;

/// Maximum warnings; more would add nothing.
const MAX_WARNINGS: usize = 3;
/// Maximum characters that are counted.
const MAX_FOUND: usize = 100;
/// Maximum characters of a word in a warning.
const MAX_WORD: usize = 40;

/// Letters of other scripts, each with the ASCII letter it looks like.
const LETTERS: &[(&str, &str)] = &[
    // Cyrillic
    ("\u{430}\u{435}\u{43e}\u{440}\u{441}\u{443}\u{445}\u{456}\u{458}\u{455}", "aeopcyxijs"),
    (
        "\u{501}\u{51b}\u{51d}\u{4bb}\u{4cf}\u{475}\u{432}\u{43c}\u{442}\u{43a}\u{433}",
        "dqwhlvbmtkr",
    ),
    (
        "\u{410}\u{412}\u{415}\u{41a}\u{41c}\u{41d}\u{41e}\u{420}\u{421}\u{422}\u{425}",
        "ABEKMHOPCTX",
    ),
    ("\u{423}\u{406}\u{408}\u{405}\u{50c}\u{51a}\u{51c}\u{4ae}", "YIJSGQWY"),
    // Greek
    (
        "\u{3b1}\u{3bf}\u{3bd}\u{3c1}\u{3c4}\u{3b9}\u{3ba}\u{3c5}\u{3b3}\u{3c9}\u{3f2}\u{3f3}",
        "aovptikuywcj",
    ),
    (
        "\u{391}\u{392}\u{395}\u{396}\u{397}\u{399}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\u{3a4}\u{3a5}\u{3a7}",
        "ABEZHIKMNOPTYX",
    ),
    // Armenian and Latin
    ("\u{585}\u{57d}\u{578}\u{570}\u{581}\u{566}", "ounhgq"),
    ("\u{131}\u{237}\u{251}\u{261}\u{17f}\u{1c0}\u{269}\u{28f}", "ijagslly"),
];

/// Signs that look like those that separate words, paths and hosts.
const SIGNS: &[(char, char)] = &[
    ('\u{2215}', '/'),
    ('\u{2044}', '/'),
    ('\u{29f8}', '/'),
    ('\u{2024}', '.'),
    ('\u{a4f8}', '.'),
    ('\u{3002}', '.'),
    ('\u{2236}', ':'),
    ('\u{a789}', ':'),
    ('\u{2d0}', ':'),
    ('\u{2223}', '|'),
    ('\u{37e}', ';'),
    // Signs of comments, patterns, folders and redirects.
    ('\u{266f}', '#'),
    ('\u{2217}', '*'),
    ('\u{204e}', '*'),
    ('\u{223c}', '~'),
    ('\u{2dc}', '~'),
    ('\u{201a}', ','),
    ('\u{2571}', '/'),
    ('\u{27cb}', '/'),
    ('\u{2216}', '\\'),
    ('\u{29f5}', '\\'),
    ('\u{2502}', '|'),
    ('\u{2758}', '|'),
    ('\u{2039}', '<'),
    ('\u{203a}', '>'),
    ('\u{fe50}', ','),
    ('\u{fe52}', '.'),
    ('\u{fe54}', ';'),
    ('\u{fe55}', ':'),
    ('\u{fe5f}', '#'),
    ('\u{fe60}', '&'),
    ('\u{fe61}', '*'),
    ('\u{fe64}', '<'),
    ('\u{fe65}', '>'),
    ('\u{fe68}', '\\'),
    ('\u{fe69}', '$'),
];

/// Quotes that a shell reads as letters.
const QUOTES: &[(&str, char)] =
    &[("“”„‟″ʺˮ˝〃״❝❞〝〞", '"'), ("‘’‛′ʼʹʻʽˈ՚׳ꞌ❛❜", '\''), ("‵ˋ", '`')];

/// Warnings about the look-alike and invisible characters of a text.
pub fn warnings(text: &str) -> Vec<String> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found: Vec<(char, String)> = Vec::new();
    let foreign_words = has_foreign_words(text);
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '(' | ')'))
    {
        let mut previous = None;
        for (at, c) in word.char_indices() {
            let next = word[at + c.len_utf8()..].chars().next();
            let is_seen = is_seen(previous.replace(c), c, next);
            if c.is_ascii() {
                continue;
            }
            if found.len() == MAX_FOUND || found.iter().any(|(known, _)| *known == c) {
                continue;
            }
            if let Some(warning) = warning(c, is_seen, word, foreign_words) {
                found.push((c, warning));
            }
        }
    }
    let more = found.len().saturating_sub(MAX_WARNINGS);
    let mut warnings: Vec<String> = found.into_iter().map(|(_, warning)| warning).collect();
    warnings.truncate(MAX_WARNINGS);
    if more > 0 {
        let characters = if more == 1 { "character" } else { "characters" };
        warnings.push(format!("{more} more {characters} in it are not what they look like"));
    }
    warnings
}

fn warning(c: char, is_seen: bool, word: &str, foreign_words: bool) -> Option<String> {
    let shown: String = word.chars().filter(|c| can_be_seen(*c)).take(MAX_WORD).collect();
    let code = format!("U+{:04X}", u32::from(c));
    if !is_seen {
        return Some(format!("{shown} has the invisible character {code} in it"));
    }
    let (ascii, disguised) = match (ascii_letter(c), ascii_form(c).or_else(|| ascii_quote(c))) {
        (_, Some('\'')) if is_apostrophe(c, word) => return None,
        (_, Some(ascii)) => (ascii, true),
        (Some(ascii), None) => {
            // A word of another language is no disguise; one foreign letter in an ASCII word is.
            let run = word_around(word, c);
            (ascii, run.chars().any(|c| c.is_ascii_alphanumeric()) || !foreign_words)
        }
        (None, None) => (ascii_dash(c, word)?, true),
    };
    let kind = match ascii {
        'a'..='z' | 'A'..='Z' => "letter",
        '0'..='9' => "digit",
        _ => "character",
    };
    disguised.then(|| format!("\"{c}\" in {shown} is {code}, not the {kind} {ascii}"))
}

/// The ASCII letter that a letter of another script looks like.
fn ascii_letter(c: char) -> Option<char> {
    LETTERS.iter().find_map(|(letters, ascii)| {
        let place = letters.chars().position(|letter| letter == c)?;
        ascii.chars().nth(place)
    })
}

/// The ASCII character that a compatibility form stands for, or that a sign looks like.
fn ascii_form(c: char) -> Option<char> {
    let code = u32::from(c);
    let ascii = match code {
        0xff01..=0xff5e => code - 0xff01 + 0x21,
        // Mathematical letters: alphabets of 52, then digits.
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            place @ 0..=25 => u32::from('A') + place,
            place => u32::from('a') + place - 26,
        },
        0x1d7ce..=0x1d7ff => u32::from('0') + (code - 0x1d7ce) % 10,
        _ => return SIGNS.iter().find(|(sign, _)| *sign == c).map(|(_, ascii)| *ascii),
    };
    char::from_u32(ascii)
}

fn ascii_quote(c: char) -> Option<char> {
    QUOTES.iter().find(|(quotes, _)| quotes.contains(c)).map(|(_, ascii)| *ascii)
}

/// Whether the sign stands between letters wherever it is in the word, as in `don’t`: no quoted text
/// begins or ends there.
fn is_apostrophe(c: char, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    word.match_indices(c).all(|(at, sign)| {
        let after = word[at + sign.len()..].chars().next();
        is_letter(word[..at].chars().next_back()) && is_letter(after)
    })
}

/// The ASCII form of a typographic dash at the start of an option.
fn ascii_dash(c: char, word: &str) -> Option<char> {
    let is_dash = matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}');
    let begins = word.starts_with(c) && word.chars().any(|c| c.is_ascii_alphanumeric());
    (is_dash && begins).then_some('-')
}

/// Whether a character is visible at all.
fn can_be_seen(c: char) -> bool {
    is_seen(None, c, None)
}

/// The letters and digits around the character.
fn word_around(word: &str, c: char) -> &str {
    let runs = word.split(|c: char| !c.is_alphanumeric());
    let mut runs = runs.filter(|run| run.contains(c));
    runs.next().unwrap_or_default()
}

/// Whether the text has letters of the scripts in the table that look like no ASCII letter: then it
/// is in one of their languages.
fn has_foreign_words(text: &str) -> bool {
    let of_script = |c: char| matches!(u32::from(c), 0x370..=0x58f);
    text.chars().any(|c| of_script(c) && c.is_alphabetic() && ascii_letter(c).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_only_looks_like_ascii_is_named_with_its_code_point() {
        for (text, expected) in [
            ("\u{430}pt install x", "\"\u{430}\" in \u{430}pt is U+0430, not the letter a"),
            ("cat n\u{3bf}tes", "\"\u{3bf}\" in n\u{3bf}tes is U+03BF, not the letter o"),
            ("\u{441}\u{443} x", "\"\u{441}\" in \u{441}\u{443} is U+0441, not the letter c"),
            ("\u{ff52}m x", "\"\u{ff52}\" in \u{ff52}m is U+FF52, not the letter r"),
            ("\u{1d42b}m x", "\"\u{1d42b}\" in \u{1d42b}m is U+1D42B, not the letter r"),
            ("a\u{1d7cf}", "\"\u{1d7cf}\" in a\u{1d7cf} is U+1D7CF, not the digit 1"),
            (
                "https://a.com\u{2215}b.org",
                "\"\u{2215}\" in https://a.com\u{2215}b.org is U+2215, not the character /",
            ),
            ("rm \u{2013}rf x", "\"\u{2013}\" in \u{2013}rf is U+2013, not the character -"),
            ("echo “x", "\"“\" in “x is U+201C, not the character \""),
            ("echo x’; y", "\"’\" in x’; is U+2019, not the character '"),
            ("echo ʼx", "\"ʼ\" in ʼx is U+02BC, not the character '"),
            ("echo ‵x", "\"‵\" in ‵x is U+2035, not the character `"),
            ("echo a ♯ b", "\"♯\" in ♯ is U+266F, not the character #"),
            ("rm ∗", "\"∗\" in ∗ is U+2217, not the character *"),
            ("rm ∼/x", "\"∼\" in ∼/x is U+223C, not the character ~"),
            ("echo a﹔b", "\"﹔\" in a﹔b is U+FE54, not the character ;"),
            ("echo a › b", "\"›\" in › is U+203A, not the character >"),
            ("ca\u{200b}t x", "cat has the invisible character U+200B in it"),
            ("./te\u{1161}st.sh", "./test.sh has the invisible character U+1161 in it"),
            ("make x\u{378}# y", "x# has the invisible character U+0378 in it"),
            ("echo \u{202e}x", "x has the invisible character U+202E in it"),
        ] {
            assert_eq!(warnings(text).first().map(String::as_str), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_languages_are_no_disguise() {
        for text in [
            "git commit -m \"исправил ошибку в README\"",
            "git commit -m 'διόρθωση του κώδικα'",
            "cat docs/обзор.md",
            "git commit -m \"Don’t; it’s Ann’s\"",
            "echo naïve café – fine",
            "cat \u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}.txt",
            "git commit -m 'fix 👩\u{200d}💻 ⚠\u{fe0f}'",
            "echo 日本語 ABC，完了".trim_end_matches("，完了"),
            "ls -la src",
        ] {
            assert_eq!(warnings(text), Vec::<String>::new(), "{text}");
        }
    }
}
