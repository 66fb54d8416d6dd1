//! The bracket expressions of globs.

use super::char_set::CharSet;
use super::piece::Piece;

/// A piece of a word, and whether it is quoted.
pub struct Item {
    pub piece: Piece,
    pub is_quoted: bool,
}

/// Longer sets are not read. Characters.
const MAX_SET: usize = 256;

/// The pieces of a word, with its unquoted globs parsed.
pub fn with_globs(items: &[Item]) -> Vec<Piece> {
    let mut all = Vec::with_capacity(items.len());
    // A slash ends a bracket, quoted or not.
    for (at, part) in items.split(|item| item.piece == Piece::Char('/')).enumerate() {
        if at > 0 {
            all.push(Piece::Char('/'));
        }
        add_part(part, &mut all);
    }
    all
}

/// Adds the pieces of a part of a word between slashes.
fn add_part(items: &[Item], all: &mut Vec<Piece>) {
    // A glob may have been parsed that began within the brackets.
    let is_end = |item: &Item| matches!(item.piece, Piece::Char(']') | Piece::Set(_) | Piece::Star);
    let last_end = items.iter().rposition(is_end);
    let last_unknown = items.iter().rposition(|item| is_unknown(&item.piece));
    let last_quoted = items.iter().rposition(|item| item.is_quoted);
    let mut at = 0;
    while let Some(item) = items.get(at) {
        let is_behind = |place: &Option<usize>| place.is_some_and(|place| place > at);
        match &item.piece {
            Piece::Char('*') if !item.is_quoted => all.push(Piece::Star),
            Piece::Char('?') if !item.is_quoted => all.push(Piece::One),
            Piece::Char('[') if !item.is_quoted => {
                let end = last_end.filter(|last| *last > at);
                if let Some((set, length)) = end.and_then(|_| read_set(&items[at..])) {
                    all.push(Piece::Set(set));
                    at += length;
                    continue;
                }
                match end {
                    // Unknown text may end it, and what its quotes mean is lost.
                    _ if is_behind(&last_unknown) && is_behind(&last_quoted) => {
                        all.extend([Piece::Char('['), Piece::Any, Piece::Char(']')]);
                        return;
                    }
                    _ if is_behind(&last_unknown) => all.push(Piece::Char('[')),
                    // Any character, or the text as it stands, up to any of its possible ends.
                    Some(last) => {
                        all.push(Piece::Star);
                        at = last;
                    }
                    None => all.push(Piece::Char('[')),
                }
            }
            piece => all.push(piece.clone()),
        }
        at += 1;
    }
}

fn read_set(items: &[Item]) -> Option<(CharSet, usize)> {
    let char = |item: &Item| match item.piece {
        Piece::Char(c) => Some((c, item.is_quoted)),
        _ => None,
    };
    let text: Vec<_> = items.iter().take(MAX_SET).map_while(char).collect();
    CharSet::read(&text)
}

fn is_unknown(piece: &Piece) -> bool {
    matches!(piece, Piece::Any | Piece::Limit | Piece::Variable(_))
}

/// Whether a bracket is followed by unknown text, which may end it.
pub fn has_open_bracket(pieces: &[Piece]) -> bool {
    let is_open = |part: &[Piece]| {
        let start = part.iter().position(|piece| *piece == Piece::Char('['));
        start.is_some_and(|start| part[start..].iter().any(is_unknown))
    };
    pieces.split(|piece| *piece == Piece::Char('/')).any(is_open)
}

/// The pieces with `other` for each bracket that unknown text may end, and for what follows it up
/// to a slash.
pub fn with_open_brackets(pieces: &[Piece], other: &Piece) -> Vec<Piece> {
    let parts = pieces.split(|piece| *piece == Piece::Char('/')).map(|part| {
        let start = part.iter().position(|piece| *piece == Piece::Char('['));
        match start.filter(|start| part[*start..].iter().any(is_unknown)) {
            Some(start) => [&part[..start], std::slice::from_ref(other)].concat(),
            None => part.to_vec(),
        }
    });
    let parts: Vec<Vec<Piece>> = parts.collect();
    parts.join(&Piece::Char('/'))
}

/// The pieces, with the globs in their certain text parsed: many programs expand globs themselves.
pub fn globbed(pieces: &[Piece]) -> Vec<Piece> {
    let items = pieces.iter().map(|piece| Item { piece: piece.clone(), is_quoted: false });
    with_globs(&items.collect::<Vec<_>>())
}

/// The same, with backslashes that quote the next character: so bash reads a glob in the value of a
/// variable, and a program that expands globs itself. `None` if there is no backslash, or no glob.
pub fn escaped(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let is_glob = |piece: &Piece| {
        matches!(piece, Piece::Char('*' | '?' | '[') | Piece::Star | Piece::One | Piece::Set(_))
    };
    if !pieces.contains(&Piece::Char('\\')) || !pieces.iter().any(is_glob) {
        return None;
    }
    let (mut items, mut is_quoted) = (Vec::with_capacity(pieces.len()), false);
    for piece in pieces {
        if *piece == Piece::Char('\\') && !is_quoted {
            is_quoted = true;
            continue;
        }
        items.push(Item { piece: piece.clone(), is_quoted });
        is_quoted = false;
    }
    Some(with_globs(&items))
}
