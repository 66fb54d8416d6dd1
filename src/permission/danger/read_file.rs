//! Files whose text git puts into a commit, a tag or a note, or tells line by line: one from
//! outside of the project would be read by way of a rule that names no file.

use std::path::PathBuf;

use super::place::leads_out;
use super::{Danger, Spelling};

/// A sub-command that takes its message from a file.
struct Reader {
    name: &'static str,
    /// Letters that take the rest of the word or the next one as a value.
    values: &'static str,
    /// Those of them whose value is a file.
    files: &'static str,
}

const READERS: &[Reader] = &[
    Reader { name: "commit", values: "cCFmStu", files: "Ft" },
    Reader { name: "merge", values: "FmsSX", files: "F" },
    Reader { name: "notes", values: "cCFm", files: "F" },
    Reader { name: "tag", values: "Fmnu", files: "F" },
];

/// Finds options of the sub-command at `place` that read a file which may lie outside of `bases`.
pub fn find(
    sub_command: &str,
    place: usize,
    words: &[Spelling<'_>],
    bases: &[PathBuf],
) -> Vec<Danger> {
    let reader = READERS.iter().find(|reader| reader.name == sub_command);
    let mut dangers = Vec::new();
    for (at, word) in words.iter().enumerate().skip(place + 1) {
        let text = word.beginning();
        if text == "--" && word.exact().is_some() {
            break;
        }
        let Some((option, value)) = file(&text, reader) else { continue };
        let is_outside = match value {
            Some(value) => leads_out(value, word, bases),
            None => words.get(at + 1).is_none_or(|next| leads_out(&next.beginning(), next, bases)),
        };
        let is_stdin = value.or_else(|| words.get(at + 1)?.exact()) == Some("-");
        if is_outside && !is_stdin {
            let written = text.split('=').next().unwrap_or_default().to_owned();
            dangers.push(Danger::new(option, written, at));
        }
    }
    dangers
}

/// The option in the word that names a file to read, and its value where that is joined with it.
fn file<'a>(word: &'a str, reader: Option<&Reader>) -> Option<(String, Option<&'a str>)> {
    if word.starts_with("--") {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        // Git takes the beginning of an option for the whole.
        let is_meant = |option: &&&str| name.len() > 3 && option.starts_with(name);
        let own: &[&str] = if reader.is_some() { &["--file", "--template"] } else { &[] };
        let option = own.iter().chain(&["--pathspec-from-file"]).find(is_meant)?;
        return Some(((*option).to_owned(), value));
    }
    let (cluster, reader) = (word.strip_prefix('-')?, reader?);
    let at = cluster.find(|letter| reader.values.contains(letter))?;
    let letter = cluster[at..].chars().next().filter(|letter| reader.files.contains(*letter))?;
    let value = &cluster[at + letter.len_utf8()..];
    Some((format!("-{letter}"), (!value.is_empty()).then_some(value)))
}
