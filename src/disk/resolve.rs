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
pub(super) const MAX_NAME: usize = 255;

/// Resolves every link of an absolute path, including dangling ones: a missing file resolves to
/// where it would be created.
///
/// Returns `None` if the path may lead anywhere: a folder cannot be read, the links form a loop, or
/// the path goes through a link in `/proc`, which differs per process, or through a process that
/// does not exist yet. Callers must treat that as possibly anywhere. `/dev/stdin` and the like
/// refer to files that the process has open already.
pub fn resolve(path: &Path) -> Option<PathBuf> {
    Route::new(path, None).end
}

/// Like [`resolve`], but for a program that runs in `cwd`: for it, `cwd` of a process in `/proc` is that folder.
pub fn resolve_from(cwd: &Path, path: &Path) -> Option<PathBuf> {
    Route::new(path, Some(cwd)).end
}

/// Returns where an existing path leads. `None` also for a path through a link in `/proc`, which
/// leads another program, such as git, elsewhere than this one.
pub(super) fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    resolve(path.as_ref()).filter(|real| real.symlink_metadata().is_ok())
}

/// Whether a path, including every link on it, avoids the places for which `is_inside` returns
/// true. A link belongs to the folder that contains it, wherever it leads.
pub fn leads_outside(path: &Path, is_inside: impl Fn(&Path) -> bool) -> bool {
    let route = Route::new(path, None);
    let passes_inside = route.links.iter().any(|link| is_inside(&link.path));
    route.end.is_some_and(|end| !passes_inside && !is_inside(&end))
}

/// Whether the path passes a link for which `is_inside` returns true.
pub fn passes_link(path: &Path, is_inside: impl Fn(&Path) -> bool) -> bool {
    Route::new(path, None).links.iter().any(|link| is_inside(&link.path))
}

/// Returns every name of a file that following the links of `path` yields: `path` itself, one for
/// each link on the way, and last where it leads, if that is known.
pub fn link_names(path: &Path) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    let route = Route::new(path, None);
    let on_the_way = route.links.into_iter().map(|link| link.name);
    for name in on_the_way.chain(route.end) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The way of a path through its links. It looks at each part of the path once, so all that it says
/// belongs together, even if somebody replaces a link meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// The path with a resolved folder; its last part may be a link.
    pub written: PathBuf,
    /// The links on the way, in order.
    pub links: Vec<RouteLink>,
    /// Where the path leads; `None` if that may be anywhere, as for [`resolve`].
    pub end: Option<PathBuf>,
}

/// A link on the way.
#[derive(Clone, Debug)]
pub(super) struct RouteLink {
    /// The link itself, in a resolved folder.
    pub path: PathBuf,
    /// The link, and the rest of the path after it.
    name: PathBuf,
    /// Where it leads, if that is known.
    pub end: Option<PathBuf>,
}

impl Route {
    /// Follows the links of an absolute path, for a program that runs in `cwd` if that is given.
    pub(super) fn new(path: &Path, cwd: Option<&Path>) -> Self {
        let mut route = Self::default();
        if path.is_absolute() {
            route.end = route.walk(path, cwd);
        }
        route
    }

    fn walk(&mut self, path: &Path, cwd: Option<&Path>) -> Option<PathBuf> {
        let mut rest: VecDeque<OsString> = parts(path).collect();
        let mut done = PathBuf::new();
        let mut count = 0;
        // The links that are being followed, and how much of the path follows each.
        let mut open: Vec<(usize, usize)> = Vec::new();
        // The length of the shortest prefix of `done` that does not exist: nothing below it needs a look.
        let mut missing: Option<usize> = None;
        loop {
            while let Some((link, _)) = open.pop_if(|(_, after)| rest.len() <= *after) {
                self.links[link].end = Some(done.clone());
            }
            let Some(part) = rest.pop_front() else { return Some(done) };
            let next = done.join(&part);
            if rest.is_empty() && self.written.as_os_str().is_empty() {
                self.written.clone_from(&next);
            }
            if part == ".." {
                done.pop();
                missing = missing.filter(|from| done.as_os_str().len() >= *from);
                continue;
            }
            if missing.is_some() {
                done = next;
                continue;
            }
            if let Some(cwd) = cwd.filter(|_| next.starts_with("/proc/")) {
                // Names between `/proc` and `cwd`, such as `self`, are not followed: all processes count as one.
                count += 1;
                if count > MAX_LINKS {
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
                    count += 1;
                    if next == Path::new("/proc/self") && is_stream(&rest) {
                        return Some(rest.iter().fold(next, |path, part| path.join(part)));
                    }
                    if count > MAX_LINKS || next.starts_with("/proc") {
                        return None;
                    }
                    open.push((self.links.len(), rest.len()));
                    self.expand(next, &mut rest)?;
                }
                Ok(_) => done = next,
                Err(error) if is_missing(&error, &next, &part) => {
                    missing = Some(next.as_os_str().len());
                    done = next;
                }
                Err(_) => return None,
            }
        }
    }

    /// Puts the target of a link before the rest of the path.
    fn expand(&mut self, link: PathBuf, rest: &mut VecDeque<OsString>) -> Option<()> {
        let name = rest.iter().fold(link.clone(), |path, part| path.join(part));
        let target = fs::read_link(&link);
        self.links.push(RouteLink { path: link, name, end: None });
        for part in parts(&target.ok()?).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
        Some(())
    }
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
