//! The options of a command, in each of their spellings.

use super::word::fits;
use crate::permission::danger;

/// Git commands, and the letters that always give the rest of their word to an option as its value.
const GIT_LETTERS: &[(&str, &str)] = &[
    ("branch", "u"),
    ("checkout", "bB"),
    ("commit", "cCFmStu"),
    ("grep", "ABCefmO"),
    ("log show", "GLSUln"),
    ("merge", "FmsSX"),
    ("push", "o"),
    ("rebase", "CsSxX"),
    ("tag", "Fmnu"),
];

/// Letters after which a word of the command contains no more options.
pub fn letters_with_value(program: &str, sub_command: &str) -> &'static str {
    if program != "git" {
        return danger::letters_with_value(program);
    }
    let is_own = |names: &str| names.split_whitespace().any(|name| name == sub_command);
    let found = GIT_LETTERS.iter().find(|(names, _)| is_own(names));
    found.map_or("", |(_, letters)| letters)
}

/// Long options that have this letter in most programs that know them.
const LETTERS: &[(&str, &str)] = &[
    ("--all", "aA"),
    ("--amend", ""),
    ("--cap-add", ""),
    ("--delete", "dD"),
    ("--extract", "x"),
    ("--follow-tags", ""),
    ("--force", "f"),
    ("--force-with-lease", ""),
    ("--hard", ""),
    ("--in-place", "i"),
    ("--message", "m"),
    ("--mirror", ""),
    ("--name-only", ""),
    ("--no-edit", ""),
    ("--no-verify", "n"),
    ("--oneline", ""),
    ("--privileged", ""),
    ("--prune", "p"),
    ("--recursive", "rR"),
    ("--remove", "r"),
    ("--set-upstream", "u"),
    ("--stat", ""),
    ("--tags", "t"),
    ("--yes", "y"),
];

/// Long options that mean the same in every program, and have no letter that means anything else.
const UNRELATED: &str = "--color --help --no-color --quiet --silent --verbose --version";

/// Long options of git that mean the same.
const SYNONYMS: &[[&str; 2]] = &[["--cached", "--staged"]];

/// The options among the words of a command.
pub struct GivenOptions<'a> {
    pub words: &'a [&'a str],
    /// Whether lower and upper case letters mean the same.
    pub folds: bool,
    /// Letters that take the rest of their word as a value.
    pub values: &'static str,
}

impl GivenOptions<'_> {
    /// Whether they may amount to the option.
    pub fn has(&self, option: &str) -> bool {
        if let Some(wanted) = letters(option) {
            // A value may follow the letter at once, as in `-i.bak`.
            let is_joined = |word: &&str| wanted.len() == 1 && word.starts_with(option);
            return self.words.iter().any(is_joined)
                || wanted.chars().all(|letter| self.has_letter(letter));
        }
        // Most programs accept abbreviated long options.
        let is_beginning = |word: &&str| {
            let name = word.split('=').next().unwrap_or_default();
            name.len() > 2 && name.starts_with("--") && option.starts_with(name)
        };
        let letters = LETTERS.iter().find(|(name, _)| *name == option);
        self.words.iter().any(|word| fits(option, word) || is_beginning(word))
            || letters.is_some_and(|(_, any)| any.chars().any(|letter| self.stands_alone(letter)))
    }

    /// Whether an option in the other form, a letter or a long name, may be the option: which letter
    /// stands for which name, only the program knows.
    pub fn may_have(&self, option: &str) -> bool {
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let bare = |word: &str| name(word).trim_start_matches('-').to_owned();
        let is_long = |word: &&&str| word.len() > 2 && word.starts_with("--");
        let known = |long: &str| LETTERS.iter().find(|(it, _)| *it == long);
        if let Some(wanted) = letters(option).filter(|letters| letters.len() == 1) {
            return self.words.iter().filter(is_long).map(|word| name(word)).any(|long| {
                !UNRELATED.split_whitespace().any(|it| it == long)
                    && known(&long).is_none_or(|(_, letters)| letters.contains(&wanted))
            });
        }
        let has_same_name = self.words.iter().any(|word| {
            word.starts_with('-') && bare(word) == bare(option)
                || SYNONYMS.iter().any(|pair| pair.contains(&option) && pair.contains(word))
        });
        let has_letters = || self.words.iter().any(|word| letters(word).is_some());
        has_same_name || option.starts_with("--") && known(option).is_none() && has_letters()
    }

    fn has_letter(&self, wanted: char) -> bool {
        // `-D` of git is `-d -f`.
        let is_forced =
            || wanted.is_ascii_uppercase() && self.is_given(wanted.to_ascii_lowercase());
        self.is_given(wanted) || is_forced() && self.is_given('f')
    }

    /// Whether the letter is given, or a long option for it: in a rule of options only, any that begins with it.
    fn is_given(&self, wanted: char) -> bool {
        let is_long = |word: &&str| {
            let Some(name) = word.strip_prefix("--") else { return false };
            let stands_for = |(long, letters): &(&str, &str)| {
                !name.is_empty() && long.starts_with(*word) && letters.contains(wanted)
            };
            LETTERS.iter().any(stands_for) || self.folds && self.is(name.chars().next(), wanted)
        };
        self.stands_alone(wanted) || self.words.iter().any(is_long)
    }

    /// Whether the letter is given after a single dash.
    fn stands_alone(&self, wanted: char) -> bool {
        let mut given = self.words.iter().filter_map(|word| letters(word));
        given.any(|letters| {
            let flags = danger::flags(&letters, self.values);
            flags.chars().any(|letter| self.is(Some(letter), wanted))
        })
    }

    fn is(&self, given: Option<char>, wanted: char) -> bool {
        given.is_some_and(|given| {
            given == wanted || self.folds && given.eq_ignore_ascii_case(&wanted)
        })
    }
}

/// The letters of `-abc`, with digits that are options among them: `-4f`.
fn letters(word: &str) -> Option<String> {
    let letters = word.strip_prefix('-')?;
    let is_cluster = letters.chars().all(|c| c.is_ascii_alphanumeric())
        && letters.contains(|c: char| c.is_ascii_alphabetic());
    is_cluster.then(|| letters.to_owned())
}
