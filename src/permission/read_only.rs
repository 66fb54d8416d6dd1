//! The few shell commands that run without asking, because they only read inside the working directories.
//!
//! Options are listed one by one: an unknown option may write a file or run a program. A command
//! that reads files it does not name is free only while no rule restricts reading.

use std::path::{Path, PathBuf};

use super::path::{PathTarget, resolve};
use super::places::Places;
use super::recursive::has_parent_after_name;
use super::script::{SimpleCommand, Word};
use super::spelling::file_in_home;
use crate::disk::{check_repository, checkout_around};

/// A program (or sub-command) that only reads.
struct ReadOnlyProgram {
    /// The words it starts with.
    words: &'static [&'static str],
    /// Letters allowed after a single dash, in any number and order; digits count as letters.
    letters: &'static str,
    /// Whole options; one that ends with `=` takes any value.
    options: &'static [&'static str],
    args: ArgSpec,
    shows: ContentScope,
}

#[derive(Clone, Copy, PartialEq)]
enum ArgSpec {
    /// Any words, which it only prints.
    Text,
    /// Files and folders, or (git) revisions.
    Paths,
    /// A pattern, then files and folders.
    PatternAndPaths,
    /// The lines to print, in sed's syntax, then files.
    Lines,
    /// Only options.
    Nothing,
}

/// The files whose content a program shows.
#[derive(Clone, Copy, PartialEq)]
enum ContentScope {
    /// None.
    Names,
    /// The files it is given.
    Given,
    /// Files below folders, or of earlier versions.
    More,
}

/// The first rules that restrict the reading of files, by denying or asking, formatted for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRules {
    /// For some files.
    pub some: Option<String>,
    /// For all files.
    pub all: Option<String>,
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

const READERS: &[ReadOnlyProgram] = &[
    ReadOnlyProgram {
        words: &["true"],
        letters: "",
        options: &[],
        args: ArgSpec::Nothing,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["pwd"],
        letters: "LP",
        options: &[],
        args: ArgSpec::Nothing,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["echo"],
        letters: "",
        options: &[],
        args: ArgSpec::Text,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["cd"],
        letters: "",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["ls"],
        letters: "1aAdFghilnoprRsStuUx",
        options: &["--all", "--almost-all", "--human-readable", "--recursive", "--color=never"],
        args: ArgSpec::Paths,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["cat"],
        letters: "AbeEnstTuv",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Given,
    },
    ReadOnlyProgram {
        words: &["head"],
        letters: "cnqv0123456789",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Given,
    },
    ReadOnlyProgram {
        words: &["tail"],
        letters: "cnqv0123456789",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Given,
    },
    ReadOnlyProgram {
        words: &["wc"],
        letters: "clLmw",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Given,
    },
    ReadOnlyProgram {
        words: &["sed", "-n"],
        letters: "",
        options: &["--"],
        args: ArgSpec::Lines,
        shows: ContentScope::Given,
    },
    ReadOnlyProgram {
        words: &["test"],
        letters: "efdsrwxL",
        options: &[],
        args: ArgSpec::Paths,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
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
        args: ArgSpec::PatternAndPaths,
        shows: ContentScope::More,
    },
    ReadOnlyProgram {
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
        args: ArgSpec::PatternAndPaths,
        shows: ContentScope::More,
    },
    ReadOnlyProgram {
        words: &["git", "status"],
        letters: "bsu",
        options: &["--short", "--branch", "--porcelain", "--long"],
        args: ArgSpec::Paths,
        shows: ContentScope::Names,
    },
    ReadOnlyProgram {
        words: &["git", "diff"],
        letters: "bpUw0123456789",
        options: GIT_LOG,
        args: ArgSpec::Paths,
        shows: ContentScope::More,
    },
    ReadOnlyProgram {
        words: &["git", "log"],
        letters: "inpU0123456789",
        options: GIT_LOG,
        args: ArgSpec::Paths,
        shows: ContentScope::More,
    },
    ReadOnlyProgram {
        words: &["git", "show"],
        letters: "psU0123456789",
        options: GIT_LOG,
        args: ArgSpec::Paths,
        shows: ContentScope::More,
    },
    ReadOnlyProgram {
        words: &["git", "branch"],
        letters: "arv",
        options: &["--all", "--list", "--show-current"],
        args: ArgSpec::Nothing,
        shows: ContentScope::Names,
    },
];

/// Free programs that may start others named by settings.
const STARTERS: [&str; 2] = ["git", "rg"];

/// Free programs built into bash, whatever `PATH` finds.
const BUILTINS: [&str; 5] = ["cd", "echo", "pwd", "test", "true"];

/// Whether a free program is built into bash.
pub fn is_builtin(program: &str) -> bool {
    BUILTINS.contains(&program)
}

/// Whether some command of the program is free: it is git, or one that reads and starts nothing.
pub fn is_reader(program: &str) -> bool {
    READERS.iter().any(|reader| reader.words[0] == program)
}

/// Whether the text is `3p`, `3,9p` or `3,$p`.
fn is_line_range(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(range) = text.strip_suffix('p') else { return false };
    match range.split_once(',') {
        Some((first, last)) => is_number(first) && (is_number(last) || last == "$"),
        None => is_number(range),
    }
}

/// Checks that the command only reads inside the working directories. `bases` are the folders that it may run in.
///
/// # Errors
///
/// The obstacle, to follow "no rule allows it, and …"; `None` for a program not known to be read-only.
pub fn check_read_only(
    command: &SimpleCommand,
    bases: &[PathBuf],
    places: &Places,
    rules: &ReadRules,
) -> Result<(), Option<String>> {
    let words = &command.words;
    let starts = |reader: &&ReadOnlyProgram| {
        let named = words.iter().map(|word| word.text.as_str()).take(reader.words.len());
        reader.words.iter().copied().eq(named)
    };
    let reader = READERS.iter().find(starts).ok_or(None)?;
    reader.check(command, bases, places, rules).map_err(Some)
}

/// The obstacle that a word with an expansion is.
fn open_word(word: &Word, places: &Places) -> String {
    let file = file_in_home(word, places.shell_home.as_deref());
    let is_inside = file.map(|file| PathTarget::new(&file, &file).is_inside(places));
    let obstacle = match is_inside {
        Some(false) => "is outside the working directories",
        Some(true) => "is not spelled out",
        None => "is known only at run time",
    };
    format!("{} {obstacle}", word.raw)
}

/// Why nothing is free if the loader may take a library from the project.
pub const PROJECT_LIBRARY: &str =
    "LD_LIBRARY_PATH, or a variable like it, makes programs load libraries from the project";

/// Whether a free command is read-only even when unconfined: bash's builtins are, and the system's
/// programs that read no settings.
pub fn is_free_unconfined(command: &SimpleCommand, bases: &[PathBuf], places: &Places) -> bool {
    let Some(program) = command.words.first().map(|word| word.text.as_str()) else { return false };
    // Anything such a file starts runs in the folder of the line, and bash loads libraries too.
    if places.has_start_file || places.has_libraries_of_project(bases) {
        return false;
    }
    is_builtin(program)
        || !STARTERS.contains(&program)
            && !places.has_programs_of_project(bases)
            && places.finds_in_system(program, bases)
}

impl ReadOnlyProgram {
    fn check(
        &self,
        command: &SimpleCommand,
        bases: &[PathBuf],
        places: &Places,
        rules: &ReadRules,
    ) -> Result<(), String> {
        if let Some(set) = command.assignments.iter().find(|assignment| !assignment.harmless) {
            return Err(format!("it is not free with {} set", set.name));
        }
        if let Some(word) = command.words.iter().find(|word| !word.literal) {
            return Err(open_word(word, places));
        }
        self.check_arguments(&command.words[self.words.len()..], bases, places)?;
        let restricts = match self.shows {
            ContentScope::Names => None,
            ContentScope::Given => rules.all.as_ref(),
            ContentScope::More => rules.all.as_ref().or(rules.some.as_ref()),
        };
        if let Some(rule) = restricts {
            return Err(format!("it may show files that {rule} restricts"));
        }
        self.check_folders(bases, places)
    }

    fn check_folders(&self, bases: &[PathBuf], places: &Places) -> Result<(), String> {
        let program = self.words[0];
        for base in bases {
            if !PathTarget::new(base, base).is_inside(places) {
                return Err(format!("{} is outside the working directories", places.show(base)));
            }
            if program != "git" {
                continue;
            }
            if places.shell_home != places.home {
                return Err("its HOME, where git finds settings, is not your own".to_owned());
            }
            let shows_contents = matches!(self.words.get(1), Some(&("diff" | "log" | "show")));
            check_repository(base, places.home.as_deref(), &places.git, shows_contents)?;
        }
        // Nothing else checks what those start in turn.
        if !places.has_sandbox
            && STARTERS.contains(&program)
            && places.has_programs_of_project(bases)
        {
            return Err(format!(
                "it is not confined here, and {program} may start a program of the project"
            ));
        }
        if !is_builtin(program) && !places.finds_reader(program, bases) {
            return Err(match places.has_sandbox {
                true => format!("PATH finds {program} in a working directory, or nowhere"),
                false => {
                    format!("it is not confined here, and {program} is not a system program")
                }
            });
        }
        Ok(())
    }

    /// Checks that the arguments are known options and words that lead nowhere else.
    fn check_arguments(
        &self,
        arguments: &[Word],
        bases: &[PathBuf],
        places: &Places,
    ) -> Result<(), String> {
        if self.args == ArgSpec::Text {
            return Ok(());
        }
        let is_option = |word: &&Word| word.text.len() > 1 && word.text.starts_with('-');
        // After `--` nothing is an option; after an option it may be that option's value.
        let end = arguments.iter().position(|word| word.text == "--");
        let before_end = end.and_then(|end| arguments.get(end.checked_sub(1)?));
        let is_value = before_end.is_some_and(|word| self.may_take_value(&word.text));
        let (before, behind) = arguments.split_at(end.unwrap_or(arguments.len()));
        let (options, mut words): (Vec<&Word>, Vec<&Word>) = before.iter().partition(is_option);
        words.extend(behind.iter().skip(1));
        let unknown = |text: &str| Err(format!("{text} is not a known read-only option"));
        if end.is_some() && (is_value || !self.options.contains(&"--")) {
            return unknown("--");
        }
        if let Some(option) = options.iter().find(|option| !self.knows(option)) {
            return unknown(&option.text);
        }
        // With `-e` or `--files` there is no pattern among the words.
        let is_pattern_given =
            |option: &&Word| option.text.contains('e') && !option.text.starts_with("--");
        let has_pattern =
            !options.iter().any(|option| is_pattern_given(option) || option.text == "--files");
        let files = match self.args {
            ArgSpec::Text | ArgSpec::Paths => &words[..],
            ArgSpec::Nothing => match words.first() {
                None => &[],
                Some(word) => {
                    let name = self.words.join(" ");
                    return Err(format!("{name} with a word such as {} may do more", word.text));
                }
            },
            ArgSpec::Lines => match words.split_first() {
                Some((lines, _)) if !is_line_range(&lines.text) => {
                    return Err(format!("{} does more than print lines by number", lines.text));
                }
                Some((_, files)) => files,
                None => &[],
            },
            ArgSpec::PatternAndPaths => &words[usize::from(has_pattern).min(words.len())..],
        };
        files.iter().try_for_each(|word| self.check_file(word, bases, places))
    }

    fn check_file(&self, word: &Word, bases: &[PathBuf], places: &Places) -> Result<(), String> {
        let text = word.text.as_str();
        let is_inside =
            || bases.iter().all(|base| PathTarget::new(base, Path::new(text)).is_inside(places));
        // Outside a checkout, git compares files without a repository, and applies the attributes it finds there.
        let is_in_checkout = |base: &PathBuf| {
            let target = PathTarget::new(base, Path::new(text)).resolved;
            let checkout = checkout_around(base).and_then(resolve);
            target.zip(checkout).is_some_and(|(target, checkout)| target.starts_with(checkout))
        };
        match text {
            // `cd -` has an unknown destination; other programs read standard input.
            "-" if self.words != ["cd"] => Ok(()),
            // A word after `--` that looks like an option needs approval.
            text if text.starts_with('-') => Err(format!("{text} may be an option")),
            _ if self.words[0] == "git" && has_parent_after_name(Path::new(text)) => {
                Err(format!("git and the system may find {text} in different places"))
            }
            _ if self.words[0] == "git" && !bases.iter().all(is_in_checkout) => {
                Err(format!("{text} is outside the repository"))
            }
            _ if is_inside() => Ok(()),
            _ => Err(format!("{text} is outside the working directories")),
        }
    }

    /// Whether the next word may be the value of this one. Long options that take a value are known only with `=`.
    fn may_take_value(&self, word: &str) -> bool {
        let letters = match self.words {
            ["grep"] => "ABCDdefmX",
            ["rg"] => "ABCdEefgjMmrTt",
            _ => "",
        };
        word.starts_with('-') && !word.starts_with("--") && word.ends_with(|c| letters.contains(c))
    }

    fn knows(&self, option: &Word) -> bool {
        let text = option.text.as_str();
        let is_listed =
            |known: &&str| text == *known || known.ends_with('=') && text.starts_with(known);
        self.options.iter().any(is_listed)
            || text[1..].chars().all(|letter| self.letters.contains(letter))
    }
}
