//! The files that rules hide from tools which find files while searching.

use std::path::{Path, PathBuf};

use super::path::PathTarget;
use super::pattern::{PathPattern, Restriction};
use super::pattern_roots::{AgentRoots, PatternRoots};
use super::places::Places;

/// The files that an agent's rules keep it from reading, for tools that find files while searching.
#[derive(Debug)]
pub struct UnreadableFiles {
    cwd: PathBuf,
    roots: AgentRoots,
    /// Whether it is all files.
    all: bool,
    patterns: Vec<(PathPattern, PatternRoots)>,
}

impl UnreadableFiles {
    /// Creates an empty set, for an agent that works in `cwd`.
    pub(super) fn new(places: &Places, cwd: &Path) -> Self {
        let roots = AgentRoots::new(places, cwd, &[]);
        Self { cwd: cwd.to_owned(), roots, all: false, patterns: Vec::new() }
    }

    /// Adds the files of these patterns, except the patterns that `asked` matches: the user has answered for those.
    pub(super) fn add<'a>(
        &mut self,
        patterns: impl IntoIterator<Item = &'a PathPattern>,
        asked: Option<&PathTarget>,
    ) {
        for pattern in patterns {
            let starts = pattern.roots(&self.roots);
            let is_meant = |asked| pattern.restricts(asked, &starts) == Restriction::Yes;
            if !asked.is_some_and(is_meant) {
                self.patterns.push((pattern.clone(), starts));
            }
        }
    }

    /// Adds all files.
    pub(super) fn add_all(&mut self) {
        self.all = true;
    }

    /// Whether the file is one of them.
    pub fn contains(&self, file: &Path) -> bool {
        if self.all || self.patterns.is_empty() {
            return self.all;
        }
        let target = PathTarget::new(&self.cwd, file);
        self.patterns
            .iter()
            .any(|(pattern, starts)| pattern.restricts(&target, starts) != Restriction::No)
    }
}
