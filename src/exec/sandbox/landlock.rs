//! Restrictions on files: which ones the kernel lets the process open.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};

use super::SandboxError;
use super::readable::ReadableFiles;
use crate::disk::Folder;

/// The oldest version that covers every way to change a file's content; earlier ones let files be truncated.
const REQUIRED_ABI: ABI = ABI::V3;
/// The newest version whose other restrictions are used if available: device controls, the network,
/// and signals and abstract sockets that leave the sandbox.
const NEWEST_ABI: ABI = ABI::V6;

/// Devices that writing to does no harm.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

pub fn check() -> Result<(), SandboxError> {
    ruleset(RulesetKind::Write).map(drop)
}

/// Lets the process write only below the folders.
pub fn restrict_writes(folders: &[Folder]) -> Result<(), SandboxError> {
    let mut rules = ruleset(RulesetKind::Write)?;
    for folder in folders {
        rules = allow(rules, folder, AccessFs::from_write(NEWEST_ABI))?;
    }
    enforce(rules, AccessFs::from_write(NEWEST_ABI))
}

/// Lets the process write below `write`, also read below `read`, read and start programs in
/// `others`, and nothing else.
pub fn restrict_all(
    write: &[Folder],
    read: &[Folder],
    others: &ReadableFiles,
) -> Result<(), SandboxError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = ruleset(RulesetKind::All)?;
    for folder in write {
        rules = allow(rules, folder, AccessFs::from_write(NEWEST_ABI) | reading)?;
    }
    for folder in read {
        rules = allow(rules, folder, reading)?;
    }
    for folder in &others.folders {
        rules = allow_path(rules, folder, reading | AccessFs::Execute)?;
    }
    // A setting that is empty or wrong may name a folder.
    for file in others.files.iter().filter(|file| file.is_file()) {
        rules = allow_path(rules, file, AccessFs::ReadFile.into())?;
    }
    enforce(rules, AccessFs::from_write(NEWEST_ABI) | AccessFs::ReadFile)
}

/// The operations that the rules cover.
#[derive(Clone, Copy, PartialEq)]
enum RulesetKind {
    Write,
    /// Reading too, and the network.
    All,
}

/// Creates a rule set that forbids everything it covers.
fn ruleset(kind: RulesetKind) -> Result<RulesetCreated, SandboxError> {
    let is_about = |abi| match kind {
        RulesetKind::Write => AccessFs::from_write(abi),
        RulesetKind::All => AccessFs::from_all(abi),
    };
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(is_about(REQUIRED_ABI))
        .map_err(|_| SandboxError::Unsupported)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(is_about(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?;
    if kind == RulesetKind::All {
        rules = rules.handle_access(AccessNet::from_all(NEWEST_ABI))?;
    }
    Ok(rules.create()?)
}

/// Restricts this process, except for such access to harmless devices.
fn enforce(mut rules: RulesetCreated, devices: BitFlags<AccessFs>) -> Result<(), SandboxError> {
    for device in DEVICES {
        rules = allow_path(rules, Path::new(device), devices)?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(SandboxError::Unsupported),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// Allows access at a path, following links. One that does not exist, that the user cannot reach,
/// or that is a pipe or socket needs no rule.
fn allow_path(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxError> {
    let Ok(metadata) = path.metadata() else { return Ok(rules) };
    let kind = metadata.file_type();
    if !(kind.is_file() || kind.is_dir() || kind.is_char_device()) {
        return Ok(rules);
    }
    let opened = PathFd::new(path).map_err(|error| SandboxError::Path {
        path: path.to_owned(),
        for_use: "reading",
        source: io::Error::other(error),
    })?;
    let possible = if metadata.is_dir() {
        AccessFs::from_all(NEWEST_ABI)
    } else {
        AccessFs::from_file(NEWEST_ABI)
    };
    allow(rules, opened, access & possible)
}

fn allow(
    rules: RulesetCreated,
    opened: impl AsFd,
    access: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, SandboxError> {
    Ok(rules.add_rule(PathBeneath::new(opened, access))?)
}

impl From<RulesetError> for SandboxError {
    fn from(error: RulesetError) -> Self {
        Self::Refused(error.to_string())
    }
}
