//! Programs that the user's git settings name and a project's attributes select: filters, text
//! converters, and diff or merge drivers. Also the programs that check signatures, if the settings
//! make git show them.
//!
//! Attributes select the files, and any checkout can bring some, in many places. So each named
//! program counts, selected or not. They start in the checkout, from which an interpreter such as
//! `python -m` loads its modules.

use std::path::PathBuf;

use super::config_file::GitSetting;
use super::git_dir::GitDir;
use super::index;
use super::keys::is_sort_key;
use super::user::GitSettings;
use crate::disk::programs::{is_system_program, programs_named};
use crate::protocol::printable_line;

/// Programs that only take data from the folder in which they start: they have no settings there
/// and start nothing else.
const PLAIN_PROGRAMS: [&str; 20] = [
    "antiword",
    "cat",
    "catdoc",
    "difft",
    "false",
    "git-crypt",
    "git-lfs",
    "gzip",
    "hexdump",
    "jq",
    "od",
    "odt2txt",
    "pdfinfo",
    "pdftotext",
    "plutil",
    "sort",
    "strings",
    "tr",
    "true",
    "xxd",
];

/// Those of them for which no file name is an option that reads or writes another file.
const SAFE_WITH_NAMES: [&str; 6] = ["cat", "difft", "false", "git-crypt", "git-lfs", "true"];

/// The settings that name a program, by section and key. Their sections have names, by which attributes select them.
const DRIVERS: [(&str, &str); 6] = [
    ("diff", "command"),
    ("diff", "textconv"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("merge", "driver"),
];

/// Programs that check signatures if no setting names others.
const SIGNATURE_PROGRAMS: [&str; 3] = ["gpg", "gpgsm", "ssh-keygen"];

/// The program depends on the folder in which git runs.
struct RelativeProgram;

/// One program named by a setting.
struct GitDriver {
    /// `diff`, `filter`, `merge`, `signature` or `sort`.
    kind: &'static str,
    /// The setting's name, such as `filter.x.clean`, in lower case.
    setting: String,
    /// The program is known, and only a file name could make it do more.
    is_plain: bool,
}

/// Checks that the user's settings name no program that may run code of a checkout: any file that
/// git checks out may select it the next moment.
///
/// # Errors
///
/// Returns a message that names the setting.
pub fn check_all_plain(users: &GitSettings) -> Result<(), String> {
    unknown_drivers(users).first().map_or(Ok(()), GitDriver::refuse)
}

/// Checks that git starts no program of the user's that may run code of the checkout, for a command
/// that merges nothing. Only one that `shows_contents` starts those of `diff`. `hash` is the length
/// of an object name in bytes.
///
/// # Errors
///
/// Returns a message that names the setting.
pub fn check(
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
    shows_contents: bool,
) -> Result<(), String> {
    let starts = |it: &GitDriver| {
        matches!(it.kind, "filter" | "sort")
            || matches!(it.kind, "diff" | "signature") && shows_contents
    };
    let has_odd_names = || !matches!(index::all_names(&git.index(), hash, is_ordinary), Ok(true));
    let drivers = unknown_drivers(users).into_iter().filter(starts);
    let mut refused = drivers.filter(|driver| !driver.is_plain || has_odd_names());
    refused.next().map_or(Ok(()), |driver| driver.refuse())
}

/// Whether a program takes the path for a file, not an option, by its first character.
fn is_ordinary(path: &[u8]) -> bool {
    let is_plain = |first: &u8| first.is_ascii_alphanumeric() || !first.is_ascii();
    path.first().is_some_and(|first| is_plain(first) || b"._".contains(first))
}

/// Whether a command that shows contents may fetch: for a `diff` program git creates the file as
/// checked out, and a filter such as git-lfs downloads what is missing from the remote.
pub fn may_fetch(users: &GitSettings) -> bool {
    let has = |kind: &str, keys: &[&str]| {
        let is_kind =
            |it: &GitSetting| split_section(&it.section).0 == kind && keys.contains(&&*it.key);
        users.all().any(is_kind)
    };
    has("filter", &["smudge", "process"]) && has("diff", &["textconv", "command", "external"])
}

impl GitDriver {
    fn refuse(&self) -> Result<(), String> {
        let setting = printable_line(&self.setting);
        Err(format!("your git setting {setting} starts a program that may run the project's code"))
    }
}

/// Returns the setting that makes git show signatures, if a program that checks them is not the system's own.
fn signature_driver(users: &GitSettings) -> Option<GitDriver> {
    let shows = |it: &&GitSetting| match (split_section(&it.section).0, it.key.as_str()) {
        ("log", "showsignature") => {
            !["false", "no", "off", "0"].iter().any(|no| it.value.eq_ignore_ascii_case(no))
        }
        ("format", "pretty") | ("pretty", _) => {
            let mut fields = it.value.split('%').skip(1);
            fields.any(|field| field.trim_start_matches(['+', '-', ' ']).starts_with('G'))
        }
        ("branch" | "tag", "sort") => !is_sort_key(&it.value),
        _ => false,
    };
    let mut shown: Vec<&GitSetting> = users.all().filter(shows).collect();
    shown.sort_by_key(|it| it.key != "sort");
    let shown = shown.first()?;
    let is_program = |it: &&GitSetting| {
        split_section(&it.section).0 == "gpg" && it.key == "program" && !it.value.is_empty()
    };
    let named = users.all().filter(is_program).map(|it| it.value.as_str());
    let is_safe = |program: &str| match find_program(program, &users.programs) {
        Ok(Some(program)) => is_system_program(&program),
        Ok(None) => true,
        Err(RelativeProgram) => false,
    };
    let is_safe = named.chain(SIGNATURE_PROGRAMS).all(is_safe);
    let setting = format!("{}.{}", shown.section.replace(' ', "."), shown.key);
    // Branches are sorted without reading their contents.
    let kind = if shown.key == "sort" { "sort" } else { "signature" };
    (!is_safe).then_some(GitDriver { kind, setting, is_plain: false })
}

/// Returns the programs that the user's settings name and that are not known to be safe with any file name.
fn unknown_drivers(users: &GitSettings) -> Vec<GitDriver> {
    let driver = |it: &GitSetting| {
        let (section, name) = split_section(&it.section);
        let is_driver = match name {
            Some(_) => DRIVERS.contains(&(section, it.key.as_str())),
            None => (section, it.key.as_str()) == ("diff", "external"),
        };
        let kinds = ["diff", "filter", "merge"];
        let kind = kinds.into_iter().find(|kind| *kind == section && is_driver)?;
        let setting = format!("{}.{}", it.section.replace(' ', "."), it.key);
        let is_plain = match kind {
            "filter" => is_plain_filter(&it.value, &users.programs),
            _ => is_plain(&it.value, &users.programs),
        };
        let is_known = is_plain && (kind == "filter" || takes_any_name(&it.value));
        (!is_known).then_some(GitDriver { kind, setting, is_plain })
    };
    users.all().filter_map(driver).chain(signature_driver(users)).collect()
}

/// Whether a filter is a single program, with plain arguments, that is known to take only data from
/// the folder in which it starts. `programs` are the folders of `PATH`: the program must be the
/// system's own.
pub fn is_plain_filter(command: &str, programs: &[PathBuf]) -> bool {
    // Git replaces `%f` with the file name.
    is_plain(command, programs) && (!command.contains('%') || takes_any_name(command))
}

/// Whether no file name is an option that makes the program do more.
fn takes_any_name(command: &str) -> bool {
    command.trim().is_empty() || SAFE_WITH_NAMES.contains(&program_of(command).1)
}

/// Returns the command's program as written, and its file name.
fn program_of(command: &str) -> (&str, &str) {
    let program = command.split_whitespace().next().unwrap_or_default();
    (program, program.rsplit('/').next().unwrap_or_default())
}

/// Like [`is_plain_filter`], for a program to which git passes no file name.
fn is_plain(command: &str, programs: &[PathBuf]) -> bool {
    let is_plain_char = |c: char| c.is_ascii_alphanumeric() || " -_./%=,:+".contains(c);
    let (program, name) = program_of(command);
    let is_known = PLAIN_PROGRAMS.contains(&name) && command.chars().all(is_plain_char);
    let is_systems =
        matches!(find_program(program, programs), Ok(Some(program)) if is_system_program(&program));
    is_known && is_systems || command.trim().is_empty()
}

/// Finds the program that git runs for this name, if there is one.
///
/// # Errors
///
/// Fails if that depends on the folder in which git runs.
fn find_program(program: &str, programs: &[PathBuf]) -> Result<Option<PathBuf>, RelativeProgram> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        return if path.is_absolute() { Ok(Some(path)) } else { Err(RelativeProgram) };
    }
    for folder in programs {
        if folder.is_relative() {
            return Err(RelativeProgram);
        }
        if let Some(found) = programs_named(program, [folder.clone()]).next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the kind of a section and the name in it: `filter "x"` or, in git's old format, `filter.x`.
fn split_section(section: &str) -> (&str, Option<&str>) {
    match section.split_once([' ', '.', '\t']) {
        Some((kind, name)) => (kind, Some(name.trim().trim_matches('"'))),
        None => (section, None),
    }
}
