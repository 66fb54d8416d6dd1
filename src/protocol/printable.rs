//! Makes text from others safe for a terminal.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar;

/// Returns `text` with everything visible unchanged, and everything else as `\u{…}`: control and
/// format characters, changes of the writing direction, line separators, private and unassigned
/// characters.
///
/// Newlines and tabs stay, as do the joiners and selectors of emoji and some scripts, where they
/// appear in such text.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let is_seen = || is_seen(out.chars().next_back(), c, rest.clone().next());
        if matches!(c, '\n' | '\t') || is_seen() {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Like [`printable`], for a name or text of one line: newlines and tabs become `\u{…}` too.
pub fn printable_line(text: &str) -> String {
    printable(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

/// Returns a path on one line, for the user.
pub fn printable_path(path: &Path) -> String {
    printable_line(&path.to_string_lossy())
}

/// Like [`printable`], for a message that may be partly from others: each line after the first is
/// indented, so that none looks like another message.
pub fn printable_message(text: &str) -> String {
    printable(text).replace('\n', "\n  ")
}

/// Shortens a text to at most `max` characters, the last of which is then an ellipsis.
pub fn clip_chars(text: &str, max: usize) -> Cow<'_, str> {
    if text.chars().nth(max).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(end, _)| end);
    Cow::Owned(format!("{}…", text[..kept].trim_end()))
}

/// Splits a text into its lines, also at line ends escaped as `\u{a}`. A backslash of the text
/// itself is doubled before `u{`, so an even number of them does not end a line.
pub fn escaped_lines(text: &str) -> Vec<&str> {
    const END: &str = "u{a}";
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (mut rest, mut from) = (line, 0);
        while let Some(at) = rest[from..].find(END).map(|at| from + at) {
            let before = rest[..at].trim_end_matches('\\').len();
            if (at - before) % 2 == 1 {
                lines.push(&rest[..at - 1]);
                (rest, from) = (&rest[at + END.len()..], 0);
            } else {
                from = at + END.len();
            }
        }
        lines.push(rest);
    }
    lines
}

/// A braille pattern without dots: a blank that counts as a letter.
pub const BLANK: char = '\u{2800}';

/// Whether a character can be seen in its place, by itself or as part of the sign before it. Only
/// characters that Unicode assigns can: a terminal may drop everything else. `previous` is the
/// shown character before it.
pub fn is_seen(previous: Option<char>, c: char, next: Option<char>) -> bool {
    match hangul(c) {
        Some(Jamo::Vowel) => previous.and_then(hangul) == Some(Jamo::Leading),
        Some(Jamo::Trailing) => previous.and_then(hangul) == Some(Jamo::Vowel),
        // Terminals disagree about the width of such a letter and the next one.
        _ if stands_before(c) => false,
        _ => is_visible(c) || joins(previous, c, next),
    }
}

/// Whether a letter has no width and is not a mark on the letter before it: a few scripts write one
/// before another letter.
fn stands_before(c: char) -> bool {
    c.width() == Some(0) && is_visible(c) && !is_one_sign('a', c)
}

fn is_one_sign(left: char, right: char) -> bool {
    String::from_iter([left, right]).graphemes(true).count() == 1
}

/// A part of a Hangul syllable, as some systems write file names.
#[derive(Clone, Copy, PartialEq)]
enum Jamo {
    /// Begins a syllable, and can be seen alone.
    Leading,
    Vowel,
    Trailing,
}

fn hangul(c: char) -> Option<Jamo> {
    match c {
        '\u{1100}'..='\u{115e}' | '\u{a960}'..='\u{a97c}' => Some(Jamo::Leading),
        '\u{1161}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}' => Some(Jamo::Vowel),
        '\u{11a8}'..='\u{11ff}' | '\u{d7cb}'..='\u{d7fb}' => Some(Jamo::Trailing),
        _ => None,
    }
}

/// Whether a character shows as itself, or is a mark or blank of ordinary text.
fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{2028}' | '\u{2029}' | BLANK => false,
        _ if is_ignorable(c) || c.is_control() => false,
        _ => c.is_whitespace() || is_graphic(c),
    }
}

/// Whether a character shows nothing by itself: the one list for command output and the screen.
pub fn is_invisible(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{2028}' | '\u{2029}' => true,
        _ if is_ignorable(c) || c.is_control() => true,
        // A format character with a width, such as an Arabic number sign, can be seen.
        _ => c.width() == Some(0) && !is_graphic(c),
    }
}

/// Letters and marks that show nothing by definition, beside the format characters.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2065}' | '\u{3164}' | '\u{ffa0}' | '\u{16fe4}' | '\u{1d159}'
        | '\u{e0000}'..='\u{e0fff}')
        || is_variation_selector(c)
}

/// Whether the standard library leaves the character unescaped in debug output that does not begin
/// with it. It knows what Unicode assigns, and which of that is a control, format, separator or
/// private character.
fn is_graphic(c: char) -> bool {
    let mut bytes = [b'x'; 5];
    let len = 1 + c.encode_utf8(&mut bytes[1..]).len();
    std::str::from_utf8(&bytes[..len]).is_ok_and(|text| text.escape_debug().count() == 2)
}

/// Whether `c` is part of the sign around it: a joiner in an emoji or between letters that it
/// shapes, or the one selector that turns a sign into a picture.
fn joins(previous: Option<char>, c: char, next: Option<char>) -> bool {
    let Some(previous) = previous else { return false };
    match (c, next) {
        ('\u{200c}' | '\u{200d}', Some(next)) => is_joined(c, previous, next),
        _ if is_variation_selector(c) => selects_picture(c, previous, next),
        _ => false,
    }
}

/// Whether the joiner `c` has a meaning between these two: between emoji, and between letters of some scripts.
pub fn is_joined(c: char, left: char, right: char) -> bool {
    let emoji = c == '\u{200d}' && is_pictograph(left) && is_pictograph(right);
    emoji || (is_joining_script(left) && is_joining_script(right))
}

/// Whether a character selects a variant of the one before it.
pub fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether the selector `c` chooses between a sign and its picture. Any other could follow each
/// letter of a text and carry a second text.
pub fn selects_picture(c: char, left: char, right: Option<char>) -> bool {
    let is_key = matches!(left, '0'..='9' | '#' | '*') && right == Some('\u{20e3}');
    matches!(c, '\u{fe0e}' | '\u{fe0f}') && left != '\u{fe0f}' && (is_pictograph(left) || is_key)
}

/// Approximately the characters that take part in emoji joined by U+200D.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{fe0f}'
        | '\u{1f000}'..='\u{1faff}')
        // Brackets, among them those that show a number.
        && !matches!(c, '\u{27e6}'..='\u{27ef}')
}

/// Scripts in which the joiners choose the shape of letters (Arabic, and the Indic family).
fn is_joining_script(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}') && c != '\u{61c}'
}

/// The columns that terminals give a character, if they agree: letters, marks and signs that have
/// been in Unicode for long. `None` for all others, and for marks that stand in some terminals
/// beside the letter before them, and in others above it.
pub fn certain_columns(c: char) -> Option<usize> {
    match c.width() {
        _ if matches!(c, ' '..='~') => Some(1),
        Some(0) if is_mark_everywhere(c) => Some(0),
        Some(1) if is_narrow_everywhere(c) => Some(1),
        Some(1) if matches!(c, '\u{980}'..='\u{df4}') && !is_one_sign('a', c) => Some(1),
        Some(2) if is_wide_everywhere(c) => Some(2),
        _ => None,
    }
}

/// Whether a mark takes no column of its own in any terminal. Many vowels of Tamil, Bengali and
/// other scripts do in some, which then leave them out or draw them over the next letter.
fn is_mark_everywhere(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{489}'
        // Hebrew, Arabic, Devanagari, Thai and Lao.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{900}'..='\u{902}' | '\u{93a}' | '\u{93c}'
        | '\u{941}'..='\u{948}' | '\u{94d}' | '\u{951}'..='\u{957}' | '\u{962}' | '\u{963}'
        | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{eb1}' | '\u{eb4}'..='\u{eb9}' | '\u{ebb}' | '\u{ebc}' | '\u{ec8}'..='\u{ecd}'
        // Vowels and endings of Hangul, marks for symbols, voiced kana.
        | '\u{1161}'..='\u{11ff}' | '\u{20d0}'..='\u{20f0}' | '\u{3099}' | '\u{309a}')
}

fn is_narrow_everywhere(c: char) -> bool {
    matches!(c,
        // Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Devanagari, Thai, Lao, Georgian.
        '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{531}'..='\u{58a}' | '\u{5be}'..='\u{5f4}' | '\u{606}'..='\u{60f}'
        | '\u{61b}' | '\u{61f}'..='\u{64a}' | '\u{660}'..='\u{6d5}' | '\u{6ee}'..='\u{6ff}'
        | '\u{903}'..='\u{939}' | '\u{93d}'..='\u{940}' | '\u{949}'..='\u{94c}' | '\u{950}'
        | '\u{958}'..='\u{97f}' | '\u{e01}'..='\u{e32}' | '\u{e3f}'..='\u{e5b}'
        | '\u{e81}'..='\u{eb2}' | '\u{ebd}'..='\u{ec6}' | '\u{ed0}'..='\u{ed9}'
        | '\u{10a0}'..='\u{10fc}' | '\u{1e00}'..='\u{1fff}'
        // Punctuation, currencies, arrows, mathematics, boxes and other signs.
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2070}'..='\u{20bf}'
        | '\u{2100}'..='\u{22ff}' | '\u{2308}'..='\u{230b}' | '\u{2400}'..='\u{2426}' | '\u{2460}'..='\u{25ff}'
        | '\u{2600}'..='\u{262f}' | '\u{2638}'..='\u{2689}' | '\u{2690}'..='\u{26ff}' | '\u{2701}'..='\u{27bf}' | '\u{27e6}'..='\u{27ef}' | '\u{2801}'..='\u{28ff}'
        | '\u{ff61}'..='\u{ff9d}')
}

/// The wide characters of East Asian scripts, and the pictures that were wide in Unicode 9.
fn is_wide_everywhere(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{115e}' | '\u{2e80}'..='\u{2fd5}' | '\u{3001}'..='\u{3029}'
        | '\u{3030}'..='\u{303e}' | '\u{3041}'..='\u{3096}' | '\u{309b}'..='\u{3163}'
        | '\u{3165}'..='\u{318e}' | '\u{3190}'..='\u{31ba}' | '\u{31f0}'..='\u{3247}'
        | '\u{3250}'..='\u{4db5}' | '\u{4e00}'..='\u{9fd5}' | '\u{a000}'..='\u{a4c6}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{fad9}' | '\u{fe30}'..='\u{fe6b}'
        | '\u{ff01}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{20000}'..='\u{2fa1d}'
        | '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23ec}' | '\u{23f0}' | '\u{23f3}'
        | '\u{25fd}' | '\u{25fe}' | '\u{2614}' | '\u{2615}' | '\u{2648}'..='\u{2653}'
        | '\u{267f}' | '\u{2693}' | '\u{26a1}' | '\u{26aa}' | '\u{26ab}' | '\u{26bd}' | '\u{26be}'
        | '\u{26c4}' | '\u{26c5}' | '\u{26ce}' | '\u{26d4}' | '\u{26ea}' | '\u{26f2}' | '\u{26f3}'
        | '\u{26f5}' | '\u{26fa}' | '\u{26fd}' | '\u{2705}' | '\u{270a}' | '\u{270b}' | '\u{2728}'
        | '\u{274c}' | '\u{274e}' | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2795}'..='\u{2797}'
        | '\u{27b0}' | '\u{27bf}' | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}'
        | '\u{1f300}'..='\u{1f320}' | '\u{1f32d}'..='\u{1f335}' | '\u{1f337}'..='\u{1f37c}'
        | '\u{1f37e}'..='\u{1f393}' | '\u{1f3a0}'..='\u{1f3ca}' | '\u{1f3cf}'..='\u{1f3d3}'
        | '\u{1f3e0}'..='\u{1f3f0}' | '\u{1f3f4}' | '\u{1f3f8}'..='\u{1f3fa}'
        | '\u{1f400}'..='\u{1f43e}' | '\u{1f440}' | '\u{1f442}'..='\u{1f4fc}'
        | '\u{1f4ff}'..='\u{1f53d}' | '\u{1f54b}'..='\u{1f54e}' | '\u{1f550}'..='\u{1f567}'
        | '\u{1f57a}' | '\u{1f595}' | '\u{1f596}' | '\u{1f5a4}' | '\u{1f5fb}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6c5}' | '\u{1f6cc}' | '\u{1f6d0}'..='\u{1f6d2}'
        | '\u{1f6eb}' | '\u{1f6ec}' | '\u{1f6f4}'..='\u{1f6f6}' | '\u{1f910}'..='\u{1f91e}'
        | '\u{1f920}'..='\u{1f927}' | '\u{1f930}' | '\u{1f933}'..='\u{1f93e}'
        | '\u{1f940}'..='\u{1f94b}' | '\u{1f950}'..='\u{1f95e}' | '\u{1f980}'..='\u{1f991}'
        | '\u{1f9c0}')
}

/// Quotes a text as one shell word, if needed.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/.-_+@%:=,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Quotes a path as one shell word on one line: like [`shell_word`], or with the escapes of bash
/// and zsh if something in it is invisible.
pub fn shell_path(path: &Path) -> String {
    if let Some(text) = path.to_str()
        && printable_line(text) == text
    {
        return shell_word(text);
    }
    let mut word = "$'".to_owned();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        word.extend(chunk.valid().chars().map(escaped));
        word.extend(chunk.invalid().iter().map(|byte| format!("\\{byte:03o}")));
    }
    word + "'"
}

/// Escapes a character between `$'` and `'`.
fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        '\0'..='\u{7f}' => format!("\\{:03o}", c as u32),
        _ if is_visible(c) && !c.is_whitespace() => c.to_string(),
        '\0'..='\u{ffff}' => format!("\\u{:04x}", c as u32),
        _ => format!("\\U{:08x}", c as u32),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_text_is_clipped_to_whole_characters_with_a_sign_of_it() {
        for (text, clipped) in [("grüße", "grüße"), ("grüße!", "grüß…"), ("grü ße", "grü…")]
        {
            assert_eq!(clip_chars(text, 5), clipped);
        }
        assert_eq!((clip_chars("ab", 1), clip_chars("", 0)), ("…".into(), "".into()));
    }

    #[test]
    fn what_cannot_be_seen_is_printed_by_number() {
        let hidden = [
            '\0',
            '\u{7}',
            '\u{1b}',
            '\r',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2064}',
            '\u{2065}',
            '\u{2066}',
            '\u{206f}',
            '\u{3164}',
            '\u{e000}',
            '\u{f8ff}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{ffff}',
            '\u{1d173}',
            '\u{13430}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{f0000}',
            '\u{10fffd}',
            '\u{378}',
            '\u{1161}',
            '\u{11a8}',
            '\u{d7b0}',
            '\u{d7cb}',
            '\u{e0fff}',
            '\u{3fffd}',
        ];
        for c in hidden {
            let expected = format!("a {} b", c.escape_unicode());
            assert_eq!(printable(&format!("a {c} b")), expected);
        }
        // No character that a terminal acts on or does not show may stay.
        for c in ('\0'..=char::MAX).filter(|c| printable(&format!("a{c}b")).contains(*c)) {
            let harmless = matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
            assert!(harmless, "{}", c.escape_unicode());
            // A character without width is a mark on the one before it.
            assert!(c.width() != Some(0) || is_one_sign('a', c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn what_can_be_seen_is_printed_as_it_is() {
        for text in [
            "plain\n\ttext ~",
            "grün · 日本語\u{3000}→ 🦀 a\u{a0}b",
            "e\u{301} हिन्दी ไทย עברית العربية",
            "می\u{200c}خواهم",
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}.txt \u{1100} 한글",
            "⚠\u{fe0f} 👩\u{200d}💻 👨\u{200d}👩\u{200d}👧 👍🏽 🇪🇺 ❤\u{fe0f}\u{200d}🔥",
        ] {
            assert_eq!(printable(text), text);
        }
        assert_eq!(printable("1\u{fe0f}\u{20e3}"), "1\u{fe0f}\u{20e3}");
        let smuggled = "a\u{fe0f}☂\u{fe0f}\u{fe0e}b\u{200d}c\u{e0061}\u{2800}字\u{e0101}";
        let shown = "a\\u{fe0f}☂\u{fe0f}\\u{fe0e}b\\u{200d}c\\u{e0061}\\u{2800}字\\u{e0101}";
        assert_eq!(printable(smuggled), shown);
        let pile = "\u{1100}\u{1161}\u{1161}\u{11a8} 가\u{11a8} e\u{11a8}";
        let shown = "\u{1100}\u{1161}\\u{1161}\\u{11a8} 가\\u{11a8} e\\u{11a8}";
        assert_eq!(printable(pile), shown);
        // Some terminals give the pair one column, others two.
        assert_eq!(printable("ക\u{d4e}ക"), "ക\\u{d4e}ക");
    }

    #[test]
    fn a_word_of_a_shell_is_quoted_only_where_it_must_be() {
        let words = ["/a/b-c.d", "", "a b", "it's", "$HOME", "~/x"].map(shell_word);
        assert_eq!(words, ["/a/b-c.d", "''", "'a b'", r"'it'\''s'", "'$HOME'", "'~/x'"]);
    }

    #[test]
    fn a_path_is_one_word_on_one_line_that_bash_reads_as_it_is() {
        assert_eq!(shell_path(Path::new("/a b/c")), "'/a b/c'");
        let cases: [(&[u8], &str); 3] = [
            (b"/a\nit's \\n\tb", r"$'/a\012it\'s \\n\011b'"),
            ("é\u{202e}\u{e0061}1\u{1b}2".as_bytes(), r"$'é\u202e\U000e00611\0332'"),
            (b"a\xff1\r", r"$'a\3771\015'"),
        ];
        for (path, word) in cases {
            assert_eq!(shell_path(Path::new(OsStr::from_bytes(path))), word);
            let mut bash = std::process::Command::new("bash");
            bash.args(["-c", &format!("printf %s {word}")]).env("LC_ALL", "C.UTF-8");
            assert_eq!(bash.output().unwrap().stdout, path);
        }
    }

    #[test]
    fn a_name_has_one_line_and_a_message_cannot_forge_another() {
        assert_eq!(printable_line("a\nb\tc\u{1b}"), r"a\u{a}b\u{9}c\u{1b}");
        assert_eq!(printable_path(Path::new("/a b/ü\n")), r"/a b/ü\u{a}");
        assert_eq!(printable_message("a\nb\r\n\tc"), "a\n  b\\u{d}\n  \tc");
    }
}
