//! Programs whose name is put together from values of variables that the line itself sets.

use crate::permission::script::{Script, Word};
use crate::permission::spelling::{Piece, Spelling, spell};
use crate::permission::variables;
use crate::permission::wrapper;

/// Texts that the values of variables make of one word; with more of them it may be any program.
const MAX_TEXTS: usize = 1024;

/// Values by the names of their variables.
type Values = Vec<(String, Vec<Piece>)>;

/// Whether a program that the line starts can be this one, going by the values that the line sets.
#[must_use]
pub fn may_start(script: &Script, program: &str) -> bool {
    let named = |(name, texts): (String, Vec<Vec<Piece>>)| {
        texts.into_iter().map(move |text| (name.clone(), text))
    };
    let values: Values = variables::texts(script).into_iter().flat_map(named).collect();
    let may_be = |word: &Word| {
        let spelled = spell(std::slice::from_ref(word)).into_iter();
        let texts: Vec<_> = spelled.map(Spelling::into_pieces).collect();
        // With separators of its own, or cut by an expansion such as `${name#part}`, a part of a
        // value is the name.
        let is_cut = word.raw.contains("${") && texts.iter().any(|it| it.contains(&Piece::Any));
        let takes_parts = is_cut || values.iter().any(|(name, _)| name == "IFS");
        let holds = || values.iter().any(|(_, value)| text_of(value).contains(program));
        takes_parts && holds() || texts.iter().any(|text| is_made(text, program, &values))
    };
    !values.is_empty()
        && script.all_commands().into_iter().any(|command| {
            let (starts, _) = wrapper::starts(&command.words);
            let words = starts.into_iter().filter_map(|start| command.words.get(start));
            words.filter(|word| !word.literal).any(may_be)
        })
}

/// Whether values in the word make the name of the program of it.
fn is_made(word: &[Piece], program: &str, values: &Values) -> bool {
    let is_set = |piece: &Piece| matches!(piece, Piece::Variable(name) if values.iter().any(|(own, _)| own == name));
    let is_blank = |piece: &Piece| matches!(piece, Piece::Char(c) if c.is_whitespace());
    let is_name = |text: Vec<Piece>| {
        let first = text.split(is_blank).find(|part| !part.is_empty()).unwrap_or_default();
        let name = Spelling::Open(first.to_vec());
        let base = name.base();
        base.may_be(program) && (!base.is_unknown() || first.contains(&Piece::Limit))
    };
    word.iter().any(is_set)
        && substituted(word, values).is_none_or(|texts| texts.into_iter().any(is_name))
}

fn text_of(pieces: &[Piece]) -> String {
    let char = |piece: &Piece| if let Piece::Char(c) = piece { *c } else { '?' };
    pieces.iter().map(char).collect()
}

/// The texts that the values make of one; `None` where they are too many.
fn substituted(text: &[Piece], values: &Values) -> Option<Vec<Vec<Piece>>> {
    let mut texts: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in text {
        let own: Vec<&[Piece]> = match piece {
            Piece::Variable(name) => {
                let own = values.iter().filter(|(own, _)| own == name);
                own.map(|(_, value)| value.as_slice()).collect()
            }
            _ => Vec::new(),
        };
        if own.is_empty() {
            texts.iter_mut().for_each(|text| text.push(piece.clone()));
            continue;
        }
        if texts.len() * own.len() > MAX_TEXTS {
            return None;
        }
        let with = |text: &Vec<Piece>| -> Vec<Vec<Piece>> {
            own.iter().map(|value| [text.as_slice(), value].concat()).collect()
        };
        texts = texts.iter().flat_map(with).collect();
    }
    Some(texts)
}
