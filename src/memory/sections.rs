//! The instructions that were found, and the texts for models and the user about them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::markdown::Fingerprint;

/// The instructions found, in the order in which models read them: the user's own, then from the
/// repository's root down to the working directory, so that the more specific ones come last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub(super) sections: Vec<MemorySection>,
    /// Files that were skipped or could not be read, for the user.
    pub notices: Vec<String>,
    /// All files that were checked, as they were just before reading.
    pub(super) seen: Fingerprint,
}

/// One file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemorySection {
    pub path: PathBuf,
    /// The file that imports it.
    pub by: Option<PathBuf>,
    pub text: String,
}

impl Memory {
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
