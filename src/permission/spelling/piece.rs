//! The parts of an open word, among them the bracket expressions of globs.

/// A part of an open word.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Char(char),
    /// `?`: any one character.
    One,
    /// `[…]`: one of these characters.
    Set(CharSet),
    /// `*`: any part of a name.
    Star,
    /// The value of this variable, or the folder that bash makes of this word with a `~`.
    Variable(String),
    /// Any text.
    Any,
    /// Any text, because there are more alternatives than the limit.
    Limit,
}

impl Piece {
    /// Whether it stands for the home of a user, or another folder that bash writes with a `~`.
    pub fn is_home(&self) -> bool {
        matches!(self, Self::Variable(name) if name == "HOME" || name.starts_with('~'))
    }
}

/// The characters that `[…]` in a glob stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct CharSet {
    negated: bool,
    ranges: Vec<(char, char)>,
    /// It includes a class such as `[:alpha:]`: letters beyond ASCII may match.
    has_class: bool,
}

/// Longer sets in certain text are not read. Characters.
const MAX_SET: usize = 256;

/// The ASCII characters of the classes that bash knows.
const CLASSES: &[(&str, &[(char, char)])] = &[
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("blank", &[(' ', ' '), ('\t', '\t')]),
    ("cntrl", &[('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')]),
    ("digit", &[('0', '9')]),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[(' ', ' '), ('\t', '\r')]),
    ("upper", &[('A', 'Z')]),
    ("word", &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

impl CharSet {
    /// Parses the set that begins with the `[` at the start of the text; also returns its length.
    /// `None` if it has no end, or contains quotes, expansions or unknown forms.
    pub fn read(text: &[char]) -> Option<(Self, usize)> {
        let mut at = 1;
        let negated = matches!(text.get(at), Some('!' | '^'));
        at += usize::from(negated);
        let mut set = Self { negated, ranges: Vec::new(), has_class: false };
        let first = at;
        loop {
            match (*text.get(at)?, text.get(at + 1)) {
                (']', _) if at > first => return Some((set, at + 1)),
                ('[', Some(':')) => {
                    let rest = &text[at + 2..];
                    let end = rest.iter().take(16).position(|c| *c == ':')?;
                    let name: String = rest[..end].iter().collect();
                    let (_, ranges) = CLASSES.iter().find(|(class, _)| *class == name)?;
                    (rest.get(end + 1) == Some(&']')).then_some(())?;
                    set.ranges.extend(*ranges);
                    set.has_class = true;
                    at += end + 4;
                }
                ('[', Some('.' | '=')) | ('\\' | '\'' | '"' | '$' | '`' | '/', _) => return None,
                (from, Some('-')) if text.get(at + 2).is_some_and(|c| *c != ']') => {
                    let to = text[at + 2];
                    if matches!(to, '[' | '\\' | '\'' | '"' | '$' | '`' | '/') {
                        return None;
                    }
                    set.ranges.push((from, to));
                    at += 3;
                }
                (c, _) => {
                    set.ranges.push((c, c));
                    at += 1;
                }
            }
        }
    }

    /// Whether the set may match the character.
    pub fn has(&self, c: char) -> bool {
        let is_listed = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        is_listed != self.negated || self.has_class && !c.is_ascii()
    }
}

/// The pieces, with the globs in their certain text parsed: many programs expand globs themselves.
pub fn globbed(pieces: &[Piece]) -> Vec<Piece> {
    let mut all = Vec::with_capacity(pieces.len());
    let last_bracket = pieces.iter().rposition(|piece| *piece == Piece::Char(']'));
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        at += 1;
        match piece {
            Piece::Char('*') => all.push(Piece::Star),
            Piece::Char('?') => all.push(Piece::One),
            Piece::Char('[') if last_bracket.is_some_and(|last| at <= last) => {
                let char = |piece: &Piece| match piece {
                    Piece::Char(c) => Some(*c),
                    _ => None,
                };
                let text: Vec<char> =
                    pieces[at - 1..].iter().take(MAX_SET).map_while(char).collect();
                match CharSet::read(&text) {
                    Some((set, length)) => {
                        all.push(Piece::Set(set));
                        at += length - 1;
                    }
                    // The widest possible.
                    None => {
                        all.push(Piece::Star);
                        at = pieces
                            .iter()
                            .skip(at)
                            .position(|piece| *piece == Piece::Char('/'))
                            .map_or(pieces.len(), |place| at + place);
                    }
                }
            }
            piece => all.push(piece.clone()),
        }
    }
    all
}
