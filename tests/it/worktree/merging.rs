//! What git starts, and where it writes, while the work of an agent is merged.

use std::fs;

use caliban::protocol::MergedWork;
use caliban::subagent::worktree::{WorkError, Worktree, WorktreeOutcome};

use super::Source;

/// Lets an agent write `text` into `src/a.txt`, ends it, and merges its work.
async fn merge(source: &Source, text: &str) -> Result<MergedWork, WorkError> {
    let tree = Worktree::create(source.wish()).await.unwrap();
    let known = tree.checkout();
    fs::write(tree.path().join("src/a.txt"), text).unwrap();
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Kept { .. }), "{finished}");
    Worktree::merge(source.wish(), known).await
}

#[tokio::test]
async fn a_confined_git_merges_into_the_checkout() {
    let test = "a_confined_git_merges_into_the_checkout";
    let Some(source) = Source::with_filter(test, "tr a b", "tr b a", &[]) else { return };
    let merged = merge(&source, "salad\n").await.unwrap();
    assert_eq!(merged.files, 1);
    assert_eq!(fs::read_to_string(source.main.join("src/a.txt")).unwrap(), "salad\n");
}

#[tokio::test]
async fn a_filter_that_git_runs_while_it_merges_does_not_leave_the_checkout() {
    let test = "a_filter_that_git_runs_while_it_merges_does_not_leave_the_checkout";
    let Some(source) = Source::with_filter(test, "cat", "cat", &[]) else { return };
    let tree = Worktree::create(source.wish()).await.unwrap();
    let known = tree.checkout();
    fs::write(tree.path().join("src/a.txt"), "agent\n").unwrap();
    tree.finish().await;
    let key = source.base.join("home/key");
    fs::write(&key, "KEY-13\n").unwrap();
    source.set_filter("cat", &format!("cat {} -", key.display()));
    let refused = Worktree::merge(source.wish(), known.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("ermission denied") && !refused.contains("KEY-13"), "{refused}");
    assert_eq!(fs::read_to_string(source.main.join("src/a.txt")).unwrap(), "one\n");
    assert!(known.path.exists());
}

#[tokio::test]
async fn no_hook_and_no_merge_driver_of_the_project_runs() {
    let Some(source) = Source::new("no_hook_and_no_merge_driver_of_the_project_runs") else {
        return;
    };
    let ran = source.main.join("ran");
    let script = format!("#!/bin/sh\n: > {}\n", ran.display());
    for hook in ["post-checkout", "pre-commit", "post-index-change", "post-merge", "applypatch-msg"]
    {
        let path = source.main.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    assert_eq!(merge(&source, "agent\n").await.unwrap().files, 1);
    assert!(!ran.exists());
    // A driver in the repository's own settings: then git is not asked at all.
    let tree = Worktree::create(source.wish()).await.unwrap();
    let known = tree.checkout();
    fs::write(tree.path().join("src/a.txt"), "again\n").unwrap();
    tree.finish().await;
    let config = source.main.join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    let driver = format!("{text}[merge \"d\"]\ndriver = touch {}\n", ran.display());
    fs::write(&config, driver).unwrap();
    fs::write(source.main.join(".gitattributes"), "*.txt merge=d\n").unwrap();
    assert!(Worktree::merge(source.wish(), known).await.is_err());
    assert!(!ran.exists());
    assert_eq!(fs::read_to_string(source.main.join("src/a.txt")).unwrap(), "agent\n");
}
