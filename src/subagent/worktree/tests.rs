use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::budget::{Budget, Limits};
use crate::disk::testing::git as run_git;
use crate::exec::BlockingPools;
use crate::protocol::{EventQueue, Span, ToolUseId};
use crate::tool::{BuiltinSettings, FileLock, ToolContext, ToolRegistry, builtin};

/// A repository with one commit, `src/a.txt`, and a folder for worktrees beside it.
pub(super) struct GitFixture {
    _folder: tempfile::TempDir,
    pub(super) repository: PathBuf,
    root: PathBuf,
    env: EnvOverlay,
}

impl GitFixture {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let repository = base.join("repository");
        fs::create_dir_all(repository.join("src")).unwrap();
        let env = EnvOverlay::from_iter([
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME", base.as_os_str().to_owned()),
            // Git would follow it if it were passed on.
            ("GIT_DIR", "/nowhere".into()),
        ]);
        Self { _folder: folder, repository, root: base.join("worktrees"), env }
    }

    pub(super) fn new() -> Self {
        let place = Self::empty();
        place.git(&["init", "-q", "-b", "main"]);
        place.write("src/a.txt", "one\n");
        place.write(".gitignore", "target\n");
        place.commit("first");
        place
    }

    pub(super) fn git(&self, words: &[&str]) -> String {
        run_git(&self.repository, words)
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.repository.join(path), text).unwrap();
    }

    pub(super) fn wish(&self, cwd: &str) -> NewWorktree {
        NewWorktree {
            cwd: self.repository.join(cwd),
            project: ProjectFolders::default(),
            root: self.root.clone(),
            name: "fix it".to_owned(),
            id: AgentId::generate(),
            env: self.env.clone(),
            secrets: ["MY_KEY".to_owned()].into(),
            sandbox: None,
            pool: BlockingPools::default().git,
            stop: CancellationToken::new(),
        }
    }

    pub(super) async fn tree(&self) -> Worktree {
        Worktree::create(self.wish("")).await.unwrap()
    }

    /// Waits until this much is left: nothing signals a removal in the background.
    async fn comes_to(&self, expected: (usize, usize, usize)) {
        let look = async {
            while self.left() != expected {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(10), look).await;
        assert!(waited.is_ok(), "{:?} is left, not {expected:?}", self.left());
    }

    /// The rest: worktrees known to git, our branches, entries of the folder but for the notes on merged work.
    pub(super) fn left(&self) -> (usize, usize, usize) {
        // Git's own lists fail while another git makes or removes a worktree.
        let count = |folder: &Path| fs::read_dir(folder).map_or(0, Iterator::count);
        let worktrees = count(&self.repository.join(".git/worktrees"));
        let branches = self.git(&["for-each-ref", "refs/heads/caliban/"]).lines().count();
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let is_note = |path: &Path| path.extension().is_some_and(|it| it == "merged");
        (worktrees, branches, entries.filter(|entry| !is_note(&entry.path())).count())
    }
}

#[tokio::test]
async fn a_worktree_is_the_last_commit_on_a_branch_of_its_own_and_goes_when_unchanged() {
    let place = GitFixture::new();
    place.write("src/a.txt", "not committed\n");
    let tree = place.tree().await;
    assert_eq!(fs::read_to_string(tree.path().join("src/a.txt")).unwrap(), "one\n");
    assert_eq!(tree.cwd(), tree.path());
    assert!(tree.branch().starts_with("caliban/fix-it-"), "{}", tree.branch());
    let branch = run_git(tree.path(), &["branch", "--show-current"]);
    assert_eq!(branch.trim(), tree.branch());
    let mode = place.root.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others cannot look into it: {mode:o}");
    // An ignored file is no change.
    fs::create_dir(tree.path().join("target")).unwrap();
    fs::write(tree.path().join("target/big"), "x").unwrap();
    assert_eq!(place.left(), (1, 1, 2));
    let finished = tree.finish().await;
    assert_eq!(finished.to_string(), "worktree removed: no changes");
    assert_eq!(place.left(), (0, 0, 0));
    assert_eq!(fs::read_to_string(place.repository.join("src/a.txt")).unwrap(), "not committed\n");
}

#[tokio::test]
async fn changes_and_commits_are_kept_and_counted() {
    let place = GitFixture::new();
    let tree = place.tree().await;
    let path = tree.path().to_owned();
    fs::write(path.join("src/a.txt"), "two\n").unwrap();
    fs::create_dir(path.join("new")).unwrap();
    fs::write(path.join("new/b.txt"), "b\n").unwrap();
    let branch = tree.branch().to_owned();
    let finished = tree.finish().await;
    assert_eq!(
        finished.to_string(),
        format!("worktree kept: {} (branch {branch}, 2 files changed)", path.display())
    );
    let tree = place.tree().await;
    fs::write(tree.path().join("src/a.txt"), "three\n").unwrap();
    run_git(tree.path(), &["commit", "-qam", "third"]);
    let (path, branch) = (tree.path().to_owned(), tree.branch().to_owned());
    let finished = tree.finish().await;
    assert_eq!(
        finished,
        WorktreeOutcome::Kept { path, branch: branch.clone(), files: 0, commits: 1 }
    );
    assert!(finished.to_string().ends_with(", 1 commit)"), "{finished}");
    assert_eq!(place.git(&["show", &format!("{branch}:src/a.txt")]), "three\n");
    assert_eq!(place.left(), (2, 2, 2), "the folders for temporary files are gone");
}

#[tokio::test]
async fn the_child_works_in_the_same_directory_where_the_commit_has_it() {
    let place = GitFixture::new();
    fs::create_dir(place.repository.join("fresh")).unwrap();
    let tree = Worktree::create(place.wish("src")).await.unwrap();
    assert_eq!(tree.cwd(), tree.path().join("src"));
    tree.finish().await;
    let tree = Worktree::create(place.wish("fresh")).await.unwrap();
    assert_eq!(tree.cwd(), tree.path());
    tree.finish().await;
}

#[tokio::test]
async fn where_there_is_nothing_to_start_from_the_error_says_what_to_do() {
    let place = GitFixture::empty();
    let error = Worktree::create(place.wish("")).await.unwrap_err().to_string();
    assert!(error.contains("needs a git repository") && error.contains("`git init`"), "{error}");
    let bare = place.repository.join("src");
    run_git(&bare, &["init", "-q", "--bare"]);
    let error = Worktree::create(place.wish("src")).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoRepository(_)), "{error}");
    fs::remove_dir_all(bare).unwrap();
    place.git(&["init", "-q"]);
    let error = Worktree::create(place.wish("")).await.unwrap_err().to_string();
    assert!(error.contains("no commit yet") && error.contains("commit first"), "{error}");
    let mut wish = place.wish("");
    wish.env = EnvOverlay::from_iter([("PATH", "/nowhere")]);
    let error = Worktree::create(wish).await.unwrap_err().to_string();
    assert!(error.contains("cannot start git") && error.contains("installed"), "{error}");
    assert_eq!(fs::read_dir(&place.root).unwrap().count(), 0);
}

#[tokio::test]
async fn what_git_refuses_leaves_nothing_behind() {
    let place = GitFixture::new();
    // No branch can stand below a branch.
    place.git(&["branch", "caliban"]);
    let error = Worktree::create(place.wish("")).await.unwrap_err().to_string();
    assert!(error.contains("git says: ") && error.contains("caliban"), "{error}");
    assert_eq!(place.left(), (0, 0, 0));
}

#[tokio::test]
async fn no_worktree_is_made_from_one() {
    let place = GitFixture::new();
    let tree = place.tree().await;
    let wish = NewWorktree { cwd: tree.path().join("src"), ..place.wish("") };
    let error = Worktree::create(wish).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Nested(_)), "{error}");
    assert_eq!(place.left(), (1, 1, 2));
}

#[tokio::test]
async fn several_at_once_do_not_meet() {
    let place = GitFixture::new();
    let all = (0..4).map(|_| Worktree::create(place.wish("")));
    let trees = futures_util::future::join_all(all).await;
    let trees: Vec<_> = trees.into_iter().map(Result::unwrap).collect();
    assert_eq!(place.left(), (4, 4, 8));
    for tree in trees {
        assert_eq!(tree.finish().await, WorktreeOutcome::Removed);
    }
    assert_eq!(place.left(), (0, 0, 0));
}

#[tokio::test]
async fn no_hook_of_the_project_runs() {
    let place = GitFixture::new();
    let ran = place.root.with_file_name("ran");
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let file = place.repository.join(".git/hooks").join(hook);
        fs::write(&file, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.tree().await.finish().await;
    assert!(!ran.exists());
    // The hooks are good ones.
    place.git(&["checkout", "-q", "-b", "other"]);
    assert!(ran.exists());
}

#[test]
fn git_and_what_it_starts_see_no_keys() {
    let place = GitFixture::new();
    let keys = [("ANTHROPIC_API_KEY", "KEY-77"), ("MY_KEY", "KEY-88"), ("LANG", "C")];
    let wish = place.wish("");
    let wish =
        NewWorktree { env: wish.env.with(keys), secrets: ["MY_KEY".to_owned()].into(), ..wish };
    let env = wish.git_context(CancellationToken::new()).env;
    assert_eq!(env.get("LANG"), Some("C"));
    assert_eq!((env.get("ANTHROPIC_API_KEY"), env.get("MY_KEY")), (None, None));
}

#[tokio::test]
async fn without_a_confinement_no_filter_runs_in_a_worktree() {
    let place = GitFixture::new();
    let ran = place.root.with_file_name("ran");
    let [touch, cat] = [format!("touch {}; cat", ran.display()), "cat".to_owned()];
    for (name, clean, smudge, process) in
        [("A.b", &touch, &touch, ""), ("p", &cat, &cat, &*format!("touch {}", ran.display()))]
    {
        let file = place.repository.with_file_name(".gitconfig");
        let mut settings = vec![("clean", &**clean), ("smudge", smudge), ("required", "true")];
        settings.extend((!process.is_empty()).then_some(("process", process)));
        for (key, value) in settings {
            let key = format!("filter.{name}.{key}");
            run_git(&place.repository, &["config", "-f", file.to_str().unwrap(), &key, value]);
        }
    }
    place.write(".gitattributes", "*.txt filter=A.b\n*.bin filter=p\n");
    place.write("b.bin", "b\n");
    place.commit("with filters");
    let tree = place.tree().await;
    assert_eq!(fs::read_to_string(tree.path().join("src/a.txt")).unwrap(), "one\n");
    // Git has to look into the files.
    fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    fs::write(tree.path().join("b.bin"), "b\n").unwrap();
    let known = tree.checkout();
    drop(tree);
    let tree = Worktree::reopen(place.wish(""), known).await.unwrap().unwrap();
    assert_eq!(tree.finish().await, WorktreeOutcome::Removed);
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_repository_that_the_agent_put_in_its_place_runs_nothing() {
    let place = GitFixture::new();
    let ran = place.root.with_file_name("ran");
    let tree = place.tree().await;
    let path = tree.path().to_owned();
    let own = tree.own.clone();
    fs::write(path.join("kept.txt"), "x").unwrap();
    let evil = path.join("target");
    fs::create_dir(&evil).unwrap();
    run_git(&evil, &["init", "-q"]);
    run_git(&evil, &["config", "core.fsmonitor", &format!("touch {}; false", ran.display())]);
    fs::write(path.join(".git"), format!("gitdir: {}\n", evil.join(".git").display())).unwrap();
    fs::write(own.join("commondir"), evil.join(".git").as_os_str().as_encoded_bytes()).unwrap();
    fs::write(own.join("config.worktree"), "[core]\n").unwrap();
    std::os::unix::fs::symlink(place.root.join("elsewhere"), own.join("COMMIT_EDITMSG")).unwrap();
    let _ = Command::new("git").args(["-C", path.to_str().unwrap(), "status"]).output().unwrap();
    assert!(ran.exists(), "the trap is a good one");
    fs::remove_file(&ran).unwrap();
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { files: 1, commits: 0, .. }), "{finished:?}");
    assert!(!ran.exists());
    assert!(!own.join("config.worktree").exists() && !own.join("COMMIT_EDITMSG").is_symlink());
    assert!(run_git(&path, &["status", "--porcelain"]).contains("kept.txt"));
    assert!(!ran.exists(), "nor for the user who looks later");
}

#[tokio::test]
async fn an_agent_that_was_killed_goes_on_in_its_worktree_and_nothing_it_left_there_runs() {
    let place = GitFixture::new();
    let ran = place.root.with_file_name("ran");
    let tree = place.tree().await;
    let (known, own) = (tree.checkout(), tree.own.clone());
    let cwd = tree.cwd().to_owned();
    drop(tree);
    let evil = known.path.join("target");
    fs::create_dir(&evil).unwrap();
    run_git(&evil, &["init", "-q"]);
    run_git(&evil, &["config", "core.fsmonitor", &format!("touch {}; false", ran.display())]);
    fs::write(known.path.join(".git"), format!("gitdir: {}\n", evil.join(".git").display()))
        .unwrap();
    fs::write(own.join("commondir"), evil.join(".git").as_os_str().as_encoded_bytes()).unwrap();
    fs::write(own.join("gitdir"), "/nowhere/.git\n").unwrap();
    fs::write(known.path.join("kept.txt"), "x").unwrap();
    // The repository gets new commits meanwhile: this is none of the worktree's.
    place.write("src/a.txt", "two\n");
    place.commit("second");
    let tree = Worktree::reopen(place.wish(""), known.clone()).await.unwrap().unwrap();
    assert_eq!((tree.checkout(), tree.cwd()), (known.clone(), cwd.as_path()));
    assert_eq!(tree.own, own);
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { files: 1, commits: 0, .. }), "{finished:?}");
    assert!(!ran.exists());
    assert!(run_git(&known.path, &["status", "--porcelain"]).contains("kept.txt"));
    assert!(!ran.exists());
}

#[tokio::test]
async fn what_is_not_that_worktree_any_more_is_not_gone_on_with() {
    let place = GitFixture::new();
    let gone = async |known: WorktreeInfo| {
        Worktree::reopen(place.wish(""), known).await.unwrap().is_none()
    };
    let tree = place.tree().await;
    let known = tree.checkout();
    let strange = [
        WorktreeInfo { path: place.repository.clone(), ..known.clone() },
        WorktreeInfo { path: place.root.join("../repository"), ..known.clone() },
        WorktreeInfo { branch: "main".to_owned(), ..known.clone() },
        WorktreeInfo { start: "--all".to_owned(), ..known.clone() },
    ];
    for strange in strange {
        assert!(gone(strange.clone()).await, "{strange:?}");
    }
    let path = known.path.clone();
    place.git(&["worktree", "remove", "--force", path.to_str().unwrap()]);
    assert!(gone(known.clone()).await);
    // A folder of that name is not enough.
    fs::create_dir(&path).unwrap();
    assert!(gone(known).await);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing was put there");
}

#[tokio::test]
async fn a_repository_inside_is_a_change_and_is_not_looked_into() {
    let place = GitFixture::new();
    let tree = place.tree().await;
    let inside = tree.path().join("inside");
    fs::create_dir(&inside).unwrap();
    run_git(&inside, &["init", "-q"]);
    fs::write(inside.join("f"), "x").unwrap();
    run_git(&inside, &["add", "."]);
    run_git(&inside, &["commit", "-qm", "inside"]);
    run_git(tree.path(), &["add", "inside"]);
    let ran = place.root.with_file_name("ran");
    run_git(&inside, &["config", "core.fsmonitor", &format!("touch {}; false", ran.display())]);
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { files: 1.., .. }), "{finished:?}");
    assert!(!ran.exists());
}

#[tokio::test]
async fn what_cannot_be_looked_into_is_kept_and_a_lost_one_is_removed() {
    let place = GitFixture::new();
    let tree = place.tree().await;
    fs::remove_file(tree.own.join("HEAD")).unwrap();
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Unclear { .. }), "{finished:?}");
    assert!(finished.to_string().contains("because"), "{finished}");
    let place = GitFixture::new();
    drop(place.tree().await);
    assert_eq!(place.left(), (1, 1, 2), "as after a crash");
    drop(RemoveOnDrop(Some(place.tree().await)));
    place.comes_to((1, 1, 2)).await;
}

#[test]
fn names_become_branches() {
    let id: AgentId = "0199a0b0-0000-7000-8000-0000abcd1234".parse().unwrap();
    for (name, expected) in [
        ("explore", "explore-abcd1234"),
        ("Fix: all/bugs..lock", "Fix--all-bugs--lock-abcd1234"),
        ("../..", "agent-abcd1234"),
        ("日本", "agent-abcd1234"),
    ] {
        assert_eq!(slug(name, id), expected);
    }
    assert!(slug(&"x".repeat(200), id).len() < 60);
}

#[tokio::test]
async fn relative_paths_are_the_worktrees_and_its_file_tools_stay_in_it() {
    let place = GitFixture::new();
    let tree = Worktree::create(place.wish("src")).await.unwrap();
    place.write("src/a.txt", "the original\n");
    let settings = BuiltinSettings::new(place.repository.as_path().into());
    let settings = settings.bounded(tree.cwd().into(), tree.path().into(), tree.shell());
    let tools = ToolRegistry::new(builtin(&settings));
    assert!(tools.get("Bash").is_none(), "no shell where none can be confined");
    let queue = EventQueue::unbounded();
    let call = async |name: &str, input: Value| {
        let prepared = tools.get(name).unwrap().clone().prepare(&input).unwrap();
        let cx = ToolContext {
            access: prepared.access(tree.cwd()),
            order: 0,
            tool_use_id: ToolUseId::new("call"),
            events: queue.sink(),
            cancel: CancellationToken::new(),
            overdue: Arc::default(),
            cwd: tree.cwd().into(),
            env: place.env.clone(),
            budget: Budget::new(Limits::default()),
            depth: 1,
            span: Span::root(),
            conversation: crate::tool::Conversation::default(),
            masked: Default::default(),
            read_only: None,
            approved_content: None,
            file_guard: Some(FileLock::default().hold().await),
            files: BlockingPools::default().files,
        };
        prepared.run(cx).await
    };
    let read = call("Read", json!({"file_path": "a.txt"})).await.unwrap();
    assert!(format!("{:?}", read.content).contains("one"), "{read:?}");
    let found = call("Grep", json!({"pattern": "o", "output_mode": "content"})).await.unwrap();
    let found = format!("{:?}", found.content);
    assert!(found.contains("one") && !found.contains("original"), "{found}");
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    call("Edit", edit).await.unwrap();
    call("Write", json!({"file_path": "../new/b.txt", "content": "b\n"})).await.unwrap();
    assert!(tree.path().join("new/b.txt").exists());
    // A path that the gate allowed may have become a link since.
    std::os::unix::fs::symlink(place.repository.join("src"), tree.path().join("link")).unwrap();
    let deep = place.repository.join("made/deep/c.txt");
    let plain = place.repository.join("src/c.txt");
    for outside in ["../link/c.txt", plain.to_str().unwrap(), deep.to_str().unwrap()] {
        let write = json!({"file_path": outside, "content": "c\n"});
        let error = call("Write", write).await.unwrap_err().to_string();
        assert!(error.contains("outside of"), "{error}");
    }
    assert!(!place.repository.join("src/c.txt").exists());
    assert!(!place.repository.join("made").exists(), "not even a folder");
    assert_eq!(fs::read_to_string(place.repository.join("src/a.txt")).unwrap(), "the original\n");
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { files: 3, .. }), "{finished}");
}

#[tokio::test]
async fn a_folder_that_looks_like_a_bare_repository_is_none() {
    let place = GitFixture::new();
    place.write(".gitattributes", "* filter=evil\n");
    place.commit("second");
    // As a clone can bring it: the folders of a repository, whose settings name programs.
    run_git(&place.repository, &["clone", "-q", "--bare", ".", "evil"]);
    let evil = place.repository.join("evil");
    let marker = place.root.with_file_name("fired");
    let smudge = format!("touch {}; cat", marker.display());
    for (key, value) in
        [("core.bare", "false"), ("core.worktree", "."), ("filter.evil.smudge", &smudge)]
    {
        run_git(&place.repository, &["config", "-f", "evil/config", key, value]);
    }
    let error = Worktree::create(place.wish("evil")).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoRepository(ref cwd) if *cwd == evil), "{error}");
    assert!(!marker.exists());
}

#[tokio::test]
async fn worktrees_of_a_bare_repository_have_worktrees_of_their_own() {
    let place = GitFixture::new();
    run_git(&place.repository, &["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = place.repository.with_file_name("bare.git");
    run_git(&bare, &["worktree", "add", "-q", "../side"]);
    let wish = NewWorktree { cwd: place.repository.with_file_name("side"), ..place.wish("") };
    let tree = Worktree::create(wish).await.unwrap();
    assert!(tree.path().join("src/a.txt").exists());
    let path = tree.path().to_owned();
    assert_eq!(tree.finish().await, WorktreeOutcome::Removed);
    assert!(!path.exists());
}

#[tokio::test]
async fn no_program_of_the_parents_checkout_is_git_wherever_git_runs() {
    let place = GitFixture::new();
    let side = place.repository.with_file_name("side");
    run_git(&place.repository, &["worktree", "add", "-q", "../side"]);
    let bin = side.join("bin");
    fs::create_dir(&bin).unwrap();
    let marker = side.with_file_name("ran");
    fs::write(bin.join("git"), format!("#!/bin/sh\n: > {}\n", marker.display())).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), place.env.get("PATH").unwrap());
    let env = place.env.with([("PATH", path)]);
    let wish = || NewWorktree { cwd: side.clone(), env: env.clone(), ..place.wish("") };
    let tree = Worktree::create(wish()).await.unwrap();
    let known = tree.checkout();
    drop(tree);
    let tree = Worktree::reopen(wish(), known).await.unwrap().unwrap();
    assert_eq!(tree.finish().await, WorktreeOutcome::Removed);
    assert!(!marker.exists(), "the project's git ran");
}
