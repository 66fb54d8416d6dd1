//! The placeholders of xargs, find and the like, in whose place they put names and lines that they
//! read.

use std::borrow::Cow;

use super::mention::APPENDERS;
use crate::permission::program::base_name;
use crate::permission::script::Word;

/// The words of a command that `runner` starts, if that is one of these. A word with a placeholder
/// is known only at run time. The first one is the program.
pub fn open<'a>(runner: &[Word], words: &'a [Word]) -> Cow<'a, [Word]> {
    let reads_input = |word: &Word| APPENDERS.contains(&base_name(&word.text));
    let Some(at) = runner.iter().position(reads_input) else { return words.into() };
    let own = own_placeholder(&runner[at + 1..]);
    let is_open = |word: &&Word| {
        word.literal && (own.is_some_and(|own| word.text.contains(own)) || has_braces(&word.text))
    };
    let open = |word: &Word| match Some(word).filter(is_open) {
        Some(word) => {
            // Nothing certain is left of it but that it may be a path.
            let raw = if word.text.contains('/') { "\"$x/$x\"" } else { "\"$x\"" };
            Word { raw: raw.to_owned(), literal: false, ..word.clone() }
        }
        None => word.clone(),
    };
    let (program, rest) = words.split_at(words.len().min(1));
    program.iter().cloned().chain(rest.iter().map(open)).collect()
}

/// `{}`, `{/}`, `{//}`, `{.}`, `{/.}` and `{1}`.
fn has_braces(text: &str) -> bool {
    let is_placeholder = |(at, _): (usize, &str)| {
        let inner = text[at + 1..].split_once('}').map(|(inner, _)| inner);
        inner.is_some_and(|it| it.chars().all(|c| c.is_ascii_digit() || matches!(c, '/' | '.')))
    };
    text.match_indices('{').any(is_placeholder)
}

/// The placeholder that xargs is given.
fn own_placeholder(options: &[Word]) -> Option<&str> {
    options.iter().enumerate().find_map(|(at, word)| {
        let text = word.text.as_str();
        let next = || options.get(at + 1).map(|word| word.text.as_str());
        match text.strip_prefix("-I").or_else(|| text.strip_prefix("-J")) {
            Some("") => next(),
            Some(own) => Some(own),
            None => {
                let own = text.strip_prefix("--replace=").or_else(|| text.strip_prefix("-i"))?;
                Some(own).filter(|own| !own.is_empty())
            }
        }
    })
}
