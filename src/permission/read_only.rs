//! The few shell commands that run without asking, because they only read inside the working directories.
//!
//! Options are listed one by one: what is not known here may write a file or run a program.

use std::path::{Path, PathBuf};

use super::path::{Places, Target};
use super::script::{SimpleCommand, Word};

/// One program (or sub-command) that only reads.
struct Reader {
    /// The words it starts with.
    words: &'static [&'static str],
    /// Letters that may stand behind a single dash, in any number and order; digits count as letters.
    letters: &'static str,
    /// Whole options; one that ends with `=` takes any value behind it.
    options: &'static [&'static str],
    takes: Takes,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    /// Any words, which it only prints.
    Text,
    /// Files and folders, or (git) revisions.
    Paths,
    /// Options alone.
    Nothing,
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
    Reader { words: &["true"], letters: "", options: &[], takes: Takes::Nothing },
    Reader { words: &["pwd"], letters: "LP", options: &[], takes: Takes::Nothing },
    Reader { words: &["echo"], letters: "", options: &[], takes: Takes::Text },
    Reader { words: &["cd"], letters: "", options: &[], takes: Takes::Paths },
    Reader {
        words: &["ls"],
        letters: "1aAdFghilnoprRsStuUx",
        options: &["--all", "--almost-all", "--human-readable", "--recursive", "--color=never"],
        takes: Takes::Paths,
    },
    Reader { words: &["cat"], letters: "AbeEnstTuv", options: &[], takes: Takes::Paths },
    Reader { words: &["head"], letters: "cnqv0123456789", options: &[], takes: Takes::Paths },
    Reader { words: &["tail"], letters: "cnqv0123456789", options: &[], takes: Takes::Paths },
    Reader { words: &["wc"], letters: "clLmw", options: &[], takes: Takes::Paths },
    Reader {
        words: &["git", "status"],
        letters: "bsu",
        options: &["--short", "--branch", "--porcelain", "--long"],
        takes: Takes::Paths,
    },
    Reader {
        words: &["git", "diff"],
        letters: "bpUw0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
    },
    Reader {
        words: &["git", "log"],
        letters: "inpU0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
    },
    Reader {
        words: &["git", "show"],
        letters: "psU0123456789",
        options: GIT_LOG,
        takes: Takes::Paths,
    },
    Reader {
        words: &["git", "branch"],
        letters: "arv",
        options: &["--all", "--list", "--show-current"],
        takes: Takes::Nothing,
    },
];

/// Whether the command only reads inside the working directories. `bases` are the folders in which it may run.
#[must_use]
pub fn is_read_only(command: &SimpleCommand, bases: &[PathBuf], places: &Places) -> bool {
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
    let arguments = &words[reader.words.len()..];
    let folders_are_fine = match reader.words {
        ["git", ..] => bases.len() == 1 && bases.iter().all(|base| is_own_repository(base)),
        _ => true,
    };
    folders_are_fine
        && bases.iter().all(|base| Target::new(base, base).is_inside(places))
        && arguments.iter().all(|word| is_fine(word, reader, bases, places))
}

fn is_fine(word: &Word, reader: &Reader, bases: &[PathBuf], places: &Places) -> bool {
    let text = word.text.as_str();
    if reader.takes == Takes::Text {
        return true;
    }
    if text.len() > 1 && text.starts_with('-') {
        let is_known = reader
            .options
            .iter()
            .any(|option| text == *option || option.ends_with('=') && text.starts_with(option));
        return is_known || text[1..].chars().all(|letter| reader.letters.contains(letter));
    }
    match reader.takes {
        Takes::Text => true,
        Takes::Nothing => false,
        // `-` goes back to where nobody knows, or reads what is piped in.
        Takes::Paths if text == "-" => reader.words != ["cd"],
        Takes::Paths => {
            bases.iter().all(|base| Target::new(base, Path::new(text)).is_inside(places))
        }
    }
}

/// Whether git, started in `base`, finds a repository by its `.git`. A folder that merely looks like a bare repository
/// can be part of any checkout, and its settings can name programs to run.
fn is_own_repository(base: &Path) -> bool {
    for folder in base.ancestors() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
        if folder.join("HEAD").symlink_metadata().is_ok() {
            return false;
        }
    }
    false
}
