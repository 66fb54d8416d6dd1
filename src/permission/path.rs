//! Paths as the gate sees them: whether one is inside the working directories, and which ones are protected.

use std::path::{Path, PathBuf};

pub(super) use crate::disk::resolve;
pub use crate::protocol::Target;

/// Folders whose files decide what programs run or what agents may do.
const PROTECTED_DIRS: &[&str] =
    &[".git", ".caliban", ".claude", ".ssh", ".gnupg", ".vscode", ".idea", ".husky"];

/// Files of the same kind.
const PROTECTED_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
];

/// Where things are: the folders that agents work in, the project and the home.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// The working directories: reading inside is free. Absolute.
    pub dirs: Vec<PathBuf>,
    /// The person's home, for `~` in shell commands.
    pub home: Option<PathBuf>,
    /// The project directory. Relative patterns start here, and paths in messages are shown relative to it.
    pub project: PathBuf,
    /// The only folder that file tools may write to, whatever rules and mode say. Absolute, without links.
    pub bound: Option<PathBuf>,
}

impl Places {
    /// Whether a resolved path lies in one of the working directories.
    #[must_use]
    pub fn contains(&self, resolved: &Path) -> bool {
        self.containing(resolved).is_some()
    }

    /// Whether writing there needs a person's word even where edits are free.
    #[must_use]
    pub fn protects(&self, target: &Target) -> bool {
        let resolved = target.resolved.as_deref();
        std::iter::once(target.written.as_path()).chain(resolved).any(|path| {
            // A working directory may itself lie in a protected folder, as worktrees do.
            let below = self.containing(path).and_then(|dir| path.strip_prefix(dir).ok());
            is_protected(below.unwrap_or(path))
        })
    }

    /// The path as messages show it: relative to the project where it is inside.
    #[must_use]
    pub fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.project) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// The innermost working directory that holds the path, as it was written or resolved.
    fn containing(&self, path: &Path) -> Option<PathBuf> {
        let written = self.dirs.iter().cloned();
        let resolved = self.dirs.iter().filter_map(|dir| resolve(dir));
        written
            .chain(resolved)
            .filter(|dir| path.starts_with(dir))
            .max_by_key(|dir| dir.components().count())
    }
}

impl Target {
    /// Both names of the target.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.written.as_path()).chain(self.resolved.as_deref())
    }

    /// Whether the target is certain to lie inside the working directories.
    #[must_use]
    pub fn is_inside(&self, places: &Places) -> bool {
        self.resolved.as_deref().is_some_and(|path| places.contains(path))
    }
}

/// Whether a single name is that of a protected file or folder.
#[must_use]
pub fn is_protected_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PROTECTED_DIRS.contains(&name.as_str()) || PROTECTED_FILES.contains(&name.as_str())
}

fn is_protected(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_str().is_some_and(is_protected_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_counts_from_the_working_directory_that_holds_the_file() {
        let places = Places {
            dirs: vec!["/p".into(), "/p/.caliban/worktrees/a".into()],
            ..Places::default()
        };
        let protected =
            |path: &str| places.protects(&Target::new(Path::new("/p"), Path::new(path)));
        assert!(
            protected(".git/config") && protected("sub/.GIT/hooks/x") && protected("/h/.bashrc")
        );
        assert!(protected(".caliban/config.toml"));
        assert!(!protected("src/main.rs") && !protected(".caliban/worktrees/a/src/x.rs"));
        assert!(protected(".caliban/worktrees/a/.git"));
    }
}
