//! The texts that the variables of a line may hold, from the values that the line itself gives them.

use std::collections::{BTreeMap, BTreeSet};

use super::script::Script;
use super::spelling::{Piece, spell, spell_value};

/// Texts by the name of their variable.
pub type VariableTexts = BTreeMap<String, Vec<Vec<Piece>>>;

/// Maximum texts kept for one variable, and pieces in all of them; with more it may hold any text.
const MAX_TEXTS: usize = 1024;
const MAX_PIECES: usize = 1 << 16;

/// The texts of every variable that the line sets, in order. Each value counts besides those before
/// it, and one appended by `+=` counts alone and after each of them. In a line that repeats commands, one
/// that refers to a variable which the line assigns may be any text.
pub fn variable_texts(script: &Script) -> VariableTexts {
    let mut texts = VariableTexts::new();
    let values = script.all_values();
    let repeats = script.repeats_anywhere();
    let assigned = values.iter().filter(|value| !value.is_listed);
    let set: BTreeSet<&String> = assigned.map(|value| &value.name).collect();
    for value in values {
        let spelled = match value.is_listed {
            true => spell(std::slice::from_ref(&value.word)),
            false => spell_value(&value.word),
        };
        let spelled: Vec<_> = spelled.into_iter().map(|text| text.into_pieces()).collect();
        let refers = |text: &Vec<Piece>| {
            text.iter().any(|piece| matches!(piece, Piece::Variable(name) if set.contains(name)))
        };
        // A loop's own list is put together once.
        let grows = repeats && !value.is_listed && spelled.iter().any(refers);
        let mut found: Vec<Vec<Piece>> =
            spelled.iter().flat_map(|text| substituted(text, &texts)).collect();
        if value.is_listed {
            // Each word of a list is a value.
            let words: Vec<_> = found.iter().flat_map(|text| words_of(text)).collect();
            found.extend(words);
        }
        let own = texts.entry(value.name.clone()).or_default();
        if value.appends {
            let behind = |before: &Vec<Piece>| -> Vec<Vec<Piece>> {
                found.iter().map(|text| [before.as_slice(), text].concat()).collect()
            };
            let longer: Vec<_> = match own.len() * found.len() > MAX_TEXTS {
                true => vec![vec![Piece::Limit]],
                false => own.iter().flat_map(behind).collect(),
            };
            own.extend(longer);
        }
        // It may be longer after each iteration of a loop.
        if grows || value.appends && repeats {
            own.push(vec![Piece::Limit]);
        }
        own.append(&mut found);
        if own.len() > MAX_TEXTS || own.iter().map(Vec::len).sum::<usize>() > MAX_PIECES {
            *own = vec![vec![Piece::Limit]];
        }
    }
    texts
}

/// The words into which bash splits a value that is not quoted; none if it is one word.
pub fn words_of(text: &[Piece]) -> Vec<Vec<Piece>> {
    let is_blank = |piece: &Piece| matches!(piece, Piece::Char(' ' | '\t' | '\n'));
    match text.iter().any(is_blank) {
        true => text.split(is_blank).filter(|word| !word.is_empty()).map(<[_]>::to_vec).collect(),
        false => Vec::new(),
    }
}

/// The texts that known variables make of one. Unknown ones stay.
fn substituted(text: &[Piece], known: &VariableTexts) -> Vec<Vec<Piece>> {
    let mut all: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in text {
        let own = match piece {
            Piece::Variable(name) => known.get(name),
            _ => None,
        };
        let Some(own) = own else {
            all.iter_mut().for_each(|text| text.push(piece.clone()));
            continue;
        };
        if all.len() * own.len() > MAX_TEXTS {
            return vec![vec![Piece::Limit]];
        }
        let with = |text: &Vec<Piece>| -> Vec<Vec<Piece>> {
            own.iter().map(|value| [text.as_slice(), value].concat()).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}
