//! Repositories that git talks to. A local one is a folder whose settings and hooks name programs
//! that git runs: any folder of the project that looks like a repository is one.

use std::path::PathBuf;

use super::{Danger, GitCommand, Spelling};
use crate::disk::{AddressHost, checkout_root, has_remote};

/// Sub-commands with the options that take the next word as a value, and those without a value that
/// often precede the repository. After any other option, the next word may be its value or the
/// repository.
const SPEAKERS: &[(&str, &str, &str)] = &[
    (
        "push",
        "-o --push-option --receive-pack --exec",
        "-u -f -n -q -v -d -4 -6 --set-upstream --force --dry-run --tags --follow-tags --delete --all --mirror --prune \
         --atomic --no-verify --force-with-lease --force-if-includes --quiet --verbose --porcelain --progress",
    ),
    (
        "fetch",
        "-o --server-option --depth --deepen --shallow-since --shallow-exclude -j --jobs --refmap --filter",
        "-p -P -t -n -f -q -v -a --prune --prune-tags --tags --no-tags --force --all --append --unshallow --quiet \
         --verbose --dry-run --progress",
    ),
    (
        "pull",
        "-s --strategy -X --strategy-option --depth -j --jobs --server-option",
        "-r -q -v -f -p -t --rebase --no-rebase --ff --ff-only --no-ff --autostash --no-edit --prune --tags --quiet \
         --verbose --force --squash --no-commit",
    ),
    (
        "ls-remote",
        "-o --server-option --sort",
        "-t -q -h --heads --branches --tags --refs --quiet --symref",
    ),
    (
        "clone",
        "-b --branch -o --origin --depth -j --jobs --reference --reference-if-able --filter --shallow-since",
        "-q -v -n -l -s --quiet --verbose --bare --mirror --recurse-submodules --recursive --single-branch --no-tags \
         --no-checkout --progress",
    ),
];

/// Finds local repositories among the arguments. A name that is no path counts if it is a folder in
/// one of the bases, since git uses it when no remote has the name.
pub fn find(git: GitCommand<'_>) -> Vec<Danger> {
    let GitCommand { name: sub_command, place, words, bases } = git;
    if let Some((_, values, flags)) = SPEAKERS.iter().find(|(name, ..)| *name == sub_command) {
        let operands = operands(&words[place + 1..], values, flags);
        let operands = operands.into_iter().map(|at| at + place + 1);
        return operands.filter_map(|at| danger(&words[at], at, bases)).collect();
    }
    let next_operand = |from: usize| {
        let skipped = words.iter().skip(from).take_while(|word| is_option(word));
        from + skipped.count()
    };
    let part = next_operand(place + 1);
    let start = match (sub_command, words.get(part).and_then(Spelling::exact)) {
        ("remote", Some("show" | "prune" | "update")) => part + 1,
        // The first operand is the name of the new remote.
        ("remote", Some("add" | "set-url")) => next_operand(part + 1) + 1,
        // Here a folder must be written as one.
        ("submodule", Some("add" | "set-url")) => {
            let paths = words
                .iter()
                .enumerate()
                .skip(part + 1)
                .filter(|(_, word)| is_path(&word.outline()));
            let paths = paths.map(|(at, word)| local(word, at));
            return paths.chain(addresses(words, part + 1)).collect();
        }
        _ => return Vec::new(),
    };
    let all = words.iter().enumerate().skip(start).filter(|(_, word)| !is_option(word));
    all.filter_map(|(at, word)| danger(word, at, bases)).collect()
}

fn is_option(word: &Spelling<'_>) -> bool {
    word.beginning().starts_with('-')
}

/// The positions of the words that may be the repository: the first operand, and those before it
/// that may be the value of an option.
fn operands(words: &[Spelling<'_>], values: &str, flags: &str) -> Vec<usize> {
    let is = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let is_flags = |word: &str| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let mut letters = letters.into_iter().flat_map(str::chars).peekable();
        letters.peek().is_some() && letters.all(|letter| is(flags, &format!("-{letter}")))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.beginning();
        if !text.starts_with('-') || text == "-" {
            found.push(at);
            break;
        }
        let whole = text.contains('=') || text == "--" || is(flags, &text) || is_flags(&text);
        if is(values, &text) {
            at += 1;
        } else if !whole && words.get(at + 1).is_some_and(|next| !is_option(next)) {
            at += 1;
            found.push(at);
        }
        at += 1;
    }
    found
}

/// The words from this one on that are addresses of no other machine.
fn addresses(words: &[Spelling<'_>], from: usize) -> impl Iterator<Item = Danger> {
    let all = words.iter().enumerate().skip(from);
    all.filter(|(_, word)| !is_option(word)).filter_map(|(at, word)| address(word, at))
}

/// The danger of an address that may be one of this machine: git talks to what the machine of that
/// name starts.
fn address(word: &Spelling<'_>, at: usize) -> Option<Danger> {
    let host = AddressHost::parse(word.exact()?)?;
    let written = || word.exact().unwrap_or_default();
    (host != AddressHost::Domain)
        .then(|| Danger::new("an address that may be on this machine", written(), at))
}

fn danger(word: &Spelling<'_>, at: usize, bases: &[PathBuf]) -> Option<Danger> {
    let text = word.outline();
    let is_folder = || match word.exact() {
        Some(name) => {
            // Git looks for both names, and if it may run anywhere, either may exist.
            let exists = |base: &PathBuf| {
                [name.to_owned(), format!("{name}.git")]
                    .iter()
                    .any(|name| !name.is_empty() && base.join(name).symlink_metadata().is_ok())
            };
            // It goes to the top of the checkout first.
            let tops = bases.iter().map(|base| checkout_root(base));
            // A name that is no remote may be a folder by the time the command runs.
            let is_address = name.contains(':');
            let may_come = |base: &PathBuf| !is_address && has_remote(base, name) == Some(false);
            bases.is_empty() && !is_address
                || bases.iter().any(exists)
                || tops.into_iter().any(|it| exists(&it))
                || bases.iter().any(may_come)
        }
        // A glob can match the name of a folder.
        None => true,
    };
    match is_path(&text) || has_folder(&text) || is_folder() {
        true => Some(local(word, at)),
        false => address(word, at),
    }
}

/// Whether the word is written as a path, or as the address of one.
fn is_path(text: &str) -> bool {
    let file = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    file || text.starts_with(['/', '.', '~'])
}

/// Whether a slash precedes any colon: git does not take such a word for an address.
fn has_folder(text: &str) -> bool {
    text.find('/').is_some_and(|slash| text.find(':').is_none_or(|colon| slash < colon))
}

/// The rule names the repository as in the command.
fn local(word: &Spelling<'_>, place: usize) -> Danger {
    let written = word.exact().unwrap_or_default().to_owned();
    Danger::new("a repository on this machine", written, place)
}
