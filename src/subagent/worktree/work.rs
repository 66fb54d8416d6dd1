//! The work that an agent left in its worktree: its changes, and what the user does with them.
//!
//! Merging never leaves the user's files half-changed. Git first merges two trees in the
//! repository: the user's files as they are, committed or not, and those of the agent. What both
//! are compared with is the commit from which the worktree was made, whatever the agent has done
//! with its branch: so a merge brings what the user was shown, and nothing else. Only a result
//! without conflicts is then applied to the files, as one patch that fits them.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{WorkError, WorktreeError};
use super::merged;
use super::repository::{self, Repository};
use super::{NewWorktree, Worktree, private_folder};
use crate::exec::Confinement;
use crate::git::{Git, GitContext, GitError, WorktreeGit, changes_since};
use crate::protocol::{MergedWork, ReadOnly, WorkingTreeChanges, WorktreeInfo};

/// The author of commits that keep files. Nothing else tells who wrote them.
const AUTHOR: [&str; 4] = ["-c", "user.name=caliban", "-c", "user.email=caliban@localhost"];

/// The mode of a repository within another one, in git's lists.
const REPOSITORY_MODE: &[u8] = b"160000";

/// The mode of a file that is not there.
const NO_FILE_MODE: &[u8] = b"000000";

/// The old and new mode of a file in git's raw list, and its name.
type ChangedFile<'a> = ([&'a [u8]; 2], &'a [u8]);

impl Worktree {
    /// Returns the changes in the worktree of an ended agent since it was made, committed or not.
    ///
    /// # Errors
    /// If the worktree is gone or in use, or git or the disk fails.
    pub async fn changes(
        new: NewWorktree,
        known: WorktreeInfo,
    ) -> Result<WorkingTreeChanges, WorkError> {
        in_worktree(new, known, |tree, _, context| {
            let git = tree.git(context)?;
            Ok(changes_since(&git, OsStr::new(&tree.start))?)
        })
        .await
    }

    /// Merges the work of an ended agent into the files around the parent's directory, without a
    /// commit, then removes the worktree and its branch. All files stay as they are if it fails.
    ///
    /// # Errors
    /// If there are conflicts, the worktree is gone or in use, or git or the disk fails.
    pub async fn merge(new: NewWorktree, known: WorktreeInfo) -> Result<MergedWork, WorkError> {
        in_worktree(new, known, |tree, new, context| {
            let theirs = tree.commit_all(context)?;
            // One merge at a time: each is made for the files as they are.
            let turn = repository::lock_worktrees(&tree.common, &context.stop)?;
            let files = Merge::new(tree, new, context, &theirs)?.apply()?;
            drop(turn);
            let full = Git::new(&new.cwd, context).line(["rev-parse", &theirs])?;
            merged::write(&tree.path, &full.to_string_lossy());
            tree.remove(context)?;
            Ok(MergedWork { files, commit: theirs })
        })
        .await
    }

    /// Removes the worktree of an ended agent with its branch. Returns the commit that still holds its
    /// files, until git cleans up.
    ///
    /// # Errors
    /// If the worktree is gone or in use, or git or the disk fails.
    pub async fn discard(new: NewWorktree, known: WorktreeInfo) -> Result<String, WorkError> {
        in_worktree(new, known, |tree, _, context| {
            let commit = tree.commit_all(context)?;
            tree.remove(context)?;
            Ok(commit)
        })
        .await
    }

    /// Commits all files in the worktree, without a branch: a commit on top of its last one, or that
    /// itself if there is nothing new. Returns its short name. What the agent has checked out instead
    /// of its own work is no part of it.
    fn commit_all(&self, context: &GitContext) -> Result<String, WorkError> {
        let git = self.git(context)?;
        git.output(["add", "--all"])?;
        let start = OsStr::new(&self.start);
        // A branch without a commit has no last one, and unrelated commits have no base: errors to git.
        let last = git.line(["rev-parse", "--verify", "HEAD^{commit}"]);
        let last = last.and_then(|last| {
            let base = git.line([OsStr::new("merge-base"), start, &last])?;
            Ok((base == start).then_some(last))
        });
        let head = match last {
            Ok(last) => last.unwrap_or_else(|| start.to_owned()),
            Err(GitError::Failed(_)) => start.to_owned(),
            Err(error) => return Err(error.into()),
        };
        let commit = commit_index(&git, &head, &format!("Work on {}", self.branch))?;
        self.links.restore().map_err(|source| file_error(&self.path, source))?;
        let short = git.line([OsStr::new("rev-parse"), OsStr::new("--short"), &commit])?;
        Ok(short.to_string_lossy().into_owned())
    }

    fn remove(&self, context: &GitContext) -> Result<(), GitError> {
        repository::remove(&self.common, &self.path, &self.own, &self.branch, context)
    }
}

/// Runs an action on the worktree of an ended agent, which nothing else uses meanwhile.
async fn in_worktree<T: Send + 'static>(
    new: NewWorktree,
    known: WorktreeInfo,
    action: impl FnOnce(&Worktree, &NewWorktree, &GitContext) -> Result<T, WorkError> + Send + 'static,
) -> Result<T, WorkError> {
    let (stop, pool) = (new.stop.child_token(), new.pool.clone());
    let _stop_when_dropped = stop.clone().drop_guard();
    let done = pool.run(move || {
        let context = new.git_context(stop);
        let tree = Worktree::find(&new, &context, known)?.ok_or(WorkError::Gone)?;
        let temp = tree.empty_temp();
        let done = temp.and_then(|()| action(&tree, &new, &context));
        let _ = fs::remove_dir_all(&tree.temp);
        done
    });
    done.await.map_err(|_| WorktreeError::Ended)?
}

impl Worktree {
    /// Replaces the folder for temporary files: the agent could write in the old one.
    fn empty_temp(&self) -> Result<(), WorkError> {
        let made = fs::remove_dir_all(&self.temp).and_then(|()| fs::create_dir(&self.temp));
        made.map_err(|source| file_error(&self.temp, source))?;
        private_folder(&self.temp)?;
        Ok(())
    }
}

/// A merge of an agent's files into those of the user.
struct Merge<'a> {
    /// Git in the user's checkout, with an index of its own.
    checkout: WorktreeGit,
    /// Git in the repository, which touches no files of a working tree.
    repository: Git,
    /// The commit with the agent's files.
    theirs: &'a str,
    /// The commit that the worktree began with.
    start: &'a str,
    /// The top of the user's checkout.
    top: PathBuf,
    /// The folder for temporary files.
    temp: PathBuf,
}

impl<'a> Merge<'a> {
    fn new(
        tree: &'a Worktree,
        new: &NewWorktree,
        context: &GitContext,
        theirs: &'a str,
    ) -> Result<Self, WorkError> {
        let found = Repository::around(&new.cwd, context)?;
        let outside = Git::new(&new.cwd, context);
        let top = PathBuf::from(outside.line(["rev-parse", "--show-toplevel"])?);
        let index = outside.line(["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        let own_index = tree.temp.join("index");
        match fs::copy(&index, &own_index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file_error(Path::new(&index), error));
            }
            _ => {}
        }
        // What an index of git's splits off, and the list of objects, are in the repository.
        let folders: Arc<[PathBuf]> = [top.clone(), found.common.clone()].into();
        let confine = |write: &[&Path]| -> Option<Confinement> {
            let write = write.iter().map(|folder| (*folder).to_owned()).collect();
            let bounds =
                ReadOnly { folders: folders.clone(), write, uses_git: true, ..ReadOnly::default() };
            Some(tree.sandbox.as_ref()?.read_only(bounds))
        };
        let objects = found.common.join("objects");
        let confinement = confine(&[&tree.temp, &top, &objects]);
        let checkout = WorktreeGit::new(&top, confinement, context)?.with_index(&own_index);
        let repository = Git::for_repository(&found.common, context);
        let repository = match confine(&[&tree.temp, &objects]) {
            Some(confinement) => repository.confined(confinement),
            None => repository,
        };
        let temp = tree.temp.clone();
        Ok(Self { checkout, repository, theirs, start: &tree.start, top, temp })
    }

    /// Merges what has changed since the start. Returns the number of files that have changed.
    fn apply(&self) -> Result<usize, WorkError> {
        let mine = self.commit_files()?;
        let merged = self.merge_trees(&mine)?;
        let trees = [mine.as_os_str(), OsStr::new(&merged)];
        let words = ["diff-tree", "-r", "--raw", "-z", "--no-renames"].map(OsStr::new);
        let changed = self.repository.output(words.into_iter().chain(trees))?;
        let files = changed_files(&changed);
        if let Some((_, path)) = files.iter().find(|(modes, _)| modes.contains(&REPOSITORY_MODE)) {
            let path = String::from_utf8_lossy(path).into_owned();
            return Err(WorkError::NestedRepository { path, commit: self.theirs.to_owned() });
        }
        if files.is_empty() {
            return Ok(0);
        }
        let words = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames"];
        let patch = self.temp.join("patch");
        let output = [OsStr::new("--output"), patch.as_os_str()];
        let options = ["--no-color", "--no-ext-diff", "--no-textconv"].map(OsStr::new);
        let words = words.map(OsStr::new).into_iter().chain(options).chain(output).chain(trees);
        self.repository.output(words)?;
        let patch = [patch.as_os_str()];
        let words = ["apply", "--whitespace=nowarn", "--check"].map(OsStr::new);
        let commit = || self.theirs.to_owned();
        let fits = self.checkout.output(words.into_iter().chain(patch));
        fits.and_then(|_| self.rehearse(&merged, &files)).map_err(|error| match error {
            GitError::Failed(said) => {
                WorkError::NotApplied { said: in_our_words(&said), commit: commit() }
            }
            other => other.into(),
        })?;
        let applied = self.checkout.output(words[..2].iter().copied().chain(patch));
        let half_applied = |error: GitError| {
            let (said, mine) = (error.to_string(), mine.to_string_lossy().into_owned());
            WorkError::HalfApplied { said, mine, commit: commit() }
        };
        applied.map_err(half_applied)?;
        if files.iter().any(|(_, name)| is_attributes(name)) {
            // Git has written the files with the attributes from before.
            self.write_files(&files, None).map_err(half_applied)?;
        }
        Ok(files.len())
    }

    /// Writes the files of a tree elsewhere: a filter that fails, or a full disk, must not leave the
    /// user's files without their content.
    fn rehearse(&self, tree: &str, files: &[ChangedFile<'_>]) -> Result<(), GitError> {
        self.merged_index().output(["read-tree", tree])?;
        self.write_files(files, Some(&self.temp.join("files")))
    }

    /// The checkout with an index for the merged tree.
    fn merged_index(&self) -> WorktreeGit {
        self.checkout.with_index(&self.temp.join("merged-index"))
    }

    /// Writes these files of the merged tree as git checks them out, in place of the user's or into a
    /// folder.
    fn write_files(&self, files: &[ChangedFile<'_>], into: Option<&Path>) -> Result<(), GitError> {
        let written = files.iter().filter(|(modes, _)| modes[1] != NO_FILE_MODE);
        let names: Vec<u8> = written.flat_map(|(_, name)| [name, &b"\0"[..]].concat()).collect();
        let folder = into.map(|folder| {
            let mut option = OsString::from("--prefix=");
            option.push(folder);
            option.push("/");
            option
        });
        let words = ["checkout-index", "--force", "--quiet", "-z", "--stdin"].map(OsStr::new);
        self.merged_index().read(&names, words.into_iter().chain(folder.as_deref()))?;
        Ok(())
    }

    /// A commit on top of the user's last one, on no branch, with the user's files as they are: the tracked
    /// ones, and those that the worktree began with, which an earlier merge may have written.
    fn commit_files(&self) -> Result<OsString, WorkError> {
        if !self.checkout.output(["ls-files", "--unmerged", "-z"])?.is_empty() {
            return Err(WorkError::Unmerged);
        }
        self.checkout.output(["add", "--update"])?;
        self.add_known_files()?;
        let head = self.checkout.line(["rev-parse", "--verify", "HEAD^{commit}"])?;
        Ok(commit_index(&self.checkout, &head, "Files before a merge")?)
    }

    /// Adds the untracked files of the user that have the names of files that the worktree began with.
    fn add_known_files(&self) -> Result<(), WorkError> {
        let words = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", self.start];
        let known = self.checkout.output(words)?;
        let tracked = self.checkout.output(["ls-files", "-z", "--full-name"])?;
        let tracked: HashSet<&[u8]> = tracked.split(|byte| *byte == 0).collect();
        let is_file = |name: &&[u8]| {
            let found = self.top.join(OsStr::from_bytes(name)).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir())
        };
        let names = known.split(|byte| *byte == 0).filter(|name| !tracked.contains(name));
        let names: Vec<u8> =
            names.filter(is_file).flat_map(|name| [name, b"\0"].concat()).collect();
        if names.is_empty() {
            return Ok(());
        }
        self.checkout.read(&names, ["update-index", "--add", "-z", "--stdin"])?;
        Ok(())
    }

    /// The tree that results from merging. Touches no files. Git takes the base of a merge from the
    /// parents of two commits, so there are two whose only parent has the files of the start.
    fn merge_trees(&self, mine: &OsStr) -> Result<String, WorkError> {
        let base = self.commit_tree_of(OsStr::new(self.start), None)?;
        let mine = self.commit_tree_of(mine, Some(&base))?;
        let theirs = self.commit_tree_of(OsStr::new(self.theirs), Some(&base))?;
        let words = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"];
        let words = words.map(OsStr::new).into_iter().chain([&*mine, &*theirs]);
        let (is_clean, output) = self.repository.ask(words)?;
        let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let tree = parts.next().map(text).unwrap_or_default();
        if is_clean {
            return Ok(tree);
        }
        let files = parts.map(text).collect();
        Err(WorkError::Conflict { files, commit: self.theirs.to_owned() })
    }

    /// A commit with the files of another one, on no branch.
    fn commit_tree_of(&self, commit: &OsStr, parent: Option<&OsStr>) -> Result<OsString, GitError> {
        let mut tree = commit.to_owned();
        tree.push("^{tree}");
        let words = AUTHOR.map(OsStr::new).into_iter();
        let words = words.chain([OsStr::new("commit-tree"), &tree]);
        let parent = parent.into_iter().flat_map(|parent| [OsStr::new("-p"), parent]);
        self.repository.line(words.chain(parent).chain(["-m", "Files of a merge"].map(OsStr::new)))
    }
}

/// Rewords an error of `git apply` for a user who never ran git.
fn in_our_words(said: &str) -> String {
    let said = said.trim_start_matches("error: ");
    match said.strip_suffix(": already exists in working directory") {
        Some(file) => format!("you have a file {file} yourself"),
        None => said.to_owned(),
    }
}

/// Commits what the index holds, on no branch. Returns `head` itself if nothing differs.
fn commit_index(git: &WorktreeGit, head: &OsStr, message: &str) -> Result<OsString, GitError> {
    let tree = git.line(["write-tree"])?;
    let mut of_head = head.to_owned();
    of_head.push("^{tree}");
    if git.line([OsStr::new("rev-parse"), &of_head])? == tree {
        return Ok(head.to_owned());
    }
    let words = AUTHOR.map(OsStr::new).into_iter().chain([OsStr::new("commit-tree"), &tree]);
    let words = words.chain([OsStr::new("-p"), head, OsStr::new("-m"), OsStr::new(message)]);
    git.line(words)
}

/// Whether a file says how git converts others.
fn is_attributes(name: &[u8]) -> bool {
    name.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes")
}

fn changed_files(raw: &[u8]) -> Vec<ChangedFile<'_>> {
    let mut parts = raw.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let (Some(entry), Some(name)) = (parts.next(), parts.next()) {
        let mut modes = entry.strip_prefix(b":").unwrap_or(entry).split(|byte| *byte == b' ');
        let modes = [modes.next().unwrap_or_default(), modes.next().unwrap_or_default()];
        files.push((modes, name));
    }
    files
}

fn file_error(path: &Path, source: io::Error) -> WorkError {
    WorkError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
