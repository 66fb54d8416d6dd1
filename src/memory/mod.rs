//! Project memory: the instructions that a project and a person keep for agents in `AGENTS.md` and
//! `CLAUDE.md`, with what these import by `@path`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::disk::{ProjectScope, repository_root};
use crate::markdown::Fingerprint;

mod import;
mod reader;
#[cfg(test)]
mod tests;

use reader::Reader;

/// The files of a folder that come with the project, in the order in which they are read.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];

/// The person's own beside them, which is read after them.
const LOCAL_NAME: &str = "CLAUDE.local.md";

/// The person's own, below their configuration folder.
const OWN_NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The same of another program: people bring it along.
const BROUGHT_NAME: &str = "CLAUDE.md";

/// Where memory is looked for, and what may be read of it. Making it reads nothing.
#[derive(Clone, Copy, Debug)]
pub struct MemorySources<'a> {
    /// The working directory.
    pub dir: &'a Path,
    /// The person's configuration folder.
    pub own: &'a Path,
    /// The person's `.claude` folder.
    pub claude: Option<&'a Path>,
    /// What `~` stands for.
    pub home: Option<&'a Path>,
    /// What the project's files may bring in.
    pub scope: &'a ProjectScope,
    /// Whether what comes with the project is read.
    pub project: bool,
    /// Whether what the person keeps for themselves in the project is read.
    pub local: bool,
}

/// What was found, in the order in which models read it: the person's own, then from the
/// repository's root down to the working directory, so that the more specific instructions have the
/// last word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    sections: Vec<Section>,
    /// What was left out or could not be read, for the person.
    pub notices: Vec<String>,
    /// All files that were looked at, each as it was just before it was read.
    seen: Fingerprint,
}

/// One file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    path: PathBuf,
    /// The file that imports it.
    by: Option<PathBuf>,
    text: String,
}

impl Memory {
    /// Reads the files of the working directory and of the folders above it up to the repository's
    /// root, and the person's own. Outside of a repository only the directory itself counts. A file
    /// that `hides` says yes to is not read. It may block.
    ///
    /// A project's files may come from anywhere: only regular files are read, and of what they
    /// bring in only what the scope has.
    #[must_use]
    pub fn read(sources: &MemorySources<'_>, hides: &dyn Fn(&Path) -> bool) -> Self {
        let MemorySources { dir, own, claude, home, scope, project, local } = *sources;
        let root = repository_root(dir, home).unwrap_or(dir);
        let mut reader = Reader::new(scope, home, hides);
        for name in OWN_NAMES {
            reader.add_own(&own.join(name));
        }
        if let Some(claude) = claude {
            reader.add_own(&claude.join(BROUGHT_NAME));
        }
        let mut folders: Vec<&Path> =
            dir.ancestors().take_while(|folder| folder.starts_with(root)).collect();
        folders.reverse();
        for folder in folders {
            let shared = NAMES.into_iter().filter(|_| project);
            for name in shared.chain(local.then_some(LOCAL_NAME)) {
                reader.add_of_project(&folder.join(name));
            }
        }
        reader.finish()
    }

    /// The text for a system prompt; empty when there is none.
    #[must_use]
    pub fn text(&self) -> String {
        match self.sections.as_slice() {
            [] => String::new(),
            sections => format!("# Project instructions{}", joined(sections)),
        }
    }

    /// The files that count, in order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sections.iter().map(|section| section.path.as_path())
    }

    /// Whether all files look as they did when they were read, those that were not there included.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.seen == self.seen.again()
    }

    /// What a model has to know that was told `before`; `None` when it knows it all.
    #[must_use]
    pub fn news_since(&self, before: &Self) -> Option<String> {
        let (gone, new) = self.difference(before);
        let mut text = String::new();
        if !new.is_empty() {
            text.push_str("[Files of the project instructions have changed. What stands here replaces what they said before.]");
            text.push_str(&joined(new));
        }
        for path in gone {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&format!("[What {} said holds no longer.]", path.display()));
        }
        (!text.is_empty()).then_some(text)
    }

    /// The files whose text is another than `before`, for the person.
    #[must_use]
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> Vec<&'a Path> {
        let (gone, new) = self.difference(before);
        gone.into_iter().chain(new.into_iter().map(|section| section.path.as_path())).collect()
    }

    /// The files that are no longer there, and the sections that are new or changed.
    fn difference<'a>(&'a self, before: &'a Self) -> (Vec<&'a Path>, Vec<&'a Section>) {
        let now: BTreeSet<&Path> = self.sections.iter().map(|it| it.path.as_path()).collect();
        let paths = before.sections.iter().map(|section| section.path.as_path());
        let gone = paths.filter(|path| !now.contains(path)).collect();
        let same = |new: &&Section| {
            before.sections.iter().any(|it| it.path == new.path && it.text == new.text)
        };
        (gone, self.sections.iter().filter(|section| !same(section)).collect())
    }
}

fn joined<'a>(sections: impl IntoIterator<Item = &'a Section>) -> String {
    let text = |Section { path, by, text }: &Section| match by {
        None => format!("\n\n## {}\n{text}", path.display()),
        Some(by) => format!("\n\n## {} (imported by {})\n{text}", path.display(), by.display()),
    };
    sections.into_iter().map(text).collect()
}
