//! Programs that the user's settings of git name for files which a project picks: filters, programs
//! that show a file as text, and those that compare or merge.
//!
//! Attributes say for which files, and any checkout can bring some, in many places. So each program
//! that a setting names counts, picked or not. They start in the checkout, where an interpreter such
//! as `python -m` takes its modules from.

use std::path::PathBuf;

use super::config_file::Setting;
use super::user::GitSettings;
use super::{GitDir, index};
use crate::disk::{is_of_system, programs_named};
use crate::protocol::printable_line;

/// Programs that take nothing but data from the folder in which they start: they have no settings
/// there and start nothing else.
const PLAIN: [&str; 20] = [
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

/// Of these, the ones for which no name of a file is an option that reads or writes another one.
const SAFE_WITH_NAMES: [&str; 6] = ["cat", "difft", "false", "git-crypt", "git-lfs", "true"];

/// The settings that name a program, by section and key. They stand in sections with a name, by
/// which attributes pick them.
const DRIVERS: [(&str, &str); 6] = [
    ("diff", "command"),
    ("diff", "textconv"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("merge", "driver"),
];

/// One program, as a setting has it.
struct Driver {
    /// `diff`, `filter` or `merge`.
    kind: &'static str,
    /// As git names the setting, such as `filter.x.clean`. In lower case.
    setting: String,
    /// It is known, and only the name of a file could make it do more.
    is_plain: bool,
}

/// Checks that the user's settings name no program that may run what lies in a checkout: what git
/// fills with files may pick it the next moment.
///
/// # Errors
///
/// Names the setting.
pub fn check_all_plain(users: &GitSettings) -> Result<(), String> {
    unknown(users).first().map_or(Ok(()), Driver::refuse)
}

/// Checks that git starts no program of the user's that may run what lies in the checkout, for a
/// command that merges nothing. Only one that `shows_contents` starts those of `diff`. `hash` is the
/// length of an object's name in bytes.
///
/// # Errors
///
/// Names the setting.
pub fn check(
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
    shows_contents: bool,
) -> Result<(), String> {
    let starts = |it: &Driver| it.kind == "filter" || it.kind == "diff" && shows_contents;
    let has_odd_names = || !matches!(index::all_names(&git.index(), hash, is_ordinary), Ok(true));
    let drivers = unknown(users).into_iter().filter(starts);
    let mut refused = drivers.filter(|driver| !driver.is_plain || has_odd_names());
    refused.next().map_or(Ok(()), |driver| driver.refuse())
}

/// Whether a program takes the path for a file and for no option: it begins as those of files do.
fn is_ordinary(path: &[u8]) -> bool {
    let is_plain = |first: &u8| first.is_ascii_alphanumeric() || !first.is_ascii();
    path.first().is_some_and(|first| is_plain(first) || b"._".contains(first))
}

/// Whether a command that shows contents may fetch: for a program of `diff` git makes the file as it
/// is checked out, and a filter such as git-lfs gets what is missing from the remote.
pub fn may_fetch(users: &GitSettings) -> bool {
    let has = |kind: &str, keys: &[&str]| {
        let is_kind = |it: &Setting| split(&it.section).0 == kind && keys.contains(&&*it.key);
        users.all().any(is_kind)
    };
    has("filter", &["smudge", "process"]) && has("diff", &["textconv", "command", "external"])
}

impl Driver {
    fn refuse(&self) -> Result<(), String> {
        let setting = printable_line(&self.setting);
        Err(format!("your git setting {setting} names a program that may run the project's code"))
    }
}

/// The programs that the user's settings name and that are not known to take any name of a file.
fn unknown(users: &GitSettings) -> Vec<Driver> {
    let driver = |it: &Setting| {
        let (section, name) = split(&it.section);
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
        (!is_known).then_some(Driver { kind, setting, is_plain })
    };
    users.all().filter_map(driver).collect()
}

/// Whether a filter is one program that is known to take nothing but data from the folder in which
/// it starts, with plain words. `programs` are the folders of `PATH`: the program has to be the
/// system's own.
#[must_use]
pub fn is_plain_filter(command: &str, programs: &[PathBuf]) -> bool {
    // Git puts the name of the file for `%f`.
    is_plain(command, programs) && (!command.contains('%') || takes_any_name(command))
}

/// Whether no name of a file is an option of the program that does more.
fn takes_any_name(command: &str) -> bool {
    command.trim().is_empty() || SAFE_WITH_NAMES.contains(&program_of(command).1)
}

/// The program of the command as it is written, and its name.
fn program_of(command: &str) -> (&str, &str) {
    let program = command.split_whitespace().next().unwrap_or_default();
    (program, program.rsplit('/').next().unwrap_or_default())
}

/// The same for a program to which git gives no name.
fn is_plain(command: &str, programs: &[PathBuf]) -> bool {
    let is_plain_char = |c: char| c.is_ascii_alphanumeric() || " -_./%=,:+".contains(c);
    let (program, name) = program_of(command);
    let path = match program.contains('/') {
        true => Some(PathBuf::from(program)),
        // Which one a relative folder has depends on where git runs.
        false => {
            let mut folders = programs.iter().take_while(|folder| folder.is_absolute());
            folders.find_map(|folder| programs_named(program, [folder.clone()]).next())
        }
    };
    let is_known = PLAIN.contains(&name) && command.chars().all(is_plain_char);
    is_known && path.is_some_and(|path| path.is_absolute() && is_of_system(&path))
        || command.trim().is_empty()
}

/// The kind of a section and the name in it: `filter "x"` or, as git once wrote it, `filter.x`.
fn split(section: &str) -> (&str, Option<&str>) {
    match section.split_once([' ', '.', '\t']) {
        Some((kind, name)) => (kind, Some(name.trim().trim_matches('"'))),
        None => (section, None),
    }
}
