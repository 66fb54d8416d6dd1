//! Folders that git makes: those of `git clone`, `git init` and `git worktree`. A rule covers those
//! inside the folder that the command runs in, but none among git's own files.

use std::path::PathBuf;

use super::place::leads_out;
use super::read_file::is_of_git;
use super::{Danger, GitCommand, Search, Spelling, find_within};
use crate::permission::script::Word;

/// Finds folders among the arguments that lie elsewhere.
pub fn find(git: GitCommand<'_>) -> Vec<Danger> {
    let GitCommand { name: sub_command, bases, .. } = git;
    if !matches!(sub_command, "clone" | "init" | "worktree") {
        return Vec::new();
    }
    let mut dangers = Vec::new();
    for (at, word) in git.arguments() {
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

/// Programs and sub-commands that clone.
const CLONERS: &[(&str, &[&str])] = &[
    ("gh", &["repo", "clone"]),
    ("gh", &["repo", "fork"]),
    ("gh", &["gist", "clone"]),
    ("glab", &["repo", "clone"]),
    ("git", &["lfs", "clone"]),
    ("git", &["p4", "clone"]),
    ("git", &["svn", "clone"]),
    ("hg", &["clone"]),
    ("hub", &["clone"]),
    ("jj", &["git", "clone"]),
    ("scalar", &["clone"]),
];

/// Finds the dangers of a program that hands its words to `git clone`, or clones in the same way.
pub fn find_handed_on(
    name: &str,
    words: &[Word],
    spelled: &[Spelling<'_>],
    bases: &[PathBuf],
) -> Vec<Danger> {
    let exact = |place: usize| spelled.get(place).and_then(Spelling::exact);
    let own = CLONERS.iter().filter(|(program, _)| *program == name);
    let found = own.into_iter().find_map(|(_, path)| {
        let is_path = |at: &usize| (0..path.len()).all(|step| exact(at + step) == Some(path[step]));
        (1..spelled.len()).find(is_path).map(|at| at + path.len())
    });
    let Some(start) = found else { return Vec::new() };
    let literal = |text: &str| Word { text: text.to_owned(), raw: text.to_owned(), literal: true };
    let mut places = vec![usize::MAX, usize::MAX];
    let mut clone = ["git", "clone"].map(literal).to_vec();
    let mut rest: Vec<usize> = (start..words.len()).collect();
    if matches!(name, "gh" | "glab") {
        // The repository, which may have a short name, then the folder. What is behind the mark is
        // for `git clone`.
        let mark = (start..words.len()).find(|at| exact(*at) == Some("--")).unwrap_or(words.len());
        let is_operand = |at: &usize| !exact(*at).is_some_and(|text| text.starts_with('-'));
        let operands: Vec<usize> = (start..mark).filter(is_operand).collect();
        let repository = operands.first().copied().unwrap_or(usize::MAX);
        let address = match exact(repository).unwrap_or("x") {
            address if address.contains(':') => address.to_owned(),
            name => format!("https://github.com/{name}"),
        };
        clone.push(literal(&address));
        places.push(repository);
        rest = operands.into_iter().skip(1).chain(mark + 1..words.len()).collect();
    }
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
