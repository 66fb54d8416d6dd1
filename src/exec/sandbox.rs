//! Keeps a command, and all that it starts, inside a few folders: its writes, or all that it does.
//! The kernel does it (Landlock and seccomp): our own binary is started as the launcher, restricts
//! itself, and becomes the command.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
mod landlock;
mod readable;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod seccomp;

use super::supervisor::Supervisor;
use crate::disk::Folder;
use crate::protocol::{EnvOverlay, ReadOnly};

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

/// The limits for one command.
#[derive(Clone, Debug)]
pub struct Confinement {
    sandbox: Sandbox,
    bounds: Bounds,
}

#[derive(Clone, Debug)]
struct Bounds {
    /// Where it writes.
    write: Arc<[PathBuf]>,
    /// The one of those folders that is for temporary files.
    temp: Option<Arc<Path>>,
    /// What it reads; everything if absent.
    read: Option<ReadOnly>,
}

/// The limits that the launcher puts on itself. Folders are absolute, and their paths hold no symbolic links.
#[derive(Debug)]
pub struct ProcessBounds<'a> {
    /// Nothing is written but below these folders, which are made when they are not there.
    pub write: &'a [PathBuf],
    /// All that is read, where that is bounded.
    pub read: Option<ReadBounds<'a>>,
}

/// Reads are kept to some folders. Then no program in these is started, no socket is opened, and
/// nothing is changed about files but their content.
#[derive(Debug)]
pub struct ReadBounds<'a> {
    pub folders: &'a [PathBuf],
    /// Folders that hold no installed programs either.
    pub project: &'a [PathBuf],
    /// Git finds the user's settings.
    pub uses_git: bool,
    /// The command's environment, which leads to what installed programs need to run.
    pub env: &'a EnvOverlay,
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
    #[error("cannot open {} for {for_use} in the sandbox: {source}", path.display())]
    Path { path: PathBuf, for_use: &'static str, source: io::Error },
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

    /// Confines writes to `write` and `temp`: folders, made anew when they are not there. Commands
    /// get `temp` as their folder for temporary files.
    #[must_use]
    pub fn confine(&self, write: impl IntoIterator<Item = PathBuf>, temp: &Path) -> Confinement {
        let write = write.into_iter().chain([temp.to_owned()]).collect();
        let bounds = Bounds { write, temp: Some(temp.into()), read: None };
        Confinement { sandbox: self.clone(), bounds }
    }

    /// Confines to reading.
    #[must_use]
    pub fn read_only(&self, bounds: ReadOnly) -> Confinement {
        let bounds = Bounds { write: [].into(), temp: None, read: Some(bounds) };
        Confinement { sandbox: self.clone(), bounds }
    }
}

impl Confinement {
    /// The same bounds for writes, and for reads these folders beside those in which it writes. Git
    /// finds the user's settings. No socket is opened.
    #[must_use]
    pub fn reading(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let folders = self.bounds.write.iter().cloned().chain(folders).collect();
        let read = ReadOnly { folders, project: [].into(), uses_git: true };
        Self { bounds: Bounds { read: Some(read), ..self.bounds }, ..self }
    }

    /// A supervisor for what runs confined: the launcher is our own binary, which is one too.
    #[must_use]
    pub fn supervisor(&self) -> Option<Supervisor> {
        Supervisor::new(&self.sandbox.launcher)
    }

    /// The words that go before a command's own.
    pub(super) fn launcher(&self) -> Vec<OsString> {
        let mut words = vec![self.sandbox.launcher.as_os_str().to_owned(), COMMAND.into()];
        let Bounds { write, read, temp: _ } = &self.bounds;
        let mut add = |option: &str, path: &Path| words.extend([option.into(), path.into()]);
        write.iter().for_each(|folder| add("--write", folder));
        if let Some(ReadOnly { folders, project, uses_git }) = read {
            folders.iter().for_each(|folder| add("--read", folder));
            project.iter().for_each(|folder| add("--project", folder));
            words.push("--read-only".into());
            words.extend(uses_git.then(|| "--git".into()));
        }
        words.push("--".into());
        words
    }

    /// The environment of a confined command. One that writes has its own folder for temporary
    /// files, and git in the repository around it.
    pub(super) fn env(&self, env: &EnvOverlay) -> EnvOverlay {
        match &self.bounds.temp {
            Some(temp) => env.without(GIT_PLACES).with([("TMPDIR", temp.as_os_str())]),
            None => env.clone(),
        }
    }
}

/// Whether the kernel can confine. Confines nothing.
#[must_use]
pub fn available() -> bool {
    landlock::check().is_ok()
}

/// Confines this very process, for good, with all that it will start. Only for a process with one thread.
///
/// # Errors
/// When the kernel cannot or will not, or a folder to write in is not there or behind a link.
pub fn restrict(bounds: &ProcessBounds<'_>) -> Result<(), SandboxError> {
    let write = opened(bounds.write, "writing", Folder::make)?;
    let Some(ReadBounds { folders, project, uses_git, env }) = &bounds.read else {
        return landlock::restrict_writes(&write);
    };
    let others = readable::files(&[*folders, *project].concat(), env, *uses_git);
    let read = opened(folders, "reading", Folder::open)?;
    landlock::restrict_all(&write, &read, &others)?;
    seccomp::forbid()
}

/// The folders, held open for a use.
fn opened(
    folders: &[PathBuf],
    for_use: &'static str,
    open: impl Fn(&Path) -> io::Result<Folder>,
) -> Result<Vec<Folder>, SandboxError> {
    let open = |path: &PathBuf| {
        open(path).map_err(|source| SandboxError::Path { path: path.clone(), for_use, source })
    };
    folders.iter().map(open).collect()
}

/// Elsewhere nothing can be confined.
#[cfg(not(target_os = "linux"))]
mod landlock {
    use super::SandboxError;
    use crate::disk::Folder;

    pub fn check() -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }

    pub fn restrict_writes(_folders: &[Folder]) -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }

    pub fn restrict_all(
        _write: &[Folder],
        _read: &[Folder],
        _others: &super::readable::Readable,
    ) -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }
}

/// On other processors, and elsewhere than on Linux, no calls are forbidden.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
mod seccomp {
    pub fn forbid() -> Result<(), super::SandboxError> {
        Ok(())
    }
}
