//! The few files that tell git where a worktree's repository is and what it is set to. An agent can write them, and git
//! runs programs that a repository's settings name: they are put back before this program asks git anything there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::BRANCHES;

/// The folder in the repository that belongs to the fresh worktree at `path`, as git has just written it there.
pub fn own_folder(path: &Path) -> io::Result<PathBuf> {
    let link = fs::read(path.join(".git"))?;
    let target = link.strip_prefix(b"gitdir: ").and_then(|link| link.strip_suffix(b"\n"));
    let target = target.ok_or_else(|| io::Error::other("its file .git names no repository"))?;
    path.join(OsStr::from_bytes(target)).canonicalize()
}

/// The files as git made them.
#[derive(Debug)]
pub struct Links {
    /// Absent ones are to stay absent.
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The worktree's own folder in the repository.
    own: PathBuf,
}

impl Links {
    /// Those of the worktree at `path`, whose own folder in the repository is `own`.
    pub fn of(path: &Path, own: &Path) -> io::Result<Self> {
        let files = [path.join(".git"), own.join("commondir"), own.join("gitdir")];
        let mut known = Vec::new();
        for file in files.into_iter().chain([own.join("config.worktree")]) {
            match fs::read(&file) {
                Ok(content) => known.push((file, Some(content))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => known.push((file, None)),
                Err(error) => return Err(error),
            }
        }
        Ok(Self { files: known, own: own.to_owned() })
    }

    /// Those that git makes for the worktree at `path`, whose own folder `own` is two levels below its repository's.
    pub fn as_made(path: &Path, own: &Path) -> Self {
        let line = |start: &[u8], path: &Path| [start, path.as_os_str().as_bytes(), b"\n"].concat();
        let dot_git = path.join(".git");
        let files = vec![
            (own.join("commondir"), Some(b"../..\n".to_vec())),
            (own.join("gitdir"), Some(line(b"", &dot_git))),
            (own.join("config.worktree"), None),
            (dot_git, Some(line(b"gitdir: ", own))),
        ];
        Self { files, own: own.to_owned() }
    }

    /// Puts back what was changed, and takes away symbolic links, through which git would write elsewhere.
    pub fn restore(&self) -> io::Result<()> {
        for (path, content) in &self.files {
            if !is(path, content.as_deref()) {
                take_away(path)?;
                if let Some(content) = content {
                    fs::write(path, content)?;
                }
            }
        }
        // Git can be set to keep this one as a link.
        take_links_away(&self.own, "HEAD")?;
        // Two levels below its repository, where the agent wrote for its branches.
        if let Some(common) = self.own.ancestors().nth(2) {
            for kind in ["refs", "logs/refs"] {
                take_links_away(&common.join(kind).join("heads").join(BRANCHES), "")?;
            }
        }
        Ok(())
    }
}

/// Removes the links in the folder and below it, but for one name at its top.
fn take_links_away(folder: &Path, except: &str) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            take_links_away(&entry.path(), "")?;
        } else if kind.is_symlink() && entry.file_name() != except {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether that very file, not one behind a link, has this content.
fn is(path: &Path, content: Option<&[u8]>) -> bool {
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

fn take_away(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
