//! The few shell commands that run without asking, because they only read inside the working directories.
//!
//! Options are listed one by one: what is not known here may write a file or run a program. A command that reads files
//! which it does not name is free only while no rule keeps files from being read.

use std::path::{Path, PathBuf};

use super::path::{Places, Target};
use super::script::{SimpleCommand, Word};
use crate::disk::{has_own_repository, repository_names_programs};

/// One program (or sub-command) that only reads.
struct Reader {
    /// The words it starts with.
    words: &'static [&'static str],
    /// Letters that may stand behind a single dash, in any number and order; digits count as letters.
    letters: &'static str,
    /// Whole options; one that ends with `=` takes any value behind it.
    options: &'static [&'static str],
    takes: Takes,
    sees: Sees,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    /// Any words, which it only prints.
    Text,
    /// Files and folders, or (git) revisions.
    Paths,
    /// A pattern, then files and folders.
    PatternAndPaths,
    /// The lines to print, as sed takes them, then files.
    Lines,
    /// Options alone.
    Nothing,
}

/// Which files' contents a program shows.
#[derive(Clone, Copy, PartialEq)]
enum Sees {
    /// No file's.
    Names,
    /// That of the files it is given.
    Given,
    /// That of files below folders, or of earlier versions.
    More,
}

/// Which reading of files the rules restrict, by denying it or by asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRules {
    /// Some files'.
    pub some: bool,
    /// All files'.
    pub all: bool,
}

const GIT_LOG: &[&str] = &[
    "--all",
    "--author=",
    "--cached",
    "--decorate",
    "--graph",
    "--max-count=",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-decorate",
    "--no-merges",
    "--numstat",
    "--oneline",
    "--patch",
    "--reverse",
    "--shortstat",
    "--since=",
    "--staged",
    "--stat",
    "--until=",
    "--",
];

const READERS: &[Reader] = &[
    Reader {
        words: &["true"],
        letters: "",
        options: &[],
        takes: Takes::Nothing,
        sees: Sees::Names,
    },
    Reader {
        words: &["pwd"],
        letters: "LP",
        options: &[],
        takes: Takes::Nothing,
        sees: Sees::Names,
    },
    Reader { words: &["echo"], letters: "", options: &[], takes: Takes::Text, sees: Sees::Names },
    Reader { words: &["cd"], letters: "", options: &[], takes: Takes::Paths, sees: Sees::Names },
    Reader {
        words: &["ls"],
        letters: "1aAdFghilnoprRsStuUx",
        options: &["--all", "--almost-all", "--human-readable", "--recursive", "--color=never"],
        takes: Takes::Paths,
        sees: Sees::Names,
    },
    Reader {
        words: &["cat"],
        letters: "AbeEnstTuv",
        options: &[],
        takes: Takes::Paths,
        sees: Sees::Given,
    },
    Reader {
        words: &["head"],
        letters: "cnqv0123456789",
        options: &[],
        takes: Takes::Paths,
        sees: Sees::Given,
    },
    Reader {
        words: &["tail"],
        letters: "cnqv0123456789",
        options: &[],
        takes: Takes::Paths,
        sees: Sees::Given,
    },
    Reader {
        words: &["wc"],
        letters: "clLmw",
        options: &[],
        takes: Takes::Paths,
        sees: Sees::Given,
    },
    Reader {
        words: &["sed", "-n"],
        letters: "",
        options: &["--"],
        takes: Takes::Lines,
        sees: Sees::Given,
    },
    Reader {
        words: &["test"],
        letters: "efdsrwxL",
        options: &[],
        takes: Takes::Paths,
        sees: Sees::Names,
    },
    Reader {
        words: &["grep"],
        letters: "aABcCeEFGhHiIlLmnoPqrsvwxz0123456789",
        options: &[
            "--color=never",
            "--count",
            "--exclude-dir=",
            "--exclude=",
            "--extended-regexp",
            "--files-with-matches",
            "--fixed-strings",
            "--ignore-case",
            "--include=",
            "--line-number",
            "--recursive",
            "--word-regexp",
            "--",
        ],
        takes: Takes::PatternAndPaths,
        sees: Sees::More,
    },
    Reader {
        words: &["rg"],
        letters: "aABbcCdeEFgHiIjlmMnNopPqrsStTuUvwx.0123456789",
        options: &[
            "--after-context=",
            "--before-context=",
            "--case-sensitive",
            "--color=never",
            "--column",
            "--context=",
            "--count",
            "--count-matches",
            "--files",
            "--files-with-matches",
            "--files-without-match",
            "--fixed-strings",
            "--glob=",
            "--heading",
            "--hidden",
            "--ignore-case",
            "--invert-match",
            "--json",
            "--line-number",
            "--max-columns=",
            "--max-count=",
            "--max-depth=",
            "--multiline",
            "--no-config",
            "--no-filename",
            "--no-heading",
            "--no-ignore",
            "--no-line-number",
            "--no-messages",
            "--only-matching",
            "--pcre2",
            "--smart-case",
            "--sort=",
            "--stats",
            "--trim",
            "--type-not=",
            "--type=",
            "--vimgrep",
            "--with-filename",
            "--word-regexp",
            "--",
        ],
        takes: Takes::PatternAndPaths,
        sees: Sees::More,
    },
    Reader {
        words: &["git", "status"],
        letters: "bsu",
        options: &["--short", "--branch", "--porcelain", "--long"],
        takes: Takes::Paths,
        sees: Sees::Names,
    },
    Reader {
        words: &["git", "diff"],
        letters: "bpUw0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
        sees: Sees::More,
    },
    Reader {
        words: &["git", "log"],
        letters: "inpU0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
        sees: Sees::More,
    },
    Reader {
        words: &["git", "show"],
        letters: "psU0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
        sees: Sees::More,
    },
    Reader {
        words: &["git", "branch"],
        letters: "arv",
        options: &["--all", "--list", "--show-current"],
        takes: Takes::Nothing,
        sees: Sees::Names,
    },
];

/// Free programs that bash has itself, wherever `PATH` leads.
const BUILTINS: [&str; 5] = ["cd", "echo", "pwd", "test", "true"];

/// Whether the text is `3p`, `3,9p` or `3,$p`.
fn is_line_range(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(range) = text.strip_suffix('p') else { return false };
    match range.split_once(',') {
        Some((first, last)) => is_number(first) && (is_number(last) || last == "$"),
        None => is_number(range),
    }
}

/// Whether the command only reads inside the working directories. `bases` are the folders in which it may run.
#[must_use]
pub fn is_read_only(
    command: &SimpleCommand,
    bases: &[PathBuf],
    places: &Places,
    rules: ReadRules,
) -> bool {
    let words = &command.words;
    if !command.assignments.iter().all(|assignment| assignment.harmless)
        || !words.iter().all(|word| word.literal)
    {
        return false;
    }
    let starts = |reader: &&Reader| {
        let named = words.iter().map(|word| word.text.as_str()).take(reader.words.len());
        reader.words.iter().copied().eq(named)
    };
    let Some(reader) = READERS.iter().find(starts) else { return false };
    let is_restricted = match reader.sees {
        Sees::Names => false,
        Sees::Given => rules.all,
        Sees::More => rules.all || rules.some,
    };
    let arguments = &words[reader.words.len()..];
    let is_branch = reader.words == ["git", "branch"];
    let folders_are_fine = match reader.words {
        ["git", ..] => bases.iter().all(|base| {
            has_own_repository(base) && (is_branch || !repository_names_programs(base))
        }),
        _ => true,
    };
    let program = reader.words[0];
    !is_restricted
        && folders_are_fine
        && (BUILTINS.contains(&program) || places.finds_outside(program, bases))
        && bases.iter().all(|base| Target::new(base, base).is_inside(places))
        && reader.takes(arguments, bases, places)
}

impl Reader {
    /// Whether the arguments are options that are known and words that lead nowhere else.
    fn takes(&self, arguments: &[Word], bases: &[PathBuf], places: &Places) -> bool {
        let is_option = |word: &&Word| word.text.len() > 1 && word.text.starts_with('-');
        // Behind `--` nothing is an option.
        let end = arguments.iter().position(|word| word.text == "--");
        let (before, behind) = arguments.split_at(end.unwrap_or(arguments.len()));
        let (options, mut words): (Vec<&Word>, Vec<&Word>) = before.iter().partition(is_option);
        words.extend(behind.iter().skip(1));
        let knows_end = end.is_none() || self.options.contains(&"--");
        let knows_all = knows_end && options.iter().all(|option| self.knows(option));
        let inside = |word: &Word| match word.text.as_str() {
            // `cd -` goes back to where nobody knows; others read what is piped in.
            "-" => self.words != ["cd"],
            // What stands behind `--` and looks like an option is asked about.
            text if text.starts_with('-') => false,
            text => bases.iter().all(|base| Target::new(base, Path::new(text)).is_inside(places)),
        };
        // With `-e` or `--files` there is no pattern among the words.
        let is_pattern_given =
            |option: &&Word| option.text.contains('e') && !option.text.starts_with("--");
        let has_pattern =
            !options.iter().any(|option| is_pattern_given(option) || option.text == "--files");
        match self.takes {
            Takes::Text => true,
            Takes::Nothing => knows_all && words.is_empty(),
            Takes::Paths => knows_all && words.iter().all(|word| inside(word)),
            Takes::Lines => {
                let (lines, files) = words.split_at(words.len().min(1));
                knows_all
                    && lines.iter().all(|word| is_line_range(&word.text))
                    && files.iter().all(|word| inside(word))
            }
            Takes::PatternAndPaths => {
                knows_all && words.iter().skip(usize::from(has_pattern)).all(|word| inside(word))
            }
        }
    }

    fn knows(&self, option: &Word) -> bool {
        let text = option.text.as_str();
        let is_listed =
            |known: &&str| text == *known || known.ends_with('=') && text.starts_with(known);
        self.options.iter().any(is_listed)
            || text[1..].chars().all(|letter| self.letters.contains(letter))
    }
}
