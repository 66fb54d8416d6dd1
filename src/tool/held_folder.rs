//! A folder that is held open while a file in it is replaced, so that it cannot be exchanged for another in between.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A folder that is certain to lie in the bounds of an agent for as long as it is held.
#[derive(Debug)]
pub struct HeldFolder {
    path: PathBuf,
    _open: File,
}

impl HeldFolder {
    /// Opens `folder` and finds where it really is. The gate has looked at the name a while ago; the agent's own
    /// commands may since have made a link of it.
    pub fn open(folder: &Path, bound: &Path) -> io::Result<Self> {
        let flags = nix::fcntl::OFlag::O_DIRECTORY.bits();
        let open = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
        let path = name_of(&open, folder);
        let real = path.canonicalize()?;
        if !real.starts_with(bound) {
            let text =
                format!("it leads to {} now, outside of {}", real.display(), bound.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Self { path, _open: open })
    }

    /// A path to it that stays the same folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The system's own name for an open folder; elsewhere than on Linux there is none that paths can begin with.
fn name_of(open: &File, folder: &Path) -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()))
    } else {
        folder.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_stays_the_one_that_was_looked_at() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("in"), root.join("out"));
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        let held = HeldFolder::open(&inside.join("a"), &inside).unwrap();
        fs::rename(inside.join("a"), inside.join("b")).unwrap();
        symlink(&outside, inside.join("a")).unwrap();
        fs::write(held.path().join("f"), "x").unwrap();
        assert!(inside.join("b/f").exists() && !outside.join("f").exists());
        let error = HeldFolder::open(&inside.join("a"), &inside).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("outside of"), "{error}");
    }
}
