use pretty_assertions::assert_eq;

use super::*;
use crate::disk::testing::git as run_git;
use crate::subagent::worktree::WorktreeOutcome;
use crate::subagent::worktree::tests::GitFixture;

/// A worktree that its agent has left, with work in it.
struct Left {
    info: WorktreeInfo,
}

/// Makes a worktree, lets `work` change files in it, and ends the agent.
async fn left(place: &GitFixture, work: impl FnOnce(&Path)) -> Left {
    let tree = place.tree().await;
    let info = tree.checkout();
    work(tree.path());
    assert!(matches!(tree.finish().await, WorktreeOutcome::Kept { .. }));
    Left { info }
}

async fn merge(place: &GitFixture, left: &Left) -> Result<MergedWork, WorkError> {
    Worktree::merge(place.wish(""), left.info.clone()).await
}

fn read(place: &GitFixture, path: &str) -> String {
    fs::read_to_string(place.repository.join(path)).unwrap()
}

/// The lines one to nine, with some replaced.
fn nine(changes: &[(usize, &str)]) -> String {
    let line = |n: usize| {
        let changed = changes.iter().find(|(at, _)| *at == n);
        changed.map_or_else(|| format!("{n}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=9).map(line).collect()
}

#[tokio::test]
async fn work_is_merged_into_files_that_are_not_committed_either_and_the_index_stays() {
    let place = GitFixture::new();
    place.write("src/a.txt", &nine(&[]));
    place.write("old.txt", "old\n");
    place.commit("nine lines");
    let agent = left(&place, |top| {
        fs::write(top.join("src/a.txt"), nine(&[(9, "agent")])).unwrap();
        run_git(top, &["commit", "-qam", "one line"]);
        fs::write(top.join("new.txt"), "new\n").unwrap();
        fs::write(top.join("binary"), [0_u8, 159, 146, 150]).unwrap();
        fs::remove_file(top.join("old.txt")).unwrap();
    })
    .await;
    place.write("src/a.txt", &nine(&[(1, "mine")]));
    place.write("staged.txt", "staged\n");
    place.git(&["add", "staged.txt"]);
    let merged = merge(&place, &agent).await.unwrap();
    assert_eq!(merged.files, 4);
    assert_eq!(read(&place, "src/a.txt"), nine(&[(1, "mine"), (9, "agent")]));
    assert_eq!(read(&place, "new.txt"), "new\n");
    assert_eq!(fs::read(place.repository.join("binary")).unwrap(), [0, 159, 146, 150]);
    assert!(!place.repository.join("old.txt").exists());
    assert_eq!(place.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    assert_eq!(place.git(&["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(place.left(), (0, 0, 0));
    let kept = place.git(&["show", "--name-status", "--format=%s", &merged.commit]);
    assert_eq!(
        kept,
        format!("Work on {}\n\nA\tbinary\nA\tnew.txt\nD\told.txt\n", agent.info.branch)
    );
}

#[tokio::test]
async fn one_agent_after_the_other_is_merged_and_what_is_there_already_changes_nothing() {
    let place = GitFixture::new();
    place.write("src/a.txt", &nine(&[]));
    place.commit("nine lines");
    let change = |at: usize| {
        move |top: &Path| fs::write(top.join("src/a.txt"), nine(&[(at, "agent")])).unwrap()
    };
    let (first, second) = (left(&place, change(2)).await, left(&place, change(8)).await);
    let third = left(&place, change(2)).await;
    assert_eq!(merge(&place, &first).await.unwrap().files, 1);
    assert_eq!(merge(&place, &second).await.unwrap().files, 1);
    assert_eq!(read(&place, "src/a.txt"), nine(&[(2, "agent"), (8, "agent")]));
    assert_eq!(merge(&place, &third).await.unwrap().files, 0);
    assert_eq!(place.left(), (0, 0, 0));
}

#[tokio::test]
async fn a_conflict_changes_nothing_and_names_the_file_and_a_commit_to_merge_by_hand() {
    let place = GitFixture::new();
    let agent = left(&place, |top| fs::write(top.join("src/a.txt"), "agent\n").unwrap()).await;
    place.write("src/a.txt", "mine\n");
    let (text, before) = (place.git(&["status", "--porcelain"]), place.left());
    let error = merge(&place, &agent).await.unwrap_err();
    let WorkError::Conflict { files, commit } = &error else { panic!("{error}") };
    assert_eq!(*files, ["src/a.txt"]);
    assert_eq!(read(&place, "src/a.txt"), "mine\n");
    assert_eq!((place.git(&["status", "--porcelain"]), place.left()), (text, before));
    assert_eq!(fs::read_to_string(agent.info.path.join("src/a.txt")).unwrap(), "agent\n");
    place.commit("mine");
    let by_hand = std::process::Command::new("git")
        .args(["merge", commit])
        .current_dir(&place.repository)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&by_hand.stdout).into_owned();
    assert!(said.contains("Merge conflict in src/a.txt"), "{said}");
    // In the middle of a merge, nothing is merged.
    assert!(matches!(merge(&place, &agent).await.unwrap_err(), WorkError::Unmerged));
}

#[tokio::test]
async fn what_the_agent_does_with_its_branch_takes_nothing_of_the_users_back() {
    for steer in [
        &["symbolic-ref", "HEAD", "refs/heads/main"][..],
        &["reset", "-q", "--soft", "main"],
        &["checkout", "-q", "--detach"],
        &["merge", "-q", "-s", "ours", "main"],
        &["replace", "HEAD", "main"],
    ] {
        let place = GitFixture::new();
        place.write("src/a.txt", &nine(&[]));
        place.write("old.txt", "old\n");
        place.commit("nine lines");
        place.git(&["branch", "-M", "main"]);
        let tree = place.tree().await;
        let info = tree.checkout();
        fs::write(tree.path().join("work.txt"), "work\n").unwrap();
        place.write("src/a.txt", &nine(&[(5, "fixed")]));
        place.write("new.txt", "new\n");
        fs::remove_file(place.repository.join("old.txt")).unwrap();
        place.git(&["add", "--all"]);
        place.commit("a fix");
        run_git(tree.path(), steer);
        assert!(matches!(tree.finish().await, WorktreeOutcome::Kept { .. }));
        let agent = Left { info };
        let shown = Worktree::changes(place.wish(""), agent.info.clone()).await.unwrap();
        assert_eq!(shown.files.len(), 1, "{steer:?}");
        let merged = merge(&place, &agent).await.unwrap();
        assert_eq!(merged.files, 1, "{steer:?}");
        assert_eq!(place.git(&["status", "--porcelain"]), "?? work.txt\n", "{steer:?}");
    }
}

#[tokio::test]
async fn an_untracked_file_in_the_way_is_kept() {
    let place = GitFixture::new();
    let agent = left(&place, |top| fs::write(top.join("new.txt"), "agent\n").unwrap()).await;
    place.write("new.txt", "mine, and nowhere else\n");
    let error = merge(&place, &agent).await.unwrap_err().to_string();
    assert!(error.starts_with("nothing has changed: you have a file new.txt yourself;"), "{error}");
    assert_eq!(read(&place, "new.txt"), "mine, and nowhere else\n");
    assert!(agent.info.path.exists());
}

#[tokio::test]
async fn a_repository_within_the_worktree_is_not_merged() {
    let place = GitFixture::new();
    let agent = left(&place, |top| {
        fs::create_dir(top.join("inner")).unwrap();
        run_git(&top.join("inner"), &["init", "-q"]);
        run_git(&top.join("inner"), &["commit", "-q", "--allow-empty", "-m", "first"]);
    })
    .await;
    let error = merge(&place, &agent).await.unwrap_err();
    assert!(
        matches!(&error, WorkError::NestedRepository { path, .. } if path == "inner"),
        "{error}"
    );
    assert!(agent.info.path.exists());
}

#[tokio::test]
async fn work_is_shown_and_discarded_work_can_be_brought_back() {
    let place = GitFixture::new();
    let agent = left(&place, |top| {
        fs::write(top.join("src/a.txt"), "agent\n").unwrap();
        run_git(top, &["commit", "-qam", "one line"]);
        fs::write(top.join("new.txt"), "new\n").unwrap();
    })
    .await;
    let changes = Worktree::changes(place.wish(""), agent.info.clone()).await.unwrap();
    let paths: Vec<_> = changes.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["src/a.txt", "new.txt"]);
    assert_eq!(changes.files[0].diff, "@@ -1 +1 @@\n-one\n+agent\n");
    let commit = Worktree::discard(place.wish(""), agent.info.clone()).await.unwrap();
    assert_eq!(place.left(), (0, 0, 0));
    assert_eq!(place.git(&["show", &format!("{commit}:new.txt")]), "new\n");
    assert_eq!(read(&place, "src/a.txt"), "one\n");
    let gone = Worktree::discard(place.wish(""), agent.info.clone()).await.unwrap_err();
    assert!(matches!(gone, WorkError::Gone), "{gone}");
}

#[tokio::test]
async fn the_work_of_a_running_agent_is_left_alone() {
    let place = GitFixture::new();
    let tree = place.tree().await;
    fs::write(tree.path().join("new.txt"), "new\n").unwrap();
    let info = tree.checkout();
    for error in [
        Worktree::merge(place.wish(""), info.clone()).await.unwrap_err(),
        Worktree::discard(place.wish(""), info.clone()).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("is in use"), "{error}");
    }
    assert!(tree.path().join("new.txt").exists());
}

#[tokio::test]
async fn a_link_that_an_agent_left_for_the_merge_to_write_through_leads_nowhere() {
    let place = GitFixture::new();
    let outside = place.repository.parent().unwrap().join("outside");
    fs::write(&outside, "mine\n").unwrap();
    let agent = left(&place, |top| {
        let temp = top.with_extension("tmp");
        for name in ["index", "patch"] {
            std::os::unix::fs::symlink(&outside, temp.join(name)).unwrap();
        }
        fs::write(top.join("new.txt"), "new\n").unwrap();
    })
    .await;
    // The end of the agent has removed them; a crash would not have.
    let temp = agent.info.path.with_extension("tmp");
    fs::create_dir(&temp).unwrap();
    for name in ["index", "patch"] {
        std::os::unix::fs::symlink(&outside, temp.join(name)).unwrap();
    }
    assert_eq!(merge(&place, &agent).await.unwrap().files, 1);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\n");
}

#[tokio::test]
async fn work_after_a_merge_begins_with_what_was_merged_and_only_the_new_part_is_merged() {
    let place = GitFixture::new();
    place.write("src/a.txt", &nine(&[]));
    place.commit("nine lines");
    let first = left(&place, |top| {
        fs::write(top.join("src/a.txt"), nine(&[(9, "agent")])).unwrap();
        fs::write(top.join("new.txt"), nine(&[])).unwrap();
    })
    .await;
    merge(&place, &first).await.unwrap();
    // The user goes on too, and commits nothing.
    place.write("src/a.txt", &nine(&[(1, "mine"), (9, "agent")]));
    place.write("new.txt", &nine(&[(1, "mine")]));
    let again = |gone: WorktreeInfo| Worktree::create_after(place.wish(""), Some(gone));
    let empty = again(first.info).await.unwrap();
    let info = empty.checkout();
    assert!(empty.has_merged_work());
    assert_eq!(empty.finish().await, WorktreeOutcome::Removed);
    let tree = again(info).await.unwrap();
    let info = tree.checkout();
    let text = |name: &str| fs::read_to_string(tree.path().join(name)).unwrap();
    assert_eq!((text("src/a.txt"), text("new.txt")), (nine(&[(9, "agent")]), nine(&[])));
    fs::write(tree.path().join("new.txt"), nine(&[(9, "again")])).unwrap();
    tree.finish().await;
    assert_eq!(merge(&place, &Left { info }).await.unwrap().files, 1);
    assert_eq!(read(&place, "src/a.txt"), nine(&[(1, "mine"), (9, "agent")]));
    assert_eq!(read(&place, "new.txt"), nine(&[(1, "mine"), (9, "again")]));
}

#[tokio::test]
async fn work_after_a_discard_begins_with_the_last_commit() {
    let place = GitFixture::new();
    let agent = left(&place, |top| fs::write(top.join("new.txt"), "new\n").unwrap()).await;
    Worktree::discard(place.wish(""), agent.info.clone()).await.unwrap();
    let tree = Worktree::create_after(place.wish(""), Some(agent.info)).await.unwrap();
    assert!(!tree.has_merged_work() && !tree.path().join("new.txt").exists());
}

#[tokio::test]
async fn work_on_a_branch_without_a_commit_is_shown_merged_and_discarded() {
    let place = GitFixture::new();
    let orphan = |top: &Path| {
        fs::write(top.join("new.txt"), "new\n").unwrap();
        run_git(top, &["checkout", "-q", "--orphan", "caliban/other"]);
    };
    let agent = left(&place, orphan).await;
    let changes = Worktree::changes(place.wish(""), agent.info.clone()).await.unwrap();
    assert_eq!(changes.files.len(), 1);
    assert_eq!(merge(&place, &agent).await.unwrap().files, 1);
    assert_eq!(read(&place, "new.txt"), "new\n");
    let agent = left(&place, orphan).await;
    Worktree::discard(place.wish(""), agent.info.clone()).await.unwrap();
    assert!(!agent.info.path.exists());
}

#[tokio::test]
async fn merged_files_are_as_git_checks_them_out_also_by_attributes_that_come_with_them() {
    let place = GitFixture::new();
    place.write(".gitattributes", "*.txt eol=crlf\n");
    place.write("old.txt", "1\r\n");
    place.commit("attributes");
    let agent = left(&place, |top| {
        fs::write(top.join("old.txt"), "1\r\n2\r\n").unwrap();
        fs::write(top.join("new.txt"), "3\r\n").unwrap();
        fs::create_dir(top.join("part")).unwrap();
        fs::write(top.join("part/.gitattributes"), "*.cmd eol=crlf\n*.id ident\n").unwrap();
        fs::write(top.join("part/new.cmd"), "4\r\n").unwrap();
        fs::write(top.join("part/new.id"), "$Id$\n").unwrap();
    })
    .await;
    let merged = merge(&place, &agent).await.unwrap();
    let files = ["old.txt", "new.txt", "part/new.cmd"].map(|file| read(&place, file));
    assert_eq!(files, ["1\r\n2\r\n", "3\r\n", "4\r\n"]);
    assert!(read(&place, "part/new.id").starts_with("$Id: "));
    place.git(&["add", "--all"]);
    let changed = place.git(&["diff", "--cached", "--name-only", &merged.commit]);
    assert_eq!((changed.as_str(), place.git(&["diff", "--name-only"]).as_str()), ("", ""));
}
