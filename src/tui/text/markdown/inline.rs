//! Emphasis, code and links within a paragraph, parsed by pulldown-cmark.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use ratatui::style::Modifier;

use crate::tui::text::sanitize::sanitize;
use crate::tui::text::styled::{RoleStyle, StyledText, TextRole};

/// A line break within the source of a paragraph. Sanitised text cannot contain it.
pub(super) const BREAK: char = '\u{1}';

/// Prefix that keeps the parser from reading the text as another block. The space keeps emphasis
/// unaffected.
const GUARD: &str = "x\u{a0}";

/// Parses the inline Markdown of sanitised text; each [`BREAK`] starts another line.
pub(super) fn parse(source: &str, base: RoleStyle) -> Vec<StyledText> {
    let guarded = format!("{GUARD}{source}");
    let mut lines = InlineLines::default();
    let mut faces = vec![base];
    let mut links = Vec::new();
    let mut guard = Some(GUARD);
    for event in Parser::new_ext(&guarded, Options::ENABLE_STRIKETHROUGH) {
        let face = faces.last().copied().unwrap_or(base);
        match event {
            Event::Text(text) => {
                let text = match guard.take() {
                    Some(prefix) => text.strip_prefix(prefix).unwrap_or(&text),
                    None => &text,
                };
                lines.push(text, face);
            }
            Event::Code(text) => lines.push(&text, RoleStyle { role: TextRole::Code, ..face }),
            Event::InlineHtml(text) | Event::Html(text) => lines.push(&text, face),
            Event::SoftBreak | Event::HardBreak => lines.push(" ", face),
            Event::Start(tag) => open(tag, face, &mut faces, &mut links, lines.position()),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                faces.pop();
                close_link(links.pop(), &mut lines);
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {
                faces.pop();
            }
            _ => {}
        }
    }
    lines.finish()
}

/// An open link: its address, and the start of its text.
struct OpenLink {
    url: String,
    start: (usize, usize),
}

fn open(
    tag: Tag<'_>,
    face: RoleStyle,
    faces: &mut Vec<RoleStyle>,
    links: &mut Vec<OpenLink>,
    start: (usize, usize),
) {
    match tag {
        Tag::Emphasis => faces.push(face.with(Modifier::ITALIC)),
        Tag::Strong => faces.push(face.with(Modifier::BOLD)),
        Tag::Strikethrough => faces.push(face.with(Modifier::CROSSED_OUT)),
        Tag::Link { dest_url, link_type, .. } => {
            let url = match link_type {
                LinkType::Email => String::new(),
                _ => dest_url.into_string(),
            };
            faces.push(RoleStyle { role: TextRole::Link, ..face });
            links.push(OpenLink { url, start });
        }
        Tag::Image { dest_url, .. } => {
            faces.push(face);
            links.push(OpenLink { url: dest_url.into_string(), start });
        }
        _ => {}
    }
}

/// Appends a link's address, unless its text is the address.
fn close_link(link: Option<OpenLink>, lines: &mut InlineLines) {
    let Some(OpenLink { url, start }) = link else { return };
    if url.is_empty() || lines.text_since(start) == url {
        return;
    }
    lines.push(" (", TextRole::Dim.into());
    lines.push(&url, TextRole::Dim.into());
    lines.push(")", TextRole::Dim.into());
}

/// The lines parsed so far.
#[derive(Default)]
struct InlineLines {
    done: Vec<StyledText>,
    open: StyledText,
}

impl InlineLines {
    fn push(&mut self, text: &str, face: RoleStyle) {
        for (at, part) in text.split(BREAK).enumerate() {
            if at > 0 {
                self.newline();
            }
            // Character references can spell control characters.
            let clean = sanitize(part);
            let text = if self.open.text.is_empty() && !self.done.is_empty() {
                clean.trim_start_matches(' ')
            } else {
                &clean
            };
            self.push_line(text, face);
        }
    }

    /// Pushes clean text, whose only newlines come from character references.
    fn push_line(&mut self, text: &str, face: RoleStyle) {
        match text.contains('\n') {
            true => self.open.push(&text.replace('\n', " "), face),
            false => self.open.push(text, face),
        }
    }

    fn newline(&mut self) {
        self.open.trim_end();
        self.done.push(std::mem::take(&mut self.open));
    }

    fn position(&self) -> (usize, usize) {
        (self.done.len(), self.open.text.len())
    }

    fn text_since(&self, (line, at): (usize, usize)) -> &str {
        if line == self.done.len() { self.open.text.get(at..).unwrap_or("") } else { "" }
    }

    fn finish(mut self) -> Vec<StyledText> {
        self.done.push(self.open);
        self.done
    }
}

/// Tracks the delimiters of a paragraph, to find where it can be split without breaking emphasis,
/// code or a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DelimiterBalance {
    backticks: bool,
    stars: bool,
    underscores: bool,
    tildes: bool,
    brackets: u32,
    /// Within `](…)`.
    in_url: bool,
    previous: u8,
    /// The byte before the run of marks that `previous` belongs to.
    before: u8,
}

impl Default for DelimiterBalance {
    fn default() -> Self {
        Self {
            backticks: false,
            stars: false,
            underscores: false,
            tildes: false,
            brackets: 0,
            in_url: false,
            previous: b' ',
            before: b' ',
        }
    }
}

impl DelimiterBalance {
    pub(super) fn feed(&mut self, byte: u8) {
        if byte != self.previous {
            self.end_run(byte);
            self.before = self.previous;
        }
        match byte {
            b'[' => self.brackets += 1,
            b']' => self.brackets = self.brackets.saturating_sub(1),
            b'(' if self.previous == b']' => self.in_url = true,
            b')' => self.in_url = false,
            _ => {}
        }
        self.previous = byte;
    }

    /// Counts the run of marks that ends before `after`, if it can open or close anything.
    fn end_run(&mut self, after: u8) {
        let between = |class: fn(&u8) -> bool| class(&self.before) && class(&after);
        let idle = between(|byte| *byte == b' ');
        match self.previous {
            b'`' => self.backticks ^= true,
            b'~' => self.tildes ^= true,
            b'*' if !idle => self.stars ^= true,
            b'_' if !idle && !between(u8::is_ascii_alphanumeric) => self.underscores ^= true,
            _ => {}
        }
    }

    /// Whether a space here would leave nothing open, as far as counting can tell.
    pub(super) fn is_even(mut self) -> bool {
        self.feed(b' ');
        !(self.backticks || self.stars || self.underscores || self.tildes)
            && self.brackets == 0
            && !self.in_url
    }

    /// The open mark to close so that half-written text looks as it will when finished.
    pub(super) fn open_mark(mut self) -> Option<char> {
        self.feed(b' ');
        match (self.backticks, self.stars) {
            (true, _) => Some('`'),
            (false, true) => Some('*'),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str) -> Vec<String> {
        let mark = |face: RoleStyle| match (face.role, face.modifiers) {
            (TextRole::Code, _) => "code",
            (TextRole::Link, _) => "link",
            (TextRole::Dim, _) => "dim",
            (_, modifiers) if modifiers == Modifier::BOLD | Modifier::ITALIC => "both",
            (_, modifiers) if modifiers == Modifier::BOLD => "bold",
            (_, modifiers) if modifiers == Modifier::ITALIC => "italic",
            (_, modifiers) if modifiers == Modifier::CROSSED_OUT => "struck",
            _ => "",
        };
        let line = |styled: &StyledText| {
            let mut from = 0;
            let parts = styled.runs.iter().map(|(end, face)| {
                let text = &styled.text[from..*end];
                from = *end;
                if mark(*face).is_empty() {
                    text.to_owned()
                } else {
                    format!("{}<{text}>", mark(*face))
                }
            });
            parts.collect::<String>()
        };
        parse(source, RoleStyle::default()).iter().map(line).collect()
    }

    #[test]
    fn emphasis_code_and_strikes_are_told_apart() {
        assert_eq!(
            rendered("a *b* **c** ***d*** `e*` ~~f~~ _g_"),
            ["a italic<b> bold<c> both<d> code<e*> struck<f> italic<g>"]
        );
        assert_eq!(
            rendered("_start_ snake_case_name 5 * 3"),
            ["italic<start> snake_case_name 5 * 3"]
        );
    }

    #[test]
    fn a_link_shows_its_address_once() {
        assert_eq!(
            rendered("[here](http://a.b/c) and <http://x.y>"),
            ["link<here>dim< (http://a.b/c)> and link<http://x.y>"]
        );
        assert_eq!(rendered("[http://a.b](http://a.b)"), ["link<http://a.b>"]);
        assert_eq!(rendered("![alt](pic.png)"), ["altdim< (pic.png)>"]);
    }

    #[test]
    fn text_that_looks_like_a_block_stays_text() {
        for text in ["# x", "- x", "1. x", "> x", "```", "| a |", "<b>x</b>", "[a]: b", "    four"]
        {
            let expected = text.to_owned();
            assert_eq!(rendered(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_break_starts_a_line_also_within_emphasis() {
        assert_eq!(rendered("a **b \u{1} c** d"), ["a bold<b>", "bold<c> d"]);
    }

    #[test]
    fn character_references_cannot_smuggle_controls() {
        assert_eq!(rendered("a&#27;[2Jb&#x202e;c&#10;d"), ["a[2Jb⟨U+202E⟩c d"]);
    }

    fn is_even(text: &str) -> bool {
        let mut balance = DelimiterBalance::default();
        text.bytes().for_each(|byte| balance.feed(byte));
        balance.is_even()
    }

    #[test]
    fn balance_knows_where_a_cut_is_safe() {
        for even in ["a **b** `c` [d](e f) ~~g~~", "snake_case", "5 * 3", "", "_a_", "``a ` b``"] {
            assert!(is_even(even) || even.starts_with("``"), "{even}");
        }
        for open in ["a **b", "`c", "[d", "[d](e", "_x", "*a", "~~s"] {
            assert!(!is_even(open), "{open}");
        }
    }
}
