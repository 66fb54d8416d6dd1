//! Words of compilers that name a file to write, or that they hand on to a linker or an assembler.

use std::path::PathBuf;

use super::Spelling;
use super::place::leads_out_or_is_hidden;

/// Compilers, under the names of the table.
const COMPILERS: &[&str] =
    &["c++", "cc", "clang", "clang++", "cpp", "g++", "gcc", "gfortran", "rustc"];

/// The danger in a word behind `previous`: a linker or a plugin of the caller's choice, a file of options, or a file to
/// write that is hidden or not below the folder.
pub fn find(name: &str, word: &Spelling<'_>, previous: &str, bases: &[PathBuf]) -> Option<String> {
    let text = word.outline();
    let leads_out = |path: &str| leads_out_or_is_hidden(path, word, bases);
    match name {
        "go" if text.contains("-extld") => Some("-extld".to_owned()),
        "go" => go_file(&text, previous, leads_out),
        _ if COMPILERS.contains(&name) => compiler_word(&text, previous, leads_out),
        _ => None,
    }
}

/// Whether there is such a danger in a word that is only known in part.
pub fn find_open(name: &str, word: &Spelling<'_>, previous: &str, bases: &[PathBuf]) -> bool {
    word.exact().is_none() && find(name, word, previous, bases).is_some()
}

fn compiler_word(word: &str, previous: &str, leads_out: impl Fn(&str) -> bool) -> Option<String> {
    let handed_on = ["-Wl,", "-Wa,", "-Wp,"].iter().find_map(|start| word.strip_prefix(start));
    if let Some(words) = handed_on {
        return words.split(',').find_map(linker_option).map(str::to_owned);
    }
    if word.starts_with("-fuse-ld=") && word.contains('/') {
        return Some("-fuse-ld".to_owned());
    }
    let output = ["-o", "-MF", "--output", "-aux-info"];
    let joined = word.strip_prefix("--output=").map(|value| ("--output", value));
    let joined = joined.or_else(|| Some(("-aux-info", word.strip_prefix("-aux-info=")?)));
    let joined = joined.or_else(|| {
        let joins = |option: &'static str| Some((option, word.strip_prefix(option)?));
        ["-o", "-MF"].into_iter().find_map(joins).filter(|(_, value)| !value.is_empty())
    });
    let behind = output.into_iter().find(|option| *option == previous);
    let (option, value) = behind.map(|option| (option, word)).or(joined)?;
    leads_out(value).then(|| option.to_owned())
}

/// An option of the linker that loads a plugin or a file of options.
fn linker_option(word: &str) -> Option<&'static str> {
    let name = word.split('=').next().unwrap_or_default();
    match name {
        _ if word.starts_with('@') => Some("@"),
        "-plugin" | "--plugin" => Some("-plugin"),
        "-load-pass-plugin" | "--load-pass-plugin" => Some("-load-pass-plugin"),
        _ => None,
    }
}

/// Options of go that name a file to write. One in the project that is not hidden does no harm.
const GO_FILES: &[&str] = &[
    "-o",
    "-coverprofile",
    "-cpuprofile",
    "-memprofile",
    "-blockprofile",
    "-mutexprofile",
    "-trace",
    "-gocoverdir",
    "-testlogfile",
    "-fuzzcachedir",
];

/// The option of go for the folder of the others' files.
const GO_FOLDER: &str = "-outputdir";

fn go_file(word: &str, previous: &str, leads_out: impl Fn(&str) -> bool) -> Option<String> {
    // Each option has one dash or two, and those of tests a longer name as well.
    let bare = |option: &str| {
        let name = option.strip_prefix("--").or_else(|| option.strip_prefix('-'))?;
        Some(format!("-{}", name.strip_prefix("test.").unwrap_or(name)))
    };
    let is_file = |name: &str| name == GO_FOLDER || GO_FILES.contains(&name);
    let behind = bare(previous).filter(|name| is_file(name)).map(|name| (name, word));
    let joined = || word.split_once('=').and_then(|(name, value)| Some((bare(name)?, value)));
    let (name, value) = behind.or_else(joined).filter(|(name, _)| is_file(name))?;
    (name == GO_FOLDER || leads_out(value)).then_some(name)
}
