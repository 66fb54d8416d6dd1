//! The few files that tell git where a worktree's repository is and what it is set to. An agent can write them, and git
//! runs programs that a repository's settings name: they are put back before this program asks git anything there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files as git made them; absent ones are to stay absent.
#[derive(Debug)]
pub struct Links(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Links {
    /// Those of the worktree at `path`, whose own folder in the repository is `own`.
    pub fn of(path: &Path, own: &Path) -> io::Result<Self> {
        let files = [path.join(".git"), own.join("commondir"), own.join("gitdir")];
        let mut links = Vec::new();
        for file in files.into_iter().chain([own.join("config.worktree")]) {
            match fs::read(&file) {
                Ok(content) => links.push((file, Some(content))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => links.push((file, None)),
                Err(error) => return Err(error),
            }
        }
        Ok(Self(links))
    }

    /// Puts back what was changed.
    pub fn restore(&self) -> io::Result<()> {
        for (path, content) in &self.0 {
            if !is(path, content.as_deref()) {
                take_away(path)?;
                if let Some(content) = content {
                    fs::write(path, content)?;
                }
            }
        }
        Ok(())
    }
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
