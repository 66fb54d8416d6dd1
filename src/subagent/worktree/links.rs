//! The files that tell git where a worktree's repository is and how it is configured. An agent can
//! write them, and git runs programs that a repository's settings name: they are restored before
//! this program runs git there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::disk::Folder;

/// The folder in the repository that belongs to the fresh worktree at `path`, as git has just
/// recorded it there.
pub fn own_folder(path: &Path) -> io::Result<PathBuf> {
    let link = fs::read(path.join(".git"))?;
    let target = link.strip_prefix(b"gitdir: ").and_then(|link| link.strip_suffix(b"\n"));
    let target = target.ok_or_else(|| io::Error::other("its .git file names no repository"))?;
    path.join(OsStr::from_bytes(target)).canonicalize()
}

/// The files as git made them.
#[derive(Debug)]
pub struct GitLinks {
    /// Absent ones must stay absent.
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The worktree's own folder, two levels below its repository's.
    own: PathBuf,
    /// Its branch.
    branch: String,
}

impl GitLinks {
    /// Reads those of the worktree at `path` with its branch, whose own folder in the repository is
    /// `own`.
    pub fn read(path: &Path, own: &Path, branch: &str) -> io::Result<Self> {
        let files = [path.join(".git"), own.join("commondir"), own.join("gitdir")];
        let mut known = Vec::new();
        for file in files.into_iter().chain([own.join("config.worktree")]) {
            match fs::read(&file) {
                Ok(content) => known.push((file, Some(content))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => known.push((file, None)),
                Err(error) => return Err(error),
            }
        }
        Ok(Self { files: known, own: own.to_owned(), branch: branch.to_owned() })
    }

    /// Those that git makes for the worktree at `path`, whose own folder `own` is two levels below
    /// its repository's.
    pub fn expected(path: &Path, own: &Path, branch: &str) -> Self {
        let line = |start: &[u8], path: &Path| [start, path.as_os_str().as_bytes(), b"\n"].concat();
        let dot_git = path.join(".git");
        let files = vec![
            (own.join("commondir"), Some(b"../..\n".to_vec())),
            (own.join("gitdir"), Some(line(b"", &dot_git))),
            (own.join("config.worktree"), None),
            (dot_git, Some(line(b"gitdir: ", own))),
        ];
        Self { files, own: own.to_owned(), branch: branch.to_owned() }
    }

    /// Restores what was changed, and removes symbolic links, through which git would write
    /// elsewhere.
    pub fn restore(&self) -> io::Result<()> {
        for (path, content) in &self.files {
            if !has_content(path, content.as_deref()) {
                remove_path(path)?;
                if let Some(content) = content {
                    fs::write(path, content)?;
                }
            }
        }
        for entry in fs::read_dir(&self.own)? {
            let entry = entry?;
            // Git can be set to keep this one as a link.
            if entry.file_type()?.is_symlink() && entry.file_name() != "HEAD" {
                fs::remove_file(entry.path())?;
            }
        }
        // The files where the user's git appends to a log or writes the branch. Other agents work
        // beside these: their folders are held open, so that no link in their place leads
        // elsewhere.
        remove_link(&self.own.join("logs"), OsStr::new("HEAD"))?;
        let own = self.own.ancestors().nth(2).zip(self.branch.rsplit_once('/'));
        for kind in ["refs/heads", "logs/refs/heads"] {
            let Some((common, (folder, name))) = own else { break };
            remove_link(&common.join(kind).join(folder), OsStr::new(name))?;
        }
        Ok(())
    }
}

/// Removes the entry of the folder if it is a link. Does nothing if the folder is not one.
fn remove_link(folder: &Path, name: &OsStr) -> io::Result<()> {
    match Folder::open(folder) {
        Ok(folder) => folder.remove_link(name),
        Err(_) => Ok(()),
    }
}

/// Whether the file itself, not one behind a link, has this content.
fn has_content(path: &Path, content: Option<&[u8]>) -> bool {
    match (fs::symlink_metadata(path), content) {
        (Ok(found), Some(content)) => {
            found.is_file()
                && found.len() == content.len() as u64
                && fs::read(path).is_ok_and(|now| now == content)
        }
        (Ok(_), None) => false,
        (Err(error), content) => content.is_none() && error.kind() == io::ErrorKind::NotFound,
    }
}

fn remove_path(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
