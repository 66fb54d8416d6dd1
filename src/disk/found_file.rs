//! A file that was found through its links and may be read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::folder::open;
use super::resolve::{Route, RouteLink};

/// An existing file with the way that led to it. It is opened where that way ended, without
/// following a link again, so the file that was checked is the one that is read.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// Its path with a resolved folder; the file itself may be a link there.
    pub(super) written: PathBuf,
    pub(super) links: Vec<RouteLink>,
    path: PathBuf,
}

impl FoundFile {
    /// Follows the links of `path`.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let Route { written, links, end } = Route::new(path, None);
        let Some(end) = end else {
            // The system says best what is wrong with it.
            fs::canonicalize(path)?;
            return Err(io::Error::other("where its links lead is unknown"));
        };
        fs::symlink_metadata(&end)?;
        Ok(Self { written, links, path: end })
    }

    /// Returns an entry of this folder that is no link.
    pub(super) fn entry(&self, name: &OsStr) -> Self {
        let path = self.path.join(name);
        Self { written: path.clone(), links: self.links.clone(), path }
    }

    /// Returns the path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the links on the way, each in a folder without links.
    pub fn links(&self) -> impl Iterator<Item = &Path> {
        self.links.iter().map(|link| link.path.as_path())
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// Fails if it cannot be read or is not a regular file, or if a part of its path has become a
    /// link since.
    pub fn open(&self) -> io::Result<File> {
        let irregular = || io::Error::other("it is not a regular file");
        let file = open(&self.path).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => irregular(),
            _ => error,
        })?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_appears_after_the_check_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().canonicalize().unwrap().join(path);
        for file in ["in/skill/SKILL.md", "out/SKILL.md"] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), file).unwrap();
        }
        symlink(at("in/skill"), at("in/link")).unwrap();
        let found = ["in/skill/SKILL.md", "in/link/SKILL.md"]
            .map(|path| FoundFile::new(&at(path)).unwrap());
        let read = |file: &FoundFile| {
            let mut text = String::new();
            file.open().and_then(|mut file| file.read_to_string(&mut text)).map(|_| text)
        };
        // The link that was followed before is not followed again.
        fs::remove_file(at("in/link")).unwrap();
        symlink(at("out"), at("in/link")).unwrap();
        for file in &found {
            assert_eq!(read(file).unwrap(), "in/skill/SKILL.md");
        }
        fs::rename(at("in/skill"), at("in/moved")).unwrap();
        symlink(at("out"), at("in/skill")).unwrap();
        for file in &found {
            let why = read(file).unwrap_err().to_string();
            assert_eq!(why, "it became a symbolic link after it was checked; try again");
        }
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().canonicalize().unwrap().join(path);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [at("pipe"), at(""), "/dev/zero".into()] {
            let why = FoundFile::new(&path).unwrap().open().unwrap_err().to_string();
            assert_eq!(why, "it is not a regular file", "{}", path.display());
        }
        assert_eq!(FoundFile::new(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
        symlink("loop", at("loop")).unwrap();
        assert!(FoundFile::new(&at("loop")).is_err());
    }
}
