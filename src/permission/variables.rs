//! The texts that the variables of a line may hold, from the values that the line itself gives them.

use std::collections::BTreeMap;

use super::script::Script;
use super::spelling::{Piece, spell, spell_value};

/// Texts by the name of their variable.
pub type VariableTexts = BTreeMap<String, Vec<Vec<Piece>>>;

/// Maximum texts kept for one variable, and pieces in all of them; with more it may hold any text.
const MAX_TEXTS: usize = 1024;
const MAX_PIECES: usize = 1 << 16;

/// The texts of every variable that the line sets, in order. Each value counts besides those before
/// it, and one appended by `+=` counts alone and after each of them.
pub fn variable_texts(script: &Script) -> VariableTexts {
    let mut texts = VariableTexts::new();
    for value in script.all_values() {
        let spelled = match value.is_listed {
            true => spell(std::slice::from_ref(&value.word)),
            false => spell_value(&value.word),
        };
        let spelled = spelled.into_iter();
        let mut found: Vec<Vec<Piece>> =
            spelled.flat_map(|text| substituted(&text.into_pieces(), &texts)).collect();
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
            // Once more for each iteration of a loop.
            if script.repeats_anywhere() {
                own.push(vec![Piece::Any]);
            }
        }
        own.append(&mut found);
        if own.len() > MAX_TEXTS || own.iter().map(Vec::len).sum::<usize>() > MAX_PIECES {
            *own = vec![vec![Piece::Limit]];
        }
    }
    texts
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
