//! Project memory: the instructions for agents in `AGENTS.md` and `CLAUDE.md` of a project and the
//! user, with their `@path` imports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::disk::{ProjectScope, repository_root};
use crate::markdown::Fingerprint;

mod import;
mod reader;
#[cfg(test)]
mod tests;

use reader::MemoryReader;

/// The project's files in a folder, in reading order.
const PROJECT_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];

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

/// The instructions found, in the order in which models read them: the user's own, then from the
/// repository's root down to the working directory, so that the more specific ones come last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    sections: Vec<MemorySection>,
    /// Files that were skipped or could not be read, for the user.
    pub notices: Vec<String>,
    /// All files that were checked, as they were just before reading.
    seen: Fingerprint,
}

/// One file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MemorySection {
    path: PathBuf,
    /// The file that imports it.
    by: Option<PathBuf>,
    text: String,
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

    /// Returns the text for a system prompt; empty if there is none.
    pub fn text(&self) -> String {
        match self.sections.as_slice() {
            [] => String::new(),
            sections => format!("# Project instructions{}", join_sections(sections)),
        }
    }

    /// Returns the files that count, in order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sections.iter().map(|section| section.path.as_path())
    }

    /// Whether no file has changed since it was read, including missing ones.
    pub fn is_current(&self) -> bool {
        self.seen == self.seen.refreshed()
    }

    /// Returns the changes for a model that knows `before`; `None` if there are none.
    pub fn update_since(&self, before: &Self) -> Option<String> {
        let (gone, new) = self.difference(before);
        let mut text = String::new();
        if !new.is_empty() {
            text.push_str("[Project instruction files have changed. The text below replaces what they said before.]");
            text.push_str(&join_sections(new));
        }
        for path in gone {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&format!("[The instructions in {} no longer apply.]", path.display()));
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns the files whose text differs from `before`, for the user.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> Vec<&'a Path> {
        let (gone, new) = self.difference(before);
        gone.into_iter().chain(new.into_iter().map(|section| section.path.as_path())).collect()
    }

    /// Returns the files that are gone, and the sections that are new or changed.
    fn difference<'a>(&'a self, before: &'a Self) -> (Vec<&'a Path>, Vec<&'a MemorySection>) {
        let now: BTreeSet<&Path> = self.sections.iter().map(|it| it.path.as_path()).collect();
        let paths = before.sections.iter().map(|section| section.path.as_path());
        let gone = paths.filter(|path| !now.contains(path)).collect();
        let same = |new: &&MemorySection| {
            before.sections.iter().any(|it| it.path == new.path && it.text == new.text)
        };
        (gone, self.sections.iter().filter(|section| !same(section)).collect())
    }
}

fn join_sections<'a>(sections: impl IntoIterator<Item = &'a MemorySection>) -> String {
    let text = |MemorySection { path, by, text }: &MemorySection| match by {
        None => format!("\n\n## {}\n{text}", path.display()),
        Some(by) => format!("\n\n## {} (imported by {})\n{text}", path.display(), by.display()),
    };
    sections.into_iter().map(text).collect()
}
