//! The strategy of a merge, which git takes for the end of a program's name: `x/e` runs
//! `git-merge-x/e` of the project.

use super::{Danger, Spelling};

/// The strategies that git has itself.
const STRATEGIES: &[&str] = &["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// Sub-commands that merge, and their letters that certainly take the rest of the word as a value.
/// A letter `s` chooses the strategy unless the entry ends with `!`.
const MERGES: &[(&str, &str)] =
    &[("cherry-pick", "!"), ("merge", "FSXm"), ("pull", "SX"), ("rebase", "CSXx"), ("revert", "!")];

/// Finds strategies that are none of git's own behind `git` and one of [`MERGES`].
pub fn find(sub_command: &str, place: usize, words: &[Spelling<'_>]) -> Vec<Danger> {
    let merge = MERGES.iter().find(|(name, _)| *name == sub_command);
    let Some((_, letters)) = merge else { return Vec::new() };
    let mut dangers = Vec::new();
    for (at, word) in words.iter().enumerate().skip(place + 1) {
        // Of an open word the beginning is read: what is not known of a strategy makes it none of git's own.
        // A `--` may be the value of the option before it, and so ends nothing.
        let text = word.beginning();
        let value = match strategy(&text, letters) {
            Value::None => continue,
            Value::Joined(_) if word.exact().is_none() => None,
            Value::Joined(value) => Some(value),
            Value::Next => words.get(at + 1).and_then(Spelling::exact),
        };
        if value.is_none_or(|value| !STRATEGIES.contains(&value)) {
            let option = "--strategy".to_owned();
            let written = text.split('=').next().unwrap_or_default().to_owned();
            dangers.push(Danger::new(option, written, at));
        }
    }
    dangers
}

/// Where a word says the strategy.
enum Value<'a> {
    None,
    Joined(&'a str),
    /// It is the next word.
    Next,
}

fn strategy<'a>(word: &'a str, letters: &str) -> Value<'a> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        return match value {
            _ if name.len() < 3 || !"strategy".starts_with(name) => Value::None,
            Some(value) => Value::Joined(value),
            None => Value::Next,
        };
    }
    let Some(cluster) = word.strip_prefix('-').filter(|_| letters != "!") else {
        return Value::None;
    };
    let end = cluster.find(|letter| letters.contains(letter)).unwrap_or(cluster.len());
    match cluster[..end].find('s').map(|at| &cluster[at + 1..]) {
        None => Value::None,
        Some("") => Value::Next,
        Some(value) => Value::Joined(value),
    }
}
