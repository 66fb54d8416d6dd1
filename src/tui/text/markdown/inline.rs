//! Emphasis, code, links within one paragraph, by pulldown-cmark.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use ratatui::style::Modifier;

use super::row::{Face, Role, Styled};
use crate::tui::text::sanitize::sanitize;

/// Stands for a line break within the source of a paragraph. Sanitised text cannot hold it.
pub(super) const BREAK: char = '\u{1}';

/// Keeps the parser from taking the text for another kind of block. The space makes it neutral to emphasis.
const GUARD: &str = "x\u{a0}";

/// Parses the inline Markdown of sanitised text; each [`BREAK`] starts another line.
pub(super) fn parse(source: &str, base: Face) -> Vec<Styled> {
    let guarded = format!("{GUARD}{source}");
    let mut lines = Lines::default();
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
            Event::Code(text) => lines.push(&text, Face { role: Role::Code, ..face }),
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

/// A link that is open: where it leads, and where its text starts.
struct OpenLink {
    url: String,
    start: (usize, usize),
}

fn open(
    tag: Tag<'_>,
    face: Face,
    faces: &mut Vec<Face>,
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
            faces.push(Face { role: Role::Link, ..face });
            links.push(OpenLink { url, start });
        }
        Tag::Image { dest_url, .. } => {
            faces.push(face);
            links.push(OpenLink { url: dest_url.into_string(), start });
        }
        _ => {}
    }
}

/// Shows where a link leads, unless its text says so already.
fn close_link(link: Option<OpenLink>, lines: &mut Lines) {
    let Some(OpenLink { url, start }) = link else { return };
    if url.is_empty() || lines.text_since(start) == url {
        return;
    }
    lines.push(" (", Role::Dim.into());
    lines.push(&url, Role::Dim.into());
    lines.push(")", Role::Dim.into());
}

/// The lines made so far.
#[derive(Default)]
struct Lines {
    done: Vec<Styled>,
    open: Styled,
}

impl Lines {
    fn push(&mut self, text: &str, face: Face) {
        for (at, part) in text.split(BREAK).enumerate() {
            if at > 0 {
                self.newline();
            }
            // Character references can spell control characters.
            let clean = sanitize(part);
            let shown = if self.open.text.is_empty() && !self.done.is_empty() {
                clean.trim_start_matches(' ')
            } else {
                &clean
            };
            self.push_line(shown, face);
        }
    }

    /// Pushes clean text, in which only a character reference can have made a newline.
    fn push_line(&mut self, text: &str, face: Face) {
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

    fn finish(mut self) -> Vec<Styled> {
        self.done.push(self.open);
        self.done
    }
}

/// Follows the marks of a paragraph, to tell where it can be cut without cutting emphasis, code or a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Balance {
    backticks: bool,
    stars: bool,
    underscores: bool,
    tildes: bool,
    brackets: u32,
    /// Within `](…)`.
    in_url: bool,
    previous: u8,
    /// What stood before the run of marks that `previous` belongs to.
    before: u8,
}

impl Default for Balance {
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

impl Balance {
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

    /// Nothing would be open if a space came here, as far as counting can tell.
    pub(super) fn is_even(mut self) -> bool {
        self.feed(b' ');
        !(self.backticks || self.stars || self.underscores || self.tildes)
            && self.brackets == 0
            && !self.in_url
    }

    /// The mark that is open, where closing it makes half-written text look as it will.
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

    fn shown(source: &str) -> Vec<String> {
        let mark = |face: Face| match (face.role, face.modifiers) {
            (Role::Code, _) => "code",
            (Role::Link, _) => "link",
            (Role::Dim, _) => "dim",
            (_, modifiers) if modifiers == Modifier::BOLD | Modifier::ITALIC => "both",
            (_, modifiers) if modifiers == Modifier::BOLD => "bold",
            (_, modifiers) if modifiers == Modifier::ITALIC => "italic",
            (_, modifiers) if modifiers == Modifier::CROSSED_OUT => "struck",
            _ => "",
        };
        let line = |styled: &Styled| {
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
        parse(source, Face::default()).iter().map(line).collect()
    }

    #[test]
    fn emphasis_code_and_strikes_are_told_apart() {
        assert_eq!(
            shown("a *b* **c** ***d*** `e*` ~~f~~ _g_"),
            ["a italic<b> bold<c> both<d> code<e*> struck<f> italic<g>"]
        );
        assert_eq!(shown("_start_ snake_case_name 5 * 3"), ["italic<start> snake_case_name 5 * 3"]);
    }

    #[test]
    fn a_link_shows_its_address_once() {
        assert_eq!(
            shown("[here](http://a.b/c) and <http://x.y>"),
            ["link<here>dim< (http://a.b/c)> and link<http://x.y>"]
        );
        assert_eq!(shown("[http://a.b](http://a.b)"), ["link<http://a.b>"]);
        assert_eq!(shown("![alt](pic.png)"), ["altdim< (pic.png)>"]);
    }

    #[test]
    fn text_that_looks_like_a_block_stays_text() {
        for text in ["# x", "- x", "1. x", "> x", "```", "| a |", "<b>x</b>", "[a]: b", "    four"]
        {
            let expected = text.to_owned();
            assert_eq!(shown(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_break_starts_a_line_also_within_emphasis() {
        assert_eq!(shown("a **b \u{1} c** d"), ["a bold<b>", "bold<c> d"]);
    }

    #[test]
    fn character_references_cannot_smuggle_controls() {
        assert_eq!(shown("a&#27;[2Jb&#x202e;c&#10;d"), ["a[2Jb⟨U+202E⟩c d"]);
    }

    fn is_even(text: &str) -> bool {
        let mut balance = Balance::default();
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
