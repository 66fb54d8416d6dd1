//! Merge strategies, which git takes for the end of a program's name: `x/e` runs `git-merge-x/e` of the project.

use super::{Danger, GitCommand, Spelling};

/// The strategies built into git.
const STRATEGIES: &[&str] = &["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// Sub-commands that merge, and their letters that certainly take the rest of the word as a value.
/// A letter `s` chooses the strategy unless the entry ends with `!`.
const MERGES: &[(&str, &str)] =
    &[("cherry-pick", "!"), ("merge", "FSXm"), ("pull", "SX"), ("rebase", "CSXx"), ("revert", "!")];

/// Finds strategies that are not git's own after one of [`MERGES`].
pub fn find(git: GitCommand<'_>) -> Vec<Danger> {
    let merge = MERGES.iter().find(|(name, _)| *name == git.name);
    let Some((_, letters)) = merge else { return Vec::new() };
    let mut dangers = Vec::new();
    for (at, word) in git.arguments() {
        // Only the beginning of an open word is read: a partly unknown strategy is not git's own. A
        // `--` may be the value of the option before it, and so ends nothing.
        let text = word.beginning();
        let value = match strategy(&text, letters) {
            StrategyValue::None => continue,
            StrategyValue::Joined(_) if word.exact().is_none() => None,
            StrategyValue::Joined(value) => Some(value),
            StrategyValue::Next => git.words.get(at + 1).and_then(Spelling::exact),
        };
        if value.is_none_or(|value| !STRATEGIES.contains(&value)) {
            let option = "--strategy".to_owned();
            let written = text.split('=').next().unwrap_or_default().to_owned();
            dangers.push(Danger::new(option, written, at));
        }
    }
    dangers
}

/// Where a word gives the strategy.
enum StrategyValue<'a> {
    None,
    Joined(&'a str),
    /// The next word.
    Next,
}

fn strategy<'a>(word: &'a str, letters: &str) -> StrategyValue<'a> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        return match value {
            _ if name.len() < 3 || !"strategy".starts_with(name) => StrategyValue::None,
            Some(value) => StrategyValue::Joined(value),
            None => StrategyValue::Next,
        };
    }
    let Some(cluster) = word.strip_prefix('-').filter(|_| letters != "!") else {
        return StrategyValue::None;
    };
    let end = cluster.find(|letter| letters.contains(letter)).unwrap_or(cluster.len());
    match cluster[..end].find('s').map(|at| &cluster[at + 1..]) {
        None => StrategyValue::None,
        Some("") => StrategyValue::Next,
        Some(value) => StrategyValue::Joined(value),
    }
}
