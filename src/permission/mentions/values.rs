//! The texts that bash makes of the values of variables: the names that globs in them match, and
//! what `${name%word}` leaves of them.

use std::path::PathBuf;

use super::lookup::{BLANK, FileLookup, mark_blank};
use crate::permission::script::Word;
use crate::permission::spelling::{Piece, escaped, fits, globbed};

/// Maximum names for one variable that are globs themselves; with more it may hold any text.
const MAX_GLOB_NAMES: usize = 16;
/// Maximum texts that are left of the values of one variable; with more it may be any text.
const MAX_REMAINDERS: usize = 32;
/// Characters that begin a glob.
const GLOB_CHARS: [char; 3] = ['*', '?', '['];

impl FileLookup<'_> {
    /// Adds to the values of each variable the names that its globs match and that are globs
    /// themselves: where the variable is unquoted, bash expands them once more.
    pub(super) fn add_glob_names(&mut self) {
        for name in self.values.keys().cloned().collect::<Vec<_>>() {
            let values = self.values.get(&name).cloned().unwrap_or_default();
            let mut globs: Vec<Vec<Piece>> =
                values.iter().flat_map(|text| globs_in(text)).collect();
            let mut added: Vec<Vec<Piece>> = Vec::new();
            let mut at = 0;
            while let Some(glob) = globs.get(at).cloned() {
                at += 1;
                let names: Vec<String> = self.names(&glob).concat();
                for text in names.iter().filter(|text| text.contains(GLOB_CHARS)) {
                    let value: Vec<Piece> = text.chars().map(Piece::Char).map(mark_blank).collect();
                    if !added.contains(&value) {
                        globs.extend(globs_in(&value));
                        added.push(value);
                    }
                }
                if added.len() > MAX_GLOB_NAMES {
                    added = vec![vec![Piece::Any]];
                    break;
                }
            }
            self.values.entry(name).or_default().extend(added);
        }
    }

    /// The names that the glob matches in each of the bases, as bash writes them.
    fn names(&mut self, glob: &[Piece]) -> Vec<Vec<String>> {
        let is_absolute = glob.first() == Some(&Piece::Char('/'));
        let names = |lookup: &mut Self, base: &PathBuf| {
            let found = lookup.matches(base, glob);
            let start = if is_absolute { String::new() } else { base.to_string_lossy().into() };
            let names = found.iter().filter_map(|path| {
                let text = path.to_string_lossy();
                let name = text.strip_prefix(&start)?;
                Some(if is_absolute { name } else { name.trim_start_matches('/') }.to_owned())
            });
            names.collect()
        };
        self.bases.clone().iter().map(|base| names(self, base)).collect()
    }

    /// The word with a variable of its own for each `${name#word}` and `${name%word}`, which holds
    /// what these leave of the values that the line gives the other; also the names of these
    /// variables. `None` if it has no such part, or quotes that may hide one.
    pub(super) fn without_trims(&mut self, word: &Word) -> Option<(Word, Vec<String>)> {
        if word.literal || !word.raw.contains("${") || word.raw.contains(['\'', '\\', '`']) {
            return None;
        }
        let (mut text, mut rest, mut made) = (String::new(), word.raw.as_str(), Vec::new());
        while let Some((before, (inner, behind))) =
            rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            let length = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, trim) = inner.split_at(length.unwrap_or(inner.len()));
            let left = match trim.starts_with(['#', '%']) {
                true => self.remainders(name, trim),
                false => None,
            };
            let inner = match left {
                Some(left) => {
                    let mut names = (0..).map(|at| format!("{name}_{at}"));
                    let is_free = |name: &String| {
                        !self.values.contains_key(name) && !word.raw.contains(name.as_str())
                    };
                    let free = names.find(is_free).unwrap_or_default();
                    self.values.insert(free.clone(), left);
                    made.push(free.clone());
                    free
                }
                None => inner.to_owned(),
            };
            text.push_str(&format!("{before}${{{inner}}}"));
            rest = behind;
        }
        text.push_str(rest);
        let word = Word { raw: text, ..word.clone() };
        (!made.is_empty()).then_some((word, made))
    }

    /// Trims the values of a variable by the pattern of `#word` or `%word`, in every way that it may
    /// match. `None` if the line sets no such variable.
    fn remainders(&mut self, name: &str, trim: &str) -> Option<Vec<Vec<Piece>>> {
        let values = self.values.get(name)?.clone();
        let pattern: Vec<Piece> =
            trim.trim_start_matches(['#', '%']).chars().map(Piece::Char).collect();
        let pattern = globbed(&pattern);
        let mut left: Vec<Vec<Piece>> = Vec::new();
        for value in values {
            let texts = self.texts_of_value(&value, self.listed.contains(name));
            let texts = texts.iter().flat_map(|text| match text {
                Some(text) => remainders(text, trim.starts_with('#'), &pattern),
                None => vec![vec![Piece::Any]],
            });
            for text in texts {
                if !left.contains(&text) {
                    left.push(text);
                }
            }
            if left.len() > MAX_REMAINDERS {
                return Some(vec![vec![Piece::Any]]);
            }
        }
        Some(left)
    }

    /// The texts that a variable with this value may hold: the value, each part of it between blanks,
    /// and the names that the globs in these match, which take their place in the words of a loop.
    /// `None` stands for any text.
    fn texts_of_value(&mut self, value: &[Piece], is_listed: bool) -> Vec<Option<Vec<char>>> {
        let char = |piece: &Piece| match piece {
            Piece::Char(c) => Some(*c),
            Piece::Star => Some('*'),
            Piece::One => Some('?'),
            Piece::Set(_) | Piece::Variable(_) | Piece::Any | Piece::Limit => None,
        };
        let names: Vec<Vec<String>> =
            globs_in(value).iter().flat_map(|glob| self.names(glob)).collect();
        let is_replaced = is_listed && !names.is_empty() && names.iter().all(|it| !it.is_empty());
        let parts = value.split(|piece| *piece == BLANK).collect::<Vec<_>>();
        let whole = (parts.len() > 1).then_some(value).into_iter();
        let written = whole.chain(parts).filter(|_| !(is_replaced && has_glob(value)));
        let mut texts: Vec<_> = written.map(|text| text.iter().map(char).collect()).collect();
        let char = |c| char(&mark_blank(Piece::Char(c)));
        texts.extend(names.concat().iter().map(|name| name.chars().map(char).collect()));
        texts
    }
}

/// The parts of a value between blanks that are globs, and known otherwise.
fn globs_in(value: &[Piece]) -> Vec<Vec<Piece>> {
    let is_open = |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit | Piece::Variable(_));
    let parts = value.split(|piece| *piece == BLANK);
    let parts = parts.flat_map(|part| std::iter::once(globbed(part)).chain(escaped(part)));
    parts.filter(|part| has_glob(part) && !part.iter().any(is_open)).collect()
}

/// Whether the text is a glob.
pub fn has_glob(text: &[Piece]) -> bool {
    text.iter().any(|piece| matches!(piece, Piece::Star | Piece::One | Piece::Set(_)))
}

/// Trims a text at its start or its end, in every way that the pattern may match.
fn remainders(text: &[char], is_start: bool, pattern: &[Piece]) -> Vec<Vec<Piece>> {
    let splits = (0..=text.len()).map(|at| text.split_at(at));
    let parts = splits.map(|(start, end)| if is_start { (start, end) } else { (end, start) });
    let pieces = |text: &[char]| text.iter().copied().map(Piece::Char).collect();
    let fitting = parts.filter(|(off, _)| fits(pattern, off));
    let left: Vec<Vec<Piece>> = fitting.map(|(_, rest)| pieces(rest)).collect();
    if left.is_empty() { vec![pieces(text)] } else { left }
}
