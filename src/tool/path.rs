//! From the path that a model writes to an absolute one, in one place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::normalize;
use crate::protocol::Target;

/// What the paths of one agent start at.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The agent's base directory, for what is shown of a path before it is used.
    pub base: Arc<Path>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

impl Paths {
    /// The absolute path of `text`, relative to `cwd`.
    #[must_use]
    pub fn resolve(&self, text: &str, cwd: &Path) -> PathBuf {
        resolve(text, cwd, self.home.as_deref())
    }

    /// What `text`, relative to `cwd`, leads to.
    #[must_use]
    pub fn target(&self, text: &str, cwd: &Path) -> Target {
        Target::new(cwd, &self.resolve(text, cwd))
    }

    /// A path as it is shown: relative to the base when it is inside.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        shown(&self.resolve(text, &self.base), &self.base)
    }
}

/// The absolute path of `text`: `~/` is `home` if that is known, what is relative starts at `base`.
/// Only the text counts: symbolic links are not followed.
#[must_use]
pub fn resolve(text: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let in_home = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (None, Some(home)) if text == "~" => Some(home.to_path_buf()),
        _ => None,
    };
    normalize(&in_home.unwrap_or_else(|| base.join(text)))
}

/// `path` as it is shown: relative to `base` when it is inside.
#[must_use]
pub fn shown(path: &Path, base: &Path) -> String {
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
        assert_eq!(shown(Path::new("/project/a/b"), Path::new("/project")), "a/b");
        assert_eq!(shown(Path::new("/project"), Path::new("/project")), ".");
        assert_eq!(shown(Path::new("/projects"), Path::new("/project")), "/projects");
    }
}
