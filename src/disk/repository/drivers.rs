//! Programs that the user's settings of git name for files which a project picks: filters, programs
//! that show a file as text, and those that compare.
//!
//! Attributes say for which files, and any checkout can bring some. The programs start in the
//! checkout, where an interpreter such as `python -m` takes its modules from.

use std::fs;
use std::path::{Path, PathBuf};

use super::config_file::Setting;
use super::user::GitSettings;
use super::{GitDir, index, is_missing};
use crate::protocol::printable_line;

/// Programs that take nothing but data from the folder in which they start.
const PLAIN: [&str; 22] = [
    "antiword",
    "cat",
    "catdoc",
    "delta",
    "difft",
    "docx2txt",
    "exiftool",
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
    "xxd",
    "zcat",
];

/// The settings that name such programs, by section and key; those of `diff` and `filter` stand in
/// sections with a name, by which attributes pick them.
const DRIVERS: [(&str, &str); 6] = [
    ("diff", "command"),
    ("diff", "textconv"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("merge", "driver"),
];

/// More folders are not looked through for attributes.
const MAX_FOLDERS: usize = 20_000;

/// A longer file of attributes is not read. Bytes.
const MAX_FILE: u64 = 1 << 20;

const ATTRIBUTES: &str = ".gitattributes";

/// One program, as a setting has it.
struct Driver {
    /// As git names the setting, such as `filter.x.clean`. In lower case.
    setting: String,
    /// The name that attributes have for it; `None` where git starts it for every file.
    name: Option<String>,
    command: String,
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
/// there.
///
/// # Errors
///
/// Names the setting.
pub fn check(
    checkout: &Path,
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
) -> Result<(), String> {
    let drivers = unknown(users);
    let Some(first) = drivers.first() else { return Ok(()) };
    if let Some(driver) = drivers.iter().find(|driver| driver.name.is_none()) {
        return driver.refuse();
    }
    let Some(texts) = attributes(checkout, git, hash, users) else { return first.refuse() };
    let is_picked = |driver: &&Driver| {
        let named = driver.name.as_ref().map(|name| format!("={name}"));
        named.is_some_and(|named| texts.iter().any(|text| text.contains(&named)))
    };
    drivers.iter().find(is_picked).map_or(Ok(()), Driver::refuse)
}

impl Driver {
    fn refuse(&self) -> Result<(), String> {
        let setting = printable_line(&self.setting);
        Err(format!("your git setting {setting} starts a program that may run the project's code"))
    }
}

/// Whether the command is one program that is known to take nothing but data from the folder in
/// which it starts, with plain words.
#[must_use]
pub fn is_plain(command: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./%=,:+".contains(c);
    let program = command.split_whitespace().next().unwrap_or_default();
    let (folder, name) = program.rsplit_once('/').unwrap_or(("/", program));
    command.chars().all(is_plain) && folder.starts_with('/') && PLAIN.contains(&name)
        || command.trim().is_empty()
}

/// All that may hold attributes of files in the checkout, in lower case; `None` where not all of it
/// can be read.
fn attributes(
    checkout: &Path,
    git: &GitDir,
    hash: usize,
    users: &GitSettings,
) -> Option<Vec<String>> {
    let mut files = vec![PathBuf::from("/etc/gitattributes")];
    files.extend(users.attribute_files(checkout));
    files.extend([&git.common, &git.own].map(|folder| folder.join("info/attributes")));
    let mut pending = vec![checkout.to_owned()];
    let mut looked_into = 0;
    while let Some(folder) = pending.pop() {
        looked_into += 1;
        if looked_into > MAX_FOLDERS {
            return None;
        }
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?;
            if entry.file_name() == ATTRIBUTES {
                files.push(entry.path());
            } else if entry.file_name() != ".git" && entry.file_type().ok()?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    // Git takes from the index what is not checked out.
    let tracked = index::files(&git.index(), hash).ok()?;
    if tracked.named(ATTRIBUTES).any(|file| is_missing(&checkout.join(file))) {
        return None;
    }
    let files = files.into_iter().filter(|file| !is_missing(file));
    files.map(|file| read(&file)).collect()
}

fn read(file: &Path) -> Option<String> {
    let found = file.metadata().ok()?;
    let is_readable = found.is_file() && found.len() <= MAX_FILE;
    let text = is_readable.then(|| fs::read(file).ok())??;
    Some(String::from_utf8_lossy(&text).to_lowercase())
}

/// The programs that the user's settings name and that are not known.
fn unknown(users: &GitSettings) -> Vec<Driver> {
    let driver = |it: &Setting| {
        let (kind, name) = split(&it.section);
        let key = (kind, it.key.as_str());
        let is_driver = match name {
            Some(_) => DRIVERS.contains(&key),
            None => key == ("diff", "external"),
        };
        let name = name.map(str::to_owned);
        let setting = format!("{}.{}", it.section.replace(' ', "."), it.key);
        is_driver.then(|| Driver { setting, name, command: it.value.clone() })
    };
    users.all().filter_map(driver).filter(|driver| !is_plain(&driver.command)).collect()
}

/// The kind of a section and the name in it: `filter "x"` or, as git once wrote it, `filter.x`.
fn split(section: &str) -> (&str, Option<&str>) {
    match section.split_once([' ', '.', '\t']) {
        Some((kind, name)) => (kind, Some(name.trim().trim_matches('"'))),
        None => (section, None),
    }
}
