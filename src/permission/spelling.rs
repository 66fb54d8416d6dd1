//! The words that a program may get from the words of a line. Restricting rules read these instead
//! of the line's own text: quotes, escapes and braces are resolved, and anything bash expands at
//! run time is an open piece.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::script::Word;
use super::shell::ansi_c;

mod braces;
mod bracket;
mod char_set;
mod piece;
mod quotes;
mod tilde;

use braces::{LIMIT, MAX_ALTERNATIVES, MAX_WORD, expand};
use bracket::{Item, with_globs};
pub use bracket::{escaped, globbed, has_open_bracket, with_open_brackets};
pub use piece::Piece;
use quotes::{after, ansi_end};

/// A word as a program may get it.
#[derive(Clone, Debug, PartialEq)]
pub enum Spelling<'a> {
    /// Exactly this.
    Plain(Cow<'a, str>),
    /// Parts of it are known only at run time.
    Open(Vec<Piece>),
}

impl Spelling<'_> {
    /// The text, if certain.
    pub fn exact(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Open(_) => None,
        }
    }

    /// Whether the word can turn out to be `text`.
    pub fn may_be(&self, text: &str) -> bool {
        match self {
            Self::Plain(own) => own == text,
            Self::Open(pieces) => fits(pieces, &text.chars().collect::<Vec<_>>()),
        }
    }

    /// Whether nothing is known of the word.
    pub fn is_unknown(&self) -> bool {
        let Self::Open(pieces) = self else { return false };
        !pieces.iter().any(|piece| matches!(piece, Piece::Char(c) if *c != '/'))
    }

    /// Whether the word is entirely the value of one variable or the output of one command.
    pub fn is_one_value(&self) -> bool {
        matches!(self, Self::Open(pieces) if matches!(pieces[..], [Piece::Variable(_) | Piece::Any]))
    }

    /// Whether the word holds the path of the home or of a working directory, which may be any text:
    /// `$PWD`, `~+`, `~user` and the like.
    pub fn holds_folder(&self) -> bool {
        let Self::Open(pieces) = self else { return false };
        let is_working_dir = |piece: &Piece| matches!(piece, Piece::Variable(name) if matches!(name.as_str(), "OLDPWD" | "PWD"));
        pieces.iter().any(|piece| piece.is_home() || is_working_dir(piece))
    }

    /// The certain part at the beginning of the word.
    pub fn beginning(&self) -> String {
        match self {
            Self::Plain(text) => text.to_string(),
            Self::Open(pieces) => {
                let certain =
                    |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
                pieces.iter().map_while(certain).collect()
            }
        }
    }

    /// The word with a question mark for each part known only at run time, and a leading home as
    /// bash writes it.
    pub fn outline(&self) -> String {
        match self {
            Self::Plain(text) => text.to_string(),
            Self::Open(pieces) => {
                let outline = pieces.iter().enumerate().map(|(at, piece)| match piece {
                    Piece::Char(c) => c.to_string(),
                    Piece::Variable(name) if at == 0 && piece.is_home() => match name.as_str() {
                        "HOME" => "~".to_owned(),
                        name => name.to_owned(),
                    },
                    _ => "?".to_owned(),
                });
                outline.collect()
            }
        }
    }

    /// Whether the certain part of the word holds a slash.
    pub fn has_slash(&self) -> bool {
        match self {
            Self::Plain(text) => text.contains('/'),
            Self::Open(pieces) => pieces.contains(&Piece::Char('/')),
        }
    }

    /// The part of the word after its last slash.
    pub fn base(&self) -> Spelling<'_> {
        match self {
            Self::Plain(text) => Spelling::Plain(super::program::base_name(text).into()),
            Self::Open(pieces) => {
                let slash = pieces.iter().rposition(|piece| *piece == Piece::Char('/'));
                Spelling::Open(pieces[slash.map_or(0, |place| place + 1)..].to_vec()).simplify()
            }
        }
    }

    /// The pieces of the word, one per character where the word is certain.
    pub fn into_pieces(self) -> Vec<Piece> {
        match self {
            Self::Plain(text) => text.chars().map(Piece::Char).collect(),
            Self::Open(pieces) => pieces,
        }
    }

    /// Makes it plain if every piece is certain.
    fn simplify(self) -> Self {
        let Self::Open(pieces) = &self else { return self };
        let text: Option<String> = pieces
            .iter()
            .map(|piece| if let Piece::Char(c) = piece { Some(*c) } else { None })
            .collect();
        text.map_or(self, |text| Spelling::Plain(text.into()))
    }
}

/// The words that the program may get; braces make several of one.
pub fn spell(words: &[Word]) -> Vec<Spelling<'_>> {
    let mut spelled = Vec::with_capacity(words.len());
    for word in words {
        if word.literal {
            spelled.push(Spelling::Plain(word.text.as_str().into()));
        } else {
            let alternatives = without_braces(word);
            spelled.extend(alternatives.iter().map(|text| decode(text, tilde::in_word(text))));
        }
    }
    spelled
}

/// The texts that a variable may get from an assignment of this word.
pub fn spell_value(word: &Word) -> Vec<Spelling<'_>> {
    if word.literal {
        return vec![Spelling::Plain(word.text.as_str().into())];
    }
    // Only some builtins expand braces in an assignment.
    let mut texts = without_braces(word);
    let raw: Vec<char> = word.raw.chars().collect();
    if raw.len() <= MAX_WORD && !texts.contains(&raw) {
        texts.push(raw);
    }
    texts.iter().map(|text| decode(text, Some(0))).collect()
}

fn without_braces(word: &Word) -> Vec<Vec<char>> {
    let mut room = MAX_ALTERNATIVES;
    expand(word.raw.chars().collect(), &mut room)
}

/// The file that a word names by its place in the home, such as `~/a`, with no other expansion.
pub fn file_in_home(word: &Word, home: Option<&Path>) -> Option<PathBuf> {
    let spelled = spell(std::slice::from_ref(word));
    let [Spelling::Open(pieces)] = &spelled[..] else { return None };
    let (first, rest) = pieces.split_first()?;
    let certain = |piece: &Piece| if let Piece::Char(c) = piece { Some(*c) } else { None };
    let is_home = matches!(first, Piece::Variable(name) if name == "HOME");
    let below = rest.iter().map(certain).collect::<Option<String>>().filter(|_| is_home)?;
    match below.trim_start_matches('/') {
        "" => home.map(Path::to_owned),
        rest if below.starts_with('/') => Some(home?.join(rest)),
        _ => None,
    }
}

/// The line without quotes, escapes and line continuations, for searching words in it.
pub fn unquoted(line: &str) -> String {
    let text: Vec<char> = line.chars().collect();
    let mut plain = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(&c) = text.get(at) {
        match (c, text.get(at + 1)) {
            ('\\', Some('\n')) => at += 2,
            ('$', Some('\'')) => {
                let end = ansi_end(&text, at + 2);
                plain.push_str(&ansi(&text[at..(end + 1).min(text.len())]));
                at = end + 1;
            }
            ('\\' | '\'' | '"', _) => at += 1,
            _ => {
                plain.push(c);
                at += 1;
            }
        }
    }
    plain
}

/// The text to search for words, with a blank before the one in `${name:-word}` and the like, so
/// that it is a word of its own.
pub fn separate_defaults(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("${") {
        let inner = &rest[place + 2..];
        // `${!name` and `${#name`, the names `@`, `*` and so on, and a subscript.
        let name = inner.strip_prefix(['!', '#', '@', '*', '?', '$', '-']).unwrap_or(inner);
        let name = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let behind = name.strip_prefix('[').and_then(|index| index.split_once(']'));
        let behind = behind.map_or(name, |(_, behind)| behind);
        let word =
            behind.trim_start_matches([':', '-', '+', '=', '?', '%', '#', '/', '^', ',', '@', '~']);
        plain.push_str(&rest[..rest.len() - word.len()]);
        plain.push(' ');
        rest = word;
    }
    plain.push_str(rest);
    plain
}

/// A rough reading of a line: its commands, split at unquoted blanks and operators.
pub fn segments(line: &str) -> Vec<Vec<Word>> {
    let text: Vec<char> = line.chars().collect();
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), Vec::new());
    if text.len() > MAX_WORD {
        return all;
    }
    let close = |word: &mut Vec<char>, words: &mut Vec<Word>| {
        if !word.is_empty() {
            words.push(rough(std::mem::take(word), words.is_empty()));
            // A word that only opens a command is no part of it.
            if words.last().is_some_and(|word| OPENERS.contains(&word.raw.as_str()))
                && words.len() == 1
            {
                words.clear();
            }
        }
    };
    let mut at = 0;
    while at < text.len() {
        let end = after(&text, at);
        match text[at] {
            ' ' | '\t' => close(&mut word, &mut words),
            ';' | '&' | '|' | '\n' | '(' | ')' => {
                close(&mut word, &mut words);
                all.push(std::mem::take(&mut words));
            }
            _ => word.extend(&text[at..end]),
        }
        at = end;
    }
    close(&mut word, &mut words);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

/// Words that open a command.
const OPENERS: &[&str] =
    &["!", "{", "if", "then", "elif", "else", "do", "while", "until", "time", "coproc", ""];

/// A word of a rough reading. An assignment before a command has no text.
fn rough(raw: Vec<char>, is_first: bool) -> Word {
    let raw: String = raw.into_iter().collect();
    let name = raw.split('=').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if is_first && name.len() < raw.len() && !name.is_empty() && name.chars().all(is_name) {
        return Word { text: String::new(), raw: String::new(), literal: false };
    }
    let text = match decode(&raw.chars().collect::<Vec<_>>(), None).exact() {
        Some(text) => text.to_owned(),
        None => raw.clone(),
    };
    Word { text, raw, literal: false }
}

/// Whether the pieces can produce the text. In a text that is not plain ASCII, `?` and brackets
/// count as `*`: how many characters it has depends on the locale.
pub fn fits(pieces: &[Piece], text: &[char]) -> bool {
    if has_open_bracket(pieces) {
        return fits(&with_open_brackets(pieces, &Piece::Any), text);
    }
    let counts = |piece: &Piece| matches!(piece, Piece::One | Piece::Set(_));
    if pieces.iter().any(counts) && !text.iter().all(char::is_ascii) {
        let wider = |piece: &Piece| if counts(piece) { Piece::Star } else { piece.clone() };
        return fits(&pieces.iter().map(wider).collect::<Vec<_>>(), text);
    }
    let (mut at, mut place) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    let is_any = |piece: &Piece| {
        matches!(piece, Piece::Any | Piece::Limit | Piece::Star | Piece::Variable(_))
    };
    while place < text.len() {
        match pieces.get(at) {
            Some(piece) if is_any(piece) => {
                retry = Some((at + 1, place));
                at += 1;
            }
            Some(Piece::One) => (at, place) = (at + 1, place + 1),
            Some(Piece::Set(set)) if set.has(text[place]) => (at, place) = (at + 1, place + 1),
            Some(Piece::Char(c)) if *c == text[place] => (at, place) = (at + 1, place + 1),
            _ => match retry {
                Some((after, start)) => {
                    retry = Some((after, start + 1));
                    (at, place) = (after, start + 1);
                }
                None => return false,
            },
        }
    }
    pieces[at.min(pieces.len())..].iter().all(is_any)
}

/// Removes the quotes of one word, which is the value of an assignment from `value` on.
fn decode(text: &[char], value: Option<usize>) -> Spelling<'static> {
    let mut items: Vec<Item> = Vec::new();
    let quoted = |piece| Item { piece, is_quoted: true };
    let open = |piece| Item { piece, is_quoted: false };
    let is_colon = |item: &Item| item.piece == Piece::Char(':') && !item.is_quoted;
    let mut at = 0;
    while at < text.len() {
        let end = after(text, at);
        let inner = at + 1..end.saturating_sub(1).max(at + 1);
        match (text[at], text.get(at + 1)) {
            ('\\', Some('\n')) => {}
            ('\\', Some(c)) => items.push(quoted(Piece::Char(*c))),
            ('\'', _) => items.extend(text[inner].iter().map(|c| quoted(Piece::Char(*c)))),
            ('"', _) => {
                let mut pieces = Vec::new();
                double(&text[inner], &mut pieces);
                items.extend(pieces.into_iter().map(quoted));
            }
            ('$', Some('\'')) => match ansi_c::decode(&text[at..end].iter().collect::<String>()) {
                Some(text) => items.extend(text.chars().map(|c| quoted(Piece::Char(c)))),
                None => items.push(quoted(Piece::Any)),
            },
            ('$', Some('"')) => {}
            ('$', Some(_)) if end > at + 1 => items.push(open(expansion(&text[at..end]))),
            ('`', _) | ('<' | '>', Some('(')) => items.push(open(Piece::Any)),
            (LIMIT, _) => items.push(open(Piece::Limit)),
            ('~', _) if tilde::is_behind_subscript(text, at) => {
                items.push(open(Piece::Limit));
                at = tilde::folder(text, at).1;
                continue;
            }
            ('~', _) if tilde::is_at(text, at, value, items.last().is_some_and(is_colon)) => {
                let (piece, end) = tilde::folder(text, at);
                items.push(quoted(piece));
                at = end;
                continue;
            }
            (c, _) => items.push(open(Piece::Char(c))),
        }
        at = end;
    }
    Spelling::Open(with_globs(&items)).simplify()
}

/// `$name` and `${name}` as that variable, any other expansion as any text.
fn expansion(text: &[char]) -> Piece {
    let text: String = text.iter().skip(1).collect();
    let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(&text);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.chars().all(is_name) { Piece::Variable(name.to_owned()) } else { Piece::Any }
}

/// The inside of double quotes.
fn double(text: &[char], pieces: &mut Vec<Piece>) {
    let mut at = 0;
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('\\', Some('\n')) => at += 2,
            ('\\', Some(c @ ('$' | '`' | '"' | '\\'))) => {
                pieces.push(Piece::Char(*c));
                at += 2;
            }
            ('`', _) => {
                pieces.push(Piece::Any);
                at = after(text, at);
            }
            ('$', Some(c)) if *c != '\'' && after(text, at) > at + 1 => {
                let end = after(text, at);
                pieces.push(expansion(&text[at..end]));
                at = end;
            }
            (c, _) => {
                pieces.push(Piece::Char(c));
                at += 1;
            }
        }
    }
}

/// The text of `$'…'`. One without an end, or with an escape that bash interprets differently, stays unchanged.
fn ansi(quoted: &[char]) -> String {
    let raw: String = quoted.iter().collect();
    let is_closed = raw.len() > 2 && raw.ends_with('\'');
    let inner = raw.get(2..raw.len() - usize::from(is_closed)).unwrap_or_default();
    ansi_c::decode(&format!("$'{inner}'")).unwrap_or_else(|| inner.to_owned())
}

#[cfg(test)]
mod tests;
