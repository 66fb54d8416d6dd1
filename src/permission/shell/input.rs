//! The words of here-documents and here-strings. Their reader may take each for the name of a file.

use std::collections::HashSet;

use crate::permission::script::Word;

/// Characters between the words of an input. Some readers take it for a script or a list.
const SEPARATORS: &str = "'\"()[];|&<>`,";

/// The words of a here-string, and the whole if it is assembled.
pub fn here_string_words(word: &Word) -> Vec<Word> {
    if word.literal {
        return words(&word.text, false);
    }
    let mut all = words(word.raw.trim_matches('"'), true);
    all.push(word.clone());
    all
}

/// The words of a here-document. `is_expanded` says that bash expands it.
pub fn heredoc_words(text: &str, is_expanded: bool) -> Vec<Word> {
    words(text, is_expanded)
}

/// Each word of the text once: as separated by blanks, without quotes, and as split at the separators.
fn words(text: &str, is_expanded: bool) -> Vec<Word> {
    let bare = |word: &str| word.replace(['\'', '"', '\\'], "");
    let parts = |word: &str| {
        let parts = word.split(|c| SEPARATORS.contains(c)).map(str::to_owned);
        [word.to_owned(), bare(word)].into_iter().chain(parts).collect::<Vec<_>>()
    };
    let mut seen = HashSet::new();
    let all = text.split_whitespace().flat_map(parts);
    let new = all.filter(|word| !word.is_empty() && seen.insert(word.clone()));
    new.map(|text| Word {
        literal: !(is_expanded && text.contains(['$', '`'])),
        raw: text.clone(),
        text,
    })
    .collect()
}
