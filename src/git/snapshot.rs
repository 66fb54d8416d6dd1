//! A repository in a few lines, for agents: what has changed since the last commit, and the last commits.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::changes::{ChangesError, open_checkout};
use super::run::GitContext;
use crate::disk::{GitConfigPaths, check_repository};
use crate::exec::Sandbox;
use crate::protocol::{clip_chars, printable_line, printable_path};

/// How the text about a repository begins.
pub const SNAPSHOT_HEAD: &str = "[Git when the session was opened:";

/// The most changed files that are named.
const MAX_NAMED: usize = 20;
/// The most characters of a file's name, and of a commit's subject.
const MAX_LINE: usize = 120;
/// The most bytes of git's list of files.
const MAX_LIST_BYTES: usize = 256 << 10;
/// The commits that are named.
const COMMITS: &str = "-5";

/// The state of a repository at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySnapshot {
    pub changed: Vec<ChangedFile>,
    /// There are more than `changed` has.
    pub is_cut: bool,
    /// The last commits, newest first: the short hash and the subject, in one line.
    pub commits: Vec<String>,
}

/// A file that differs from the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The two letters of `git status --short`.
    pub status: String,
    /// From the top of the checkout.
    pub path: PathBuf,
}

/// Reads the state of the checkout around `cwd`. Git starts no program of the project and, with a
/// `sandbox`, only reads. Blocks: for threads that may, within a runtime.
///
/// # Errors
/// If there is no repository, if git may start a program there or show another one's commits, or if
/// git fails.
pub fn snapshot(
    cwd: &Path,
    sandbox: Option<&Sandbox>,
    context: &GitContext,
) -> Result<RepositorySnapshot, ChangesError> {
    // A model reads it: as with the commands of agents, it must come from this repository alone.
    let home = context.env.non_empty("HOME").map(Path::new);
    check_repository(cwd, home, &GitConfigPaths::new(&context.env), true)
        .map_err(ChangesError::Programs)?;
    let checkout = open_checkout(cwd, sandbox, context)?;
    let status = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
    ];
    let status = checkout.worktree.beginning(MAX_LIST_BYTES, status)?;
    let log = ["log", COMMITS, "--no-show-signature", "--no-decorate", "--format=%h %s"];
    // Before the first commit there is none.
    let log = checkout.repository.output(log).unwrap_or_default();
    let commits = String::from_utf8_lossy(&log);
    let commit = |line: &str| clip_chars(&printable_line(line), MAX_LINE).into_owned();
    Ok(RepositorySnapshot {
        changed: read_status(&status.bytes),
        is_cut: status.is_cut,
        commits: commits.lines().map(commit).collect(),
    })
}

/// Reads the entries of `git status --porcelain -z`: two letters, a blank and a name. An entry that was
/// cut has no end and is left out.
fn read_status(list: &[u8]) -> Vec<ChangedFile> {
    let end = list.iter().rposition(|byte| *byte == 0).unwrap_or_default();
    let entries = list[..end].split(|byte| *byte == 0);
    let file = |entry: &[u8]| {
        let (status, path) = (entry.get(..2)?, entry.get(3..)?);
        let path = PathBuf::from(OsStr::from_bytes(path));
        Some(ChangedFile { status: String::from_utf8_lossy(status).into_owned(), path })
    };
    entries.filter_map(file).collect()
}

impl RepositorySnapshot {
    /// Describes it to a model.
    pub fn describe(&self) -> String {
        let shown = &self.changed;
        let mut lines = vec![SNAPSHOT_HEAD.to_owned()];
        lines.extend(shown.iter().take(MAX_NAMED).map(|file| {
            format!("{} {}", file.status, clip_chars(&printable_path(&file.path), MAX_LINE))
        }));
        match shown.len().checked_sub(MAX_NAMED) {
            _ if shown.is_empty() && !self.is_cut => {
                lines.push("nothing has changed since the last commit".to_owned());
            }
            Some(more @ 1..) if !self.is_cut => lines.push(format!("and {more} more files")),
            _ if self.is_cut => lines.push("and many more files".to_owned()),
            _ => {}
        }
        if !self.commits.is_empty() {
            lines.push("Last commits:".to_owned());
            lines.extend(self.commits.iter().cloned());
        }
        lines.join("\n") + "]"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(status: &str, path: &str) -> ChangedFile {
        ChangedFile { status: status.to_owned(), path: path.into() }
    }

    #[test]
    fn a_list_of_files_is_read_up_to_where_it_was_cut() {
        let list = b" M a b.rs\0?? new\nline\0R  cut";
        assert_eq!(read_status(list), [changed(" M", "a b.rs"), changed("??", "new\nline")]);
        assert_eq!(read_status(b""), []);
    }

    #[test]
    fn each_file_and_commit_is_one_line() {
        let snapshot = RepositorySnapshot {
            changed: vec![changed(" M", "src/a.rs"), changed("??", "x\ny")],
            is_cut: false,
            commits: vec!["1a2b3c4 shop: add tea".to_owned()],
        };
        assert_eq!(
            snapshot.describe(),
            "[Git when the session was opened:\n M src/a.rs\n?? x\\u{a}y\nLast commits:\n1a2b3c4 shop: add tea]"
        );
        assert_eq!(
            RepositorySnapshot::default().describe(),
            "[Git when the session was opened:\nnothing has changed since the last commit]"
        );
    }

    #[test]
    fn the_files_beyond_the_first_are_counted() {
        let changed = (0..MAX_NAMED + 3).map(|number| changed("??", &number.to_string()));
        let mut snapshot =
            RepositorySnapshot { changed: changed.collect(), ..RepositorySnapshot::default() };
        assert!(snapshot.describe().ends_with("?? 19\nand 3 more files]"));
        snapshot.is_cut = true;
        assert!(snapshot.describe().ends_with("?? 19\nand many more files]"));
    }
}
