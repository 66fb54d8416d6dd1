//! Folders that git makes: those of `git clone`, `git init` and `git worktree`. A rule covers those
//! inside the folder that the command runs in, but none among git's own files.

use std::path::PathBuf;

use super::place::leads_out;
use super::read_file::is_of_git;
use super::{Danger, Search, Spelling, find_within};
use crate::permission::script::Word;

/// Finds folders after the sub-command at `place` that lie elsewhere.
pub fn find(
    sub_command: &str,
    place: usize,
    words: &[Spelling<'_>],
    bases: &[PathBuf],
) -> Vec<Danger> {
    if !matches!(sub_command, "clone" | "init" | "worktree") {
        return Vec::new();
    }
    let mut dangers = Vec::new();
    for (at, word) in words.iter().enumerate().skip(place + 1) {
        let Some(text) = word.exact().filter(|text| !text.starts_with('-')) else { continue };
        let written = |option: &str| Danger::new(option, text, at);
        let mut names = vec![text.to_owned()];
        if sub_command == "clone" {
            names.extend(names_in_address(text));
        }
        let plain = |name: &String| Spelling::Plain(name.clone().into());
        let is_outside = |name: &String| leads_out(name, &plain(name), bases);
        if names.iter().any(|name| is_of_git(&plain(name), bases)) {
            dangers.push(written("git's own files"));
        } else if sub_command != "worktree" && names.iter().any(is_outside) {
            dangers.push(written("a folder outside"));
        }
    }
    dangers
}

/// The names that git may give to the folder of a clone without a second word. Git strips ports,
/// blanks and endings by rules of its own, so each part of the address counts, in every form.
fn names_in_address(address: &str) -> impl Iterator<Item = String> {
    let parts = address.split(['/', ':', '@']).map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let stem = part.trim_end_matches(".bundle").trim_end_matches(".git").trim();
        [part.to_owned(), stem.to_owned(), format!("{stem}.git")]
    })
}

/// Finds the dangers of `gh repo clone` and `fork`: what is behind the mark is for `git clone`.
pub fn find_gh(words: &[Word], spelled: &[Spelling<'_>], bases: &[PathBuf]) -> Vec<Danger> {
    let exact = |place: usize| spelled.get(place).and_then(Spelling::exact);
    let is_clone = |place: &usize| {
        exact(*place) == Some("repo") && matches!(exact(place + 1), Some("clone" | "fork"))
    };
    let Some(place) = (1..spelled.len()).find(is_clone).map(|place| place + 1) else {
        return Vec::new();
    };
    let literal = |text: &str| Word { text: text.to_owned(), raw: text.to_owned(), literal: true };
    let mark = (place..spelled.len()).find(|at| exact(*at) == Some("--")).unwrap_or(words.len());
    let is_operand = |at: &usize| !exact(*at).is_some_and(|text| text.starts_with('-'));
    // The repository, which gh may know by a short name, then the folder.
    let operands: Vec<usize> = (place + 1..mark).filter(is_operand).collect();
    let repository = operands.first().copied().unwrap_or(usize::MAX);
    let address = format!("https://github.com/{}", exact(repository).unwrap_or("x"));
    let mut places = vec![usize::MAX, usize::MAX, repository];
    let mut clone = ["git", "clone", &address].map(literal).to_vec();
    let rest = operands.into_iter().skip(1).chain(mark + 1..words.len());
    for at in rest {
        clone.push(words[at].clone());
        places.push(at);
    }
    // The rule names the sub-command.
    let found = find_within(&clone, bases, Search::default())
        .into_iter()
        .filter(|danger| danger.place != 1);
    let at = |danger: &Danger| places.get(danger.place).copied().unwrap_or(usize::MAX);
    found.map(|danger| Danger { place: at(&danger), ..danger }).collect()
}
