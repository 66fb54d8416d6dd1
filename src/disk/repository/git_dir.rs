//! The git folders of a checkout, found byte for byte as git finds them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::disk::resolve::real;

/// Maximum size of a file that only contains a path, in bytes.
const MAX_PATH_FILE: u64 = 64 * 1024;

/// The git folders of one checkout.
pub struct GitDir {
    pub own: PathBuf,
    /// Shared by all worktrees of the repository.
    pub common: PathBuf,
    pub link: GitLink,
}

/// Whether a checkout and its git folder are known to belong together.
#[derive(PartialEq)]
pub enum GitLink {
    /// The folder is in the checkout, or names it.
    Checked,
    /// Only a setting can confirm it.
    Unchecked,
}

impl GitDir {
    /// Returns the checkout's git folders if git would accept them as a repository.
    pub fn open(checkout: &Path) -> Result<Self, String> {
        let git = Self::find(checkout)?;
        if !git.is_valid() {
            return Err("its .git is not a whole repository".to_owned());
        }
        Ok(git)
    }

    /// Returns the checkout's git folders, read byte for byte as git does.
    pub fn find(checkout: &Path) -> Result<Self, String> {
        let dot_git = checkout.join(".git");
        let unusual = || "its .git has a form that git may read differently".to_owned();
        let metadata = dot_git.symlink_metadata().map_err(|_| unusual())?;
        if metadata.is_dir() {
            if dot_git.join("commondir").symlink_metadata().is_ok() {
                return Err(unusual());
            }
            Ok(Self { own: dot_git.clone(), common: dot_git, link: GitLink::Checked })
        } else if metadata.is_file() {
            let text = read_short(&dot_git).ok_or_else(unusual)?;
            let own = text.strip_prefix(b"gitdir: ").and_then(parse_path).ok_or_else(unusual)?;
            // Through `/proc`, git may find another folder than this process.
            let own = Some(checkout.join(own)).filter(|own| real(own).is_some());
            own.and_then(|own| Self::linked(&dot_git, own)).ok_or_else(unusual)
        } else {
            Err(unusual())
        }
    }

    /// A git folder elsewhere: of a linked worktree, whose repository must name this `.git`, or another one.
    fn linked(dot_git: &Path, own: PathBuf) -> Option<Self> {
        let common = own.join("commondir");
        if common.symlink_metadata().is_err() {
            return Some(Self { common: own.clone(), own, link: GitLink::Unchecked });
        }
        let named = |file: &str| Some(own.join(parse_path(&read_short(&own.join(file))?)?));
        let common = real(named("commondir")?)?;
        let is_of_common = real(own.clone())?.parent() == Some(&common.join("worktrees"));
        let names_this = real(named("gitdir")?)? == real(dot_git)?;
        (is_of_common && names_this).then_some(Self { own, common, link: GitLink::Checked })
    }

    pub fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    /// Whether git accepts the folders as a repository, and all its objects are its own.
    pub fn is_valid(&self) -> bool {
        let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let head = self.own.join("HEAD");
        let has_head = head.symlink_metadata().is_ok_and(|found| found.is_file())
            && fs::read(head).is_ok_and(|text| {
                text.starts_with(b"ref: refs/") || is_hash(text.trim_ascii_end())
            });
        let objects = self.common.join("objects");
        let refs = self.common.join("refs");
        // Git skips a folder that it may not enter, and searches further up.
        let may_enter = |path: &Path| is_dir(path) && access(path, AccessFlags::X_OK).is_ok();
        has_head
            && may_enter(&refs)
            && may_enter(&objects)
            && is_missing(&objects.join("info/alternates"))
    }
}

/// Whether the entry certainly does not exist; other errors leave that open.
pub fn is_missing(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Whether there is no such folder, or nothing in it.
pub fn is_empty(folder: &Path) -> bool {
    is_missing(folder) || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Reads a file that contains a path, unless it is not a regular file or longer than any path.
pub fn read_short(path: &Path) -> Option<Vec<u8>> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() <= MAX_PATH_FILE).then(|| fs::read(path).ok())?
}

/// Returns the path in the file's text, without trailing line ends.
pub fn parse_path(text: &[u8]) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let text = &text[..end];
    (!text.contains(&0) && !text.contains(&b'\n')).then(|| PathBuf::from(OsStr::from_bytes(text)))
}

pub fn is_hash(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}
