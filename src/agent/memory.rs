//! Project memory: the instructions that a project keeps for agents in `AGENTS.md` and `CLAUDE.md`.

use std::path::{Path, PathBuf};

/// The files read, nearest folder last, so that the more specific instructions have the last word.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// More than this of one file is left out, with a word about it. Bytes.
const FILE_LIMIT: usize = 32 * 1024;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The text for the system prompt; empty when there are no files.
    pub text: String,
    /// The files that it holds.
    pub files: Vec<PathBuf>,
    /// What was left out or could not be read, for the person.
    pub notices: Vec<String>,
}

/// Reads the memory files of `dir` and of the folders above it up to the repository's root, and the person's own
/// in `user_dir`. Outside a repository only `dir` itself counts.
#[must_use]
pub fn read(dir: &Path, user_dir: &Path) -> Memory {
    let mut memory = Memory::default();
    let mut folders: Vec<&Path> =
        match dir.ancestors().position(|above| above.join(".git").exists()) {
            Some(root) => dir.ancestors().take(root + 1).collect(),
            None => vec![dir],
        };
    folders.reverse();
    folders.insert(0, user_dir);
    for folder in folders {
        let mut seen = String::new();
        for path in NAMES.map(|name| folder.join(name)) {
            let Some(text) = memory.load(&path) else { continue };
            // Many projects keep the same text, or a link, under both names.
            if text != seen {
                memory.add(path, &text);
                seen = text;
            }
        }
    }
    memory
}

impl Memory {
    fn load(&mut self, path: &Path) -> Option<String> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.notices.push(format!("{} was not read: {error}", path.display()));
                return None;
            }
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if text.len() > FILE_LIMIT {
            let kib = FILE_LIMIT / 1024;
            self.notices
                .push(format!("{} is long: only its first {kib} KB are used", path.display()));
            text.truncate(text.floor_char_boundary(FILE_LIMIT));
        }
        (!text.trim().is_empty()).then_some(text)
    }

    fn add(&mut self, path: PathBuf, text: &str) {
        if self.text.is_empty() {
            self.text.push_str("# Project instructions");
        }
        self.text.push_str(&format!("\n\n## {}\n{}", path.display(), text.trim()));
        self.files.push(path);
    }
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
    fn a_long_file_is_cut_with_a_notice() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "é".repeat(FILE_LIMIT)).unwrap();
        let memory = read(dir.path(), Path::new("/nowhere"));
        assert!(memory.text.len() <= FILE_LIMIT + 200);
        assert_eq!(memory.notices.len(), 1);
    }
}
