//! Commands whose files stand in a list, in their input or in an archive, rather than in their words.

use std::path::PathBuf;

use crate::permission::program::{base_name, sub_command};
use crate::permission::script::{SimpleCommand, Word};
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
        let mut arguments = arguments.iter().enumerate();
        let found = arguments.find(|(at, word)| {
            is_list_option(&word.text) || has_letter(*at, word) || is_file(word)
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
    let has = |letters: &[char]| {
        let is_cluster = |text: &str| text.starts_with('-') && !text.starts_with("--");
        arguments.iter().any(|word| is_cluster(&word.text) && word.text.contains(letters))
    };
    let long = |start: &str| arguments.iter().any(|word| word.text.starts_with(start));
    let first = |letters: &[char]| {
        arguments.first().is_some_and(|it| !it.text.starts_with('-') && it.text.contains(letters))
    };
    match name {
        "unzip" => !has(&['l', 't', 'p', 'v', 'Z', 'c']),
        "patch" => !long("--dry-run"),
        name if lists(UNPACKERS, name) => true,
        "tar" | "bsdtar" | "gtar" | "star" => {
            has(&['x']) || first(&['x']) || long("--ex") && !long("--exc") || long("--ge")
        }
        "7z" | "7za" | "7zr" | "7zz" | "rar" => first(&['x', 'e']),
        "ar" | "jar" => has(&['x']) || first(&['x']) || long("--extract"),
        "dpkg" | "dpkg-deb" => has(&['x', 'X', 'R']) || long("--extract") || long("--vextract"),
        "git" => {
            let sub = sub_command(words);
            let arguments = words.get(sub + 1..).unwrap_or_default();
            let shows = |word: &Word| {
                matches!(word.text.as_str(), "--check" | "--stat" | "--numstat" | "--summary")
            };
            match words.get(sub).map(|word| word.text.as_str()) {
                Some("am") => true,
                // `--apply` undoes these; it may be abbreviated.
                Some("apply") => {
                    !arguments.iter().any(shows)
                        || arguments.iter().any(|word| word.text.starts_with("--ap"))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// The commands that the words may start.
fn programs(command: &SimpleCommand) -> impl Iterator<Item = &[Word]> {
    let (starts, certain) = wrapper::program_starts(&command.words);
    let all = (!certain).then(|| 0..command.words.len()).into_iter().flatten();
    let starts = if certain { starts } else { Vec::new() };
    starts.into_iter().chain(all).filter_map(|start| command.words.get(start..))
}

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}
