//! Resolves links: the single definition of where a path leads.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::protocol::PathTarget;

/// More links than this in one path count as a loop, as for the system itself.
const MAX_LINKS: usize = 40;

impl PathTarget {
    /// Creates the target of `path`, relative to `base`.
    pub fn new(base: &Path, path: &Path) -> Self {
        let whole = base.join(path);
        Self { written: normalize(&whole), resolved: resolve(&whole) }
    }
}

/// Maximum length of a file name, in bytes.
const MAX_NAME: usize = 255;

/// Resolves every link of an absolute path, including dangling ones: a missing file resolves to
/// where it would be created.
///
/// Returns `None` if the path may lead anywhere: a folder cannot be read, the links form a loop, or
/// the path goes through a link in `/proc`, which differs per process, or through a process that
/// does not exist yet. Callers must treat that as possibly anywhere. `/dev/stdin` and the like
/// refer to files that the process has open already.
pub fn resolve(path: &Path) -> Option<PathBuf> {
    follow(path, None, &mut |_| {})
}

/// Like [`resolve`], but for a program that runs in `cwd`: for it, `cwd` of a process in `/proc` is that folder.
pub fn resolve_from(cwd: &Path, path: &Path) -> Option<PathBuf> {
    follow(path, Some(cwd), &mut |_| {})
}

/// Returns where an existing path leads. `None` also for a path through a link in `/proc`, which
/// leads another program, such as git, elsewhere than this one.
pub(super) fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    resolve(path.as_ref()).filter(|real| real.symlink_metadata().is_ok())
}

/// Whether a path, including every link on it, avoids the places for which `is_inside` returns
/// true. A link belongs to the folder that contains it, wherever it leads.
pub fn leads_outside(path: &Path, is_inside: impl Fn(&Path) -> bool) -> bool {
    let mut passes_inside = false;
    let end = follow(path, None, &mut |link| passes_inside |= is_inside(link));
    end.is_some_and(|end| !passes_inside && !is_inside(&end))
}

/// Whether the path passes a link for which `is_inside` returns true.
pub fn passes_link(path: &Path, is_inside: impl Fn(&Path) -> bool) -> bool {
    let mut passes = false;
    follow(path, None, &mut |link| passes |= is_inside(link));
    passes
}

/// Returns every name of a file that following the links of `path` yields: `path` itself, one for
/// each link on the way, and last where it leads, if that is known.
pub fn link_names(path: &Path) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    let mut add = |name: PathBuf| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    let end = follow_links(path, None, &mut |link, rest| {
        add(rest.iter().fold(link.to_owned(), |path, part| path.join(part)));
    });
    end.into_iter().for_each(&mut add);
    names
}

/// Like [`resolve`] or, with a folder, [`resolve_from`], passing the resolved path of each link on the way to `on_link`.
pub(super) fn follow(
    path: &Path,
    cwd: Option<&Path>,
    on_link: &mut dyn FnMut(&Path),
) -> Option<PathBuf> {
    follow_links(path, cwd, &mut |link, _| on_link(link))
}

/// Like [`follow`], also passing what remains of the path after each link.
fn follow_links(
    path: &Path,
    cwd: Option<&Path>,
    on_link: &mut dyn FnMut(&Path, &VecDeque<OsString>),
) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let mut done = PathBuf::new();
    let mut links = 0;
    // The length of the shortest prefix of `done` that does not exist: nothing below it needs a look.
    let mut missing: Option<usize> = None;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            done.pop();
            missing = missing.filter(|from| done.as_os_str().len() >= *from);
            continue;
        }
        let next = done.join(&part);
        if missing.is_some() {
            done = next;
            continue;
        }
        if let Some(cwd) = cwd.filter(|_| next.starts_with("/proc/")) {
            // Names between `/proc` and `cwd`, such as `self`, are not followed: all processes count as one.
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            done = match part.to_str() {
                Some("cwd") => cwd.to_owned(),
                Some("root") => PathBuf::from("/"),
                _ => next,
            };
            continue;
        }
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if next == Path::new("/proc/self") && is_stream(&rest) {
                    return Some(rest.iter().fold(next, |path, part| path.join(part)));
                }
                if links > MAX_LINKS || next.starts_with("/proc") {
                    return None;
                }
                on_link(&next, &rest);
                let target = fs::read_link(&next).ok()?;
                for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(part);
                }
            }
            Ok(_) => done = next,
            Err(error) if is_missing(&error, &next, &part) => {
                missing = Some(next.as_os_str().len());
                done = next;
            }
            Err(_) => return None,
        }
    }
    Some(done)
}

/// Whether the error says that no file `part` exists at `path`. The names of processes come and go.
fn is_missing(error: &io::Error, path: &Path, part: &OsStr) -> bool {
    let is_missing = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => true,
        // For example, a sentence on a command line.
        ErrorKind::InvalidFilename => part.len() > MAX_NAME,
        _ => false,
    };
    let is_of_process = path.starts_with("/proc") && path != Path::new("/proc");
    is_missing && !is_of_process
}

/// Whether the rest after `/proc/self` names an open file of the process, and nothing below it.
fn is_stream(rest: &VecDeque<OsString>) -> bool {
    let is_number = |name: &OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    rest.len() == 2 && rest[0] == "fd" && is_number(&rest[1])
}

/// Removes `.` and `..` from `path` lexically, without following links.
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

/// Returns the components as names; a leading `/` restarts the path when it is joined.
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
    }

    #[test]
    fn what_a_name_of_a_process_leads_to_is_unknown_but_for_its_open_files() {
        for link in [
            "/proc/self/status",
            "/proc/self/cwd/x",
            "/proc/self/root/etc",
            "/proc/thread-self/cwd",
            "/proc/4194999/cwd/x",
            "/dev/fd/../cwd/x",
            "/dev/fd/9/x",
            "/dev/fd/0/../../x",
        ] {
            assert_eq!(resolve(Path::new(link)), None, "{link}");
        }
        for (link, stream) in [("/dev/stdin", "/proc/self/fd/0"), ("/dev/fd/9", "/proc/self/fd/9")]
        {
            assert_eq!(resolve(Path::new(link)), Some(stream.into()), "{link}");
        }
    }

    #[test]
    fn a_program_finds_its_own_folder_through_proc() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        symlink("/proc/self/cwd", root.join("here")).unwrap();
        symlink("here/scripts", root.join("again")).unwrap();
        for (path, expected) in [
            ("/proc/self/cwd/x", "x"),
            ("/proc/thread-self/cwd/x/../y", "y"),
            ("/proc/4194999/task/1/cwd/x", "x"),
            ("/dev/fd/../cwd/x", "x"),
            ("here/x", "x"),
            ("again/x", "scripts/x"),
        ] {
            let found = resolve_from(&root, &root.join(path));
            assert_eq!(found, Some(root.join(expected)), "{path}");
        }
        assert_eq!(resolve_from(&root, Path::new("/proc/self/root/etc")), Some("/etc".into()));
    }

    #[test]
    fn a_name_that_no_file_can_have_leads_to_no_file() {
        let long = "x".repeat(MAX_NAME + 1);
        for name in [format!("/{long}"), format!("/{long}/a"), "/none/a".repeat(2000)] {
            assert_eq!(resolve(Path::new(&name)), Some(name.clone().into()));
        }
        assert_eq!(resolve(Path::new("/none/../tmp")), Some("/tmp".into()));
    }
}
