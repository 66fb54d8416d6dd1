//! Programs that the user's settings of git name for files which a project picks: filters, programs
//! that show a file as text, and those that compare or merge.
//!
//! Attributes say for which files, and any checkout can bring some. The programs start in the
//! checkout, where an interpreter such as `python -m` takes its modules from.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::config_file::Setting;
use super::user::GitSettings;
use super::{GitDir, MAX_FOLDERS, index, is_missing};
use crate::disk::{is_of_system, programs_named, resolve};
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

/// The name of the driver that git takes for files without an attribute.
const DEFAULT: &str = "default";

/// A longer file of attributes is not read. Bytes.
const MAX_FILE: u64 = 1 << 20;

const ATTRIBUTES: &str = ".gitattributes";

/// Not all of what may pick a driver is known.
struct Unreadable;

/// One program, as a setting has it.
struct Driver {
    /// `diff`, `filter` or `merge`.
    kind: &'static str,
    /// As git names the setting, such as `filter.x.clean`. In lower case.
    setting: String,
    /// The name that attributes have for it; `None` where git starts it for every file.
    name: Option<String>,
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

/// Checks that no attribute of the checkout picks a program of the user's that may run what lies
/// there, for a command that merges nothing. Only one that `shows_contents` starts those of `diff`.
///
/// # Errors
///
/// Names the setting.
pub fn check(
    checkout: &Path,
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
    shows_contents: bool,
) -> Result<(), String> {
    let mut drivers = unknown(users);
    drivers.retain(|it| it.kind == "filter" || it.kind == "diff" && shows_contents);
    if drivers.is_empty() {
        return Ok(());
    }
    let mut for_all = drivers.iter().filter(|driver| driver.name.is_none());
    if let Some(driver) = for_all.find(|driver| !driver.is_plain) {
        return driver.refuse();
    }
    let texts = attributes(checkout, git, hash, users);
    let texts = texts.map_err(|Unreadable| {
        let setting = printable_line(&drivers[0].setting);
        format!("not all attributes of the project can be read, which may pick your git setting {setting}")
    })?;
    let is_picked = |driver: &&Driver| {
        let named = driver.name.as_ref().map(|name| format!("={name}"));
        named.is_none_or(|named| texts.iter().any(|text| text.contains(&named)))
    };
    let mut picked = drivers.iter().filter(is_picked);
    let has_odd_names = || !matches!(index::all_names(&git.index(), hash, is_ordinary), Ok(true));
    picked.find(|driver| !driver.is_plain || has_odd_names()).map_or(Ok(()), Driver::refuse)
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
        let name = name.filter(|name| *name != DEFAULT).map(str::to_owned);
        let setting = format!("{}.{}", it.section.replace(' ', "."), it.key);
        let is_plain = match kind {
            "filter" => is_plain_filter(&it.value, &users.programs),
            _ => is_plain(&it.value, &users.programs),
        };
        let is_known = is_plain && (kind == "filter" || takes_any_name(&it.value));
        (!is_known).then_some(Driver { kind, setting, name, is_plain })
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

/// All that may hold attributes of files in the checkout, in lower case.
fn attributes(
    checkout: &Path,
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
) -> Result<Vec<String>, Unreadable> {
    let mut files = users.attribute_files(checkout);
    files.extend([&git.common, &git.own].map(|folder| folder.join("info/attributes")));
    let mut texts = Vec::new();
    for file in files.iter().filter(|file| !is_missing(file)) {
        texts.push(read(file)?);
    }
    for folder in folders_below(checkout)? {
        let file = folder.join(ATTRIBUTES);
        match file.symlink_metadata() {
            // Git follows no link there, and looks into the index instead.
            Ok(found) if found.is_file() => texts.push(read(&file)?),
            Ok(_) => return Err(Unreadable),
            Err(_) => {}
        }
    }
    // Git takes from the index what is not checked out.
    let tracked = index::named(&git.index(), hash, ATTRIBUTES).map_err(|_| Unreadable)?;
    let is_read = |(file, is_file): &(PathBuf, bool)| *is_file && !is_missing(&checkout.join(file));
    match tracked.iter().all(is_read) {
        true => Ok(texts),
        false => Err(Unreadable),
    }
}

/// The folder and all below it, apart from those that nobody can enter. A link leads to one of them,
/// or to a file.
fn folders_below(checkout: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let top = resolve(checkout).ok_or(Unreadable)?;
    let mut folders = vec![checkout.to_owned()];
    let mut at = 0;
    while let Some(folder) = folders.get(at) {
        at += 1;
        let entries = match fs::read_dir(folder) {
            // Git needs no list of what is in there, but has to get in.
            Err(_) if access(folder, AccessFlags::X_OK).is_err() => continue,
            entries => entries.map_err(|_| Unreadable)?,
        };
        for entry in entries {
            let entry = entry.map_err(|_| Unreadable)?;
            let kind = entry.file_type().map_err(|_| Unreadable)?;
            // A commit may name files in `.git` too.
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink() && !leads_inside(&entry.path(), &top) {
                return Err(Unreadable);
            }
        }
        if folders.len() > MAX_FOLDERS {
            return Err(Unreadable);
        }
    }
    Ok(folders)
}

/// Whether the link leads to no folder, or to one that is looked through anyway.
fn leads_inside(link: &Path, top: &Path) -> bool {
    !link.is_dir() || resolve(link).is_some_and(|folder| folder.starts_with(top))
}

fn read(file: &Path) -> Result<String, Unreadable> {
    let found = file.metadata().map_err(|_| Unreadable)?;
    let is_readable = found.is_file() && found.len() <= MAX_FILE;
    let text = is_readable.then(|| fs::read(file).ok()).flatten().ok_or(Unreadable)?;
    Ok(String::from_utf8_lossy(&text).to_lowercase())
}

/// The kind of a section and the name in it: `filter "x"` or, as git once wrote it, `filter.x`.
fn split(section: &str) -> (&str, Option<&str>) {
    match section.split_once([' ', '.', '\t']) {
        Some((kind, name)) => (kind, Some(name.trim().trim_matches('"'))),
        None => (section, None),
    }
}
