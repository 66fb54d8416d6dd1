//! Follows links: the one answer to the question where a path leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::protocol::Target;

/// More links than this in one path is a loop, as for the system itself.
const MAX_LINKS: usize = 40;

impl Target {
    /// The target of `path`, taken from `base` when it is relative.
    #[must_use]
    pub fn new(base: &Path, path: &Path) -> Self {
        let whole = base.join(path);
        Self { written: normalize(&whole), resolved: resolve(&whole) }
    }
}

/// Follows every link of an absolute path, also dangling ones: what does not exist yet is where it would be made.
/// `None` when a folder cannot be looked into, when the links run in a circle, and for a link in `/proc`: such a one
/// leads each process somewhere else.
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
                if links > MAX_LINKS || next.starts_with("/proc") {
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

/// `path` without `.` and `..`. Only the text counts: links are not followed.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// The components as names; a leading `/` starts the path anew when it is joined.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
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
        fs::create_dir_all(root.join("deep/er")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        symlink(root.join("out"), root.join("in/link")).unwrap();
        symlink("../out/new.txt", root.join("in/dangling")).unwrap();
        symlink("loop", root.join("in/loop")).unwrap();
        symlink("/proc/self/cwd/x", root.join("in/own")).unwrap();
        symlink(root.join("deep/er"), root.join("in/d")).unwrap();
        symlink("d/../../home/x", root.join("in/auto.txt")).unwrap();
        let cases = [
            ("in/sub/a/b", Some("in/sub/a/b")),
            ("in/link/x", Some("out/x")),
            ("in/link/../y", Some("y")),
            ("in/dangling", Some("out/new.txt")),
            ("in/sub/../link/.", Some("out")),
            ("in/auto.txt", Some("home/x")),
            ("in/loop/x", None),
            ("in/own", None),
        ];
        for (path, expected) in cases {
            assert_eq!(resolve(&root.join(path)), expected.map(|path| root.join(path)), "{path}");
        }
        for link in ["/proc/self/status", "/proc/self/root/etc", "/dev/fd/0"] {
            assert_eq!(resolve(Path::new(link)), None, "{link}");
        }
    }
}
