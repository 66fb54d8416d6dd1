//! Archives that tar writes outside the folder or has another program fetch, and folders that it enters.

use std::path::{Path, PathBuf};

use super::place::leads_out_or_is_hidden;
use super::{Danger, Spelling};

/// Letters that take a value in GNU tar and in BSD tar: the same word may end with a letter in one
/// and continue with a value in the other.
const VALUES: [&str; 2] = ["CFHIKLNTVXbfg", "CITWXbfs"];

/// Long options with such a value, and the equivalent letter.
const LONG: &[(&str, char)] = &[("--file", 'f'), ("--directory", 'C'), ("--cd", 'C')];

/// Long options that write an archive.
const WRITES: &[&str] =
    &["--create", "--append", "--update", "--catenate", "--concatenate", "--delete"];

/// Finds values of `-f` and `-C` that lead outside the folder, one of `bases`, or into a hidden one.
pub fn find(words: &[Spelling<'_>], bases: &[PathBuf]) -> Vec<Danger> {
    // A list of names may contain a folder to enter.
    let is_list = |text: &str| text.starts_with("--files");
    let lists = words.iter().enumerate().filter(|(_, word)| is_list(&word.outline()));
    let lists = lists.map(|(place, _)| Danger::new("--files-from", "--files-from", place));
    lists.chain(VALUES.iter().flat_map(|letters| find_with(letters, words, bases))).collect()
}

/// The same where these letters take a value.
fn find_with(letters: &str, words: &[Spelling<'_>], bases: &[PathBuf]) -> Vec<Danger> {
    let (values, writes) = read(letters, words);
    let mut dangers = Vec::new();
    // Targets of the folders entered so far, from the first one. A later name may start there.
    let mut entered = PathBuf::new();
    let mut is_known = true;
    for (letter, value, place) in values {
        let word = &words[place];
        let leads_out = |path: &str| leads_out_or_is_hidden(path, word, bases);
        let leads_out = |path: &str| {
            let from_there = entered.join(path);
            leads_out(path)
                || entered != Path::new("")
                    && (!is_known || from_there.to_str().is_none_or(leads_out))
        };
        let is_danger = match letter {
            // A name with a colon is a file on another machine, for which tar starts a program.
            'f' => value.contains(':') || writes && leads_out(&value),
            _ => leads_out(&value),
        };
        if letter == 'C' {
            is_known &= word.exact().is_some();
            entered.push(&value);
        }
        if is_danger {
            dangers.push(Danger::new(format!("-{letter}"), value, place));
        }
    }
    dangers
}

/// The values of the relevant options with their positions, and whether an archive is written.
fn read(letters: &str, words: &[Spelling<'_>]) -> (Vec<(char, String, usize)>, bool) {
    let (mut values, mut writes, mut at) = (Vec::new(), false, 1);
    while let Some(word) = words.get(at) {
        let text = word.outline();
        let place = at;
        at += 1;
        if let Some((name, value)) = long_option(&text) {
            writes |= name.len() > 3 && WRITES.iter().any(|option| option.starts_with(name));
            let known = LONG.iter().find(|(option, _)| name.len() > 3 && option.starts_with(name));
            let Some((_, letter)) = known else { continue };
            match value {
                Some(value) => values.push((*letter, value.to_owned(), place)),
                None => {
                    values.extend(words.get(at).map(|next| value_behind(*letter, next, at)));
                    at += 1;
                }
            }
            continue;
        }
        let dashed = text.strip_prefix('-');
        let cluster = match dashed {
            Some(cluster) => cluster,
            // The first word needs no dash, and the values of its letters follow one by one.
            None if place == 1 => text.as_str(),
            None => continue,
        };
        for (index, letter) in cluster.char_indices() {
            writes |= "Acru".contains(letter);
            if !letters.contains(letter) {
                continue;
            }
            let rest = &cluster[index + letter.len_utf8()..];
            if dashed.is_some() && !rest.is_empty() {
                values.push((letter, rest.to_owned(), place));
                break;
            }
            values.extend(words.get(at).map(|next| value_behind(letter, next, at)));
            at += 1;
        }
    }
    values.retain(|(letter, ..)| matches!(letter, 'f' | 'C'));
    (values, writes)
}

/// The word after a letter. One that looks like an option counts as a folder, whatever the letter:
/// the letter may be the value of a long option before it.
fn value_behind(letter: char, word: &Spelling<'_>, place: usize) -> (char, String, usize) {
    let text = word.outline();
    let is_option = text.len() > 1 && text.starts_with('-');
    (if is_option { 'C' } else { letter }, text, place)
}

fn long_option(text: &str) -> Option<(&str, Option<&str>)> {
    let is_long = text.starts_with("--") && text.len() > 2;
    is_long.then(|| match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    })
}
