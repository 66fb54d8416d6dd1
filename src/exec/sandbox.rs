//! Confines a command, and everything it starts, to a few folders: its writes only, or everything
//! it does. The kernel does it (Landlock and seccomp): our own binary is started as the launcher,
//! restricts itself, and becomes the command.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use rustix::io::fcntl_dupfd_cloexec;

#[cfg(target_os = "linux")]
mod landlock;
mod readable;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod seccomp;

use super::supervise::Supervisor;
use crate::disk::Folder;
use crate::protocol::{EnvOverlay, ReadOnly};

/// The hidden sub-command that [`restrict`]s itself.
const COMMAND: &str = "sandbox";

/// The lowest descriptor for the launcher: a shell script that starts a command uses those below.
const FIRST_LAUNCHER: RawFd = 10;

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

/// Confines commands. Exists only where the kernel supports it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    program: Arc<Path>,
    /// The program, held open: its path may lead to another file by now, which nobody has judged.
    launcher: Arc<File>,
}

/// The limits for one command.
#[derive(Clone, Debug)]
pub struct Confinement {
    sandbox: Sandbox,
    bounds: SandboxBounds,
}

#[derive(Clone, Debug)]
struct SandboxBounds {
    /// Folders it may write.
    write: Arc<[PathBuf]>,
    /// The one of those folders that is for temporary files.
    temp: Option<Arc<Path>>,
    /// Bounds for reads; none if absent.
    read: Option<ReadOnly>,
}

/// The limits that the launcher puts on itself. Folders are absolute, and their paths hold no symbolic links.
#[derive(Debug)]
pub struct ProcessBounds<'a> {
    /// The only writable folders, created if missing.
    pub write: &'a [PathBuf],
    /// The readable files, if bounded.
    pub read: Option<ReadBounds<'a>>,
}

/// Limits reads to some folders. Then no program in these is started, no socket is opened, and
/// nothing but the content of files is changed.
#[derive(Debug)]
pub struct ReadBounds<'a> {
    pub folders: &'a [PathBuf],
    /// Folders that hold no installed programs either.
    pub project: &'a [PathBuf],
    /// Whether git finds the user's settings.
    pub uses_git: bool,
    /// The command's environment, which leads to the files that installed programs need.
    pub env: &'a EnvOverlay,
}

/// The reach of an agent's shell.
#[derive(Clone, Debug, Default)]
pub enum ShellReach {
    /// Everything the user may.
    #[default]
    Anywhere,
    /// Writes only there.
    Confined(Confinement),
    /// Nothing: the agent gets no shell, because it would have to be confined and this system cannot do that.
    Withheld,
}

/// The error when a program could not be confined. It is not started then.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("cannot open {} for {for_use} in the sandbox: {source}", path.display())]
    Path { path: PathBuf, for_use: &'static str, source: io::Error },
    #[error("this system cannot confine programs: it needs Linux 6.2 or newer with Landlock")]
    Unsupported,
    #[error("the kernel refuses to confine this program: {0}")]
    Refused(String),
}

impl Sandbox {
    /// A sandbox whose launcher is this very program, even if its file is replaced while it runs.
    pub fn for_this_program() -> Option<Self> {
        Self::new(Path::new("/proc/self/exe"))
    }

    /// A sandbox whose launcher is the caliban at `program`. `None` if the kernel does not support it.
    pub fn new(program: &Path) -> Option<Self> {
        let launcher = File::open(program).ok().filter(|_| available())?.into();
        Some(Self { program: program.into(), launcher })
    }

    /// Confines writes to `write` and `temp`: folders, created if missing. Commands get `temp` as
    /// their folder for temporary files.
    pub fn confine(&self, write: impl IntoIterator<Item = PathBuf>, temp: &Path) -> Confinement {
        let write = write.into_iter().chain([temp.to_owned()]).collect();
        let bounds = SandboxBounds { write, temp: Some(temp.into()), read: None };
        Confinement { sandbox: self.clone(), bounds }
    }

    /// Confines to reading, and to writing where the bounds say so.
    pub fn read_only(&self, bounds: ReadOnly) -> Confinement {
        let write = bounds.write.clone();
        let bounds = SandboxBounds { write, temp: None, read: Some(bounds) };
        Confinement { sandbox: self.clone(), bounds }
    }
}

impl Confinement {
    /// Keeps the bounds for writes, and bounds reads to these folders and the writable ones. Git
    /// finds the user's settings. No socket is opened.
    pub fn reading(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let folders = self.bounds.write.iter().cloned().chain(folders).collect();
        let (write, project) = ([].into(), [].into());
        let read = ReadOnly { folders, write, project, uses_git: true };
        Self { bounds: SandboxBounds { read: Some(read), ..self.bounds }, ..self }
    }

    /// Returns a supervisor for confined commands: the launcher is our own binary, which can be one too.
    pub fn supervisor(&self) -> Option<Supervisor> {
        Supervisor::new(&self.sandbox.program)
    }

    /// Returns the words that go before a command's own, and the descriptor of the launcher, which
    /// they name: it must be open while the command starts.
    pub(super) fn launcher(&self) -> io::Result<(Vec<OsString>, OwnedFd)> {
        let launcher = fcntl_dupfd_cloexec(&*self.sandbox.launcher, FIRST_LAUNCHER)?;
        fcntl(&launcher, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let number = launcher.as_raw_fd().to_string();
        let path = format!("/proc/self/fd/{number}");
        let mut words = vec![path.into(), COMMAND.into(), "--launcher".into(), number.into()];
        let SandboxBounds { write, read, temp: _ } = &self.bounds;
        let mut add = |option: &str, path: &Path| words.extend([option.into(), path.into()]);
        write.iter().for_each(|folder| add("--write", folder));
        if let Some(ReadOnly { folders, write: _, project, uses_git }) = read {
            folders.iter().for_each(|folder| add("--read", folder));
            project.iter().for_each(|folder| add("--project", folder));
            words.push("--read-only".into());
            words.extend(uses_git.then(|| "--git".into()));
        }
        words.push("--".into());
        Ok((words, launcher))
    }

    /// Returns the environment of a confined command. One with its own folder for temporary files
    /// gets that, and git finds the repository around it. Another one that writes keeps them where
    /// it may: bash needs one for a long here-document.
    pub(super) fn env(&self, env: &EnvOverlay) -> EnvOverlay {
        match (&self.bounds.temp, self.bounds.write.first()) {
            (Some(temp), _) => env.without(GIT_PLACES).with([("TMPDIR", temp.as_os_str())]),
            (None, Some(folder)) => env.with([("TMPDIR", folder.as_os_str())]),
            (None, None) => env.clone(),
        }
    }
}

/// Whether the kernel can confine. Confines nothing.
pub fn available() -> bool {
    landlock::check().is_ok()
}

/// Confines this process for good, with everything it will start. Only for a process with one thread.
///
/// # Errors
///
/// When the kernel cannot or will not, or a writable folder is missing or behind a link.
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

/// Opens the folders, held open for a use.
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

/// Other systems cannot confine.
#[cfg(not(target_os = "linux"))]
mod landlock {
    use crate::disk::Folder;
    use crate::exec::sandbox::SandboxError;
    use crate::exec::sandbox::readable::ReadableFiles;

    pub fn check() -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }

    pub fn restrict_writes(_folders: &[Folder]) -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }

    pub fn restrict_all(
        _write: &[Folder],
        _read: &[Folder],
        _others: &ReadableFiles,
    ) -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported)
    }
}

/// On other processors and systems no calls are forbidden.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
mod seccomp {
    use crate::exec::sandbox::SandboxError;

    pub fn forbid() -> Result<(), SandboxError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_is_at_no_descriptor_of_the_scripts() {
        let Some(sandbox) = Sandbox::for_this_program() else { return };
        let confinement = sandbox.confine([], Path::new("/tmp"));
        // As many as there are below it, and one more.
        let launchers: Vec<_> =
            (0..=FIRST_LAUNCHER).map(|_| confinement.launcher().unwrap()).collect();
        for (words, launcher) in launchers {
            let number = launcher.as_raw_fd();
            assert!(number >= FIRST_LAUNCHER);
            assert_eq!(words[0], OsString::from(format!("/proc/self/fd/{number}")));
            let flags = FdFlag::from_bits_retain(fcntl(&launcher, FcntlArg::F_GETFD).unwrap());
            assert!(!flags.contains(FdFlag::FD_CLOEXEC), "the script inherits it");
        }
    }
}
