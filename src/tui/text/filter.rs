//! Filters the rows of lists by what was typed: names letter by letter, other words as they are.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

/// The rank of a word in a name over one in other text.
const NAME_RANK: u32 = 1 << 16;

/// The text that filters a list. Each of its words must be in a row's name, perhaps with other
/// letters between, or literally in the row's other text.
pub struct TextFilter {
    words: Vec<[Atom; 2]>,
    matcher: Matcher,
}

impl TextFilter {
    pub fn new(typed: &str) -> Self {
        let atom = |word: &str, kind| {
            Atom::new(word, CaseMatching::Ignore, Normalization::Smart, kind, false)
        };
        let words = typed.split_whitespace();
        let words =
            words.map(|word| [AtomKind::Fuzzy, AtomKind::Substring].map(|kind| atom(word, kind)));
        let mut config = Config::DEFAULT;
        config.prefer_prefix = true;
        Self { words: words.collect(), matcher: Matcher::new(config) }
    }

    /// Ranks a row, higher is better; `None` if it does not match.
    pub fn rank(&mut self, name: &str, rest: &str) -> Option<u32> {
        let (mut name_letters, mut rest_letters) = (Vec::new(), Vec::new());
        let name = Utf32Str::new(name, &mut name_letters);
        let rest = Utf32Str::new(rest, &mut rest_letters);
        let mut rank = 0;
        for [fuzzy, literal] in &self.words {
            rank += match fuzzy.score(name, &mut self.matcher) {
                Some(score) => NAME_RANK + u32::from(score),
                None => literal.score(rest, &mut self.matcher).map(|_| 0)?,
            };
        }
        Some(rank)
    }

    /// The rows that match, best first; rows of the same rank keep their order. `text` is a row's name
    /// and its other text.
    pub fn matching<T>(&mut self, rows: Vec<T>, text: impl Fn(&T) -> (&str, &str)) -> Vec<T> {
        if self.words.is_empty() {
            return rows;
        }
        let ranked = rows.into_iter().filter_map(|row| {
            let (name, rest) = text(&row);
            Some((self.rank(name, rest)?, row))
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_by_key(|(rank, _)| Reverse(*rank));
        ranked.into_iter().map(|(_, row)| row).collect()
    }

    /// A row's name with the matching letters in the style `hit`.
    pub fn name_spans(&mut self, name: &str, plain: Style, hit: Style) -> Vec<Span<'static>> {
        self.spans(name, 0, plain, hit)
    }

    /// A row's other text with the matching letters in the style `hit`.
    pub fn rest_spans(&mut self, rest: &str, plain: Style, hit: Style) -> Vec<Span<'static>> {
        self.spans(rest, 1, plain, hit)
    }

    fn spans(&mut self, text: &str, kind: usize, plain: Style, hit: Style) -> Vec<Span<'static>> {
        let mut hits = Vec::new();
        let mut letters = Vec::new();
        let haystack = Utf32Str::new(text, &mut letters);
        for word in &self.words {
            let mut found = Vec::new();
            if word[kind].indices(haystack, &mut self.matcher, &mut found).is_some() {
                hits.append(&mut found);
            }
        }
        if hits.is_empty() {
            return vec![Span::styled(text.to_owned(), plain)];
        }
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (at, letter) in (0u32..).zip(text.graphemes(true)) {
            let style = if hits.contains(&at) { hit } else { plain };
            match spans.last_mut() {
                Some(last) if last.style == style => last.content.to_mut().push_str(letter),
                _ => spans.push(Span::styled(letter.to_owned(), style)),
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Stylize;

    use super::*;

    fn matching<'a>(typed: &str, rows: &[(&'a str, &'a str)]) -> Vec<&'a str> {
        let found = TextFilter::new(typed).matching(rows.to_vec(), |row| *row);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn names_match_letter_by_letter_and_other_text_as_it_is() {
        let rows = [("doctor", "check keys"), ("compact", "make room"), ("cost", "tokens")];
        assert_eq!(matching("", &rows), ["doctor", "compact", "cost"]);
        assert_eq!(matching("co", &rows), ["compact", "cost", "doctor"], "beginnings first");
        assert_eq!(matching("cpt", &rows), ["compact"]);
        assert_eq!(matching("KEYS", &rows), ["doctor"]);
        assert_eq!(matching("kys", &rows), [""; 0]);
        assert_eq!(matching("room com", &rows), ["compact"], "each word anywhere");
        assert_eq!(matching("dé", &[("Déjà", "")]), ["Déjà"]);
    }

    #[test]
    fn the_matching_letters_are_marked() {
        let (plain, hit) = (Style::new(), Style::new().bold());
        let mut filter = TextFilter::new("dtr");
        let spans = filter.name_spans("doctor", plain, hit);
        assert_eq!(spans, ["d".bold(), "oc".into(), "t".bold(), "o".into(), "r".bold()]);
        assert_eq!(filter.rest_spans("doctor", plain, hit), ["doctor".into()]);
        let spans = TextFilter::new("é日").name_spans("aé日", plain, hit);
        assert_eq!(spans, ["a".into(), "é日".bold()]);
        assert_eq!(TextFilter::new("").name_spans("x", plain, hit), ["x".into()]);
    }
}
