//! The table entries that apply to a command, and the words that match an entry's option.

use super::table::{self, OPTION_FILES, OPTIONS};
use crate::permission::spelling::Spelling;

/// One option in a row of the table.
#[derive(Clone, Copy)]
pub struct OptionEntry<'a> {
    pub program: &'a str,
    pub option: &'static str,
    /// All words of the row.
    pub row: &'static str,
    /// The program is in the table.
    pub is_known: bool,
}

/// The entry of a program that reads options from files.
const OPTION_FILE: &str = "@*";

/// The rows of the program that match its sub-command.
pub fn rows<'a>(name: &'a str, words: &'a [Spelling<'a>]) -> impl Iterator<Item = &'static str> {
    let fits = move |names: &str| {
        names.split_whitespace().any(|entry| {
            let mut parts = entry.split('/');
            parts.next() == Some(name)
                && parts.all(|part| words.iter().skip(1).any(|word| word.exact() == Some(part)))
        })
    };
    OPTIONS.iter().filter(move |(names, _)| fits(names)).map(|(_, row)| *row)
}

/// The entries of the program that match its sub-command.
pub fn entries<'a>(
    name: &'a str,
    words: &'a [Spelling<'a>],
) -> impl Iterator<Item = OptionEntry<'a>> {
    let listed = rows(name, words).flat_map(move |row| {
        let frees = |word: &&str| word.starts_with('=') || word.starts_with("!--");
        let options = row.split_whitespace().filter(move |word| !frees(word));
        options.map(move |option| OptionEntry { program: name, option, row, is_known: true })
    });
    let files = has_option_files(name).then_some(OPTION_FILE);
    listed.chain(files.map(|option| OptionEntry { program: name, option, row: "", is_known: true }))
}

/// Values that name an output format rather than a file.
const FORMATS: &[&str] = &[
    "json", "jsonl", "yaml", "table", "text", "wide", "name", "tsv", "csv", "none", "plain",
    "short",
];

/// An option that only linkers have.
const LINKER_OPTION: &str = "-dependency-file";

/// Letters at the beginning of an option that tell it apart from others.
const BEGINNING: usize = 4;

/// npm's one-letter options. It takes several together, after any number of dashes.
const NPM_LETTERS: &str = "?BCDEHLNOPSacdfghlmnpqsvwy";

impl OptionEntry<'_> {
    /// Whether a word of the command is the option; `next` is the following word.
    pub fn is(self, word: &str, next: Option<&str>, place: usize) -> bool {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        if let Some(long) = self.option.strip_prefix("--") {
            let Some(given) = self.long_name(name) else { return false };
            if let Some(start) = long.strip_suffix('*') {
                return given.starts_with(start);
            }
            let is_format = value.or(next).is_some_and(|value| FORMATS.contains(&value));
            let fits = match self.program {
                "tsc" => given.eq_ignore_ascii_case(long),
                // GNU programs and git accept any unambiguous abbreviation. For an unknown program,
                // a short prefix may just as well belong to another option.
                _ => {
                    let is_beginning = self.is_known || given.len() >= BEGINNING;
                    given == long
                        || is_beginning && long.starts_with(given) && !self.has_whole(given)
                }
            };
            return fits && !(long == "output" && is_format);
        }
        let Some(letters) = self.option.strip_prefix('-') else {
            // A word such as `run`, or a prefix such as `+`.
            return match self.option.strip_suffix('*') {
                Some(start) => word.starts_with(start),
                None => word == self.option,
            };
        };
        if letters.chars().count() > 1 {
            // go takes two dashes for one.
            let is = |name: &str| match self.option.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == self.option,
            };
            // Linkers take any abbreviation, after one dash or two.
            let is_beginning = |name: &str| {
                let is_linker = self.row.contains(LINKER_OPTION);
                is_linker && name.len() > 1 && self.option[1..].starts_with(name)
            };
            let short = name.trim_start_matches('-');
            return is(name)
                || name.strip_prefix('-').is_some_and(is)
                || short.len() < name.len() && is_beginning(short);
        }
        // It also takes short options after two dashes, in either case.
        if self.program == "tsc" && name.starts_with('-') {
            return name.trim_start_matches('-').eq_ignore_ascii_case(letters);
        }
        let word = self.letters_behind_dashes(word).unwrap_or(word);
        match word.strip_prefix('-') {
            Some(cluster) if !cluster.starts_with('-') => {
                // The whole word counts, up to the letter that takes the rest as a value.
                flags(cluster, self.values()).contains(letters)
            }
            // `tar xIf`: the first word needs no dash.
            None => place == 1 && self.option_without_dash() && word.contains(letters),
            Some(_) => false,
        }
    }

    /// Letters of npm after more than one dash, with the last of the dashes.
    fn letters_behind_dashes<'w>(&self, word: &'w str) -> Option<&'w str> {
        let start =
            word.strip_prefix("--").filter(|_| matches!(self.program, "npm" | "npx" | "pnpm"))?;
        let letters = start.trim_start_matches('-').split('=').next().unwrap_or_default();
        let is_cluster = !letters.is_empty() && letters.chars().all(|it| NPM_LETTERS.contains(it));
        is_cluster.then(|| &word[word.len() - start.trim_start_matches('-').len() - 1..])
    }

    /// The name of a long option without its dashes.
    fn long_name<'w>(&self, word: &'w str) -> Option<&'w str> {
        let name = match self.program {
            // These take any number of dashes; one before a letter or two is a short option.
            "npm" | "npx" | "pnpm" | "yarn" | "tsc" if !word.starts_with("--") => {
                word.strip_prefix('-').filter(|name| name.len() > 2)
            }
            "npm" | "npx" | "pnpm" | "yarn" | "tsc" => Some(word.trim_start_matches('-')),
            _ => word.strip_prefix("--"),
        };
        let name = name.filter(|name| !name.is_empty())?;
        Some(match self.program {
            "npm" | "npx" | "pnpm" | "yarn" => without_negation(name),
            _ => name,
        })
    }

    /// Whether the programs of the row have a harmless option of exactly this name.
    fn has_whole(self, name: &str) -> bool {
        let wholes = self.row.split_whitespace().filter_map(|word| word.strip_prefix("!--"));
        wholes.into_iter().any(|whole| whole == name)
    }

    /// Whether a word with this known beginning may be the option.
    pub fn may_be_in(self, beginning: &str, place: usize) -> bool {
        if beginning.contains('=') {
            return self.is(beginning, None, place);
        }
        if beginning.starts_with("--") {
            return self.option.starts_with(beginning);
        }
        let Some(cluster) = beginning.strip_prefix('-') else {
            // A sub-command.
            let is_word = !self.option.starts_with('-') && !beginning.is_empty();
            return self.option.ends_with('*') && self.is(beginning, None, place)
                || is_word && self.option.starts_with(beginning);
        };
        let is_letter = self.option.len() == 2 && self.option.starts_with('-');
        let has_value = cluster.chars().any(|letter| self.takes_rest(letter));
        self.is(beginning, None, place)
            || self.option.starts_with(beginning) && !is_letter
            || is_letter && !has_value
    }

    /// The letters that take the rest of a word as their value; `*` for all.
    pub fn values(self) -> &'static str {
        values_of(self.row)
    }

    /// Whether the rest of the word after the letter is its value.
    fn takes_rest(self, letter: char) -> bool {
        takes_rest(self.values(), letter)
    }

    fn option_without_dash(self) -> bool {
        matches!(self.program, "tar" | "bsdtar" | "gtar")
            && table::TAR_LETTERS.contains(&self.option)
    }

    pub fn show(self) -> String {
        self.option.strip_suffix('*').unwrap_or(self.option).to_owned()
    }
}

/// The name of an npm option without any leading `no-`: npm's parser takes a value even then.
fn without_negation(mut name: &str) -> &str {
    while let Some(rest) = name.get(3..).filter(|_| name[..3].eq_ignore_ascii_case("no-")) {
        name = rest;
    }
    name
}

/// The letters of a row's programs that take the rest of a word as their value; `*` for all.
pub fn values_of(row: &'static str) -> &'static str {
    row.split_whitespace().find_map(|word| word.strip_prefix('=')).unwrap_or_default()
}

fn takes_rest(values: &str, letter: char) -> bool {
    values == "*" || values.contains(letter)
}

/// The part of a letter cluster that holds options: up to the first letter that takes the rest as its value.
pub fn flags<'a>(letters: &'a str, values: &str) -> &'a str {
    let end = letters.char_indices().find(|(_, letter)| takes_rest(values, *letter));
    end.map_or(letters, |(at, letter)| &letters[..at + letter.len_utf8()])
}

/// The letters that take the rest of a word as their value in every call of the program.
pub fn letters_with_value(program: &str) -> &'static str {
    let is_own =
        |(names, _): &&(&str, &'static str)| names.split_whitespace().any(|name| name == program);
    let rows = OPTIONS.iter().filter(is_own).map(|(_, row)| values_of(row));
    // A program without letter clusters has no letters to tell apart.
    rows.into_iter().find(|values| !matches!(*values, "" | "*")).unwrap_or_default()
}

/// Whether the program reads options from a file that a word such as `@file` names.
pub fn has_option_files(name: &str) -> bool {
    OPTION_FILES.split_whitespace().any(|known| known == name)
}
