//! Git settings. Many name a program that git runs later, so a rule that does not name `config` covers only a few.

use super::{Danger, Spelling, Word};
use crate::permission::program::Program;

/// Options and words that make the command read-only.
const READS: &[&str] = &[
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
    "--list",
    "-l",
];

/// Options without a value that neither choose another file nor write more than the value.
/// `--comment`, `--edit` and the options for whole sections are excluded: they write something
/// other than a setting, or one under another name.
const FLAGS: &[&str] = &[
    "--global",
    "--system",
    "--local",
    "--worktree",
    "--add",
    "--replace-all",
    "--unset",
    "--unset-all",
    "--all",
    "--append",
    "--fixed-value",
    "--regexp",
    "--bool",
    "--int",
    "--bool-or-int",
    "--bool-or-str",
    "--path",
    "--expiry-date",
    "--no-type",
    "-z",
    "--null",
    "--name-only",
    "--show-origin",
    "--show-scope",
    "--show-names",
    "--includes",
    "--no-includes",
];

/// Options with a value, after `=` or in the next word.
const VALUES: &[&str] = &["--type", "-t", "--default", "--value", "--url"];

/// Options that choose the file. Reading any file is harmless, but the file written may belong to any program.
const FILES: &[&str] = &["--file", "-f", "--blob"];

/// Settings that name no program; all of a section if the entry ends with a dot.
const PLAIN: &[&str] = &[
    "advice.",
    "color.",
    "fetch.prune",
    "fetch.prunetags",
    "init.defaultbranch",
    "pull.ff",
    "pull.rebase",
    "push.",
    "user.",
];

/// The danger of a `git config` that does more than read or set a plain setting.
pub fn find(name: &str, words: &[Word], spelled: &[Spelling<'_>]) -> Option<Danger> {
    let program = Program::named(name).filter(|_| name == "git")?;
    let place = sub_command(program, spelled)?;
    if spelled[place].exact() != Some("config") {
        return None;
    }
    // Only without braces does each word stand for one.
    let whole = words.len() == spelled.len();
    let operands =
        spelled.iter().zip(words).skip(place + 1).map(|(word, written)| match word.exact() {
            Some(text) => ConfigWord::Exact(text),
            None if whole && is_one_word(written) => ConfigWord::Open,
            None => ConfigWord::Unknown,
        });
    let harmless = whole && is_harmless(operands);
    let config = "config".to_owned();
    (!harmless).then(|| Danger::new(config.clone(), config, place))
}

/// The position of the sub-command; the value of an option before it is none.
pub fn sub_command(program: &Program, words: &[Spelling<'_>]) -> Option<usize> {
    let mut place = 1;
    loop {
        let text = words.get(place)?.exact()?;
        if !text.starts_with('-') {
            return Some(place);
        }
        place += program.global_option(text).map_or(1, |option| option.words);
    }
}

/// A word after `config`.
#[derive(Clone, Copy, PartialEq)]
enum ConfigWord<'a> {
    Exact(&'a str),
    /// One word, known only by its position.
    Open,
    /// Any number of words.
    Unknown,
}

/// Whether the words after `config` only read, or only set a plain setting in git's own file.
fn is_harmless<'a>(mut words: impl Iterator<Item = ConfigWord<'a>>) -> bool {
    let (mut reads, mut chooses_file) = (false, false);
    let mut operands = Vec::new();
    while let Some(word) = words.next() {
        let text = match word {
            ConfigWord::Unknown => return false,
            ConfigWord::Exact(text) if text.starts_with('-') => text,
            ConfigWord::Exact(_) | ConfigWord::Open => {
                operands.push(word);
                continue;
            }
        };
        if text == "--" {
            operands.extend(words.by_ref());
            break;
        }
        let (option, value) = text.split_once('=').unzip();
        let option = option.unwrap_or(text);
        if FILES.contains(&option) || VALUES.contains(&option) {
            chooses_file |= FILES.contains(&option);
            if value.is_none() && !matches!(words.next(), Some(ConfigWord::Exact(_))) {
                return false;
            }
        } else if READS.contains(&text) {
            reads = true;
        } else if !FLAGS.contains(&text) {
            return false;
        }
    }
    // Newer versions of git have words for the action.
    match operands.first() {
        Some(ConfigWord::Exact("get" | "list")) => {
            reads = true;
            operands.remove(0);
        }
        Some(ConfigWord::Exact("set" | "unset")) => drop(operands.remove(0)),
        _ => {}
    }
    // An unknown word can be an option that changes the meaning of the others. Alone it is
    // harmless: git rejects it, or reads.
    let open = operands.contains(&ConfigWord::Open);
    if reads {
        return !open || operands.len() == 1;
    }
    let Some(ConfigWord::Exact(key)) = operands.first() else { return false };
    is_plain(key) && !chooses_file && (!open || operands.len() == 2)
}

fn is_plain(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    PLAIN
        .iter()
        .any(|entry| if entry.ends_with('.') { key.starts_with(entry) } else { key == **entry })
}

/// Whether the program gets exactly one word, whatever is substituted: it is entirely in double quotes.
fn is_one_word(word: &Word) -> bool {
    let inside = word.raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let many = |text: &str| ["$@", "[@", "@}", "\"", "`"].iter().any(|part| text.contains(part));
    inside.is_some_and(|text| !many(text))
}
