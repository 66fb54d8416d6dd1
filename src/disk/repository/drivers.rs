//! Programs that the user's settings of git name for files which a project picks: filters, programs
//! that show a file as text, and those that compare or merge. Besides these, the programs that check
//! signatures, where the settings have git show them.
//!
//! Attributes say for which files, and any checkout can bring some, in many places. So each program
//! that a setting names counts, picked or not. They start in the checkout, where an interpreter such
//! as `python -m` takes its modules from.

use std::path::PathBuf;

use super::config_file::Setting;
use super::keys::is_sort_key;
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

/// Programs that check signatures where no setting names others.
const SIGNATURE_PROGRAMS: [&str; 3] = ["gpg", "gpgsm", "ssh-keygen"];

/// Which program a name means depends on the folder in which git runs.
struct Relative;

/// One program, as a setting has it.
struct Driver {
    /// `diff`, `filter`, `merge`, `signature` or `sort`.
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
    let starts = |it: &Driver| {
        matches!(it.kind, "filter" | "sort")
            || matches!(it.kind, "diff" | "signature") && shows_contents
    };
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
        Err(format!("your git setting {setting} starts a program that may run the project's code"))
    }
}

/// The setting by which git shows signatures, if a program that checks them is not the system's own.
fn signature(users: &GitSettings) -> Option<Driver> {
    let shows = |it: &&Setting| match (split(&it.section).0, it.key.as_str()) {
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
    let mut shown: Vec<&Setting> = users.all().filter(shows).collect();
    shown.sort_by_key(|it| it.key != "sort");
    let shown = shown.first()?;
    let is_program = |it: &&Setting| {
        split(&it.section).0 == "gpg" && it.key == "program" && !it.value.is_empty()
    };
    let named = users.all().filter(is_program).map(|it| it.value.as_str());
    let is_safe = |program: &str| match find(program, &users.programs) {
        Ok(Some(program)) => is_of_system(&program),
        Ok(None) => true,
        Err(Relative) => false,
    };
    let is_safe = named.chain(SIGNATURE_PROGRAMS).all(is_safe);
    let setting = format!("{}.{}", shown.section.replace(' ', "."), shown.key);
    // Branches are sorted without a look at what they hold.
    let kind = if shown.key == "sort" { "sort" } else { "signature" };
    (!is_safe).then_some(Driver { kind, setting, is_plain: false })
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
    users.all().filter_map(driver).chain(signature(users)).collect()
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
    let is_known = PLAIN.contains(&name) && command.chars().all(is_plain_char);
    let is_systems = matches!(find(program, programs), Ok(Some(program)) if is_of_system(&program));
    is_known && is_systems || command.trim().is_empty()
}

/// The program that git finds by this name, if there is one.
///
/// # Errors
///
/// Where that depends on the folder in which git runs.
fn find(program: &str, programs: &[PathBuf]) -> Result<Option<PathBuf>, Relative> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        return if path.is_absolute() { Ok(Some(path)) } else { Err(Relative) };
    }
    for folder in programs {
        if folder.is_relative() {
            return Err(Relative);
        }
        if let Some(found) = programs_named(program, [folder.clone()]).next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The kind of a section and the name in it: `filter "x"` or, as git once wrote it, `filter.x`.
fn split(section: &str) -> (&str, Option<&str>) {
    match section.split_once([' ', '.', '\t']) {
        Some((kind, name)) => (kind, Some(name.trim().trim_matches('"'))),
        None => (section, None),
    }
}
