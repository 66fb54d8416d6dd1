//! The characters to draw with, those for states, and their ASCII replacements for limited terminals.

use std::borrow::Cow;

use ratatui::buffer::Buffer;

use crate::protocol::{Charset, EnvOverlay, RunEnd, ascii_symbol};

/// Signs and lines, each one cell wide.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    pub(super) name: &'static str,
    /// The characters that the terminal takes beside these.
    charset: Charset,
    /// An agent's states.
    pub queued: &'static str,
    pub waits: &'static str,
    pub asks: &'static str,
    pub done: &'static str,
    pub partial: &'static str,
    pub cancelled: &'static str,
    pub failed: &'static str,
    pub empty: &'static str,
    /// One frame per 200 ms.
    pub spinner: &'static [&'static str],
    /// The mark of the focused pane.
    pub focus: &'static str,
    /// Before the prompt.
    pub prompt: &'static str,
    /// A pane's coloured edge.
    pub bar: &'static str,
    /// Before a tool's line.
    pub tool: &'static str,
    /// Where streamed text ends.
    pub caret: &'static str,
    pub bullet: &'static str,
    /// A to-do or task entry, open and done.
    pub task_open: &'static str,
    pub task_done: &'static str,
    pub rule: &'static str,
    /// The used part of a gauge, and the rest.
    pub gauge: &'static str,
    pub gauge_rest: &'static str,
    pub vertical: &'static str,
    /// The part of a border beside the visible lines.
    pub thumb: &'static str,
    pub cross: &'static str,
    pub top_left: &'static str,
    pub top_right: &'static str,
    pub bottom_left: &'static str,
    pub bottom_right: &'static str,
    /// A child's and the last child's branch.
    pub branch: &'static str,
    pub last_branch: &'static str,
    /// New lines below.
    pub down: &'static str,
    /// Between the pieces of a line.
    pub dot: &'static str,
    pub more: &'static str,
    /// Beside a row that continues the line above it.
    pub continued: &'static str,
}

/// The glyph before a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyph {
    Queued,
    Spinner,
    Waits,
    Asks,
    Done,
    Partial,
    Cancelled,
    Failed,
    Empty,
}

impl Glyph {
    /// The glyph as text. `frame` counts the spinner's steps; `None` stands still.
    pub fn sign(self, glyphs: &Glyphs, frame: Option<usize>) -> &'static str {
        match self {
            Self::Queued => glyphs.queued,
            Self::Spinner => {
                let frames = glyphs.spinner;
                frames.get(frame.unwrap_or(2) % frames.len().max(1)).copied().unwrap_or_default()
            }
            Self::Waits => glyphs.waits,
            Self::Asks => glyphs.asks,
            Self::Done => glyphs.done,
            Self::Partial => glyphs.partial,
            Self::Cancelled => glyphs.cancelled,
            Self::Failed => glyphs.failed,
            Self::Empty => glyphs.empty,
        }
    }

    /// The glyph for an end.
    pub fn of_end(end: &RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Done,
            RunEnd::MaxTurns { .. }
            | RunEnd::Budget { .. }
            | RunEnd::MaxTokens { .. }
            | RunEnd::TimeLimit { .. } => Self::Partial,
            RunEnd::Cancelled { .. } | RunEnd::Interrupted => Self::Cancelled,
            RunEnd::Failed { .. } | RunEnd::Refused => Self::Failed,
            RunEnd::Empty => Self::Empty,
        }
    }
}

/// Glyphs for nearly all terminals.
pub static UNICODE: Glyphs = Glyphs {
    name: "unicode",
    charset: Charset::Utf8,
    queued: "◌",
    waits: "◦",
    asks: "⚑",
    done: "✓",
    partial: "~",
    cancelled: "⊘",
    failed: "✗",
    empty: "∅",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    focus: "▸",
    prompt: "›",
    bar: "▌",
    tool: "●",
    caret: "▏",
    bullet: "•",
    task_open: "☐",
    task_done: "☑",
    rule: "─",
    gauge: "━",
    gauge_rest: "┈",
    vertical: "│",
    thumb: "┃",
    cross: "┼",
    top_left: "╭",
    top_right: "╮",
    bottom_left: "╰",
    bottom_right: "╯",
    branch: "├",
    last_branch: "└",
    down: "↓",
    dot: "·",
    more: "⋮",
    continued: "↪",
};

/// Glyphs for the Linux console, whose font has little beyond ASCII.
pub static ASCII: Glyphs = ASCII_GLYPHS;

/// Glyphs for terminals with another encoding than UTF-8, which get no other characters.
pub static ASCII_ONLY: Glyphs =
    Glyphs { name: "ascii-only", charset: Charset::Ascii, ..ASCII_GLYPHS };

const ASCII_GLYPHS: Glyphs = Glyphs {
    name: "ascii",
    charset: Charset::Utf8,
    queued: ".",
    waits: "o",
    asks: "!",
    done: "+",
    partial: "~",
    cancelled: "x",
    failed: "X",
    empty: "0",
    spinner: &["|", "/", "-", "\\"],
    focus: ">",
    prompt: ">",
    bar: "|",
    tool: "*",
    caret: "_",
    bullet: "*",
    task_open: "-",
    task_done: "+",
    rule: "-",
    gauge: "=",
    gauge_rest: ".",
    vertical: "|",
    thumb: "#",
    cross: "+",
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    branch: "|",
    last_branch: "`",
    down: "v",
    dot: "-",
    more: ":",
    continued: "\\",
};

impl Glyphs {
    /// Selects the glyphs by `TERM` and the locale. An unset locale is ignored.
    pub fn for_terminal(env: &EnvOverlay) -> &'static Self {
        match (Charset::from_env(env), env.non_empty("TERM")) {
            (Charset::Ascii, _) => &ASCII_ONLY,
            (_, Some("linux" | "dumb" | "vt100" | "vt220")) => &ASCII,
            _ => &UNICODE,
        }
    }

    /// Whether these are the signs of terminals without Unicode.
    pub fn is_ascii(&self) -> bool {
        self.down.is_ascii()
    }

    /// All signs, in one order for both sets. A spinner counts as its first frame.
    fn signs(&self) -> [&'static str; 31] {
        [
            self.queued,
            self.waits,
            self.asks,
            self.done,
            self.partial,
            self.cancelled,
            self.failed,
            self.empty,
            self.spinner[0],
            self.focus,
            self.prompt,
            self.bar,
            self.tool,
            self.caret,
            self.bullet,
            self.task_open,
            self.task_done,
            self.rule,
            self.vertical,
            self.thumb,
            self.cross,
            self.top_left,
            self.top_right,
            self.bottom_left,
            self.bottom_right,
            self.branch,
            self.last_branch,
            self.down,
            self.dot,
            self.more,
            self.continued,
        ]
    }

    /// Shows by number each character of a call that the screen draws as another one. Otherwise a block
    /// would look like the start of a comment, and two letters like each other. So is the `<` of letters
    /// that look like such a number.
    pub fn number<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.number_where(text, |_| true)
    }

    /// Like [`Self::number`], for a line that may hold signs of our own.
    pub fn number_in_line<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.number_where(text, |c| !is_own_sign(c))
    }

    fn number_where<'a>(&self, text: &'a str, is_other: impl Fn(char) -> bool) -> Cow<'a, str> {
        let is_drawn_as_another = |c: char| match self.charset {
            Charset::Ascii => true,
            Charset::Utf8 => ascii_for(c.encode_utf8(&mut [0; 4])).is_some(),
        };
        let is_numbered = |c: char| !c.is_ascii() && is_other(c) && is_drawn_as_another(c);
        let is_number = |at: usize| text[at..].starts_with("<U+");
        if !self.is_ascii() || !text.contains(is_numbered) && !text.contains("<U+") {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            match is_numbered(c) || is_number(at) {
                true => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
                false => out.push(c),
            }
        }
        Cow::Owned(out)
    }

    /// Replaces non-ASCII characters in drawn text, if these are the ASCII glyphs.
    pub fn replace_non_ascii(&self, buffer: &mut Buffer) {
        if !self.is_ascii() {
            return;
        }
        for cell in &mut buffer.content {
            if let Some(ascii) = ascii_for(cell.symbol()) {
                cell.set_symbol(ascii);
            }
        }
    }
}

/// ASCII replacement of a sign, whoever drew it. Letters of other scripts stay.
fn ascii_for(symbol: &str) -> Option<&'static str> {
    let (unicode, ascii) = (UNICODE.signs(), ASCII.signs());
    if let Some(at) = unicode.iter().position(|sign| *sign == symbol) {
        return Some(ascii[at]).filter(|ascii| *ascii != symbol);
    }
    ascii_symbol(symbol.chars().next()?)
}

/// Whether we write the sign ourselves: in the lines beside a call, or for a character of it.
fn is_own_sign(c: char) -> bool {
    matches!(c, '⟨' | '⟩' | '·' | '–' | '−' | '\u{2400}'..='\u{2421}')
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn glyphs(env: &[(&str, &str)]) -> &'static Glyphs {
        Glyphs::for_terminal(&env.iter().copied().collect())
    }

    #[test]
    fn the_linux_console_gets_ascii_and_all_others_unicode() {
        assert_eq!(glyphs(&[("TERM", "linux")]), &ASCII);
        assert_eq!(glyphs(&[("TERM", "xterm-256color")]), &UNICODE);
        assert_eq!(glyphs(&[]), &UNICODE);
    }

    #[test]
    fn a_locale_that_is_not_utf8_gets_ascii() {
        assert_eq!(glyphs(&[("LANG", "C")]), &ASCII_ONLY);
        assert_eq!(glyphs(&[("LANG", "C"), ("TERM", "linux")]), &ASCII_ONLY);
        assert_eq!(glyphs(&[("LANG", "C.UTF-8")]), &UNICODE);
    }

    #[test]
    fn what_is_drawn_as_another_character_has_its_number_in_a_call() {
        let text = "é █ · ⟨x⟩";
        assert_eq!(UNICODE.number(text), text);
        assert_eq!(ASCII.number(text), "é ⟨U+2588⟩ ⟨U+00B7⟩ ⟨U+27E8⟩x⟨U+27E9⟩");
        assert_eq!(ASCII.number_in_line(text), "é ⟨U+2588⟩ · ⟨x⟩");
        assert_eq!(ASCII_ONLY.number_in_line(text), "⟨U+00E9⟩ ⟨U+2588⟩ · ⟨x⟩");
        let letters = "a < b <U+00E9>";
        assert_eq!(UNICODE.number(letters), letters);
        for glyphs in [&ASCII, &ASCII_ONLY] {
            assert_eq!(glyphs.number(letters), "a < b ⟨U+003C⟩U+00E9>");
            assert_eq!(glyphs.number_in_line(letters), "a < b ⟨U+003C⟩U+00E9>");
        }
    }

    #[test]
    fn no_sign_is_left_beside_the_ascii_ones() {
        let text = format!("{}– — − … ↑ ← → ↳ ⟨U+202E⟩ ␍ ◐ █ ⣿ ▪ é 日", UNICODE.signs().concat());
        let mut buffer = Buffer::with_lines([text.as_str()]);
        UNICODE.replace_non_ascii(&mut buffer);
        assert_eq!(buffer, Buffer::with_lines([text.as_str()]));
        ASCII.replace_non_ascii(&mut buffer);
        let shown: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        let left: String = shown.chars().filter(|c| !c.is_ascii()).collect();
        assert_eq!(left, "é日", "{shown}");
    }

    #[test]
    fn every_frame_of_the_spinner_is_one_cell() {
        for set in [&UNICODE, &ASCII] {
            assert!(set.spinner.iter().all(|frame| frame.width() == 1));
            assert!(
                [set.asks, set.done, set.task_open, set.task_done]
                    .iter()
                    .all(|sign| sign.width() == 1)
            );
        }
    }
}
