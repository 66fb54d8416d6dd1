//! What Glob and Grep share: walking a folder as git sees it, without the `.git` folder itself, and what they pass over.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use super::ToolError;

/// Files that a search must pass over as if they were not there. Clones are the same. Nothing is hidden by default.
#[derive(Clone, Default)]
pub struct Hidden(Option<Arc<Hides>>);

type Hides = dyn Fn(&Path, &Path) -> bool + Send + Sync;

impl Hidden {
    /// Hides what `hides` says of an absolute path and the working directory of the agent that searches.
    #[must_use]
    pub fn by(hides: impl Fn(&Path, &Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hides)))
    }

    /// Whether an agent that works in `cwd` must not see the file.
    #[must_use]
    pub fn hides(&self, file: &Path, cwd: &Path) -> bool {
        self.0.as_ref().is_some_and(|hides| hides(file, cwd))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hidden").field(&self.0.is_some()).finish()
    }
}

/// A walk below `root` in the order of names. Files that git ignores are left out, also where there is no git.
pub fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .require_git(false)
        // The person's own ignore file is found through environment variables, which are not read here.
        .git_global(false)
        .current_dir(root)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp);
    walk
}

/// A glob pattern with the folder below which it can match at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchored {
    pub root: PathBuf,
    /// What follows the root.
    pattern: String,
}

impl Anchored {
    /// Splits `pattern`, which is absolute or starts at `folder`, before its first wildcard.
    /// A pattern without a slash matches at any depth.
    pub fn new(pattern: &str, folder: &Path) -> Self {
        if !pattern.contains('/') {
            return Self { root: folder.to_path_buf(), pattern: format!("**/{pattern}") };
        }
        let literal = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
        let split = pattern[..literal].rfind('/').map_or(0, |slash| slash + 1);
        let (root, rest) = pattern.split_at(split);
        let root = super::path::normalize(&folder.join(root));
        Self { root, pattern: rest.to_owned() }
    }

    /// What paths relative to the root are tested with.
    pub fn matcher(&self) -> Result<GlobMatcher, ToolError> {
        GlobBuilder::new(&self.pattern)
            .literal_separator(true)
            .build()
            .map(|glob| glob.compile_matcher())
            .map_err(|error| ToolError::failed(format!("Bad glob pattern: {}.", error.kind())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_walked_from_its_last_fixed_folder() {
        let split = |pattern| {
            let Anchored { root, pattern } = Anchored::new(pattern, Path::new("/w"));
            (root.display().to_string(), pattern)
        };
        let expect = |root: &str, rest: &str| (root.to_owned(), rest.to_owned());
        assert_eq!(split("*.rs"), expect("/w", "**/*.rs"));
        assert_eq!(split("src/**/*.rs"), expect("/w/src", "**/*.rs"));
        assert_eq!(split("src/main.rs"), expect("/w/src", "main.rs"));
        assert_eq!(split("/etc/x*/y"), expect("/etc", "x*/y"));
        assert_eq!(split("../a/{b,c}/d"), expect("/a", "{b,c}/d"));
        assert_eq!(split("**/x"), expect("/w", "**/x"));
    }
}
