//! Project memory: the instructions that a project keeps for agents in `AGENTS.md` and `CLAUDE.md`.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The files read, nearest folder last, so that the more specific instructions have the last word.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// More than this of one file is left out, with a word about it. Bytes.
const FILE_LIMIT: usize = 32 * 1024;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The text for the system prompt; empty when there are no files.
    pub text: String,
    /// What was left out or could not be read, for the person.
    pub notices: Vec<String>,
}

/// Reads the memory files of `dir` and of the folders above it up to the repository's root, and the person's own
/// in `user_dir`. Outside a repository only `dir` itself counts.
///
/// A project's files may come from anywhere: only regular files are read, and only such as lie in the repository.
#[must_use]
pub fn read(dir: &Path, user_dir: &Path) -> Memory {
    let mut memory = Memory::default();
    let root = dir.ancestors().find(|above| above.join(".git").exists()).unwrap_or(dir);
    let mut folders: Vec<&Path> =
        dir.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    folders.reverse();
    memory.read_folder(user_dir, None);
    for folder in folders {
        memory.read_folder(folder, Some(root));
    }
    memory
}

impl Memory {
    /// Reads one folder's files; `within` is the folder that links may not lead out of.
    fn read_folder(&mut self, folder: &Path, within: Option<&Path>) {
        let mut seen = String::new();
        for path in NAMES.map(|name| folder.join(name)) {
            let text = match load(&path, within) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(why) => {
                    self.notices.push(format!("{} was not read: {why}", path.display()));
                    continue;
                }
            };
            // Many projects keep the same text, or a link, under both names.
            if text != seen {
                self.add(&path, &text);
                seen = text;
            }
        }
    }

    fn add(&mut self, path: &Path, text: &str) {
        let mut text = text;
        if text.len() > FILE_LIMIT {
            let kib = FILE_LIMIT / 1024;
            let notice = format!("{} is long: only its first {kib} KB are used", path.display());
            self.notices.push(notice);
            text = &text[..text.floor_char_boundary(FILE_LIMIT)];
        }
        if self.text.is_empty() {
            self.text.push_str("# Project instructions");
        }
        self.text.push_str(&format!("\n\n## {}\n{}", path.display(), text.trim()));
    }
}

/// The text of a file, one byte more than the limit at most; `None` when it is not there or blank.
fn load(path: &Path, within: Option<&Path>) -> Result<Option<String>, String> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let root = within.and_then(|root| root.canonicalize().ok());
    if root.is_some_and(|root| !real.starts_with(root)) {
        return Err("it is a link that leads out of the repository".to_owned());
    }
    let bytes = head_of(&real, FILE_LIMIT as u64 + 1).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// The beginning of a regular file. Devices and pipes may have no end, or no beginning.
pub(super) fn head_of(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_from_the_repository_root_down_and_says_each_text_once() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("repo/crate");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::create_dir(root.path().join("repo/.git")).unwrap();
        std::fs::write(root.path().join("AGENTS.md"), "outside").unwrap();
        std::fs::write(root.path().join("repo/AGENTS.md"), "general").unwrap();
        std::fs::write(root.path().join("repo/CLAUDE.md"), "general").unwrap();
        std::fs::write(below.join("CLAUDE.md"), "special").unwrap();
        let memory = read(&below, Path::new("/nowhere"));
        let places =
            ["outside", "general", "special"].map(|word| memory.text.matches(word).count());
        assert_eq!(places, [0, 1, 1]);
        assert!(memory.text.find("general") < memory.text.find("special"));
    }

    #[test]
    fn a_device_or_a_link_that_leads_out_of_the_repository_is_not_read() {
        let top = tempfile::tempdir().unwrap();
        let repo = top.path().join("repo");
        std::fs::create_dir_all(repo.join(".git")).unwrap();
        std::fs::write(top.path().join("key"), "secret").unwrap();
        std::os::unix::fs::symlink("../key", repo.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", repo.join("CLAUDE.md")).unwrap();
        let memory = read(&repo, Path::new("/nowhere"));
        assert_eq!((memory.text.as_str(), memory.notices.len()), ("", 2));
    }

    #[test]
    fn a_long_file_is_cut_with_a_notice() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "é".repeat(FILE_LIMIT)).unwrap();
        let memory = read(dir.path(), Path::new("/nowhere"));
        assert!(memory.text.len() <= FILE_LIMIT + 200);
        assert_eq!(memory.notices.len(), 1);
    }
}
