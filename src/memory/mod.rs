//! Project memory: the instructions for agents in `AGENTS.md` and `CLAUDE.md` of a project and the
//! user, with their `@path` imports.

use std::path::Path;

use crate::disk::{ProjectScope, repository_root};

mod import;
mod reader;
mod sections;
#[cfg(test)]
mod tests;

use reader::MemoryReader;
pub use sections::Memory;

/// The project's files in a folder, in reading order.
pub const PROJECT_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];

/// The user's file beside them, read after them.
const LOCAL_NAME: &str = "CLAUDE.local.md";

/// The user's files in the configuration folder.
const USER_NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The user's file in another program's folder.
const CLAUDE_NAME: &str = "CLAUDE.md";

/// Where to look for memory, and what may be read. Creating it reads nothing.
#[derive(Clone, Copy, Debug)]
pub struct MemorySources<'a> {
    /// The working directory.
    pub dir: &'a Path,
    /// The user's configuration folder.
    pub own: &'a Path,
    /// The user's `.claude` folder.
    pub claude: Option<&'a Path>,
    /// The folder that `~` stands for.
    pub home: Option<&'a Path>,
    /// The files that the project may import.
    pub scope: &'a ProjectScope,
    /// Whether the project's files are read.
    pub project: bool,
    /// Whether the user's own files in the project are read.
    pub local: bool,
}

impl Memory {
    /// Reads the files of the working directory and its parents up to the repository's root, and
    /// the user's own. Outside a repository only the directory itself counts. Files for which
    /// `hides` returns true are skipped. May block.
    ///
    /// A project's files may come from anywhere: only regular files are read, and only imports that the scope allows.
    pub fn read(sources: &MemorySources<'_>, hides: &dyn Fn(&Path) -> bool) -> Self {
        let MemorySources { dir, own, claude, home, scope, project, local } = *sources;
        let root = repository_root(dir, home).unwrap_or(dir);
        let mut reader = MemoryReader::new(scope, home, hides);
        for name in USER_NAMES {
            reader.add_user_file(&own.join(name));
        }
        if let Some(claude) = claude {
            reader.add_user_file(&claude.join(CLAUDE_NAME));
        }
        let mut folders: Vec<&Path> =
            dir.ancestors().take_while(|folder| folder.starts_with(root)).collect();
        folders.reverse();
        for folder in folders {
            let shared = PROJECT_NAMES.into_iter().filter(|_| project);
            for name in shared.chain(local.then_some(LOCAL_NAME)) {
                reader.add_project_file(&folder.join(name));
            }
        }
        reader.finish()
    }
}
