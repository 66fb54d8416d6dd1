//! Sanitises untrusted text: no escape sequence, control character or invisible character reaches
//! the terminal.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::protocol::{
    BLANK, EscapeReader, certain_columns, is_invisible, is_joined, is_seen, is_variation_selector,
    selects_picture, single_line,
};

/// Cells between tab stops.
const TAB_STOP: usize = 4;
/// Combining marks kept per base character; more would smear over other lines.
const MARK_LIMIT: usize = 4;

/// Removes everything that a terminal would interpret. Newlines stay, `\r\n` becomes `\n`, tabs become
/// spaces.
///
/// Escape sequences are dropped whole (an unterminated one up to the end of its line), other
/// control characters become control pictures, characters that reorder or smuggle text become
/// `⟨U+202E⟩`, and invisible ones are removed. Sanitise whole lines rather than pieces of a stream:
/// the second half of a split sequence would be shown.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let Some(start) = find_first(text, is_suspect) else { return Cow::Borrowed(text) };
    let mut cleaner = Sanitizer::resume_after(&text[..start], text.len());
    cleaner.run(&text[start..]);
    Cow::Owned(cleaner.out)
}

/// Like [`sanitize`], but keeps tabs: for text that leaves the screen.
pub fn sanitize_with_tabs(text: &str) -> Cow<'_, str> {
    let Some(start) = find_first(text, is_suspect) else { return Cow::Borrowed(text) };
    let mut cleaner =
        Sanitizer { keeps_tabs: true, ..Sanitizer::resume_after(&text[..start], text.len()) };
    cleaner.run(&text[start..]);
    Cow::Owned(cleaner.out)
}

/// Replaces everything that [`sanitize`] would drop with a visible sign, and also each blank other
/// than space, tab and newline, and each character that a terminal may not show, such as an
/// unassigned one. For text that the user is asked to allow: nothing in it can hide or look like
/// something else. To a shell, `x` and `#` with a no-break space between them are one word, not a
/// comment. Newlines and tabs stay.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let may_change = |c| is_suspect(c) || certain_columns(c).is_none() || !is_seen(None, c, None);
    let Some(start) = find_first(text, may_change) else {
        return Cow::Borrowed(text);
    };
    let mut cleaner =
        Sanitizer { reveals: true, ..Sanitizer::resume_after(&text[..start], text.len()) };
    cleaner.run(&text[start..]);
    Cow::Owned(cleaner.out)
}

/// Like [`reveal`], for text in a line: line ends and tabs have visible signs too. A path or a name in a
/// line goes through this, so that it cannot begin a line of its own.
pub fn reveal_line(text: &str) -> String {
    sanitize(&single_line(&reveal(text))).into_owned()
}

/// Like [`sanitize`], but on one line: trims the text, and each run of newlines becomes one space.
pub fn one_line(text: &str) -> String {
    let clean = sanitize(text.trim());
    let parts: Vec<&str> = clean.split('\n').filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The words of a user in one line, with a sign for each line end.
pub fn marked_line(text: &str) -> String {
    sanitize(text.trim()).replace('\n', "␊")
}

/// The position of the first character that may need work.
fn find_first(text: &str, is_suspect: impl Fn(char) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let ascii = bytes.iter().position(|byte| !matches!(byte, b' '..=b'~' | b'\n'))?;
    text[ascii..].char_indices().find(|(_, c)| is_suspect(*c)).map(|(at, _)| ascii + at)
}

fn is_suspect(c: char) -> bool {
    match c {
        ' '..='~' | '\n' => false,
        '\u{a0}'..='\u{2ff}' => matches!(c, '\u{a0}' | '\u{ad}'),
        BLANK => true,
        _ if c.is_control() || c.is_whitespace() => true,
        _ => c.width() == Some(0) || is_shown_by_number(c) || is_dropped(c),
    }
}

/// Whether a character reorders, separates or smuggles text, and so is shown by number.
fn is_shown_by_number(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character colours the emoji before it, or is a sign of its own where terminals do not join them.
fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Whether a character is invisible and has no meaning here.
fn is_dropped(c: char) -> bool {
    let may_mean =
        c.is_control() || matches!(c, '\u{200c}' | '\u{200d}') || is_variation_selector(c);
    !may_mean && !is_shown_by_number(c) && is_invisible(c)
}

/// The slow path: copies character by character.
struct Sanitizer {
    out: String,
    escape: EscapeReader,
    column: usize,
    /// The last character kept on the line.
    previous: Option<char>,
    /// Marks on top of the last base character.
    marks: usize,
    /// Whether to show dropped characters and unusual blanks.
    reveals: bool,
    /// Whether to keep tabs.
    keeps_tabs: bool,
}

impl Sanitizer {
    /// Creates a cleaner that continues after `done`, which is clean.
    fn resume_after(done: &str, capacity: usize) -> Self {
        let mut out = String::with_capacity(capacity + 8);
        out.push_str(done);
        let line = done.rfind('\n').map_or(done, |at| &done[at + 1..]);
        let column = line.chars().map(|c| c.width().unwrap_or(0)).sum();
        let previous = line.chars().next_back();
        Self {
            out,
            escape: EscapeReader::default(),
            column,
            previous,
            marks: 0,
            reveals: false,
            keeps_tabs: false,
        }
    }

    fn run(&mut self, text: &str) {
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            at += c.len_utf8();
            if self.reveals || self.escape.is_text(c) {
                at += self.handle(c, &text[at..]);
            }
        }
    }

    /// Handles `c`; returns the number of bytes of `rest` that belong to it.
    fn handle(&mut self, c: char, rest: &str) -> usize {
        match c {
            '\n' => self.newline(),
            '\t' if self.reveals || self.keeps_tabs => self.keep(c),
            '\t' => self.tab(),
            '\0'..='\u{1f}' if self.reveals => self.keep(control_picture(c)),
            '\u{80}'..='\u{9f}' | BLANK if self.reveals => self.show(c),
            '\u{a0}'.. if self.reveals && c.is_whitespace() => self.show(c),
            '\r' if rest.starts_with('\n') => {}
            '\0'..='\u{1f}' => self.keep(control_picture(c)),
            '\u{7f}' => self.keep('␡'),
            '\u{200c}' | '\u{200d}' => self.joiner(c, rest),
            _ if self.reveals
                && is_skin_tone(c)
                && self.previous.is_some_and(|it| !it.is_ascii()) =>
            {
                self.show(c);
            }
            '\u{e0000}'..='\u{e007f}' => return self.tags(c, rest),
            _ if is_shown_by_number(c) => self.show(c),
            _ if self.reveals && !is_seen(self.previous, c, rest.chars().next()) => self.show(c),
            _ if self.reveals && certain_columns(c).is_none() => self.show(c),
            _ if is_dropped(c) => self.leave_out(c),
            _ if is_variation_selector(c) => self.variation(c, rest.chars().next()),
            _ if c.width() == Some(0) => self.mark(c, rest.chars().next()),
            _ => self.keep(c),
        }
        0
    }

    fn keep(&mut self, c: char) {
        self.out.push(c);
        self.column += c.width().unwrap_or(0);
        self.previous = Some(c);
        self.marks = 0;
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.previous = None;
        self.marks = 0;
    }

    fn tab(&mut self) {
        for _ in 0..TAB_STOP - self.column % TAB_STOP {
            self.keep(' ');
        }
    }

    fn show(&mut self, c: char) {
        self.show_run(c, 0);
    }

    fn show_run(&mut self, c: char, more: usize) {
        let from = self.out.len();
        // Writing to a string cannot fail.
        let _ = match more {
            0 => write!(self.out, "⟨U+{:04X}⟩", c as u32),
            _ => write!(self.out, "⟨U+{:04X} +{more}⟩", c as u32),
        };
        self.column += self.out[from..].chars().count();
        self.previous = Some('⟩');
        self.marks = 0;
    }

    fn tags(&mut self, first: char, rest: &str) -> usize {
        let more = rest.chars().take_while(|c| matches!(c, '\u{e0000}'..='\u{e007f}'));
        let (count, bytes) = more.fold((0, 0), |(n, len), c| (n + 1, len + c.len_utf8()));
        self.show_run(first, count);
        bytes
    }

    /// Drops a character, or shows it by number.
    fn leave_out(&mut self, c: char) {
        if self.reveals {
            self.show(c);
        }
    }

    fn joiner(&mut self, c: char, rest: &str) {
        let joins = match (self.previous, rest.chars().next()) {
            // Not every terminal joins emoji, and one that does not draws them over what is beside them.
            (Some(_), Some(right)) if self.reveals && right.width() == Some(2) => false,
            (Some(left), Some(right)) if right.width().unwrap_or(0) > 0 => {
                is_joined(c, left, right)
            }
            _ => false,
        };
        if joins {
            self.out.push(c);
            self.previous = Some(c);
        } else {
            self.leave_out(c);
        }
    }

    fn variation(&mut self, c: char, next: Option<char>) {
        let stands = self.previous.is_some_and(|base| match self.reveals {
            true => selects_picture(c, base, next),
            false => !base.is_whitespace() && base.width().unwrap_or(0) > 0,
        });
        if stands && self.marks == 0 {
            self.out.push(c);
            self.previous = Some(c);
            self.marks = 1;
        } else {
            self.leave_out(c);
        }
    }

    fn mark(&mut self, c: char, next: Option<char>) {
        let stands = self.previous.is_some_and(|base| !base.is_whitespace());
        if stands && is_seen(self.previous, c, next) && self.marks < MARK_LIMIT {
            self.out.push(c);
            self.previous = Some(c);
            self.marks += 1;
        } else {
            self.leave_out(c);
        }
    }
}

/// The control picture of a C0 character.
fn control_picture(c: char) -> char {
    char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn harmless_text_is_borrowed() {
        for text in ["", "plain\ntext ~", "grün · 日本語 → 🦀", "e = mc²"] {
            assert!(matches!(sanitize(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn escape_sequences_are_dropped_whole() {
        let cases = [
            ("a\x1b[31mb\x1b[0m", "ab"),
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
            ("a\x1bP+q544e\x1b\\b", "ab"),
            ("a\x1b(Bb\x1b7c", "abc"),
            ("a\u{9b}2Jb\u{9d}0;x\u{9c}c", "abc"),
            ("a\x1b]0;never closed\nnext", "a\nnext"),
            ("a\x1b[38;5", "a"),
            ("a\x1b", "a"),
            ("a\x1b[31\nb", "a\nb"),
            ("a\x1b]8;;x\x1b[1mb", "ab"),
            ("a\x1b[31日b", "a日b"),
        ];
        for (text, clean) in cases {
            assert_eq!(sanitize(text), clean, "{text:?}");
        }
    }

    #[test]
    fn controls_are_made_visible() {
        assert_eq!(sanitize("a\0b\x08c\x7fd\re"), "a␀b␈c␡d␍e");
        assert_eq!(sanitize("a\r\nb\u{85}c"), "a\nb⟨U+0085⟩c");
    }

    #[test]
    fn tabs_go_to_the_next_stop() {
        assert_eq!(sanitize("\ta\tb\n12345\tx\n日\ty"), "    a   b\n12345   x\n日  y");
    }

    #[test]
    fn characters_that_reorder_or_smuggle_text_are_shown_by_number() {
        assert_eq!(sanitize("rm \u{202e}fdp.exe"), "rm ⟨U+202E⟩fdp.exe");
        assert_eq!(sanitize("hi\u{e0041}\u{e0042}\u{e0043}!"), "hi⟨U+E0041 +2⟩!");
        assert_eq!(sanitize("a\u{2028}b"), "a⟨U+2028⟩b");
    }

    #[test]
    fn invisible_characters_go_but_emoji_and_letters_stay_whole() {
        assert_eq!(sanitize("a\u{200b}b\u{feff}c\u{ad}d\u{200d}e"), "abcde");
        for text in ["👩\u{200d}💻 ok", "⚠\u{fe0f} warn", "e\u{301}", "👍🏽", "می\u{200c}خواهم", "🇪🇺"]
        {
            assert_eq!(sanitize(text), text);
        }
    }

    #[test]
    fn what_would_be_dropped_can_be_revealed() {
        let cases = [
            ("a\x1b]0;rm -rf ~\nb", "a␛]0;rm -rf ~\nb"),
            ("a\x1b[8mb\u{9d}c", "a␛[8mb⟨U+009D⟩c"),
            ("r\u{200b}m\u{feff}\u{ad}\u{200d}x", "r⟨U+200B⟩m⟨U+FEFF⟩⟨U+00AD⟩⟨U+200D⟩x"),
            ("\u{301}☂\u{fe0f}\u{fe0f}", "⟨U+0301⟩☂⟨U+FE0F⟩⟨U+FE0F⟩"),
            ("x\u{fe0f}\u{fe0f}\u{2800}", "x⟨U+FE0F⟩⟨U+FE0F⟩⟨U+2800⟩"),
            ("a\tb\r\nc", "a\tb␍\nc"),
            ("👩\u{200d}💻 می\u{200c}خواهم", "👩⟨U+200D⟩💻 می\u{200c}خواهم"),
            ("👍🏽🏽 ☝🏽 🏽", "👍⟨U+1F3FD⟩⟨U+1F3FD⟩ ☝⟨U+1F3FD⟩ ⟨U+1F3FD⟩"),
            (
                "./te\u{1161}st \u{378}\u{e000}# \u{11a8}",
                "./te⟨U+1161⟩st ⟨U+0378⟩⟨U+E000⟩# ⟨U+11A8⟩",
            ),
            ("\u{1112}\u{1161}\u{11ab}\u{11ab}", "\u{1112}\u{1161}\u{11ab}⟨U+11AB⟩"),
            ("ok\u{a0}# x\u{3000}y\u{2003}z", "ok⟨U+00A0⟩# x⟨U+3000⟩y⟨U+2003⟩z"),
        ];
        for (text, revealed) in cases {
            assert_eq!(reveal(text), revealed, "{text:?}");
            assert!(!sanitize(&reveal(text)).contains('\x1b'));
        }
    }

    #[test]
    fn each_blank_but_space_tab_and_newline_is_revealed() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_whitespace()) {
            let text = format!("a{c}b");
            let stays = matches!(c, ' ' | '\t' | '\n');
            assert_eq!(reveal(&text) == text, stays, "{}", c.escape_unicode());
            let clean = sanitize(&text).into_owned();
            assert_eq!(sanitize(&clean), clean, "{}", c.escape_unicode());
        }
        assert_eq!(sanitize("a\u{a0}b\u{3000}c"), "a\u{a0}b\u{3000}c");
    }

    #[test]
    fn no_character_without_a_width_or_a_meaning_passes_unrevealed() {
        let hidden = "\u{85}\u{ad}\u{34f}\u{378}\u{600}\u{61c}\u{115f}\u{1161}\u{17b4}\u{180e}\u{200b}\u{200d}\u{202e}\
            \u{2060}\u{2066}\u{2800}\u{3000}\u{3164}\u{d7c6}\u{e000}\u{fdd0}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{ffff}\
            \u{1d173}\u{e0041}\u{e0100}\u{f0000}\u{10ffff}";
        for c in hidden.chars() {
            let revealed = format!("a⟨U+{:04X}⟩b", u32::from(c));
            assert_eq!(reveal(&format!("a{c}b")), revealed);
        }
        // What one terminal draws in no column, and another in one or two.
        for c in
            "\u{2630}\u{324f}\u{2d7f}\u{ff9e}\u{fe0f}\u{17d8}\u{1d300}\u{1fadf}\u{302e}".chars()
        {
            assert_eq!(reveal(&format!("ok {c}# x")), format!("ok ⟨U+{:04X}⟩# x", u32::from(c)));
        }
        assert_eq!(reveal("ക\u{d4e}ക"), "ക⟨U+0D4E⟩ക");
        assert_eq!(reveal("க\u{bbe} a\u{302e}"), "க⟨U+0BBE⟩ a⟨U+302E⟩");
        assert_eq!(sanitize("க\u{bbe}"), "க\u{bbe}");
        let common = "e\u{301} हिन्दी ไทย שָׁלוֹם مُحَمَّد \u{1112}\u{1161}\u{11ab}";
        assert_eq!(reveal(common), common);
        for c in "éß字한☂👍€\u{301}".chars() {
            let text = format!("a{c}b");
            assert_eq!(reveal(&text), text, "{}", c.escape_unicode());
        }
    }

    #[test]
    fn a_pile_of_combining_marks_is_cut() {
        let pile = format!("z{}", "\u{301}".repeat(200));
        assert_eq!(sanitize(&pile).chars().count(), 1 + MARK_LIMIT);
        assert_eq!(sanitize("\u{301}x \u{301}y"), "x y");
    }

    #[test]
    fn each_line_end_in_a_line_has_a_sign() {
        assert_eq!(reveal_line("a\r\n\n b\tc\n"), "a␍␊␊ b␉c␊");
        assert_eq!(reveal_line(" a\u{2028}b\x1b[2J"), " a⟨U+2028⟩b␛[2J");
    }

    #[test]
    fn one_line_has_no_newline() {
        assert_eq!(one_line("a\r\n\nb\x1b[0m\nc"), "a b c");
    }

    proptest! {
        #[test]
        fn output_never_holds_a_control_character(text in any::<String>(), more in "[\\x00-\\x9f\\[\\];a-z0-9\u{202e}\u{200d}]{0,60}") {
            let text = text + &more;
            let clean = sanitize(&text);
            prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n'), "{clean:?}");
            prop_assert!(!clean.chars().any(|c| is_shown_by_number(c) || is_dropped(c)), "{clean:?}");
            let twice = sanitize(&clean).into_owned();
            prop_assert_eq!(twice.as_str(), &*clean);
        }

        #[test]
        fn lines_can_be_cleaned_one_by_one(text in "[\\x00-\\x9f\\[\\];a-z\u{301}\n]{0,80}") {
            let by_line: Vec<_> = text.split('\n').map(|line| sanitize(line.strip_suffix('\r').unwrap_or(line)).into_owned()).collect();
            let whole = sanitize(&text);
            let last_cr = text.ends_with('\r');
            prop_assert!(last_cr || whole == by_line.join("\n"));
        }
    }
}
