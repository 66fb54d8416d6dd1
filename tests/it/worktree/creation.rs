//! What git starts while it makes a worktree.

use std::time::Duration;

use caliban::subagent::worktree::{Worktree, WorktreeOutcome};

use super::Source;

#[tokio::test]
async fn a_filter_that_git_runs_in_a_worktree_does_not_leave_it() {
    let test = "a_filter_that_git_runs_in_a_worktree_does_not_leave_it";
    // A program that is known, and the user's own arguments.
    let Some(source) = Source::with_filter(test, "cat", "cat", &[]) else { return };
    let (log, escaped) = (source.base.join("worktrees"), source.base.join("home/escaped"));
    let tree = Worktree::create(source.wish()).await.unwrap();
    assert!(tree.path().starts_with(&log));
    assert_eq!(std::fs::read_to_string(tree.path().join("src/a.txt")).unwrap(), "one\n");
    // Git has to look into the file: the filter that it starts now fails.
    source.set_filter(&format!("sort -o {} -", escaped.display()), "cat");
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Unclear { .. }), "{finished}");
    assert!(finished.to_string().contains("ermission denied"), "{finished}");
    assert!(!escaped.exists());
    // And one that reads what an agent may not.
    let key = source.base.join("home/key");
    std::fs::write(&key, "KEY-13\n").unwrap();
    source.set_filter("cat", &format!("cat {} -", key.display()));
    let refused = Worktree::create(source.wish()).await.unwrap_err().to_string();
    assert!(refused.contains("ermission denied") && !refused.contains("KEY-13"), "{refused}");
}

#[tokio::test]
async fn a_filter_that_may_load_what_lies_in_the_worktree_does_not_run() {
    let test = "a_filter_that_may_load_what_lies_in_the_worktree_does_not_run";
    let files = [("filter.sh", "cat > /dev/null; echo other\n")];
    let filter = "sh ./filter.sh";
    let Some(source) = Source::with_filter(test, filter, filter, &files) else { return };
    let tree = Worktree::create(source.wish()).await.unwrap();
    assert_eq!(std::fs::read_to_string(tree.path().join("src/a.txt")).unwrap(), "one\n");
    // Git has to look into the file, which the filter would make another one.
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    assert_eq!(tree.finish().await, WorktreeOutcome::Removed);
}

#[tokio::test]
async fn a_worktree_that_a_filter_fails_in_is_kept() {
    let test = "a_worktree_that_a_filter_fails_in_is_kept";
    let files = [(".gitignore", "")];
    let Some(source) = Source::with_filter(test, "cat - .gitignore", "cat", &files) else { return };
    let tree = Worktree::create(source.wish()).await.unwrap();
    std::fs::write(tree.path().join("src/a.txt"), "one\n").unwrap();
    std::fs::remove_file(tree.path().join(".gitignore")).unwrap();
    let path = tree.path().to_owned();
    let finished = tree.finish().await;
    assert!(matches!(finished, WorktreeOutcome::Unclear { .. }), "{finished}");
    assert!(path.exists());
}

#[tokio::test]
async fn a_creation_that_nobody_waits_for_ends_git_and_leaves_nothing() {
    let test = "a_creation_that_nobody_waits_for_ends_git_and_leaves_nothing";
    let Some(mut source) = Source::with_filter(test, "cat", "cat", &[]) else { return };
    // The filter waits for a writer. It may read there: among the user's programs.
    let bin = source.base.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let pipe = bin.join("held.fifo");
    source.set_filter("cat", &format!("cat {}", pipe.display()));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = format!("{}:{}", source.env.get("PATH").unwrap(), bin.display());
    source.env = source.env.with([("PATH", path)]);
    let mut create = Box::pin(Worktree::create(source.wish()));
    // There is no sender before somebody reads.
    let opened = async {
        loop {
            match tokio::net::unix::pipe::OpenOptions::new().open_sender(&pipe) {
                Ok(sender) => return sender,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let held = tokio::select! {
        made = &mut create => panic!("{made:?}"),
        held = opened => held,
    };
    assert_eq!(source.left(), (1, 2));
    drop(create);
    let gone = async {
        while source.left() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), gone).await;
    assert!(waited.is_ok(), "{:?} is left", source.left());
    let error = held.try_write(b"x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "no process is left");
}
