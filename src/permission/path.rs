//! Paths as the gate sees them: where a name really leads, and whether that is inside the working directories.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::tool::path::normalize;

/// More links than this in one path is a loop, as for the system itself.
const MAX_LINKS: usize = 40;

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

/// A file or folder that a call would touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// As the call names it, absolute, with `.` and `..` taken out.
    pub written: PathBuf,
    /// Where that leads once every link is followed; absent when that cannot be told.
    pub resolved: Option<PathBuf>,
}

impl Target {
    /// The target of `path`, taken from `base` when it is relative.
    #[must_use]
    pub fn new(base: &Path, path: &Path) -> Self {
        let whole = base.join(path);
        Self { written: normalize(&whole), resolved: resolve(&whole) }
    }

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

/// Follows every link of an absolute path, also dangling ones: what does not exist yet is where it would be made.
/// `None` when a folder cannot be looked into or the links run in a circle.
#[must_use]
pub fn resolve(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&next).ok()?;
                for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(part);
                }
            }
            Ok(_) => done = next,
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => done = next,
                _ => return None,
            },
        }
    }
    Some(done)
}

/// The components as names; a leading `/` starts the path anew when it is joined.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
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
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_to_where_they_lead_also_when_nothing_is_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("in/sub")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        symlink(root.join("out"), root.join("in/link")).unwrap();
        symlink("../out/new.txt", root.join("in/dangling")).unwrap();
        symlink("loop", root.join("in/loop")).unwrap();
        let cases = [
            ("in/sub/a/b", Some("in/sub/a/b")),
            ("in/link/x", Some("out/x")),
            ("in/link/../y", Some("y")),
            ("in/dangling", Some("out/new.txt")),
            ("in/sub/../link/.", Some("out")),
            ("in/loop/x", None),
        ];
        for (path, expected) in cases {
            assert_eq!(resolve(&root.join(path)), expected.map(|path| root.join(path)), "{path}");
        }
    }

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
