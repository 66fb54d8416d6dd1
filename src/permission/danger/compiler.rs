//! Words of compilers that name a file to write, or that they hand on to a linker or an assembler.

use super::Spelling;

/// Compilers, under the names of the table.
const COMPILERS: &[&str] =
    &["c++", "cc", "clang", "clang++", "cpp", "g++", "gcc", "gfortran", "rustc"];

/// The danger in a word behind `previous`: a linker or a plugin of the caller's choice, a file of options, or a file to
/// write that is hidden or not below the folder.
pub fn find(name: &str, word: &str, previous: &str) -> Option<String> {
    match name {
        "go" if word.contains("-extld") => Some("-extld".to_owned()),
        "go" => go_file(word, previous),
        _ if COMPILERS.contains(&name) => compiler_word(word, previous),
        _ => None,
    }
}

/// Whether there is such a danger in a word that is only known in part.
pub fn find_open(name: &str, word: &Spelling<'_>, previous: &str) -> bool {
    word.exact().is_none() && find(name, &word.outline(), previous).is_some()
}

fn compiler_word(word: &str, previous: &str) -> Option<String> {
    let handed_on = ["-Wl,", "-Wa,", "-Wp,"].iter().find_map(|start| word.strip_prefix(start));
    if let Some(words) = handed_on {
        return words.split(',').find_map(linker_option).map(str::to_owned);
    }
    if word.starts_with("-fuse-ld=") && word.contains('/') {
        return Some("-fuse-ld".to_owned());
    }
    let output = ["-o", "-MF", "--output", "-aux-info"];
    let joined = word.strip_prefix("--output=").map(|value| ("--output", value));
    let joined = joined.or_else(|| Some(("-o", word.strip_prefix("-o")?)));
    let behind = output.into_iter().find(|option| *option == previous);
    let (option, value) = behind.map(|option| (option, word)).or(joined)?;
    (!is_plain_output(value)).then(|| option.to_owned())
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
    "-outputdir",
];

fn go_file(word: &str, previous: &str) -> Option<String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, value),
        None => (previous, word),
    };
    let name = if name.starts_with("--") { &name[1..] } else { name };
    (GO_FILES.contains(&name) && !is_plain_output(value)).then(|| name.to_owned())
}

/// Whether the path leads to a place below the folder that is not hidden.
fn is_plain_output(path: &str) -> bool {
    let hidden = |part: &str| part.starts_with('.') && part != ".";
    !path.starts_with(['/', '~']) && !path.split('/').any(hidden)
}
