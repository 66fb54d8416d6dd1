//! The characters of a bracket expression.

/// The characters that `[…]` in a glob stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct CharSet {
    /// As bash leaves it in a word that matches no file.
    pub text: String,
    negated: bool,
    /// The characters that it lists, those of classes among them.
    listed: Vec<(char, char)>,
    /// Ranges other than of digits. Which characters one has depends on the locale.
    ranges: Vec<(char, char)>,
}

/// Longer classes are not read. Characters.
const MAX_CLASS: usize = 16;

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
    /// Parses the set that begins with the `[` at the start of the text, whose characters each say
    /// whether they are quoted; also returns its length. `None` if its end is uncertain, or its form
    /// unknown.
    pub fn read(text: &[(char, bool)]) -> Option<(Self, usize)> {
        let char = |at: usize| text.get(at).copied();
        let negated = matches!(char(1), Some(('!' | '^', false)));
        let first = 1 + usize::from(negated);
        let mut set = Self { text: String::new(), negated, listed: Vec::new(), ranges: Vec::new() };
        let mut at = first;
        loop {
            let (from, is_quoted) = char(at)?;
            match (from, is_quoted, char(at + 1), char(at + 2)) {
                (']', false, ..) if at > first => {
                    set.text = text[..=at].iter().map(|(c, _)| *c).collect();
                    return Some((set, at + 1));
                }
                ('[', false, Some((':' | '.' | '=', false)), _) => {
                    at += set.add_class(&text[at..])?;
                    // A range may begin with it.
                    if matches!(char(at), Some(('-', false))) {
                        return None;
                    }
                }
                ('\\' | '/', false, ..) => return None,
                (_, _, Some(('-', false)), Some((to, is_quoted))) if to != ']' || is_quoted => {
                    if matches!(to, '[' | '\\' | '/') && !is_quoted {
                        return None;
                    }
                    let is_certain = from.is_ascii_digit() && to.is_ascii_digit();
                    let ranges = if is_certain { &mut set.listed } else { &mut set.ranges };
                    ranges.push((from, to));
                    at += 3;
                }
                _ => {
                    set.listed.push((from, from));
                    at += 1;
                }
            }
        }
    }

    /// Adds the `[:class:]`, `[.c.]` or `[=c=]` at the start of the text; returns its length.
    fn add_class(&mut self, text: &[(char, bool)]) -> Option<usize> {
        let (mark, _) = *text.get(1)?;
        let inner = text.iter().skip(2).take(MAX_CLASS);
        let text: Vec<char> =
            inner.map_while(|(c, is_quoted)| (!is_quoted).then_some(*c)).collect();
        let end = text.windows(2).position(|two| two == [mark, ']'])?;
        match (mark, &text[..end]) {
            (':', name) => {
                let name: String = name.iter().collect();
                let (_, ranges) = CLASSES.iter().find(|(class, _)| *class == name)?;
                self.listed.extend(*ranges);
            }
            (_, [c]) => self.listed.push((*c, *c)),
            _ => return None,
        }
        Some(end + 4)
    }

    /// Whether the set may match the ASCII character.
    pub fn has(&self, c: char) -> bool {
        let is_listed = self.listed.iter().any(|(from, to)| (*from..=*to).contains(&c));
        match self.negated {
            true => !is_listed,
            false => is_listed || self.ranges.iter().any(|range| may_have(*range, c)),
        }
    }
}

/// Whether the range may have the character in some locale. Within letters of one case, that may be
/// the same letters of the other case, and else any.
fn may_have((from, to): (char, char), c: char) -> bool {
    let both = |is: fn(&char) -> bool| is(&from) && is(&to);
    let is_letters = both(char::is_ascii_lowercase) || both(char::is_ascii_uppercase);
    let lower = |c: char| c.to_ascii_lowercase();
    !is_letters || (lower(from)..=lower(to)).contains(&lower(c))
}
