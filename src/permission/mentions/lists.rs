//! Commands whose files stand in a list, in their input or in an archive, rather than in their words.

use std::path::PathBuf;

use crate::permission::program::{base_name, sub_command};
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::wrapper;
use crate::permission::writers;

/// Programs that take names from their input.
const LIST_READERS: &str = "xargs parallel cpio pax";

/// Programs that send what `@file` names, and take no list from it.
const SENDERS: &str = "curl gh glab http https xh";

/// Letters, by program, that make it read names from a file or its input.
const LIST_LETTERS: &[(&str, char)] =
    &[("tar bsdtar gtar", 'T'), ("zip", '@'), ("file", 'f'), ("ctags", 'L'), ("cscope", 'i')];

/// Programs that write the files of an archive or a patch, whatever their options.
const UNPACKERS: &str = "aunpack bsdcpio cabextract cpio dtrx innoextract munpack patch pax unar unp unrar unsquashfs unzip \
                         uudecode";

/// Whether the line itself may hold what a command reads as its input: in a here-document or a
/// here-string, or as words that a command prints.
pub fn holds_input(script: &Script) -> bool {
    let prints = |command: &SimpleCommand| {
        let mut names =
            wrapper::possible_commands(command).into_iter().filter_map(|words| words.first());
        names.any(|word| matches!(base_name(&word.text), "echo" | "printf"))
    };
    !script.all_inputs().is_empty() || script.all_commands().into_iter().any(prints)
}

/// The word by which the command takes names from a list, if it does. What build tools and
/// interpreters open, their input says in any case.
pub fn list_word<'a>(command: &'a SimpleCommand, bases: &[PathBuf]) -> Option<&'a str> {
    programs(command).find_map(|words| {
        let (program, arguments) = words.split_first()?;
        let name = base_name(&program.text);
        if writers::runs_code(name) {
            return None;
        }
        if lists(LIST_READERS, name) {
            return Some(name);
        }
        let letter = LIST_LETTERS.iter().find(|(names, _)| lists(names, name)).map(|it| it.1);
        let has_letter = |at: usize, word: &Word| {
            let is_first_of_tar = at == 0 && letter == Some('T') && !word.text.starts_with("--");
            let cluster = word.text.strip_prefix('-').filter(|text| !text.starts_with('-'));
            let cluster = cluster.or_else(|| is_first_of_tar.then_some(word.text.as_str()));
            cluster.zip(letter).is_some_and(|(cluster, letter)| cluster.contains(letter))
                // Others list files with this option.
                || letter == Some('T') && word.text.starts_with("--files")
        };
        // A name such as `@scope/name` or a pattern is no list.
        let is_file = |word: &Word| {
            let file = word.text.strip_prefix('@').filter(|_| !lists(SENDERS, name));
            file.is_some_and(|file| bases.iter().any(|base| base.join(file).is_file()))
        };
        let is_config = |text: &str| match name {
            "curl" => text.starts_with("-K") || text.starts_with("--config"),
            "wget" => text.starts_with("-i") || text.starts_with("--input-f"),
            _ => false,
        };
        let mut arguments = arguments.iter().enumerate();
        let found = arguments.find(|(at, word)| {
            is_list_option(&word.text)
                || is_config(&word.text)
                || has_letter(*at, word)
                || is_file(word)
        });
        found.map(|(_, word)| word.text.as_str())
    })
}

/// Whether the text is a long option that reads names from a file or the input, such as
/// `--files-from=x`, `--pathspec-from-file` or `--stdin`.
pub fn is_list_option(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    // What is left out is no name, and `--from` alone takes a value.
    let reads_from = || name.find("-from").is_some_and(|at| at > 1) && !name.contains("exclude");
    let starts = ["--files-f", "--files0", "--pathspec", "--stdin", "--arg-file"];
    name.starts_with('-') && (starts.iter().any(|it| name.starts_with(it)) || reads_from())
}

/// The program of the command that writes files named in an archive or a patch.
pub fn unpacker(command: &SimpleCommand) -> Option<&str> {
    let words = programs(command).find(|words| unpacks(words))?;
    Some(base_name(&words[0].text))
}

fn unpacks(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = base_name(&program.text);
    // A later word may be the value of an option, or undo the first one.
    let first = arguments.first().filter(|word| word.literal).map(|word| word.text.as_str());
    let is_first = |known: &str| first.is_some_and(|first| lists(known, first));
    match name {
        "unzip" => !is_first("-l -t -p -v -c -Z -Z1"),
        "patch" => !is_first("--dry-run"),
        name if lists(UNPACKERS, name) => true,
        "tar" | "bsdtar" | "gtar" | "star" => {
            !is_first("--create --list --append --update --diff --compare --version --help")
                && !first.is_some_and(has_mode_of_tar)
        }
        "7z" | "7za" | "7zr" | "7zz" | "rar" => !is_first("a l t u d b i h"),
        "ar" | "jar" => {
            let names_x = |word: &Word| word.text.starts_with('-') && word.text.contains('x');
            first.is_none_or(|first| first.contains('x')) || arguments.iter().any(names_x)
        }
        "dpkg" | "dpkg-deb" => {
            let extracts = |word: &Word| {
                let known = "-x -X -R --extract --vextract --raw-extract";
                !word.literal || lists(known, &word.text)
            };
            first.is_none() || arguments.iter().any(extracts)
        }
        "git" => {
            let sub = sub_command(words);
            let arguments = words.get(sub + 1..).unwrap_or_default();
            match words.get(sub).map(|word| word.text.as_str()) {
                Some("am") => true,
                Some("apply") => !only_shows(arguments),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether the first word of tar's arguments has the letter of a mode that writes no files of an archive.
/// Tar takes no second one.
fn has_mode_of_tar(first: &str) -> bool {
    let letters = first.strip_prefix('-').unwrap_or(first);
    letters.trim_start_matches(['z', 'j', 'J', 'v', 'a']).starts_with(['c', 't', 'r', 'u', 'd'])
}

/// Whether `git apply` certainly applies nothing.
fn only_shows(arguments: &[Word]) -> bool {
    let lists = |word: &Word, known: &str| word.literal && lists(known, &word.text);
    let shows = "--check --stat --numstat --summary";
    let is_known = |word: &Word| {
        word.literal && !word.text.starts_with('-')
            || lists(word, shows)
            || lists(word, "-R -v -p0 -p1 -p2 --reverse --verbose --index --cached")
    };
    arguments.first().is_some_and(|first| lists(first, shows)) && arguments.iter().all(is_known)
}

/// The commands that the words may start.
fn programs(command: &SimpleCommand) -> impl Iterator<Item = &[Word]> {
    let (starts, certain) = wrapper::program_starts(&command.words);
    let starts = if certain { starts } else { (0..command.words.len()).collect() };
    starts.into_iter().filter_map(|start| command.words.get(start..))
}

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}
