//! Resolves the paths that models write to absolute ones, in one place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::normalize;
use crate::protocol::PathTarget;

/// The starting points of one agent's paths.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The agent's base directory, for displaying a path before it is used.
    pub base: Arc<Path>,
    /// The expansion of `~`.
    pub home: Option<PathBuf>,
}

impl Paths {
    /// Returns the absolute path of `text`, relative to `cwd`.
    pub fn resolve(&self, text: &str, cwd: &Path) -> PathBuf {
        resolve(text, cwd, self.home.as_deref())
    }

    /// Returns the target of `text`, relative to `cwd`.
    pub fn target(&self, text: &str, cwd: &Path) -> PathTarget {
        PathTarget::new(cwd, &self.resolve(text, cwd))
    }

    /// Formats a path for display: relative to the base if it is inside.
    pub fn display(&self, text: &str) -> String {
        display_path(&self.resolve(text, &self.base), &self.base)
    }
}

/// Returns the absolute path of `text`: `~/` is `home` if known, relative paths start at `base`.
/// Only the text counts: symbolic links are not followed.
pub fn resolve(text: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let in_home = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (None, Some(home)) if text == "~" => Some(home.to_path_buf()),
        _ => None,
    };
    normalize(&in_home.unwrap_or_else(|| base.join(text)))
}

/// Formats `path` for display: relative to `base` if it is inside.
pub fn display_path(path: &Path, base: &Path) -> String {
    match path.strip_prefix(base) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_and_clean() {
        for (text, absolute) in [
            ("src/main.rs", "/project/src/main.rs"),
            ("./a/../b", "/project/b"),
            ("../../../x", "/x"),
            ("/etc//./hosts", "/etc/hosts"),
            ("~/notes", "/home/me/notes"),
            ("~", "/home/me"),
            ("~other/x", "/project/~other/x"),
            ("", "/project"),
        ] {
            let resolved = resolve(text, Path::new("/project"), Some(Path::new("/home/me")));
            assert_eq!(resolved, Path::new(absolute), "{text}");
        }
        assert_eq!(resolve("~/x", Path::new("/project"), None), Path::new("/project/~/x"));
    }

    #[test]
    fn only_what_is_inside_is_shown_relative() {
        assert_eq!(display_path(Path::new("/project/a/b"), Path::new("/project")), "a/b");
        assert_eq!(display_path(Path::new("/project"), Path::new("/project")), ".");
        assert_eq!(display_path(Path::new("/projects"), Path::new("/project")), "/projects");
    }
}
