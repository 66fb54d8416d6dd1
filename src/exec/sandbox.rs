//! Keeps the writes of a command, and of all that it starts, inside a few folders. The kernel does it (Landlock): our
//! own binary is started as the launcher, restricts itself, and becomes the command.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Folder;
use crate::protocol::EnvOverlay;

/// The hidden sub-command that [`restrict`]s itself.
const COMMAND: &str = "sandbox";

/// Variables that point git at another repository, or at other parts of one.
const GIT_PLACES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

/// The means to confine commands. There is one only where the kernel can do it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    launcher: Arc<Path>,
}

/// Where a command may write; everything else it can only read.
#[derive(Clone, Debug)]
pub struct Confinement {
    sandbox: Sandbox,
    bounds: Bounds,
}

#[derive(Clone, Debug)]
enum Bounds {
    /// It writes in `folders`, of which `temp` is the one for temporary files.
    Write { folders: Arc<[PathBuf]>, temp: Arc<Path> },
    /// It writes nowhere and reaches no network.
    Read,
}

/// What the shell of an agent may do.
#[derive(Clone, Debug, Default)]
pub enum ShellReach {
    /// Whatever the person may.
    #[default]
    Anywhere,
    /// Write only there.
    Confined(Confinement),
    /// Nothing: the agent gets no shell, because it would have to be confined and this system cannot.
    Withheld,
}

/// Why a program could not be confined. It is not started then.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("cannot open {} to allow writing there: {source}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("this system cannot confine programs: that takes Linux 6.2 or newer, with Landlock")]
    Unsupported,
    #[error("the kernel refuses to confine this program: {0}")]
    Refused(String),
}

impl Sandbox {
    /// The means to confine, with our own binary as the launcher. `None` where the kernel cannot.
    #[must_use]
    pub fn new(launcher: &Path) -> Option<Self> {
        available().then(|| Self { launcher: launcher.into() })
    }

    /// Confines to `write` and `temp`: folders, made anew when they are not there. Commands get `temp` as their folder
    /// for temporary files.
    #[must_use]
    pub fn confine(&self, write: impl IntoIterator<Item = PathBuf>, temp: &Path) -> Confinement {
        let folders = write.into_iter().chain([temp.to_owned()]).collect();
        let bounds = Bounds::Write { folders, temp: temp.into() };
        Confinement { sandbox: self.clone(), bounds }
    }

    /// Confines to reading: nothing is written, and TCP reaches nobody where the kernel can see to that (Linux 6.7).
    #[must_use]
    pub fn read_only(&self) -> Confinement {
        Confinement { sandbox: self.clone(), bounds: Bounds::Read }
    }
}

impl Confinement {
    /// The words that go before a command's own.
    pub(super) fn launcher(&self) -> Vec<OsString> {
        let mut words = vec![self.sandbox.launcher.as_os_str().to_owned(), COMMAND.into()];
        match &self.bounds {
            Bounds::Write { folders, .. } => {
                for folder in folders.iter() {
                    words.extend(["--write".into(), folder.as_os_str().to_owned()]);
                }
            }
            Bounds::Read => words.push("--offline".into()),
        }
        words.push("--".into());
        words
    }

    /// The environment of a confined command. One that writes has its own folder for temporary files, and git in the
    /// repository around it.
    pub(super) fn env(&self, env: &EnvOverlay) -> EnvOverlay {
        match &self.bounds {
            Bounds::Write { temp, .. } => {
                env.without(GIT_PLACES).with([("TMPDIR", temp.as_os_str())])
            }
            Bounds::Read => env.clone(),
        }
    }
}

/// Whether the kernel can confine. Confines nothing.
#[must_use]
pub fn available() -> bool {
    landlock::check().is_ok()
}

/// Confines this very process, for good, with all that it will start: it can write only below the folders `write`,
/// which are made when they are not there. Their paths are absolute and hold no link, which would lead the writes
/// elsewhere. `offline` ones reach nobody by TCP, where the kernel can see to that. Only for a process with one thread.
pub fn restrict(write: &[PathBuf], offline: bool) -> Result<(), SandboxError> {
    let open = |path: &PathBuf| {
        Folder::make(path).map_err(|source| SandboxError::Path { path: path.clone(), source })
    };
    let folders = write.iter().map(open).collect::<Result<Vec<Folder>, _>>()?;
    landlock::restrict(&folders, offline)
}

#[cfg(target_os = "linux")]
mod landlock {
    use std::os::fd::AsFd;
    use std::path::Path;

    use ::landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
        Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
        RulesetStatus, Scope,
    };

    use super::SandboxError;
    use crate::disk::Folder;

    /// The oldest version that covers every way to change a file's content; the ones before let files be cut short.
    const NEEDED: ABI = ABI::V3;
    /// The newest version whose other restrictions are used where they are there: device controls, and signals and
    /// abstract sockets that leave the sandbox.
    const KNOWN: ABI = ABI::V6;

    /// Devices that nothing can be done to by writing.
    const DEVICES: [&str; 5] =
        ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

    pub fn check() -> Result<(), SandboxError> {
        ruleset(false).map(drop)
    }

    pub fn restrict(write: &[Folder], offline: bool) -> Result<(), SandboxError> {
        let mut rules = ruleset(offline)?;
        for folder in write {
            rules = allow(rules, folder, AccessFs::from_write(KNOWN))?;
        }
        for device in DEVICES.map(Path::new).into_iter().filter(|device| device.exists()) {
            let writing = AccessFs::from_write(KNOWN) & AccessFs::from_file(KNOWN);
            let opened = PathFd::new(device).map_err(|error| SandboxError::Path {
                path: device.to_owned(),
                source: std::io::Error::other(error),
            })?;
            rules = allow(rules, opened, writing)?;
        }
        let status = rules.restrict_self()?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err(SandboxError::Unsupported),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }

    /// The rules that forbid all writing, and for `offline` all TCP.
    fn ruleset(offline: bool) -> Result<RulesetCreated, SandboxError> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NEEDED))
            .map_err(|_| SandboxError::Unsupported)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_write(KNOWN))?
            .scope(Scope::from_all(KNOWN))?;
        if offline {
            rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
        }
        Ok(rules.create()?)
    }

    fn allow(
        rules: RulesetCreated,
        opened: impl AsFd,
        access: impl Into<::landlock::BitFlags<AccessFs>>,
    ) -> Result<RulesetCreated, SandboxError> {
        Ok(rules.add_rule(PathBeneath::new(opened, access))?)
    }

    impl From<RulesetError> for SandboxError {
        fn from(error: RulesetError) -> Self {
            Self::Refused(error.to_string())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod landlock {
    use super::SandboxError;
    use crate::disk::Folder;

    pub fn check() -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }

    pub fn restrict(_write: &[Folder], _offline: bool) -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }
}
